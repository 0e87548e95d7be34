#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic replay --annotate: the capture again, read by a reader of our own and by tshark, beside the report."""
import collections
import fractions
import gzip
import json
import pathlib
import re
import shutil
import struct
import sys

import capture_file
import diagnose_troubles
import e2e
import wire_frames
from events_check import generated, record_of

COMMENT, FLAGS, PACKET_ID, QUEUE, VERDICT = 1, 2, 5, 6, 7
ANNOTATED = "annotated.pcapng"
SECOND = 10**12  # ps


def tagged(frame):
    """With a tag of VLAN 7."""
    return frame[:12] + b"\x81\x00\x00\x07" + frame[12:]


def two_interfaces(packets):
    """pcapng: a big-endian section with a packet without a time, comments, flags, and two interfaces in us and ps. Then
    comes a little-endian one, without options, in 2^-30 s."""
    data = capture_file.section(">")
    data += capture_file.interface(">", 1, [(2, b"left"), (3, "links, für uns".encode())])
    data += capture_file.interface(">", 1, [(2, b"right"), (9, b"\x0c"), (14, struct.pack(">q", 1000))])
    half = len(packets) // 2
    data += capture_file.block(">", capture_file.SIMPLE, struct.pack(">I", len(packets[0].captured))
                               + packets[0].captured + bytes(-len(packets[0].captured) % 4))
    for number, each in enumerate(packets[1:half]):
        ticks = int((each.time + 1000) * 10**6) if number % 2 == 0 else int(each.time * SECOND) + 7 * number
        options = [(COMMENT, f"a user's, {number}".encode()), (FLAGS, struct.pack(">I", 4))] if number % 3 == 0 else []
        data += capture_file.packet(">", number % 2, ticks, each.captured, each.wire, options)
    data += capture_file.section() + capture_file.interface("<", 1, [(9, b"\x9e")])
    for each in packets[half:]:
        data += capture_file.packet("<", 0, int((each.time + 1000) * 2**30), each.captured, each.wire)
    return data


def captures(bench):
    """(name, capture, options of the replay)."""
    sample = capture_file.read(e2e.SAMPLE)
    made = bench.folder / "made"
    made.mkdir()
    yield "sample", e2e.SAMPLE, []
    for name in ("ordinary", "errors", "tags"):
        yield (name, *generated(bench, name))
    # A packet is missing: the model asks for it, the captured receiver did not. An answer has another MSN.
    without = [each for number, each in enumerate(sample, 1) if number != 4]
    msn = without[12].captured
    without[12] = without[12]._replace(captured=msn[:-5] + bytes([msn[-5] ^ 9]) + msn[-4:])
    capture_file.write_pcap(made / "without.pcap", without)
    yield "without", made / "without.pcap", ["--psn", "strict", "--icrc", "ignore"]
    (made / "sample.pcap.gz").write_bytes(gzip.compress(e2e.SAMPLE.read_bytes()))
    yield "gzip", made / "sample.pcap.gz", []
    capture_file.write_pcap(made / "vlan.pcap", [each._replace(captured=tagged(each.captured), wire=each.wire + 4)
                                                 for each in sample])
    yield "vlan", made / "vlan.pcap", []
    capture_file.write_pcap(made / "cut.pcap", [each._replace(captured=each.captured[:90]) for each in sample])
    yield "cut", made / "cut.pcap", []
    yield "filled", made / "cut.pcap", ["--truncated", "fill"]
    capture_file.write_pcap(made / "copies.pcap", [each for each in sample for _ in range(2)])
    yield "copies", made / "copies.pcap", []
    (made / "two.pcapng").write_bytes(two_interfaces(sample))
    yield "two", made / "two.pcapng", []
    (made / "ends_early.pcapng").write_bytes(two_interfaces(sample)[:-9])
    yield "ends_early", made / "ends_early.pcapng", []
    yield "other side", e2e.SAMPLE, ["--receiver", "10.0.0.1"]
    yield "some", e2e.SAMPLE, ["--events-packets", "2-9"]


