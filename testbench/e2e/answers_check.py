#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Worked answers, scripts/examples: the sweep that the page of each names gives the figures that it was written from.

A change that moves a figure renews answer.csv and chart.png (which needs matplotlib), and the words with them:

    testbench/e2e/answers_check.py --rxnic build/release/bridge/rxnic/rxnic --renew
"""
import concurrent.futures
import csv
import os
import re
import shutil
import sys
import tomllib

import e2e
import slurm_cluster

EXAMPLES = e2e.ROOT / "scripts" / "examples"
ANSWERS = sorted(path.parent.name for path in EXAMPLES.glob("*/sweep.toml"))


def answer_of(table, page):
    """The columns of a sweep's table that an answer has: what varies, and the figures that the page names."""
    varied = [f"set.{name}" for axis in page["axes"] for name in settings_of(axis)]
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    return [[*varied, *page["figures"]]] + [[row[name] for name in (*varied, *page["figures"])] for row in rows]


def settings_of(axis, above=""):
    """Names of an axis's settings: nested tables until there is a list."""
    for key, value in axis.items():
        if isinstance(value, dict) and not {"from", "to"} <= set(value):
            yield from settings_of(value, f"{above}{key}.")
        else:
            yield above + key


def swept(bench, name, *options, environment=None):
    """The table of the sweep as it is now, None when it failed."""
    if not shutil.which("snakemake"):
        raise e2e.Skip("found no snakemake")
    folder = bench.folder / "-".join([name, *options])
    shutil.copytree(EXAMPLES / name, folder)
    done = bench.start(sys.executable, "-B", e2e.ROOT / "scripts" / "rxnic_model", "sweep", folder / "sweep.toml",
                       "--quiet", *options, env={**(environment or os.environ), "RXNIC": str(bench.options.rxnic)})
    bench.expect(done.returncode == 0, f"{name} {options}: exit {done.returncode}: {done.stderr.strip()}")
    return folder / "sweep.sweep" / "sweep.csv" if done.returncode == 0 else None


def check_answer(bench, name):
    table = swept(bench, name)
    if table is None:
        return
    found = answer_of(table, tomllib.loads((EXAMPLES / name / "sweep.toml").read_text(encoding="utf-8")))
    kept = EXAMPLES / name / "answer.csv"
    if bench.options.renew:
        with kept.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(found)
        sweep = bench.folder / name / "sweep.toml"
        drawn = bench.start("/usr/bin/python3", e2e.ROOT / "scripts" / "plot", sweep, "--out", "figures", "--only",
                            found[0][-len(tomllib.loads(sweep.read_text())["figures"])])
        bench.expect(drawn.returncode == 0, drawn.stderr)
        shutil.copy(next((bench.folder / "figures").glob("*.png")), EXAMPLES / name / "chart.png")
    with kept.open(encoding="utf-8", newline="") as file:
        expected = list(csv.reader(file))
    bench.expect(len(expected) > 8, f"{name}: an answer of {len(expected)} lines")
    for n, (one, other) in enumerate(zip(found, expected), 1):
        bench.expect_equal(one, other, f"{name}/answer.csv:{n}")
    bench.expect_equal(len(found), len(expected), f"{name}/answer.csv: lines")
    words = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^rxnic sweep (\S+)$", words, re.M)
    bench.expect(command and (e2e.ROOT / command[1]).samefile(EXAMPLES / name / "sweep.toml"),
                 f"{name}/README.md: found {command and command[0]}; expected the command of its sweep")


def check_of(name):
    def check(bench):
        check_answer(bench, name)
    check.__doc__ = f"scripts/examples/{name}."
    return check


def slurm(bench):
    """A real Slurm gives the table of each answer to the byte as the cores of this machine do."""
    here = {name: swept(bench, name) for name in ANSWERS}
    with slurm_cluster.slurm_cluster(2) as environment:
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each waits for jobs most of the time
            there = pool.map(lambda name: swept(bench, name, "--slurm", "--jobs=4", environment=environment), ANSWERS)
        jobs = bench.start("scontrol", "-o", "show", "jobs", env=environment).stdout
    for (name, one), other in zip(here.items(), there):
        if one is not None and other is not None:
            bench.expect(len(one.read_bytes().splitlines()) > 8, f"{name}: a table without rows")
            bench.expect(one.read_bytes() == other.read_bytes(), f"{name}: Slurm gives another table")
    ended = jobs.count("JobState=COMPLETED")
    bench.expect(ended >= len(ANSWERS), f"{ended} jobs of Slurm have completed; expected one for each answer: {jobs}")


CHECKS = {name: check_of(name) for name in ANSWERS} | {"slurm": slurm}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--renew", action="store_true", help="write answer.csv and chart.png anew")
    sys.exit(e2e.run(parser, CHECKS))
