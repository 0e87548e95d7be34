#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program, the simulator or the agent of rdma_cm is killed at a random moment, or stopped for three seconds.

Under `rxnic run` the remaining programs end by themselves or are ended, with messages that say so. SIGTERM comes after
--grace, SIGKILL after the same time again. Under `rxnic serve` and with --grace off they are not ended. Nothing is left
behind. RXNIC_SEED chooses the moments; --rounds says how often (100 for the full test).
"""
import errno
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import sys
import time

import live
import rdmacm_check
from figures import figures
from live import e2e

MARGIN = 2.0  # seconds that a busy machine may take for something that takes no time by itself
STOPPED = 3.0  # seconds
AGENT = "rxnic_cm_agent"
OPENED = re.compile(r"process (\d+) \((?!rxnic_cm_agent).*\) has opened NIC (\d)$", re.M)
# What its users say: EIO; the server is gone; librdmacm's EPERM when the REP's QP cannot be set up.
# A client may also open a channel before there is a new agent, or wait for the answer of a server that is gone.
AGENT_DIED = ("rdma_.*: (Input/output error|No such device|Connection refused|Operation not permitted)"
              "|no /dev/infiniband/rdma_cm|transport retry counter exceeded")
LET_BE = 4.0  # seconds after which a program must still run under --grace off or serve
# Traffic without an end. Some notice a peer's death by an error completion; others wait for ever. They wait for the
# receive of a UC or UD QP or of an SRQ, or for a change of their own memory (ib_write_lat). `endless...` are ours.
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
    ["endless", "-t", "tags"],
    ["endless", "-t", "xrc"],
    ["endless", "-t", "windows"],
    ["ibv_rc_pingpong", "-g", "2", "-n", "100000000", "-j"],  # device memory
    ["ibv_rc_pingpong", "-g", "2", "-n", "100000000", "-o"],  # on-demand paging
    ["endless", "-t", "raw"],
    ["endless_connects"],
]
SILENT = ["ibv_uc_pingpong", "-g", "2", "-n", "100000000"]  # never notices
# Server and client are children of a shell that waits for both. {ignore}: empty, or a trap by which all ignore SIGTERM.
PAIR = """{ignore}
{server} &
server=$!
until grep -qi ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; done
{client}
status=$?
wait $server || exit
exit $status
"""


# What a client says when its server has died, if it notices.
RETRY = "transport retry counter exceeded"
NOTICED = {"tags": RETRY, "xrc": RETRY, "windows": RETRY,
           # EPERM: librdmacm has a REP, but its server's DREQ has come before the RTU
           "endless_connects": f"{RETRY}|rdma_.*: (Connection refused|Operation not permitted|.*timed out)"}
SENDERS = {"tags", "xrc"}  # their clients have something to be acknowledged at all times: they notice


def program_of(bench, command):
    """The command with the path of a program of ours."""
    return [str(bench.options.programs / command[0]) if command[0].startswith("endless") else command[0], *command[1:]]


def files_of(fabric, command):
    """The environment of a command under `serve`."""
    return fabric.device_files() if "connects" in command[0] else {}


def endless(bench):
    """ENDLESS without what is not built."""
    return [command for command in ENDLESS if shutil.which(program_of(bench, command)[0])]


def shared_memory():
    return sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else []


def processes():
    """pid: (parent, state, name) of all processes."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            before, after = (folder / "stat").read_text(encoding="utf-8", errors="replace").rsplit(") ", 1)
        except OSError:
            continue
        found[int(folder.name)] = (int(after.split()[1]), after[0], before.split("(", 1)[1])
    return found


