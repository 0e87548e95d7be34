#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sweep costs besides its points, and how its throughput grows with the cores.

usage: sweep_speed.py --rxnic FILE --make-traffic FILE [--points N] [--packets N] [--jobs N,N...]

Prints time and points a second for each number of jobs, and in how much of the jobs' time a point was at work. Then
comes the processor time of everything but the points, in per cent of that of the points. The points' own time is that
of the program's processes. On a machine with other load, times say little; the two shares hold.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = """\
figures = ["rates.packets_per_s"]
[run]
source = "traffic.pcap"
pace = "line-rate"
[[axes]]
dma_engine.read_latency_ps = {{ from = "400ns", to = "1.6us", count = {latencies} }}
[[axes]]
srq_wqe_fetcher.prefetch_depth = [16, 64]
[[axes]]
seed = {{ from = 1, to = 10, step = 1 }}
"""


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(options, folder, jobs):
    """(seconds, processor seconds of all, those of the points, the points' seconds, points) of a sweep."""
    out = folder / f"jobs{jobs}"
    before, begin = processor_seconds(), time.monotonic()
    subprocess.run([sys.executable, "-B", ROOT / "scripts" / "rxnic_model", "sweep", "--quiet", "--out", out, "--jobs",
                    str(jobs), folder / "page.toml"], check=True, env={**os.environ, "RXNIC": str(options.rxnic)})
    took, used = time.monotonic() - begin, processor_seconds() - before
    records = [json.loads(line) for path in (out / "work" / "results").glob("*.jsonl")
               for line in path.read_text(encoding="utf-8").splitlines()]
    return took, used, sum(record["cpu_s"] for record in records), sum(
        record["took_s"] for record in records), len(records)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rxnic", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("--make-traffic", type=pathlib.Path, required=True, help="testbench/e2e/make_traffic, built")
    parser.add_argument("--points", type=int, default=2000, help="rounded to a multiple of 20")
    parser.add_argument("--packets", type=int, default=20000, help="of each point")
    parser.add_argument("--jobs", default="1,2", help="points at a time, one sweep for each number")
    options = parser.parse_args()
    options.rxnic = options.rxnic.resolve()
    with tempfile.TemporaryDirectory(prefix="rxnic-speed-") as name:
        folder = pathlib.Path(name)
        subprocess.run([options.make_traffic, folder / "traffic.pcap", str(options.packets), "1", "rc_qps=16"],
                       check=True, stdout=subprocess.DEVNULL)
        (folder / "page.toml").write_text(PAGE.format(latencies=max(2, options.points // 20)), encoding="utf-8")
        first = None
        for jobs in map(int, options.jobs.split(",")):
            took, used, own, busy, points = measured(options, folder, jobs)
            first = first or took
            print(f"{jobs} at a time: {points} points in {took:.1f} s, {points / took:.2f} points/s "
                  f"({first / took:.2f} times the first), at work {100 * busy / took / jobs:.0f} % of the time; "
                  f"points {own:.1f} s of processor time, besides them {used - own:.1f} s "
                  f"({100 * (used / own - 1):.1f} %)", flush=True)


if __name__ == "__main__":
    main()
