#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads: what is refused of a page, what each key moves, and a run against the run of its own files.

Random pages: --seed says which (default 1), --pages how many.
"""
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tomllib

import e2e
import mpi_job_texts
import workload_rows

PAGE = """about = "A page."
packets = 500
[[senders]]
peers = 2
qps = 4
size = "uniform"
min_bytes = 64
max_bytes = 128
arrivals = "poisson"
interval = "500ns"
[senders.mix]
send = 1
[network]
delay = "2us"
[receiver]
receive = "rq"
"""

# (what is replaced, by what; the line of the error, its key, what stands in it)
MISTAKES = [
    ("packets = 500", "packets = 0", 2, "packets", "found 0", "1 to"),
    ("packets = 500", "packets = -3", 2, "packets", "found -3"),
    ("packets = 500", "packets = 1.5", 2, "packets", "found 1.5", "an integer"),
    ("packets = 500", 'packets = "many"', 2, "packets", 'found "many"'),
    ("packets = 500", "packet = 500", 2, "packet", "unknown key", "did you mean 'packets'"),
    ("packets = 500", "seed = true", 2, "seed", "found true", "an integer"),
    ("packets = 500", "qps = 5", 2, "qps", "unknown key", "'qps' stands in [senders]"),
    ('about = "A page."', "about = 5", 1, "about", "found 5", "a text"),
    ("packets = 500", "packets = 500\npackets = 6", 3, "", "a TOML file"),
    ("packets = 500", "packets = ", 2, "", "a TOML file"),
    ("packets = 500", "a.b.c.d.e.f.g.h.i.j = 1", 2, "", "more than 8 parts"),
    ("[[senders]]", "[[sender]]", 3, "sender", "unknown table", "did you mean 'senders'"),
    ("[network]", "[networks]", 13, "networks", "unknown table", "did you mean 'network'"),
    ("[network]", "[receiver.tag]", 13, "receiver.tag", "unknown key"),
    ("peers = 2", "peers = 0", 4, "senders.peers", "found 0", "1 to 4096 (hosts)"),
    ("peers = 2", "peers = 5000", 4, "senders.peers", "found 5000", "1 to 4096"),
    ("peers = 2", "peer = 2", 4, "senders.peer", "unknown key", "did you mean 'peers'"),
    ("peers = 2", "delay = 5", 4, "senders.delay", "unknown key", "'delay' stands in [network]"),
    ("peers = 2", "peers = [2]", 4, "senders.peers", "found an array"),
    ("peers = 2", "mtu = 1000", 4, "senders.mtu", "found 1000", "a power of two"),
    ("peers = 2", "mtu = 8192", 4, "senders.mtu", "found 8192", "256 to 4096"),
    ("qps = 4", 'transport = "rd"', 5, "senders.transport", 'found "rd"', '"rc" or "uc"'),
    ("max_bytes = 128", 'max_bytes = 2048\ntransport = "ud"', 8, "senders.max_bytes", "a datagram is one packet"),
    ("peers = 2\nqps = 4", "peers = 3\nqps = 65536", 5, "senders.qps", "at most 131072"),
    ('size = "uniform"', 'size = "unifrom"', 6, "senders.size", 'found "unifrom"', "did you mean 'uniform'"),
    ('size = "uniform"', "size = 64", 6, "senders.size", "found 64", '"fixed"'),
    ("min_bytes = 64", "min_bytes = 256", 7, "senders.min_bytes", "found 256", "at most max_bytes, which is 128"),
    ("min_bytes = 64", "bytes = 64", 7, "senders.bytes", "does not act", 'size = "fixed"'),
    ("min_bytes = 64", "sigma = 0.5", 7, "senders.sigma", "does not act", 'size = "lognormal"'),
    ("min_bytes = 64", 'min_bytes = "64KB"', 7, "senders.min_bytes", 'found "64KB"', "(bytes)"),
    ("min_bytes = 64", 'min_bytes = "2G"', 7, "senders.min_bytes", 'found "2G"', "1073741824"),
    ('size = "uniform"\nmin_bytes = 64', 'size = "cdf"\ncdf = "web_serch"', 7, "senders.cdf", '"web_serch"',
     "did you mean 'web_search'"),
    ('arrivals = "poisson"', 'arrivals = "poison"', 9, "senders.arrivals", 'found "poison"', "did you mean 'poisson'"),
    ('arrivals = "poisson"', 'arrivals = "closed"', 10, "senders.interval", "does not act", '"poisson"'),
    ('interval = "500ns"', 'interval = "500 ns"', 10, "senders.interval", 'found "500 ns"', "(ps)"),
    ('interval = "500ns"', 'interval = "0.5ps"', 10, "senders.interval", 'found "0.5ps"'),
    ('interval = "500ns"', "on = 5", 10, "senders.on", "does not act", 'arrivals = "on_off"'),
    ('interval = "500ns"', 'load = 50\ninterval = "500ns"', 11, "senders.interval", "does not act", "load = 0.0"),
    ('interval = "500ns"', "load = -1", 10, "senders.load", "found -1", "0 to 1000 (percent)"),
    ('interval = "500ns"', "zipf_s = 1.1", 10, "senders.zipf_s", "does not act", 'choice = "zipf"'),
    ('arrivals = "poisson"\ninterval = "500ns"', 'arrivals = "ring"\n[network]', 13, "", "a TOML file"),
    ("send = 1", "sent = 1", 12, "senders.mix.sent", "unknown key", "did you mean 'send'"),
    ("send = 1", "send = 0", 12, "senders.mix.send", "no kind of message", "one weight above 0"),
    ("send = 1", "send = 1.0", 12, "senders.mix.send", "found 1.0", "(weight)"),
    ("send = 1", "eager = 1", 12, "senders.mix.eager", "without tag matching", 'receive = "tm_srq"'),
    ("qps = 4\n", 'transport = "uc"\n', 12, "senders.mix.read", "found 1", "does not have it"),
    ('delay = "2us"', 'delay = "2"', 14, "network.delay", 'found "2"', "(ps)"),
    ('delay = "2us"', "loss_ppm = 1000001", 14, "network.loss_ppm", "found 1000001", "0 to 1000000 (ppm)"),
    ('delay = "2us"', "los_ppm = 5", 14, "network.los_ppm", "did you mean 'loss_ppm'"),
    ('delay = "2us"', 'lose = "5-3"', 14, "network.lose", 'found "5-3"', "17,40-42"),
    ('delay = "2us"', "lose = 17", 14, "network.lose", "found 17", "17,40-42"),
    ('delay = "2us"', 'encapsulation = "ib"', 14, "network.encapsulation", 'found "ib"', "roce_v1"),
    ('receive = "rq"', 'receive = "srqs"', 16, "receiver.receive", 'found "srqs"', "did you mean 'srq'"),
    ('receive = "rq"', "depth = 32768", 16, "receiver.depth", "found 32768", "(WQEs)"),
    ('receive = "rq"', "qps_per_srq = 4", 16, "receiver.qps_per_srq", "does not act", 'receive = "srq" or "tm_srq"'),
    ('receive = "rq"', "workers = 4", 16, "receiver.workers", "does not act", 'service_time = "fixed"'),
    ('receive = "rq"', "moderation_count = 4", 16, "receiver.moderation_count", "does not act", '"events"'),
    ('receive = "rq"', "cqes = 100", 16, "receiver.cqes", "found 100", "a power of two"),
    ('receive = "rq"', 'sge_bytes = "64,4032"', 16, "receiver.sge_bytes", 'found "64,4032"', "a number, 1..1073741824"),
    ('receive = "rq"', 'sge_bytes = "64+64"\nbuffer = 128', 17, "receiver.buffer", "found 128", "0 beside sge_bytes"),
    ('receive = "rq"', "stride = 64", 16, "receiver.stride", "does not act", 'locality = "stride"'),
    ('receive = "rq"', "[receiver.tags]\nahead = 4", 16, "receiver.tags", "without tag matching", '"tm_srq"'),
    ('receive = "rq"', 'receive = "tm_srq"\n[receiver.tags]\nunexpected_lag = 4', 18, "receiver.tags.unexpected_lag",
     "found 4", "unexpected_ppm above 0"),
    ('receive = "rq"', 'receive = "tm_srq"\n[receiver.tags]\nwindow = 4', 18, "receiver.tags.window", "does not act",
     'order = "reversed"'),
]


def refused(bench, name, text, line, key, *parts):
    (bench.folder / name).write_text(text, encoding="utf-8")
    for command in (["workload", name], ["replay", name]):
        done = bench.rxnic(*command)
        what = f"{' '.join(command)} with {parts}"
        bench.expect_equal(done.returncode, 2, f"{what}: exit code ({done.stderr.strip()})")
        bench.expect_equal(done.stdout, "", f"{what}: standard output")
        begin = f"rxnic: {name}:{line}: " + (f"{key}: " if key else "")
        bench.expect(done.stderr.startswith(begin), f"{what}: begins not with {begin!r}: {done.stderr.strip()}")
        bench.expect("found " in done.stderr and "expected " in done.stderr, f"{what}: {done.stderr.strip()}")
        for part in parts:
            bench.expect(part in done.stderr, f"{what}: does not name {part!r}: {done.stderr.strip()}")


def mistakes(bench):
    """50 mistakes in a page: each is refused with file, line, key, what was found and what was expected."""
    for old, new, line, key, *parts in MISTAKES:
        bench.expect(old in PAGE, f"the page has no {old!r}")
        text = PAGE.replace(old, new, 1)
        if key == "senders.mix.read":
            text = text.replace("send = 1", "read = 1")
        refused(bench, "page.toml", text, line, key, *parts)
    bench.expect(len(MISTAKES) >= 40, f"{len(MISTAKES)} mistakes")
    refused(bench, "page.toml", "packets = 5\n", 1, "senders", "no senders")
    (bench.folder / "sizes.txt").write_text("64 0.5\n32 1\n", encoding="utf-8")
    text = PAGE.replace('size = "uniform"\nmin_bytes = 64', 'size = "cdf"\ncdf = "sizes.txt"')
    (bench.folder / "page.toml").write_text(text, encoding="utf-8")
    done = bench.rxnic("workload", "page.toml")
    bench.expect_equal(done.returncode, 2, "sizes that fall: exit code")
    bench.expect(done.stderr.startswith("rxnic: sizes.txt:2: "), f"sizes that fall: {done.stderr.strip()}")
    for name in ("absent.toml", "incast23"):
        done = bench.rxnic("workload", name)
        bench.expect_equal(done.returncode, 2, f"{name}: exit code")
        bench.expect(f"found '{name}'" in done.stderr and "incast32" in done.stderr, f"{name}: {done.stderr.strip()}")


def keys(bench):
    """--keys states default, unit, range and meaning of every key; a page shows each that can act."""
    table = json.loads(bench.rxnic("workload", "--keys", "--json").stdout)
    text = bench.rxnic("workload", "--keys").stdout
    rows = bench.rxnic("workload", "--keys", "--format", "csv").stdout.splitlines()
    all_keys = [(name, key, about) for name, one in table.items() for key, about in one.items()]
    bench.expect(len(all_keys) >= 60, f"{len(all_keys)} keys")
    bench.expect_equal(len(rows), len(all_keys) + 1, "rows of the CSV")
    for name, key, about in all_keys:
        what = f"{name}.{key}"
        bench.expect(re.search(rf"^  {key} .*{re.escape(about['sentence'])}", text, re.M), f"{what}: not in the text")
        bench.expect(about["sentence"].endswith("."), f"{what}: {about['sentence']!r} is no sentence")
        bench.expect(about["unit"] or about["type"] in ("choice", "text", "packets"), f"{what}: has no unit")
        if about["type"] in ("integer", "number"):
            least, greatest = about["range"]
            bench.expect(least <= about["default"] <= greatest, f"{what}: default outside of {about['range']}")
    page = bench.rxnic("workload", "uniform_rpc").stdout
    (bench.folder / "page.toml").write_text(page, encoding="utf-8")
    bench.expect_equal(bench.rxnic("workload", "page.toml").stdout, page, "a printed page, printed again")
    listed = json.loads(bench.rxnic("workload", "--json").stdout)
    for one in listed:
        bench.expect(one["about"] and one["name"] in bench.rxnic("workload").stdout, f"{one}: is not listed")


def toml(tables):
    """A page as text; `tables` as in workload_rows.py."""
    def lines(name):
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in tables[name].items())
    text = lines("")
    for name in tables:
        if name and tables[name]:
            text += f"[{name}]\n{lines(name)}"
    return text if tables["senders"] or tables["mpi"] else text + "[senders]\n"


def run(bench, text, *arguments, name="page.toml", out="run"):
    (bench.folder / name).write_text(text, encoding="utf-8")
    return bench.replay(name, *arguments, out=out)


def figure(report, place):
    for part in place.split("."):
        report = report.get(part, 0) if isinstance(report, dict) else 0
    return report


def moves(bench):
    """Each key of a page moves a figure of the report, in the direction that its row says."""
    table = json.loads(bench.rxnic("workload", "--keys", "--json").stdout)
    for seed, name in ((1, "job"), (2, "job2")):
        (bench.folder / name).mkdir()
        mpi_job_texts.dumpi(bench.folder / name, mpi_job_texts.random_job(seed, messages=60))
    bases = {}
    for name, one in table.items():
        for key in one:
            row = workload_rows.ROWS.get((name, key))
            if row is None:
                bench.expect(False, f"{name}.{key}: workload_rows.py has no row")
                continue
            page, other, place, direction, *options = row
            text = toml(page)
            base = (text, *options)
            if base not in bases:
                bases[base] = run(bench, text, *options)
            changed = {table_name: dict(keys) for table_name, keys in page.items()} | {name: page[name] | {key: other}}
            report = run(bench, toml(changed), *options)
            before, after = figure(bases[base], place), figure(report, place)
            holds = before != after if direction == 0 else (after > before) == (direction > 0) and after != before
            bench.expect(holds, f"{name}.{key} = {other}: {place} goes from {before} to {after}")
    unknown = [f"{name}.{key}" for name, key in workload_rows.ROWS if key not in table.get(name, {})]
    bench.expect(not unknown, f"rows without a key: {unknown}")


COMPARED = ("cycles", "time_ps", "state_hash", "packets", "messages", "cqes", "bytes", "latency_ns",
            "write_latency_ns", "read_latency_ns", "transport", "blocks", "tables", "incidents")


def written(bench, page, what, *arguments):
    """The run of a page, and that of its files: the same in every figure of the NIC."""
    direct = bench.replay(page, *arguments, out="direct")
    done = bench.rxnic("workload", page, "--out", "files", *arguments)
    bench.expect_equal(done.returncode, 0, f"{what}: rxnic workload --out ({done.stderr.strip()})")
    files = bench.replay("files", out="again")
    if direct is None or files is None:
        return None
    for key in COMPARED:
        bench.expect(direct.get(key) == files.get(key), f"{what}: {key} differs between the run and that of its files")
    bench.expect(direct["state_hash"] in done.stdout, f"{what}: {done.stdout}")
    bench.expect(direct["packets"]["seen"] > 100, f"{what}: {direct['packets']['seen']} packets")
    return direct


def short(bench, name, packets):
    """A page that comes along, with fewer packets."""
    text = (e2e.ROOT / "bridge" / "rxnic" / "workload" / "pages" / f"{name}.toml").read_text(encoding="utf-8")
    text, count = re.subn(r"^packets = \d+$", f"packets = {packets}", text, flags=re.M)
    bench.expect_equal(count, 1, f"{name}: lines with packets")
    (bench.folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return f"{name}.toml"


def named(bench):
    """Each workload that comes along runs, as it is and from its files with the same cycles and state hash."""
    listed = json.loads(bench.rxnic("workload", "--json").stdout)
    bench.expect(len(listed) >= 10, f"{len(listed)} workloads")
    for one in listed:
        report = written(bench, short(bench, one["name"], 3000), one["name"])
        if report is None:
            continue
        bench.expect_equal(report["workload"]["packets"], 3000, f"{one['name']}: packets")
        bench.expect_equal(report["workload"]["failed_qps"], 0, f"{one['name']}: failed QPs")
    by_name = bench.replay("incast32", "--set", "nic.link_gbps=50")
    bench.expect_equal(by_name["packets"]["seen"], 20000, "incast32 by name: packets")


def random_page(numbers):
    """Any page that is accepted, of any key."""
    transport = numbers.choice(["rc", "rc", "rc", "uc", "ud", "xrc"])
    kinds = {"rc": ["send", "send_imm", "send_inv", "write", "write_imm", "read", "compare_swap", "fetch_add",
                    "atomic_write"],
             "uc": ["send", "send_imm", "write", "write_imm"], "ud": ["send", "send_imm"],
             "xrc": ["send", "send_imm", "send_inv", "write", "write_imm", "read", "compare_swap",
                     "fetch_add"]}[transport]
    mtu = numbers.choice([256, 512, 1024, 2048, 4096])
    largest = mtu if transport == "ud" else numbers.choice([64, 1000, 5000, 20000])
    senders = {"peers": numbers.randint(1, 6), "qps": numbers.randint(1, 6), "transport": transport, "mtu": mtu,
               "start": numbers.choice([0, 1234567])}
    size = numbers.choice(["fixed", "uniform", "lognormal", "bimodal", "cdf"])
    senders["size"] = size
    senders |= {"fixed": {"bytes": numbers.randint(0, largest)},
                "uniform": {"min_bytes": numbers.randint(0, largest), "max_bytes": largest},
                "lognormal": {"median_bytes": numbers.randint(1, largest), "max_bytes": largest, "sigma": 1.5},
                "bimodal": {"small_bytes": 0, "large_bytes": largest, "large_percent": numbers.uniform(0, 100)},
                "cdf": {"cdf": numbers.choice(["web_search", "data_mining"]), "max_bytes": largest}}[size]
    arrivals = numbers.choice(["closed", "poisson", "constant", "on_off", "incast", "all_to_all"])
    senders["arrivals"] = arrivals
    if arrivals in ("poisson", "constant", "on_off"):
        senders |= {"window": numbers.randint(1, 20), "choice": numbers.choice(["in_order", "uniform", "zipf"]),
                    "burst": numbers.randint(1, 5)}
        senders |= numbers.choice([{"load": numbers.uniform(1, 150)}, {"interval": numbers.randint(1000, 1000000)}])
    else:
        senders["think"] = numbers.choice([0, numbers.randint(1, 3000000)])
    if transport in ("rc", "xrc"):
        senders |= {"reads": numbers.randint(1, 20), "timeout": numbers.choice([30000000, 100000000])}
    network = {"encapsulation": numbers.choice(["roce_v2_ipv4", "roce_v2_ipv6", "roce_v1"]),
               "delay": numbers.randint(1000, 3000000), "link_gbps": numbers.choice([0, 10, 400])}
    for impairment in numbers.sample(["loss", "corrupt", "duplicate", "reorder", "mark", "pause", "answer_loss"], 3):
        network[f"{impairment}_ppm"] = numbers.choice([0, 1000, 30000])
    return {"": {"packets": 1500, "seed": numbers.randint(0, 1 << 40)}, "senders": senders,
            "senders.mix": {kind: numbers.randint(1, 9)
                            for kind in numbers.sample(kinds, numbers.randint(1, len(kinds)))},
            "network": network, "receiver": random_receiver(numbers)}


def random_receiver(numbers):
    """Any host: how receives are posted and completions are polled, and what a program does with messages."""
    receiver = {"receive": numbers.choice(["rq", "srq"]), "depth": numbers.choice([0, 32, 500]),
                "refill": numbers.choice([1, 8]), "qps_per_cq": numbers.choice([0, 1, 3])}
    if receiver["receive"] == "srq":
        receiver |= {"qps_per_srq": numbers.choice([0, 1, 2]), "wqe_order": numbers.choice(["completion", "shuffled"])}
    if numbers.random() < 0.5:
        receiver |= {"completions": "events", "moderation_count": numbers.choice([0, 4]), "moderation_period": 5}
    if numbers.random() < 0.5:
        receiver |= {"service_time": numbers.choice(["fixed", "exponential"]), "service": numbers.randint(1, 2000000),
                     "workers": numbers.randint(1, 9)}
    receiver |= {"regions": numbers.choice([1, 40]), "locality": numbers.choice(["uniform", "sequential", "zipf"])}
    return receiver


def random_pages(bench):
    """Random pages: each runs as its files do, and in any order of stepping the blocks."""
    options = bench.options
    print(f"random pages: --seed {options.seed} --pages {options.pages}")
    for number in range(options.pages):
        numbers = random.Random(f"{options.seed}/{number}")
        text = toml(random_page(numbers))
        (bench.folder / "page.toml").write_text(text, encoding="utf-8")
        what = f"seed {options.seed}, page {number}:\n{text}"
        direct = written(bench, "page.toml", what)
        if direct is None or number % 4 != 0:
            continue
        for how in (["--step-order", "reverse"], ["--step-all"], ["--per-cycle", "--step-order", "3"]):
            other = bench.replay("page.toml", *how, out="other")
            bench.expect(other["state_hash"] == direct["state_hash"] and other["cycles"] == direct["cycles"],
                         f"{how} differs: {what}")


def repeat(bench):
    """Equal pages and seeds give equal bytes; --seed wins over the page's; files keep the seed and the parameters."""
    text = toml(workload_rows.LOSSY)
    runs = []
    for out in ("first", "second"):
        run(bench, text, "--cqes", f"{out}.csv", out=out)
        runs.append([(bench.folder / name).read_bytes()
                     for name in (f"{out}/report.json", f"{out}/responses.pcap", f"{out}.csv")])
    bench.expect(runs[0] == runs[1], "two runs of a page differ")
    bench.expect(all(len(one) > 500 for one in runs[0]), "files are empty")
    other = run(bench, text, "--seed", "9", out="other")
    bench.expect_equal(other["seed"], 9, "seed of the report")
    first = json.loads(runs[0][0])
    bench.expect(other["state_hash"] != first["state_hash"], "--seed makes no difference")
    written(bench, "page.toml", "with a seed and parameters", "--seed", "9", "--set",
            "dma_engine.read_latency_ps=900000")


