#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the ICRC of every RDMA packet in captures, without a line of the model.

Reads classic pcap (microseconds or nanoseconds, either byte order) with Ethernet or InfiniBand frames.
Prints one line a file: packets that are good, bad, not RDMA. A packet shorter than its own lengths is bad.
Exits 0 when none is bad, 1 when one is, 2 when a file cannot be read.
"""

import argparse
import mmap
import os
import struct
import sys
import zlib

DLT_ETHERNET = 1
DLT_INFINIBAND = 247
ONES = b"\xff" * 8  # stands for the LRH where there is none, or where a router may replace it
MAGIC = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}


class NotRdma(Exception):
    """Another protocol."""


class CaptureError(Exception):
    """The file is not a capture that this program reads."""


def contents(path):
    """The bytes of a file, mapped where it has a size: a pipe has none."""
    with open(path, "rb") as file:
        sized = os.fstat(file.fileno()).st_size > 0
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if sized else file.read()


def records(data):
    """Yields (link type, frame) for every packet of a pcap file."""
    if len(data) < 24 or data[:4] not in MAGIC:
        raise CaptureError("not a classic pcap file")
    order = MAGIC[data[:4]]
    link = struct.unpack_from(order + "I", data, 20)[0] & 0x0FFFFFFF
    if link not in (DLT_ETHERNET, DLT_INFINIBAND):
        raise CaptureError(f"link type {link}; expected {DLT_ETHERNET} (Ethernet) or {DLT_INFINIBAND} (InfiniBand)")
    at = 24
    while at < len(data):
        if at + 16 > len(data):
            raise CaptureError(f"record header cut off at byte {at}")
        captured = struct.unpack_from(order + "I", data, at + 8)[0]
        at += 16
        if at + captured > len(data):
            raise CaptureError(f"packet cut off at byte {at}")
        yield link, data[at : at + captured]
        at += captured


def be16(data, at):
    return struct.unpack_from(">H", data, at)[0]


def masked(header, changes):
    """A copy of `header` with bits set: {byte: bits}."""
    copy = bytearray(header)
    for at, bits in changes.items():
        copy[at] |= bits
    return bytes(copy)


def mask_grh(header):
    """IPv6 header or GRH: traffic class, flow label and hop limit."""
    return masked(header, {0: 0x0F, 1: 0xFF, 2: 0xFF, 3: 0xFF, 7: 0xFF})


def udp_to_roce(frame, at):
    """The UDP header at `at`, with its checksum masked."""
    if be16(frame, at + 2) != 4791:
        raise NotRdma
    return masked(frame[at : at + 8], {6: 0xFF, 7: 0xFF})


def ethernet(frame):
    """Splits a frame into (masked bytes before the BTH, offset of the BTH, end of the packet)."""
    at = 12
    while be16(frame, at) in (0x8100, 0x88A8):
        at += 4
    kind = be16(frame, at)
    at += 2
    if kind == 0x8915:
        if frame[at + 6] != 0x1B:
            raise NotRdma
        return ONES + mask_grh(frame[at : at + 40]), at + 40, at + 40 + be16(frame, at + 4)
    if kind == 0x0800:
        length = (frame[at] & 15) * 4
        if frame[at + 9] != 17 or be16(frame, at + 6) & 0x3FFF:
            raise NotRdma
        header = masked(frame[at : at + length], {1: 0xFF, 8: 0xFF, 10: 0xFF, 11: 0xFF})
        udp = udp_to_roce(frame, at + length)
        return ONES + header + udp, at + length + 8, at + be16(frame, at + 2)
    if kind == 0x86DD:
        if frame[at + 6] != 17:
            raise NotRdma
        udp = udp_to_roce(frame, at + 40)
        return ONES + mask_grh(frame[at : at + 40]) + udp, at + 48, at + 40 + be16(frame, at + 4)
    raise NotRdma


def infiniband(frame):
    """What ethernet() returns, for a frame that starts with an LRH."""
    next_header = frame[1] & 3
    end = (be16(frame, 4) & 0x7FF) * 4
    if next_header == 2:
        return masked(frame[:8], {0: 0xF0}), 8, end
    if next_header == 3 and frame[14] == 0x1B:
        return ONES + mask_grh(frame[8:48]), 48, end
    raise NotRdma


def is_good(link, frame):
    """Whether the packet's ICRC is right; raises NotRdma."""
    try:
        front, bth, end = ethernet(frame) if link == DLT_ETHERNET else infiniband(frame)
    except (IndexError, struct.error):
        raise NotRdma from None  # it ends before it says what it is
    if end > len(frame) or end < bth + 16:
        return False
    covered = front + masked(frame[bth : end - 4], {4: 0xFF})
    return zlib.crc32(covered).to_bytes(4, "little") == frame[end - 4 : end]


def check(path, verbose):
    """Counts one file: {"good": n, "bad": n, "not RDMA": n}."""
    counts = {"good": 0, "bad": 0, "not RDMA": 0}
    for number, (link, frame) in enumerate(records(contents(path)), start=1):
        try:
            verdict = "good" if is_good(link, frame) else "bad"
        except NotRdma:
            verdict = "not RDMA"
        counts[verdict] += 1
        if verbose and verdict == "bad":
            print(f"{path}: packet {number}: bad ICRC", file=sys.stderr)
    return counts


def main():
    parser = argparse.ArgumentParser(
        usage="check_icrc.py [-v] CAPTURE...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captures", metavar="CAPTURE", nargs="+", help="a pcap file")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every bad packet")
    options = parser.parse_args()
    status = 0
    for path in options.captures:
        try:
            counts = check(path, options.verbose)
        except (OSError, CaptureError) as error:
            print(f"check_icrc.py: {path}: {error}", file=sys.stderr)
            status = 2
            continue
        print(f"{path}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        if counts["bad"]:
            status = max(status, 1)
    return status


if __name__ == "__main__":
    sys.exit(main())