class Run:
    """`rxnic run` of a server and a client that exchange messages."""

    serial = 0

    def __init__(self, bench, command, *arguments, deaf=False):
        Run.serial += 1
        self.bench, self.port = bench, live.Port()
        self.folder = bench.folder / f"owned{Run.serial}"
        self.folder.mkdir()
        command = program_of(bench, command)
        server, client = (f"env {live.variables(bench)} {command[0]} -d rxnic{nic} {' '.join(command[1:])} "
                          f"-p {self.port.number}" for nic in (0, 1))
        script = PAIR.format(server=server, client=client + " 127.0.0.1", port=self.port.number,
                             ignore="trap '' TERM" if deaf else "")
        library = str(bench.options.verbs.parent)
        self.program = live.Program([bench.options.rxnic, "run", "--quiet", "--nics", "2", "--out", self.folder / "out",
                                     *arguments, "--", "sh", "-c", script], self.folder, "run",
                                    {**os.environ, "RXNIC_LIBRARY_DIR": library})
        self.supervisor = self.program.process.pid
        opened = lambda: len(self.opened()) == 2 and not self.port.is_listened_on()  # noqa: E731
        live.wait_until(lambda: self.program.ended() or opened(), f"{command[0]} at work")
        if not self.program.ended():
            self.server, self.client = (self.opened()[nic] for nic in (0, 1))
            self.simulator = next((pid for pid, (parent, _, _) in processes().items() if parent == self.supervisor), 0)
        self.members = self.descendants()

    def opened(self):
        """The process that has opened each NIC, besides the agent of rdma_cm."""
        log = self.folder / "out" / "log.txt"
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        return {int(nic): int(pid) for pid, nic in OPENED.findall(text)}

    def descendants(self):
        found, everybody = [self.supervisor], processes()
        for parent in found:
            found += [pid for pid, process in everybody.items() if process[0] == parent]
        return found

    def left(self):
        """Its processes that have not ended."""
        everybody = processes()
        return [f"{pid} ({everybody[pid][2]})" for pid in self.members if pid in everybody and everybody[pid][1] != "Z"]

    def kill(self, who):
        self.members = self.descendants()
        os.kill(who, signal.SIGKILL)
        return time.monotonic()

    def wait(self, since, limit, what):
        """Expects the end of all of its processes in time. The seconds that it took."""
        while self.left() and time.monotonic() < since + limit:
            self.program.ended()
            time.sleep(live.POLL)
        took = time.monotonic() - since
        self.bench.expect(not self.left(), f"{what}: {', '.join(self.left())} still there {took:.1f} s later: {self}")
        return took

    def close(self):
        for pid in self.members:
            if pid in processes():
                os.kill(pid, signal.SIGKILL)
        self.program.wait()
        self.port.close()

    def __str__(self):
        return self.program.story()


def rounds_of(bench, count=None, begin=0, step=1):
    """Without --rounds of every `step`th program, from `begin` on."""
    seed = int(os.environ.get("RXNIC_SEED", "1"), 0)
    print(f"RXNIC_SEED={seed}")
    chance, commands = random.Random(seed), endless(bench)
    if not bench.options.rounds:
        commands = commands[begin::step]
    for number in range(bench.options.rounds or count or len(commands)):
        command = commands[number % len(commands)]
        delay = chance.choice((0.0, 0.01, 0.05, 0.2)) * chance.random()
        yield number, command, delay, f"round {number}, {' '.join(command)} after {delay * 1000:.1f} ms"


def kill_one_of_a_run(bench, choose, expect, begin=0, step=1):
    """In each round choose(run, number) is killed; expect(run, number, took, what) checks the result."""
    live.need("ibv_rc_pingpong", "ib_send_bw")
    before, slowest, grace = shared_memory(), 0.0, bench.options.grace
    for number, command, delay, what in rounds_of(bench, None, begin, step):
        deaf = number % 5 == 4  # these ignore SIGTERM: SIGKILL has to end them
        run = Run(bench, command, "--grace", str(grace), deaf=deaf)
        try:
            time.sleep(delay)  # until the random moment of the kill
            bench.expect(not run.program.ended(), f"{what}: ended before it was killed: {run}")
            killed = run.kill(choose(run, number))
            took = run.wait(killed, (2 if deaf else 1) * grace + MARGIN, what)
            slowest = max(slowest, took)
            expect(run, number, what)
            if took > grace + MARGIN / 2 and not deaf:
                bench.expect("sent SIGTERM: process" in run.program.text(), f"{what}: says nothing of SIGTERM: {run}")
        finally:
            run.close()
    bench.expect_equal(shared_memory(), before, "/dev/shm")
    print(f"{number + 1} rounds; everything had ended after {slowest:.2f} s at most")


