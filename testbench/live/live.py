# SPDX-License-Identifier: Apache-2.0
"""Shared by the live checks: a fabric that programs attach to, programs as processes, checks of what they leave behind.

Everything has a time limit: a program that exceeds it is killed, and the check fails with the program's output. Every
check has a folder, a socket and TCP ports of its own, so that checks can run in parallel.
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / name) for up, name in ((1, "e2e"), (2, "scripts"))]
import check_icrc  # noqa: E402
import e2e  # noqa: E402

PATIENCE = float(os.environ.get("RXNIC_PATIENCE", "120"))  # seconds that one program may take
EVERY_PLACE = bool(os.environ.get("RXNIC_EVERY_PLACE"))
NETWORK = os.environ.get("RXNIC_NETWORK", "host")  # where a Fabric's programs have their sockets, as --network says
POLL = 0.005  # seconds between two looks at something that does not notify
ORDINARY = 65534  # uid and gid of nobody
CHECK_ICRC = e2e.ROOT / "scripts" / "check_icrc.py"
# Dissectors that guess from the first bytes of a payload, which are arbitrary.
GUESSES = [part for protocol in ("rpcordma", "infiniband.eoib") for part in ("--disable-protocol", protocol)]
GUESSES += ["--disable-heuristic", "eth_over_ib"]


def need(*programs):
    """Skips the check by name when one of these is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise e2e.Skip(f"{program} is not installed")


def wait_until(holds, what, limit=PATIENCE):
    """Looks until holds() is true; fails after `limit` seconds."""
    end = time.monotonic() + limit
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {limit:.0f} s")
        time.sleep(POLL)
    return found


LISTENS, ESTABLISHED = "0A", "01"  # states in /proc/net/tcp


class Port:
    """A TCP port that is reserved while this exists: bound, so that no other socket gets it, but not listened on."""

    def __init__(self):
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("", 0))
        self.number = self.holder.getsockname()[1]

    def is_listened_on(self, process="self"):
        """In the network of a process."""
        return LISTENS in self.states(process)

    def is_connected(self):
        return ESTABLISHED in self.states()

    def states(self, process="self"):
        """States of the sockets with this local port, as in /proc/net/tcp."""
        found = []
        for table in (f"/proc/{process}/net/tcp", f"/proc/{process}/net/tcp6"):
            if os.path.exists(table):
                for line in pathlib.Path(table).read_text(encoding="ascii").splitlines()[1:]:
                    local, state = line.split()[1], line.split()[3]
                    if int(local.rsplit(":", 1)[1], 16) == self.number:
                        found.append(state)
        return found

    def close(self):
        self.holder.close()


