#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads: the pages of `rxnic workload` and what is refused of them, by file, line, key and expectation."""
import json
import re
import sys

import e2e

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
    ('receive = "rq"', "depth = 0", 16, "receiver.depth", "found 0", "(WQEs)"),
]


def refused(bench, name, text, line, key, *parts):
    (bench.folder / name).write_text(text, encoding="utf-8")
    for command in (["workload", name],):  # and the replay of it
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


CHECKS = {"mistakes": mistakes, "keys": keys}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
