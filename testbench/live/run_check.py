#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rxnic run` and `rxnic serve` as a user sees them: exit codes, Ctrl-C, who may connect to the socket, leftovers."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import stat
import sys
import time

import live
from live import e2e

PYTHON = "/usr/bin/python3"  # that every user may execute
PAIR = """
{env} ibv_rc_pingpong -d rxnic0 -g 2 -n 50 -p {port} & server=$!
until grep -qi ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do kill -0 $server || exit 99; done
{env} ibv_rc_pingpong -d rxnic1 -g 2 -n 50 -p {port} 127.0.0.1 && wait $server
"""


def ours(bench):
    """What is left of a run: processes with the check's folder in their command line, sockets in it."""
    left = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(bench.folder) in command and int(process.name) != os.getpid() and "_check.py" not in command:
            left.append(command)
    left += [str(path) for path in bench.folder.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]
    return left


def env(bench):
    """The beginning of a verbs program's command line. The shell must not get its variables: libtsan crashes it."""
    return ["env", *(f"{name}={value}" for name, value in live.sanitizer(bench).items())]


def run(bench, *command, arguments=("--nics", "2")):
    done = bench.rxnic("run", "--quiet", *arguments, "--out", bench.folder / "out", "--", *command)
    bench.expect_equal(ours(bench), [], "left behind")
    return done


def status(bench):
    """`run` returns its program's status."""
    for code in (0, 1, 7, 255):
        bench.expect_equal(run(bench, "sh", "-c", f"exit {code}").returncode, code, "exit code")
    killed = run(bench, "sh", "-c", "kill -9 $$")
    bench.expect_equal(killed.returncode, 128 + 9, "exit code of a killed program")
    bench.expect("sh was killed by signal 9 (Killed); what else" in killed.stderr, f"says nothing: {killed.stderr}")
    absent = run(bench, "/nonexistent/program")
    bench.expect(absent.returncode != 0 and "/nonexistent/program" in absent.stderr, f"no program: {absent.stderr}")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, before[1]))
    limits = run(bench, "sh", "-c", "ulimit -Sn; grep 'Max open files' /proc/$PPID/limits").stdout.split()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    bench.expect(limits[0] == "500" and limits[4] == limits[5], f"open files, of the program and of rxnic: {limits}")
    live.need("ibv_devices")
    for inherited in ("trap '' CHLD", "trap '' CHLD HUP INT TERM"):
        done = bench.start("bash", "-c", f'{inherited}; exec "$@"', "bash", bench.options.rxnic, "run",
                           "--quiet", "--nics", "1", "--out", bench.folder / "out", "--", "sh", "-c", "exit 7")
        bench.expect_equal(done.returncode, 7, f"{inherited}: exit code: {done.stderr}")
    hangup_blocked = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP}); "
    for blocked, code in (("", 128 + signal.SIGHUP), (hangup_blocked, 7)):
        done = bench.start(PYTHON, "-c", f"import os, signal, sys; {blocked}os.execv(sys.argv[1], sys.argv[1:])",
                           bench.options.rxnic, "run", "--quiet", "--nics", "1", "--out", bench.folder / "out", "--",
                           "sh", "-c", "kill -HUP $$; exit 7")
        bench.expect_equal(done.returncode, code, f"the program's mask of signals is the caller's: {done.stderr}")
    listed = run(bench, *env(bench), "ibv_devices")
    bench.expect("rxnic0" in listed.stdout and "rxnic1" in listed.stdout, listed.stdout)
    one = run(bench, *env(bench), "ibv_devices", arguments=("--nics", "3", "--nic", "2"))
    bench.expect(re.findall(r"rxnic\d", one.stdout) == ["rxnic2"], one.stdout)


# Processes that look like a doorkeeper of the run, or as if they had ended; argument: a file that says that they do.
HIDES = r"""
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None)
libc.prctl(15, b"rxnic-door", 0, 0, 0)
def begin():
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(100)
if sys.argv[2] == "hidden":
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    begin()
threading.Thread(target=begin).start()
libc.pthread_exit(None)
"""


