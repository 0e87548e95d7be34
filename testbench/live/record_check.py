#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record and replay: a recorded run, replayed without its programs, gives the same results."""
import collections
import json
import pathlib
import re
import shutil
import socket
import sys
import time

import kill_check
import live
import rdmacm_check
import ucx_check
from live import e2e

# The parts of the report that a replay must repeat exactly.
SAME = ("cycles", "time_ps", "packets", "messages", "cqes", "error_cqes", "bytes", "latency_ns", "one_way_latency_ns",
        "transport", "events", "fabric", "nics", "state_hash")


def replay_of(bench, fabric, what):
    """Replays a recorded run: an equal report and an equal wire."""
    recorded = fabric.folder / "out"
    out = fabric.folder / "again"
    done = bench.rxnic("replay", recorded, "--quiet", "--out", out)
    bench.expect_equal(done.returncode, 0, f"{what}: replay: {done.stdout}{done.stderr}")
    if done.returncode != 0 or fabric.report is None:
        return
    again = json.loads((out / "report.json").read_text(encoding="utf-8"))
    for key in SAME:
        bench.expect(again.get(key) == fabric.report.get(key),
                     f"{what}: {key}: {str(again.get(key))[:300]}; recorded {str(fabric.report.get(key))[:300]}")
    if (out / "wire.pcap").exists():
        bench.expect((out / "wire.pcap").read_bytes() == fabric.wire.read_bytes(), f"{what}: another wire")
    loud = bench.rxnic("replay", recorded)
    bench.expect(loud.returncode == 0 and re.search("equal|same", loud.stdout + loud.stderr),
                 f"{what}: does not say that it is equal: {loud.stdout[-500:]}{loud.stderr[-500:]}")


def pairs(bench):
    """Programs from Debian."""
    live.need("ibv_srq_pingpong", "ib_send_bw")
    for command in (["ibv_srq_pingpong", "-g", "2", "-n", "200"], ["ibv_rc_pingpong", "-g", "1", "-n", "50", "-e"],
                    ["ibv_ud_pingpong", "-g", "2", "-n", "50"], ["ib_send_bw", "-F", "-n", "300"],
                    ["ib_read_bw", "-F", "-n", "100"], ["ib_atomic_bw", "-F", "-n", "100"]):
        port = live.Port()
        with live.Fabric(bench, 2) as fabric:
            options = [*command[1:], "-p", port.number]
            fabric.pair([command[0], "-d", "rxnic0", *options], [command[0], "-d", "rxnic1", *options, "127.0.0.1"],
                        port)
        port.close()
        replay_of(bench, fabric, command[0])


def suites(bench):
    """Test programs of our own: all opcodes, errors, absent pages, threads."""
    for suite in ("Payload", "Protection", "Paging", "Raw", "Rss", "Opcodes", "Tso", "Threads", "Tags", "Rendezvous",
                  "Xrc", "Windows", "Multicast", "DeviceMemory", "Import", "Completions", "Events", "Asynchronous",
                  "NullRegion", "AtomicWrite", "SendFlags", "Srq"):
        with live.Fabric(bench, 2) as fabric:
            fabric.run(bench.options.programs / "live_verbs", f"--gtest_filter=*{suite}.*", "--gtest_brief=1")
        replay_of(bench, fabric, suite)


