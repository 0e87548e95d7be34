#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast programs run on the model, in wall time. Prints a table; no test.

usage: testbench/live/speed.py --rxnic build/release/bridge/rxnic/rxnic \\
           --verbs build/release/bridge/verbs/libibverbs.so.1
"""
import pathlib
import re
import sys
import tempfile
import time

import live
from live import e2e

ROWS = [  # name, command, messages, bytes of payload per message, required speed
    ("send -s 64", ["ib_send_bw", "-F", "-s", "64", "-n", "200000"], 200000, 64, "200 k messages/s"),
    ("send -s 64, UD", ["ib_send_bw", "-F", "-s", "64", "-n", "200000", "-c", "UD"], 200000, 64, ""),
    ("send -s 65536", ["ib_send_bw", "-F", "-s", "65536", "-n", "5000"], 5000, 65536, "2 Gb/s"),
    ("ping-pong -s 64", ["ibv_rc_pingpong", "-g", "2", "-s", "64", "-n", "20000"], 40000, 64, "25 k round trips/s"),
    ("write -s 65536", ["ib_write_bw", "-F", "-s", "65536", "-n", "5000"], 5000, 65536, ""),
    ("read -s 65536", ["ib_read_bw", "-F", "-s", "65536", "-n", "5000"], 5000, 65536, ""),
    ("send_lat -s 32", ["ib_send_lat", "-F", "-s", "32", "-n", "10000"], 20000, 32, ""),
    ("write_lat -s 32", ["ib_write_lat", "-F", "-s", "32", "-n", "10000"], 20000, 32, "a third of send_lat"),
]
NICS = (1, 2)  # of the fabric; the programs use the first and the last
MORE_NICS = {"send -s 64": 16}  # as fast as with two


def measure(bench, nics, command, record):
    port = live.Port()
    with live.Fabric(bench, nics, record=record) as fabric:
        options = ["-p", port.number, *command[1:]]
        started = time.monotonic()
        good, _, client = fabric.pair([command[0], "-d", "rxnic0", *options],
                                      [command[0], "-d", f"rxnic{nics - 1}", *options, "127.0.0.1"], port)
        seconds = time.monotonic() - started
    port.close()
    # The time is the program's own where it prints it, without what comes before and after its messages. The pingpongs
    # print "40000 iters in 0.25 seconds". perftest prints size, iterations, MB/s (twice) and millions of messages a
    # second.
    inside = re.search(r"iters in ([\d.]+) seconds", client.text())
    rate = re.search(r"^ *\d+ +(\d+)(?: +[\d.]+){2}\s+([\d.]+)\s*$", client.text(), re.MULTILINE)
    if good and inside:
        seconds = float(inside[1])
    elif good and rate:
        seconds = int(rate[1]) / (float(rate[2]) * 1e6)
    return (seconds if good else float("nan")), fabric.report


def main():
    parser = live.parser_for(__doc__, {})
    parser.add_argument("--record", action="store_true", help="with wire.pcap and host.jsonl")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="the best of N (default: %(default)s)")
    options = parser.parse_args()
    options.rxnic = options.rxnic.resolve()
    print(f"{'':<18}{'NICs':>5}{'messages/s':>13}{'Gb/s':>8}{'round trips/s':>15}{'model time':>13}{'slowdown':>10}"
          "  asked for")
    for what, command, messages, size, wanted in ROWS:
        for nics in (*NICS, *([MORE_NICS[what]] if what in MORE_NICS else [])):
            best = (float("inf"), None)
            for _ in range(options.repeat):
                with tempfile.TemporaryDirectory(prefix="rxnic-speed-") as folder:
                    seconds, report = measure(e2e.Bench(options, pathlib.Path(folder)), nics, command, options.record)
                if seconds < best[0]:
                    best = (seconds, report)
            seconds, report = best
            if report is None:
                print(f"{what:<18}{nics:>5}  failed")
                continue
            model = report["time_ps"] * 1e-12
            trips = f"{messages / 2 / seconds:15,.0f}" if "pingpong" in command[0] or "lat" in command[0] else " " * 15
            print(f"{what:<18}{nics:>5}{messages / seconds:13,.0f}{messages * size * 8e-9 / seconds:8.2f}{trips}"
                  f"{model * 1e3:10.3f} ms{seconds / model:10,.0f}  {wanted}")


if __name__ == "__main__":
    sys.exit(main())
