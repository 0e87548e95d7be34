#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables and the incidents of report.json are those that Python counts from the events of the same run."""
import collections
import csv
import io
import json
import os
import pathlib
import struct
import sys

import e2e
import event_file
import events_check

STATIONS = ["rx_parser", "qp_context_cache", "transport_checker", "tag_match_cam", "srq_wqe_fetcher", "grh_scatter",
            "address_translator", "dma_engine", "cqe_generator"]
ENDS_MESSAGE, CONGESTED, NOT_RDMA, CHECKED = 1, 8, 16, 32  # flags of a packet
CNP, FLUSHED = 0x81, "flushed"
REQUESTER = {"timeouts": "timeouts", "rnr_waits": "rnr_waits", "went_back": "went_back", "sent_again": "repeated"}
SLOW_RECEIVER = ("rx_parser.beat_bytes=8", "wire.rx_buffer_bytes=16384")
FABRICS = {"marks": ("fabric.ecn_threshold_bytes=20000",),
           "drops": ("fabric.switch_full=drop", "fabric.switch_buffer_bytes=16384")}
TRAFFIC = {
    "errors": ("3000 32 spare_qps=64 errors=20000", ["--psn", "strict"]),
    "marks": ("3000 34 rc_qps=12", []),
    "gaps": ("3000 35 errors=20000", []),
    "rnr": ("2000 36 read=0 write=0 add=0 load=100", ["--host", "receive=srq,depth=16", "--pace", "line-rate"]),
}


def mark(trace, one_in):
    """A switch marks one IPv4 packet in so many Congestion Experienced: its checksum is made right again."""
    data, at, number = bytearray(trace.read_bytes()), 24, 0
    while at < len(data):
        captured, = struct.unpack_from("<I", data, at + 8)
        ip = at + 16 + 14
        if number % one_in == 0 and data[ip - 2:ip] == b"\x08\x00":
            data[ip + 1] |= 3
            data[ip + 10:ip + 12] = b"\0\0"
            total = sum(struct.unpack_from(">10H", data, ip))
            struct.pack_into(">H", data, ip + 10, ~(total % 0xffff) & 0xffff)
        at += 16 + captured
        number += 1
    trace.write_bytes(data)


def generated(bench, name):
    """(trace, options)"""
    arguments, options = TRAFFIC[name]
    trace = bench.folder / f"{name}.pcap"
    made = bench.start(bench.options.make_traffic, trace, *arguments.split())
    bench.expect_equal(made.returncode, 0, f"make_traffic {arguments}: {made.stderr}")
    if name == "marks":
        mark(trace, 10)
    return trace, options


def runs(bench):
    """(name, report) of runs with events: captures, and records of several NICs."""
    for name in TRAFFIC:
        trace, options = generated(bench, name)
        yield name, bench.replay(trace, *options, "--events", out=name)
    yield "sample", bench.replay(e2e.SAMPLE, "--events", out="sample")
    yield "record", bench.replay(events_check.record_of(bench), "--events", out="record")


def waits_of(packet):
    """Cycles in front of each block; of a packet whose QP is known in front of the ACK generator, too."""
    since, waits = packet["arrived"], {}
    for station in STATIONS:
        taken, left = packet[f"{station}_taken"], packet[f"{station}_left"]
        if left:
            waits[station] = max(taken, since) - since
            since = left
    if packet["flags"] & CHECKED:
        waits["ack_generator"] = packet["left"] - since
    return waits


def key_of(by, packet):
    ends = ends_message(packet)
    return {"qp": (packet["nic"], packet["qp"]), "nic": packet["nic"],
            "size": (packet["message_bytes"] if ends else packet["payload_bytes"]).bit_length()}[by]


def ends_message(packet):
    return bool(packet["flags"] & ENDS_MESSAGE) and packet["reason"] == 0 and packet["outcome_name"] == "execute"