def impaired(bench):
    """A network that loses, corrupts, duplicates, reorders, marks and pauses; what if it does not, or more often?"""
    settings = [f"fabric.{what}_ppm=20000" for what in ("loss", "corrupt", "duplicate", "reorder", "mark", "pause")]
    for suite in ("Unreliable", "Integrity"):  # a what-if of the former may wait for a message that is lost
        with live.Fabric(bench, 2, arguments=[part for one in settings for part in ("--set", one)]) as fabric:
            fabric.run(bench.options.programs / "live_verbs", f"--gtest_filter={suite}.*", "--gtest_brief=1",
                       RXNIC_ROUNDS="2", RXNIC_IMPAIRED="loss+corrupt+duplicate+reorder")
        replay_of(bench, fabric, f"{suite}, impaired")
    if fabric.report is None:  # the simulator is another one's: what it did is not known
        return
    lost = fabric.report["fabric"]["lost"]
    kinds = ("lost", "corrupted", "duplicated", "reordered", "pauses")
    enough = all(fabric.report["fabric"][key] > 10 for key in kinds)
    bench.expect(enough, f"too little came to harm: {fabric.report['fabric']}")
    events = fabric.folder / "events"
    done = bench.rxnic("replay", fabric.folder / "out", "--quiet", "--events", "--out", events)
    bench.expect_equal(done.returncode, 0, f"--events: {done.stdout}{done.stderr}")
    rows = json.loads(bench.rxnic("explain", events, "--incidents", "--json").stdout)
    told = collections.Counter(row["cause"] for row in rows if row["kind"] == "network")
    bench.expect_equal(told, {key: fabric.report["fabric"][key] for key in kinds if key != "pauses"}, "explained")
    frame = next(row["packet"] for row in rows if row["cause"] == "lost")
    said = bench.rxnic("explain", events, "--packet", str(frame)).stdout
    bench.expect(f"packet {frame} for QP" in said and "lost on its way" in said, f"explain --packet {frame}: {said}")
    for value, expected in ((0, lambda n: n == 0), (40000, lambda n: n > lost)):
        out = fabric.folder / f"loss_{value}"
        setting = f"fabric.loss_ppm={value}"
        done = bench.rxnic("replay", fabric.folder / "out", "--quiet", "--out", out, "--set", setting)
        bench.expect_equal(done.returncode, 0, f"what if {setting}: {done.stdout}{done.stderr}")
        found = json.loads((out / "report.json").read_text(encoding="utf-8"))["fabric"]["lost"]
        bench.expect(expected(found), f"{setting}: {found} lost; recorded {lost}")


def connects(bench):
    """Programs that connect by rdma_cm, with the agent's datagrams."""
    live.need("rping", "ucmatose", "udaddy")
    for row in (rdmacm_check.UTILITIES[name][0] for name in ("rping", "ucmatose", "udaddy")):
        with live.Fabric(bench, 2) as fabric:
            good, server, client = rdmacm_check.run_pair(fabric, row)
            bench.expect(good, f"{server.story()}\n{client.story()}")
        replay_of(bench, fabric, row.client[0])


def addresses(bench):
    """--first-address: the GIDs, rdma_cm, the files and the frames have it, and a replay has it from the record."""
    live.need("ibv_rc_pingpong", "rping")
    zero, two = "203.0.113.254", "203.0.114.0"
    with live.Fabric(bench, 3, arguments=["--first-address", zero]) as fabric:
        port = live.Port()
        options = ["-g", "2", "-n", "20", "-p", port.number]
        _, _, client = fabric.pair(["ibv_rc_pingpong", "-d", "rxnic0", *options],
                                   ["ibv_rc_pingpong", "-d", "rxnic2", *options, "127.0.0.1"], port)
        port.close()
        for gid in (zero, two):
            bench.expect(f"GID ::ffff:{gid}\n" in client.text(), f"{gid}: {client.story()}")
        row = rdmacm_check.Row(f"rping -s -a {zero} -C 3 -V", f"rping -c -a {zero} -C 3 -V")
        good, server, client = rdmacm_check.run_pair(fabric, row)
        bench.expect(good, f"{server.story()}\n{client.story()}")
        gid = fabric.run("cat", "/sys/class/infiniband/rxnic2/ports/1/gids/2", **fabric.device_files())
        bench.expect_equal(gid, "0000:0000:0000:0000:0000:ffff:cb00:7200\n", "GID 2 of rxnic2 under /sys")
    replay_of(bench, fabric, "--first-address")
    between = socket.inet_aton(zero) + socket.inet_aton(two)
    bench.expect(between in fabric.wire.read_bytes(), "no frame between these addresses")
    log = (fabric.folder / "out/host.jsonl").read_text(encoding="utf-8")
    bench.expect(f'"first_address":"{zero}"' in log.split("\n", 1)[0], "the header of the record")
    done = bench.rxnic("replay", fabric.folder / "out", "--set", "fabric.cable_delay_ps=20000", "--out", "what_if")
    bench.expect_equal(done.returncode, 0, f"what-if: {done.stdout[-500:]}{done.stderr}")
    # With other addresses the record's programs name peers that are not there.
    (fabric.folder / "out/host.jsonl").write_text(log.replace(f'"{zero}"', '"198.18.0.1"'), encoding="utf-8")
    done = bench.rxnic("replay", fabric.folder / "out")
    bench.expect(done.returncode == 1 and "cycle " in done.stdout + done.stderr,
                 f"with other addresses: {done.returncode} {done.stdout[-500:]}{done.stderr}")


