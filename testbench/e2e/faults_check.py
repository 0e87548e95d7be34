#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults around the program: files that are none, closed streams, full disks, limits. Each has a message and an end."""
import json
import os
import pathlib
import resource
import struct
import subprocess
import sys
import zlib

import e2e

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_icrc  # noqa: E402

PATIENCE = 20  # seconds; what is checked here has to end at once
MEMORY = 1 << 31  # bytes of address space: what reads without an end exceeds it
RUN = ["run", "--out", "out"]


def limited(**limits):
    """For preexec_fn: sets limits of the process, as ulimit does: limited(FSIZE=1024)."""
    def set_them():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    return set_them


def rxnic(bench, *arguments, **how):
    """Runs the program, which has to end soon; its output as text. A signal that ends it is its exit code, negative."""
    try:
        return bench.start("timeout", "-s", "KILL", PATIENCE, bench.options.rxnic, *arguments, **how)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"rxnic {arguments}: no end") from late


def refused(bench, code, arguments, *parts, **how):
    """The command ends with `code` and says so in one line without a word of SystemC, with each part in it."""
    done = rxnic(bench, *arguments, **how)
    command = "rxnic " + " ".join(str(part) for part in arguments)
    bench.expect_equal(done.returncode, code, f"{command}: exit code; {done.stderr[-300:]}")
    bench.expect_equal(done.stdout, "", f"{command}: standard output")
    for part in parts:
        bench.expect(part in done.stderr, f"{command}: does not name {part!r}: {done.stderr[-500:]}")
    for word in ("SystemC", "E549", "engine.activate"):
        bench.expect(word not in done.stderr, f"{command}: says {word}: {done.stderr[-500:]}")
    return done


def little_memory(bench):
    """For preexec_fn: so that more memory than there is a reason for is an error. The address sanitizer starts without
    such a limit only."""
    limit = limited(AS=MEMORY)
    return None if "AddressSanitizer" in rxnic(bench, "--version", preexec_fn=limit).stderr else limit


def config(bench):
    """A configuration nested without measure, without an end, or that is no file."""
    limit = {"preexec_fn": little_memory(bench)}
    deep = ".".join(["a"] * 50000)
    for name, text, *parts in [
            ("dots.toml", f"base = 'tiny'\n{deep} = 1\n", "dots.toml:2: ", "parts", "section.key"),
            ("header.toml", f"\n\n[{deep}]\n", "header.toml:3: ", "parts"),
            ("inline.toml", f"nic = {{ {deep} = 1 }}\n", "inline.toml:1: ", "parts"),
            ("quoted.toml", "# a.b\n" + ".".join(['"a"'] * 50000) + " = 1\n", "quoted.toml:2: ", "parts"),
            ("array.toml", "a = " + "[" * 50000 + "]" * 50000 + "\n", "array.toml:1: ", "256"),
            ("table.toml", "a = " + "{a=" * 50000 + "1" + "}" * 50000 + "\n", "table.toml:1: ", "256"),
    ]:
        (bench.folder / name).write_text(text, encoding="utf-8")
        refused(bench, 2, ["params", "--config", name], "found", "expected", *parts, **limit)
    refused(bench, 2, ["params", "--set", f"nic.link_gbps={{{deep}=1}}"], "nic.link_gbps", "an integer", **limit)
    # Dots of sentences, comments and numbers are no parts of a key.
    (bench.folder / "fine.toml").write_text(
        "base = \"tiny\" # " + "." * 99 + "\nabout = \"\"\"a.b.c.d.e.f.g.h.i.j\n.........\"\"\"\n[ nic ]\n"
        "link_gbps = 50 # '\n", encoding="utf-8")
    done = rxnic(bench, "params", "nic", "--json", "--config", "fine.toml")
    bench.expect(done.returncode == 0 and '"value": 50' in done.stdout, f"dots in a sentence: {done.stderr}")
    os.mkfifo(bench.folder / "fifo.toml")
    for path, *parts in [("/dev/zero", "/dev/zero", "more than 1048576 bytes"), (f"{bench.folder}/", "Is a directory"),
                         ("absent.toml", "absent.toml", "No such file"), ("fifo.toml", "fifo.toml", "no such key")]:
        refused(bench, 2, ["params", "--config", path], "expected", *parts, **limit)
    # What is written into a pipe is a configuration.
    piped = bench.start("bash", "-c", '"$0" params nic --json --config <(sleep 0.2; echo "base=\'tiny\'")',
                        bench.options.rxnic)
    bench.expect(piped.returncode == 0 and '"link_gbps"' in piped.stdout, f"a pipe: {piped.stderr}")


