# SPDX-License-Identifier: Apache-2.0
"""The attacks of scripts/soak, and what it looks at: what is left behind.

An attack is a generator: it starts programs, and yields while it waits. It returns what it did in a few words, by which
its repetitions are counted. At its end, within live.PATIENCE or so, none of its programs is left.
"""
import contextlib
import dataclasses
import errno
import os
import pathlib
import resource
import shlex
import shutil
import signal
import threading
import time
import typing

import abuse_check
import fuse_file
import kill_check
import live
from live import e2e

MANAGER_WAIT = 10  # seconds that a command to the agent of rdma_cm may take
DEATHS = ("killed", "stopped and continued", "stopped and killed")
UC = ["ibv_uc_pingpong", "-g", "2", "-n", "100000000"]


def left_behind(folder, shared_memory):
    """Processes that have this folder in their environment or command line, sockets in it, new shared memory."""
    left, mark = [], str(folder).encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if int(process.name) != os.getpid() and mark in command + (process / "environ").read_bytes():
                left.append(f"process {process.name} ({command.replace(bytes(1), b' ').decode(errors='replace')[:80]})")
        except OSError:
            continue
    left += [f"socket {path}" for path in folder.rglob("*") if path.is_socket()]
    left += [f"socket {line.split()[-1]}" for line in pathlib.Path("/proc/net/unix").read_text(
        encoding="utf-8", errors="replace").splitlines() if str(folder) in line]
    return left + [f"/dev/shm/{name}" for name in kill_check.shared_memory() if name not in shared_memory]


