#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open MPI on the model: mpi_ranks.cpp (a ring and all-reduces) over UCX or libfabric, its ranks on one NIC and spread
over two.

Neither has shared memory or TCP: all messages cross the model, where the packets are counted.
"""
import os
import pathlib
import re
import signal
import sys

import live
from live import e2e
from programs_table import Use, noted_run
from ucx_check import environment

SOURCE = pathlib.Path(__file__).with_name("mpi_ranks.cpp")
# One host, no remote shell; the ranks may be more than the processors.
MPIRUN = ("mpirun", "--mca", "btl", "self", "--mca", "plm", "isolated", "--mca", "oob_tcp_if_include", "lo",
          "--oversubscribe", "--bind-to", "none")
UCX = "--mca pml ucx"
TRANSPORTS = {"rc": "rc_v", "ud": "ud_v"}  # of UCX
ROADS = {"rc": ("RC", UCX), "ud": ("UD", UCX), "ofi": ("RC", "--mca pml cm --mca mtl ofi")}
RANKS = (2, 4)
PACKET = 4096  # bytes of payload at most
KILLED = 128 + signal.SIGKILL


def use(name, ranks):
    """What the table of programs names."""
    transport, options = ROADS[name]
    return Use("mpirun", transport, f"{options} ({ranks} ranks)")


def compiled(bench):
    """The program, built by Open MPI's compiler as any other program of its users."""
    live.need("mpirun", "mpicxx")
    program = bench.folder / SOURCE.stem
    done = bench.start("mpicxx", "-std=c++20", "-O1", "-DOMPI_SKIP_MPICXX", "-o", program, SOURCE)
    bench.expect_equal(done.returncode, 0, done.stderr)
    return program


def start(fabric, name, ranks, program, *arguments):
    """mpirun with one rank after the other on the next NIC. A sanitizer's library is for the ranks alone."""
    variables, sanitizer = environment(fabric, TRANSPORTS.get(name, ""), 0), fabric.bench.options.preload
    files = f"LD_PRELOAD={variables['LD_PRELOAD']}"
    of_rank = ["env", *([f"LD_PRELOAD={sanitizer}:{variables['LD_PRELOAD']}"] if sanitizer else [])]
    as_root = ["--allow-run-as-root"] if fabric.uid is None and os.geteuid() == 0 else []
    command = ["env", files, *MPIRUN, *ROADS[name][1].split(), *as_root]
    for rank in range(ranks):
        nic = rank % fabric.nics
        where = f"UCX_NET_DEVICES=rxnic{nic}:1" if name in TRANSPORTS else f"RXNIC_NIC={nic}"
        command += ["-n", "1", *of_rank, where, program, *arguments, ":"]
    return fabric.start("mpirun", *command[:-1], **variables, HOME=str(fabric.folder), TMPDIR=str(fabric.folder))


def check_run(bench, fabric, name, ranks, program):
    """Must end well; returns the packets that the ring needs."""
    mpirun = start(fabric, name, ranks, program)
    code = mpirun.wait()
    result = re.search(rf"^{ranks} ranks, (\d+) bytes$", mpirun.text(), re.M)
    bench.expect(code == 0 and result, f"{mpirun.story()}\n{fabric.simulator.story()}")
    return int(result[1]) // PACKET if result else 0


def over(name):
    def check(bench):
        program = compiled(bench)
        wire = live.WireCheck(bench)
        needed = 0
        for _, uid, nics in live.places():
            for ranks in RANKS:
                with noted_run(bench, use(name, ranks)) as run:
                    with live.Fabric(bench, nics, uid) as run.fabric:
                        packets = check_run(bench, run.fabric, name, ranks, program)
                    check_packets(bench, run.fabric.report, packets, name)
                wire.add(run.fabric.wire)
                needed += packets
        wire.finish(at_least=needed)

    check.__doc__ = f"a ring and all-reduces over {name}: {' and '.join(map(str, RANKS))} ranks"
    return check


def check_packets(bench, report, needed, name):
    """The ring's messages were on the model, and each NIC received its share; over RC large ones by RDMA READ."""
    if report is None:
        return
    received = [nic["blocks"]["rx_parser"]["counters"]["packets"] for nic in report["nics"]]
    share = needed // len(received)
    bench.expect(min(received) >= share > 0, f"{name}: {received} packets; expected {share} on each NIC")
    reads = live.counters(report, "ack_generator")["reads"]
    bench.expect((reads > 0) == (name != "ud"), f"{name}: {reads} READs")
    # UCX frees the receive memory of a UD QP before the QP: a late datagram then flushes its receives. A rank over
    # libfabric that ends disconnects, which flushes those of its peers.
    if name == "rc":
        bench.expect_equal(report["error_cqes"], 0, f"{name}: error CQEs")


def dies(bench):
    """A rank is killed: mpirun ends the others and says so, and the next one finds the NICs as ever."""
    program = compiled(bench)
    for uid in live.uids():
        for name in TRANSPORTS:
            with live.Fabric(bench, 2, uid, record=False) as fabric:
                mpirun = start(fabric, name, max(RANKS), program, "die")
                bench.expect_equal(mpirun.wait(), KILLED, mpirun.story())
                bench.expect("exited on signal 9" in mpirun.text(), mpirun.story())
                live.wait_until(lambda: not running(program), "the end of all ranks")
                check_run(bench, fabric, name, max(RANKS), program)


def running(program):
    """Processes of this program."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(bytes(program)):
                found.append(process.name)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


CHECKS = {name: over(name) for name in ROADS} | {"dies": dies}
PROGRAMS = [use(name, ranks) for name in ROADS for ranks in RANKS]

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
