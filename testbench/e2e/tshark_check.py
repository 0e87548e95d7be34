#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""responses.pcap in the eyes of others: tshark finds no malformed packet and scripts/check_icrc.py no bad ICRC.

Of every trace each side is the receiver once.
"""
import re
import shutil
import sys

import e2e

# Dissectors that guess from the first bytes of a payload, which is anybody's data.
GUESSES = [part for protocol in ("rpcordma", "infiniband.eoib") for part in ("--disable-protocol", protocol)]
CHECK_ICRC = e2e.ROOT / "scripts" / "check_icrc.py"


def both_sides(bench, traces):
    if shutil.which("tshark") is None:
        raise e2e.Skip("tshark")
    answers = 0
    for trace in traces:
        for side in bench.sides(trace):
            what = f"{trace.name} {side}"
            report = bench.replay(trace, "--receiver", side)
            if report is None:
                continue
            sent = report["answers"]["sent"]
            answers += sent
            icrc = bench.start(sys.executable, "-B", CHECK_ICRC, "-v", "run/responses.pcap")
            counts = re.search(r": (\d+) good, (\d+) bad, (\d+) not RDMA", icrc.stdout)
            bench.expect(counts, f"{what}: check_icrc.py: {icrc.stdout}{icrc.stderr}")
            if counts:
                bench.expect_equal([int(n) for n in counts.groups()], [sent, 0, 0], f"{what}: good, bad, not RDMA")
            if sent == 0:
                continue
            shark = bench.start("tshark", *GUESSES, "-n", "-r", "run/responses.pcap", "-Y",
                                "_ws.malformed || !infiniband.bth")
            bench.expect_equal(shark.returncode, 0, f"{what}: tshark: {shark.stderr}")
            bench.expect_equal(shark.stdout, "", f"{what}: malformed, or without a BTH")
    bench.expect(answers > 10, f"only {answers} answers were looked at")


def sample(bench):
    """The project's own sample."""
    both_sides(bench, [e2e.SAMPLE])


def soft_roce(bench):
    """The shared captures of software RoCE."""
    both_sides(bench, e2e.shared_captures("soft_roce"))


def nic(bench):
    """The shared captures of hardware NICs."""
    both_sides(bench, e2e.shared_captures("nic"))


CHECKS = {"sample": sample, "soft_roce": soft_roce, "nic": nic}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
