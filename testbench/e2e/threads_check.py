#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads beside a replay and a diagnosis: none races, and what is written is what one core writes."""
import os
import shutil
import sys

import e2e

TRAFFIC = {  # arguments of make_traffic without the number of packets, options of replay
    "requests": ("21 read=1 add=1", []),
    "errors": ("22 spare_qps=64 errors=20000", ["--psn", "strict"]),
    "full file": ("23 read=3 max_bytes=9000", ["--pace", "line-rate", "--responses-limit", "100000"]),
}
RACES = 66  # exit status when there are any


def cores():
    found = sorted(os.sched_getaffinity(0))
    if len(found) < 2:
        raise e2e.Skip("a second core")
    return found


def traces(bench, packets):
    """Name, capture of so many packets, options of replay."""
    yield "sample", e2e.SAMPLE, []
    for name, (arguments, options) in TRAFFIC.items():
        trace = bench.folder / "traffic.pcap"
        made = bench.start(bench.options.make_traffic, trace, packets, *arguments.split())
        bench.expect(made.returncode == 0, f"make_traffic: {made.stderr}")
        yield name, trace, options


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def one_core(bench):
    """A replay writes the same bytes on one core, where it has no threads, as on two."""
    one = ["taskset", "-c", str(cores()[0])]
    for name, trace, options in traces(bench, 3000):
        command = ["replay", trace, "--quiet", "--annotate", *options, "--out"]
        both = [bench.rxnic(*command, "threads"), bench.start(*one, bench.options.rxnic, *command, "one")]
        bench.expect_equal([run.returncode for run in both], [0, 0], f"{name}: {both[0].stderr}{both[1].stderr}")
        written = [files_of(bench.folder / out) for out in ("threads", "one")]
        bench.expect_equal(sorted(written[0]), ["annotated.pcapng", "events.rxev", "report.json", "responses.pcap"],
                           f"{name}: files")
        for file, content in written[0].items():
            bench.expect(content == written[1].get(file), f"{name}: {file} differs on one core")
        bench.expect(len(written[0]["responses.pcap"]) > 1000, f"{name}: hardly any answers")
    both = [bench.rxnic("diagnose", e2e.SAMPLE), bench.start(*one, bench.options.rxnic, "diagnose", e2e.SAMPLE)]
    bench.expect(len(both[0].stdout) > 100 and both[0].stdout == both[1].stdout, "diagnose differs on one core")


def none_left(bench):
    """A user who may start no thread gets the result of one core, and no error."""
    if os.geteuid() != 0:
        raise e2e.Skip("root, to become a user who may start no thread")
    bench.folder.chmod(0o777)
    nobody = bench.folder / "nobody"
    nobody.mkdir()
    nobody.chmod(0o777)
    program, sample = nobody / "rxnic", nobody / "sample.pcap"
    shutil.copy(bench.options.rxnic, program)
    shutil.copy(e2e.SAMPLE, sample)
    limited = ["setpriv", "--reuid", "64123", "--regid", "64123", "--clear-groups", "prlimit", "--nproc=1"]
    for command in (["replay", "sample.pcap", "--quiet", "--out", "run"], ["diagnose", "sample.pcap"]):
        done = [bench.start(*how, program, *command, cwd=nobody) for how in (limited, [])]
        bench.expect_equal([run.returncode for run in done], [0, 0], f"{command[0]}: {done[0].stderr}")
        bench.expect_equal(done[0].stdout, done[1].stdout, command[0])
        if command[0] == "replay":
            shutil.rmtree(nobody / "run")
    bench.start(*limited, program, "replay", "sample.pcap", "--quiet", "--out", "limited", cwd=nobody)
    bench.rxnic("replay", sample, "--quiet", "--out", "free")
    written = [files_of(nobody / "limited"), files_of(bench.folder / "free")]
    bench.expect_equal(sorted(written[0]), ["report.json", "responses.pcap"], "files")
    bench.expect(written[0]["responses.pcap"] == written[1]["responses.pcap"], "responses.pcap")


def cut(bench):
    """A capture that ends in a record gives the same warning and the same report on one core."""
    whole = e2e.SAMPLE.read_bytes()
    for end in (len(whole) - 7, len(whole) // 2 + 1):
        (bench.folder / "cut.pcap").write_bytes(whole[:end])
        command = ["replay", "cut.pcap", "--out"]
        both = [bench.rxnic(*command, "threads"),
                bench.start("taskset", "-c", str(cores()[0]), bench.options.rxnic, *command, "one")]
        bench.expect_equal([run.returncode for run in both], [0, 0], f"cut at {end}: exit status")
        bench.expect("truncated" in both[0].stderr + both[0].stdout, f"cut at {end}: {both[0].stderr}")
        bench.expect_equal(files_of(bench.folder / "threads"), files_of(bench.folder / "one"), f"cut at {end}")


def races(bench):
    """Helgrind finds no access of two threads to the same memory that nothing orders."""
    cores()
    if shutil.which("valgrind") is None:
        raise e2e.Skip("valgrind")
    helgrind = ["valgrind", "--tool=helgrind", "--history-level=approx", f"--error-exitcode={RACES}"]
    for name, trace, options in traces(bench, 600):
        for command in (["replay", trace, "--quiet", "--out", "run", *options], ["diagnose", trace]):
            done = bench.start(*helgrind, bench.options.rxnic, *command)
            bench.expect(done.returncode not in (RACES, -6), f"{name}, {command[0]}: {done.stderr[-4000:]}")
            bench.expect("ERROR SUMMARY: 0 errors" in done.stderr, f"{name}, {command[0]}: {done.stderr[-1000:]}")


def main():
    checks = {check.__name__: check for check in (one_core, none_left, cut, races)}
    parser = e2e.parser_for(__doc__, checks)
    parser.add_argument("--make-traffic", required=True, metavar="FILE", help="the program that writes traffic")
    return e2e.run(parser, checks)


if __name__ == "__main__":
    sys.exit(main())