def longer(bench):
    """More packets than are annotated at once."""
    trace = bench.folder / "longer.pcap"
    made = bench.start(bench.options.make_traffic, trace, "70000", "35", "spare_qps=64", "errors=5000")
    bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
    return "longer", trace, ["--psn", "strict"]


def comment_of(packet):
    """Ours, which is the last one."""
    text = [value for code, value in packet.options if code == COMMENT][-1].decode()
    if not text.startswith("rxnic: "):
        raise ValueError(text)
    return text


def kind_of(comment):
    """What the report counts it as."""
    found = re.match(r"rxnic: (dropped: \w+|accepted|not RDMA|captured answer: (?:equal|given|different|not compared)"
                     r"|left out|for another host|sent by the receiver|not kept)", comment)
    return found[1] if found else comment


def counts_of(report):
    """The kinds that kind_of() finds, as the report counts them."""
    packets = report["packets"]
    counts = {f"dropped: {reason}": count for reason, count in packets["dropped"].items() if reason != "total"}
    counts |= {"accepted": packets["accepted"], "not RDMA": packets["not_rdma"]}
    counts |= {"left out": report["sniffer"].get("copies", 0), "for another host": packets["to_others"]}
    for verdict in ("equal", "given"):
        counts[f"captured answer: {verdict}"] = report["answers"][verdict]
    return collections.Counter(counts)


def copied(bench):
    """Packet n is packet n of the capture: bytes, lengths, time, link, interface, and its own comments and flags."""
    compared, comments, names = 0, 0, set()
    for name, capture, options in captures(bench):
        bench.replay(capture, *options, "--annotate")
        before = capture_file.read(capture)
        after = capture_file.read(bench.folder / "run" / ANNOTATED)
        bench.expect_equal(len(after), len(before), f"{name}: packets")
        time = None
        for number, (one, other) in enumerate(zip(before, after), 1):
            what = f"{name}: packet {number}"
            time = other.time if one.time is None else one.time
            bench.expect(one.captured == other.captured, f"{what}: its bytes")
            bench.expect_equal((other.link, other.wire, other.time), (one.link, one.wire, time),
                               f"{what}: link, length, time")
            own = [value for code, value in one.options if code == COMMENT]
            comments_after = [value for code, value in other.options if code == COMMENT]
            bench.expect_equal(comments_after[:-1], own, f"{what}: comments")
            flags, = struct.unpack("<I", capture_file.value_of(other.options, FLAGS, bytes(4)))
            bench.expect_equal(flags & 4, 4 if own else 0, f"{what}: flags {flags:#x}")
            packet_id, = struct.unpack("<Q", capture_file.value_of(other.options, PACKET_ID))
            bench.expect_equal(packet_id, number, what)
            if one.interface and other.interface:
                for code in (2, 3, 9):
                    found, expected = (capture_file.value_of(each.interface.options, code) for each in (other, one))
                    if code != 9 or expected is not None:
                        bench.expect_equal(found, expected, f"{what}: option {code} of its interface")
                names.add(capture_file.value_of(other.interface.options, 2))
            compared += 1
            comments += len(own)
    bench.expect(compared > 7900 and comments > 5 and {b"left", b"right"} <= names, f"{compared} {comments} {names}")
    print(f"compared: {compared} packets, {comments} comments of their own")


