#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that takes more than its share (abuse.cpp): the others go on, and a signal ends the simulator at once."""
import errno
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import sys
import time

import fuse_file
import live
from live import e2e

SOON = 2.0  # seconds within which a signal ends the simulator
MEMORY = 600  # MB that the simulator may have
SHADOW = 4  # times as much with a sanitizer, which has memory of its own for each byte, and keeps freed memory
SLOWER = 4  # times, with a sanitizer


def slower(bench):
    return SLOWER if bench.options.preload else 1


def start(bench, fabric, *arguments):
    return fabric.start("abuse", bench.options.programs / "abuse", *arguments)


def said(bench, program, text):
    live.wait_until(lambda: text in program.text() or program.ended(), f"abuse saying '{text}'")
    bench.expect(text in program.text(), program.story())


def next_program(bench, fabric):
    """Another program opens a NIC and makes a CQ."""
    text = fabric.run(bench.options.programs / "abuse", "verbs")
    bench.expect("made a CQ" in text, text[-2000:])


def ends_soon(bench, fabric, number=signal.SIGTERM):
    begin = time.monotonic()
    fabric.simulator.signal(number)
    code = fabric.simulator.wait(30)
    took = time.monotonic() - begin
    bench.expect_equal(code, 0, f"exit code: {fabric.simulator.story()}")
    bench.expect(took < SOON * slower(bench), f"{signal.Signals(number).name} took {took:.1f} s")
    print(f"{signal.Signals(number).name}: {took:.2f} s")