def hidden(bench):
    """A program with a doorkeeper's name is ended. One does not show what it runs, of one the first thread has gone."""
    for kind in ("hidden", "headless"):
        run_of_user = live.Run(bench, live.users()["user"])
        named = run_of_user.folder / "pid"
        script = f'{PYTHON} -c "$0" {named} {kind} & until [ -s {named} ]; do sleep 0.05; done; kill -9 $$'
        program = run_of_user.start("sh", "-c", script, HIDES, arguments=["--nics", "1", "--grace", "0.3"])
        bench.expect_equal(program.wait(), 128 + 9, f"{kind}: exit code: {program.story()}")
        pid = named.read_text(encoding="ascii")
        bench.expect(f"process {pid} (rxnic-door)" in program.text(), f"{kind}: {program.story()}")
        if os.path.exists(f"/proc/{pid}"):
            bench.expect(False, f"{kind}: process {pid} is left")
            os.kill(int(pid), signal.SIGKILL)


def leaves(bench):
    """A program that is killed leaves processes behind, and no NIC is open: they are ended, not before the grace."""
    for grace, script, sent in ((1, "", "sent SIGTERM"), (0.3, "trap '' TERM; ", "after SIGTERM, killed")):
        begin = time.monotonic()
        done = run(bench, "sh", "-c", f"{script}sleep 600 >/dev/null 2>&1 & echo $!; kill -9 $$",
                   arguments=("--nics", "1", "--grace", str(grace)))
        took = time.monotonic() - begin
        pid = int(done.stdout)
        bench.expect_equal(done.returncode, 128 + 9, "exit code")
        bench.expect(re.search(rf"{sent}: process {pid} \(sleep\)", done.stderr), done.stderr)
        bench.expect(not os.path.exists(f"/proc/{pid}"), f"process {pid} is left")
        bench.expect(grace <= took < 60, f"{took:.1f} s")
    # Nobody else is waited for: what ends by itself ends the run, and --grace off lets it be.
    for arguments in (("--grace", "600"), ("--grace", "off")):
        done = run(bench, "sh", "-c", "sleep 1 >/dev/null 2>&1 & echo $!; kill -9 $$", arguments=arguments)
        bench.expect_equal(done.returncode, 128 + 9, f"exit code: {done.stderr}")
        there = os.path.exists(f"/proc/{int(done.stdout)}")
        bench.expect(there or arguments[1] != "off", "it was waited for")


def ends(bench):
    """A server and a client under one `run`: both end, the report is there, nothing else is."""
    live.need("ibv_rc_pingpong")
    port = live.Port()
    pair = PAIR.format(env=" ".join(env(bench)), port=port.number)
    done = run(bench, "sh", "-c", pair, arguments=("--nics", "2", "--record"))
    port.close()
    bench.expect(done.returncode == 0 and done.stdout.count("50 iters in") == 2, f"{done.stdout}{done.stderr}")
    report = json.loads((bench.folder / "out" / "report.json").read_text(encoding="utf-8"))
    bench.expect_equal(report["cqes"], 200, "CQEs")
    log = (bench.folder / "out" / "log.txt").read_text(encoding="utf-8")
    for nic in (0, 1):
        opened = re.search(rf"^ *\d+\.\d{{3}} us  process \d+ \(ibv_rc_pingpong\) has opened NIC {nic}$", log, re.M)
        bench.expect(opened, f"log.txt does not say who opened NIC {nic}: {log}")
    bench.expect_equal(log.count("has closed its device"), 2, f"devices closed: {log}")
    replay = bench.rxnic("replay", bench.folder / "out", "--quiet")
    bench.expect_equal(replay.returncode, 0, f"replay: {replay.stderr}")
    # A program that ends in the middle of its traffic does not harm the others.
    port = live.Port()
    early = run(bench, "sh", "-c", f"{' '.join(env(bench))} ibv_rc_pingpong -g 2 -p {port.number} & "
                "sleep 0.1; kill -9 $!; exit 3")
    port.close()
    bench.expect_equal(early.returncode, 3, f"exit code: {early.stderr}")


def run_a_server(bench, port, name):
    """`rxnic run` of a server to which no client connects."""
    command = [bench.options.rxnic, "run", "--quiet", "--nics", "1", "--out", bench.folder / "out", "--",
               *env(bench), "ibv_rc_pingpong", "-g", "2", "-p", port.number]
    simulator = live.Program(command, bench.folder, name, dict(os.environ))
    live.wait_until(lambda: port.is_listened_on() or simulator.ended(), "the server listening")
    return simulator