def program_died(bench, run, nic, what):
    code = run.program.wait()
    bench.expect(code > 0, f"{what}: status {code}: {run}")
    pid = (run.server, run.client)[nic]
    bench.expect(f"process {pid} " in run.program.text() and "has died with its device open" in run.program.text(),
                 f"{what}: does not say who has died: {run}")


def server(bench):
    """The server of a run is killed, of every second program."""
    kill_one_of_a_run(bench, lambda run, _: run.server, lambda run, _, what: program_died(bench, run, 0, what), 0, 2)


def client(bench):
    """The client of a run is killed, of the other programs."""
    kill_one_of_a_run(bench, lambda run, _: run.client, lambda run, _, what: program_died(bench, run, 1, what), 1, 2)


def simulator(bench):
    """The simulator of a run is killed, in every third round its supervisor; of every second program."""
    def choose(run, number):
        return run.supervisor if number % 3 == 2 else run.simulator

    def expect(run, number, what):
        code, text = run.program.wait(), run.program.text()
        if number % 3 == 2:
            bench.expect_equal(code, -signal.SIGKILL, f"{what}: status")
            return
        bench.expect_equal(code, 128 + signal.SIGKILL, f"{what}: status: {run}")
        bench.expect(f"the simulator (process {run.simulator}) was killed by signal 9" in text,
                     f"{what}: does not say that the simulator has died: {run}")

    kill_one_of_a_run(bench, choose, expect, 0, 2)


def off(bench):
    """--grace off: a program that waits for a dead one goes on waiting, and Ctrl-C ends it."""
    live.need("ibv_uc_pingpong")
    for who in ("server", "simulator"):
        # When the simulator is killed: a program that does not notice it, because it is stopped.
        run = Run(bench, SILENT, "--grace", "off")
        try:
            if who == "simulator":
                os.kill(run.client, signal.SIGSTOP)
            run.kill(getattr(run, who))
            time.sleep(LET_BE)
            bench.expect(any(f"{run.client} " in one for one in run.left()), f"{who}: the client has ended: {run}")
            bench.expect("is let be (--grace off)" in run.program.text(), f"{who}: says nothing: {run}")
            for _ in range(2):  # the second one kills
                run.program.signal(signal.SIGINT)
                time.sleep(0.3)
            run.wait(time.monotonic(), MARGIN, who)
        finally:
            run.close()


class Victims:
    """A server and a client that exchange messages on a fabric."""

    def __init__(self, fabric, command):
        self.port = live.Port()
        command = [*program_of(fabric.bench, command), "-p", self.port.number]
        files = files_of(fabric, command)
        self.server = fabric.start("server", command[0], "-d", "rxnic0", *command[1:], **files)
        live.wait_until(lambda: self.server.ended() or self.port.is_listened_on(), f"{command[0]} listening")
        self.client = fabric.start("client", command[0], "-d", "rxnic1", *command[1:], "127.0.0.1", **files)
        # A server accepts one client and listens no more; the connection is for the exchange of addresses, but perftest
        # keeps it.
        met = lambda: not self.port.is_listened_on() and (  # noqa: E731
            command[0].startswith("ib_") or not self.port.is_connected())
        live.wait_until(lambda: self.server.ended() or self.client.ended() or met(), "a pair at work")
        self.port.close()

    def story(self):
        return f"{self.server.story()}\n{self.client.story()}"


def next_run(bench, fabric, what):
    """A short run on the same fabric."""
    port = live.Port()
    options = ["-p", port.number, "-g", "2", "-n", "20", "-c"]
    good, _, _ = fabric.pair(["ibv_rc_pingpong", "-d", "rxnic0", *options],
                             ["ibv_rc_pingpong", "-d", "rxnic1", *options, "127.0.0.1"], port)
    bench.expect(good, f"{what}: the next run")
    port.close()