def counted(by, description, tables):
    """{key: figures} of all RDMA packets."""
    period, found = description["clock_period_ps"], collections.defaultdict(collections.Counter)
    last = {}
    for p in tables["packets"]:
        p["outcome_name"] = description["outcome"][str(p["outcome"])]
        if p["flags"] & NOT_RDMA:
            continue
        f = found[key_of(by, p)]
        reason = description["drop_reason"][str(p["reason"])]
        f["packets"] += 1
        f["messages"] += ends_message(p)
        f["payload_bytes"] += p["payload_bytes"]
        f["not_carried_out"] += p["reason"] != 0
        f["psn_ahead"] += reason == "psn_ahead"
        f["repeats"] += p["outcome_name"] in ("ack_again", "replay")
        f["marked"] += bool(p["flags"] & CONGESTED)
        f["cnps_received"] += p["opcode"] == CNP and p["reason"] == 0
        f["ps"] += (p["left"] - p["arrived"]) * period
        for station, wait in waits_of(p).items():
            f[("wait", station)] += wait * period
        if by == "qp":
            before = last.get(key_of(by, p))
            if before is not None:
                f["pause"] = max(f["pause"], (p["left"] - before) * period // 1000)
            last[key_of(by, p)] = p["left"]
    if by == "qp":
        for c in tables["completions"]:
            if description["wc_status"][str(c["status"])] != "success":
                found[(c["nic"], c["qp"])]["error_cqes"] += 1
    return found


def key_of_row(by, row):
    return {"qp": lambda: (row["nic"], row["qp"]), "nic": lambda: row["nic"],
            "size": lambda: row["bytes_from"].bit_length()}[by]()


def rows(bench):
    """Each row of each table: its packets, messages, bytes, fates, times and waits."""
    compared = collections.Counter()
    for name, report in runs(bench):
        description, tables, _ = event_file.read(bench.folder / name / "events.rxev")
        for by in ("qp", "size", "nic"):
            wanted = counted(by, description, tables)
            found = {key_of_row(by, row): row for row in report["tables"][by]}
            bench.expect_equal(sorted(k for k, f in wanted.items() if f["packets"]),
                               sorted(k for k, row in found.items() if row["packets"]), f"{name} by {by}: the rows")
            for key, f in wanted.items():
                row, what = found.get(key, {}), f"{name} by {by}: {key}"
                for figure in ("packets", "messages", "payload_bytes", "not_carried_out", "psn_ahead", "repeats",
                               "marked", "cnps_received", *(["error_cqes"] if by == "qp" else [])):
                    bench.expect_equal(row.get(figure, 0), f[figure], f"{what}: {figure}")
                    compared[figure] += f[figure]
                if not f["packets"]:
                    continue
                waits = {k[1]: n for k, n in f.items() if isinstance(k, tuple) and n}
                for figure, total in (("mean_ns", f["ps"]), ("wait_ns", sum(waits.values()))):
                    mean = total / 1000 / f["packets"]
                    bench.expect(abs(row[figure] - mean) <= 1e-9 * mean, f"{what}: {figure} {row[figure]}; {mean}")
                if by != "size" and waits:
                    bench.expect_equal(waits[row["waits_most_at"]], max(waits.values()), f"{what}: waits")
                if by == "qp":
                    bench.expect_equal(row.get("longest_pause_ns", 0), f["pause"], f"{what}: pause")
    print("compared", dict(compared))
    for figure in ("not_carried_out", "psn_ahead", "repeats", "marked", "cnps_received", "error_cqes"):
        bench.expect(compared[figure] > 0, f"no run has {figure}")


def totals(bench, name, report, compared):
    """The rows of a table add up to the report's totals; what a block counts is that of the QPs."""
    nics = report.get("nics", [report])
    blocks = [nic["blocks"] for nic in nics]
    of_all = {"packets": report["packets"]["seen"] - report["packets"]["not_rdma"],
              "messages": report["messages"], "not_carried_out": report["packets"]["dropped"]["total"]}
    answers = [b["ack_generator"]["counters"] for b in blocks]
    of_qps = {"error_cqes": report["error_cqes"], "psn_gaps": report["transport"]["psn_gaps"],
              "missing_psns": report["transport"]["psn_gap_packets"], "cnps_received": report["transport"]["cnps"],
              "rnr_naks": sum(a["rnr_naks"] for a in answers), "naks": sum(a["naks"] for a in answers),
              "cnps_sent": sum(a["cnps"] for a in answers)}
    requesters = [b["requester"]["counters"] for b in blocks if "requester" in b]
    for key, counter in REQUESTER.items():
        of_qps[key] = sum(r[counter] for r in requesters)
    others = [report["tables"]["other_qps"]] if "other_qps" in report["tables"] else []
    for by in ("qp", "size", "opcode", "nic"):
        table = report["tables"][by] + (others if by == "qp" else [])
        for key, total in (of_all | (of_qps if by in ("qp", "nic") else {})).items():
            keys = [f"nak_0x6{n}" for n in range(4)] if key == "naks" else [key]
            bench.expect_equal(sum(row.get(k, 0) for row in table for k in keys), total, f"{name} by {by}: {key}")
            compared[key] += total
    timed = report["latency_ns"]["count"]
    writes = report["write_latency_ns"]["count"]
    for by, count in (("qp", timed), ("nic", timed), ("size", timed + writes), ("opcode", timed + writes)):
        bench.expect_equal(sum(row.get("latency_count", 0) for row in report["tables"][by]), count,
                           f"{name} by {by}: latencies")
    for row, nic in zip(report["tables"]["nic"], nics):
        for key in ("p50", "p99", "max"):
            bench.expect_equal(row.get(f"{key}_ns", 0), nic["latency_ns"][key], f"{name}: {key} of a NIC")


def sums(bench):
    """The rows of a table add up to the report's totals; what a block counts is that of the QPs."""
    compared = collections.Counter()
    for name, report in runs(bench):
        totals(bench, name, report, compared)
    # A part of a run has what happened in it.
    trace, options = generated(bench, "errors")
    for part in (["--from", "10us"], ["--to", "15us"], ["--warmup", "5us"]):
        report = bench.replay(trace, *options, *part)
        found = {key: sum(row.get(key, 0) for row in report["tables"]["qp"])
                 for key in ("packets", "messages", "not_carried_out", "latency_count")}
        packets = report["packets"]
        left = packets["accepted"] + packets["dropped"]["total"]  # what is seen and does not leave is in neither
        wanted = {"packets": left, "messages": report["messages"], "not_carried_out": packets["dropped"]["total"],
                  "latency_count": report["latency_ns"]["count"]}
        bench.expect_equal(found, wanted, f"{part}")
        bench.expect(0 < found["packets"] < 2980, f"{part}: {found}")
    print("compared", dict(compared))
    for key in ("not_carried_out", "error_cqes", "psn_gaps", "naks", "rnr_naks", "cnps_sent", "cnps_received"):
        bench.expect(compared[key] > 0, f"no run has {key}")


def programs(bench):
    """A live run: what a switch marks, and what it drops and the requester sends again, is counted for its QP."""
    compared = collections.Counter()
    program = [bench.options.program, "stream"]
    (bench.folder / "stub.js").write_text("/* the script of the page */", encoding="utf-8")
    stub = {**os.environ, "RXNIC_PAGE_SCRIPT": str(bench.folder / "stub.js")}
    if bench.options.preload:
        program = ["sh", "-c", f'LD_PRELOAD={bench.options.preload}${{LD_PRELOAD:+:$LD_PRELOAD}} exec "$0" "$@"',
                   *program]
    for name, settings in FABRICS.items():
        options = [part for setting in (*SLOW_RECEIVER, *settings) for part in ("--set", setting)]
        done = bench.rxnic("run", "--quiet", "--nics", "2", "--html", "--out", name, *options, "--", *program, env=stub)
        bench.expect_equal(done.returncode, 0, f"{name}: {done.stderr}")
        page = bench.folder / name / "report.html"
        written = page.read_bytes()
        bench.rxnic("report", "--html", name, env=stub)
        bench.expect(page.read_bytes() == written, f"{name}: report.html differs from that of report --html")
        report = json.loads((bench.folder / name / "report.json").read_text(encoding="utf-8"))
        totals(bench, name, report, compared)
        marked = sum(row.get("marked", 0) for row in report["tables"]["qp"])
        bench.expect((marked > 0) == (name == "marks"), f"{name}: {marked} marked")
    print("compared", dict(compared))
    for key in ("not_carried_out", "naks", "cnps_sent", "cnps_received", "went_back", "sent_again"):
        bench.expect(compared[key] > 0, f"no run has {key}")


def incidents(bench):
    """Each drop, NAK, CQE in error is an incident of the events, and the first ones are those of the report."""
    compared = collections.Counter()
    for name, report in runs(bench):
        description, tables, _ = event_file.read(bench.folder / name / "events.rxev")
        kinds = description["incident"]
        listed = collections.Counter()
        for i in tables["incidents"]:
            kind = kinds[str(i["kind"])]
            if kind in ("drop", "nak"):
                listed[kind, i["nic"], i["packet"], i["detail"]] += 1
        wanted = collections.Counter()
        for p in tables["packets"]:
            if p["reason"]:
                wanted["drop", p["nic"], p["number"], p["reason"]] += 1
        naks = collections.Counter(f["syndrome"] for f in tables["frames"] if f["opcode"] & 0x1f == 0x11
                                   and f["opcode"] >> 5 != 4 and f["syndrome"] >> 5)
        bench.expect_equal({k: n for k, n in listed.items() if k[0] == "drop"}, dict(wanted), f"{name}: drops")
        found = collections.Counter()
        for (kind, _, _, detail), n in listed.items():
            if kind == "nak":
                found[detail] += n
        bench.expect_equal(found, naks, f"{name}: NAKs by syndrome")
        errors = sum(description["wc_status"][str(c["status"])] not in ("success", FLUSHED)
                     for c in tables["completions"])
        counts = report["incidents"]["counts"]
        bench.expect_equal(counts.get("error_cqe", 0), errors, f"{name}: CQEs in error")
        bench.expect_equal(counts.get("drop", 0), report["packets"]["dropped"]["total"], f"{name}: drops")
        bench.expect_equal(counts.get("psn_gap", 0), report["transport"]["psn_gaps"], f"{name}: gaps")
        events = sum(n for kind, n in report["events"].items() if kind not in ("completion", "page_request"))
        bench.expect_equal(counts.get("event", 0), events, f"{name}: events")
        by_kind = collections.Counter(kinds[str(i["kind"])] for i in tables["incidents"])
        bench.expect_equal(counts, dict(by_kind), f"{name}: by kind")
        explained = json.loads(bench.rxnic("explain", name, "--incidents", "--format", "json").stdout)
        bench.expect_equal(len(explained), sum(counts.values()), f"{name}: explained")
        bench.expect_equal(report["incidents"]["first"], explained[:1000], f"{name}: the first ones")
        times = [i["time_ps"] for i in explained]
        bench.expect_equal(times, sorted(times), f"{name}: in the order of time")
        compared += by_kind
    print("compared", dict(compared))
    for kind in ("drop", "nak", "psn_gap", "event"):
        bench.expect(compared[kind] > 0, f"no run has an incident {kind}")


def limits(bench):
    """More QPs than rows, and more incidents than are listed: the sickest stay, the others are added up."""
    trace = bench.folder / "many.pcap"
    made = bench.start(bench.options.make_traffic, trace, "12000", "37", "rc_qps=2000", "errors=150000")
    bench.expect_equal(made.returncode, 0, made.stderr)
    report = bench.replay(trace, "--psn", "strict", "--events", out="many")
    qps, others = report["tables"]["qp"], report["tables"]["other_qps"]
    bench.expect_equal(len(qps), 1024, "rows")
    by_qp = {p["qp"] for p in event_file.read(bench.folder / "many" / "events.rxev")[1]["packets"]}
    bench.expect(len(by_qp) > 1900, f"{len(by_qp)} QPs")
    bench.expect_equal(len(qps) + others["qps"], len(by_qp), "QPs")
    bench.expect_equal(sum(row["packets"] for row in [*qps, others]),
                       report["packets"]["seen"] - report["packets"]["not_rdma"], "packets")
    sick = sum(any(row.get(k) for k in ("error_cqes", "not_carried_out", "repeats")) for row in qps)
    bench.expect(sick > 100 and not others.get("error_cqes"), f"{sick} sick QPs, others {others}")
    first, counts = report["incidents"]["first"], report["incidents"]["counts"]
    bench.expect(len(first) == 1000 < sum(counts.values()), f"{len(first)} of {counts}")
    said = bench.rxnic("report", "--incidents", "many").stdout
    bench.expect("980 more: --most" in said and "only counted" in said, said[-300:])
    explained = json.loads(bench.rxnic("explain", "many", "--incidents", "--format", "json").stdout)
    bench.expect_equal(len(explained), sum(counts.values()), "explained")
    bench.expect((bench.folder / "many" / "report.json").stat().st_size < 2_000_000, "report.json is large")


def orders(bench):
    """Tables and incidents are the same in all engine modes and step orders."""
    for name in ("errors", "rnr"):
        trace, options = generated(bench, name)
        first = None
        for how in ([], ["--step-all"], ["--per-cycle"], ["--step-order", "reverse"], ["--step-order", "7"]):
            report = bench.replay(trace, *options, *how)
            first = first or report
            for key in ("tables", "incidents"):
                bench.expect(report[key] == first[key], f"{name} {how}: {key} differ")


def printed(bench):
    """rxnic report --by and --incidents: text of 80 columns, JSON, CSV; the summary names the sickest QPs first."""
    for name, report in runs(bench):
        for by in ("qp", "size", "opcode", "nic"):
            table = report["tables"][by]
            found = json.loads(bench.rxnic("report", name, "--by", by, "--format", "json").stdout)
            bench.expect_equal(found, table, f"{name} by {by}")
            text = bench.rxnic("report", name, "--by", by).stdout.splitlines()
            bench.expect(len(text) > min(len(table), 20) and all(len(line) <= 80 for line in text), f"{text[:5]}")
            lines = list(csv.DictReader(io.StringIO(
                bench.rxnic("report", name, "--by", by, "--format", "csv").stdout)))
            bench.expect_equal([int(line["packets"]) for line in lines], [row["packets"] for row in table],
                               f"{name} by {by}: CSV")
        summary = bench.rxnic("report", name).stdout
        sick = [row for row in report["tables"]["qp"]
                if any(row.get(k) for k in ("error_cqes", "not_carried_out", "rnr_naks", "repeats", "psn_gaps",
                                            "marked", "cnps_sent", "cnps_received", "timeouts", "sent_again"))]
        bench.expect_equal("the sickest QPs" in summary, bool(sick), f"{name}: the summary")
        if not sick:
            continue
        part = summary.split("the sickest QPs\n")[1].split("\n\n")[0].splitlines()
        bench.expect(all(len(line) <= 80 for line in part), f"{part}")
        bench.expect_equal(len(part), 1 + min(len(sick), 5) + (len(sick) > 5), f"{name}: its rows {part}")
        bench.expect(f"{sick[0]['qp']:#x}" in part[1], f"{name}: {part[1]}")
        if len(sick) > 5:
            bench.expect(f"and {len(sick) - 5} more" in part[-1], f"{name}: {part[-1]}")
    for words, expected in ((["--by", "size", "--incidents"], "excludes"), (["--by", "peer"], "{qp,size,opcode,nic}"),
                            (["--most", "0"], "1 to 100000")):
        done = bench.rxnic("report", "sample", *words)
        bench.expect(done.returncode == 2 and expected in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    # A report of a version without tables is read; its tables are missed by name.
    old = json.loads((bench.folder / "sample" / "report.json").read_text(encoding="utf-8"))
    del old["tables"], old["incidents"]
    (bench.folder / "sample" / "report.json").write_text(json.dumps(old), encoding="utf-8")
    bench.expect_equal(bench.rxnic("report", "sample").returncode, 0, "an old report")
    for option, key in ((["--by", "qp"], "tables"), (["--incidents"], "incidents")):
        done = bench.rxnic("report", "sample", *option)
        bench.expect(done.returncode == 2 and f"report.json: found no {key}; expected" in done.stderr, done.stderr)


CHECKS = {"rows": rows, "sums": sums, "programs": programs, "incidents": incidents, "limits": limits,
          "orders": orders, "printed": printed}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    PARSER.add_argument("--program", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="params_program")
    PARSER.add_argument("--preload", metavar="FILE", help="a sanitizer's library for programs that rxnic starts")
    sys.exit(e2e.run(PARSER, CHECKS))