def counts(bench):
    """Comments, verdicts, queues are as many as the report counts; the model's answers are those of responses.pcap."""
    seen = collections.Counter()
    for name, capture, options in [*captures(bench), longer(bench)]:
        report = bench.replay(capture, *options, "--annotate")
        packets = capture_file.read(bench.folder / "run" / ANNOTATED)
        comments = [comment_of(packet) for packet in packets]
        kinds = collections.Counter(kind_of(comment) for comment in comments)
        seen += kinds
        if name == "some":
            known = (kinds["accepted"], kinds["not kept"])
            bench.expect_equal(known, (6, report["packets"]["seen"] - 6), f"{name}: {kinds}")
            continue
        expected = counts_of(report)
        found = {kind: kinds[kind] for kind in expected}
        bench.expect_equal(found, dict(expected), f"{name}: packets by what became of them")
        different = sum("captured answer: different" in comment for comment in comments)
        bench.expect_equal(different, report["answers"]["different"], f"{name}: answers that differ")
        seen["uncaptured"] += sum("no captured answer: different" in comment for comment in comments)
        rest = set(kinds) - set(expected) - {"captured answer: different", "captured answer: not compared",
                                             "sent by the receiver"}
        bench.expect(not rest, f"{name}: {sorted(rest)[:3]}")
        reasons = collections.Counter()
        for packet, comment in zip(packets, comments):
            verdict = capture_file.value_of(packet.options, VERDICT)
            in_nic = re.match("rxnic: (accepted|dropped)", comment) is not None
            bench.expect_equal(verdict is not None, in_nic, f"{name}: {comment}")
            if verdict is not None:
                bench.expect_equal((len(verdict), verdict[0]), (3, 0), f"{name}: verdict")
                reasons[verdict[2]] += 1
            queue, written = capture_file.value_of(packet.options, QUEUE), re.search(r"QP (0x[0-9a-f]+) PSN", comment)
            if written:
                bench.expect_equal(struct.unpack("<I", queue)[0], int(written[1], 16), f"{name}: queue: {comment}")
        dropped = collections.Counter(report["packets"]["dropped"])
        del dropped["total"]
        del reasons[0]
        bench.expect_equal(sorted(reasons.values()), sorted(dropped.values()), f"{name}: reasons in verdicts")
        answers(bench, name, report, comments)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(seen.items())))
    rare = ("left out", "uncaptured", "captured answer: given", "captured answer: different", "sent by the receiver")
    bench.expect(all(seen[kind] for kind in rare), f"not seen: {[kind for kind in rare if not seen[kind]]}")
    bench.expect(sum(kind.startswith("dropped") for kind in seen) > 12, f"{sorted(seen)}: too few reasons")


def answers(bench, name, report, comments):
    """Frames that comments name are those of responses.pcap, with their PSN and, where they have one, MSN."""
    responses = capture_file.read(bench.folder / "run" / "responses.pcap")
    bench.expect_equal(len(responses), report["answers"]["sent"], f"{name}: responses.pcap")
    named, all_named = 0, 0
    for comment in comments:
        found = re.search(r"the model sent \w+ .*?PSN (\d+)(?: MSN (\d+))?, [^(]*\(frame (\d+)(?:, and (\d+) more)?\)",
                          comment)
        if not found:
            continue
        frame = responses[int(found[3]) - 1].captured
        headers = frame[14 + 20 + 8:] if frame[12:14] == b"\x08\x00" else frame[14 + 40 + 8:]
        if frame[12:14] in (b"\x08\x00", b"\x86\xdd"):
            bench.expect_equal(int.from_bytes(headers[9:12], "big"), int(found[1]), f"{name}: PSN: {comment}")
            if found[2]:
                bench.expect_equal(int.from_bytes(headers[13:16], "big"), int(found[2]), f"{name}: MSN: {comment}")
        named += 1
        all_named += 1 + int(found[4] or 0)
    bench.expect_equal(all_named, len(responses), f"{name}: frames that comments name")
    bench.expect(named or not responses, f"{name}: no frame is named")


def same(bench):
    """A run with --annotate is the run without: report, its state hash in it, and answers are the same bytes."""
    for name, capture, options in captures(bench):
        bench.replay(capture, *[word for word in options if not re.match("--events|2-9", word)], out="without")
        bench.replay(capture, *options, "--annotate", out="with")
        for file in ("report.json", "responses.pcap"):
            one, other = ((bench.folder / out / file).read_bytes() for out in ("without", "with"))
            bench.expect(one == other, f"{name}: {file} differs with --annotate")
        first = (bench.folder / "with" / ANNOTATED).read_bytes()
        bench.replay(capture, *options, "--annotate", "--step-order", "reverse", out="again")
        bench.expect(first == (bench.folder / "again" / ANNOTATED).read_bytes(), f"{name}: differs in another order")


