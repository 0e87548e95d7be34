# SPDX-License-Identifier: Apache-2.0
"""Changed RTL of a block: builds it with its checker for one configuration, and runs the random lockstep test, or
`rxnic exercise`."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bridge" / "rtl"))
import twins  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKERS = ROOT / "rtl" / "checkers"
TEST_SECONDS = 120  # a test that takes longer hangs
EXERCISE_SECONDS = 600
DIFFERS = 4  # the exit status of `rxnic exercise`


def verdict(configuration, changed, tests, cycles):
    """"caught", "not caught", or "refused" by Verilator or g++. `changed`: {name of a file of rtl/: its text}."""
    with tempfile.TemporaryDirectory(prefix="rxnic-trial-") as name:
        made = pathlib.Path(name) / "changed.so"
        refusal = build(configuration, changed, made)
        return "refused" if refusal else run(configuration, made, tests, cycles)


def exercise(configuration, changed, program):
    """"seed N" of the first that shows a difference under `rxnic exercise`, "not caught", or "refused"."""
    with tempfile.TemporaryDirectory(prefix="rxnic-trial-") as name:
        made = pathlib.Path(name) / "changed.so"
        if build(configuration, changed, made):
            return "refused"
        done = subprocess.run([program, f"{configuration.block}={made}", "--configs", configuration.name,
                               "--stop-at-first", "--json"], capture_output=True, text=True, errors="replace",
                              timeout=EXERCISE_SECONDS, check=False)
        if done.returncode not in (0, DIFFERS):
            raise SystemExit(f"{program}: exit status {done.returncode}: {done.stderr}")
        differing = [run["seed"] for run in json.loads(done.stdout)["runs"] if not run["equal"]]
        return f"seed {differing[0]}" if differing else "not caught"


def build(configuration, changed, made, *options):
    """Makes a shared object of the block with its checker; `options` of scripts/build_rtl. Returns what Verilator or
    g++ say when they refuse it, otherwise ""."""
    with tempfile.TemporaryDirectory(prefix="rxnic-changed-") as name:
        folder = pathlib.Path(name)
        for file in twins.files(configuration.block):
            shutil.copy(file, folder)
        for file, text in changed.items():
            (folder / file).write_text(text, encoding="utf-8")
        sets = [word for item in configuration.parameters for word in ("--set", item)]
        packages = [folder / file for file in changed if file.endswith("_pkg.sv")]
        done = subprocess.run([ROOT / "scripts" / "build_rtl", configuration.block, *packages,
                               folder / f"{configuration.block}.sv", CHECKERS / f"{configuration.block}_checker.sv",
                               "-I", folder, "-I", CHECKERS, *sets, *(options or ("--optimize", "1")), "-o", made],
                              capture_output=True, text=True, errors="replace", check=False)
        return done.stdout + done.stderr if done.returncode else ""


def run(configuration, made, tests, cycles, seconds=TEST_SECONDS, **variables):
    """"caught" or "not caught" by the random test with the shared object `made`."""
    environment = {**os.environ, "RXNIC_COSIM_RTL": str(made), "RXNIC_COSIM_CYCLES": str(cycles), **variables}
    name = configuration.random_test
    try:
        done = subprocess.run([tests, f"--gtest_filter={name}", "--gtest_brief=1"], env=environment,
                              capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "caught"
    if done.returncode == 0 and "[  PASSED  ] 1 test" not in done.stdout:
        raise SystemExit(f"{name}: found no such test: {done.stdout[-300:]}")
    return "caught" if done.returncode else "not caught"
