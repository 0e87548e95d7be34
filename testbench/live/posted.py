# SPDX-License-Identifier: Apache-2.0
"""Compares the packets to each QP with what a program has posted (post_log.h). Packets are compared one by one, in
order, with their headers and their payload. The responses to what was posted are compared, too.

The packets of a WR are written from volume 1 of the InfiniBand architecture specification, not from the model.
"""
import collections
import json
import struct

from live import check_icrc
import wire

XRC = 0xA0  # high three bits of a BTH opcode; those of RC are 0
# Low five bits of the opcodes FIRST, MIDDLE, LAST, ONLY.
SPLIT = {"SEND": (0x00, 0x01, 0x02, 0x04), "SEND_WITH_IMM": (0x00, 0x01, 0x03, 0x05),
         "RDMA_WRITE": (0x06, 0x07, 0x08, 0x0A), "RDMA_WRITE_WITH_IMM": (0x06, 0x07, 0x09, 0x0B)}
READ_REQUEST = 0x0C
ATOMICS = {"ATOMIC_CMP_AND_SWP": wire.COMPARE_SWAP, "ATOMIC_FETCH_AND_ADD": wire.FETCH_ADD}
READ_RESPONSES = (0x0D, 0x0E, 0x0F, 0x10)  # FIRST, MIDDLE, LAST, ONLY
ATOMIC_ACKNOWLEDGE = 0x12
RESPONSES = (*READ_RESPONSES, wire.ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE)


def places(count):
    """The place of each of the packets of a message: 0 FIRST, 1 MIDDLE, 2 LAST, 3 ONLY."""
    return [3] if count == 1 else [0, *[1] * (count - 2), 2]


def requests_of(wr):
    """(BTH opcode, all bytes between the BTH and the padding) of each packet of a WR."""
    prefix, first = (XRC, struct.pack(">I", wr["srqn"])) if wr["xrc"] else (0, b"")
    if wr["opcode"] in ATOMICS:
        header = struct.pack(">QIQQ", wr["va"], wr["rkey"], wr["swap"], wr["compare"])
        return [(prefix | ATOMICS[wr["opcode"]], first + header)]
    reth = struct.pack(">QII", wr["va"], wr["rkey"], wr["bytes"]) if "va" in wr else b""
    if wr["opcode"] == "RDMA_READ":
        return [(prefix | READ_REQUEST, first + reth)]
    data, mtu, packets = bytes.fromhex(wr["hex"]), wr["mtu"], []
    count = max(1, -(-len(data) // mtu))
    for n, place in enumerate(places(count)):
        headers = first + (reth if n == 0 else b"")
        if "imm" in wr and n == count - 1:
            headers += struct.pack(">I", wr["imm"])
        packets.append((prefix | SPLIT[wr["opcode"]][place], headers + data[n * mtu:(n + 1) * mtu]))
    return packets


def responses_of(wr):
    """BTH opcodes of the responses to a WR."""
    prefix = XRC if wr["xrc"] else 0
    if wr["answer"] == "none":
        return []
    if wr["opcode"] == "RDMA_READ" and wr["answer"] == "good":
        return [prefix | READ_RESPONSES[place] for place in places(max(1, -(-wr["bytes"] // wr["mtu"])))]
    return [prefix | (ATOMIC_ACKNOWLEDGE if wr["opcode"] in ATOMICS else wire.ACKNOWLEDGE)]


def on_wire(path):
    """{(nic, qpn): [(BTH opcode, bytes behind the BTH), ...]}: of requests and of responses, each once, without RNR
    NAKs."""
    requests, responses, seen = collections.defaultdict(list), collections.defaultdict(list), set()
    for _, frame in check_icrc.records(check_icrc.contents(path)):
        _, bth, end = check_icrc.ethernet(frame)
        to = (check_icrc.be16(frame, 4) - 1, int.from_bytes(frame[bth + 5:bth + 8], "big"))
        opcode, pad, psn = frame[bth], frame[bth + 1] >> 4 & 3, int.from_bytes(frame[bth + 9:bth + 12], "big")
        is_response = opcode & 31 in RESPONSES
        if opcode & 31 == wire.ACKNOWLEDGE and frame[bth + 12] >> 5 == wire.RNR_NAK:
            continue
        if (*to, is_response, psn) in seen:
            continue
        seen.add((*to, is_response, psn))
        (responses if is_response else requests)[to].append((opcode, frame[bth + 12:end - 4 - pad]))
    return requests, responses


def logged(path):
    with open(path, encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


def shown(packets, n):
    """Opcode and first bytes of packet n."""
    return " ".join([f"{packets[n][0]:#04x}", *(b[:48].hex() for b in packets[n][1:])]) if n < len(packets) else "none"


def compare(bench, what, found, expected):
    """Two sequences of packets; names the first one that differs."""
    for n in range(max(len(found), len(expected))):
        if found[n:n + 1] != expected[n:n + 1]:
            bench.expect(False, f"{what}, number {n} of {len(found)}: {shown(found, n)}; expected, of {len(expected)}: "
                         f"{shown(expected, n)}")
            return


def compare_device(bench, what, requests, responses, posted, answered):
    """What a device has sent by itself: its READs in order and its SENDs in order, each of these behind its READ.
    Several may be under way at once, and one acknowledgement may be for several SENDs."""
    reads = [n for n, packet in enumerate(requests) if packet[0] == READ_REQUEST]
    others = [n for n, packet in enumerate(requests) if packet[0] != READ_REQUEST]
    compare(bench, f"{what}, READs", [requests[n] for n in reads], [p for p in posted if p[0] == READ_REQUEST])
    compare(bench, f"{what}, SENDs", [requests[n] for n in others], [p for p in posted if p[0] != READ_REQUEST])
    bench.expect(all(read < other for read, other in zip(reads, others)), f"{what}: a SEND before its READ")
    found, expected = (collections.Counter(packet[0] for packet in packets) for packets in (responses, answered))
    most = expected.pop(wire.ACKNOWLEDGE, 0)
    bench.expect(min(1, most) <= found.pop(wire.ACKNOWLEDGE, 0) <= most, f"{what}: not 1 to {most} acknowledgements")
    bench.expect_equal(found, expected, f"{what}: responses")


def check(bench, log, capture):
    """Compares; returns how many packets of requests there are, and how many of them devices sent by themselves."""
    requests, responses = on_wire(capture)
    posted, answered, peers = collections.defaultdict(list), collections.defaultdict(list), {}
    for wr in log:
        source, to = tuple(wr["from"]), tuple(wr["to"])
        posted[to] += requests_of(wr)
        answered[source] += [(opcode,) for opcode in responses_of(wr)]
        if wr["by_device"]:
            peers[to] = source
    for to, source in peers.items():
        compare_device(bench, f"to {to} by {source}", requests[to], responses[source], posted[to], answered[source])
    for key in sorted({*posted, *requests} - {*peers}):
        compare(bench, f"to {key}: requests", requests[key], posted[key])
    for key in sorted({*answered, *responses} - {*peers.values()}):
        compare(bench, f"to {key}: responses", [packet[:1] for packet in responses[key]], answered[key])
    return sum(map(len, posted.values())), sum(len(posted[to]) for to in peers)