def shark(bench, file, filtered, *fields):
    done = bench.start("tshark", "-n", "-r", file, "-Y", filtered, "-T", "fields",
                       *(word for field in fields or ("frame.number",) for word in ("-e", field)))
    bench.expect_equal(done.returncode, 0, f"tshark {filtered}: {done.stderr}")
    return done.stdout.splitlines()


def tshark(bench):
    """tshark reads and filters it: as many packets by reason as the report has, no other ones malformed than before."""
    if shutil.which("tshark") is None:
        raise e2e.Skip("tshark")
    filtered = set()
    for name, capture, options in captures(bench):
        if name in ("some", "gzip", "filled", "ends_early"):
            continue
        report = bench.replay(capture, *options, "--annotate")
        file = f"run/{ANNOTATED}"
        fields = ("frame.number", "frame.packet_id", "frame.verdict.hw", "_ws.malformed", "frame.comment")
        packets = [line.split("\t") for line in shark(bench, file, "frame", *fields)]
        before = [line.split("\t") for line in shark(bench, capture, "frame", "frame.number", "_ws.malformed")]
        bench.expect_equal([packet[0] for packet in packets], [packet[0] for packet in before], f"{name}: packets")
        bench.expect_equal(*([packet[0] for packet in each if packet[at]] for each, at in ((packets, 3), (before, 1))),
                           f"{name}: malformed packets")
        for kind, count in counts_of(report).items():
            begin = f"rxnic: {kind}" + (":" if kind.startswith("dropped") or kind == "accepted" else "")
            found = [packet[0] for packet in packets if begin in packet[4]]
            bench.expect_equal(len(found), count, f"{name}: {begin}")
            if found and kind not in filtered:
                bench.expect_equal(shark(bench, file, f'frame.comment contains "{begin}"'), found, f"{name}: {begin}")
                filtered.add(kind)
        seen = [packet for packet in packets if packet[2]]
        verdicts = report["packets"]["accepted"] + report["packets"]["dropped"]["total"]
        bench.expect_equal(len(seen), verdicts, f"{name}: verdicts")
        bench.expect(all(number == packet_id for number, packet_id, *_ in packets), f"{name}: packet ids")
        dropped = shark(bench, file, "frame.verdict.hw[1] != 00")
        bench.expect_equal(len(dropped), report["packets"]["dropped"]["total"], f"{name}: verdicts of drops")
        if name == "sample":
            queue = len(shark(bench, file, "frame.interface_queue == 0x21"))
            bench.expect(queue > 20, f"{queue} packets of QP 0x21")
            inbound = len(shark(bench, file, "frame.packet_flags_direction == 1"))
            bench.expect_equal(inbound, report["packets"]["seen"], "packets to the receiver")
    bench.expect(len(filtered) > 15, f"filtered by {sorted(filtered)} alone")


def findings(bench):
    """The packets that diagnose names have its words, and no others."""
    for name in ("lost_before_sniffer", "rnr", "access_error", "marked"):
        frames, _, _ = diagnose_troubles.capture(diagnose_troubles.TROUBLES[name][0], f"annotate {name}")
        wire_frames.write_pcap(bench.folder / "sick.pcap", frames)
        bench.replay("sick.pcap", "--annotate")
        found = json.loads(bench.rxnic("diagnose", "--json", "sick.pcap").stdout)["findings"]
        bench.expect(found, f"{name}: nothing found")
        comments = [comment_of(packet) for packet in capture_file.read(bench.folder / "run" / ANNOTATED)]
        for number, comment in enumerate(comments, 1):
            wanted = [f"finding: {f['cause']}: {f['words']}" for f in found if number in f["packets"]]
            bench.expect_equal(comment.count("finding: "), len(wanted), f"{name}: packet {number}")
            bench.expect(all(words in comment for words in wanted), f"{name}: packet {number}: {comment}")


