#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples that users start from: what they print, that the NICs' blocks did it, and that a record repeats it."""
import json
import pathlib
import re
import sys

import live
from live import e2e

TAGS = """\
wait for tag 0x1234, mask 0xffffffffffffffff: buffer 0
wait for tag 0x1200, mask 0xff00: buffer 1
message with tag 0x1234
  buffer 0: 100 bytes with tag 0x1234
message with tag 0x1299
  buffer 1: 200 bytes with tag 0x1299
message with tag 0x7777
  unexpected: 316 bytes in receive 15, the header among them
  the NIC knows of 1 unexpected messages that were seen
wait for tag 0x8888, mask 0xffffffffffffffff: buffer 2
  taken back
wait for tag 0x5555, mask 0xffffffffffffffff: buffer 3
message with tag 0x5555
  buffer 3: matched, the NIC reads the message
  buffer 3: 4096 bytes
the sender has FIN
"""


def of_shell(bench, name):
    """The example as a shell starts it: a sanitizer's library has to come before the one that `rxnic run` preloads."""
    first = f"LD_PRELOAD={bench.options.preload}:$LD_PRELOAD " if bench.options.preload else ""
    return f"env {first}{bench.options.programs / 'examples' / name}"


def run(bench, name, *arguments):
    """What the example prints, and the report of its run."""
    folder = bench.folder / f"{name}{len(arguments)}"
    done = bench.rxnic("run", "--quiet", "--nics", "2", *arguments, "--out", folder, "--", "sh", "-c",
                       f"exec {of_shell(bench, name)}")
    bench.expect_equal(done.returncode, 0, f"{name}: {done.stderr}")
    return done.stdout, json.loads((folder / "report.json").read_text(encoding="utf-8")), folder


def counters(report, nic, block):
    return report["nics"][nic]["blocks"][block]["counters"]


def srq_server(bench):
    """400 requests over one SRQ, filled again at its limit."""
    text, report, _ = run(bench, "srq_server")
    found = re.fullmatch(r"400 requests of 8 clients answered; the queue of 64 receives was filled (\d+) times\n", text)
    bench.expect(found and 6 <= int(found[1]) <= 30, text)
    events = counters(report, 0, "srq_wqe_fetcher")["limit_events"]
    bench.expect(found and int(found[1]) - events in (0, 1), f"{events} limit events: {text}")  # the last may be unread


def tag_matching(bench):
    """Tags, a wildcard, an unexpected message, a removal, a rendezvous, by the NIC; the same from a record."""
    text, report, folder = run(bench, "tag_matching", "--record")
    bench.expect_equal(text, TAGS, "printed")
    cam = counters(report, 1, "tag_match_cam")
    done = [cam[name] for name in ("operations", "searches", "matches", "unexpected")]
    bench.expect_equal(done, [6, 4, 3, 1], "by the CAM")
    again = bench.rxnic("replay", folder, "--out", bench.folder / "again")
    bench.expect(again.returncode == 0 and "equal to the recorded run" in again.stdout, again.stdout + again.stderr)
    other = bench.rxnic("replay", folder, "--set", "tag_match_cam.search_cycles=400", "--out", bench.folder / "other")
    bench.expect_equal(other.returncode, 0, other.stderr)
    later = json.loads((bench.folder / "other" / "report.json").read_text(encoding="utf-8"))
    bench.expect(later["stages_ns"]["tag_match_cam"]["mean"] > report["stages_ns"]["tag_match_cam"]["mean"],
                 "a slower search takes no longer")


def model_time(bench):
    """Measured times grow with the size, and with a slower NIC."""
    def table(*arguments):
        text, _, _ = run(bench, "model_time", *arguments)
        rows = re.findall(r"^ *(\d+) +(\d+) ns +(\d+) ns$", text, re.M)
        bench.expect_equal(len(rows), 8, f"rows: {text}")
        return [tuple(map(int, row)) for row in rows]

    fast, slow = table(), table("--config", "tiny")
    for rows in (fast, slow):
        bench.expect(rows == sorted(rows) and all(size == 2 * 4**n for n, (size, _, _) in enumerate(rows)), str(rows))
    bench.expect(all(f <= s for (_, _, f), (_, _, s) in zip(fast, slow)), f"{fast}, {slow}")


def rdma_srq(bench):
    """Two clients come by rdma_cm, beside each other, and share the server's receives."""
    if not (bench.options.programs / "examples" / "rdma_srq").exists():
        raise e2e.Skip("librdmacm-dev is not installed: rdma_srq was not built")
    folder, program = bench.folder / "rdma_srq", of_shell(bench, "rdma_srq")
    clients = f"({program} client 198.18.0.1 & {program} client 198.18.0.1; first=$?; wait $! && exit $first)"
    done = bench.rxnic("run", "--quiet", "--nics", "2", "--out", folder, "--", "sh", "-c",
                       f"{program} server 2 | (read listens; export RXNIC_NIC=1; {clients} && cat)")
    bench.expect_equal((done.returncode, done.stdout), (0, "20 messages of 2 clients answered from one queue\n"),
                       done.stderr)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    scatter = counters(report, 0, "grh_scatter")  # the connection manager's datagrams have a GRH
    bench.expect_equal(scatter["elements"] - scatter["grh_areas"], 20, "receives of the server's SRQ")


CHECKS = {"srq_server": srq_server, "tag_matching": tag_matching, "model_time": model_time,
          "rdma_srq": rdma_srq}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where the folder examples is")
    sys.exit(e2e.run(parser, CHECKS))
