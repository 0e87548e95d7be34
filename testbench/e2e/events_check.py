#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic replay --events: what the file holds, read by its description, beside the report of the same run."""
import collections
import pathlib
import sys
import tarfile

import e2e
import event_file

RECORD = e2e.ROOT / "testbench" / "e2e" / "golden"
TRAFFIC = {
    "ordinary": ("3000 31", []),
    "errors": ("3000 32 spare_qps=64 errors=20000", ["--psn", "strict"]),
    "tags": ("1500 33 read=0 write=0 write_imm=0 add=0 tags=16", ["--host", "receive=tm_srq,tags=16"]),
}


def generated(bench, name):
    """(trace, options) of generated traffic."""
    arguments, options = TRAFFIC[name]
    trace = bench.folder / f"{name}.pcap"
    made = bench.start(bench.options.make_traffic, trace, *arguments.split())
    bench.expect_equal(made.returncode, 0, f"make_traffic {arguments}: {made.stderr}")
    return trace, options


def record_of(bench):
    """A recorded run of programs."""
    archive = sorted(RECORD.glob("*.tar.xz"))[0]
    with tarfile.open(archive) as tar:
        tar.extractall(bench.folder)  # nosec: the project's own
    return next(path.parent for path in bench.folder.rglob("host.jsonl"))


def events_of(bench, out="run"):
    return event_file.read(bench.folder / out / "events.rxev")


def same(bench):
    """A run with --events is the run without: report and answers are the same bytes."""
    for name in TRAFFIC:
        trace, options = generated(bench, name)
        bench.replay(trace, *options, out="without")
        bench.replay(trace, *options, "--events", out="with")
        for file in ("report.json", "responses.pcap"):
            one, other = ((bench.folder / out / file).read_bytes() for out in ("without", "with"))
            bench.expect(one == other, f"{name}: {file} differs with --events")


def orders(bench):
    """The file is the same in all engine modes and step orders."""
    for name in TRAFFIC:
        trace, options = generated(bench, name)
        first = None
        for number, how in enumerate(([], ["--step-all"], ["--per-cycle"], ["--step-order", "reverse"],
                                      ["--step-order", "7"])):
            bench.replay(trace, *options, "--events", *how, out=f"{number}")
            _, tables, end = events_of(bench, f"{number}")
            tables.pop("counters")  # a block may count sooner what it does ahead of its time
            end["rows"].pop("counters")
            first = first or (tables, end)
            for table, rows in first[0].items():
                bench.expect(rows == tables[table], f"{name} {how}: {table} differ")
            bench.expect_equal(end, first[1], f"{name} {how}: end")


def report_counts(bench):
    """Packets by reason, completions, frames and cycles by activity are those of the report."""
    runs = [(name, *generated(bench, name)) for name in TRAFFIC]
    for name, trace, options in [*runs, ("sample", e2e.SAMPLE, [])]:
        report = bench.replay(trace, *options, "--events")
        description, tables, end = events_of(bench)
        packets = tables["packets"]
        totals = report["packets"]
        bench.expect_equal(len(packets), totals["seen"], f"{name}: packets")
        bench.expect_equal(sum(p["flags"] >> 4 & 1 for p in packets), totals["not_rdma"], f"{name}: not RDMA")
        names = description["drop_reason"]
        reasons = collections.Counter(names[str(p["reason"])] for p in packets if p["reason"])
        wanted = {key: count for key, count in totals["dropped"].items() if count and key != "total"}
        bench.expect_equal(dict(reasons), wanted, f"{name}: dropped")
        bench.expect_equal(len(tables["completions"]), report["cqes"], f"{name}: completions")
        bench.expect_equal(len(tables["frames"]), report["answers"]["sent"], f"{name}: frames")
        bench.expect_equal(end["cycles"], report["cycles"], f"{name}: cycles")
        accounts(bench, name, report, description, tables, end)


def accounts(bench, name, report, description, tables, end):
    spent = collections.defaultdict(collections.Counter)
    now = {}
    for row in tables["activities"]:
        before = now.get(row["block"], (0, 0))
        bench.expect(row["from"] >= before[0], f"{name}: activities of block {row['block']} are not in order")
        spent[row["block"]][before[1]] += row["from"] - before[0]
        now[row["block"]] = (row["from"], row["activity"])
    for block, (since, activity) in now.items():
        spent[block][activity] += end["cycles"] - since
    compared = 0
    for number, block in enumerate(description["block"]):
        if not block.startswith("nic0.") or block[5:] not in report["blocks"] or number not in spent:
            continue
        found = {description["activity"][str(a)]: cycles for a, cycles in spent[number].items() if cycles}
        account = report["blocks"][block[5:]]
        wanted = {key: cycles for key, cycles in account.items() if key in ("busy", "starved", "blocked") and cycles}
        wanted |= {f"wait_{key}": cycles for key, cycles in account["waiting"].items() if cycles}
        bench.expect_equal(found, wanted, f"{name}: cycles of {block}")
        compared += 1
    bench.expect(compared >= 10, f"{name}: {compared} blocks compared")


def programs(bench):
    """A recorded run: packets and completions of all its NICs."""
    folder = record_of(bench)
    report = bench.replay(folder, "--events")
    _, tables, end = events_of(bench)
    bench.expect_equal(len(tables["packets"]), report["packets"]["seen"], "packets")
    bench.expect_equal({p["nic"] for p in tables["packets"]}, set(range(len(report["nics"]))), "NICs")
    bench.expect(all(p["number"] for p in tables["packets"]), "a packet without its number on the wire")
    bench.expect(len(tables["frames"]) >= len(tables["packets"]), f"{len(tables['frames'])} frames")
    bench.expect(any("peer" in qp for qp in end["qps"]), f"no peer is known: {end['qps']}")