def trace(bench):
    """A trace or a record that is no file is refused at once."""
    os.mkfifo(bench.folder / "fifo.pcap")
    for path in ("fifo.pcap", "/dev/zero"):
        refused(bench, 3, ["replay", path], path, "regular file", preexec_fn=little_memory(bench))
    (bench.folder / "run").mkdir()
    os.mkfifo(bench.folder / "run/host.jsonl")
    refused(bench, 3, ["replay", "run"], "run/host.jsonl", "regular file")


def report(bench):
    """A report with a value of another kind is refused with its file, its place and what was found."""
    bench.replay(e2e.SAMPLE, out="whole")
    whole = json.loads((bench.folder / "whole/report.json").read_text(encoding="utf-8"))
    (bench.folder / "run").mkdir()

    def changed(path, value):
        copy = json.loads(json.dumps(whole))
        at = copy
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        (bench.folder / "run/report.json").write_text(json.dumps(copy), encoding="utf-8")
        return "/" + "/".join(path)

    block = next(iter(whole["blocks"]))
    for path in (["packets", "seen"], ["messages"], ["latency_ns", "p50"], ["blocks", block, "busy"], ["seed"],
                 ["blocks", block, "starved"], ["transport", next(iter(whole["transport"]))], ["answers", "equal"]):
        for value in (-1, -(1 << 62), 1.5, 1e30, "many", None, [], {}):
            found = json.dumps(value) if not isinstance(value, (list, dict)) else "an "
            refused(bench, 2, ["report", "run"], f"run/report.json: {changed(path, value)}: found {found}",
                    "a whole number", preexec_fn=little_memory(bench))
    for path, value in ((["state_hash"], "no hash"), (["warnings"], "none"), (["receiver"], []), (["blocks"], 3),
                        (["config", "values", "nic"], [1]), (["config", "values", "nic", "link_gbps"], [[]])):
        place = changed(path, value)
        refused(bench, 2, ["report", "run"], f"run/report.json: {place}", "found", "expected")
    changed(["config", "values", "nic", "link_gbps"], -1)
    refused(bench, 2, ["report", "run"], "run/report.json: /config/values: found nic.link_gbps: -1", "from 1 to")
    # The largest counts, whose sum is none.
    for key in ("busy", "starved", "blocked"):
        whole["blocks"][block][key] = (1 << 64) - 1
    (bench.folder / "run/report.json").write_text(json.dumps(whole), encoding="utf-8")
    done = rxnic(bench, "report", "run", preexec_fn=little_memory(bench))
    bench.expect(done.returncode == 0 and " 33.3 " in done.stdout, f"large counts: {done.stdout[-999:]}{done.stderr}")
    (bench.folder / "run/report.json").write_text("[" * 1000000, encoding="utf-8")
    refused(bench, 2, ["report", "run"], "run/report.json")
    (bench.folder / "run/report.json").unlink()
    (bench.folder / "run/report.json").symlink_to("/dev/zero")
    refused(bench, 2, ["report", "run"], "run/report.json", "more than", preexec_fn=little_memory(bench))


