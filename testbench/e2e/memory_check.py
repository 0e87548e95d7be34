#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A long trace streams: resident memory stays below a bound whatever the length.

By hand, with an optimized build, a longer one: --packets 10000000 --folder SOMEWHERE_WITH_3_GB
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import e2e

MIB = 1 << 20


def memory(bench):
    """Replays generated traffic of --packets packets and looks at the largest resident size."""
    options = bench.options
    with tempfile.TemporaryDirectory(prefix="rxnic-memory-", dir=options.folder) as folder:
        trace = pathlib.Path(folder) / "long.pcap"
        made = bench.start(options.make_traffic, trace, options.packets)
        bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
        started = time.monotonic()
        with subprocess.Popen([options.rxnic, "replay", trace, "--quiet", "--out", folder]) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        bench.expect_equal(child.returncode, 0, "replay: exit code")
        shown = bench.rxnic("report", folder)
        bench.expect(f"{options.packets:_}".replace("_", " ") in shown.stdout, f"not all packets seen: {shown.stdout}")
        resident = usage.ru_maxrss * 1024
        print(f"{options.packets} packets, {trace.stat().st_size / MIB:.0f} MiB of trace: "
              f"{resident / MIB:.1f} MiB resident, {seconds:.1f} s")
        bench.expect(resident < options.limit * MIB, f"{resident / MIB:.1f} MiB resident; expected < {options.limit}")


CHECKS = {"memory": memory}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes the trace")
    parser.add_argument("--packets", type=int, default=1_000_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=200, metavar="MIB", help="default: %(default)s")
    parser.add_argument("--folder", metavar="DIR", help="where the trace is written (default: the system's choice)")
    sys.exit(e2e.run(parser, CHECKS))
