#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rxnic sweep` can run: records with other parameters, workloads with other keys, configurations, RTL."""
import json
import sqlite3
import sys
import tarfile

import e2e
from sweep_check import Sweep, done_well

RECORD = e2e.ROOT / "testbench" / "e2e" / "golden" / "pingpong_rc.tar.xz"
WORKLOAD = """\
packets = 300
[[senders]]
peers = 2
size = "cdf"
cdf = "sizes.txt"
"""


def record(bench):
    """A record is repeated with other parameters, as one replay is; each NIC of each point is a row of sweep.sqlite."""
    sweep = Sweep(bench, '[run]\nsource = "record"\n[[axes]]\ndma_engine.read_latency_ps = ["403ns", "900ns"]\n'
                         '[[axes]]\nloop = ["closed", "open"]\n')
    with tarfile.open(RECORD) as packed:
        packed.extractall(bench.folder / "packed")  # nosec: the project's own
    next((bench.folder / "packed").rglob("host.jsonl")).parent.rename(bench.folder / "record")
    done_well(bench, sweep.start(), "what-if of a record")
    rows = sweep.rows()
    report = bench.replay("record", "--set", "dma_engine.read_latency_ps=900ns", "--loop", "open")
    bench.expect_equal((len(rows), rows[3]["state_hash"]), (4, report["state_hash"]), "rows, and the last state hash")
    base = sqlite3.connect(bench.folder / "page.sweep" / "sweep.sqlite")
    nics = base.execute('SELECT point, nic, "dma_engine.writes" FROM nics ORDER BY point, nic').fetchall()
    base.close()
    writes = [nic["blocks"]["dma_engine"]["counters"]["writes"] for nic in report["nics"]]
    bench.expect_equal(nics[-len(writes):], [(4, n, count) for n, count in enumerate(writes)], "rows of NICs")
    bench.expect_equal(len(nics), 4 * len(writes), "rows of all NICs")


def workloads(bench):
    """Keys of a workload are settings; a page with the same values gives the same run. Its files are part of it."""
    (bench.folder / "load.toml").write_text(WORKLOAD, encoding="utf-8")
    (bench.folder / "sizes.txt").write_text("64 0.5\n2048 1\n", encoding="utf-8")
    text = """\
[run]
source = "load.toml"
workload.packets = 500
[[axes]]
workload.senders.qps = [1, 4]
[[axes]]
workload.network.delay = ["1us", "5us"]
"""
    sweep = Sweep(bench, text)
    done_well(bench, sweep.start(), "a page")
    rows = sweep.rows()
    bench.expect_equal([row["set.workload.network.delay"] for row in rows], ["1000000", "5000000"] * 2, "delays")
    bench.expect_equal(len({row["state_hash"] for row in rows}), 4, "different runs")
    (bench.folder / "same.toml").write_text(WORKLOAD.replace("300", "500").replace("peers = 2", "peers = 2\nqps = 4") +
                                            '[network]\ndelay = "5us"\n', encoding="utf-8")
    bench.expect_equal(rows[3]["state_hash"], bench.replay("same.toml")["state_hash"], "a page with these values")
    bench.expect(" 0 to run" in sweep.start("--dry-run").stdout, "again")
    (bench.folder / "load.toml").write_text("# words\n" + WORKLOAD.replace("300", "400"), encoding="utf-8")
    bench.expect(" 0 to run" in sweep.start("--dry-run").stdout, "a key that the sweep sets, and a comment")
    (bench.folder / "sizes.txt").write_text("64 0.4\n2048 1\n", encoding="utf-8")
    bench.expect(" 4 to run" in sweep.start("--dry-run").stdout, "another distribution in a file of the name")
    name = json.loads(bench.rxnic("workload", "--json").stdout)[0]["name"]
    sweep.page.write_text(f'[run]\nworkload.packets = 200\n[[axes]]\nsource = ["load.toml", "{name}"]\n'
                          "[[axes]]\nseed = [1, 2]\n", encoding="utf-8")
    done_well(bench, sweep.start(), "a page and a name")
    bench.expect_equal({row["packets.seen"] for row in sweep.rows()}, {"200"}, "packets that came")
    for old, new, line, *parts in [("[1, 4]", "[1, 0]", 5, "axes.workload.senders.qps: found 0", "from 1 to"),
                                   ("senders.qps", "senders.qpz", 5, "did you mean 'workload.senders.qps'"),
                                   ('"5us"', '"5uz"', 7, 'axes.workload.network.delay: found "5uz"', "(ps)"),
                                   ('"load.toml"', '"trace.pcap"', 5, "found no workload", "whose keys can be set"),
                                   ("packets = 500", "senders.bytes = 5", 3, "does not act here", 'size = "fixed"')]:
        sweep.page.write_text(text.replace(old, new), encoding="utf-8")
        done = sweep.start("--dry-run")
        bench.expect_equal(done.returncode, 2, f"{new}: exit code: {done.stderr}")
        for part in (f"page.toml:{line}: ", *parts):
            bench.expect(part in done.stderr, f"{new}: does not name {part!r}: {done.stderr}")


def configurations(bench):
    """Configurations are names and files; equal values are equal points."""
    sweep = Sweep(bench, '[run]\nsource = "trace.pcap"\n[[axes]]\nconfig = ["nic_400g_gen5", "own.toml"]\n'
                         "[[axes]]\ndma_engine.tags = [16, 32]\n")
    (bench.folder / "own.toml").write_text('base = "nic_400g_gen5"\n[dma_engine]\ntags = 8\n', encoding="utf-8")
    done_well(bench, sweep.start(), "sweep")
    report = bench.replay("trace.pcap", "--config", "own.toml", "--set", "dma_engine.tags=16")
    bench.expect_equal(sweep.rows()[2]["state_hash"], report["state_hash"], "a configuration's file")
    bench.expect_equal(sum(sweep.counts().values()), 2, "runs of four points, of which two and two are the same")
    (bench.folder / "own.toml").write_text('base = "nic_400g_gen5"\n[dma_engine]\nread_latency_ps = 999000\n',
                                           encoding="utf-8")
    bench.expect(" 2 to run" in sweep.start("--dry-run").stdout, "another file of the name")


def rtl(bench):
    """RTL in the model's place is a setting."""
    sweep = Sweep(bench, '[run]\nsource = "trace.pcap"\n[[axes]]\nrtl = ["", "cqe_generator"]\n')
    if not list((bench.options.rxnic.parents[2] / "rtl").glob("cqe_generator_*.so")):
        raise e2e.Skip("the RTL of cqe_generator is not built")
    sweep.environment["RXNIC"] = str(bench.options.rxnic)  # it finds the RTL beside itself
    done_well(bench, sweep.start(), "sweep")
    rows = sweep.rows()
    bench.expect_equal(*[row["cycles"] for row in rows], "cycles with the model and with its RTL")
    report = bench.replay("trace.pcap", "--rtl", "cqe_generator")
    bench.expect_equal(rows[1]["state_hash"], report["state_hash"], "state hash with RTL")


CHECKS = {"record": record, "workloads": workloads, "configurations": configurations, "rtl": rtl}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
