#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic diagnose: planted troubles are found, with their QP, cause and packets; what is clean is left alone."""
import csv
import io
import json
import random
import sys

import diagnose_troubles as troubles
import e2e
import wire_frames as wire

SEED = 53
ROUNDS = 3  # of each trouble, with other PSNs, ports and places of the sick QP


def diagnose(bench, *arguments):
    done = bench.rxnic("diagnose", "--json", *arguments)
    bench.expect_equal(done.returncode, 0, f"diagnose {arguments}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else {"findings": []}


def planted(bench):
    """Each of the kinds of trouble, on one QP of ten: its QP, cause, weight, packets and words."""
    print("seed", SEED)
    for name, (trouble, cause, weight, words) in troubles.TROUBLES.items():
        for one in range(ROUNDS):
            frames, sick, packets = troubles.capture(trouble, f"{SEED} {name} {one}")
            trace = f"{name}_{one}.pcap"
            wire.write_pcap(bench.folder / trace, frames)
            found = diagnose(bench, trace)["findings"]
            what = f"{name}, round {one}, QP {sick.qp:#x}, packets {packets}"
            bench.expect_equal([f["qp"] for f in found if f["qp"] != sick.qp], [], f"{what}: findings of clean QPs")
            first = found[0] if found else {"cause": "nothing", "weight": "", "packets": [], "words": ""}
            of_cause = [f for f in found if f["cause"] == cause] or [first]
            bench.expect_equal(of_cause[0]["cause"], cause, f"{what}: found {[f['cause'] for f in found]}")
            bench.expect_equal(of_cause[0]["weight"], weight, f"{what}: weight")
            bench.expect(set(packets) <= set(of_cause[0]["packets"]),
                         f"{what}: {set(packets) - set(of_cause[0]['packets'])} not among {of_cause[0]['packets']}")
            bench.expect(words in of_cause[0]["words"], f"{what}: {words!r} not in {of_cause[0]['words']!r}")
            bench.expect(f"{sick.qp:#x}" in of_cause[0]["words"], f"{what}: {of_cause[0]['words']!r}")
            if cause == "congestion":
                line = diagnose(bench, trace)["congestion_timeline"]
                wanted = [(n, frames[n - 1][0] - frames[0][0], sick.qp) for n in packets]
                bench.expect_equal([(e["packet"], e["ns"], e["qp"]) for e in line], wanted, f"{what}: the time line")
            # What follows from a trouble is no trouble of its own.
            besides = {"message_without_last": {"invalid_request"}, "unreadable": {"invalid_request"},
                       "repeat_lost": {"rnr"}}.get(name, set())
            bench.expect_equal({f["cause"] for f in found} - besides, {cause}, f"{what}: causes")


def clean(bench):
    """Captures without trouble have no finding, whatever their PSNs; nor has the sample."""
    print("seed", SEED)
    for one in range(8):
        frames, _, _ = troubles.capture(troubles.clean, f"{SEED} clean {one}", connections=1 + 5 * one)
        wire.write_pcap(bench.folder / "clean.pcap", frames)
        found = diagnose(bench, "clean.pcap")
        bench.expect_equal(found["findings"], [], f"clean {one}")
        bench.expect_equal((found["directions"], found["packets"]), (1 + 5 * one, len(frames)), f"clean {one}: seen")


def paused(bench):
    """A pause is of the link: from its first frame until the one that ends it."""
    frames, _, _ = troubles.capture(troubles.clean, f"{SEED} paused")
    at = 100_000
    pauses = [(at + n * 50_000, wire.pause(troubles.FAR, 3, 0xffff)) for n in range(4)]
    pauses.append((at + 170_000, wire.pause(troubles.FAR, 3, 0)))
    frames = sorted(frames + pauses, key=lambda f: f[0])
    wire.write_pcap(bench.folder / "paused.pcap", frames)
    numbers = [n for n, frame in enumerate(frames, 1) if frame in pauses]
    found = diagnose(bench, "paused.pcap")
    bench.expect_equal([(f["qp"], f["cause"], f["packets"], f["stalled_ns"]) for f in found["findings"]],
                       [(None, "pause", numbers, 170_000)], "the pause")
    bench.expect("priority 3" in found["findings"][0]["words"], found["findings"][0]["words"])
    line = [(e["packet"], e["kind"]) for e in found["congestion_timeline"]]
    bench.expect_equal(line, [(n, "pause") for n in numbers[:4]] + [(numbers[4], "resume")], "the time line")


def several(bench):
    """Ten sick QPs with ten troubles: all are found, and those that ended a QP come first."""
    names = ["rnr", "access_error", "timeout", "lost_behind_sniffer", "lost_before_sniffer", "no_answer", "marked",
             "read_lost_before", "ack_lost_behind", "lost_by_sniffer"]
    draw, sequence, frames, sick = random.Random(SEED), iter(range(10**9)), [], {}
    for number, name in enumerate(names):
        c = troubles.Connection(number, draw.randrange(1 << 24), True, sequence)
        troubles.TROUBLES[name][0](c)
        frames += c.frames
        sick[c.qp] = troubles.TROUBLES[name][1]
    frames.sort(key=lambda f: (f[0], f[1]))
    wire.write_pcap(bench.folder / "several.pcap", [(f[0], f[2]) for f in frames])
    found = diagnose(bench, "several.pcap")["findings"]
    bench.expect_equal({f["qp"]: f["cause"] for f in found}, sick, "QPs and causes")
    order = ["fatal", "costs_time", "hint"]
    weights = [order.index(f["weight"]) for f in found]
    bench.expect_equal(weights, sorted(weights), "the order of weights")
    cost = [f["stalled_ns"] for f in found if f["weight"] == "costs_time"]
    bench.expect_equal(cost, sorted(cost, reverse=True), "the order of costs")


def two_captures(bench):
    """Packets lost and overtaken between two captures, with their numbers; the delay on the clock of both. A packet is
    lost of which a repeat, equal in all, arrives."""
    frames, _, repeated = troubles.capture(troubles.lost_behind_sniffer, f"{SEED} two")
    near_clock, delay, draw = 123_456_789, 5_000, random.Random(SEED)
    requests = [n for n, frame in enumerate(frames) if frame[1][26 + 3] == troubles.NEAR]
    lost = sorted([repeated[0] - 1, *draw.sample(requests[50:-50], 3)])
    swapped = next(n for n in requests[100:] if n not in lost)
    near, far = [], []
    for n, (ns, frame) in enumerate(frames):
        towards = frame[26 + 3] == troubles.NEAR
        near.append((near_clock + ns, frame))
        if n not in lost:
            late = 30_000 if n == swapped else 0
            far.append((ns + (delay if towards else -delay) + 10_000 + late, frame))
    far.sort(key=lambda f: f[0])
    wire.write_pcap(bench.folder / "near.pcap", near)
    wire.write_pcap(bench.folder / "far.pcap", far)
    for order in (("near.pcap", "far.pcap"), ("far.pcap", "near.pcap")):
        found = diagnose(bench, *order)
        between = [f for f in found["findings"] if f["cause"] == "lost_between_captures"]
        numbers = sorted(number for f in between for number in f["packets"])
        bench.expect_equal(numbers, [n + 1 for n in lost], f"{order}: lost between")
        bench.expect(all("near.pcap" in f["words"] for f in between), f"{between}")
        moved = [f for f in found["findings"] if f["cause"] == "overtaken_between_captures"]
        bench.expect_equal(len(moved), 1, f"{order}: overtaken")
        delays = [note for note in found["notes"] if "in the median" in note]
        bench.expect_equal(len(delays), 2, f"{order}: delays of both directions")
        for note in delays:
            bench.expect("took 5.00 us at least, 5.00 us in the median" in note, note)
            towards = "from 10.0.0.1 to 10.0.0.2" in note
            way = "from near.pcap to far.pcap" if towards else "from far.pcap to near.pcap"
            bench.expect(way in note, note)
    wire.write_pcap(bench.folder / "other.pcap", [(0, wire.roce(8, 9, 1, wire.SEND_ONLY, 5, 5))])
    found = diagnose(bench, "near.pcap", "other.pcap")
    bench.expect(any("no packet in common" in note for note in found["notes"]), found["notes"])
    bench.expect_equal([f["cause"] for f in found["findings"]], ["lost_behind_sniffer"], "nothing in common")


def mirror(bench):
    """Every packet is captured twice: a NAK of one QP makes no repeats of the copies of others."""
    print("seed", SEED)
    for delay in (100, 500, 900):
        frames, sick, planted_packets = troubles.capture(troubles.lost_behind_sniffer, f"{SEED} mirror {delay}")
        doubled = sorted(frames + [(ns + delay, frame) for ns, frame in frames], key=lambda f: f[0])
        wire.write_pcap(bench.folder / "mirror.pcap", doubled)
        found = diagnose(bench, "mirror.pcap")["findings"]
        bench.expect_equal([f["cause"] for f in found if f["qp"] is None], ["copies"], f"{delay} ns: of the capture")
        bench.expect_equal({f["qp"] for f in found} - {None}, {sick.qp}, f"{delay} ns: QPs")
        bench.expect("lost_behind_sniffer" in {f["cause"] for f in found}, f"{delay} ns: {planted_packets}")


def every_receiver(bench):
    """replay --receiver all: a run for each host that gets requests, the same as one with that host chosen."""
    frames = []
    for far in (2, 3, 4):
        for n in range(10 * far):
            at, psn = 1_000_000 * far + 10_000 * n, 100 + n
            frames.append((at, wire.roce(1, far, 50_000, wire.SEND_ONLY, 0x11, psn, payload=bytes(64))))
            frames.append((at + 2_000, wire.roce(far, 1, 50_000, wire.ACK, 0x21, psn, wire.aeth(0x1f, n + 1))))
    wire.write_pcap(bench.folder / "hosts.pcap", frames)
    done = bench.rxnic("replay", "hosts.pcap", "--receiver", "all", "--events", "--out", "all")
    bench.expect_equal(done.returncode, 0, done.stderr)
    rows = [line.split()[:3] for line in done.stdout.splitlines()[1:4]]
    bench.expect_equal(rows, [[f"10.0.0.{far}", str(10 * far), str(10 * far)] for far in (4, 3, 2)], done.stdout)
    for far in (2, 3, 4):
        bench.replay("hosts.pcap", "--receiver", f"10.0.0.{far}", out="one")
        for name in ("report.json", "responses.pcap"):
            one, of_all = (bench.folder / "one" / name), (bench.folder / "all" / f"10.0.0.{far}" / name)
            bench.expect(one.read_bytes() == of_all.read_bytes(), f"10.0.0.{far}: {name} differs")
        bench.expect((bench.folder / "all" / f"10.0.0.{far}" / "events.rxev").is_file(), "events")
    for option in (("--pair", "0x11=0x21"), ("--cqes", "cqes.csv")):
        done = bench.rxnic("replay", "hosts.pcap", "--receiver", "all", "--out", "all", *option)
        bench.expect(done.returncode == 2 and f"found all with {option[0]}" in done.stderr, done.stderr)


def damaged(bench):
    """Captures with frames that are changed, cut, repeated, left out: an answer, and each time the same."""
    print("seed", SEED)
    names = list(troubles.TROUBLES)
    for one in range(24):
        draw = random.Random(f"{SEED} damaged {one}")
        frames, _, _ = troubles.capture(troubles.TROUBLES[draw.choice(names)][0], f"{SEED} {one}", connections=3)
        for _ in range(40):
            n = draw.randrange(len(frames))
            ns, frame = frames[n]
            what = draw.randrange(4) if len(frame) > 42 else 3
            if what == 0:
                changed = bytearray(frame)
                changed[draw.randrange(42, len(frame))] = draw.randrange(256)
                frames[n] = (ns, bytes(changed))
            elif what == 1:
                frames[n] = (ns, frame[:draw.randrange(len(frame))])
            elif what == 2:
                frames.insert(draw.randrange(len(frames)), frames[n])
            else:
                del frames[n]
        wire.write_pcap(bench.folder / "damaged.pcap", frames)
        # With all ICRCs wrong the changed headers are believed.
        believed = [(ns, frame[:-4] + b"\0\0\0\0") for ns, frame in frames]
        wire.write_pcap(bench.folder / "believed.pcap", believed)
        for trace in ("damaged.pcap", "believed.pcap"):
            found = diagnose(bench, trace)
            bench.expect_equal(diagnose(bench, trace), found, f"{trace} {one}: the second time")
            bench.expect(all(0 < n <= len(frames) for f in found["findings"] for n in f["packets"]), f"{trace} {one}")


def output(bench):
    """Text of 80 columns, JSON, CSV, the list of causes, and refusals."""
    frames, sick, _ = troubles.capture(troubles.rnr, f"{SEED} output")
    wire.write_pcap(bench.folder / "rnr.pcap", frames)
    text = bench.rxnic("diagnose", "rnr.pcap")
    bench.expect(text.returncode == 0 and f"receiver not ready, QP {sick.qp:#x}" in text.stdout, text.stdout)
    bench.expect(all(len(line) <= 80 for line in text.stdout.splitlines()), text.stdout)
    bench.expect_equal(bench.rxnic("diagnose", "rnr.pcap").stdout, text.stdout, "the second time")
    rows = list(csv.DictReader(io.StringIO(bench.rxnic("diagnose", "rnr.pcap", "--format", "csv").stdout)))
    bench.expect_equal([(int(r["qp"]), r["cause"]) for r in rows], [(sick.qp, "rnr")], "CSV")
    causes = bench.rxnic("diagnose", "--causes").stdout
    for name, (_, cause, _, _) in troubles.TROUBLES.items():
        bench.expect(f"{cause} " in causes, f"{name}: {cause} is not among the causes")
    for arguments, status, words in ((("absent.pcap",), 3, "absent.pcap"), ((), 2, "capture"),
                                     (("rnr.pcap", "--most", "0"), 2, "--most")):
        done = bench.rxnic("diagnose", *arguments)
        bench.expect(done.returncode == status and words in done.stderr, f"{arguments}: {done.stderr}")


CHECKS = {"planted": planted, "clean": clean, "paused": paused, "several": several, "two_captures": two_captures,
          "mirror": mirror, "every_receiver": every_receiver, "damaged": damaged, "output": output}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
