# SPDX-License-Identifier: Apache-2.0
"""Reassembles the messages of a wire.pcap, for comparison with the payload log of a test program.

Frames are parsed by scripts/check_icrc.py and by the few lines below, not by the model.
"""
import collections
import shutil

from live import check_icrc

OURS = bytes.fromhex("027278")  # first bytes of every MAC address of the model; the last two count from 1

FIRST, MIDDLE, LAST, ONLY = range(4)
# Low five bits of a BTH opcode: (kind, operation, place in the message, bytes of headers behind BTH and DETH).
PARTS = {
    0x00: ("request", "send", FIRST, 0), 0x01: ("request", "send", MIDDLE, 0), 0x02: ("request", "send", LAST, 0),
    0x03: ("request", "send_imm", LAST, 4), 0x04: ("request", "send", ONLY, 0), 0x05: ("request", "send_imm", ONLY, 4),
    0x06: ("request", "write", FIRST, 16), 0x07: ("request", "write", MIDDLE, 0), 0x08: ("request", "write", LAST, 0),
    0x09: ("request", "write_imm", LAST, 4), 0x0A: ("request", "write", ONLY, 16),
    0x0B: ("request", "write_imm", ONLY, 20),
    0x1D: ("request", "atomic_write", ONLY, 16),
    0x0D: ("response", "", FIRST, 4), 0x0E: ("response", "", MIDDLE, 0), 0x0F: ("response", "", LAST, 4),
    0x10: ("response", "", ONLY, 4),
}
COMPARE_SWAP, FETCH_ADD = 0x13, 0x14
ACKNOWLEDGE = 0x11
TRANSPORTS = {"RC": 0, "UC": 1, "UD": 3, "XRC": 5}  # the opcode's high three bits
UD = TRANSPORTS["UD"]
RNR_NAK = 1  # of the high three bits of an AETH


def ether_types(path):
    """Counter of the frames by EtherType, without VLAN tags."""
    frames = check_icrc.records(check_icrc.contents(path))
    return collections.Counter(check_icrc.be16(frame, 12) for link, frame in frames
                               if link == check_icrc.DLT_ETHERNET)


def tcp_checksums(bench, path):
    """{"good": segments whose checksums, IPv4's too, tshark finds good, "bad": the others}; None without tshark. A
    datagram has those of two IP headers."""
    if shutil.which("tshark") is None:
        print("tshark is not installed: no check of TCP segments")
        return None
    done = bench.start("tshark", "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-r", path,
                       "-Y", "tcp", "-T", "fields", "-e", "ip.checksum.status", "-e", "tcp.checksum.status")
    bench.expect_equal(done.returncode, 0, f"tshark: {done.stderr[-1000:]}")
    found = [line.replace("\t", ",").lstrip(",").split(",") for line in done.stdout.splitlines()]
    good = sum(set(statuses) == {"1"} for statuses in found)
    return {"good": good, "bad": len(found) - good}


def without(path, frames, to):
    """Copies a capture, except packets that equal one of `frames`; returns the Counter of these."""
    left_out = collections.Counter()
    data = check_icrc.contents(path)
    with open(to, "wb") as copy:
        copy.write(data[:24])
        at = 24
        for _, frame in check_icrc.records(data):
            end = at + 16 + len(frame)
            if frame in frames:
                left_out[frame] += 1
            else:
                copy.write(data[at:end])
            at = end
    return left_out


def bth_opcodes(path):
    """Counter of the RDMA packets by (nic, qpn, opcode): their destination, and the first byte of their BTH.

    Without RNR NAKs and retransmissions.
    """
    found, seen = collections.Counter(), set()
    for _, frame in check_icrc.records(check_icrc.contents(path)):
        try:
            _, bth, _ = check_icrc.ethernet(frame)
        except check_icrc.NotRdma:
            continue
        to = (check_icrc.be16(frame, 4) - 1, int.from_bytes(frame[bth + 5:bth + 8], "big"), frame[bth])
        if frame[bth] & 31 == ACKNOWLEDGE and frame[bth + 12] >> 5 == RNR_NAK:
            continue
        packet = (*to, frame[bth + 9:bth + 12])
        if frame[bth] >> 5 != UD and packet in seen:
            continue
        seen.add(packet)
        found[to] += 1
    return found


def messages(path):
    """{(nic, qpn, kind): [message, ...]} in order, without retransmissions.

    A message: ("operation", bytes); kind "atomic": (compare, swap), compare 0 for FETCH_ADD.
    """
    found, open_messages, seen = {}, {}, set()
    for link, frame in check_icrc.records(check_icrc.contents(path)):
        if link != check_icrc.DLT_ETHERNET or frame[:3] != OURS:
            continue
        nic = check_icrc.be16(frame, 4) - 1
        _, bth, end = check_icrc.ethernet(frame)
        qpn = int.from_bytes(frame[bth + 5:bth + 8], "big")
        psn = int.from_bytes(frame[bth + 9:bth + 12], "big")
        opcode, pad = frame[bth], frame[bth + 1] >> 4 & 3
        at = bth + 12 + (8 if opcode >> 5 == UD else 0)
        if opcode & 31 in (COMPARE_SWAP, FETCH_ADD):
            kind = "atomic"
        elif opcode & 31 in PARTS:
            kind, operation, place, headers = PARTS[opcode & 31]
        else:
            continue
        # A datagram's PSN says nothing about its receiver's queue, and none is sent again.
        if opcode >> 5 != UD:
            if (nic, qpn, kind == "response", psn) in seen:
                continue
            seen.add((nic, qpn, kind == "response", psn))
        key = (nic, qpn, kind)
        if kind == "atomic":
            swap, compare = (int.from_bytes(frame[at + n:at + n + 8], "big") for n in (12, 20))
            found.setdefault(key, []).append((compare if opcode & 31 == COMPARE_SWAP else 0, swap))
            continue
        payload = frame[at + headers:end - 4 - pad]
        if place in (FIRST, ONLY):
            open_messages[key] = []
        open_messages.setdefault(key, []).append(payload)
        if place in (LAST, ONLY):
            found.setdefault(key, []).append((operation, b"".join(open_messages.pop(key))))
    return found


def logged(lines):
    """As messages() does, from a payload log (payload_log.h)."""
    found = {}
    for line in lines:
        key = (line["nic"], line["qpn"], line["kind"])
        if line["kind"] == "atomic":
            message = (line["compare"], line["swap"])
        else:
            message = (line.get("opcode", ""), bytes.fromhex(line["hex"]))
        found.setdefault(key, []).append(message)
    return found
