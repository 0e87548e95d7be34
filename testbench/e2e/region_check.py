#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic replay --from, --to, --warmup: the figures of a part of a run."""
import pathlib
import sys

import e2e
from events_check import TRAFFIC, generated, record_of


def counts_of(report):
    """{name: number} of what adds up over the parts of a run."""
    found = {"cycles": report["cycles"], "time_ps": report["time_ps"], "messages": report["messages"],
             "cqes": report["cqes"], "bytes": report["bytes"]}
    for number, nic in enumerate(report.get("nics", [report])):
        for key in ("seen", "accepted", "not_rdma"):
            found[number, key] = nic["packets"][key]
        for reason, n in nic["packets"]["dropped"].items():
            found[number, "dropped", reason] = n
        for key in ("transport", "events"):
            found |= {(number, key, name): n for name, n in nic[key].items()}
        for block, account in nic["blocks"].items():
            for key in ("busy", "starved", "blocked"):
                found[number, block, key] = account[key]
            found |= {(number, block, "wait", name): n for name, n in account["waiting"].items()}
            found |= {(number, block, name): n for name, n in account["counters"].items()
                      if not name.startswith("high_water")}
    return found


def runs(bench):
    for name in TRAFFIC:
        yield name, *generated(bench, name)
    yield "programs", record_of(bench), []


def parts(bench):
    """The figures of the parts of a run add up to those of the whole, wherever it is cut; the run is the same."""
    for name, trace, options in runs(bench):
        whole = bench.replay(trace, *options)
        for part in (3, 2):
            cut = whole["time_ps"] // part // 1000
            first = bench.replay(trace, *options, "--to", f"{cut}ns", out="first")
            second = bench.replay(trace, *options, "--from", f"{cut}ns", out="second")
            if first is None or second is None:
                continue
            one, other, both = counts_of(first), counts_of(second), counts_of(whole)
            for key in both | one | other:
                bench.expect_equal(one.get(key, 0) + other.get(key, 0), both.get(key, 0),
                                   f"{name}, cut at {cut}: {key}")
            for report in (first, second):
                bench.expect_equal(report["state_hash"], whole["state_hash"], f"{name}: state hash")
                bench.expect_equal(report["region"]["run_ps"], whole["time_ps"], f"{name}: run")
                bench.expect_equal(report["region"]["to_ps"] - report["region"]["from_ps"], report["time_ps"],
                                   f"{name}: region")
            timed = [sum(report[key]["count"] for key in ("latency_ns", "write_latency_ns"))
                     for report in (first, second, whole)]
            across = timed[2] - timed[0] - timed[1]  # messages that are in no part
            good = 0 <= across <= timed[2] // 2 and timed[0] + timed[1] > 0
            bench.expect(good, f"{name}: messages with a time: {timed}")


def orders(bench):
    """The region is the same in all engine modes and step orders."""
    trace, options = generated(bench, "errors")
    whole = bench.replay(trace, *options)
    cut = whole["time_ps"] // 3000
    for words in (["--from", f"{cut}ns", "--to", f"{2 * cut}ns"], ["--warmup", f"{cut}ns"], ["--warmup", "0ns"]):
        reports = []
        for how in ([], ["--step-all"], ["--per-cycle"], ["--step-order", "reverse"], ["--step-order", "5"]):
            report = bench.replay(trace, *options, *words, *how)
            report["run"].pop("mode")
            for nic in report.get("nics", [report]):  # a block may count sooner what it does ahead of its time
                for block in nic["blocks"].values():
                    block.pop("counters")
            for key in ("transport", "events", "verdict"):
                report.pop(key)
            reports.append(report)
        for report in reports[1:]:
            bench.expect_equal(report, reports[0], f"{words}")


def warmup(bench):
    """--warmup counts from the first packet; 0 leaves out the idle time before it, and nothing else."""
    for name, trace, options in runs(bench):
        whole = bench.replay(trace, *options)
        trimmed = bench.replay(trace, *options, "--warmup", "0ns", out="trimmed")
        idle = trimmed["region"]["from_ps"]
        bench.expect(0 < idle < whole["time_ps"], f"{name}: {idle} ps of idle time")
        bench.expect_equal(trimmed["time_ps"], whole["time_ps"] - idle, f"{name}: time")
        for key in ("packets", "latency_ns", "write_latency_ns", "read_latency_ns", "stages_ns", "bytes"):
            bench.expect_equal(trimmed[key], whole[key], f"{name}: {key}")
        later = bench.replay(trace, *options, "--warmup", "1us", out="later")
        begins = later["region"]["from_ps"]
        bench.expect(1_000_000 <= begins - idle < 1_010_000, f"{name}: begins at {begins}, idle {idle}")
        done = bench.rxnic("replay", trace, *options, "--warmup", "0ns", "--out", "run")
        bench.expect("  region      from " in done.stdout, f"{name}: the summary names no region")


def what_if(bench):
    """A what-if compares the same part of both runs."""
    folder = record_of(bench)
    whole = bench.replay(folder, "--set", "dma_engine.read_latency_ps=800000", out="whole")
    part = bench.replay(folder, "--set", "dma_engine.read_latency_ps=800000", "--warmup", "5us", out="part")
    recorded = [report["what_if"]["figures"]["time_ps"]["record"] for report in (whole, part)]
    bench.expect(recorded[1] < recorded[0], f"time of the record: {recorded}")


def refusals(bench):
    """A region that there is not is refused with how long the run was."""
    for words, expected in ((["--from", "1s"], "the run has not reached"), (["--from", "x"], "a time of the model"),
                            (["--from", "2us", "--to", "1us"], "after --from"),
                            (["--to", "0ns"], "a time after the beginning"),
                            (["--warmup", "1us", "--from", "1us"], "excludes"),
                            (["--warmup", "9s"], "the run has not")):
        done = bench.rxnic("replay", e2e.SAMPLE, *words, "--out", "run")
        bench.expect(done.returncode == 2 and expected in done.stderr, f"{words}: {done.returncode} {done.stderr}")


CHECKS = {"parts": parts, "orders": orders, "warmup": warmup, "what_if": what_if, "refusals": refusals}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