def serve(bench):
    """Under `serve` a death looks as with hardware: an RC sender has its retries exceeded, others notice nothing."""
    live.need("ibv_uc_pingpong", "ibv_rc_pingpong")
    with live.Fabric(bench, 2, record=False) as fabric:
        pairs = [Victims(fabric, SILENT), Victims(fabric, ["ibv_rc_pingpong", "-g", "2", "-n", "100000000", "-r", "2"])]
        for pair in pairs:
            pair.server.kill()
        # The server of the RC pair may have died before or after it acknowledged the last ping.
        time.sleep(LET_BE)
        uc, rc = (pair.client for pair in pairs)
        bench.expect(not uc.ended(), f"a program that waits is not ended: {uc.story()}")
        noticed = rc.ended()
        if noticed:
            bench.expect("transport retry counter exceeded" in rc.text(), f"an RC client: {rc.story()}")
        for pair in pairs:
            pair.client.kill()
        next_run(bench, fabric, "after two deaths")
        log = (fabric.folder / "out" / "log.txt").read_text(encoding="utf-8")
        bench.expect_equal(log.count("has died with its device open"), 3 if noticed else 4, f"deaths in the log: {log}")
        # A simulator that dies: a program that polls finds out.
        pair = Victims(fabric, ["ibv_rc_pingpong", "-g", "2", "-n", "100000000"])
        fabric.simulator.kill()
        for program in (pair.server, pair.client):
            bench.expect(program.wait(MARGIN) > 0 and re.search(r"rxnic: .*simulator.* is gone", program.text()),
                         f"the simulator has died: {program.story()}")
        fabric.open()
        next_run(bench, fabric, "a new simulator")


def left(bench):
    """Under `serve` any number of deaths leaves nothing in the simulator; who notices one sees what hardware shows."""
    live.need("ibv_rc_pingpong", "ib_send_bw")
    seen = []
    with live.Fabric(bench, 2, record=False) as fabric:
        def all_die(turn):
            for number, command, delay, what in rounds_of(bench):
                pair = Victims(fabric, command)
                time.sleep(delay)  # until the random moment of the kill
                both = (pair.server, pair.client)
                bench.expect(not any(program.ended() for program in both), f"{what}: ended by itself: {pair.story()}")
                victim = both[(number + turn) % 2]
                victim.kill()
                says = NOTICED.get(command[-1]) if victim is pair.server else None
                if says and command[-1] in SENDERS:
                    live.wait_until(pair.client.ended, f"{what}: the client's end")
                else:
                    time.sleep(MARGIN / 4 if says else MARGIN / 20)
                if says and pair.client.ended():
                    seen.append(command[-1])
                    bench.expect(re.search(says, pair.client.text()), f"{what}: {pair.client.story()}")
                for program in both:
                    program.kill()
            next_run(bench, fabric, "after all deaths")
            # A dead agent of whose end the simulator has not taken notice still has a descriptor there.
            live.wait_until(lambda: agent_of(fabric) is None and not dead_children(fabric),
                            "the end of the agent of rdma_cm")
            return figures(fabric)
        all_die(0)
        before = all_die(1)
        after = all_die(0)
    print(f"resident {before.memory:.1f} MB, then {after.memory:.1f} MB; {after.descriptors} descriptors; "
          f"clients that noticed: {', '.join(seen)}")
    bench.expect(SENDERS <= set(seen), f"only these clients have noticed the death of their server: {seen}")
    bench.expect_equal(after.descriptors, before.descriptors, "descriptors of the simulator")
    if not bench.options.preload:  # a sanitizer keeps what is freed
        bench.expect(after.memory < before.memory + 4, f"resident: {before.memory:.1f} MB, then {after.memory:.1f} MB")


