#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Worked answers, scripts/examples: the sweep that the page of each names gives the figures that it was written from.

A change that moves a figure renews answer.csv and chart.png (which needs matplotlib), and the words with them:

    testbench/e2e/answers_check.py --rxnic build/dev/bridge/rxnic/rxnic --renew
"""
import csv
import os
import re
import shutil
import sys
import tomllib

import e2e

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


def swept(bench, name):
    """The answer as the sweep gives it now, None when it failed."""
    folder = bench.folder / name
    shutil.copytree(EXAMPLES / name, folder)
    done = bench.start(sys.executable, "-B", e2e.ROOT / "scripts" / "rxnic_model", "sweep", folder / "sweep.toml",
                       "--quiet", env={**os.environ, "RXNIC": str(bench.options.rxnic)})
    bench.expect(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr.strip()}")
    if done.returncode != 0:
        return None
    page = tomllib.loads((folder / "sweep.toml").read_text(encoding="utf-8"))
    return answer_of(folder / "sweep.sweep" / "sweep.csv", page)


def check_answer(bench, name):
    if not shutil.which("snakemake"):
        raise e2e.Skip("found no snakemake")
    found = swept(bench, name)
    if found is None:
        return
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


CHECKS = {name: check_of(name) for name in ANSWERS}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--renew", action="store_true", help="write answer.csv and chart.png anew")
    sys.exit(e2e.run(parser, CHECKS))