def reaped(program):
    """None while it runs; then (exit code or -signal, seconds of CPU time, MB resident at most)."""
    process = program.process
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def until(holds, seconds):
    """Yields until holds(), or until the time is over."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        yield


def program_ends(soak, command, codes=(0,), limit=None, **environment):
    """A program of testbench/live that has to end by itself; with a limit it is killed after so many seconds."""
    program = soak.start(command[0], soak.options.programs / command[0], *command[1:], **environment)
    yield from until(program.ended, limit or live.PATIENCE)
    code = program.process.poll()
    program.kill()
    good = code in codes or (code is None and limit)
    soak.bench.expect(good, f"{' '.join(map(str, command))}: exit {code}: {program.story()}")
    if good:
        soak.forget(program)
    return code


def program_killed(soak, command, seconds):
    """A program of testbench/live that goes on until it is killed, after so many seconds of its abuse."""
    program = soak.start(command[0], soak.options.programs / command[0], *command[1:])
    yield from until(lambda: program.ended() or program.text(), live.PATIENCE)
    yield from until(program.ended, seconds)
    good = not program.ended() and program.text()
    soak.bench.expect(good, f"{' '.join(map(str, command))}: expected to go on: {program.story()}")
    program.kill()
    if good:
        soak.forget(program)


def doorbells(soak, chance):
    # A NIC has 8,192 QPs, and the others need some. The first time (in the warm-up) the most: they take memory.
    sizes = [soak.scaled(qps) for qps in (60, 600, 6000)]
    qps = sizes[-1] if soak.tried["doorbells"] == 1 else chance.choice(sizes)
    if chance.random() < 0.5:
        yield from program_ends(soak, ["abuse", "doorbells", qps])
        return f"{qps} QPs"
    yield from program_killed(soak, ["abuse", "doorbells", qps, "hold"], 3 * chance.random())
    return f"{qps} QPs, killed"


def opens(soak, chance):
    way, most = chance.choice((("opens", 20000), ("reopens", 2000), ("names", 2000)))
    limit = soak.scaled(20) + 2
    code = yield from program_ends(soak, ["abuse", way, chance.randint(1, most)], limit=limit)
    return f"{way}, killed" if code is None else way


def descriptors(soak, chance):
    way = chance.choice(("linger", "semaphore"))
    yield from program_ends(soak, ["abuse", way])
    return way


def userfault(soak, _):
    code = yield from program_ends(soak, ["abuse", "userfault"], codes=(0, 77, -signal.SIGKILL))
    return {0: "its request fails", 77: "not permitted here"}.get(code, "killed by the simulator")


def silent(soak, chance):
    """Below the number of connections (64 besides 200 clients) beyond which others are refused."""
    seconds = chance.choice((0.2, 2, 12)[:3 if soak.scaled(100) == 100 else 2])  # after 10 s they are disconnected
    yield from program_killed(soak, ["abuse", "silent", chance.randint(20, 180)], seconds)
    return f"for {seconds} s"


def mappings(soak, _):
    yield from program_ends(soak, ["abuse", "mappings", soak.scaled(300)])
    return ""


def executes(soak, chance):
    images = chance.randint(1, soak.scaled(20))
    yield from program_ends(soak, ["abuse", "executes", images])
    return ""


def huge(soak, chance):
    yield from program_killed(soak, ["abuse", "huge"], chance.choice((0.2, 2, 5)))
    return ""


def imports(soak, _):
    """Attacks what an exporter leaves behind, and windows on it: the live tests of import, which end well."""
    yield from program_ends(soak, ["live_verbs", "--gtest_filter=*Import.*"])
    return ""


def lines(soak, _):
    yield from program_ends(soak, ["abuse", "lines"])
    return ""


def hostile(soak, chance):
    yield from program_ends(soak, ["hostile", soak.scaled(chance.choice((500, 2000, 5000)))],
                            RXNIC_SEED=str(chance.getrandbits(32)))
    return ""


def started_pair(soak, command):
    """A server and a client at work; returns both."""
    port = live.Port()
    files = kill_check.files_of(soak.fabric, command)
    pair = [soak.start("server", command[0], "-d", "rxnic0", *command[1:], "-p", port.number, **files)]
    yield from until(lambda: pair[0].ended() or port.is_listened_on(), live.PATIENCE)
    pair.append(soak.start("client", command[0], "-d", "rxnic1", *command[1:], "-p", port.number, "127.0.0.1",
                           **files))
    yield from until(lambda: pair[0].ended() or not port.is_listened_on(), live.PATIENCE)
    port.close()
    return pair


def beside_innocents(soak, command, seconds):
    """No attack: a pair at work for so many seconds."""
    pair = yield from started_pair(soak, command)
    yield from until(lambda: any(program.ended() for program in pair), seconds)
    good = not any(program.ended() for program in pair)
    soak.bench.expect(good, f"{command[0]} ended by itself: {pair[0].story()}\n{pair[1].story()}")
    for program in pair:
        program.kill()
        if good:
            soak.forget(program)


def kills(soak, chance):
    """One of a pair under load is killed, or stopped for a while."""
    command = kill_check.program_of(soak.bench, chance.choice([*kill_check.endless(soak.bench), UC]))
    delay = chance.choice((0.0, 0.01, 0.1, 1.0)) * chance.random()
    who, death = chance.randrange(2), chance.choice(DEATHS)
    pair = yield from started_pair(soak, command)
    yield from until(lambda: any(program.ended() for program in pair), delay)
    soak.bench.expect(not any(program.ended() for program in pair),
                      f"{command[0]} ended before it was killed: {pair[0].story()}\n{pair[1].story()}")
    victim = pair[who]
    if death == "killed":
        victim.kill()
    else:
        victim.signal(signal.SIGSTOP)
        yield from until(victim.ended, 3 * chance.random())
        if death == "stopped and continued":
            victim.signal(signal.SIGCONT)
        else:
            victim.kill()
    yield from until(lambda: all(program.ended() for program in pair), 2 * chance.random())
    for program in pair:
        program.kill()
        soak.forget(program)
    return f"{('server', 'client')[who]} {death}"


class Manager:
    """What can be done to the agent of rdma_cm, beside a file that uses it as it should."""

    def __init__(self, soak, files):
        self.soak, self.files = soak, files
        self.good = self.file()

    def file(self):
        return self.files.enter_context(contextlib.closing(abuse_check.ManagerFile(self.soak.fabric)))

    def serves(self):
        begin = time.monotonic()
        number = self.good.create_id()
        took = time.monotonic() - begin
        self.soak.bench.expect(took < MANAGER_WAIT, f"rdma_cm: another file waited {took:.1f} s")
        return number

    def linger(self, _):
        """A command comes with a socket whose close waits."""
        for _ in range(3):
            bad = self.file()
            sender, peer = abuse_check.lingering_socket(20)
            with sender, peer:
                bad.send(bad.CREATE_ID, bytes(24), sender.fileno())
                # The agent may have closed it already: then this close is the last one, and waits.
                threading.Thread(target=sender.close).start()
                self.soak.bench.expect_equal(bad.answer(), None, "rdma_cm: a descriptor that it has no use for")
                self.serves()
            yield

    def migrate(self, chance):
        """Another file's ID, by its number: its file's, or with a descriptor that is not its file's."""
        number, thief = self.serves(), self.file()
        for file in chance.sample(range(1000), 100):
            with_own = thief.migrate(number, file, thief.pipe) if chance.random() < 0.5 else errno.EINVAL
            self.soak.bench.expect_equal((thief.migrate(number, file), with_own), (errno.EINVAL, errno.EINVAL),
                                         "rdma_cm: the ID of another file")
            yield

    def flood(self, chance):
        """IDs, each with events that nobody reads."""
        bad = self.file()
        for count in range(self.soak.scaled(chance.choice((200, 2000)))):
            bad.resolve(bad.create_id())
            if count % 50 == 0:
                self.serves()
                yield

    def emfile(self, _):
        """The agent has no descriptor left, and then again."""
        agent = kill_check.agent_of(self.soak.fabric)
        before = resource.prlimit(agent, resource.RLIMIT_NOFILE)
        try:
            most = max(int(fd.name) for fd in pathlib.Path(f"/proc/{agent}/fd").iterdir()) + 1
            resource.prlimit(agent, resource.RLIMIT_NOFILE, (most, before[1]))
            for _ in range(30):
                self.files.enter_context(
                    contextlib.closing(abuse_check.ManagerFile(self.soak.fabric, greets=False)))
            cpu = abuse_check.processor_time(agent)
            yield from until(lambda: False, 1)
            used = abuse_check.processor_time(agent) - cpu
            self.soak.bench.expect(used < 0.3, f"rdma_cm: without a descriptor its agent takes {used:.2f} s in 1 s")
            self.serves()
        finally:
            resource.prlimit(agent, resource.RLIMIT_NOFILE, before)