def die_with_parent():
    """When a check is killed, its programs are killed, too."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Namespaces:
    """The user and network namespaces of a process, for a program that is started into them."""

    def __init__(self, process):
        self.kinds = [(flag, f"/proc/{process}/ns/{name}") for flag, name in ((0x10000000, "user"), (0x40000000, "net"))
                      if os.readlink(f"/proc/{process}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")]

    def __enter__(self):
        self.files = [(flag, os.open(path, os.O_RDONLY | os.O_CLOEXEC)) for flag, path in self.kinds]
        return self

    def __exit__(self, kind, value, trace):
        for _, file in self.files:
            os.close(file)

    def enter(self):
        """To be called by a child."""
        libc = ctypes.CDLL(None, use_errno=True)
        for flag, file in self.files:
            if libc.setns(file, flag) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        die_with_parent()  # after the change of its rights, which takes that back


class Program:
    """A process whose output goes to a file."""

    def __init__(self, command, folder, name, environment, uid=None, beside="self"):
        """`beside`: the process whose network it is to have."""
        self.command = [str(part) for part in command]
        self.output = pathlib.Path(folder) / f"{name}.txt"
        who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
        with open(self.output, "wb") as output, Namespaces(beside) as namespaces:
            self.process = subprocess.Popen(self.command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                            preexec_fn=namespaces.enter, **who)

    def text(self):
        return self.output.read_text(encoding="utf-8", errors="replace")

    def ended(self):
        return self.process.poll() is not None

    def wait(self, limit=PATIENCE):
        """Its exit code; -signal when it was killed, also here because it took too long."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            with open(self.output, "a", encoding="utf-8") as output:
                output.write(f"\n[killed: still running after {limit:.0f} s]\n")
            return self.process.wait()

    def signal(self, number):
        if not self.ended():
            self.process.send_signal(number)

    def kill(self):
        """With everything it has started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def story(self):
        return f"$ {' '.join(self.command)}\n[exit {self.process.poll()}] " + self.text()[-3000:]


# The PROGRAM of a `rxnic run` beside which others are started: says where it is, and waits to be told to end.
HOLDER = ('HOLDER=$$ env -0 > "$0/holder.part" && mv "$0/holder.part" "$0/holder" && '
          '{ read stop < "$0/stop"; exit 0; }')


class Fabric:
    """`rxnic serve`: NICs that programs attach to. with Fabric(bench) as fabric: fabric.pair(...)

    With RXNIC_NETWORK=own it is `rxnic run --network own`, and its programs are started into that network."""

    serial = 0

    def __init__(self, bench, nics=2, uid=None, record=True, arguments=(), address=None):
        Fabric.serial += 1
        self.bench, self.nics, self.uid, self.record = bench, nics, uid, record
        self.folder = bench.folder / f"run{Fabric.serial}"
        self.folder.mkdir()
        bench.folder.chmod(0o755)
        if uid is not None:
            os.chown(self.folder, uid, uid)
        self.socket = address or str(self.folder / "socket")
        self.arguments = ["--out", self.folder / "out", *(["--record"] if record else []), *arguments]
        self.programs = []
        self.simulator = None
        self.report = None
        self.own = NETWORK == "own" and address is None
        self.beside = "self"  # the process whose network its programs have
        # By which address of the server a client connects out of band.
        self.server_address = "198.18.0.1" if self.own else "127.0.0.1"

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, kind, value, trace):
        self.close()

    def open(self):
        options = self.bench.options
        reach_what_is_loaded(self)
        if self.own:
            self.open_own()
            return
        self.simulator = self.start("simulator", options.rxnic, "serve", "--quiet", "--nics", self.nics, "--socket",
                                    self.socket, *self.arguments)
        try:
            wait_until(lambda: self.simulator.ended() or self.answers(), "the simulator's socket")
        except AssertionError as late:
            self.bench.expect(False, f"{late}: {self.simulator.story()}")

    def open_own(self):
        stop, holder = self.folder / "stop", self.folder / "holder"
        os.mkfifo(stop)
        if self.uid is not None:
            os.chown(stop, self.uid, self.uid)
        self.simulator = self.start("simulator", self.bench.options.rxnic, "run", "--quiet", "--network", "own",
                                    "--grace", "off", "--nics", self.nics, *self.arguments, "--", "sh", "-c", HOLDER,
                                    self.folder)
        wait_until(lambda: self.simulator.ended() or holder.exists(), "the simulator's program")
        if self.simulator.ended():
            if "--network own: the kernel refuses" in self.simulator.text():
                raise e2e.Skip(self.simulator.text().strip())
            raise AssertionError(self.simulator.story())
        told = dict(one.split("=", 1) for one in holder.read_text(encoding="utf-8").split("\0") if one)
        self.socket, self.beside = told["RXNIC_SOCKET"], told["HOLDER"]

    def end(self):
        """As Ctrl-C does, or a program that has done its work."""
        self.beside = "self"
        if not self.own:
            self.simulator.signal(signal.SIGINT)
            return
        with open(self.folder / "stop", "wb"):
            pass  # the reader's end of file

    def close(self):
        """Ends it, checks what it leaves behind, and reads `report`."""
        for program in self.programs:
            if program is not self.simulator and not program.ended():
                program.kill()
        if self.simulator.ended():
            self.bench.expect(False, f"the simulator ended by itself: {self.simulator.story()}")
            return
        self.end()
        code = self.simulator.wait()
        self.bench.expect(code == 0, f"the simulator's exit code {code}; expected 0: {self.simulator.story()}")
        self.bench.expect(not os.path.exists(self.socket), "the simulator left its socket behind")
        report = self.folder / "out" / "report.json"
        if code == 0 and report.is_file():
            self.report = json.loads(report.read_text(encoding="utf-8"))
        else:
            self.bench.expect(False, f"no report: {self.simulator.story()}")

    @property
    def wire(self):
        return self.folder / "out" / "wire.pcap"

    def answers(self):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
                probe.connect("\0" + self.socket[1:] if self.socket.startswith("@") else self.socket)
                return True
        except OSError:
            return False

    def environment(self, **more):
        """The environment in which a program finds the drop-in and the fabric."""
        options = self.bench.options
        library = str(reachable(options.verbs, self).parent)
        return {**os.environ, "RXNIC_SOCKET": self.socket, "LD_LIBRARY_PATH": library, "RXNIC_LIBRARY_DIR": library,
                **more}

    def device_files(self):
        """What shows a program under `serve` the files of a driver, rdma_cm among them (bridge/device_files)."""
        library = reachable(self.bench.options.verbs.parent / "librxnic_device_files.so", self)
        return {"LD_PRELOAD": str(library), "RXNIC_DEVICE_FILES": str(self.folder / "out" / "device_files")}

    def start(self, name, *command, **more):
        environment = self.environment(**more)
        # The sanitizer's library has to be the first: in front of what is preloaded, also into a program built with it.
        extra = sanitizer(self.bench, is_of_others(command[0]) or "LD_PRELOAD" in more)
        if "LD_PRELOAD" in extra and "LD_PRELOAD" in more:
            extra["LD_PRELOAD"] += f":{more['LD_PRELOAD']}"
        environment |= extra
        if os.path.isabs(command[0]):
            command = (reachable(pathlib.Path(command[0]), self), *command[1:])
        program = Program(command, self.folder, f"{len(self.programs)}-{name}", environment, self.uid, self.beside)
        self.programs.append(program)
        return program

    def run(self, *command, **environment):
        """Runs one program, which must exit with 0; returns its output."""
        program = self.start("program", *command, **environment)
        code = program.wait()
        self.bench.expect(code == 0, f"exit code {code}: {program.story()}")
        return program.text()

    def pair(self, server, client, port, **environment):
        """Runs a server, and a client as soon as the server listens; returns both programs after their end."""
        first = self.start("server", *server, **environment)
        try:
            wait_until(lambda: first.ended() or port.is_listened_on(self.beside), f"{server[0]} listening")
        except AssertionError as late:
            first.kill()
            self.bench.expect(False, f"{late}: {first.story()}")
        second = self.start("client", *client, **environment)
        good = second.wait() == 0
        # When the client has failed the server may wait for it for ever.
        good &= first.wait(PATIENCE if good else 10) == 0
        self.bench.expect(good, f"{first.story()}\n{second.story()}\n{self.simulator.story()}")
        return good, first, second


class Run:
    """`rxnic run` as a user, in a folder of its own."""

    serial = 0

    def __init__(self, bench, uid=None):
        Run.serial += 1
        self.bench, self.uid = bench, uid
        self.folder = bench.folder / f"own{Run.serial}"
        self.folder.mkdir()
        bench.folder.chmod(0o755)
        if uid is not None:
            os.chown(self.folder, uid, uid)

    def start(self, *command, arguments=()):
        library = str(reachable(self.bench.options.verbs, self).parent)
        reach_what_is_loaded(self)
        simulator = [reachable(self.bench.options.rxnic, self), "run", "--quiet", *arguments, "--out",
                     self.folder / "out", "--"]
        with_variables = ["sh", "-c", f'exec env {variables(self.bench)} "$@"', "sh"]
        return Program([*simulator, *with_variables, *command], self.folder, "run",
                       {**os.environ, "RXNIC_LIBRARY_DIR": library}, self.uid)


# What the thread sanitizer finds in the programs of others, by the function of theirs that does it.
SUPPRESSIONS = """\
# librdmacm writes the ID's address after its command: the thread that takes events may be there before.
race:^rdma_resolve_addr$
# rping closes the channel on which its other thread waits for events.
race:^rdma_destroy_event_channel$
# Open MPI's PMIx, which calls no verbs, has threads and events of its own.
race:libpmix.so
"""
# UCX, Open MPI and libfabric patch mmap() and the like, the sanitizer's too, which dies of it. Without that UCX 1.13
# takes regions on demand, and dies when it frees them, with any libibverbs that has them.
UNPATCHED = {"UCX_MEM_MMAP_HOOK_MODE": "none", "UCX_IB_REG_METHODS": "direct", "OMPI_MCA_memory": "^patcher",
             "FI_MR_CACHE_MONITOR": "disabled"}


def with_libtsan(bench):
    return "libtsan" in str(bench.options.preload)


def sanitizer(bench, others=True):
    """The environment of a program into which the drop-in brings a sanitizer."""
    if not bench.options.preload:
        return {}
    # Children of programs with threads open devices, too; and the end of a program must not take a second.
    options = os.environ.get("TSAN_OPTIONS", "") + ":die_after_fork=0:atexit_sleep_ms=0"
    environment = {}
    if others:  # built without it; its own leaks are not checked
        environment["LD_PRELOAD"] = str(bench.options.preload)
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if with_libtsan(bench):
        suppressions = bench.folder / "suppressions"
        if not suppressions.exists():
            suppressions.write_text(SUPPRESSIONS, encoding="ascii")
        options += f":suppressions={suppressions}"
        environment |= UNPATCHED
    return environment | {"TSAN_OPTIONS": options}


def variables(bench):
    """sanitizer() as a shell writes it, in front of what `rxnic run` preloads."""
    return " ".join(f"{name}={value}" + ("${LD_PRELOAD:+:$LD_PRELOAD}" if name == "LD_PRELOAD" else "")
                    for name, value in sanitizer(bench).items())


def is_of_others(program):
    """A program that was not built here."""
    return not os.path.isabs(program) or str(program).startswith("/usr/")


def reachable(file, fabric):
    """`file`, or a copy in the fabric's folder when its user cannot read it where it is."""
    if fabric.uid is None:
        return file
    looked = subprocess.run(["head", "-c1", str(file)], user=fabric.uid, group=fabric.uid, extra_groups=[],
                            capture_output=True, check=False)
    if looked.returncode == 0:
        return file
    copy = fabric.folder / file.name
    if not copy.exists():
        shutil.copy(file, copy)
        copy.chmod(0o755)
    return copy


