#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""responses.pcap in the eyes of others: tshark finds no malformed packet, scripts/check_icrc.py no bad ICRC, and
mergecap puts it into its capture.

Each side of every trace is the receiver once; merge takes the sample alone.
"""
import re
import shutil
import struct
import sys

import e2e

# Dissectors that guess from the first bytes of a payload, which is anybody's data.
GUESSES = [part for protocol in ("rpcordma", "infiniband.eoib") for part in ("--disable-protocol", protocol)]
LINUX_SLL = 113
STARTED = 1_700_000_000  # seconds since 1970
CHECK_ICRC = e2e.ROOT / "scripts" / "check_icrc.py"


def both_sides(bench, traces):
    if shutil.which("tshark") is None:
        raise e2e.Skip("tshark")
    answers = 0
    for trace in traces:
        for side in bench.sides(trace):
            what = f"{trace.name} {side}"
            report = bench.replay(trace, "--receiver", side)
            if report is None:
                continue
            sent = report["answers"]["sent"]
            answers += sent
            icrc = bench.start(sys.executable, "-B", CHECK_ICRC, "-v", "run/responses.pcap")
            counts = re.search(r": (\d+) good, (\d+) bad, (\d+) not RDMA", icrc.stdout)
            bench.expect(counts, f"{what}: check_icrc.py: {icrc.stdout}{icrc.stderr}")
            if counts:
                bench.expect_equal([int(n) for n in counts.groups()], [sent, 0, 0], f"{what}: good, bad, not RDMA")
            if sent == 0:
                continue
            shark = bench.start("tshark", *GUESSES, "-n", "-r", "run/responses.pcap", "-Y",
                                "_ws.malformed || !infiniband.bth")
            bench.expect_equal(shark.returncode, 0, f"{what}: tshark: {shark.stderr}")
            bench.expect_equal(shark.stdout, "", f"{what}: malformed, or without a BTH")
    bench.expect(answers > 10, f"only {answers} answers were looked at")


def sample(bench):
    """The project's own sample."""
    both_sides(bench, [e2e.SAMPLE])


def soft_roce(bench):
    """The shared captures of software RoCE."""
    both_sides(bench, e2e.shared_captures("soft_roce"))


def nic(bench):
    """The shared captures of hardware NICs."""
    both_sides(bench, e2e.shared_captures("nic"))


def cooked(capture):
    """The capture (nanoseconds, Ethernet) as `tcpdump -i any` writes it, on 2023-11-14."""
    out = capture[:20] + struct.pack("<I", LINUX_SLL)
    at = 24
    while at < len(capture):
        seconds, nanoseconds, kept, wire = struct.unpack_from("<IIII", capture, at)
        frame = capture[at + 16:at + 16 + kept]
        record = struct.pack(">HHH6sxx", 0, 1, 6, frame[6:12]) + frame[12:]
        out += struct.pack("<IIII", seconds + STARTED, nanoseconds, kept + 2, wire + 2) + record
        at += 16 + kept
    return out


def packets(bench, capture, wanted="infiniband.bth"):
    """Time in ns, source, PSN and whether it has an AETH, as tshark sees them, in the order of the file."""
    fields = ("frame.time_epoch", "ip.src", "infiniband.bth.psn", "infiniband.aeth.syndrome")
    shark = bench.start("tshark", *GUESSES, "-n", "-r", capture, "-Y", wanted, "-T", "fields",
                        *(part for field in fields for part in ("-e", field)))
    bench.expect_equal(shark.returncode, 0, f"tshark: {shark.stderr}")
    rows = [line.split("\t") for line in shark.stdout.splitlines()]
    return [(int(time.replace(".", "")), source, int(psn), syndrome != "") for time, source, psn, syndrome in rows]


def merge(bench):
    """mergecap puts the model's answers among the packets of the capture, whatever its link type; rxnic reads that."""
    for tool in ("tshark", "mergecap"):
        if shutil.which(tool) is None:
            raise e2e.Skip(tool)
    (bench.folder / "cooked.pcap").write_bytes(cooked(e2e.SAMPLE.read_bytes()))
    for trace, started in ((e2e.SAMPLE, 0), (bench.folder / "cooked.pcap", STARTED)):
        for pace in ("captured", "line-rate"):
            report = bench.replay(trace, "--receiver", "10.0.0.2", "--pace", pace)
            capture = packets(bench, trace)
            answers = packets(bench, "run/responses.pcap")
            bench.expect_equal(len(answers), report["answers"]["sent"], f"{trace.name}: answers")
            bench.expect(answers[0][0] > started * 10**9, f"{trace.name}, {pace}: an answer before the capture begins")
            if pace != "captured":
                continue
            done = bench.start("mergecap", "-w", "merged.pcapng", trace, "run/responses.pcap")
            bench.expect_equal(done.returncode, 0, f"{trace.name}: mergecap: {done.stderr}")
            merged = packets(bench, "merged.pcapng")
            bench.expect_equal(sorted(merged), sorted(capture + answers), f"{trace.name}: packets of both")
            bench.expect(merged == sorted(merged, key=lambda packet: packet[0]), f"{trace.name}: not in order of time")
            # The model's answer and the captured one to the same request: both come after it.
            asked = {}
            for time, source, psn, _ in capture:
                if source == "10.0.0.1":
                    asked.setdefault(psn, time)
            for time, _, psn, is_ack in answers:
                if is_ack and psn in asked:
                    bench.expect(asked[psn] < time < asked[psn] + 1_000_000, f"{trace.name}: PSN {psn} at {time}")
            again = bench.replay("merged.pcapng", "--receiver", "10.0.0.2", out="again")
            frames = report["packets"]["captured"] + len(answers)
            bench.expect_equal(again["packets"]["captured"], frames, f"{trace.name}: merged frames")
            bench.expect_equal(again["warnings"], [], f"{trace.name}: warnings")


CHECKS = {"sample": sample, "soft_roce": soft_roce, "nic": nic, "merge": merge}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
