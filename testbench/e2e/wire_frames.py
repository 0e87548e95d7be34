# SPDX-License-Identifier: Apache-2.0
"""RoCEv2 frames over IPv4 as bytes, and pcap files of them, without a line of the model."""
import struct
import zlib

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_ONLY, READ_REQUEST = 0x06, 0x07, 0x0a, 0x0c
READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0d, 0x0e, 0x0f, 0x10
ACK, COMPARE_SWAP = 0x11, 0x13
UC_SEND_ONLY, UD_SEND_ONLY, CNP = 0x24, 0x64, 0x81
ROCE_PORT = 4791
GSI_QKEY = 0x80010000


def reth(va, rkey, length):
    return struct.pack(">QII", va, rkey, length)


def aeth(syndrome, msn):
    return struct.pack(">I", syndrome << 24 | msn & 0xffffff)


def deth(qkey, source_qp):
    return struct.pack(">II", qkey, source_qp)


def roce(source, destination, port, opcode, qp, psn, extension=b"", payload=b"", *, pkey=0xffff, ecn=0, ack=False,
         identification=0):
    """A frame from Ethernet to ICRC; `source` and `destination` are the last bytes of addresses in 10.0.0.0/24."""
    pad = -len(payload) % 4
    bth = struct.pack(">BBHII", opcode, pad << 4 | 0x40, pkey, qp, (0x80000000 if ack else 0) | psn & 0xffffff)
    inside = bth + extension + payload + bytes(pad)
    udp = struct.pack(">HHHH", port, ROCE_PORT, 8 + len(inside) + 4, 0)
    total = 20 + len(udp) + len(inside) + 4
    addresses = bytes([10, 0, 0, source, 10, 0, 0, destination])
    head = struct.pack(">BBHHHBBH", 0x45, ecn, total, identification, 0x4000, 64, 17, 0)
    checksum = sum(struct.unpack(">10H", head + addresses))
    checksum = (checksum & 0xffff) + (checksum >> 16)
    checksum = ~((checksum & 0xffff) + (checksum >> 16)) & 0xffff
    ip = head[:10] + struct.pack(">H", checksum) + addresses
    # Fields that may change on the way count as ones (IBTA annex A17).
    masked = (b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
              + udp[:6] + b"\xff\xff" + inside[:4] + b"\xff" + inside[5:])
    icrc = struct.pack("<I", zlib.crc32(masked))
    macs = bytes([2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, source])
    return macs + b"\x08\x00" + ip + udp + inside + icrc


def pause(source, priority, quanta):
    """A pause frame of a priority (IEEE 802.1Qbb)."""
    times = [quanta if p == priority else 0 for p in range(8)]
    body = struct.pack(">HH8H", 0x0101, 1 << priority, *times)
    return (b"\x01\x80\xc2\x00\x00\x01" + bytes([2, 0, 0, 0, 0, source]) + b"\x88\x08" + body).ljust(60, b"\0")


def cm(attribute, transaction, body):
    """A MAD of connection management: IBTA volume 1, 13.4.3."""
    return (struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, attribute, 0, 0) + body).ljust(256, b"\0")


def cm_request(local_id, qpn, psn, service):
    body = bytearray(232)
    struct.pack_into(">I", body, 0, local_id)
    struct.pack_into(">Q", body, 8, service)
    struct.pack_into(">I", body, 32, qpn << 8)
    struct.pack_into(">I", body, 44, psn << 8)
    body[50] = 3 << 4  # path MTU 1024
    return cm(0x10, local_id, bytes(body))


def cm_reject(remote_id, reason):
    return cm(0x12, remote_id, struct.pack(">IIBBH", 77, remote_id, 0, 0, reason))


def write_pcap(path, frames):
    """`frames`: (nanoseconds, bytes) in the order of time."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
        for ns, frame in frames:
            out.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(frame), len(frame)) + frame)
