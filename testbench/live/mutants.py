# SPDX-License-Identifier: Apache-2.0
"""Captures that are wrong somewhere, made from good ones by a seed: what `rxnic replay` has to survive.

Each capture gets one to four changes, of the file (header, lengths, order, bits) or of its packets. Changed packets get
the right IPv4 checksum and ICRC again, so that they are not dropped at the door. The good ones are classic pcap files
in the byte order of this machine.
"""
import pathlib
import random
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_icrc  # noqa: E402

FILE_HEADER, RECORD_HEADER = 24, 16  # bytes
FAVOURITES = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
LENGTHS = (0, 1, 13, 59, 60, 65535, 65536, 262144, 262145, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
# What follows the file header: byte offsets in a frame of RoCEv2 over IPv4 that decide much.
ETHERTYPE, IP, UDP, BTH = 12, 14, 34, 42
READ_REQUEST, LENGTH = 0x0C, BTH + 24  # the opcode of RC, and where the 4 bytes of the length are
OPTIONS = [[], ["--pace", "line-rate"], ["--psn", "strict"], ["--config", "tiny"], ["--host", "receive=srq,depth=16"],
           ["--host", "receive=tm_srq"], ["--pace", "line-rate", "--host", "layout=cyclic,depth=1"]]


def split(capture):
    """The file header and the records, each with its header."""
    records, at = [], FILE_HEADER
    while at + RECORD_HEADER <= len(capture):
        end = at + RECORD_HEADER + struct.unpack_from("<I", capture, at + 8)[0]
        records.append(bytearray(capture[at:end]))
        at = end
    return bytearray(capture[:FILE_HEADER]), records


def seal(frame):
    """Gives a frame of RoCEv2 over IPv4 the IPv4 checksum and the ICRC that fit its other bytes."""
    try:
        if check_icrc.be16(frame, ETHERTYPE) == 0x0800:
            end = IP + 4 * (frame[IP] & 15)
            frame[IP + 10:IP + 12] = b"\0\0"
            total = sum(check_icrc.be16(frame, at) for at in range(IP, end, 2))
            total = (total & 0xFFFF) + (total >> 16)
            struct.pack_into(">H", frame, IP + 10, ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
        front, bth, end = check_icrc.ethernet(bytes(frame))
    except (IndexError, struct.error, check_icrc.NotRdma):
        return
    if bth + 16 <= end <= len(frame):
        covered = front + check_icrc.masked(bytes(frame[bth:end - 4]), {4: 0xFF})
        frame[end - 4:end] = zlib.crc32(covered).to_bytes(4, "little")


class Mutants:
    """An endless supply of wrong captures; equal captures and seed, equal mutants."""

    def __init__(self, captures, seed):
        self.captures = captures
        self.random = random.Random(seed)
        self.number = 0
        self.changes = {"packets": self.packets, "cut": self.cut, "order": self.order, "lengths": self.lengths,
                        "times": self.times, "header": self.header, "bits": self.bits, "splice": self.splice}

    def next(self):
        """(the capture, options for its replay, the changes in words)"""
        self.number += 1
        header, records = split(self.random.choice(self.captures))
        first = self.random.randrange(len(records))  # any part of it
        records = records[first:first + self.random.choice((1, 3, 30, 300, 3000))]
        # Most captures have wrong packets and nothing else: what breaks the file hides the packets behind it.
        names = ["packets"]
        if self.random.random() < 0.5:
            names = self.random.choices(list(self.changes), k=self.random.randint(1, 4))
        tail = bytearray()
        for name in names:
            self.changes[name](header, records, tail)
        return b"".join([header, *records, tail]), self.random.choice(OPTIONS), " ".join(names)

    def record(self, records):
        return self.random.choice(records) if records else bytearray()

    def overwrite(self, data, first, end):
        """1 to 8 bytes of data[first:end]."""
        if end <= first:
            return
        at = self.random.randrange(first, end)
        value = self.random.choice(FAVOURITES)
        for i in range(at, min(end, at + self.random.choice((1, 1, 2, 3, 4, 8)))):
            data[i] = value if self.random.random() < 0.5 else self.random.getrandbits(8)

    def packets(self, _, records, __):
        """Headers or payload of one packet, of some or of all."""
        chance = self.random.choice((0.0, 0.1, 1.0))
        chosen = [r for r in records if self.random.random() < chance] or [self.record(records)]
        for record in chosen:
            frame = record[RECORD_HEADER:]
            first, end = self.random.choice(((0, IP), (IP, UDP), (UDP, BTH), (BTH, BTH + 12), (BTH, BTH + 12),
                                             (BTH + 12, BTH + 28), (BTH + 12, BTH + 28), (BTH, len(frame))))
            self.overwrite(frame, first, min(end, len(frame)))
            if frame[BTH:BTH + 1] == bytes([READ_REQUEST]) and len(frame) >= LENGTH + 4:
                frame[LENGTH] = 0  # gigabytes are answered, too, but that takes minutes
                frame[LENGTH + 1] &= 15
            if self.random.random() < 0.9:
                seal(frame)
            record[RECORD_HEADER:] = frame

    def cut(self, _, records, __):
        """The end of the file."""
        if records:
            del records[self.random.randrange(len(records)) + 1:]
            del records[-1][self.random.randint(0, len(records[-1])):]

    def order(self, _, records, __):
        """Packets twice, not at all, or out of order."""
        for _ in range(self.random.randint(1, 20)):
            if records:
                record = records.pop(self.random.randrange(len(records)))
                for _ in range(self.random.choice((0, 1, 1, 2, 50))):
                    records.insert(self.random.randint(0, len(records)), bytearray(record))

    def lengths(self, _, records, __):
        """Lengths of a record that are not the packet's."""
        record = self.record(records)
        if len(record) >= RECORD_HEADER:
            struct.pack_into("<I", record, self.random.choice((8, 12)), self.random.choice(LENGTHS))

    def times(self, _, records, __):
        """Times that jump forwards and backwards."""
        for _ in range(self.random.randint(1, 10)):
            record = self.record(records)
            if len(record) >= RECORD_HEADER:
                struct.pack_into("<I", record, self.random.choice((0, 4)), self.random.getrandbits(32))

    def header(self, header, _, __):
        """Magic, version, link type."""
        self.overwrite(header, 0, FILE_HEADER)

    def bits(self, _, records, __):
        """Bits anywhere."""
        for _ in range(self.random.choice((1, 1, 8, 64))):
            record = self.record(records)
            if record:
                record[self.random.randrange(len(record))] ^= 1 << self.random.randrange(8)

    def splice(self, _, __, tail):
        """A piece of another file, from anywhere in it."""
        other = self.random.choice(self.captures)
        at = self.random.randrange(len(other))
        tail += other[at:at + self.random.choice((1, 16, 100, 5000))]
