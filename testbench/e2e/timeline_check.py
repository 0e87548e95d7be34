#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic replay --timeline and --konata: the files read again, beside the report and the packets' lives."""
import collections
import json
import pathlib
import sys

import e2e
from events_check import generated, record_of


def runs(bench):
    """(name, folder, report, lives of all packets): generated, with errors, of programs."""
    for name in ("ordinary", "errors", "programs"):
        trace, options = (record_of(bench), []) if name == "programs" else generated(bench, name)
        report = bench.replay(trace, *options, "--timeline", "--konata", out=name)
        done = bench.rxnic("explain", name, "--packet", "1-1000000", "--most", "100000", "--json")
        yield name, bench.folder / name, report, json.loads(done.stdout)


def timeline(bench):
    """Perfetto's: slices, flows, drops and NAKs are those of the run; slices of a thread do not overlap."""
    for name, folder, report, lives in runs(bench):
        events = json.loads((folder / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
        kinds = collections.Counter((event["ph"], event.get("cat")) for event in events)
        stays = sum(len(life["stays"]) if life["rdma"] else 1 for life in lives)
        bench.expect_equal(kinds["X", "packet"], stays, f"{name}: slices")
        bench.expect_equal(kinds["s", "packet"], report["messages"], f"{name}: flows that begin")
        bench.expect_equal(kinds["f", "packet"], report["messages"], f"{name}: flows that end")
        bench.expect_equal(kinds["i", "drop"], report["packets"]["dropped"]["total"], f"{name}: drops")
        nics = report.get("nics", [report])
        naks = sum(nic["blocks"]["ack_generator"]["counters"][key] for nic in nics for key in ("naks", "rnr_naks"))
        bench.expect_equal(kinds["i", "nak"], naks, f"{name}: NAKs")
        named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        by_thread = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X":
                by_thread[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
        for thread, slices in by_thread.items():
            bench.expect(thread in named, f"{name}: thread {thread} has no name")
            slices.sort()
            overlaps = [one for one, other in zip(slices, slices[1:]) if one[0] + one[1] > other[0] + 1e-6]
            bench.expect(not overlaps, f"{name}: thread {thread}: slices overlap: {overlaps[:3]}")
        starts = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
        loose = [e for e in events if e["ph"] in "stf" and (e["pid"], e["tid"], e["ts"]) not in starts]
        bench.expect(not loose, f"{name}: flows outside of slices: {loose[:3]}")
        depths = collections.defaultdict(int)
        for event in events:
            if event["ph"] == "C":
                depths[event["pid"], event["name"]] = event["args"]["packets"]
                bench.expect(event["args"]["packets"] >= 0, f"{name}: {event}")
        bench.expect(depths and not any(depths.values()), f"{name}: packets wait at the end: {dict(depths)}")


def konata_rows(path):
    """{row: what a viewer knows of it}, by the description of the log format 0004."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines[0] != "Kanata\t0004":
        raise ValueError(f"found {lines[0]!r}")
    now, rows = None, {}
    for line in lines[1:]:
        command, *words = line.split("\t")
        if command == "C=":
            now = int(words[0])
        elif command == "C":
            if int(words[0]) <= 0:
                raise ValueError(line)
            now += int(words[0])
        elif command == "I":
            rows[int(words[0])] = {"number": int(words[1]), "from": now, "open": {}, "stages": [], "labels": {}}
        else:
            row = rows[int(words[0])]
            if command == "L":
                row["labels"][int(words[1])] = words[2]
            elif command == "S":
                row["open"][words[2]] = now
            elif command == "E":
                row["stages"].append((words[2], row["open"].pop(words[2]), now))
            elif command == "W":
                row["behind"] = int(words[1])
            elif command == "R":
                row["to"], row["flushed"] = now, words[2] == "1"
            else:
                raise ValueError(line)
    return rows


def konata(bench):
    """Konata's: a row a packet, whose stages add up to its time; flushed are those that were not carried out."""
    for name, folder, report, lives in runs(bench):
        rows = konata_rows(folder / "packets.kanata")
        bench.expect_equal(len(rows), report["packets"]["seen"], f"{name}: rows")
        bench.expect_equal(sum(row["flushed"] for row in rows.values()), report["packets"]["dropped"]["total"],
                           f"{name}: flushed")
        by_number = collections.defaultdict(list)
        for life in lives:
            by_number[life["packet"]].append(life)
        for row in rows.values():
            what = f"{name}: packet {row['number']}"
            life = by_number[row["number"]].pop(0) if len(by_number[row["number"]]) == 1 else None
            bench.expect(not row["open"], f"{what}: stages that do not end: {row['open']}")
            at = row["from"]
            for _, begins, ends in sorted(row["stages"], key=lambda stage: stage[1]):
                bench.expect_equal(begins, at, f"{what}: a stage begins")
                at = ends
            bench.expect_equal(at, row["to"], f"{what}: ends")
            bench.expect("behind" not in row or row["behind"] in rows, f"{what}: behind nobody")
            if life:
                bench.expect_equal(row["to"] - row["from"], life["cycles"], f"{what}: its time")
                bench.expect(life["rdma"] is False or life["words"] in row["labels"][1], f"{what}: {row['labels'][1]}")


def files(bench):
    """They stand in the folder for their user alone, are named, and go with the next run."""
    done = bench.rxnic("replay", e2e.SAMPLE, "--out", "run", "--timeline", "--konata")
    for file in ("timeline.json", "packets.kanata"):
        path = bench.folder / "run" / file
        bench.expect(f"run/{file}\n" in done.stdout, f"{file} is not named: {done.stdout[-300:]}")
        bench.expect_equal(path.stat().st_mode & 0o777, 0o600, f"mode of {file}")
    bench.replay(e2e.SAMPLE)
    left = sorted(path.name for path in (bench.folder / "run").iterdir())
    bench.expect_equal(left, ["report.json", "responses.pcap"], "files after the next run")
    # The trace is never written over; a picture that cannot be written costs no report.
    for file, option in (("timeline.json", "--timeline"), ("packets.kanata", "--konata"), ("events.rxev", "--events")):
        trace = bench.folder / "trace" / file
        trace.parent.mkdir(exist_ok=True)
        trace.write_bytes(e2e.SAMPLE.read_bytes())
        done = bench.rxnic("replay", trace, option, "--out", "trace")
        refused = done.returncode == 2 and "the trace itself" in done.stderr
        bench.expect(refused, f"{file}: {done.returncode} {done.stderr}")
        bench.expect(trace.read_bytes() == e2e.SAMPLE.read_bytes(), f"{file} was written over")
    (bench.folder / "run" / "timeline.json").symlink_to("/dev/full")
    done = bench.rxnic("replay", e2e.SAMPLE, "--out", "run", "--timeline", "--quiet")
    bench.expect(done.returncode == 1 and "timeline.json" in done.stderr, f"{done.returncode} {done.stderr}")
    bench.expect((bench.folder / "run" / "report.json").is_file(), "the report went with the picture")
    # A record's events go into a folder in which a capture's were.
    bench.replay(e2e.SAMPLE, "--timeline", out="rxnic-run")
    done = bench.rxnic("replay", record_of(bench), "--quiet", "--events-packets", "1-10")
    left = sorted(path.name for path in (bench.folder / "rxnic-run").iterdir())
    bench.expect("timeline.json" not in left and "events.rxev" in left, f"{left}: {done.stderr}")


CHECKS = {"timeline": timeline, "konata": konata, "files": files}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