def seed(bench):
    """A seed is a whole number of 64 bits."""
    for command in (["replay", e2e.SAMPLE], ["serve", "--socket", "s"], ["run"]):
        for text in ("-1", "18446744073709551616", "1.5", "", "0x", "7x"):
            refused(bench, 2, [*command, f"--seed={text}", *(["--", "true"] if command == ["run"] else [])], "--seed",
                    *([f"'{text}'", "0 to 2^64-1"] if text else []))
    bench.expect_equal(bench.replay(e2e.SAMPLE, "--seed", "18446744073709551615")["seed"], (1 << 64) - 1, "--seed")
    bench.expect_equal(bench.replay(e2e.SAMPLE, "--seed", "0x10")["seed"], 16, "--seed 0x10")


def read_request(bench, name, length):
    """A capture of 114 bytes: a READ request of this length, from the sample."""
    data = e2e.SAMPLE.read_bytes()
    for _, frame in check_icrc.records(data):
        front, bth, end = check_icrc.ethernet(frame) if frame[12:14] == b"\x08\x00" else (b"", 0, 0)
        if end and frame[bth] == 0x0C:
            break
    frame = bytearray(frame)
    struct.pack_into(">I", frame, bth + 24, length)
    covered = front + check_icrc.masked(bytes(frame[bth:end - 4]), {4: 0xFF})
    frame[end - 4:end] = zlib.crc32(covered).to_bytes(4, "little")
    (bench.folder / name).write_bytes(data[:24] + struct.pack("<IIII", 0, 0, len(frame), len(frame)) + bytes(frame))
    bench.expect_equal((bench.folder / name).stat().st_size, 114, f"{name}: bytes")


def responses(bench):
    """--responses-limit: responses.pcap ends there, and a warning says how many frames are not in it."""
    read_request(bench, "read.pcap", 1 << 20)
    free = bench.replay("read.pcap", "--responses-limit", "0", out="free")
    all_of_it = (bench.folder / "free/responses.pcap").read_bytes()
    bench.expect(len(all_of_it) > 1 << 20, f"without a limit: {len(all_of_it)} bytes")
    bench.expect_equal(free["warnings"], [], "without a limit: warnings")
    bench.replay("read.pcap", out="default")
    bench.expect((bench.folder / "default/responses.pcap").read_bytes() == all_of_it, "1 MiB is below the default")
    for size, most in (("64K", 1 << 16), ("1000", 1000), ("24", 24)):
        done = rxnic(bench, "replay", "read.pcap", "--responses-limit", size, "--out", "cut")
        bench.expect_equal(done.returncode, 0, f"--responses-limit {size}: {done.stderr}")
        written = (bench.folder / "cut/responses.pcap").read_bytes()
        frames = len(list(check_icrc.records(written)))
        bench.expect(written == all_of_it[:len(written)] and len(written) <= most, f"{size}: {len(written)} bytes")
        bench.expect(frames > 0 or most < 1000, f"{size}: {frames} frames")
        cut = json.loads((bench.folder / "cut/report.json").read_text(encoding="utf-8"))
        sent = cut["answers"]["sent"]
        expected = f"{sent - frames} of {sent} frames are left out of responses.pcap"
        bench.expect(len(cut["warnings"]) == 1 and expected in cut["warnings"][0], f"{size}: {cut['warnings']}")
        bench.expect(expected in done.stdout, f"{size}: the summary does not say it: {done.stdout[:999]}")
        bench.expect(dict(cut, warnings=[]) == free, f"{size}: the report differs in more than the warning")
    for size in ("-1", "many", "1.5", ""):
        refused(bench, 2, ["replay", "read.pcap", f"--responses-limit={size}"], "--responses-limit")


