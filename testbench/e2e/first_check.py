#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `scripts/rxnic` builds for which arguments, in a copy of the tree without a build folder: ninja names what it
would need, and makes nothing."""
import os
import re
import shutil
import sys

import e2e

# Stands in front of the real one. A build of it writes what the targets are made of into the file "needed".
LISTING_CMAKE = """#!/bin/sh
[ "$1" = --build ] || exec "{cmake}" "$@"
folder=$2
while [ "$1" != --target ]; do shift; done
shift
exec ninja -C "$folder" -t inputs "$@" >>"{needed}"
"""


class Copy:
    """The tree without its build folders."""

    def __init__(self, bench):
        cmake = shutil.which("cmake")
        if not cmake or not shutil.which("ninja"):
            raise e2e.Skip("found no cmake or no ninja")
        self.bench, self.root, self.needed = bench, bench.folder / "rxnic", bench.folder / "needed"
        built = ["build", ".git"]  # scripts/build is a file of the tree
        shutil.copytree(e2e.ROOT, self.root, ignore=lambda folder, _: built if folder == str(e2e.ROOT) else [])
        programs = bench.folder / "bin"
        programs.mkdir()
        (programs / "cmake").write_text(LISTING_CMAKE.format(cmake=cmake, needed=self.needed), encoding="utf-8")
        (programs / "cmake").chmod(0o755)
        self.environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}

    def made(self, *arguments):
        """What scripts/rxnic would make programs and RTL of for the arguments, by the paths in the build folder."""
        self.needed.write_text("", encoding="ascii")
        done = self.bench.start(self.root / "scripts" / "rxnic", *arguments, env=self.environment)
        needed = set(self.needed.read_text(encoding="utf-8").split("\n"))
        self.bench.expect("bridge/rxnic/librxnic_rooms-run.a" in needed,
                          f"{arguments}: no program is built: {done.stderr}")
        # There is no program to start.
        self.bench.expect_equal(done.returncode, 127, f"{arguments}: {done.stderr}")
        return needed


def of_tests(files):
    return sorted(file for file in files if file.startswith("testbench/"))


def blocks(files):
    """The blocks whose RTL is among the files, lean_BLOCK without its checker."""
    return {found[1] for file in files if (found := re.match(r"rtl/CMakeFiles/rxnic_rtl_(\w+)_\d+\.dir/", file))}


def run(bench):
    """Without arguments the program and the library for programs are built: no test, no example, no RTL."""
    made = Copy(bench).made()
    bench.expect("bridge/verbs/libibverbs.so.1" in made, f"no libibverbs: {sorted(made)}")
    bench.expect_equal(of_tests(made), [], "files of testbench")
    bench.expect_equal([file for file in made if file.startswith("rtl/")], [], "files of rtl")


def named(bench):
    """What an argument names in build/release is built, a file or all of a folder, and no more."""
    copy = Copy(bench)
    examples = "testbench/live/examples/"
    for argument, expected in [(examples + "srq_server", {"srq_server"}),
                               (examples.rstrip("/"), {"srq_server", "tag_matching", "model_time", "rdma_srq"})]:
        found = {file for file in of_tests(copy.made("run", "--", "build/release/" + argument))}
        programs = {re.sub(r"/CMakeFiles/(\w+)\.dir/.*", r"/\1", file).removeprefix(examples) for file in found}
        bench.expect_equal(programs - {"rdma_srq"}, expected - {"rdma_srq"}, f"{argument}: of testbench is made")
    made = copy.made("replay", "traces/sample.pcap", "--out", "build/release/mine")
    bench.expect_equal(of_tests(made), [], "a folder of one's own in build/release: files of testbench")
    dpi = copy.made("run", "--", "sh", "-c", "build/release/bridge/dpi/librxnic_dpi.so")
    bench.expect(any("bridge/dpi/" in file for file in dpi), "nothing of bridge/dpi")


def rtl(bench):
    """With --lockstep, --rtl and exercise the project's RTL of these blocks is built, for --rtl without checkers, and
    none when a file is there."""
    if not shutil.which("verilator"):
        raise e2e.Skip("found no verilator")
    copy = Copy(bench)
    own = "grh_scatter=mine.so"
    for options, expected in [
            (["--lockstep", "grh_scatter"], {"grh_scatter"}),
            (["--lockstep=grh_scatter:transactions"], {"grh_scatter"}),
            (["--rtl", "grh_scatter,cqe_generator", "--lockstep=tag_match_cam"],
             {"lean_grh_scatter", "lean_cqe_generator", "tag_match_cam"}),
            (["--rtl=grh_scatter"], {"lean_grh_scatter"}),
            (["--lockstep", own], set()), (["--rtl", f"{own},srq_wqe_fetcher"], {"lean_srq_wqe_fetcher"}),
            (["--lockstep", "no_block"], set()), ([], set())]:
        made = copy.made("replay", "traces/sample.pcap", *options)
        bench.expect_equal(blocks(made), expected, f"{options}: RTL is made of")
        bench.expect_equal(of_tests(made), [], f"{options}: files of testbench")
    for rtl_of, expected in (("grh_scatter", {"grh_scatter"}), (own, set()), ("no_block:transactions", set())):
        made = copy.made("exercise", rtl_of, "--seeds", "2")
        bench.expect_equal(blocks(made), expected, f"exercise {rtl_of}: RTL is made of")
        programs = {file.split("/CMakeFiles/")[0] for file in of_tests(made)}
        bench.expect_equal(programs, {"testbench/exercise"}, f"exercise {rtl_of}: of testbench is made")


CHECKS = {"run": run, "named": named, "rtl": rtl}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
