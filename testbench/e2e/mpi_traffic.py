#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a capture of what an MPI rank received: mpi_traffic.py TRACE FILE [BYTES]

TRACE: of one rank, with a line MPI_Recv:START:BUFFER:COUNT:TYPE,EXTENT,SIZE...:SOURCE:TAG:... for each receive, times
in microseconds. Each receive becomes a SEND over RC (RoCEv2) from a QP of its source, with an eager TMH whose tag is
source and tag. A NIC matches the tags: rxnic replay FILE --host receive=tm_srq,tags=64

BYTES: of every message, instead of those of the trace.
"""
import pathlib
import re
import struct
import sys
import zlib

MTU = 4096
ELEMENT = 8  # bytes of a double
EAGER = 3
FIRST, MIDDLE, LAST, ONLY = 0x00, 0x01, 0x02, 0x04
RECEIVE = re.compile(r"^MPI_Recv:(\d+)[.]\d+:\d+:(\d+):[^:]*:(\d+):(\d+):", re.M)


def receives(text):
    """[(microseconds, source, tag, bytes)]"""
    return [(int(start), int(source), int(tag), int(count) * ELEMENT)
            for start, count, source, tag in RECEIVE.findall(text)]


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def frame(opcode, source, psn, payload):
    """A RoCEv2 frame from rank `source`, with its ICRC."""
    pad = -len(payload) % 4
    bth = struct.pack("!BBHII", opcode, 0x40 | pad << 4, 0xffff, 0x100 + source,
                      psn | (opcode in (LAST, ONLY)) << 31)
    inside = bth + payload + bytes(pad)
    udp = struct.pack("!HHHH", 0xc000 + source, 4791, 8 + len(inside) + 4, 0)
    addresses = bytes([10, 0, 0, 1 + source, 10, 0, 1, 1])
    ip = struct.pack("!BBHHHBBH", 0x45, 2, 20 + len(udp) + len(inside) + 4, 0, 0x4000, 64, 17, 0) + addresses
    # What routers change counts as ones.
    masked = b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + addresses
    masked += udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + payload + bytes(pad)
    icrc = struct.pack("<I", zlib.crc32(masked))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    ethernet = bytes([2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1 + source, 8, 0])
    return ethernet + ip + udp + inside + icrc


def frames(messages):
    """(microseconds, frame)"""
    psns = {}
    for time, source, tag, size in messages:
        message = struct.pack("!B3xIII", EAGER, 0, source, tag) + bytes(size)
        parts = [message[at:at + MTU] for at in range(0, len(message), MTU)]
        for n, part in enumerate(parts):
            opcode = ONLY if len(parts) == 1 else FIRST if n == 0 else LAST if n == len(parts) - 1 else MIDDLE
            psn = psns.get(source, 0)
            psns[source] = psn + 1 & 0xffffff
            yield time, frame(opcode, source, psn, part)


def write(trace, file, size=None):
    messages = receives(pathlib.Path(trace).read_text(encoding="utf-8"))
    if size is not None:
        messages = [(time, source, tag, size) for time, source, tag, _ in messages]
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for time, data in frames(messages):
            out.write(struct.pack("<IIII", time // 1_000_000, time % 1_000_000, len(data), len(data)) + data)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    write(*sys.argv[1:3], *map(int, sys.argv[3:]))