def chosen(bench):
    """Windows in time, packets and QPs; a limit, of which a line and the end tell."""
    trace, options = generated(bench, "ordinary")
    bench.replay(trace, *options, "--events", out="all")
    description, tables, _ = events_of(bench, "all")
    period = description["clock_period_ps"]
    packets = tables["packets"]

    bench.replay(trace, *options, "--events-packets", "3,100-200", out="numbers")
    wanted = [p for p in packets if p["number"] == 3 or 100 <= p["number"] <= 200]
    bench.expect_equal(events_of(bench, "numbers")[1]["packets"], wanted, "--events-packets")

    qp = packets[len(packets) // 2]["qp"]
    bench.replay(trace, *options, "--events-qps", hex(qp), out="qp")
    found = events_of(bench, "qp")[1]
    bench.expect_equal(found["packets"], [p for p in packets if p["qp"] == qp], "--events-qps")
    bench.expect_equal(found["completions"], [c for c in tables["completions"] if c["qp"] == qp], "its completions")

    middle = packets[len(packets) // 2]["left"] * period
    first, last = middle // 1000, middle // 1000 + 2000
    bench.replay(trace, *options, "--events-from", f"{first}ns", "--events-to", f"{last}ns", out="time")
    found = events_of(bench, "time")[1]
    begin, end = first * 1000 // period, last * 1000 // period
    wanted = [p for p in packets if p["arrived"] <= end and p["left"] >= begin]
    bench.expect(0 < len(wanted) < len(packets) // 2, f"{len(wanted)} packets in the window")
    bench.expect_equal(found["packets"], wanted, "--events-from, --events-to")
    inside = [a for a in tables["activities"] if begin <= a["from"] <= end]

    def in_order(rows):
        return sorted(rows, key=lambda a: (a["block"], a["from"]))

    bench.expect_equal(in_order(a for a in found["activities"] if a["from"] >= begin), in_order(inside),
                       "activities in the window")
    before = {a["block"]: a for a in tables["activities"] if a["from"] < begin and a["activity"]}
    for a in found["activities"]:
        bench.expect(a["from"] >= begin or a == before.get(a["block"]), f"an activity before the window: {a}")

    done = bench.rxnic("replay", trace, *options, "--quiet", "--events", "--events-limit", "20K", "--out", "limit")
    size = (bench.folder / "limit" / "events.rxev").stat().st_size
    end = events_of(bench, "limit")[2]
    left_out = sum(end["left_out"].values())
    bench.expect(done.returncode == 0 and f"{left_out} rows are left out" in done.stderr, done.stderr)
    bench.expect(left_out > 0 and size < 30_000, f"{left_out} rows left out of {size} bytes")


def refusals(bench):
    """Options that mean nothing are refused with what was expected."""
    for words, expected in ((["--events-from", "3"], "a time of the model"),
                            (["--events-from", "2us", "--events-to", "1us"], "a time after --events-from 2us"),
                            (["--events-packets", "9-3"], "numbers and ranges"), (["--events-packets", ""], "numbers"),
                            (["--events-qps", "0x1000000"], "24 bits"), (["--events-limit", "-1"], "a size"),
                            (["--events-qps", "1,,2"], "numbers and ranges")):
        done = bench.rxnic("replay", e2e.SAMPLE, "--out", "never", *words)
        bench.expect(done.returncode == 2 and expected in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    # A file that cannot be written is named; one of an earlier run does not stay.
    bench.replay(e2e.SAMPLE, "--events")
    bench.replay(e2e.SAMPLE)
    bench.expect(not (bench.folder / "run" / "events.rxev").exists(), "the events of an earlier run are there")
    (bench.folder / "full").mkdir()
    (bench.folder / "full" / "events.rxev").symlink_to("/dev/full")
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--events", "--out", "full")
    bench.expect(done.returncode == 1 and "events.rxev" in done.stderr, f"/dev/full: {done.returncode} {done.stderr}")


def truncated(bench):
    """The whole chunks of a file that ends too soon are explained; a file that is none is refused with the place."""
    bench.replay(e2e.SAMPLE, "--events")
    data = (bench.folder / "run" / "events.rxev").read_bytes()
    for size in range(0, len(data), 37):
        (bench.folder / "cut.rxev").write_bytes(data[:size])
        done = bench.rxnic("explain", "cut.rxev", "--packet", "5")
        good = done.returncode == 0 or (done.returncode == 2 and "cut.rxev" in done.stderr)
        bench.expect(good, f"{size} bytes: {done.returncode} {done.stderr}")
    done = bench.rxnic("explain", e2e.SAMPLE, "--packet", "5")
    bench.expect(done.returncode == 2 and "byte 0: found another beginning" in done.stderr, done.stderr)
    (bench.folder / "other.rxev").write_bytes(data.replace(b"events 1", b"events 2", 1))
    done = bench.rxnic("explain", "other.rxev", "--packet", "5")
    bench.expect(done.returncode == 2 and "version 2" in done.stderr, done.stderr)
    done = bench.rxnic("explain", ".", "--packet", "5")
    bench.expect(done.returncode == 2 and "rxnic replay --events" in done.stderr, done.stderr)


CHECKS = {"same": same, "orders": orders, "report_counts": report_counts, "programs": programs, "chosen": chosen,
          "refusals": refusals, "truncated": truncated}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