def programs(bench):
    """The wire of a recorded run: a NIC has received every frame, and its comment names the frame's QP and PSN."""
    record = record_of(bench)
    report = bench.replay(record, "--annotate")
    before = capture_file.read(record / "wire.pcap")
    after = capture_file.read(bench.folder / "run" / ANNOTATED)
    bench.expect_equal([packet.captured for packet in after], [packet.captured for packet in before], "frames")
    kinds, named = collections.Counter(), 0
    for packet in after:
        comment = comment_of(packet)
        kinds["dropped" if "dropped: " in comment else "accepted" if "accepted: " in comment else comment] += 1
        found = re.search(r"QP (0x[0-9a-f]+) PSN (\d+)", comment)
        if found:
            at = 14 + (40 if packet.captured[12:14] == b"\x86\xdd" else 20) + 8
            headers = packet.captured[at:at + 12]
            there = (int.from_bytes(headers[5:8], "big"), int.from_bytes(headers[9:12], "big"))
            bench.expect_equal((int(found[1], 16), int(found[2])), there, comment)
            named += 1
    packets = report["packets"]
    bench.expect_equal((kinds["accepted"], kinds["dropped"]), (packets["accepted"], packets["dropped"]["total"]),
                       str(kinds))
    bench.expect(named > 50, f"{named} frames are named")


def files(bench):
    """It stands in the folder for its user alone, is named, goes with the next run, and is never the trace itself."""
    done = bench.rxnic("replay", e2e.SAMPLE, "--out", "run", "--annotate")
    path = bench.folder / "run" / ANNOTATED
    bench.expect(f"run/{ANNOTATED}\n" in done.stdout, f"it is not named: {done.stdout[-300:]}")
    bench.expect_equal(path.stat().st_mode & 0o777, 0o600, "mode")
    bench.expect(fractions.Fraction(path.stat().st_size, e2e.SAMPLE.stat().st_size) < 3, "it is large")
    # An annotated capture is a capture. Its comments stay, and further ones follow.
    shutil.copy(path, bench.folder / "once.pcapng")
    one = bench.replay(bench.folder / "once.pcapng", "--annotate", out="twice")
    bench.expect_equal(one["state_hash"], bench.replay(e2e.SAMPLE)["state_hash"], "state hash of an annotated capture")
    twice = capture_file.read(bench.folder / "twice" / ANNOTATED)
    comments = [[value for code, value in packet.options if code == COMMENT] for packet in twice]
    bench.expect(all(len(each) == 2 and each[0] == each[1] for each in comments), f"{comments[:2]}")
    left = sorted(file.name for file in (bench.folder / "run").iterdir())
    bench.expect_equal(left, ["report.json", "responses.pcap"], "files after the next run")
    trace = bench.folder / "trace" / ANNOTATED
    trace.parent.mkdir()
    trace.write_bytes(e2e.SAMPLE.read_bytes())
    done = bench.rxnic("replay", trace, "--annotate", "--out", "trace")
    bench.expect(done.returncode == 2 and "the trace itself" in done.stderr, f"{done.returncode} {done.stderr}")
    bench.expect(trace.read_bytes() == e2e.SAMPLE.read_bytes(), "the trace was written over")
    path.symlink_to("/dev/full")
    done = bench.rxnic("replay", e2e.SAMPLE, "--out", "run", "--annotate", "--quiet")
    bench.expect(done.returncode == 1 and ANNOTATED in done.stderr, f"{done.returncode} {done.stderr}")
    bench.expect((bench.folder / "run" / "report.json").is_file(), "the report went with it")
    done = bench.rxnic("replay", record_of(bench), "--annotate", "--set", "nic.link_gbps=200", "--out", "run")
    refused = done.returncode == 2 and "--annotate: found" in done.stderr and "; expected" in done.stderr
    bench.expect(refused, f"{done.returncode} {done.stderr}")


CHECKS = {"copied": copied, "counts": counts, "same": same, "tshark": tshark, "findings": findings,
          "programs": programs, "files": files}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