def options(bench):
    """What of replay's options acts on a workload, and what is refused: it is of captures alone."""
    (bench.folder / "page.toml").write_text(PAGE, encoding="utf-8")
    for option, value in (("--receiver", "10.0.0.2"), ("--host", "receive=srq"), ("--psn", "strict"),
                          ("--pace", "line-rate"), ("--truncated", "fill"), ("--pair", "1=2"), ("--icrc", "ignore"),
                          ("--udp-port", "4000"), ("--annotate", None)):
        done = bench.rxnic("replay", "page.toml", *([option] if value is None else [option, value]))
        bench.expect_equal(done.returncode, 2, f"{option}: exit code")
        bench.expect(f"{option}: found with a workload" in done.stderr, f"{option}: {done.stderr.strip()}")
    page = (e2e.ROOT / "build" / "page" / "page.js").is_file()  # needs node and npm
    report = bench.replay("page.toml", "--events", "--timeline", *["--html"] * page, "--cqes", "cqes.csv", "--warmup",
                          "1us", "--set", "host.poll_latency_ps=1000000", out="run")
    bench.expect("region" in report, "--warmup does not act")
    for name in ("run/events.rxev", "run/responses.pcap", *["run/report.html"] * page, "cqes.csv"):
        bench.expect((bench.folder / name).stat().st_size > 1000, f"{name} is empty")
    told = bench.rxnic("explain", "--packet", "17", "run")
    bench.expect_equal(told.returncode, 0, f"explain: {told.stderr.strip()}")
    shown = bench.rxnic("replay", "page.toml").stdout
    for part in ("rxnic replay page.toml", "A page.", "messages", "answered"):
        bench.expect(part in shown, f"the summary does not say {part!r}: {shown}")
    done = bench.rxnic("replay", "incast23")
    bench.expect_equal(done.returncode, 2, "incast23: exit code")
    bench.expect("did you mean 'incast32'" in done.stderr, f"incast23: {done.stderr.strip()}")
    bench.rxnic("workload", "page.toml", "--out", "files")
    done = bench.rxnic("replay", "files", "--out", "files")
    bench.expect_equal(done.returncode, 2, "over its own files: exit code")
    bench.expect((bench.folder / "files" / "wire.pcap").stat().st_size > 1000, "wire.pcap is gone")