def agent_of(fabric):
    """The process ID of the agent of rdma_cm, or None."""
    return next((pid for pid, (parent, state, name) in processes().items()
                 if name == AGENT and state != "Z" and parent == fabric.simulator.process.pid), None)


def dead_children(fabric):
    """Children of the simulator of whose end it has not taken notice."""
    return [pid for pid, (parent, state, _) in processes().items()
            if parent == fabric.simulator.process.pid and state == "Z"]


def agent(bench):
    """The agent of rdma_cm is killed: who uses it fails, the others do not notice, the next ones find a new agent."""
    live.need(str(bench.options.programs / "endless_connects"), "rping", "ibv_uc_pingpong")
    row = rdmacm_check.UTILITIES["rping"][0]
    with live.Fabric(bench, 2, record=False) as fabric:
        others = Victims(fabric, SILENT)
        for _, _, delay, what in rounds_of(bench, 5):
            pair = Victims(fabric, ["endless_connects"])
            time.sleep(delay)  # until the random moment of the kill
            os.kill(agent_of(fabric), signal.SIGKILL)
            for program, within in ((pair.server, MARGIN), (pair.client, live.PATIENCE)):
                bench.expect_equal(program.wait(within), 1, f"{what}: status: {program.story()}")
                bench.expect(re.search(AGENT_DIED, program.text()), f"{what}: {program.story()}")
            good, server, client = rdmacm_check.run_pair(fabric, row)
            bench.expect(good, f"{what}: the next programs: {server.story()}\n{client.story()}")
            live.wait_until(lambda: not dead_children(fabric), f"{what}: notice of dead agents", 10)
        bench.expect(not others.server.ended() and not others.client.ended(), f"others: {others.story()}")


def unread(bench):
    """A program has closed the pipe of its events and its socket not yet, as when it dies: the agent goes on."""
    live.need("rping")
    with live.Fabric(bench, 2, record=False) as fabric:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as agent_socket:
            agent_socket.settimeout(live.PATIENCE)
            agent_socket.connect(str(fabric.folder / "socket-cm"))

            def call(number, command, out=0):
                agent_socket.send(struct.pack("<4I", number, len(command), out, 0) + command)
                reply = agent_socket.recv(1024)
                bench.expect(len(reply) >= 8, "the agent has gone")
                return struct.unpack_from("<i", reply)[0] if reply else None, reply[8:]

            agent_socket.send(struct.pack("<iI", 2, 0xffffffff))  # Hello of bridge/cm/cm_channel.h
            _, events, _, _ = socket.recv_fds(agent_socket, 8, 1)
            os.close(events[0])
            create = struct.pack("<QQHB5x", 1, 0, 0x0106, 2)  # RDMA_PS_TCP, IBV_QPT_RC
            status, number = call(0, create, 4)
            bench.expect_equal(status, 0, "CREATE_ID")
            to_nic_1 = struct.pack("<28xH2x4B20xII", socket.AF_INET, 198, 18, 0, 2, *struct.unpack("<I", number), 100)
            bench.expect_equal(call(3, to_nic_1)[0], 0, "RESOLVE_IP")
            get_event = lambda: call(12, bytes(8), 512)[0] != errno.EAGAIN  # noqa: E731
            live.wait_until(get_event, "the address")
            bench.expect_equal(call(0, create, 4)[0], 0, "the next CREATE_ID")
        good, server, client = rdmacm_check.run_pair(fabric, rdmacm_check.UTILITIES["rping"][0])
        bench.expect(good, f"the next programs: {server.story()}\n{client.story()}")


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


CHECKS = {"server": server, "client": client, "simulator": simulator, "off": off, "serve": serve, "stop": stop,
          "left": left, "agent": agent, "unread": unread}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("RXNIC_KILL_ROUNDS", 0)), metavar="N",
                        help="default: $RXNIC_KILL_ROUNDS, or one of each program or of every second one")
    parser.add_argument("--grace", type=float, default=1.0, metavar="S", help="of the runs; default: 1")
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where endless is")
    sys.exit(e2e.run(parser, CHECKS))
