#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one fuzz target from the seeds that make_seeds writes: a fixed number of inputs, the same ones each time.

usage: fuzz_check.py --fuzzers FOLDER --seeds MAKE_SEEDS [--seconds S] TARGET

With --seconds it goes on for so long instead, from a seed that it prints. Exit status 0: nothing was found. Exit status
1: an input that breaks the target was found; it is kept, and the command that repeats it is printed. Exit status 77:
the target is not built.
"""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
# Inputs of a run: a few seconds each.
RUNS = {
    "capture_reader": 2000, "config": 1500, "device": 120, "events": 3000, "flow": 200000, "host_log": 3000,
    "ip_offload": 200000, "manager": 60000, "mpi_trace": 20000, "pins": 50000, "record": 300, "report": 4000,
    "request_body": 60000, "wire": 200000, "workload": 10000,
}
MOST_MEMORY = "2048"  # MiB
MOST_SECONDS = "60"  # of one input; it takes milliseconds


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzzers", required=True, type=pathlib.Path, help="folder of the targets that were built")
    parser.add_argument("--seeds", required=True, type=pathlib.Path, help="the program make_seeds")
    parser.add_argument("--seconds", type=int, help="for how long, instead of the fixed number of inputs")
    parser.add_argument("target", choices=sorted(RUNS))
    return parser.parse_args()


def main():
    options = parse_arguments()
    target = options.fuzzers / f"{options.target}_fuzz"
    if not target.exists():
        print(f"skipped: {options.target}_fuzz is not built: scripts/build fuzz fuzzers, with clang and its runtime")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.seeds, folder], check=True)
        seeds = pathlib.Path(folder) / options.target
        given = len(list(seeds.iterdir()))
        found = options.fuzzers / "found"
        found.mkdir(exist_ok=True)
        seed = random.randrange(1, 1 << 31) if options.seconds else 1
        limit = f"-max_total_time={options.seconds}" if options.seconds else f"-runs={RUNS[options.target]}"
        # Inputs that are new go to the first folder, which is thrown away.
        new = pathlib.Path(folder) / "new"
        new.mkdir()
        command = [target, f"-seed={seed}", limit, f"-rss_limit_mb={MOST_MEMORY}", f"-timeout={MOST_SECONDS}",
                   f"-artifact_prefix={found}/{options.target}-", new, seeds]
        print("seed", seed, "inputs to begin with", given, flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=os.environ | {"TMPDIR": folder}, check=False)
        runs = re.search(r"Done (\d+) runs", done.stdout)
        if done.returncode == 0 and runs and int(runs.group(1)) >= given:
            print(runs.group(1), "inputs, nothing found")
            return 0
        print(done.stdout[-20000:])
        kept = re.search(r"Test unit written to (\S+)", done.stdout)
        if kept:
            print(f"repeat it with: {target} {kept.group(1)}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
