#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/rxnic_model, the model as a module of Python: figures by name, errors, several runs at once, the notebook.

usage: module_check.py --rxnic FILE [--renew] [CHECK...]     (--renew writes what the notebook's cells print into it)
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys

import e2e

sys.dont_write_bytecode = True
sys.path.insert(0, str(e2e.ROOT / "scripts"))
import rxnic_model  # noqa: E402  pylint: disable=wrong-import-position

NOTEBOOK = e2e.ROOT / "scripts" / "examples" / "model.ipynb"


def raised(bench, kind, call, *parts):
    """A call raises `kind`, whose text has each of the parts: what was raised."""
    try:
        call()
    except kind as wrong:
        bench.expect(str(wrong), f"{kind.__name__} without a message")
        for part in parts:
            bench.expect(part in str(wrong), f"{wrong}: does not name {part!r}")
        return wrong
    bench.expect(False, f"no {kind.__name__} was raised")
    return None


def figures(bench):
    """Every number of the report is a figure, by the name of its counter or by its place."""
    report = bench.replay(e2e.SAMPLE, "--pace", "line-rate")
    run = rxnic_model.replay(e2e.SAMPLE, pace="line-rate", program=bench.options.rxnic)
    bench.expect_equal(run.state_hash, report["state_hash"], "state hash")
    bench.expect_equal(run.rates.packets_per_s, report["rates"]["packets_per_s"], "by its place")
    bench.expect_equal(run.address_translator.mtt_misses,
                       report["blocks"]["address_translator"]["counters"]["mtt_misses"], "by its counter's name")
    bench.expect_equal(run.blocks.address_translator.counters.mtt_misses, run.address_translator.mtt_misses, "by both")
    bench.expect_equal(run["responder.duplicates"], report["transport"]["duplicates"], "of a section of its own")
    bench.expect_equal((run.dropped.icrc, run.dropped.qkey), (1, 0), "drops, of which only some are in the report")
    bench.expect_equal(run.verdict.bound_by, report["verdict"]["bound_by"], "a text")

    def numbers(value):
        if isinstance(value, dict):
            return sum(numbers(inside) for inside in value.values())
        return int(isinstance(value, (int, float)))
    expected = numbers({key: value for key, value in report.items() if key not in ("config", "seed", "tables")})
    found = sum(1 for value in run.figures.values() if isinstance(value, (int, float)))
    absent = sum(1 for name in run.figures if name.startswith("dropped.")) - len(report["packets"]["dropped"]) + 1
    bench.expect_equal(found - absent, expected, "numbers of the report")
    raised(bench, rxnic_model.UnknownFigure, lambda: run.rates.packets_per_sec, "did you mean 'rates.packets_per_s'?")
    raised(bench, rxnic_model.UnknownFigure, lambda: run["mtt_misses"], "did you mean 'address_translator.mtt_misses'?")
    raised(bench, AttributeError, lambda: run.nothing, "found no figure 'nothing'")
    bench.expect("latency_ns" in dir(run) and "p99" in dir(run.latency_ns), "dir() does not list figures")
    bench.expect_equal(run.row()["set.pace"], "line-rate", "what was set, in a row")


def errors(bench):
    """A run that fails raises what the program says and its status; an old report is never read."""
    program = bench.options.rxnic
    wrong = raised(bench, rxnic_model.RunError, lambda: rxnic_model.replay("none.pcap", program=program), "none.pcap")
    bench.expect_equal(wrong.status, 3, "status of a trace that is none")
    wrong = raised(bench, rxnic_model.RunError,
                   lambda: rxnic_model.replay(e2e.SAMPLE, set={"dma_engine.tags": 0}, program=program),
                   "dma_engine.tags: found 0")
    bench.expect_equal(wrong.status, 2, "status of a wrong parameter")
    raised(bench, rxnic_model.UsageError, lambda: rxnic_model.replay(e2e.SAMPLE, program=bench.folder / "none"), "none")
    kept = bench.folder / "kept"
    first = rxnic_model.replay(e2e.SAMPLE, keep=kept, program=program)
    bench.expect((kept / "responses.pcap").is_file(), "keep= keeps nothing")
    silent = bench.folder / "silent"
    silent.write_text("#!/bin/sh\ntrue\n", encoding="utf-8")
    silent.chmod(0o755)
    raised(bench, rxnic_model.RunError, lambda: rxnic_model.replay(e2e.SAMPLE, keep=kept, program=silent),
           "report.json")
    runs = rxnic_model.several([{"source": e2e.SAMPLE, "program": program}, {"source": "none", "program": program},
                                {"source": e2e.SAMPLE, "seed": 2, "program": program}], jobs=2)
    bench.expect_equal([isinstance(one, rxnic_model.RunError) for one in runs], [False, True, False], "several")
    bench.expect_equal(runs[0].figures, first.figures, "figures of equal runs")
    live = raised(bench, rxnic_model.RunError, lambda: rxnic_model.run(["sh", "-c", "exit 7"], program=program))
    bench.expect_equal(live.status, 7, "status of a program")


def conditions(bench):
    """Conditions are parsed, never executed."""
    values = {"a.b": 3, "c.d": 10, "e": "hi", "max": 4}
    for text, expected in [("a.b >= 0.25 * d", True), ("not b == 3 or e == 'hi'", True), ("b in [1, 3]", True),
                           ("max(b, c.d) + 1", 11), ("1 < b < 3", False), ("b >= 0.5 * max", True), ("-b", -3),
                           ("c.d // b % 2", 1), ("log2(8)", 3)]:
        bench.expect_equal(rxnic_model.Expression(text, values).value(values), expected, text)
    for text in ("__import__('os')", "a.b.__class__", "(lambda: 1)()", "[x for x in e]", "b ** 9", "f'{b}'", "q > 1",
                 "b if b else 1", "b >", "open('x')", "e[0]", "b := 1", "max(b, key=1)", "1 + " * 2000 + "1",
                 "(" * 300 + "1", "-" * 1900 + "1", "1 + " * 150 + "1", "None", "1j", "b'x'", "...", ""):
        raised(bench, rxnic_model.ExpressionError, lambda text=text: rxnic_model.Expression(text, values))
    for text in ("e * 3", "b / 0", "e < 3", "b + e"):
        raised(bench, rxnic_model.ExpressionError,
               lambda text=text: rxnic_model.Expression(text, values).value(values), text)


@contextlib.contextmanager
def at(folder, program):
    """The working folder and the program of a notebook."""
    before, chosen = pathlib.Path.cwd(), os.environ.get("RXNIC")
    os.chdir(folder)
    os.environ["RXNIC"] = str(program)
    try:
        yield
    finally:
        os.chdir(before)
        if chosen is None:
            del os.environ["RXNIC"]
        else:
            os.environ["RXNIC"] = chosen


def notebook(bench):
    """Each code cell of the notebook runs, and prints what stands below it."""
    if not shutil.which("snakemake"):
        raise e2e.Skip("found no snakemake, by which a cell sweeps")
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    bench.expect_equal((book["nbformat"], len({cell["id"] for cell in book["cells"]})), (4, len(book["cells"])),
                       "cells")
    names = {"__name__": "__main__"}
    with at(NOTEBOOK.parent, bench.options.rxnic):
        for cell in (cell for cell in book["cells"] if cell["cell_type"] == "code"):
            if "pandas" in cell["metadata"].get("tags", []) and importlib.util.find_spec("pandas") is None:
                print("notebook: the cell with pandas was not run: python3-pandas is not installed")
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # pylint: disable=exec-used
            if bench.options.renew:
                lines = printed.getvalue().splitlines(keepends=True)
                cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
            stored = "".join("".join(one["text"]) for one in cell["outputs"])
            bench.expect_equal(printed.getvalue(), stored, f"{cell['id']}: what it prints")
    if bench.options.renew:
        NOTEBOOK.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def sweeps(bench):
    """sweep() gives the points of a page, and those of its arguments, as rows of one table."""
    (bench.folder / "page.toml").write_text(f"[run]\nsource = \"{e2e.SAMPLE}\"\n[[axes]]\ndma_engine.tags = [8, 64]\n",
                                            encoding="utf-8")
    program = bench.options.rxnic
    points = rxnic_model.sweep(bench.folder / "page.toml", program=program)
    bench.expect((bench.folder / "page.sweep" / "sweep.csv").is_file(), "no table of the page")
    same = rxnic_model.sweep(run={"source": str(e2e.SAMPLE)}, axes=[{"dma_engine.tags": [8, 64]}], program=program)
    bench.expect_equal([one.figures for one in points], [one.figures for one in same], "figures")
    bench.expect_equal([one.row()["set.dma_engine.tags"] for one in same], [8, 64], "what was set")
    report = bench.replay(e2e.SAMPLE, "--set", "dma_engine.tags=8")
    bench.expect_equal(points[0].latency_ns.p99, report["latency_ns"]["p99"], "p99")
    raised(bench, rxnic_model.UsageError, lambda: rxnic_model.sweep(run={}, axes=[{"seed": [1]}], program=program),
           "source: found nothing")
    if importlib.util.find_spec("pandas") is None:
        print("sweeps: frame() was not looked at: python3-pandas is not installed")
        raised(bench, rxnic_model.UsageError, points.frame, "apt-get install python3-pandas")
    else:
        frame = points.frame()
        bench.expect_equal(list(frame["set.dma_engine.tags"]), [8, 64], "a column of frame()")


CHECKS = {"figures": figures, "errors": errors, "conditions": conditions, "sweeps": sweeps, "notebook": notebook}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--renew", action="store_true", help="write what the notebook's cells print into it")
    sys.exit(e2e.run(parser, CHECKS))