def peak_memory(fabric):
    """In MB."""
    status = pathlib.Path(f"/proc/{fabric.simulator.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


def processor_time(pid):
    """Processor time of a process, in seconds."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    fields = stat.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def doorbells(bench):
    """Every doorbell of 8,192 QPs, without a pause: bounded memory, and the end of the program is soon over."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "doorbells")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        begin = time.monotonic()
        next_program(bench, fabric)
        most, peak = MEMORY * (SHADOW if bench.options.preload else 1), peak_memory(fabric)
        print(f"the next program took {time.monotonic() - begin:.1f} s; {peak} MB")
        bench.expect(peak < most, f"{peak} MB; expected less than {most}")
    for number in (signal.SIGINT, signal.SIGTERM):
        fabric = live.Fabric(bench, 2, record=False)
        fabric.open()
        attacker = start(bench, fabric, "doorbells", "8192", "hold")
        said(bench, attacker, "8192 QPs")
        time.sleep(1)
        ends_soon(bench, fabric, number)
        attacker.kill()


def opens(bench):
    """More opens than there are identifiers, refused and granted ones; more names than the report lists."""
    with live.Fabric(bench, 2, record=False) as fabric:
        for way, count in (("opens", 17000), ("reopens", 17000), ("names", 400)):
            attacker = start(bench, fabric, way, count)
            bench.expect_equal(attacker.wait(), 0, attacker.story())
            next_program(bench, fabric)
    programs = fabric.report["programs"] if fabric.report else []
    others = sum(program["clients"] for program in programs if program["name"] == "(others)")
    bench.expect(256 < len(programs) <= 258 and others > 100, f"{len(programs)} programs, {others} others")


def descriptors(bench):
    """Descriptors that make their owner wait, or keep it awake."""
    with live.Fabric(bench, 2, record=False) as fabric:
        lingers = start(bench, fabric, "linger")
        bench.expect_equal(lingers.wait(), 0, lingers.story())
        print(lingers.text().strip())
        awake = start(bench, fabric, "semaphore")
        said(bench, awake, "opened")
        before = processor_time(fabric.simulator.process.pid)
        awake.wait()
        took = processor_time(fabric.simulator.process.pid) - before
        print(f"beside an eventfd that stays readable: {took:.2f} s of CPU time in 3 s")
        bench.expect(took < 0.5, f"{took:.2f} s of CPU time in 3 s")


def below(pid):
    """Process numbers of the children of a process, their children, and so on."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            found += [int(child), *below(child)]
    return found


def state_of(pid):
    """As /proc/PID/stat has it; Z when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def fuse(bench):
    """Descriptors of a file whose close never ends, of 40 programs: the others go on, and a signal ends it at once."""
    try:
        file = fuse_file.EndlessFile()
    except fuse_file.NotPermitted as why:
        raise e2e.Skip(str(why)) from why

    fabrics = []
    with file:
        for number, programs in ((signal.SIGTERM, 2), (signal.SIGKILL, 40)):
            fabric = live.Fabric(bench, 2, record=False)
            fabrics.append(fabric)
            fabric.open()
            attackers = [start(bench, fabric, "passes", file.path) for _ in range(programs)]
            for attacker in attackers:
                said(bench, attacker, "passed ")
                bench.expect("passed 8 descriptors" in attacker.text(), attacker.story())
            print(fabric.run(bench.options.programs / "abuse", "pings").strip())
            next_program(bench, fabric)
            simulator = fabric.simulator.process.pid
            # Besides the doorkeeper and its child that waits for the next packet: each of them is closing.
            stuck = [pid for pid in below(simulator) if state_of(pid) != "Z"]
            bench.expect_equal(len(stuck) - 2, 8 * programs, "closes that do not end")
            threads = [f"{simulator}/task/{task.name}" for task in pathlib.Path(f"/proc/{simulator}/task").iterdir()]
            live.wait_until(lambda: all(state_of(thread) != "D" for thread in threads), "no thread waiting",
                            5)
            if number == signal.SIGTERM:
                ends_soon(bench, fabric)
                continue
            begin = time.monotonic()
            fabric.simulator.signal(number)
            bench.expect_equal(fabric.simulator.process.wait(30), -number, "exit code")
            took = time.monotonic() - begin
            bench.expect(took < SOON * slower(bench), f"SIGKILL took {took:.1f} s")
            print(f"SIGKILL: {took:.3f} s")
        # The doorkeeper and its child end when they see that the simulator has.
        live.wait_until(lambda: sum(state_of(pid) != "Z" for pid in stuck) <= 8 * programs, "the doorkeeper ends", 5)
        left = sum(state_of(pid) != "Z" for pid in stuck)
        bench.expect_equal(left, 8 * programs, "closes that SIGKILL does not end")
    live.wait_until(lambda: all(state_of(pid) == "Z" for pid in stuck), "the ends of all closes", 20)
    for fabric in fabrics:
        for program in fabric.programs:
            if not program.ended():
                program.kill()


class ManagerFile:
    """An open rdma_cm, as the agent sees one (bridge/cm/cm_channel.h): commands without librdmacm."""

    CREATE_ID, RESOLVE_IP, MIGRATE_ID, ANY_NIC, VERSION = 0, 3, 18, 0xffffffff, 2
    RDMA_PS_TCP = 0x0106

    def __init__(self, fabric, greets=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(live.PATIENCE)
        self.socket.connect(fabric.socket + "-cm")
        self.pipe = None
        if greets:
            self.socket.send(struct.pack("=II", self.VERSION, self.ANY_NIC))
            _, (self.pipe, *_), _, _ = socket.recv_fds(self.socket, 64, 4)

    def send(self, number, body, *descriptors):
        socket.send_fds(self.socket, [struct.pack("=IIII", number, len(body), 1024, 0) + body], descriptors)

    def answer(self):
        """Its status and bytes; None: the connection has ended."""
        try:
            reply = self.socket.recv(4096)
        except ConnectionResetError:
            return None
        return (struct.unpack_from("=i", reply)[0], reply[8:]) if reply else None

    def create_id(self):
        self.send(self.CREATE_ID, struct.pack("=QQHBxxxxx", 1, 0, self.RDMA_PS_TCP, 0))
        status, body = self.answer()
        assert status == 0, f"CREATE_ID: {status}"
        return struct.unpack("=I", body)[0]

    def resolve(self, number):
        """Asks for the address of NIC 0, which an event tells. Its status."""
        to = struct.pack("=28xH2x4B20xII", socket.AF_INET, 198, 18, 0, 1, number, 100)
        self.send(self.RESOLVE_IP, to)
        return self.answer()[0]

    def migrate(self, number, file, *descriptors):
        """The status."""
        self.send(self.MIGRATE_ID, struct.pack("=QII", 0, number, file), *descriptors)
        return self.answer()[0]

    def close(self):
        self.socket.close()
        if self.pipe is not None:
            os.close(self.pipe)


def lingering_socket(seconds):
    """A socket whose last close waits for so long, and its peer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        peer, _ = listener.accept()
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, seconds))
    return sender, peer


def agent_of(fabric):
    """The process number of its agent, which has been started."""
    tasks = pathlib.Path(f"/proc/{fabric.simulator.process.pid}/task")
    pids = [pid for task in tasks.iterdir() for pid in (task / "children").read_text(encoding="ascii").split()]
    return int(next(pid for pid in pids if "cm_agent" in pathlib.Path(f"/proc/{pid}/comm").read_text("ascii")))


def manager(bench):
    """The agent of rdma_cm: sockets that linger, IDs of others, no descriptor left, silence."""
    with live.Fabric(bench, 1, record=False) as fabric:
        good, other = ManagerFile(fabric), ManagerFile(fabric)
        agent = agent_of(fabric)
        begin = time.monotonic()
        for _ in range(3):  # in a command, and in packets that are not read any more
            bad = ManagerFile(fabric)
            kept = [lingering_socket(20) for _ in range(2)]
            os.kill(agent, signal.SIGSTOP)  # the first ends the connection: the second is there by then
            for sender, _ in kept:
                bad.send(bad.CREATE_ID, bytes(24), sender.fileno())
                sender.close()
            os.kill(agent, signal.SIGCONT)
            bench.expect_equal(bad.answer(), None, "a command with a descriptor that it has no use for")
            bad.close()
            good.create_id()
        took = time.monotonic() - begin
        print(f"another file waited {took:.2f} s beside sockets that linger for 20 s each")
        bench.expect(took < 10, f"another file waited {took:.1f} s")

        number = good.create_id()
        for file in range(20):
            bench.expect_equal(other.migrate(number, file), errno.EINVAL, f"an ID of file {file}, by its number")
            bench.expect_equal(other.migrate(number, file, other.pipe), errno.EINVAL, "an ID of another file")
        bench.expect_equal(other.migrate(number, 0, good.pipe), 0, "an ID by the descriptor of its file")
        bench.expect_equal(good.migrate(number, 0, good.pipe), errno.EINVAL, "an ID that has gone")

        most = max(int(fd.name) for fd in pathlib.Path(f"/proc/{agent}/fd").iterdir()) + 1
        resource.prlimit(agent, resource.RLIMIT_NOFILE, (most, most))
        silent = [ManagerFile(fabric, greets=False) for _ in range(30)]
        before = processor_time(agent)
        time.sleep(1)
        used = processor_time(agent) - before
        print(f"without a descriptor left the agent takes {used:.2f} s of CPU time in 1 s")
        bench.expect(used < 0.3, f"the agent spins: {used:.2f} s in 1 s")
        bench.expect_equal(silent[-1].answer(), None, "who cannot be accepted is turned away")
        good.create_id()


def userfault(bench):
    """Pages that a program does not supply: it is killed or its request fails, and the others go on."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "userfault")
        begin = time.monotonic()
        code = attacker.wait(20)
        if code == 77:
            raise e2e.Skip("no userfaultfd for this user")
        print(f"over after {time.monotonic() - begin:.1f} s")
        if code == 0:  # the kernel did not wait for the page
            bench.expect("local protection error" in attacker.text(), attacker.story())
        else:
            bench.expect(code == -signal.SIGKILL and "still running" not in attacker.text(), attacker.story())
            live.wait_until(lambda: "killed process" in fabric.simulator.text(), "the simulator saying so")
        next_program(bench, fabric)
    fabric = live.Fabric(bench, 2, record=False)
    fabric.open()
    attacker = start(bench, fabric, "userfault")
    said(bench, attacker, "sends")
    ends_soon(bench, fabric)
    attacker.kill()


def pages(bench):
    """Pages of a file system that another process serves and that never answers: it is aborted, the others go on."""
    try:
        fuse_file.mount_control()
        file = fuse_file.EndlessFile(unanswered=(fuse_file.READ,))
    except fuse_file.NotPermitted as why:
        raise e2e.Skip(str(why)) from why
    with file, live.Fabric(bench, 2, record=False) as fabric:
        innocent = start(bench, fabric, "pings")
        attacker = start(bench, fabric, "maps", file.path)
        said(bench, attacker, "sends")
        begin = time.monotonic()
        bench.expect_equal(attacker.wait(20), -signal.SIGKILL, attacker.story())
        live.wait_until(lambda: "aborted the file system" in fabric.simulator.text(), "the simulator saying so", 20)
        print(f"over after {time.monotonic() - begin:.1f} s")
        bench.expect_equal(innocent.wait(60), 0, innocent.story())
        print(innocent.text().strip())
        next_program(bench, fabric)


def silent(bench):
    """Connections that say nothing: the next program is told why it is refused, and is taken after a while."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "silent", "300")
        said(bench, attacker, "300 connections")
        refused = fabric.start("refused", bench.options.programs / "abuse", "verbs")
        bench.expect(refused.wait(30) != 0 and "as many connections as it takes" in refused.text(), refused.story())
        begin = time.monotonic()
        live.wait_until(lambda: "opened no NIC" in fabric.simulator.text(), "connections being closed", 30)
        next_program(bench, fabric)
        print(f"the next program was taken after {time.monotonic() - begin:.1f} s")


def lines(bench):
    """A program that is refused all the time does not fill the disk."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "lines")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        count = int(re.search(r"(\d+) opens were refused", attacker.text())[1])
        bench.expect(count > 1000 / slower(bench), f"only {count} opens")
        size = len(fabric.simulator.text())
        print(f"{count} refusals: {size} bytes")
        bench.expect(100 < size < 20000, f"{size} bytes for {count} refusals")


def mappings(bench):
    """Mappings of 1 TiB until the address space would be full: each is refused, and the next program is served."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "mappings")
        bench.expect_equal(attacker.wait(), 0, attacker.story())
        bench.expect("the mapping has 1099511627776 bytes, expected" in fabric.simulator.text(),
                     fabric.simulator.text()[-2000:])
        next_program(bench, fabric)


def executes(bench):
    """Another image in a process whose memory is written to: none of its bytes changes."""
    with live.Fabric(bench, 2, record=False) as fabric:
        text = fabric.run(bench.options.programs / "abuse", "executes", "10")
        bench.expect("10 images were not written to" in text, text[-2000:])
        next_program(bench, fabric)


def huge(bench):
    """16 GiB registered again and again: what others ask for and send does not wait for it."""
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = start(bench, fabric, "huge")
        said(bench, attacker, "registered")
        before = attacker.text().count("registered")
        rounds = 10000
        print(fabric.run(bench.options.programs / "abuse", "pings", str(rounds)).strip())
        count = attacker.text().count("registered") - before
        attacker.kill()
        # Four rounds where each waits for a registration, some 400 where none does, however busy the machine is.
        print(f"{rounds} requests and messages beside {count} registrations")
        bench.expect(0 < count < rounds / 40, f"{count} registrations in {rounds} rounds")
        next_program(bench, fabric)


CHECKS = {"doorbells": doorbells, "opens": opens, "descriptors": descriptors, "fuse": fuse, "manager": manager,
          "userfault": userfault, "pages": pages, "silent": silent, "mappings": mappings, "executes": executes,
          "huge": huge, "lines": lines}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where abuse is")
    sys.exit(e2e.run(parser, CHECKS))