def interrupt(bench):
    """Ctrl-C ends the simulator and its programs, and leaves nothing behind."""
    live.need("ibv_rc_pingpong")
    for number in (signal.SIGINT, signal.SIGTERM):
        port = live.Port()
        # As from a terminal: the signal goes to the whole group.
        simulator = run_a_server(bench, port, f"signal{number}")
        os.killpg(simulator.process.pid, number)
        code = simulator.wait(10)
        port.close()
        bench.expect(code not in (0, -signal.SIGKILL), f"exit code {code}: {simulator.story()}")
        bench.expect_equal(ours(bench), [], "left behind")
        # The simulator alone gets the signal: its program ends, too.
        port = live.Port()
        simulator = run_a_server(bench, port, f"alone{number}")
        simulator.signal(number)
        code = simulator.wait(10)
        bench.expect(code not in (0, -signal.SIGKILL), f"exit code {code}: {simulator.story()}")
        live.wait_until(lambda: not port.is_listened_on(), "the program's end", 5)
        port.close()
        bench.expect_equal(ours(bench), [], "left behind")


def users(bench):
    """Only its own user may use a socket, by mode and by peer credentials; not even root may use another user's."""
    live.need("ibv_devices")
    if os.geteuid() != 0:
        raise e2e.Skip("two users: we are not root")
    for owner, stranger in ((None, live.ORDINARY), (live.ORDINARY, live.ORDINARY - 1), (live.ORDINARY, None)):
        for address in (None, f"@rxnic-users-{os.getpid()}"):
            with live.Fabric(bench, 1, owner, record=False, address=address) as fabric:
                if address is None:
                    mode = stat.S_IMODE(os.lstat(fabric.socket).st_mode)
                    bench.expect_equal(oct(mode), "0o600", "mode of the socket")
                bench.expect("rxnic0" in fabric.run("ibv_devices"), "its own user")
                fabric.uid = stranger
                refused = fabric.start("stranger", "env", "ibv_devices")
                refused.wait(15)
                bench.expect("rxnic0" not in refused.text(), f"user {stranger} at {owner}'s: {refused.story()}")
                fabric.uid = owner
                bench.expect("rxnic0" in fabric.run("ibv_devices"), "its own user, afterwards")


# What a program sees of its network, as JSON; arguments: a TCP port on which the host listens.
LOOKS = r"""
import fcntl, json, os, socket, struct, sys
def ask(number, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        return fcntl.ioctl(any_socket, number, struct.pack("256s", name.encode()))
def text(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()
def reaches(kind, *to):
    try:
        with socket.socket(socket.AF_INET, kind) as probe:
            probe.connect(to)
            return "reached"
    except OSError as e:
        return e.strerror
names = [name for _, name in socket.if_nameindex()]
found = {"names": names, "user": [os.getresuid(), os.getresgid()]}
for name in names[1:]:
    found[name] = {"address": socket.inet_ntoa(ask(0x8915, name)[20:24]), "up and running": ask(0x8913, name)[16] & 65,
                   "mtu": struct.unpack_from("i", ask(0x8921, name), 16)[0],
                   "mac": ask(0x8927, name)[18:24].hex(":"), "shown": text(f"/sys/class/net/{name}/address"),
                   "gids": [text(f"/sys/class/infiniband/{name}/ports/1/gids/{n}") for n in (0, 2)]}
with socket.create_server((found["rxnic0"]["address"], 0)) as server:
    to = server.getsockname()
    with socket.create_connection(to, 10, source_address=(found["rxnic1"]["address"], 0)) as client:
        client.sendall(b"hello")
        with server.accept()[0] as end:
            found["tcp"] = [end.getpeername()[0], end.recv(5).decode()]
found["v6"] = [line.split()[0] for line in open("/proc/net/if_inet6") if line.split()[5] == "rxnic0"]
found["host"] = reaches(socket.SOCK_STREAM, "127.0.0.1", int(sys.argv[1]))
found["outside"] = reaches(socket.SOCK_DGRAM, "192.0.2.1", 9)
with open("/proc/self/status", encoding="ascii") as status:
    found["capabilities"] = next(line.split()[1] for line in status if line.startswith("CapEff"))
print(json.dumps(found))
"""


# Kinds of interfaces that are running when they are up.
KINDS = ("dummy", "ifb")


