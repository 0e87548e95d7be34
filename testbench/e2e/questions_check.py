#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rxnic why`, `sensitivity`, `find`, `pareto`: against planted truths, full sweeps and curves that are known."""
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import types
import xml.etree.ElementTree

import e2e

sys.path.insert(0, str(e2e.ROOT / "scripts"))
import rxnic_model  # noqa: E402
from rxnic_model.program import parameters  # noqa: E402
from rxnic_model.questions import axis as axes  # noqa: E402
from rxnic_model.questions import find, resources, sensitivity, subject, why  # noqa: E402

FRAMES = 400
SENDS = ["send=1", "send_imm=0", "write=0", "write_imm=0", "read=0", "add=0", "ud_qps=0"]
TRAFFIC = {
    "small": ["rc_qps=8", *SENDS, "min_bytes=64", "max_bytes=64"],
    "large": ["rc_qps=8", *SENDS, "min_bytes=4096", "max_bytes=4096", "mtu=4096"],
    "many": ["rc_qps=200", *SENDS, "min_bytes=64", "max_bytes=64"],
    "reads": ["rc_qps=16", *SENDS, "send=0", "read=1", "min_bytes=64", "max_bytes=512"],
}
# What starves, the traffic, what is set for it, and the synthesised host. Each names one thing that is scarce.
PLANTED = [
    ("pcie_bandwidth", "large", {"dma_engine.tlp_rate_mbps": 5000}, ""),
    ("pcie_reads_in_flight", "reads", {"dma_engine.tags": 1}, ""),
    ("pcie_read_latency", "reads", {"dma_engine.read_latency_ps": 20000000}, ""),
    ("wqe_prefetch", "small", {"srq_wqe_fetcher.prefetch_depth": 1, "srq_wqe_fetcher.sequential_prefetch": False},
     "receive=srq,layout=linked_list"),
    ("mtt_cache", "many", {"address_translator.mtt_sets": 1, "address_translator.mtt_ways": 1}, "page=4K,buffer=4096"),
    ("qp_context_cache", "many", {"qp_context_cache.sets": 1, "qp_context_cache.ways": 1}, ""),
    ("host_reaction", "small", {"host.repost_latency_ps": 100000000}, "depth=8"),
    ("nic_clock", "small", {"nic.clock_period_ps": 100000}, ""),
    ("link_rate", "large", {"nic.link_gbps": 1}, ""),
    ("checker_interval", "small", {"transport_checker.cycles_per_packet": 64}, ""),
]


def traffic(bench, name, frames=FRAMES):
    """A capture of TRAFFIC."""
    path = bench.folder / f"{name}.pcap"
    if not path.exists():
        subprocess.run([bench.options.make_traffic, path, str(frames), "1", *TRAFFIC[name]], check=True)
    return path