def overrides(bench):
    """--set workload.KEY=VALUE takes the place of what a page says, and is checked as a page is."""
    sets = [word for value in ("packets=600", "senders.qps=4", "network.delay=3us", "senders.choice=in_order",
                               "senders.mix.write=2") for word in ("--set", f"workload.{value}")]
    printed = bench.rxnic("workload", "uniform_rpc", *sets).stdout
    page = tomllib.loads(printed)
    found = (page["packets"], page["senders"][0]["qps"], page["network"]["delay"], page["senders"][0]["choice"],
             page["senders"][0]["mix"]["write"], page["senders"][0]["mix"]["send"])
    bench.expect_equal(found, (600, 4, 3000000, "in_order", 2, 1), "values in the place of the page's")
    (bench.folder / "own.toml").write_text(printed, encoding="utf-8")
    one, other = bench.replay("uniform_rpc", *sets, out="set"), bench.replay("own.toml", out="own")
    bench.expect_equal(one["state_hash"], other["state_hash"], "a page with these values")
    bench.rxnic("workload", "own.toml", "--out", "files")
    for name, value, *parts in (("own.toml", "senders.qpz=4", "senders.qpz: found unknown key", "did you mean 'qps'"),
                                ("own.toml", "senders.qps=0", 'senders.qps: found 0', "from 1 to"),
                                ("own.toml", "senders.choice=zip", 'found "zip"', "did you mean 'zipf'"),
                                ("own.toml", "senders.zipf_s=2", "zipf_s: found a key that does not act"),
                                ("own.toml", "senders.qps", "found no value", "from 1 to"),
                                ("own.toml", "sender.qps=1", "unknown table 'sender'", "did you mean 'senders'"),
                                ("files", "senders.qps=2", "written to files", "wire.pcap"),
                                (str(e2e.SAMPLE), "senders.qps=2", "unknown section 'workload'")):
        done = bench.rxnic("replay", name, "--set", f"workload.{value}")
        bench.expect_equal(done.returncode, 2, f"{name} {value}: exit code")
        for part in parts:
            bench.expect(part in done.stderr, f"{name} {value}: does not name {part!r}: {done.stderr}")