def ucx(bench):
    """UCX, which polls and wakes as it likes."""
    live.need("ucx_perftest")
    replay_of(bench, ucx_check.run_test(bench, live.WireCheck(bench), None, 2, "rc_v", "tag_lat"), "ucx_perftest")


def deaths(bench):
    """Programs that are killed at work, and one that attacks the simulator."""
    for command in (["endless", "-t", "tags"], ["endless", "-t", "windows"], ["endless_connects"]):
        if command not in kill_check.endless(bench):
            continue
        with live.Fabric(bench, 2) as fabric:
            pair = kill_check.Victims(fabric, command)
            time.sleep(0.2)  # at work
            pair.server.kill()
            time.sleep(0.2)  # the other one goes on for a while
        replay_of(bench, fabric, " ".join(command))
    with live.Fabric(bench, 2) as fabric:
        fabric.run(bench.options.programs / "hostile", "1000")
    replay_of(bench, fabric, "hostile")


def tampered(bench):
    """The replay of a changed recording is not reported as equal."""
    live.need("ibv_rc_pingpong")
    port = live.Port()
    with live.Fabric(bench, 2) as fabric:
        options = ["-g", "2", "-n", "10", "-p", port.number]
        fabric.pair(["ibv_rc_pingpong", "-d", "rxnic0", *options],
                    ["ibv_rc_pingpong", "-d", "rxnic1", *options, "127.0.0.1"], port)
    port.close()
    log = (fabric.folder / "out" / "host.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    doorbells = [number for number, line in enumerate(log) if '"doorbell"' in line]
    bench.expect(len(doorbells) > 20, f"{len(doorbells)} doorbells in the log")
    for what, lines, codes in (("a doorbell is missing", log[:doorbells[10]] + log[doorbells[10] + 1:], (1, 3)),
                               ("cut off", log[:len(log) // 2], (3,)),
                               ("a line is garbage", log[:5] + ["{]\n"] + log[5:], (3,))):
        folder = bench.folder / "tampered"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(fabric.folder / "out", folder)
        (folder / "host.jsonl").write_text("".join(lines), encoding="utf-8")
        done = bench.rxnic("replay", folder, "--quiet")
        bench.expect(done.returncode in codes, f"{what}: exit {done.returncode}; expected {codes}: {done.stderr}")
        bench.expect(done.stderr.strip() != "", f"{what}: says nothing")


FULL = """
mount -t tmpfs -o size={size} none {folder} || exit 77
{rxnic} run --nics 2 --record --out {folder}/out -- env {env} {program} --gtest_filter=*Payload.* --gtest_brief=1
echo "run: $?"
{rxnic} replay {folder}/out
echo "replay: $?"
"""


def full(bench):
    """A full disk ends the record, not the run; what was recorded until then is repeated."""
    folder = bench.folder / "disk"
    folder.mkdir()
    variables = " ".join(f"{name}={value}" for name, value in live.sanitizer(bench).items())
    events = []
    for size in ("40k", "200k", "1m", "4m"):
        script = FULL.format(size=size, folder=folder, rxnic=bench.options.rxnic, env=variables,
                             program=bench.options.programs / "live_verbs")
        done = bench.start("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
        if done.returncode == 77 or "unshare" in done.stderr:
            raise e2e.Skip(f"no file system of a limited size: {done.stderr.strip()}")
        story = f"a disk of {size}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        bench.expect("[  PASSED  ]" in done.stdout, f"the program did not go on: {story}")
        bench.expect("run: 1\n" in done.stdout and "No space left on device" in done.stderr, f"no error: {story}")
        bench.expect("the record ends here" in done.stderr, f"the record does not end: {story}")
        bench.expect("E549" not in done.stderr, story)
        bench.expect("replay: 0\n" in done.stdout, f"no replay: {story}")
        bench.expect("the record ends before the run did: No space left" in done.stdout, f"no warning: {story}")
        equal = re.search(r"equal to the recorded run as far as it is recorded: .*, ([\d ]+) events", done.stdout)
        bench.expect(equal, f"not equal: {story}")
        events.append(int(equal[1].replace(" ", "")) if equal else 0)
    bench.expect(events == sorted(events) and events[-1] > 100, f"events in the records: {events}")


CHECKS = {"pairs": pairs, "suites": suites, "impaired": impaired, "connects": connects,
          "addresses": addresses, "ucx": ucx, "deaths": deaths, "tampered": tampered, "full": full}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where live_verbs is")
    sys.exit(e2e.run(parser, CHECKS))
