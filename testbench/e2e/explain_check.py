#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic explain: the life of packets adds up, agrees with the report, and names what held them up."""
import json
import pathlib
import random
import re
import sys

import e2e
from events_check import generated, record_of

SEED = 53
RULES = e2e.ROOT / "model" / "RULES.md"


def explain(bench, *arguments, folder="run"):
    done = bench.rxnic("explain", folder, "--json", *arguments)
    bench.expect_equal(done.returncode, 0, f"explain {arguments}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else []


def runs(bench):
    """(folder, report) of three runs with events: generated, with errors, of programs."""
    for name in ("ordinary", "errors"):
        trace, options = generated(bench, name)
        yield name, bench.replay(trace, *options, "--events", out=name)
    yield "programs", bench.replay(record_of(bench), "--events", out="programs")


def parts(bench):
    """The stays of 1,000 random packets of each run add up to the packet's time, and the causes to the stays."""
    print("seed", SEED)
    draw = random.Random(SEED)
    for name, report in runs(bench):
        last = report["packets"]["seen"] if "trace" not in report else report["packets"]["captured"]
        numbers = draw.sample(range(1, last + 1), min(1000, last))
        lives = explain(bench, "--packet", ",".join(map(str, numbers)), "--most", "100000", folder=name)
        bench.expect(len(lives) >= min(200, last // 3), f"{name}: {len(lives)} packets")
        for life in lives:
            what = f"{name}: packet {life['packet']}"
            if not life["rdma"]:
                continue
            at = life["arrived_cycle"]
            for stay in life["stays"]:
                bench.expect_equal(stay["from_cycle"], at, f"{what}: {stay['block']} begins")
                for part, causes in (("wait_cycles", "waited_for"), ("block_cycles", "inside")):
                    bench.expect_equal(sum(c["cycles"] for c in stay[causes]), stay[part], f"{what}: {causes}")
                at += stay["wait_cycles"] + stay["block_cycles"]
            bench.expect_equal(at, life["left_cycle"], f"{what}: ends")
            bench.expect_equal(life["left_cycle"] - life["arrived_cycle"], life["cycles"], f"{what}: cycles")


def slowest(bench):
    """The slowest messages are those of the report's maximum, the slowest first."""
    for name, report in runs(bench):
        lives = explain(bench, "--slowest", "20", folder=name)
        period = round(report["time_ps"] / report["cycles"])
        most = max(report["latency_ns"].get("max", 0), report["write_latency_ns"].get("max", 0))
        bench.expect_equal(lives[0]["message_cycles"] * period // 1000, most, f"{name}: the slowest")
        times = [life["message_cycles"] for life in lives]
        bench.expect_equal(times, sorted(times, reverse=True), f"{name}: their order")
        bench.expect_equal(len(times), 20, f"{name}: how many")


def drops(bench):
    """--drops lists each packet that was not carried out, with the report's reasons; the rules that are named exist."""
    rules = set()
    section = None
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"## (\d+) ", line):
            section = found[1]
        elif found := re.match(r"(\d+)\. ", line):
            rules.add(f"{section}.{found[1]}")
    named = set()
    for name, report in runs(bench):
        dropped = {key: n for key, n in report["packets"]["dropped"].items() if key != "total" and n}
        if not dropped:
            continue
        lives = explain(bench, "--drops", "--most", "100000", folder=name)
        found = {}
        for life in lives:
            found[life["reason"]] = found.get(life["reason"], 0) + 1
            named.add(life["rule"])
            bench.expect(life["reason"] in life["words"], f"{name}: {life['words']}")
        bench.expect_equal(found, dropped, f"{name}: dropped")
    named -= {""}
    bench.expect(len(named) >= 2 and named <= rules, f"rules {sorted(named)}; there are {sorted(rules)}")
    text = (e2e.ROOT / "bridge" / "rxnic" / "explain" / "drop_rules.cpp").read_text(encoding="utf-8")
    written = set(re.findall(r'return "([\d.]+)"', text))
    bench.expect(written and written <= rules, f"rules that do not exist: {sorted(written - rules)}")


def causes(bench):
    """What is made scarce is what packets waited for, and who was before them held them up."""
    trace = bench.folder / "sends.pcap"
    sends = "2000 12 rc_qps=4 ud_qps=0 send_imm=0 write=0 write_imm=0 read=0 add=0 load=60".split()
    bench.start(bench.options.make_traffic, trace, *sends)
    slow = ["--set", "dma_engine.read_latency_ps=2000000"]
    planted = {
        "wait_wqe": ["--host", "receive=srq,layout=linked_list", "--set", "srq_wqe_fetcher.prefetch=demand", *slow],
        "wait_context": ["--set", "qp_context_cache.sets=1", "--set", "qp_context_cache.ways=2", *slow],
        "wait_translation": ["--set", "address_translator.mpt_sets=1", "--set", "address_translator.mpt_ways=1", *slow],
    }
    for activity, options in planted.items():
        done = bench.rxnic("replay", trace, "--quiet", "--events", "--out", "run", *options)
        if done.returncode != 0:
            bench.expect(False, f"{activity}: {done.stderr}")
            continue
        lives = explain(bench, "--packet", "1500-1519")
        spent = {}
        for life in lives:
            for stay in life["stays"]:
                for cause in stay["waited_for"] + stay["inside"]:
                    spent[cause["activity"]] = spent.get(cause["activity"], 0) + cause["cycles"]
        waits = {a: n for a, n in spent.items() if a not in ("busy", "starved")}
        bench.expect(waits and max(waits, key=waits.get) == activity, f"{activity}: {spent}")
        held = [(life["packet"], stay["behind"]["packet"])
                for life in lives for stay in life["stays"] if "behind" in stay]
        bench.expect(held and all(other < packet for packet, other in held), f"{activity}: held by {held}")


def chosen(bench):
    """Packets by number, message, PSN, slot and QP; all of a QP; what is not there is said."""
    trace, options = generated(bench, "errors")
    report = bench.replay(trace, *options, "--events")
    by_qp = {}
    for life in explain(bench, "--packet", "1-100000", "--most", "100000"):
        by_qp.setdefault(life.get("qp"), []).append(life)
    messages = [life for lives in by_qp.values() for life in lives if "ends_message" in life]
    bench.expect_equal(sorted(life["ends_message"] for life in messages), list(range(1, len(messages) + 1)), "messages")
    bench.expect_equal(len(messages), report["messages"], "messages of the report")
    one = messages[len(messages) // 2]
    bench.expect_equal(explain(bench, "--message", str(one["ends_message"])), [one], "--message")
    of_psn = [life for life in by_qp[one["qp"]] if life["psn"] == one["psn"]]
    bench.expect_equal(explain(bench, "--qp", hex(one["qp"]), "--psn", hex(one["psn"])), of_psn, "--qp, --psn")
    completed = next(life for life in messages if "completion" in life)
    slot = completed["completion"]["wqe"]
    found = explain(bench, "--wr-id", str(slot), "--qp", str(completed["qp"]), "--most", "1000")
    bench.expect(completed in found and all(life["completion"]["wqe"] == slot for life in found), "--wr-id")
    for qp, lives in by_qp.items():
        if qp is None or not any(life["outcome"] == "execute" for life in lives):
            continue
        of, = explain(bench, "--qp", str(qp))
        bench.expect_equal(of["packets"], len(lives), f"QP {qp:#x}: packets")
        bench.expect_equal(sum(of["dropped"].values()), sum(life["reason"] != "none" for life in lives), "its drops")
    for words, expected in (([], "expected --packet"), (["--packet", "999999"], "found no such packet"),
                            (["--qp", "0x999"], "found no packet of QP 0x999"), (["--psn", "x"], "24 bits"),
                            (["--slowest", "3", "--drops"], "expected it alone"), (["--packet", "2-1"], "ranges")):
        done = bench.rxnic("explain", "run", *words)
        bench.expect(done.returncode == 2 and expected in done.stderr, f"{words}: {done.returncode} {done.stderr}")


def parts_of_events(bench):
    """Where events are not kept it is said, nobody is named as holder, and the rest is what all events tell."""
    trace, options = generated(bench, "errors")
    bench.replay(trace, *options, "--events", out="all")
    wanted = {life["packet"]: life for life in explain(bench, "--packet", "1-9999", "--most", "9999", folder="all")}
    size = (bench.folder / "all" / "events.rxev").stat().st_size
    numbers = sorted(wanted)
    middle = wanted[numbers[len(numbers) // 2]]
    ns = middle["arrived_cycle"] * middle["ns"] / middle["cycles"]
    for name, choice in (("time", ["--events-from", f"{ns / 1e3:.3f}us", "--events-to", f"{ns / 1e3 + 3:.3f}us"]),
                         ("limit", ["--events-limit", str(size * 3 // 4)]),
                         ("packets", ["--events-packets", "100-200"])):
        done = bench.rxnic("replay", trace, *options, *choice, "--quiet", "--out", name)
        bench.expect_equal(done.returncode, 0, f"{name}: {done.stderr}")
        lives = explain(bench, "--packet", "1-9999", "--most", "9999", folder=name)
        bench.expect(0 < len(lives) < len(wanted) or name == "limit", f"{name}: {len(lives)} packets")
        known = 0
        for life in lives:
            of = wanted[life["packet"]]
            numbered = "ends_message" in life and name != "limit"  # the limit leaves activities out alone
            bench.expect(not numbered, f"{name}: packet {life['packet']} ends a message of the run")
            for stay, other in zip(life.get("stays", []), of.get("stays", [])):
                bench.expect("behind" not in stay or name == "limit", f"{name}: {stay} names a holder")
                for causes in ("waited_for", "inside"):
                    kept = {(c["block"], c["activity"]): c["cycles"] for c in stay[causes]}
                    all_of = {(c["block"], c["activity"]): c["cycles"] for c in other[causes]}
                    what = f"{name}: {life['packet']} {causes}"
                    bench.expect_equal(sum(kept.values()), sum(all_of.values()), what)
                    more = [key for key, n in kept.items() if key[1] != "not kept" and n > all_of.get(key, 0)]
                    bench.expect(not more, f"{what}: {more}; of all events {all_of}")
                    known += sum(n for key, n in kept.items() if key[1] != "not kept")
        bench.expect(known > 0 or name == "limit", f"{name}: nothing is known")
    done = bench.rxnic("explain", "packets", "--message", "1")
    bench.expect(done.returncode == 2 and "all packets" in done.stderr, done.stderr)


def words(bench):
    """The text says what the JSON says: each number of a packet's stays, decision, WQE, CQE and answer."""
    trace, options = generated(bench, "errors")
    bench.replay(trace, *options, "--events")
    for life in explain(bench, "--packet", "200-260", "--most", "100"):
        text = bench.rxnic("explain", "run", "--packet", str(life["packet"])).stdout
        if not life["rdma"]:
            continue
        bench.expect(life["words"] in text and f"PSN {life['psn']:#x}" in text, text)
        for stay in life["stays"]:
            row = rf"^ *{stay['from_cycle']} +{stay['wait_cycles']} +{stay['block_cycles']}  {stay['block']}$"
            bench.expect(re.search(row, text, re.M), f"{row}: {text}")
        if "completion" in life:
            bench.expect(f"WQE: slot {life['completion']['wqe']}" in text, text)
            bench.expect(f"visible in cycle {life['completion']['visible_cycle']}" in text, text)
        for answer in life["answers"]:
            bench.expect(f"answer: {answer['name']}, PSN {answer['psn']:#x}" in text, text)
        bench.expect(all(len(line) <= 100 for line in text.splitlines()), text)


def tables(bench):
    """The rows of each table add up to the report; the sickest QP is the first one."""
    for name, report in runs(bench):
        nics = report.get("nics", [report])
        wanted = {"packets": report["packets"]["seen"] - report["packets"]["not_rdma"], "messages": report["messages"],
                  "not_carried_out": report["packets"]["dropped"]["total"],
                  "rnr_naks": sum(nic["blocks"]["ack_generator"]["counters"]["rnr_naks"] for nic in nics)}
        receives = report["latency_ns"]["count"]
        for by in ("qp", "size", "opcode", "nic"):
            done = bench.rxnic("explain", name, "--by", by, "--format", "json")
            rows = json.loads(done.stdout)
            for key, number in wanted.items():
                bench.expect_equal(sum(row[key] for row in rows), number, f"{name} by {by}: {key}")
            timed = receives + (report["write_latency_ns"]["count"] if by in ("size", "opcode") else 0)
            bench.expect_equal(sum(row["latency_count"] for row in rows), timed, f"{name} by {by}: timed messages")
            kinds = ("latency_ns", "write_latency_ns") if by in ("size", "opcode") else ("latency_ns",)
            most = max(report[key].get("max", 0) for key in kinds)
            bench.expect_equal(max(row["max_ns"] for row in rows), most, f"{name} by {by}: the slowest")
            text = bench.rxnic("explain", name, "--by", by).stdout.splitlines()
            bench.expect(len(text) >= min(len(rows), 20) and all(len(line) <= 80 for line in text), f"{text[:4]}")
            if by == "nic":
                bench.expect_equal([row["packets"] for row in rows if row["packets"]],
                                   [n for nic in nics if (n := nic["packets"]["seen"] - nic["packets"]["not_rdma"])],
                                   f"{name}: packets of each NIC")
            if by == "qp":
                fatal = [sum(row[key] for key in ("nak_0x61", "nak_0x62", "nak_0x63", "error_cqes")) for row in rows]
                bench.expect_equal(fatal, sorted(fatal, reverse=True), f"{name}: the order of QPs")
                well = [not any(row[key] for key in ("not_carried_out", "repeats", "rnr_naks", "error_cqes"))
                        for row in rows]
                bench.expect_equal(well, sorted(well), f"{name}: QPs without trouble are not the last")
                life, = explain(bench, "--qp", str(rows[0]["qp"]), "--nic", str(rows[0]["nic"]), folder=name)
                bench.expect_equal((life["packets"], life["messages"]), (rows[0]["packets"], rows[0]["messages"]),
                                   f"{name}: its life")
    done = bench.rxnic("explain", "errors", "--by", "qp", "--drops")
    bench.expect(done.returncode == 2 and "expected it alone" in done.stderr, done.stderr)


CHECKS = {"parts": parts, "slowest": slowest, "drops": drops, "causes": causes, "chosen": chosen, "words": words,
          "parts_of_events": parts_of_events, "tables": tables}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
