#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run writes is for its user alone, and goes nowhere else: private folders and files, links that are refused."""
import os
import signal
import stat
import subprocess
import sys
import time

import e2e

OPEN = {"umask": 0}  # takes nothing away
LIVE = ("report.json", "log.txt", "wire.pcap", "host.jsonl", "waves.vcd")
WAVES = ("--waves", "--waves-to", "2us")


def nobody_else(bench, folder, *expected):
    """Everything in a folder that a run has made is for its user alone."""
    folder = bench.folder / folder
    found = [folder, *folder.rglob("*")]
    for path in found:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            bench.expect(stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600),
                         f"{path}: mode {stat.S_IMODE(mode):o}")
    for name in expected:
        bench.expect(folder / name in found, f"{folder / name}: is not there")


def modes(bench):
    """Folders have mode 0700 and files 0600, whatever the umask is, of replay, run and serve."""
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", *WAVES, "--out", "a/b", "--cqes",
                       "a/cqes.csv", **OPEN)
    bench.expect_equal(done.returncode, 0, f"replay: {done.stderr}")
    nobody_else(bench, "a", "b/report.json", "b/responses.pcap", "b/waves.vcd", "b/waves.gtkw", "cqes.csv")
    done = bench.rxnic("run", "--quiet", "--record", *WAVES, "--out", "run", "--", "true", **OPEN)
    bench.expect_equal(done.returncode, 0, f"run: {done.stderr}")
    nobody_else(bench, "run", *LIVE, "device_files/sys/class/infiniband/rxnic0/ports/1/hw_counters/out_of_buffer")
    # The program has the umask of the user.
    done = bench.rxnic("run", "--quiet", "--out", "other", "--", "touch", "of_program", umask=0o022)
    bench.expect_equal(stat.S_IMODE((bench.folder / "of_program").stat().st_mode), 0o644, "a file of the program")
    served = subprocess.Popen([bench.options.rxnic, "serve", "--quiet", "--record", "--out", "served", "--socket",
                               "served.socket"], cwd=bench.folder, **OPEN)
    while not (bench.folder / "served.socket").exists() and served.poll() is None:
        time.sleep(0.01)
    bench.expect_equal(stat.S_IMODE((bench.folder / "served.socket").stat().st_mode), 0o600, "the socket's mode")
    served.send_signal(signal.SIGINT)
    bench.expect_equal(served.wait(e2e.TIMEOUT), 0, "serve: exit code")
    nobody_else(bench, "served", "report.json", "log.txt", "wire.pcap", "host.jsonl")


def again(bench):
    """A folder that exists keeps its mode; files in it are made anew."""
    old = bench.folder / "old"
    old.mkdir(0o755)
    for name in LIVE:
        (old / name).write_text("of an earlier run")
        (old / name).chmod(0o666)
        os.link(old / name, bench.folder / name)
    done = bench.rxnic("run", "--quiet", "--record", *WAVES, "--out", "old", "--", "true", **OPEN)
    bench.expect_equal(done.returncode, 0, f"run: {done.stderr}")
    bench.expect_equal(stat.S_IMODE(old.stat().st_mode), 0o755, "the folder's mode")
    for name in LIVE:
        bench.expect_equal(stat.S_IMODE((old / name).stat().st_mode), 0o600, f"{name}: mode")
        bench.expect_equal((bench.folder / name).read_text(), "of an earlier run", f"another name of {name}")
    (bench.folder / "link").symlink_to("old")
    bench.expect_equal(bench.rxnic("run", "--quiet", "--out", "link", "--", "true").returncode, 0, "a link of the user")


def links(bench):
    """A link in the place of a file is named, and not followed."""
    precious = bench.folder / "precious"
    precious.write_text("precious")
    planted = bench.folder / "planted"
    planted.mkdir()

    def refused(name, target, *arguments):
        (planted / name).unlink(missing_ok=True)
        (planted / name).symlink_to(target)
        done = bench.rxnic(*arguments, **OPEN)
        bench.expect(done.returncode in (1, 2) and f"planted/{name}" in done.stderr and "symbolic link" in done.stderr,
                     f"{name} -> {target}: exit {done.returncode}: {done.stderr}")
        bench.expect_equal(precious.read_text(), "precious", f"what {name} leads to")
        bench.expect(not (bench.folder / "absent").exists(), f"{name}: a file was made behind a link")
        (planted / name).unlink()

    for target in (precious, bench.folder / "absent"):
        for name in LIVE:
            refused(name, target, "run", "--record", *WAVES, "--out", "planted", "--", "true")
        for name in ("report.json", "responses.pcap", "waves.vcd"):
            refused(name, target, "replay", e2e.SAMPLE, *WAVES, "--out", "planted")
    # The report's link is found at the beginning, not after a run whose report is lost.
    (planted / "report.json").symlink_to(precious)
    bench.rxnic("run", "--out", "planted", "--", "touch", "begun")
    bench.expect(not (bench.folder / "begun").exists(), "the program ran although its report cannot be written")
    (planted / "report.json").unlink()
    # The folder of a driver's files is made anew.
    victim = bench.folder / "victim"
    (victim / "sys").mkdir(parents=True)
    folder = bench.folder / "made"
    folder.mkdir()
    (folder / "device_files").symlink_to(victim)
    done = bench.rxnic("run", "--quiet", "--out", "made", "--", "true")
    bench.expect_equal(done.returncode, 0, f"run: {done.stderr}")
    bench.expect_equal([path.name for path in victim.rglob("*")], ["sys"], "what a planted device_files leads to")
    bench.expect(not (folder / "device_files").is_symlink(), "device_files is a link still")


if __name__ == "__main__":
    CHECKS = {"modes": modes, "again": again, "links": links}
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
