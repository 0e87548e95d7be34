# SPDX-License-Identifier: Apache-2.0
"""Reads the events of a run by what bridge/rxnic/events/README.md says of the file, and by nothing else."""
import ctypes
import ctypes.util
import json
import struct

import e2e

MAGIC = b"rxnic events 1\n"
DESCRIPTION, END = 254, 255


def decompressed(packed, size):
    name = ctypes.util.find_library("zstd")
    if not name:
        raise e2e.Skip("libzstd")
    library = ctypes.CDLL(name)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(max(size, 1))
    got = library.ZSTD_decompress(out, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed)))
    if got != size:
        raise ValueError(f"found {got} bytes behind zstd; expected {size}")
    return out.raw[:size]


def columns(raw, rows, count):
    """`count` columns of `rows` numbers: zigzag LEB128 of the differences, one column behind the other."""
    at, found = 0, []
    for _ in range(count):
        value, column = 0, []
        for _ in range(rows):
            shift, zigzag = 0, 0
            while True:
                byte = raw[at]
                at += 1
                zigzag |= (byte & 0x7f) << shift
                shift += 7
                if byte < 0x80:
                    break
            value = (value + (zigzag >> 1 ^ -(zigzag & 1))) % 2**64
            column.append(value)
        found.append(column)
    if at != len(raw):
        raise ValueError(f"found {len(raw) - at} bytes behind {rows} rows")
    return found


def read(path):
    """(description, {table: [{column: value}]}, end; None: there is none)."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise ValueError(f"{path}: found {data[:20]!r}; expected {MAGIC!r}")
    at, description, tables, end = len(MAGIC), None, {}, None
    while at < len(data):
        kind, rows, size, packed = struct.unpack_from("<BIII", data, at)
        at += 13
        raw = decompressed(data[at:at + packed], size)
        at += packed
        if kind == DESCRIPTION:
            description = json.loads(raw)
            tables = {table["name"]: [] for table in description["tables"]}
        elif kind == END:
            end = json.loads(raw)
        else:
            table = description["tables"][kind]
            names = [column["name"] for column in table["columns"]]
            tables[table["name"]] += [dict(zip(names, row)) for row in zip(*columns(raw, rows, len(names)))]
    return description, tables, end