def in_small_pages():
    """What is resident is what was used, whether or not the machine has large pages at the moment."""
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE


def memory(bench):
    """Ten times the packets take no more memory, also of senders that lose packets. (WRITEs: no CQ is touched anew.)"""
    for what, page in (("closed loop", workload_rows.LOSSY), ("open loop", workload_rows.BURSTS)):
        page = page | {"senders.mix": {"write": 1}}
        resident = []
        for packets in (20000, 200000):
            (bench.folder / "page.toml").write_text(toml(page).replace("packets = 1500", f"packets = {packets}"),
                                                    encoding="utf-8")
            with subprocess.Popen([bench.options.rxnic, "replay", "page.toml", "--quiet", "--out", "run",
                                   "--responses-limit", "1K"], cwd=bench.folder, preexec_fn=in_small_pages) as child:
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            bench.expect_equal(child.returncode, 0, f"{what}: exit code")
            resident.append(usage.ru_maxrss)
        print(f"{what}: {resident[0]} KiB resident with 20 000 packets, {resident[1]} KiB with 200 000")
        bench.expect(resident[1] < resident[0] * 1.05 + 1024, f"{what}: {resident} KiB")


CHECKS = {"mistakes": mistakes, "keys": keys, "moves": moves, "named": named, "random": random_pages,
          "repeat": repeat, "options": options, "overrides": overrides, "memory": memory}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random pages; default: %(default)s")
    parser.add_argument("--pages", type=int, default=20, metavar="N", help="so many of them; default: %(default)s")
    sys.exit(e2e.run(parser, CHECKS))
