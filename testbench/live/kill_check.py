#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program or the simulator is killed at a random moment, or stopped for three seconds.

Whoever is left must end within 2 s with something to say, the next run must work, and nothing may be left behind.
RXNIC_SEED chooses the moments; --rounds says how often (100 for the full proof).
"""
import os
import pathlib
import random
import re
import signal
import sys
import time

import live
from live import e2e

AT_ONCE = 2.0  # seconds in which the one who is left has to end
STOPPED = 3.0  # seconds
# Traffic without an end. The first seven look for errors while they wait, polling or in events. The others cannot
# notice a peer's death with any NIC: receives on an SRQ are not flushed with a QP, a datagram's receiver knows no
# sender, ib_write_lat looks at nothing but its memory. (bridge/verbs/watcher.h R4, R5)
ENDLESS = [
    ["ibv_rc_pingpong", "-g", "2", "-n", "100000000"],
    ["ibv_rc_pingpong", "-g", "1", "-n", "100000000", "-e", "-s", "100000"],
    ["ibv_uc_pingpong", "-g", "2", "-n", "100000000"],
    ["ib_send_bw", "-F", "-n", "100000000", "-s", "1000"],
    ["ib_write_bw", "-F", "-n", "100000000", "-s", "100000"],
    ["ib_read_bw", "-F", "-n", "100000000", "-e"],
    ["ib_send_lat", "-F", "-n", "10000000"],
    ["ibv_srq_pingpong", "-g", "2", "-n", "100000000"],
    ["ibv_ud_pingpong", "-g", "2", "-n", "100000000", "-e"],
    ["ib_write_lat", "-F", "-n", "10000000"],
    ["ib_send_lat", "-F", "-n", "10000000", "-c", "UD"],
]
# Reads its peer's addresses from a TCP socket in a loop that does not look for the socket's end: killed while they are
# exchanged the other side spins in there for ever, before anything of RDMA has begun.
LOOPS = ["ibv_srq_pingpong"]


def shared_memory():
    return sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else []


class Victims:
    """A server and a client that are at work on a fabric."""

    def __init__(self, fabric, command):
        self.port = live.Port()
        command = [*command, "-p", self.port.number]
        self.server = fabric.start("server", command[0], "-d", "rxnic0", *command[1:])
        live.wait_until(lambda: self.server.ended() or self.port.is_listened_on(), f"{command[0]} listening")
        self.client = fabric.start("client", command[0], "-d", "rxnic1", *command[1:], "127.0.0.1")
        # A server accepts one client and listens no more.
        live.wait_until(lambda: self.server.ended() or self.client.ended() or not self.port.is_listened_on(),
                        "a client that is let in")
        if command[0] in LOOPS:
            live.wait_until(lambda: self.server.ended() or self.client.ended() or not self.port.is_connected(),
                            "the end of the exchange of addresses")
        self.port.close()

    def story(self):
        return f"{self.server.story()}\n{self.client.story()}"


def expect_end(bench, program, since, what):
    """It ends in time, by itself, not well, and says something. The seconds it took.

    A program that was still exchanging addresses over TCP may end by SIGPIPE, one that only spins by the drop-in's
    SIGTERM.
    """
    code = program.wait(max(0.1, since + AT_ONCE - time.monotonic()))
    took = time.monotonic() - since
    if code == -signal.SIGTERM:
        bench.expect("waits for what cannot come" in program.text(), f"{what}: SIGTERM: {program.story()}")
        return took
    bench.expect(code != -signal.SIGKILL, f"{what}: still runs {took:.1f} s later: {program.story()}")
    bench.expect(code != 0, f"{what}: ended as if nothing had happened: {program.story()}")
    bench.expect(code >= 0 or code in (-signal.SIGPIPE, -signal.SIGKILL),
                 f"{what}: killed by signal {-code}: {program.story()}")
    bench.expect(program.text().strip() != "" or code == -signal.SIGPIPE, f"{what}: said nothing")
    return took


def next_run(bench, fabric, what):
    """A short run on the same fabric."""
    port = live.Port()
    options = ["-p", port.number, "-g", "2", "-n", "20", "-c"]
    good, _, _ = fabric.pair(["ibv_rc_pingpong", "-d", "rxnic0", *options],
                             ["ibv_rc_pingpong", "-d", "rxnic1", *options, "127.0.0.1"], port)
    bench.expect(good, f"{what}: the next run")
    port.close()


def rounds_of(bench):
    seed = int(os.environ.get("RXNIC_SEED", "1"), 0)
    print(f"RXNIC_SEED={seed}")
    chance = random.Random(seed)
    for number in range(bench.options.rounds):
        command = ENDLESS[number % len(ENDLESS)]
        delay = chance.choice((0.0, 0.01, 0.05, 0.2)) * chance.random()
        yield command, delay, f"round {number}, {command[0]} after {delay * 1000:.1f} ms"


def kill_program(bench, which):
    live.need("ibv_rc_pingpong", "ib_send_bw")
    before, slowest = shared_memory(), 0.0
    with live.Fabric(bench, 2, record=False) as fabric:
        for command, delay, what in rounds_of(bench):
            victims = Victims(fabric, command)
            dead, left = ((victims.server, victims.client) if which == "server" else (victims.client, victims.server))
            time.sleep(delay)  # the moment is the point
            bench.expect(not dead.ended(), f"{what}: ended before it was killed: {victims.story()}")
            dead.kill()
            slowest = max(slowest, expect_end(bench, left, time.monotonic(), what))
            next_run(bench, fabric, what)
    bench.expect_equal(shared_memory(), before, "/dev/shm")
    print(f"{bench.options.rounds} rounds; the other side ended after {slowest:.2f} s at most")


def server(bench):
    """The server is killed."""
    kill_program(bench, "server")


def client(bench):
    """The client is killed."""
    kill_program(bench, "client")


def simulator(bench):
    """The simulator is killed; the next one takes the same socket."""
    live.need("ibv_rc_pingpong", "ib_send_bw")
    before, slowest = shared_memory(), 0.0
    name = f"@rxnic-kill-{os.getpid()}"
    for command, delay, what in rounds_of(bench):
        fabric = live.Fabric(bench, 2, record=False, address=name)
        fabric.open()
        victims = Victims(fabric, command)
        time.sleep(delay)
        fabric.simulator.kill()
        killed = time.monotonic()
        slowest = max(slowest, expect_end(bench, victims.server, killed, what),
                      expect_end(bench, victims.client, killed, what))
        said = victims.server.text() + victims.client.text()
        bench.expect(re.search(r"rxnic: .*simulator", said), f"{what}: nobody says that the simulator is gone: {said}")
        bench.expect(name not in pathlib.Path("/proc/net/unix").read_text(encoding="utf-8"), f"{what}: socket left")
        with live.Fabric(bench, 2, record=False, address=name) as again:
            next_run(bench, again, what)
    bench.expect_equal(shared_memory(), before, "/dev/shm")
    print(f"{bench.options.rounds} rounds; the programs ended after {slowest:.2f} s at most")


def stop(bench):
    """Server, client or simulator is stopped for 3 s and goes on: the run completes."""
    live.need("ibv_rc_pingpong", "ib_send_bw")
    commands = {"server": ["ibv_rc_pingpong", "-g", "2", "-n", "20000"],
                "client": ["ib_send_bw", "-F", "-n", "30000", "-s", "100"],
                "simulator": ["ibv_srq_pingpong", "-g", "2", "-n", "20000"]}
    fabrics, stopped = [], []
    try:
        for who, command in commands.items():
            fabric = live.Fabric(bench, 2, record=False)
            fabrics.append(fabric)
            fabric.open()
            victims = Victims(fabric, command)
            program = {"server": victims.server, "client": victims.client, "simulator": fabric.simulator}[who]
            program.signal(signal.SIGSTOP)
            stopped.append((who, program, victims, time.monotonic()))
        for _, program, _, since in stopped:
            time.sleep(max(0.0, since + STOPPED - time.monotonic()))
            program.signal(signal.SIGCONT)
        for who, _, victims, _ in stopped:
            codes = [victims.server.wait(), victims.client.wait()]
            bench.expect_equal(codes, [0, 0], f"{who} stopped: exit codes: {victims.story()}")
    finally:
        for fabric in fabrics:
            fabric.close()


CHECKS = {"server": server, "client": client, "simulator": simulator, "stop": stop}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("RXNIC_KILL_ROUNDS", len(ENDLESS))),
                        metavar="N", help="default: $RXNIC_KILL_ROUNDS or one of each program")
    sys.exit(e2e.run(parser, CHECKS))
