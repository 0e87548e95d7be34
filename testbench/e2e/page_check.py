#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html and rxnic compare: their data beside the report and the events, and the files. page_browser_check.py
looks at what a browser makes of it."""
import collections
import csv
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys

import e2e
from events_check import TRAFFIC, events_of, generated, record_of

STATIONS = ["rx_parser", "qp_context_cache", "transport_checker", "tag_match_cam", "srq_wqe_fetcher", "grh_scatter",
            "address_translator", "dma_engine", "cqe_generator"]
STUB = "/* the script of the page */"


def data_of(bench, out="run"):
    done = bench.rxnic("report", "--data", out)
    bench.expect_equal((done.returncode, done.stderr), (0, ""), f"report --data {out}")
    return json.loads(done.stdout)["runs"][0]


def charts(run):
    return {(chart["id"], chart.get("nic")): chart for chart in run["charts"]}


def series(chart):
    return {one["name"]: one["values"] for one in chart.get("series", [])}


def table(run, name):
    found, = (t for t in run["tables"] if t["id"] == name)
    return [dict(zip(found["columns"], row)) for row in found.get("rows", [])]


def script(bench):
    """The environment with a script of the page that needs no node."""
    path = bench.folder / "stub.js"
    path.write_text(STUB, encoding="utf-8")
    return {**os.environ, "RXNIC_PAGE_SCRIPT": str(path)}


def near(bench, found, expected, what):
    """Equal but for the four digits that a chart has."""
    close = abs(found - expected) <= 2e-3 * max(abs(expected), 1e-9)
    bench.expect(close, f"{what}: found {found}; expected {expected}")


def runs(bench):
    for name in TRAFFIC:
        trace, options = generated(bench, name)
        yield name, bench.replay(trace, *options, "--events", out=name)
    yield "programs", bench.replay(record_of(bench), "--events", out="programs")


def over_time(bench):
    """What charts over time add up to is what the events say, and the report."""
    for name, report in runs(bench):
        run = data_of(bench, name)
        all_charts = charts(run)
        description, tables, end = events_of(bench, name)
        period = description["clock_period_ps"]
        times = all_charts["throughput", None]["x"]["values"]
        bench.expect(100 < len(times) <= 500, f"{name}: {len(times)} parts of time")
        first = min(packet["arrived"] for packet in tables["packets"])
        bench.expect(abs(times[0] * 1e6 - first * period) < 1, f"{name}: begins at {times[0]}")
        width = round((times[1] - times[0]) * 1e6 / period)
        widths = [width] * (len(times) - 1) + [end["cycles"] - first - width * (len(times) - 1)]

        def total(values, of=None):
            return sum((v or 0) * cycles for v, cycles in zip(values, of or widths))

        carried = [p for p in tables["packets"] if not p["reason"] and description["outcome"][str(p["outcome"])]
                   in ("execute", "answer")]
        for nic in run["nics"]:
            prefix = f"nic{nic} " if len(run["nics"]) > 1 else ""
            rates = series(all_charts["throughput", None])
            payload = sum(p["payload_bytes"] for p in carried if p["nic"] == nic)
            near(bench, total(rates[prefix + "in"]) * period / 8e3, payload, f"{name} nic{nic}: payload in")
            sent = sum(f["payload_bytes"] for f in tables["frames"] if f["nic"] == nic
                       and first * period <= f["left_ps"] < end["cycles"] * period)
            near(bench, total(rates[prefix + "out"]) * period / 8e3, sent, f"{name} nic{nic}: payload out")
            packets = series(all_charts["packets", None])[prefix + "packets"]
            of_nic = sum(p["nic"] == nic for p in carried)
            near(bench, total(packets) * period * 1e-6, of_nic, f"{name} nic{nic}: packets")
            of = report.get("nics", [report])[nic]
            trouble = series(all_charts["trouble", nic])
            counters = of["blocks"]["ack_generator"]["counters"]
            wanted = {reason: n for reason, n in of["packets"]["dropped"].items() if n and reason != "total"}
            naks = {"NAKs sent": counters["naks"], "RNR NAKs sent": counters["rnr_naks"]}
            wanted |= {key: n for key, n in naks.items() if n}
            found = {key: sum(values) for key, values in trouble.items() if key not in ("repeats", "marked CE")}
            bench.expect_equal(found, wanted, f"{name} nic{nic}: drops and NAKs")
            busy = series(all_charts["busy", nic])
            for block in ("transport_checker", "grh_scatter", "cqe_generator"):
                near(bench, total(busy[block]) / 100, of["blocks"][block]["busy"], f"{name} nic{nic}: {block} busy")
            waiting = collections.Counter()
            for packet in tables["packets"]:
                at = packet["arrived"]
                for station in STATIONS if packet["nic"] == nic else []:
                    if left := packet[f"{station}_left"]:
                        waiting[station] += packet[f"{station}_taken"] - at
                        at = left
            waits = series(all_charts["waiting", nic])
            for station in ("qp_context_cache", "srq_wqe_fetcher", "dma_engine"):
                if not report["packets"]["dropped"]["total"] and waiting[station]:
                    near(bench, total(waits[station]), waiting[station], f"{name} nic{nic}: waits for {station}")
        hits = of["blocks"]["qp_context_cache"]["counters"]
        totals = series(all_charts["cache_totals", nic])
        found = totals["hits"][0], totals["misses"][0]
        bench.expect_equal(found, (hits["hits"], hits["misses"]), f"{name}: contexts")
    tags = series(charts(data_of(bench, "tags"))["tags", 0])
    report = json.loads((bench.folder / "tags" / "report.json").read_text(encoding="utf-8"))
    matches = report["blocks"]["tag_match_cam"]["counters"]["matches"]
    bench.expect(0 < sum(tags["matched"]) <= matches and matches - sum(tags["matched"]) < 60,
                 f"tags: {sum(tags['matched'])} of {matches} matches until the last sample")


def latencies(bench):
    """Stages, latencies, cycles and figures are those of the report; distributions rise to its maximum."""
    names = {"arrival": "arrival", "until visible": "visible"}
    for name, report in runs(bench):
        run = data_of(bench, name)
        all_charts = charts(run)
        stages = series(all_charts["cdf_stage", None])
        shares = all_charts["cdf_stage", None]["x"]["values"]
        wanted = {key: stage for key, stage in report["stages_ns"].items()}
        bench.expect_equal(len(stages), len(wanted), f"{name}: stages {list(stages)} and {list(wanted)}")
        for (stage, values), (key, times) in zip(stages.items(), wanted.items()):
            found = [values[shares.index(share)] for share in (50, 99, 100)]
            bench.expect_equal(found, [times["p50"], times["p99"], times["max"]], f"{name}: {stage} ({key})")
            bench.expect(values == sorted(values), f"{name}: {stage} falls")
        bench.expect(set(stages) - set(names) <= set(STATIONS) | {"ack_generator"}, f"{name}: {list(stages)}")
        means = all_charts["stages", None]
        for n, times in enumerate(wanted.values()):
            parts = sum(values[n] for values in series(means).values())
            near(bench, parts, times["mean"], f"{name}: mean of {means['x']['categories'][n]}")
        sizes = series(all_charts["cdf_size", None])
        most = max(report[key].get("max", 0) for key in ("latency_ns", "write_latency_ns"))
        bench.expect_equal(max(values[-1] for values in sizes.values()), most, f"{name}: the slowest by size")
        blocks = report.get("nics", [report])[run["nics"][-1]]["blocks"]
        cycles = all_charts["cycles", run["nics"][-1]]
        for part in ("busy", "blocked", "starved"):
            for block, share in zip(cycles["x"]["categories"], series(cycles)[part]):
                whole = sum(blocks[block][key] for key in ("busy", "blocked", "starved"))
                whole += sum(blocks[block]["waiting"].values())
                near(bench, share, 100 * blocks[block][part] / whole, f"{name}: {block} {part}")
        figures = {figure["name"]: figure["value"] for figure in run["figures"]}
        bench.expect_equal((figures["packets seen"], figures["receive p99"]),
                           (report["packets"]["seen"], report["latency_ns"]["p99"]), f"{name}: figures")
        bench.expect_equal(run["verdict"]["words"], report["verdict"]["words"], f"{name}: verdict")
        bench.expect_equal(run["assumptions"], report.get("assumptions", []), f"{name}: assumptions")


def tables(bench):
    """QPs, drops and NAKs with their packets, and the configuration."""
    for name, _ in runs(bench):
        run = data_of(bench, name)
        listed = json.loads(bench.rxnic("explain", name, "--by", "qp", "--format", "json").stdout)
        found = table(run, "qps")
        bench.expect_equal([(row["nic"], row["qp"], row["packets"], row["p99_ns"]) for row in found],
                           [(row["nic"], row["qp"], row["packets"], row["p99_ns"]) for row in listed], f"{name}: QPs")
        lives = json.loads(bench.rxnic("explain", name, "--drops", "--most", "100000", "--json").stdout or "[]")
        drops = table(run, "drops")
        kinds = collections.Counter(life["reason"] for life in lives)
        bench.expect_equal(collections.Counter(row["reason"] for row in drops),
                           collections.Counter({kind: min(n, 100) for kind, n in kinds.items()}), f"{name}: drops")
        by_number = {(life["nic"], life["packet"]): life for life in lives}
        for row in drops:
            life = by_number.get((row["nic"], row["packet"]), {})
            bench.expect_equal((row["words"], row["psn"]), (life.get("words"), life.get("psn")),
                               f"{name}: packet {row['packet']}")
        for row in table(run, "naks"):
            bench.expect("NAK" in row["words"] and row["syndrome"] not in ("", "0x1f"), f"{name}: {row}")
    bench.expect(table(data_of(bench, "errors"), "naks"), "errors: no NAK is listed")
    bench.replay(e2e.SAMPLE, "--set", "qp_context_cache.sets=32", "--set", "nic.event_depth=64", out="set")
    differs = [row["parameter"] for row in table(data_of(bench, "set"), "configuration") if row["differs"]]
    bench.expect_equal(differs, ["qp_context_cache.sets"], "parameters that differ from the base")


def bounds(bench):
    """The data of ten times as many packets is not larger by more than a quarter; drops of a kind are a hundred."""
    sizes = []
    for packets in (4000, 40000):
        trace = bench.folder / f"{packets}.pcap"
        bench.start(bench.options.make_traffic, trace, packets, 5, "errors=100000", "spare_qps=40", "rc_qps=16")
        bench.replay(trace, "--psn", "strict", "--events", out=f"{packets}")
        done = bench.rxnic("report", "--data", f"{packets}")
        run = json.loads(done.stdout)["runs"][0]
        for chart in ("caches", "tags", "qps", "drops", "naks"):
            run["charts"] = [one for one in run["charts"] if one["id"] != chart]
        sizes.append(len(json.dumps(run["charts"])))
        kinds = collections.Counter(row["reason"] for row in table(run, "drops"))
        bench.expect(max(kinds.values()) <= 100, f"{packets}: {kinds}")
    bench.expect(max(kinds.values()) == 100, f"no kind of drop reaches its bound: {kinds}")
    bench.expect(sizes[1] < 1.25 * sizes[0], f"charts of 4,000 and 40,000 packets: {sizes} bytes")


def file(bench):
    """One file: the data and the script, the same in each run and from report --html; text is no HTML; it goes."""
    environment = script(bench)
    hostile = bench.folder / "<"
    hostile.mkdir()
    trace = hostile / "script><img src=x onerror=alert(1)>&\"'.pcap"
    shutil.copy(e2e.SAMPLE, trace)
    pages = []
    for out in ("one", "other"):
        done = bench.rxnic("replay", trace, "--html", "--out", out, env=environment)
        bench.expect_equal(done.returncode, 0, f"replay --html: {done.stderr}")
        bench.expect(f"{out}/report.html\n" in done.stdout, f"report.html is not named: {done.stdout[-200:]}")
        pages.append((bench.folder / out / "report.html").read_text(encoding="utf-8"))
    done = bench.rxnic("report", "--html", "one", env=environment)
    bench.expect_equal((done.returncode, done.stdout), (0, "written: one/report.html\n"), "report --html")
    pages.append((bench.folder / "one" / "report.html").read_text(encoding="utf-8"))
    bench.expect(pages[0] == pages[1] == pages[2], "the pages differ")
    head, rest = pages[0].split('<script type="application/json" id="data">')
    data, tail = rest.split("</script>", 1)
    bench.expect("<" not in data and "onerror" not in head + tail, "text of the run stands as HTML")
    bench.expect_equal(json.loads(data)["runs"][0], data_of(bench, "one"), "the data of the page")
    bench.expect_equal(json.loads(data)["runs"][0]["facts"]["trace"], str(trace), "the name of the trace")
    bench.expect(tail.count(STUB) == 1 and "default-src 'none'" in head and "http:" not in head + tail, "the page")
    bench.expect_equal((bench.folder / "one" / "report.html").stat().st_mode & 0o777, 0o600, "its mode")
    done = bench.rxnic("replay", record_of(bench), "--html", "--quiet", "--out", "record", env=environment)
    page = bench.folder / "record" / "report.html"
    bench.expect(done.returncode == 0 and page.is_file(), f"of a record: {done.returncode} {done.stderr}")
    first = page.read_bytes()
    bench.rxnic("report", "--html", "record", env=environment)
    bench.expect(page.read_bytes() == first, "of a record: report --html writes another page")
    bench.replay(e2e.SAMPLE, out="one")
    bench.expect(not (bench.folder / "one" / "report.html").exists(), "the page stays after another run")
    (bench.folder / "one" / "report.html").write_text("<!doctype html>my own", encoding="utf-8")
    bench.replay(e2e.SAMPLE, out="one")
    bench.expect((bench.folder / "one" / "report.html").exists(), "a file of the user is removed")


def without_events(bench):
    """A run without events, or with those of a part of it, has a page, which says what is not known."""
    environment = script(bench)
    bench.replay(e2e.SAMPLE, out="none")
    run = data_of(bench, "none")
    all_charts = charts(run)
    bench.expect("--events" in all_charts["throughput", None]["absent"], "throughput without events")
    bench.expect(all_charts["cycles", 0]["series"] and all_charts["stages", None]["series"], "charts of the report")
    report = json.loads((bench.folder / "none" / "report.json").read_text(encoding="utf-8"))
    for name, key in (("qps", "qp"), ("by_size", "size"), ("by_opcode", "opcode"), ("by_nic", "nic")):
        rows = table(run, name)
        bench.expect_equal(len(rows), len(report["tables"][key]), f"{name} without events")
        for row, of_report in zip(rows, report["tables"][key]):
            for column, value in row.items():
                wanted = of_report.get(column, 0)
                if isinstance(wanted, float):
                    near(bench, value, wanted, f"{name}: {column}")
                else:
                    bench.expect_equal(value or 0, wanted, f"{name}: {column}")
            bench.expect(of_report.keys() <= row.keys(), f"{name}: {row}")
    bench.expect_equal(bench.rxnic("report", "--html", "none", env=environment).returncode, 0, "report --html")
    for name, options in (("time", ["--events-from", "5us", "--events-to", "9us"]),
                          ("packets", ["--events-packets", "5-9"]), ("limit", ["--events-limit", "4K"])):
        bench.replay(e2e.SAMPLE, *options, out=name)
        part = data_of(bench, name)
        times = charts(part)["throughput", None]["x"]["values"]
        bench.expect(name != "time" or (times[0] >= 5 and times[-1] <= 9), f"{name}: {times[0]} to {times[-1]}")
        bench.expect_equal(part["all_events"], False, f"{name}: all events")
    path = bench.folder / "limit" / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**report, "cycles": 2**64 - 1}), encoding="utf-8")
    bench.expect_equal(len(charts(data_of(bench, "limit"))["throughput", None]["x"]["values"]), 500, "2^64 cycles")
    damaged = (bench.folder / "time" / "events.rxev").read_bytes()
    (bench.folder / "time" / "events.rxev").write_bytes(damaged[:len(damaged) // 2])
    done = bench.rxnic("report", "--data", "time")
    bench.expect(done.returncode in (0, 2), f"half of the events: {done.returncode} {done.stderr}")
    (bench.folder / "time" / "events.rxev").write_bytes(b"none")
    done = bench.rxnic("report", "--html", "time", env=environment)
    bench.expect(done.returncode == 2 and "events.rxev" in done.stderr, f"no events: {done.returncode} {done.stderr}")


def refusals(bench):
    """Without its script or node nothing is run, and what is missing is said; wrong folders and options are refused."""
    absent = {**os.environ, "RXNIC_PAGE_SCRIPT": str(bench.folder / "absent.js")}
    for words in (["replay", e2e.SAMPLE, "--html", "--out", "run"], ["report", "--html", "run"],
                  ["compare", "--html", "page.html", "run", "run"]):
        done = bench.rxnic(*words, env=absent)
        told = "--html: found nothing at" in done.stderr and "scripts/page makes it" in done.stderr
        bench.expect(done.returncode == 2 and told, f"{words}: {done.returncode} {done.stderr}")
    bench.expect(not (bench.folder / "run").exists(), "something was run")
    tools = bench.folder / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "find", "sed", "env"):
        (tools / tool).symlink_to(shutil.which(tool))
    tree = bench.folder / "tree"
    (tree / "scripts").mkdir(parents=True)
    shutil.copy(e2e.ROOT / "scripts" / "page", tree / "scripts" / "page")
    done = bench.start(tree / "scripts" / "page", env={"PATH": str(tools)})
    told = "found no node" in done.stderr and "apt-get install npm" in done.stderr
    bench.expect(done.returncode == 2 and told, f"scripts/page without node: {done.returncode} {done.stderr}")
    bench.replay(e2e.SAMPLE)
    for words, told in ((["compare", "run"], "expected 2 to 8"), (["compare", *["run"] * 9], "expected 2 to 8"),
                        (["compare", "run", "nowhere"], "nowhere/report.json"), (["compare"], "run_dirs"),
                        (["report", "--html"], "run_dir"), (["report", "--html", "--data", "run"], "--html"),
                        (["report", "--html", "nowhere"], "nowhere/report.json"),
                        (["compare", "--html", "run/report.json", "run", "run"], "another file to write")):
        done = bench.rxnic(*words, env=script(bench))
        bench.expect(done.returncode == 2 and told in done.stderr, f"{words}: {done.returncode} {done.stderr}")


def compare(bench):
    """What differs, and each figure with its change: as text, JSON, CSV, and as a page of all runs."""
    slow = bench.replay(e2e.SAMPLE, "--set", "dma_engine.read_latency_ps=900000", "--events", out="slow")
    base = bench.replay(e2e.SAMPLE, "--events", out="base")
    done = bench.rxnic("compare", "base", "slow", "--format", "json")
    both = json.loads(done.stdout)
    bench.expect_equal(both["parameters"],
                       [{"parameter": "dma_engine.read_latency_ps", "A": "403000", "B": "900000"}], "parameters")
    figures = {row["figure"]: row for row in both["figures"]}
    row = figures["receive p50"]
    bench.expect_equal((row["A"], row["B"]), (base["latency_ns"]["p50"], slow["latency_ns"]["p50"]), "receive p50")
    near(bench, row["change_B"], 100 * (row["B"] / row["A"] - 1), "its change")
    bench.expect_equal(figures["messages"]["change_B"], 0, "the change of messages")
    bench.expect_equal([run["words"] for run in both["runs"]], [base["verdict"]["words"], slow["verdict"]["words"]],
                       "verdicts")
    listed = list(csv.DictReader(io.StringIO(bench.rxnic("compare", "base", "slow", "--format", "csv").stdout)))
    bench.expect_equal([line["figure"] for line in listed], list(figures), "CSV")
    text = bench.rxnic("compare", "base", "slow", "base").stdout
    bench.expect("dma_engine.read_latency_ps" in text and "receive p50 (ns)" in text, text)
    same = bench.rxnic("compare", "base", "base").stdout
    bench.expect("all parameters of the NIC are the same" in same and "%" not in same.split("figures")[1], same)
    bench.expect("not the same run" not in same and both["ran"] == [], same)
    bench.replay(e2e.SAMPLE, "--pace", "line-rate", "--seed", "7", "--to", "30us", out="other")
    ran = json.loads(bench.rxnic("compare", "base", "other", "--format", "json").stdout)["ran"]
    bench.expect_equal([(row["what"], row["A"]) for row in ran], [("pace", "captured"), ("region", ""), ("seed", "1")],
                       "what was run")
    other = bench.rxnic("compare", "base", "other").stdout
    bench.expect("not the same run" in other and "B  line-rate" in other, other)
    done = bench.rxnic("compare", "--html", "both.html", "base", "slow", env=script(bench))
    bench.expect_equal((done.returncode, done.stdout), (0, "written: both.html\n"), "compare --html")
    page = (bench.folder / "both.html").read_text(encoding="utf-8")
    runs_of = json.loads(page.split('id="data">')[1].split("</script>")[0])["runs"]
    bench.expect_equal([run["name"] for run in runs_of], ["A", "B"], "runs of the page")
    bench.expect_equal({**runs_of[1], "name": ""}, data_of(bench, "slow"), "the second run of the page")


def plot(bench):
    """scripts/plot: CSV, SVG and PNG of every chart, the same each time; without matplotlib it says so."""
    bench.replay(e2e.SAMPLE, "--events")
    command = [sys.executable, e2e.ROOT / "scripts" / "plot", "--rxnic", bench.options.rxnic, "run"]
    (bench.folder / "none").mkdir()
    (bench.folder / "none" / "matplotlib.py").write_text("raise ImportError\n", encoding="utf-8")
    done = bench.start(*command, env={**os.environ, "PYTHONPATH": str(bench.folder / "none")})
    told = "apt-get install python3-matplotlib" in done.stderr
    bench.expect(done.returncode == 2 and told, f"without matplotlib: {done.returncode} {done.stderr}")
    if importlib.util.find_spec("matplotlib") is None:
        print("the pictures were not looked at: matplotlib is not installed")
        return
    for words, told in ((["--only", "through"], "throughput"), (["nowhere"], "nowhere/report.json"),
                        (["--rxnic", "nowhere"], "found no program")):
        done = bench.start(*command, *words)
        bench.expect(done.returncode == 2 and told in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    for out in ("one", "other"):
        done = bench.start(*command, "--out", out)
        bench.expect_equal(done.returncode, 0, f"plot: {done.stderr}")
    wanted = {one["id"] + (f"-nic{one['nic']}" if "nic" in one else ""): one
              for one in data_of(bench)["charts"] if "absent" not in one}
    files = {path.name for path in (bench.folder / "one").iterdir()}
    bench.expect_equal(files, {f"{name}.{kind}" for name in wanted for kind in ("csv", "svg", "png")}, "files")
    for name, chart in wanted.items():
        for kind in ("csv", "svg", "png"):
            one, other = ((bench.folder / out / f"{name}.{kind}").read_bytes() for out in ("one", "other"))
            bench.expect(one == other and one, f"{name}.{kind} differs")
        with (bench.folder / "one" / f"{name}.csv").open(encoding="utf-8", newline="") as text:
            head, *rows = csv.reader(text)
        values = [[float(row[n]) if row[n] else None for row in rows] for n in range(1, len(head))]
        bench.expect_equal(values, [one["values"] for one in chart["series"]], f"{name}: values")


CHECKS = {"over_time": over_time, "latencies": latencies, "tables": tables, "bounds": bounds, "file": file,
          "without_events": without_events, "refusals": refusals, "compare": compare, "plot": plot}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
