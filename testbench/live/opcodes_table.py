# SPDX-License-Identifier: Apache-2.0
"""The table of opcodes by transport, and what each cell puts on the wire.

Written from rules 4 (model/RULES.md) and from the opcodes of the BTH in volume 1 of the InfiniBand architecture
specification, not from the model. Compared with what the suite Opcodes has logged (opcodes_pair.h) and with wire.pcap.
"""
import collections
import json

import wire

# High three bits of a BTH opcode.
PREFIXES = {"RC": 0x00, "UC": 0x20, "UD": 0x60, "XRC_SEND": 0xA0}
RELIABLE = ("RC", "XRC_SEND")
UNANSWERED = [("SEND_WITH_INV", "XRC_SEND")]  # nothing there that it could invalidate: no acknowledgement (rules 6.6)
READ_RESPONSE_ONLY, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = 0x10, 0x11, 0x12
# Opcode: transports; low five bits of its packets, each of which is an ONLY; those of the response on RELIABLE.
# SEND_WITH_INV: rules 4.2. ATOMIC_WRITE, which the manual page does not have: RC.
TABLE = {
    "SEND": ("UD UC RC XRC_SEND RAW_PACKET", [0x04], ACKNOWLEDGE),
    "SEND_WITH_IMM": ("UD UC RC XRC_SEND", [0x05], ACKNOWLEDGE),
    "RDMA_WRITE": ("UC RC XRC_SEND", [0x0A], ACKNOWLEDGE),
    "RDMA_WRITE_WITH_IMM": ("UC RC XRC_SEND", [0x0B], ACKNOWLEDGE),
    "RDMA_READ": ("RC XRC_SEND", [0x0C], READ_RESPONSE_ONLY),
    "ATOMIC_CMP_AND_SWP": ("RC XRC_SEND", [0x13], ATOMIC_ACKNOWLEDGE),
    "ATOMIC_FETCH_AND_ADD": ("RC XRC_SEND", [0x14], ATOMIC_ACKNOWLEDGE),
    "LOCAL_INV": ("UC RC XRC_SEND", [], None),
    "BIND_MW": ("UC RC XRC_SEND", [], None),
    "SEND_WITH_INV": ("RC XRC_SEND", [0x17], ACKNOWLEDGE),
    "TSO": ("UD RAW_PACKET", [0x04, 0x04], None),
    "ATOMIC_WRITE": ("RC", [0x1D], READ_RESPONSE_ONLY),
}
TRANSPORTS = (*PREFIXES, "RAW_PACKET")
INTERFACES = ("ibv_post_send", "ibv_wr_*")
LEGAL = {(opcode, transport) for opcode, (transports, _, _) in TABLE.items() for transport in transports.split()}
TAKE_A_RECEIVE = ("SEND", "SEND_WITH_IMM", "SEND_WITH_INV", "RDMA_WRITE_WITH_IMM", "TSO")


def logged(path):
    with open(path, encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


def check_cells(bench, log):
    """Every cell was posted, by both interfaces, on one NIC and between two; what is legal was taken, all else not."""
    posted, taken = set(), set()
    for wr in log:
        cell = (wr["opcode"], wr["transport"], wr["interface"], wr["nics"])
        posted.add(cell)
        if wr["result"] == 0:
            taken.add(cell)
    for nics in (1, 2):
        for interface in INTERFACES:
            for transport in TRANSPORTS:
                for opcode in TABLE:
                    cell = (opcode, transport, interface, nics)
                    bench.expect(cell in posted, f"{cell}: was not posted")
                    bench.expect_equal(cell in taken, (opcode, transport) in LEGAL, f"{cell}: taken")
    bench.expect_equal(sorted({cell[:2] for cell in taken} - LEGAL), [], "taken, but not in the table")


def check_wire(bench, log, capture, rdma):
    """Compares packets to each QP by opcode, and frames of RAW_PACKET QPs by content; returns how many there are.

    `rdma`: a file that is written: the capture without these frames.
    """
    taken = [wr for wr in log if wr["result"] == 0]
    frames = collections.Counter(bytes.fromhex(frame) for wr in taken for frame in wr["frames"])
    bench.expect_equal(wire.without(capture, frames, rdma), frames, "frames of RAW_PACKET QPs")
    least, most = collections.Counter(), collections.Counter()
    for wr in taken:
        cell = (wr["opcode"], wr["transport"])
        if wr["transport"] not in PREFIXES:
            continue
        prefix, (_, packets, response) = PREFIXES[wr["transport"]], TABLE[wr["opcode"]]
        requests = collections.Counter((*wr["to"], prefix | packet) for packet in packets)
        least += requests
        most += requests
        if response is not None and wr["transport"] in RELIABLE and cell not in UNANSWERED:
            most[(*wr["from"], prefix | response)] += 1
            # Nobody waits for the response to what is not signaled: a later one may acknowledge both.
            least[(*wr["from"], prefix | response)] += wr["signaled"]
    found = wire.bth_opcodes(rdma)
    for key in sorted({*found, *most}):
        nic, qpn, opcode = key
        bench.expect(least[key] <= found[key] <= most[key], f"to QP {qpn:#x} of NIC {nic}, BTH opcode {opcode:#04x}: "
                     f"{found[key]} packets; expected {least[key]} to {most[key]}")
    return sum(found.values()), sum(frames.values())


class Taken:
    """How many WRs the device has taken."""

    def __init__(self, log):
        self.cells = collections.Counter((wr["opcode"], wr["transport"]) for wr in log if wr["result"] == 0)

    def of(self, *opcodes, on=TRANSPORTS):
        """The number of requests with these opcodes, or of all."""
        return sum(count for (opcode, transport), count in self.cells.items()
                   if opcode in (opcodes or TABLE) and transport in on)

    def packets(self, *opcodes, on=TRANSPORTS):
        """Packets that they are sent in."""
        return sum(self.of(opcode, on=on) * len(TABLE[opcode][1]) for opcode in opcodes or TABLE)
