#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many of everything on one simulator: programs at once, QPs, connections, objects; what was taken is given back."""
import os
import pathlib
import re
import sys
import time

import kill_check
import live
import rdmacm_check
from figures import figures
from live import e2e

PAIRS, AGAIN = 8, 2  # the second time fewer: most of their time the programs measure the CPU's clock
MEMORY, REGIONS = 4, 2  # MB and regions more that an allocator may have taken for itself


def at_rest(fabric, pid):
    """Its figures when it has had the same descriptors for a while."""
    now, same = figures(fabric, pid), 0
    while same < 20:
        time.sleep(live.POLL)
        before, now = now, figures(fabric, pid)
        same = same + 1 if now.descriptors == before.descriptors else 0
    return now


class GivenBack:
    """What a process has after some work, and after the same work, or the most of it, again: no more the second time.

    After either it has no more descriptors than before the first.
    """

    def __init__(self, bench, fabric, what="the simulator", pid=None):
        self.bench, self.fabric, self.what, self.pid = bench, fabric, what, pid
        process = pid or fabric.simulator.process.pid
        try:
            pathlib.Path(f"/proc/{process}/maps").read_bytes()
        except PermissionError as refused:  # root of a container, of a process of another user
            raise e2e.Skip(f"what {what} has mapped may not be read: CAP_SYS_PTRACE") from refused
        self.idle = at_rest(fabric, pid)
        self.first = None

    def done(self):
        """After the work, when its programs have ended: descriptors for them are closed a moment later."""
        def settled():
            now = figures(self.fabric, self.pid)
            return now if now.descriptors <= self.idle.descriptors else None

        now = live.wait_until(settled, f"{self.what} with {self.idle.descriptors} descriptors as before the work", 10)
        if self.first is None:
            self.first = now
            return
        print(f"{self.what}: resident {self.first.memory:.1f} MB, then {now.memory:.1f} MB; {self.first.regions} "
              f"regions, then {now.regions}; {now.descriptors} descriptors")
        self.bench.expect_equal(now.descriptors, self.first.descriptors, f"{self.what}: descriptors")
        if not self.bench.options.preload:  # a sanitizer keeps what is freed
            self.bench.expect(now.memory < self.first.memory + MEMORY,
                              f"{self.what}: resident {self.first.memory:.1f} MB, then {now.memory:.1f} MB")
            self.bench.expect(now.regions <= self.first.regions + REGIONS,
                              f"{self.what}: {self.first.regions} regions, then {now.regions}")


def pairs(bench):
    """Eight pairs of ib_send_bw at once on two NICs, and two of them again."""
    live.need("ib_send_bw")
    messages, size = 200, 4096

    def at_once(fabric, count):
        def command(nic, port):
            return ["ib_send_bw", "-d", f"rxnic{nic}", "-n", messages, "-s", size, "-Q", "1", "-F", "-p", port.number]

        ports = [live.Port() for _ in range(count)]
        servers = [fabric.start(f"server{n}", *command(n % 2, port)) for n, port in enumerate(ports)]
        live.wait_until(lambda: all(port.is_listened_on() for port in ports), "the servers listen")
        clients = [fabric.start(f"client{n}", *command((n + 1) % 2, port), "127.0.0.1")
                   for n, port in enumerate(ports)]
        for program in clients + servers:
            bench.expect(program.wait() == 0, program.story())
        for port in ports:
            port.close()

    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            given_back = GivenBack(bench, fabric)
            for count in (PAIRS, AGAIN):
                at_once(fabric, count)
                given_back.done()
        if fabric.report is None:
            return
        sent = live.counters(fabric.report, "requester")["payload_bytes"]
        bench.expect_equal(sent, (PAIRS + AGAIN) * messages * size, "bytes of payload that the requesters sent")


def qps(bench):
    """256 QPs on one SRQ; 4,000 QPs, and these again between two NICs."""
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            given_back = GivenBack(bench, fabric)
            for tests, count in (("*/Scale.*", "4 tests"), ("*/Scale.FourThousandQps/TwoNics", "1 test")):
                text = fabric.run(bench.options.programs / "live_verbs", f"--gtest_filter={tests}", "--gtest_brief=1")
                bench.expect(f"[  PASSED  ] {count}" in text, text[-2000:])
                given_back.done()


def connects(bench):
    """A thousand connections of rdma_cm, made and ended, half of them at a time."""
    live.need("cmtime", "rping")
    count = 500
    row = rdmacm_check.Row(f"cmtime -b {rdmacm_check.SERVER} -c {count}", f"cmtime -s {rdmacm_check.SERVER} -c {count}",
                           ends=False, recorded=False)
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            # The agent of rdma_cm stays as long as a program has it open: one that waits for a client that never comes.
            waits = fabric.start("waits", "rping", "-s", "-a", rdmacm_check.SERVER, **fabric.device_files(),
                                 RXNIC_NIC="0")
            log = fabric.folder / "out" / "log.txt"
            opened = "(rping) has opened NIC 0"
            live.wait_until(lambda: opened in log.read_text(encoding="utf-8"), "rping at work")
            agent = kill_check.agent_of(fabric)
            given_back = [GivenBack(bench, fabric), GivenBack(bench, fabric, "the agent of rdma_cm", agent)]
            for _ in range(2):
                good, server, client = rdmacm_check.run_pair(fabric, row)
                bench.expect(good, f"{server.story()}\n{client.story()}\n{fabric.simulator.story()}")
                bench.expect("disconnect" in client.text(), client.text()[-2000:])
                for process in given_back:
                    process.done()
            bench.expect(not waits.ended(), waits.story())
        if fabric.report is None:
            return
        # REQ, REP, RTU, DREQ and DREP of each.
        packets = live.counters(fabric.report, "rx_parser")["packets"]
        bench.expect(packets >= 5 * 2 * count, f"{packets} packets for {2 * count} connections")


def objects(bench):
    """Objects of each kind, made and freed: the simulator has no more of anything afterwards."""
    count = int(os.environ.get("RXNIC_SCALE_OBJECTS", "1500"))
    with live.Fabric(bench, 1, record=False) as fabric:
        given_back = GivenBack(bench, fabric)

        def come_and_go():
            text = fabric.run(bench.options.programs / "live_verbs", "--gtest_filter=ScaleObjects.*",
                              "--gtest_brief=1", RXNIC_SCALE_OBJECTS=str(count))
            bench.expect("[  PASSED  ] 1 test" in text, text[-2000:])
            print(re.search(r"\d+ kinds, .*|$", text)[0])

        come_and_go()
        for _ in range(2):
            come_and_go()
            given_back.done()


CHECKS = {"pairs": pairs, "qps": qps, "connects": connects, "objects": objects}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where live_verbs is")
    sys.exit(e2e.run(parser, CHECKS))