def endless_read(bench):
    """A READ of 2 GiB is simulated up to a million frames beyond what --responses-limit lets be written, and no
    further."""
    read_request(bench, "read.pcap", 1 << 31)
    most = 1 << 20
    for limit in ("24", "64K"):
        report = bench.replay("read.pcap", "--responses-limit", limit, out="bounded")
        written = len(list(check_icrc.records((bench.folder / "bounded/responses.pcap").read_bytes())))
        bench.expect_equal(report["answers"]["sent"], written + most, f"{limit}: frames")
        bench.expect(len(report["warnings"]) == 2 and "the run ends there" in report["warnings"][1],
                     f"{limit}: {report['warnings']}")
        bench.expect_equal((report["packets"]["seen"], report["packets"]["accepted"]), (1, 1), f"{limit}: packets")


def streams(bench):
    """Closed streams do no harm, and what standard output does not take is an error of every command."""
    def shell(line, *arguments):
        return bench.start("timeout", "-s", "KILL", PATIENCE, "sh", "-c", line, bench.options.rxnic, *arguments)

    for closed in ("2>&-", "1>&-", "0<&-", "<&- >&- 2>&-", "2>/dev/full", "2>/dev/full >&-"):
        for code in (0, 7):
            done = shell(f'"$0" run --record --out out -- sh -c "exit {code}" {closed}')
            bench.expect_equal(done.returncode, code, f"run with {closed}: {done.stdout}{done.stderr}")
        log = (bench.folder / "out/log.txt").read_text(encoding="utf-8")
        bench.expect("report.json" in log, f"run with {closed}: log.txt: {log}")
        again = shell('"$0" replay out --quiet')
        bench.expect_equal(again.returncode, 0, f"the record of a run with {closed}: {again.stderr}")
    # A program of the run finds its stream closed, as without rxnic.
    done = shell('"$0" run --quiet --out echo -- sh -c "echo lost" >&-')
    bench.expect(done.returncode != 0 and "echo" in done.stderr, f"echo: exit {done.returncode}: {done.stderr}")
    for command in ("params", "params --json", "params --toml", "params --memory", "params --memory --json", "counters",
                    "counters --json", "report out", "replay out", f"replay {e2e.SAMPLE} --out again", "--help",
                    "--help-all", "--version", "replay --help"):
        full = shell(f'"$0" {command} >/dev/full')
        bench.expect(full.returncode == 1 and "standard output: No space left" in full.stderr,
                     f"{command} >/dev/full: exit {full.returncode}: {full.stderr}")
        none = shell(f'"$0" {command} >&-')
        bench.expect(none.returncode == 1 and "standard output: Bad file descriptor" in none.stderr,
                     f"{command} >&-: exit {none.returncode}: {none.stderr}")


def descriptors(bench):
    """Too few descriptors: every command works or says it in these words."""
    said = 0
    commands = [["params"], ["params", "--config", "some.toml"], ["replay", e2e.SAMPLE, "--quiet", "--cqes", "c.csv"],
                [*RUN, "--record", "--quiet", "--", "true"], ["report", "out"],
                ["replay", e2e.SAMPLE, "--quiet", "--waves"]]
    (bench.folder / "some.toml").write_text("base = 'tiny'\n", encoding="utf-8")
    bench.start(bench.options.rxnic, *RUN, "--quiet", "--", "true")
    for command in commands:
        for most in range(4, 24):
            line = f"ulimit -n {most}; shift; exec \"$0\" \"$@\""
            done = bench.start("timeout", "-s", "KILL", PATIENCE, "sh", "-c", line, bench.options.rxnic, "", *command)
            if done.returncode == 0 or "error while loading shared libraries" in done.stderr:
                continue
            said += 1
            bench.expect(done.returncode in (1, 2, 3, 126) and "oo many open files" in done.stderr,
                         f"{most} descriptors: {command}: exit {done.returncode}: {done.stderr}")
            bench.expect("E549" not in done.stderr, f"{most} descriptors: {command}: {done.stderr}")
    bench.expect(said >= 8, f"only {said} commands had too few descriptors")


