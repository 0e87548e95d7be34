#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CMakePresets.json: for which processors a preset is, as its configuration says it. Nothing is built."""
import pathlib
import re
import shutil
import sys

import e2e

LEVEL = "x86-64-v3"
RUNS = f"RXNIC_RUNS_{LEVEL}"  # what CMake keeps of a small program that asks the processor


def configure(bench, preset, *settings):
    """CMake, in a folder of its own; how it ended, and its build rules."""
    if not shutil.which("cmake") or not shutil.which("ninja"):
        raise e2e.Skip("found no cmake or no ninja")
    folder = bench.folder / "-".join([preset, *settings])
    done = bench.start("cmake", "--preset", preset, "-S", e2e.ROOT, "-B", folder,
                       *(f"-D{setting}" for setting in settings), cwd=e2e.ROOT)
    rules = folder / "build.ninja"
    return done, rules.read_text(encoding="utf-8") if rules.is_file() else ""


def processors(bench):
    """pgo is for x86-64-v3, with a note that lets the dynamic loader refuse it elsewhere; release is for all."""
    flags = f"-march={LEVEL}", f"-Wl,-z,{LEVEL}"
    for preset, expected in (("release", (False, False)), ("pgo", (True, True))):
        done, rules = configure(bench, preset, f"{RUNS}=TRUE")
        bench.expect_equal(done.returncode, 0, f"{preset}: {done.stderr}")
        for flag, holds in zip(flags, expected):
            used = re.search(rf"{re.escape(flag)}(?!\S)", rules) is not None
            bench.expect_equal(used, holds, f"{preset}: {flag} among its flags")


def refusals(bench):
    """Another processor, and a level that there is none of, are refused with what was found and what is expected."""
    for settings, words in (
            ([f"{RUNS}=FALSE"], f"RXNIC_ARCH: found a processor that is no {LEVEL}; expected one"),
            (["RXNIC_ARCH=avx2"], "RXNIC_ARCH: found avx2; expected one of x86-64-v2, x86-64-v3, x86-64-v4")):
        done, rules = configure(bench, "pgo", *settings)
        said = " ".join(done.stderr.split())
        bench.expect(done.returncode != 0 and not rules, f"{settings}: is configured")
        bench.expect(words in said, f"{settings}: does not say {words!r}: {done.stderr}")


def training(bench):
    """The runs that pgo is optimized for are none of the benchmarks."""
    script = (e2e.ROOT / "scripts" / "train").read_text(encoding="utf-8")
    names = {path.stem for path in (e2e.ROOT / "testbench" / "bench").iterdir()}
    named = {pathlib.PurePath(word).stem for word in re.findall(r"[\w./]+", re.sub(r"(?m)^#.*", "", script))}
    bench.expect(len(names) > 5 and len(named) > 20, f"too little to compare: {len(names)} and {len(named)} names")
    bench.expect_equal(sorted(named & (names | {"bench", "make_traffic", "workload"})), [], "of the benchmarks it runs")


CHECKS = {"processors": processors, "refusals": refusals, "training": training}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