def manager(soak, chance):
    with contextlib.ExitStack() as files:
        attacks = Manager(soak, files)
        way = chance.choice(("linger", "migrate", "flood", "emfile"))
        if way == "emfile" and len(soak.alive) > 1:  # others may be about to connect
            way = "flood"
        yield from getattr(attacks, way)(chance)
        attacks.serves()
    return way


def pins(soak, _):
    """A testbench with RTL that replays a capture, beside connections of its own user and of another one."""
    testbench = soak.options.programs.parent / "dpi" / "receive_path" / "receive_path_tb"
    if not testbench.is_file():
        return "left out: there is no receive_path_tb (Verilator builds it)"
    address = f"@{soak.bench.folder.name}-pins{soak.serial}"
    replay = [soak.options.rxnic, "replay", e2e.SAMPLE, "--quiet", "--out", soak.bench.folder / "pins", "--lockstep",
              f"grh_scatter=dpi:{address}"]
    simulation = soak.start("testbench", testbench, f"+address={address}", f"+command={shlex.join(map(str, replay))}")
    attackers = [soak.start("pins", soak.options.programs / "abuse", "pins", address)]
    if os.geteuid() == 0:
        copy = soak.fabric.folder / "abuse"  # which that user can execute
        if not copy.exists():
            shutil.copy(soak.options.programs / "abuse", copy)
            copy.chmod(0o755)
        attackers.append(live.Program([copy, "pins", address], soak.fabric.folder, f"{soak.serial}-stranger",
                                      dict(os.environ), live.ORDINARY))
        soak.fabric.programs.append(attackers[-1])
    yield from until(simulation.ended, live.PATIENCE)
    code = simulation.process.poll()
    good = code == 0 and " packets, " in simulation.text()
    soak.bench.expect(good, f"beside connections that nobody wants: {simulation.story()}")
    yield from until(lambda: all(one.ended() for one in attackers), live.PATIENCE / 4)
    for program in [simulation, *attackers]:
        program.kill()
        if good:
            soak.forget(program)
    return ""


def fuse(soak, chance):
    """The attacker hands over descriptors of a file whose closes wait until the file is gone."""
    try:
        file = fuse_file.EndlessFile()
    except fuse_file.NotPermitted:
        return "not permitted here"
    with file:
        program = soak.start("abuse", soak.options.programs / "abuse", "file", file.path)
        yield from until(lambda: program.ended() or "waited" in program.text(), live.PATIENCE)
        yield from until(lambda: False, 2 * chance.random())
    yield from until(program.ended, live.PATIENCE)
    code = program.process.poll()
    program.kill()
    soak.bench.expect_equal(code, 0, f"a file whose close does not end: {program.story()}")
    if code == 0:
        soak.forget(program)
    return ""


@dataclasses.dataclass
class Attack:
    about: str
    run: typing.Callable | None  # (soak, random) -> generator; None: scripts/soak does it
    measured: bool = True  # its cost for an innocent pair, too (slowdown.py)


ATTACKS = {
    "doorbells": Attack("rings every doorbell of up to 6,000 QPs without a pause", doorbells),
    "opens": Attack("opens a NIC that is not there, or one again and again, or with a new name each time", opens),
    "descriptors": Attack("hands over descriptors that make their owner wait, or keep it awake", descriptors),
    "userfault": Attack("sends from memory that it never supplies", userfault),
    "silent": Attack("connects up to 180 times and says nothing", silent),
    "mappings": Attack("opens a NIC with a mapping of 1 TiB, up to 300 times", mappings),
    "executes": Attack("executes another image while its memory is written to, up to 20 times", executes),
    "huge": Attack("registers 16 GiB again and again until it is killed", huge),
    "imports": Attack("binds windows on an exporter's region, and goes on when that has ended", imports),
    "manager": Attack("attacks the agent of rdma_cm: sockets that linger, others' IDs, floods of IDs, EMFILE",
                      manager),
    "pins": Attack("connects to a testbench with RTL at work, as its user and as another", pins, measured=False),
    "fuse": Attack("hands over descriptors of a file in user space whose close never ends", fuse),
    "lines": Attack("is refused as fast as it can", lines),
    "kills": Attack("SIGKILL or SIGSTOP of a server or client under load, at a random moment", kills),
    "hostile": Attack("overwrites what it shares with the simulator, at random, and sends garbage", hostile),
    "mutants": Attack("wrong captures through rxnic replay", None),
}