def asked(bench, *arguments):
    """What `rxnic ARGUMENT... --json` says."""
    done = bench.rxnic(*arguments, "--json")
    command = " ".join(map(str, arguments))
    bench.expect_equal((done.returncode, done.stderr), (0, ""), f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def planted(bench):
    """`why` names the resource that is scarce, first, and the stated doubling is that of one of its parameters."""
    for name, load, values, host in PLANTED:
        settings = [part for key, value in values.items()
                    for part in ("--set", f"{key}={rxnic_model.text_of(value)}")]
        more = ["--host", host] if host else []
        found = asked(bench, "why", traffic(bench, load), "--pace", "line-rate", "--most", "1", *settings, *more)
        bench.expect_equal(found["binding"][:1], [name], f"{name}: what binds first")
        step = found["steps"][0]
        bench.expect(step["rate_gain"] > 0.5, f"{name}: it would bring {step['rate_gain']:.1%}")
        bench.expect(step["doubling"] and set(step["doubling"]["set"]) & set(values), f"{name}: {step['doubling']}")


def chain(bench):
    """Behind what binds first stands what binds next; the verdict of the run stands beside it; words say the same."""
    settings = ["--set", "transport_checker.cycles_per_packet=64", "--set", "dma_engine.tlp_rate_mbps=8000"]
    arguments = ["why", traffic(bench, "small"), "--pace", "line-rate", "--most", "2", *settings]
    found = asked(bench, *arguments)
    bench.expect_equal(sorted(found["binding"]), ["checker_interval", "pcie_bandwidth"], "two that bind")
    bench.expect(found["steps"][1]["rate"] > found["steps"][0]["rate"], "the second one brings more on top")
    bench.expect_equal(set(found["verdict"]), {"bound_by", "resource", "parameters", "agrees"}, "verdict")
    bench.expect_equal(found["verdict"]["agrees"], found["verdict"]["bound_by"] ==
                       {"checker_interval": "transport_checker", "pcie_bandwidth": "dma_engine"}[found["binding"][0]],
                       f"verdict {found['verdict']}")
    words = bench.rxnic(*arguments)
    bench.expect(words.stdout.index(f"1. {found['binding'][0]} binds") < words.stdout.index("2. With that relieved"),
                 f"words: {words.stdout}")
    priced = asked(bench, "why", traffic(bench, "many"), "--most", "1", "--pace", "line-rate", "--set",
                   "qp_context_cache.sets=1", "--set", "qp_context_cache.ways=1")
    sets = [json.loads(bench.rxnic("params", "--cost", "--json", "--set", "qp_context_cache.ways=1", "--set",
                                   f"qp_context_cache.sets={n}").stdout)["total_bits"] for n in (1, 2)]
    bench.expect_equal(priced["steps"][0]["doubling"]["bits"], sets[1] - sets[0], "bits of the doubling")


class Curve:
    """Stands for a subject: figures by the value of x, without a run."""
    places = subject.FIGURES

    def __init__(self, of, seeds=1):
        self.of, self.seeds, self.runs, self.is_record = of, seeds, 0, False
        self.program, self.asked = None, []
        self.base = self.answer(0)

    def answer(self, value):
        return subject.Answer([types.SimpleNamespace(figures={"y": self.of(max(value, 1), seed)}, report={})
                               for seed in range(self.seeds)])

    def ask(self, points, what=""):
        self.asked += [point.values["x"] for point in points if point.values]
        return [self.answer(point.values.get("x", 0)) for point in points]

    def title(self):
        return "a curve"

    def bits(self, point):
        return 1000 + point.values.get("x", 0)


def axis_of(text):
    known = {"x": {"value": 8, "range": [0, 100000], "power_of_two": False, "unit": "", "type": "u32"}}
    return axes.Axis(text, types.SimpleNamespace(parameters=lambda: known))


def bisection(bench):
    """The search agrees with every value asked, over known curves; what is not monotone is said."""
    seed = 7  # printed when it fails
    dice = random.Random(seed)
    for case in range(60):
        least, most = dice.randrange(0, 40), dice.randrange(60, 400)
        step = dice.randrange(1, 5)
        bend = dice.randrange(least, most + 30)
        where = axis_of(f"x={least}..{most}:{step}")
        seeds = dice.randrange(1, 4)

        def curve(value, one, bend=bend):
            return min(value, bend) + 3 * one
        for largest, text in ((False, "y >= 0.9*max"), (True, "y <= 0.9*max")):
            tried = find.Search(Curve(curve, seeds), where, text, largest)
            most_of = [max(curve(value, one) for value in where.values) for one in range(seeds)]
            held = [value for value in where.values if all((curve(value, one) <= 0.9 * most_of[one]) if largest else
                                                           (curve(value, one) >= 0.9 * most_of[one])
                                                           for one in range(seeds))]
            right = (held[-1] if largest else held[0]) if held else None
            bench.expect_equal((tried.value, tried.monotone), (right, True), f"seed {seed}, case {case}: {text}")
        count = len(where.values)
        bench.expect(count < 60 or len(tried.answers) < count, f"case {case}: {len(tried.answers)} of {count} asked")
    island = find.Search(Curve(lambda value, one: 10 if 30 <= value <= 60 or value >= 90 else 0), axis_of("x=1..100"),
                         "y >= 5")
    bench.expect_equal((island.value, island.monotone), (30, False), f"two ranges: {island.remarks}")
    bench.expect("not monotone" in island.text(), "what is not monotone is said")
    behind = find.Search(Curve(lambda value, one: 10 if 12 <= value <= 16 or value >= 80 else 0), axis_of("x=1..100"),
                         "y >= 5")
    bench.expect_equal((behind.value, behind.monotone), (12, False), f"a smaller range was seen: {behind.remarks}")
    hill = find.Search(Curve(lambda value, one: 10 if 40 <= value <= 70 else 0), axis_of("x=1..100"), "y >= 5")
    bench.expect_equal((hill.value, hill.monotone), (40, False), f"neither end holds: {hill.remarks}")
    never = find.Search(Curve(lambda value, one: value), axis_of("x=1..100"), "y > 1000")
    bench.expect(never.value is None and "at none of the values" in never.text(), never.text())
    for bend in (3, 20, 75):
        knee = find.Knee(Curve(lambda value, one, bend=bend: min(value, bend)), axis_of("x=1..100"), "y")
        bench.expect_equal((knee.value, round(knee.before, 6), knee.behind, knee.each),
                           (bend, 1, 0, "step of 1"), f"{bend}")
        knee = find.Knee(Curve(lambda value, one, bend=bend: 10 * min(math.log2(value), math.log2(bend))),
                         axis_of("x=1..1000"), "y")
        bench.expect_equal((knee.value, knee.each), (bend, "doubling"), f"{bend}, over the logarithm")
    for flat in (lambda value, one: 4, lambda value, one: 1000 * value.bit_length()):
        knee = find.Knee(Curve(flat), axis_of("x=1..64:x2"), "y")
        bench.expect_equal(knee.value, None, "a curve without a knee")


def sweep(bench):
    """`rxnic find` and every value run: the same result, to the step."""
    trace = traffic(bench, "reads")
    for name, values, step, share, largest in [("dma_engine.tags", range(1, 25), 1, 0.95, False),
                                               ("dma_engine.tags", range(1, 25), 1, 0.5, False),
                                               ("dma_engine.read_latency_ps", range(100000, 4000001, 150000), 150000,
                                                0.5, True)]:
        found = asked(bench, "find", trace, "--pace", "line-rate", "--vary", f"{name}={values[0]}..{values[-1]}:{step}",
                      "--where", f"rates.packets_per_s >= {share}*max", *(["--largest"] if largest else []))
        runs = rxnic_model.several([{"source": trace, "set": {name: value}, "seed": 1, "pace": "line-rate",
                                     "program": bench.options.rxnic} for value in values])
        most = max(run.rates.packets_per_s for run in runs)
        held = [value for value, run in zip(values, runs) if run.rates.packets_per_s >= share * most]
        right = held[-1] if largest else held[0]
        whole = [value for value in values if (value <= right if largest else value >= right)]
        bench.expect_equal((found["value"], found["monotone"]), (right, held == whole), f"{name}, {share}: {held}")
        bench.expect(values[0] < right < values[-1], f"{name}: {right} is no end of the range")
        bench.expect(5 <= len(found["rows"]) < len(values) + 1, f"{name}: {len(found['rows'])} rows")
    depth = asked(bench, "find", traffic(bench, "small"), "--pace", "line-rate", "--vary", "host.depth=1..256:x2",
                  "--where", "drops == 0", "--seeds", "2")
    rows = {row["value"]: row["drops"] for row in depth["rows"]}
    bench.expect(depth["value"] and rows[depth["value"]] == 0 and rows.get(depth["value"] // 2, 1) > 0, f"{rows}")
    arguments = ["find", trace, "--pace", "line-rate", "--vary", "dma_engine.tags=1..24", "--knee", "rate"]
    knee = asked(bench, *arguments)
    bench.expect_equal(asked(bench, *arguments, "--jobs", "1"), knee, "one run at a time")
    bench.expect(knee["knee"] and knee["slope_before"] > 2 * knee["slope_behind"], f"knee: {knee}")


def moves(bench):
    """`rxnic sensitivity`: what moves, ranked, with its evidence; what moves nothing, and why."""
    trace = traffic(bench, "small", 200)
    only = ["--only", "dma_engine", "--only", "requester", "--only", "fabric", "--only", "nic"]
    found = asked(bench, "sensitivity", trace, "--pace", "line-rate", "--set", "dma_engine.tlp_rate_mbps=5000", *only)
    known = parameters(str(bench.options.rxnic))
    bench.expect_equal(found["moving"][0]["parameter"], "dma_engine.tlp_rate_mbps", "what moves most")
    bench.expect_equal(found["moving"][0]["value"], 5000, "its value")
    sizes = [row["moved"] for row in found["moving"]]
    bench.expect_equal(sizes, sorted(sizes, reverse=True), "ranked")
    rows = {row["parameter"]: row for row in found["moving"] + found["still"]}
    bench.expect_equal(sorted(rows), sorted(name for name in known if name.partition(".")[0] in
                                            ("dma_engine", "requester", "fabric", "nic")), "all of the sections")
    for name, row in rows.items():
        bench.expect_equal(row["evidence"], known[name]["evidence"], name)
        bench.expect_equal([trial["value"] for trial in row["trials"]],
                           sensitivity.other_values(known[name] | {"value": row["value"]}), name)
    bench.expect("nothing is posted to send" in rows["requester.latency_cycles"]["why_not"], "why it moves nothing")
    bench.expect("fabric.switch_latency_ps" in [row["parameter"] for row in found["still"]], "still")
    limits = {"value": 3, "range": [2, 5]}
    bench.expect_equal((sensitivity.other_values(limits), sensitivity.skipped_values(limits)), ([], [1, 6]), "limits")
    bench.expect_equal(sensitivity.other_values({"value": "b", "range": ["a", "b", "c"]}), ["a", "c"], "names")
    bench.expect_equal(sensitivity.other_values({"value": True, "range": []}), [False], "a switch")
    words = bench.rxnic("sensitivity", trace, "--pace", "line-rate", "--only", "host").stdout
    bench.expect("move nothing" in words and "host.page_fault_ps" in words, words)


def table(bench):
    """Every parameter is in one resource or excluded with a reason, and every relief is within the ranges."""
    known = parameters(str(bench.options.rxnic))
    missing, twice, unknown = resources.unplaced(list(known))
    bench.expect_equal((missing, twice, unknown), ([], [], []), "in no resource; in two places; no parameter")
    bench.expect(all(len(reason) > 5 for reason in resources.excluded().values()), "reasons")
    for one in resources.resources():
        settings = []
        for relief in (one.infinite(known), one.doubled(known)):
            if relief:
                settings.append([f"--set={name}={rxnic_model.text_of(value)}" for name, value in relief.values.items()])
        for chosen in settings:
            done = bench.rxnic("params", *chosen)
            bench.expect_equal((done.returncode, done.stderr), (0, ""), one.name)
    listed = bench.rxnic("why", "--resources").stdout
    bench.expect(all(re.search(rf"^{one.name} ", listed, re.M) for one in resources.resources()), "--resources")
    gone = [name for name in known if name != "dma_engine.tags"]
    bench.expect_equal(resources.unplaced(gone)[2], ["dma_engine.tags"], "a parameter that is gone")
    bench.expect_equal(resources.unplaced([*known, "dma_engine.new"])[0], ["dma_engine.new"], "a new parameter")


def together(bench):
    """Two of which neither alone brings anything are named together."""
    def rate(values):
        return 100.0 if len([name for name in ("dma_engine.tags", "nic.link_gbps") if name in values]) < 2 else 300.0
    known = parameters(str(bench.options.rxnic))

    class Joint:
        runs, is_capture, places = 0, False, subject.FIGURES

        def __init__(self):
            self.base = self.ask([subject.Point()])[0]

        def parameters(self):
            return known

        def ask(self, points, what=""):
            def run(point):
                figures = {"rates.packets_per_s": rate(point.values), "latency_ns.p99": 5, "packets.dropped.total": 0}
                return types.SimpleNamespace(figures=figures, report={"verdict": {"bound_by": "nothing"}})
            return [subject.Answer([run(point)]) for point in points]

        def bits(self, point):
            return len(point.values)

        def title(self):
            return "two"
    found = why.Why(Joint())
    bench.expect_equal((found.together, sorted(found.binding)), (True, ["link_rate", "pcie_reads_in_flight"]), "both")
    bench.expect("bind together" in why.text_of(found), why.text_of(found))


def record(bench):
    """A record is asked, too: closed-loop at every point."""
    done = bench.rxnic("run", "--record", "--quiet", "--out", "run", "--", "true")
    bench.expect_equal(done.returncode, 0, f"run --record: {done.stderr}")
    found = asked(bench, "sensitivity", "run", "--only", "nic.link_gbps")
    bench.expect(found["still"] and found["runs"] >= 3, f"{found}")
    # Its two files are enough: all that the run was made with stands in the first line of the log.
    with tarfile.open(e2e.ROOT / "testbench" / "e2e" / "golden" / "pingpong_srq.tar.xz") as packed:
        packed.extractall(bench.folder / "packed")
    log = next((bench.folder / "packed").rglob("host.jsonl"))
    found = asked(bench, "sensitivity", log.parent, "--only", "dma_engine.read_latency_ps")
    moved = {row["parameter"] for row in found["moving"]}
    bench.expect_equal(moved, {"dma_engine.read_latency_ps"}, "what moves the ping-pong of a record")
    log.write_text("{}\n", encoding="utf-8")
    done = bench.rxnic("why", log.parent)
    bench.expect_equal((done.returncode, done.stdout), (2, ""), f"a log without a header: {done.stderr}")
    bench.expect(f"{log}:1: found no header of a record" in done.stderr, done.stderr)


def workload(bench):
    """A workload is asked, too, and its own keys are varied."""
    page = bench.folder / "page.toml"
    page.write_text("packets = 400\n[[senders]]\nqps = 4\nbytes = 64\n", encoding="utf-8")
    found = asked(bench, "find", page, "--vary", "workload.senders.qps=1..64:x2", "--knee", "rate", "--set",
                  "qp_context_cache.sets=1", "--set", "qp_context_cache.ways=1")
    bench.expect_equal([row["value"] for row in found["rows"]], [1, 2, 4, 8, 16, 32, 64], "values that were run")
    bench.expect(len({row["rates.packets_per_s"] for row in found["rows"]}) > 3, f"the key acts: {found['rows']}")
    bound = asked(bench, "why", page, "--most", "1", "--set", "dma_engine.tlp_rate_mbps=1000")
    bench.expect_equal(bound["binding"][:1], ["pcie_bandwidth"], "what binds a workload")
    for kind, place in (("read", "read_latency_ns"), ("write", "write_latency_ns")):
        text = f"packets = 60\n[[senders]]\nqps = 4\nbytes = 64\n[senders.mix]\n{kind} = 1\n"
        page.write_text(text, encoding="utf-8")
        words = bench.rxnic("sensitivity", page, "--only", "nic.link_gbps").stdout
        bench.expect(f" of {kind.upper()}s, drops" in words, f"{kind}: {words}")
        run = rxnic_model.replay(page, seed=1, program=bench.options.rxnic)
        found = asked(bench, "sensitivity", page, "--only", "nic.link_gbps")
        bench.expect_equal(found["base"]["p99"], run[f"{place}.p99"], f"p99 of {kind}s")
    for arguments, *parts in [(["workload.senders.qqs=1..4"], "workload.senders.qqs", "senders.qps"),
                              (["workload.senders.qps"], "workload.senders.qps=1..64:x2"),
                              (["workload.senders.arrivals=1..4"], "a whole number")]:
        done = bench.rxnic("find", page, "--vary", *arguments, "--where", "rate > 1")
        bench.expect_equal((done.returncode, done.stdout), (2, ""), f"{arguments}: {done.stderr}")
        for part in parts:
            bench.expect(part in done.stderr, f"{arguments}: does not name {part!r}: {done.stderr.strip()}")
    done = bench.rxnic("find", e2e.SAMPLE, "--vary", "workload.senders.qps=1..4", "--where", "rate > 1")
    bench.expect(done.returncode == 2 and "of a workload" in done.stderr, f"of a capture: {done.stderr}")


def front(bench):
    """`rxnic pareto`: no trial beats the front; a search that was interrupted ends as one that was not."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import optuna"], capture_output=True, check=False).returncode != 0:
        raise e2e.Skip("optuna (python3-optuna) is not installed")
    trace = traffic(bench, "many", 200)
    arguments = ["pareto", trace, "--pace", "line-rate", "--vary", "qp_context_cache.sets=1..64", "--vary",
                 "srq_wqe_fetcher.prefetch_depth=1..64", "--vary", "dma_engine.relaxed_ordering"]
    whole = asked(bench, *arguments, "--trials", "16", "--out", "whole")
    asked(bench, *arguments, "--trials", "8", "--out", "parts")
    kept = bench.folder / "parts" / "trials.jsonl"
    with open(kept, "a", encoding="utf-8") as file:
        file.write('{"batch": [{"trial": 8, "val')  # as a kill leaves it
    parts = asked(bench, *arguments, "--trials", "16", "--out", "parts")
    bench.expect_equal(parts, whole, "a search in two parts")
    for name in ("trials.jsonl", "front.csv", "front.json"):
        bench.expect_equal((bench.folder / "parts" / name).read_bytes(),
                           (bench.folder / "whole" / name).read_bytes(), name)
    trials = [one for line in kept.read_text("utf-8").splitlines()[1:] for one in json.loads(line)["batch"]]
    bench.expect_equal(len(trials), 16, "trials")
    bench.expect_equal(trials[0]["values"], {"qp_context_cache.sets": 64, "srq_wqe_fetcher.prefetch_depth": 64,
                                             "dma_engine.relaxed_ordering": False}, "the first trial is as it is")
    on_front = {row["trial"] for row in whole["front"]}
    for one in trials:
        beaten = any(o["bits"] <= one["bits"] and o["rates.packets_per_s"] >= one["rates.packets_per_s"]
                     and (o["bits"], -o["rates.packets_per_s"], o["trial"])
                     < (one["bits"], -one["rates.packets_per_s"], one["trial"]) for o in trials if o is not one)
        bench.expect_equal(one["trial"] in on_front, not beaten, f"trial {one['trial']}")
    if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
        charts = [(bench.folder / out / "front.svg").read_text(encoding="utf-8") for out in ("whole", "parts")]
        drawn = xml.etree.ElementTree.fromstring(charts[0])
        words = {"".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
        bench.expect({"bits on the chip, Mbit", "rates.packets_per_s", "front", "trials"} <= words, f"chart: {words}")
        bench.expect(charts[0] == charts[1], "front.svg differs after an interruption")
    rows = list(csv.DictReader(open(bench.folder / "whole" / "front.csv", encoding="utf-8")))
    bench.expect_equal([int(row["total_bits"]) for row in rows], [row["total_bits"] for row in whole["front"]], "rows")
    done = bench.rxnic(*arguments[:4], "--vary", "qp_context_cache.sets=1..32", "--out", "whole")
    bench.expect(done.returncode == 2 and "another search (vary differ)" in done.stderr, done.stderr)
    other = asked(bench, *arguments, "--trials", "16", "--out", "other", "--seed", "2")
    bench.expect(other["front"] != whole["front"], "another seed draws other trials")
    absent = bench.folder / "absent"
    absent.mkdir()
    (absent / "optuna.py").write_text("raise ImportError('none')\n", encoding="utf-8")
    done = bench.rxnic(*arguments, "--out", "x", env={**os.environ, "PYTHONPATH": str(absent)})
    bench.expect(done.returncode == 2 and "apt-get install python3-optuna" in done.stderr, f"absent: {done.stderr}")


def mistakes(bench):
    """A wrong question exits 2, says what was found and what was expected, and prints nothing."""
    trace = str(traffic(bench, "small", 50))
    source = ["find", trace, "--vary", "dma_engine.tags"]
    for arguments, *parts in [
            (["why"], "SOURCE"),
            (["why", "none.pcap"], "none.pcap"),
            (["why", trace, "--set", "dma_engine.tagz=3"], "dma_engine.tagz", "did you mean 'tags'"),
            (["why", trace, "--set", "dma_engine.tags"], "--set", "dma_engine.tags", "KEY=VALUE"),
            (["why", trace, "--seeds", "0"], "--seeds", "found 0", "1 or more"),
            (["why", trace, "--jobs", "0"], "--jobs", "found 0"),
            (["why", trace, "--host", "depth"], "--host", "depth", "KEY=VALUE"),
            (["why", trace, "--options", "'"], "--options", "quot"),
            (["why", trace, "--bogus"], "--bogus"),
            (["sensitivity", trace, "--only", "nowhere"], "nowhere", "section"),
            (source, "--where"),
            ([*source, "--where", "rate >="], "rate >="),
            ([*source, "--where", "raet > 1"], "raet"),
            ([*source, "--where", "1 > 0"], "a figure"),
            ([*source, "--where", "rate > 0.9*max and p99 < 5"], "max", "one figure"),
            ([*source, "--where", "__import__('os')"], "__import__"),
            ([*source, "--where", "rate > 1", "--knee", "rate"], "--knee"),
            ([*source, "--knee", "verdict.bound_by"], "verdict.bound_by"),
            (["find", trace, "--vary", "dma_engine.tagz", "--where", "rate > 1"], "dma_engine.tagz", "dma_engine.tags"),
            (["find", trace, "--vary", "dma_engine.tags=9..3", "--where", "rate > 1"], "9..3", "1..1024"),
            (["find", trace, "--vary", "dma_engine.tags=1..5:0", "--where", "rate > 1"], "step 0"),
            (["find", trace, "--vary", "dma_engine.tags=one", "--where", "rate > 1"], "one", "LEAST..GREATEST"),
            (["find", trace, "--vary", "host.colour=1..5", "--where", "rate > 1"], "host.colour", "depth"),
            (["find", trace, "--vary", "qp_context_cache.sets=1..64:x3", "--where", "rate > 1"], "x3", "power of two"),
            (["find", trace, "--vary", "rx_parser.rss_context", "--where", "rate > 1"], "rx_parser.rss_contexts"),
            (["find", trace, "--vary", "wire.rx_full", "--where", "rate > 1"], "wire.rx_full", "no number"),
            (["pareto", trace, "--vary", "dma_engine.tags"], "--out")]:
        done = bench.rxnic(*arguments)
        command = " ".join(arguments)
        bench.expect_equal((done.returncode, done.stdout), (2, ""), f"{command}: {done.stderr}")
        for part in parts:
            bench.expect(part in done.stderr, f"{command}: does not name {part!r}: {done.stderr.strip()}")


CHECKS = {"planted": planted, "chain": chain, "bisection": bisection, "sweep": sweep, "moves": moves, "table": table,
          "together": together, "record": record, "workload": workload, "front": front, "mistakes": mistakes}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-traffic", required=True, type=lambda name: pathlib.Path(name).resolve(), metavar="FILE")
    sys.exit(e2e.run(parser, CHECKS))