def disk(bench):
    """A full disk: the file is named, the exit code is 1, nothing is heard of SystemC."""
    full = bench.folder / "full"
    full.mkdir()

    def with_full(name, arguments, *parts):
        (full / name).unlink(missing_ok=True)
        (full / name).symlink_to("/dev/full")
        refused(bench, 1, arguments, f"full/{name}", *parts)
        (full / name).unlink()

    read_request(bench, "read.pcap", 1 << 20)
    (full / "cqes.csv").symlink_to("/dev/full")
    refused(bench, 1, ["replay", e2e.SAMPLE, "--cqes", "full/cqes.csv"], "full/cqes.csv", "No space left")
    (full / "cqes.csv").unlink()
    for name in ("responses.pcap", "report.json"):
        with_full(name, ["replay", "read.pcap", "--out", "full", "--quiet"], "No space left")
    for name in ("log.txt", "report.json", "wire.pcap", "host.jsonl"):
        with_full(name, ["run", "--record", "--out", "full", "--", "true"], "No space left")
    # In the middle of a run.
    refused(bench, 1, ["replay", "read.pcap", "--quiet", "--out", "cut"], "cut/responses.pcap", "File too large",
            preexec_fn=limited(FSIZE=300000))
    refused(bench, 1, ["replay", e2e.SAMPLE, "--quiet", "--out", "cut", "--cqes", "c.csv", "--responses-limit", "500"],
            "c.csv", "File too large", preexec_fn=limited(FSIZE=700))
    refused(bench, 1, ["replay", e2e.SAMPLE, "--quiet", "--out", "cut"], "cut/report.json", "File too large",
            preexec_fn=limited(FSIZE=8000))
    bench.expect(not (bench.folder / "cut/report.json").exists(), "half a report is left")
    # A folder in which nothing can be made.
    refused(bench, 1, ["run", "--out", "/proc/self", "--", "true"], "/proc/self/log.txt")
    refused(bench, 2, ["run", "--out", "/proc/self/out", "--", "true"], "--out", "/proc/self/out")


def messages(bench):
    """What is refused says what was meant."""
    for arguments, *parts in [
            (["params", "nosection"], "params: found 'nosection', which is no section", "nic, device"),
            (["params", "nci"], "did you mean 'nic'?"),
            (["params", "prefetch_depth"], "did you mean 'srq_wqe_fetcher.prefetch_depth'?"),
            (["params", "--set", "prefetch_depth=8"], "did you mean 'srq_wqe_fetcher.prefetch_depth'?"),
            (["params", "--set", "nic.prefetch_depth=8"], "did you mean 'srq_wqe_fetcher.prefetch_depth'?"),
            (["params", "--set", "prefetch_dept=8"], "did you mean 'srq_wqe_fetcher.prefetch_depth'?"),
            (["run", "--cqes", "--", "true"], "run: found --cqes, an option of replay"),
            (["run", "--pace=50", "--", "true"], "run: found --pace, an option of replay"),
            (["replay", e2e.SAMPLE, "--nics", "2"], "replay: found --nics, an option of run, serve"),
    ]:
        refused(bench, 2, arguments, *parts)
    for arguments in (["--", "true"], ["--nics", "2", "--", "true"]):
        done = rxnic(bench, *RUN, *arguments)
        shown = rxnic(bench, "report", "out").stdout
        for text in (done.stderr, shown):
            bench.expect("no program opened a NIC" in text, f"run {arguments}: does not say it: {text}")
            for why in ("statically linked", "set-user-ID", "RPATH"):
                bench.expect(why in text, f"run {arguments}: does not say {why}: {text}")
            for word in ("slowdown", "latency", "one way", "p50"):
                bench.expect(word not in text, f"run {arguments}: speaks of {word}: {text}")
        bench.expect("out/report.json" in done.stderr, f"run {arguments}: does not name its report: {done.stderr}")


CHECKS = {"config": config, "trace": trace, "report": report, "seed": seed, "responses": responses,
          "endless_read": endless_read, "streams": streams,
          "descriptors": descriptors, "disk": disk, "messages": messages}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