def network(bench):
    """--network own: an interface for each NIC, TCP by its address, nothing of the host; as root and as a user."""
    live.need("ip")
    running = any(bench.start("unshare", "-rn", "ip", "link", "add", "rxnic0", "type", kind).returncode == 0
                  for kind in KINDS)
    with socket.create_server(("127.0.0.1", 0)) as host:
        for user, uid in live.users().items():
            program = live.Run(bench, uid).start(
                PYTHON, "-B", "-c", LOOKS, host.getsockname()[1],
                arguments=["--nics", "2", "--network", "own", "--first-address", "198.18.5.255"])
            if program.wait() == 1 and "--network own: the kernel refuses" in program.text():
                raise e2e.Skip(program.text().strip())
            bench.expect_equal(program.process.returncode, 0, program.story())
            if program.process.returncode != 0:
                continue
            found = json.loads(program.text().splitlines()[-1])
            bench.expect_equal(found["names"], ["lo", "rxnic0", "rxnic1"], "interfaces")
            who = os.geteuid() if uid is None else uid
            bench.expect_equal(found["user"][0], [who] * 3, "user ids")
            if user != "root":
                bench.expect_equal(int(found["capabilities"], 16), 0, "capabilities of a user's program")
            for n, (name, address, gid) in enumerate((("rxnic0", "198.18.5.255", "c612:05ff"),
                                                      ("rxnic1", "198.18.6.0", "c612:0600"))):
                mac = f"02:72:78:00:00:0{n + 1}"
                link_local = f"fe80:0000:0000:0000:0072:78ff:fe00:000{n + 1}"
                bench.expect_equal(found[name], {
                    "address": address, "up and running": 65 if running else 1, "mtu": 4200, "mac": mac, "shown": mac,
                    "gids": [link_local, f"0000:0000:0000:0000:0000:ffff:{gid}"]}, name)
            bench.expect_equal(found["tcp"], ["198.18.6.0", "hello"], "TCP from rxnic1's address to rxnic0's")
            bench.expect(found["v6"] in ([], ["fe80000000000000007278fffe000001"]), f"IPv6 of rxnic0: {found['v6']}")
            bench.expect_equal(found["host"], "Connection refused", "a port on which the host listens")
            bench.expect_equal(found["outside"], "Network is unreachable", "an address outside")
    live.need("ibv_rc_pingpong")
    port = live.Port()
    script = PAIR.format(env=" ".join(env(bench)), port=port.number).replace("127.0.0.1", "198.18.0.1")
    done = run(bench, "bash", "-c", script, arguments=("--nics", "2", "--network", "own"))
    bench.expect_equal(done.returncode, 0, f"out of band by a NIC's address: {done.stdout}{done.stderr}")
    # What NETWORK.md says of the host's network, in one that leads nowhere.
    host = bench.start("unshare", "-rn", "bash", "-c", 'ip link set lo up && exec "$@"', "bash", bench.options.rxnic,
                       "run", "--quiet", "--network", "host", "--out", bench.folder / "out", "--", "timeout", "5",
                       *env(bench), "ibv_rc_pingpong", "-g", "2", "-p", port.number, "198.18.0.1")
    bench.expect(host.returncode not in (0, 124) and "Couldn't connect to 198.18.0.1" in host.stderr + host.stdout,
                 f"a NIC's address is none of the host: {host.returncode} {host.stdout}{host.stderr}")
    # What ends a run ends it there, too.
    script = PAIR.format(env=" ".join(env(bench)), port=port.number).splitlines()[1:3] + ["kill -9 $$"]
    killed = run(bench, "bash", "-c", "\n".join(script), arguments=("--network", "own", "--grace", "0.2"))
    bench.expect_equal(killed.returncode, 128 + 9, "exit code of a killed program")
    bench.expect("(ibv_rc_pingpong)" in killed.stderr, f"does not name what it ends: {killed.stderr}")


def libfabric(bench):
    """--network own: libfabric finds each NIC by its interface, and takes the one whose interface it is told."""
    live.need("fi_info")
    for told, expected in (("", {"rxnic0", "rxnic1"}), ("FI_VERBS_IFACE=rxnic0", {"rxnic0"}),
                           ("FI_VERBS_IFACE=rxnic1", {"rxnic1"})):
        listed = run(bench, "sh", "-c", f"exec env {live.variables(bench)} {told} fi_info -p verbs -t FI_EP_MSG",
                     arguments=("--nics", "2", "--network", "own"))
        if "--network own: the kernel refuses" in listed.stderr:
            raise e2e.Skip(listed.stderr.strip())
        bench.expect_equal(set(re.findall(r"domain: (rxnic\d)$", listed.stdout, re.M)), expected,
                           f"{told}: {listed.stdout}{listed.stderr}")
    for told in ("rxnic0", "rxnic1"):  # which are no interfaces of the host
        listed = run(bench, *env(bench), f"FI_VERBS_IFACE={told}", "fi_info", "-p", "verbs", "-t", "FI_EP_MSG")
        bench.expect("domain" not in listed.stdout and listed.returncode != 0, f"host, {told}: {listed.stdout}")