def reach_what_is_loaded(fabric):
    """What the simulator and its programs look for beside the library."""
    for file in ("librxnic_device_files.so", "rxnic_cm_agent"):
        reachable(fabric.bench.options.verbs.parent / file, fabric)


def counters(report, block):
    """The sum over all NICs of each counter of a block."""
    total = {}
    for nic in report["nics"]:
        for name, count in nic["blocks"][block]["counters"].items():
            total[name] = total.get(name, 0) + count
    return total


class WireCheck:
    """wire.pcap of several runs, checked by independent tools: tshark and scripts/check_icrc.py."""

    def __init__(self, bench):
        self.bench = bench
        self.frames = 0
        self.all = bench.folder / "all.pcap"
        self.all.unlink(missing_ok=True)

    def add(self, capture):
        """Adds one; the tools read all of them together."""
        size = capture.stat().st_size if capture.is_file() else 0
        self.bench.expect(size >= 24, f"{capture}: no capture")
        if size < 24:
            return
        data = check_icrc.contents(capture)
        with open(self.all, "ab") as together:
            together.write(memoryview(data)[24 if together.tell() else 0:])
        at = 24
        while at < size:
            at += 16 + struct.unpack_from("<I", data, at + 8)[0]
            self.frames += 1

    def finish(self, at_least):
        self.bench.expect(self.frames >= at_least, f"only {self.frames} frames on the wire; expected {at_least}")
        if self.frames == 0:
            return
        icrc = self.bench.start(sys.executable, "-B", CHECK_ICRC, "-v", self.all)
        counts = re.search(r": (\d+) good, (\d+) bad, (\d+) not RDMA", icrc.stdout)
        self.bench.expect(counts, f"check_icrc.py: {icrc.stdout}{icrc.stderr[-1000:]}")
        if counts:
            self.bench.expect_equal([int(n) for n in counts.groups()], [self.frames, 0, 0], "good, bad, not RDMA")
        if shutil.which("tshark") is None:
            print("tshark is not installed: no check for malformed packets")
            return
        shark = self.bench.start("tshark", *GUESSES, "-n", "-r", self.all, "-Y", "_ws.malformed || !infiniband.bth")
        self.bench.expect_equal(shark.returncode, 0, f"tshark: {shark.stderr[-1000:]}")
        self.bench.expect_equal(shark.stdout[:1000], "", "malformed, or without a BTH")


def users():
    """{name: uid} of the users as whom the checks run: ours, and an ordinary user when we are root."""
    return {"root": None, "user": ORDINARY} if os.geteuid() == 0 else {"user": None}


def uids():
    """As whom a suite of our own runs: as the last of the users, with EVERY_PLACE as each."""
    return list(users().values())[0 if EVERY_PLACE else -1:]


def places(number=None):
    """[(user, uid, NICs)], where a run takes place: the first user between two NICs, and the last on one. With a number
    one of the two, in turns. With EVERY_PLACE each user on one NIC and between two, always."""
    named = list(users().items())
    if EVERY_PLACE:
        return [(user, uid, nics) for user, uid in named for nics in (1, 2)]
    both = [(*named[0], 2), (*named[-1], 1)]
    return both if number is None else [both[number % len(both)]]


def parser_for(doc, checks):
    parser = e2e.parser_for(doc, checks)
    parser.add_argument("--verbs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the drop-in libibverbs.so.1")
    parser.add_argument("--preload", metavar="FILE", help="a sanitizer's library for programs built without it")
    return parser
