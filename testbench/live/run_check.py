#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rxnic run` and `rxnic serve` as a user sees them: exit codes, Ctrl-C, who may connect to the socket, leftovers."""
import json
import os
import pathlib
import re
import signal
import stat
import sys

import live
from live import e2e

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
    live.need("ibv_devices")
    listed = run(bench, *env(bench), "ibv_devices")
    bench.expect("rxnic0" in listed.stdout and "rxnic1" in listed.stdout, listed.stdout)
    one = run(bench, *env(bench), "ibv_devices", arguments=("--nics", "3", "--nic", "2"))
    bench.expect(re.findall(r"rxnic\d", one.stdout) == ["rxnic2"], one.stdout)


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
    """That each of the blocks says how much of it was compared, on each NIC."""
    for nic in range(nics):
        for block in blocks:
            found = re.search(rf"lockstep: nic{nic}\.{block}: (\d+) cycles compared, \d+ of them clocked; (\d+) ", text)
            bench.expect(found and int(found[1]) > 1000 and int(found[2]) > 40, f"nic{nic}.{block}: {text[-800:]}")


def lockstep(bench):
    """RTL beside the model under a program, and in its place: with `run` and with `serve`."""
    live.need("ibv_srq_pingpong")
    if "Verilator was not found" in run(bench, "true", arguments=("--rtl", PATH[0])).stderr:
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


CHECKS = {"status": status, "ends": ends, "interrupt": interrupt, "users": users, "refused": refused,
          "lockstep": lockstep, "fatal": fatal}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where the live programs are built")
    sys.exit(e2e.run(parser, CHECKS))