def preload(bench):
    """A program whose script sets LD_PRELOAD anew is named once, with the line that helps."""
    rsockets = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/rsocket/librspreload.so"))), None)
    if rsockets is None or bench.options.preload:
        raise e2e.Skip("no librspreload.so" if rsockets is None else "the sanitizer's library has to be the first")
    lost = run(bench, "sh", "-c", f"for n in 1 2; do LD_PRELOAD={rsockets} env true; done")
    bench.expect_equal(lost.stderr.count("was started with"), 1, f"how often it is said: {lost.stderr}")
    bench.expect(f"env was started with LD_PRELOAD={rsockets}, without librxnic_device_files.so" in lost.stderr
                 and f"LD_PRELOAD={rsockets}:$LD_PRELOAD" in lost.stderr, lost.stderr)
    none = run(bench, "env", "-u", "LD_PRELOAD", "ibv_devices")
    bench.expect("ibv_devices was started with no LD_PRELOAD" in none.stderr, none.stderr)
    for kept in (f"LD_PRELOAD={rsockets}:$LD_PRELOAD true", "ibv_devices"):
        done = run(bench, "sh", "-c", kept)
        bench.expect_equal((done.returncode, done.stderr), (0, ""), kept)
    without = run(bench, "sh", "-c", f"LD_PRELOAD={rsockets} true", arguments=("--no-device-files",))
    bench.expect_equal(without.stderr, "", "--no-device-files")


# Stands for a program of a pair, which ends well, or whose client fails while the server waits, or whose server fails.
# It needs the address 127.0.0.1 in figures: a system may have no names.
STAND_IN = """
import socket, sys, time
if sys.argv[-1] != "127.0.0.1":
    listener = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
    listener.accept()[0].recv(1)
    time.sleep(600 if "fails" in sys.argv else 0)
    sys.exit(4 if "server" in sys.argv else 0)
with socket.create_connection(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))) as sender:
    sender.sendall(b"x")
sys.exit(3 if "fails" in sys.argv else 0)
"""


def pingpong(bench):
    """The exit status of scripts/pingpong. A client that fails ends its server, too."""
    program = bench.folder / "program"
    program.write_text(f"#!{PYTHON}\n{STAND_IN}", encoding="utf-8")
    program.chmod(0o755)
    for word, status in (("well", 0), ("fails", 3), ("server", 4)):
        with contextlib.closing(live.Port()) as port:
            done = bench.start(e2e.ROOT / "scripts" / "pingpong", program, word,
                               env={**os.environ, "RXNIC_PORT": str(port.number)})
        bench.expect_equal(done.returncode, status, f"{word}: {done.stderr}")


def without_proc(bench):
    """Without /proc: a message."""
    if "libasan" in str(bench.options.preload):
        raise e2e.Skip("the address sanitizer learns from /proc where the stack is")
    hidden = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
    if os.geteuid() != 0 or bench.start(*hidden, "true").returncode != 0:
        raise e2e.Skip("cannot hide /proc")
    for command in (["run", "--", "true"], ["serve", "--socket", "socket"]):
        done = bench.start(*hidden, bench.options.rxnic, *command)
        bench.expect_equal(done.returncode, 1, f"{command}: exit code")
        bench.expect("/proc/self/exe: found No such file or directory; expected /proc" in done.stderr, done.stderr)
        bench.expect("filesystem error" not in done.stderr, done.stderr)


def refused(bench):
    """A socket that is in use, an impossible path, an unknown option: exit 2 or 1 and a reason."""
    with live.Fabric(bench, 1, record=False) as fabric:
        second = bench.rxnic("serve", "--socket", fabric.socket, "--out", bench.folder / "second")
        bench.expect(second.returncode in (1, 2) and fabric.socket in second.stderr, f"in use: {second.stderr}")
        bench.expect(fabric.answers(), "the first goes on")
    for arguments in (["serve"], ["serve", "--socket", "/nonexistent/socket"], ["run"],
                      ["run", "--nics", "0", "--", "true"], ["run", "--nics", "65", "--", "true"],
                      ["run", "--grace", "soon", "--", "true"]):
        done = bench.rxnic(*arguments)
        bench.expect(done.returncode in (1, 2) and done.stderr.strip(), f"{arguments}: {done.returncode} {done.stderr}")


