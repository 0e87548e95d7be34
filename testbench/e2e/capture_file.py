# SPDX-License-Identifier: Apache-2.0
"""Captures read and written without the project's own code: pcap and pcapng, also compressed with gzip."""
import collections
import fractions
import gzip
import struct

Packet = collections.namedtuple("Packet", "link time captured wire options interface")
Interface = collections.namedtuple("Interface", "link snapshot options")
SECTION, DESCRIPTION, OBSOLETE, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6


def read(path):
    """All packets of a file; a time is a fraction of seconds, None: the file has none."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return list(pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else pcap(data))


def pcap(data):
    order = "<" if data[:1] in b"\xd4\x4d" else ">"
    magic, _, _, _, _, _, link = struct.unpack(order + "IHHiIII", data[:24])
    unit = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}[magic]
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, wire = struct.unpack(order + "IIII", data[at:at + 16])
        if at + 16 + kept > len(data):
            return
        yield Packet(link & 0xFFFF, seconds + fractions.Fraction(part, unit), data[at + 16:at + 16 + kept], wire, [],
                     None)
        at += 16 + kept


def options_of(data, order):
    """(code, value) of each option."""
    found, at = [], 0
    while at + 4 <= len(data):
        code, size = struct.unpack(order + "HH", data[at:at + 4])
        if code == 0:
            break
        if at + 4 + size > len(data):
            raise ValueError(f"option {code} of {size} bytes")
        found.append((code, data[at + 4:at + 4 + size]))
        at += 4 + (size + 3) // 4 * 4
    return found


def value_of(options, code, otherwise=None):
    return next((value for found, value in options if found == code), otherwise)


def pcapng(data):
    at, order, interfaces = 0, "<", []
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, size = struct.unpack(order + "II", data[at:at + 8])
        if at + size > len(data):
            return
        if size % 4 or struct.unpack(order + "I", data[at + size - 4:at + size])[0] != size:
            raise ValueError(f"byte {at}: a block of {size} bytes")
        body = data[at + 8:at + size - 4]
        at += size
        if kind == DESCRIPTION:
            link, _, snapshot = struct.unpack(order + "HHI", body[:8])
            interfaces.append(Interface(link, snapshot, options_of(body[8:], order)))
        elif kind == SIMPLE:
            wire, = struct.unpack(order + "I", body[:4])
            kept = min(wire, interfaces[0].snapshot or wire)
            yield Packet(interfaces[0].link, None, body[4:4 + kept], wire, [], interfaces[0])
        elif kind == ENHANCED:
            number, high, low, kept, wire = struct.unpack(order + "IIIII", body[:20])
            of = interfaces[number]
            resolution = value_of(of.options, 9, b"\x06")[0]
            offset, = struct.unpack(order + "q", value_of(of.options, 14, bytes(8)))
            unit = 2 ** (resolution & 127) if resolution & 128 else 10 ** resolution
            yield Packet(of.link, offset + fractions.Fraction(high << 32 | low, unit), body[20:20 + kept], wire,
                         options_of(body[20 + (kept + 3) // 4 * 4:], order), of)


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(order, kind, body):
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def section(order="<"):
    return block(order, SECTION, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order, link, options):
    """`options`: (code, value)."""
    return block(order, DESCRIPTION, struct.pack(order + "HHI", link, 0, 0)
                 + b"".join(option(order, code, value) for code, value in options) + option(order, 0, b""))


def packet(order, number, ticks, captured, wire, options=()):
    return block(order, ENHANCED, struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(captured),
                                              wire)
                 + captured + bytes(-len(captured) % 4)
                 + b"".join(option(order, code, value) for code, value in options)
                 + (option(order, 0, b"") if options else b""))


def write_pcap(path, packets):
    """The packets have one link type; times go to the nanosecond."""
    data = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, packets[0].link)
    for each in packets:
        nanoseconds = int(each.time * 10**9)
        data += struct.pack("<IIII", nanoseconds // 10**9, nanoseconds % 10**9, len(each.captured), each.wire)
        data += each.captured
    path.write_bytes(data)