PATH = ("grh_scatter", "cqe_generator", "srq_wqe_fetcher")  # that every packet of ibv_srq_pingpong passes


def expect_compared(bench, text, nics, blocks):
    """Expects that each of the blocks says how much of it was compared, on each NIC."""
    for nic in range(nics):
        for block in blocks:
            found = re.search(rf"lockstep: nic{nic}\.{block}: (\d+) cycles compared, \d+ of them clocked; (\d+) ", text)
            bench.expect(found and int(found[1]) > 1000 and int(found[2]) > 40, f"nic{nic}.{block}: {text[-800:]}")


def lockstep(bench):
    """RTL beside the model under a program, and in its place: with `run` and with `serve`."""
    live.need("ibv_srq_pingpong")
    if "found no RTL of the project" in run(bench, "true", arguments=("--rtl", PATH[0])).stderr:
        raise e2e.Skip("Verilator: the program was built without RTL")
    for option in ("--lockstep", "--rtl"):
        port = live.Port()
        with live.Fabric(bench, 2, record=False, arguments=[option, ",".join(PATH)]) as fabric:
            server, client = (["ibv_srq_pingpong", "-d", f"rxnic{nic}", "-g", "2", "-n", "20", "-p", port.number, "-c"]
                              for nic in (0, 1))
            fabric.pair(server, [*client, "127.0.0.1"], port)
        port.close()
        if option == "--lockstep":
            expect_compared(bench, fabric.simulator.text(), 2, PATH)
        else:
            clocked = re.findall(r"rtl: (\S+): \d+ cycles clocked, [1-9]\d* transactions", fabric.simulator.text())
            bench.expect_equal(sorted(clocked), sorted(f"nic{nic}.{block}" for nic in (0, 1) for block in PATH), option)
    done = run(bench, *env(bench), bench.options.programs / "examples" / "tag_matching",
               arguments=("--nics", "2", "--lockstep", ",".join((*PATH, "tag_match_cam"))))
    bench.expect_equal(done.returncode, 0, f"tag_matching: {done.stderr}")
    found = re.search(r"lockstep: nic1\.tag_match_cam: (\d+) cycles compared, \d+ of them clocked; (\d+) ", done.stderr)
    bench.expect(found and int(found[2]) > 20, f"tag_matching: {done.stderr}")


def fatal(bench):
    """A program that waits for asynchronous events has one when the simulator ends, or is killed: DEVICE_FATAL."""
    live.need("ibv_asyncwatch", "ibv_devinfo")
    with live.Fabric(bench, 2, record=False) as fabric:
        for number in (signal.SIGINT, signal.SIGKILL):
            watcher = fabric.start("watcher", "ibv_asyncwatch", "-d", "rxnic1")
            log = fabric.folder / "out" / "log.txt"
            live.wait_until(lambda: watcher.ended() or "has opened NIC 1" in log.read_text(encoding="utf-8"),
                            "the watcher's device")
            fabric.run("ibv_devinfo", "-d", "rxnic0")  # behind it the watcher's open has been answered, too
            bench.expect(not watcher.ended(), f"nothing has happened yet: {watcher.story()}")
            fabric.simulator.signal(number)
            fabric.simulator.wait(10)
            code = watcher.wait(10)
            bench.expect_equal(code, 1, f"no further event: status: {watcher.story()}")
            bench.expect_equal(re.findall(r"event_type (\w+)", watcher.text()), ["IBV_EVENT_DEVICE_FATAL"],
                               f"signal {number}: events: {watcher.story()}")
            fabric.open()


CHECKS = {"status": status, "leaves": leaves, "hidden": hidden, "ends": ends, "interrupt": interrupt, "users": users,
          "network": network, "libfabric": libfabric, "preload": preload, "without_proc": without_proc,
          "pingpong": pingpong, "refused": refused, "lockstep": lockstep, "fatal": fatal}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where the live programs are built")
    sys.exit(e2e.run(parser, CHECKS))
