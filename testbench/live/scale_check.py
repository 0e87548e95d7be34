#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many of everything on one simulator: programs at once, QPs, connections, objects; what was taken is given back."""
import os
import pathlib
import re
import sys

import live
import rdmacm_check
from figures import figures
from live import e2e

PAIRS = 8


def pairs(bench):
    """Eight pairs of ib_send_bw at once on two NICs."""
    live.need("ib_send_bw")
    messages, size = 200, 4096
    for uid in live.uids():
        ports = [live.Port() for _ in range(PAIRS)]
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            def command(nic, port):
                return ["ib_send_bw", "-d", f"rxnic{nic}", "-n", messages, "-s", size, "-Q", "1", "-F",
                        "-p", port.number]
            servers = [fabric.start(f"server{n}", *command(n % 2, port)) for n, port in enumerate(ports)]
            live.wait_until(lambda: all(port.is_listened_on() for port in ports), "the servers listen")
            clients = [fabric.start(f"client{n}", *command((n + 1) % 2, port), "127.0.0.1")
                       for n, port in enumerate(ports)]
            for program in clients + servers:
                bench.expect(program.wait() == 0, program.story())
        for port in ports:
            port.close()
        if fabric.report is None:
            return
        sent = live.counters(fabric.report, "requester")["payload_bytes"]
        bench.expect_equal(sent, PAIRS * messages * size, "bytes of payload that the requesters sent")


def qps(bench):
    """256 QPs on one SRQ; 4,000 QPs."""
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            text = fabric.run(bench.options.programs / "live_verbs", "--gtest_filter=*/Scale.*", "--gtest_brief=1")
        bench.expect("[  PASSED  ] 4 tests" in text, text[-2000:])


def connects(bench):
    """A thousand connections of rdma_cm, made and ended."""
    live.need("cmtime")
    count = 1000
    row = rdmacm_check.Row(f"cmtime -b {rdmacm_check.SERVER} -c {count}", f"cmtime -s {rdmacm_check.SERVER} -c {count}",
                           ends=False, recorded=False)
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            good, server, client = rdmacm_check.run_pair(fabric, row)
            bench.expect(good, f"{server.story()}\n{client.story()}\n{fabric.simulator.story()}")
        bench.expect("disconnect" in client.text(), client.text()[-2000:])
        if fabric.report is None:
            return
        # REQ, REP, RTU, DREQ and DREP of each.
        packets = live.counters(fabric.report, "rx_parser")["packets"]
        bench.expect(packets >= 5 * count, f"{packets} packets for {count} connections")


def objects(bench):
    """Objects of each kind, made and freed: the simulator has neither more memory nor more descriptors afterwards."""
    count = int(os.environ.get("RXNIC_SCALE_OBJECTS", "1500"))
    with live.Fabric(bench, 1, record=False) as fabric:
        def come_and_go():
            text = fabric.run(bench.options.programs / "live_verbs", "--gtest_filter=ScaleObjects.*",
                              "--gtest_brief=1", RXNIC_SCALE_OBJECTS=str(count))
            bench.expect("[  PASSED  ] 1 test" in text, text[-2000:])
            print(re.search(r"\d+ kinds, .*|$", text)[0])
            return figures(fabric)
        come_and_go()
        before = come_and_go()
        after = come_and_go()
    print(f"resident {before.memory:.1f} MB, then {after.memory:.1f} MB; {after.descriptors} descriptors")
    bench.expect_equal(after.descriptors, before.descriptors, "descriptors of the simulator")
    if not bench.options.preload:  # a sanitizer keeps what is freed
        bench.expect(after.memory < before.memory + 4, f"resident: {before.memory:.1f} MB, then {after.memory:.1f} MB")


CHECKS = {"pairs": pairs, "qps": qps, "connects": connects, "objects": objects}

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where live_verbs is")
    sys.exit(e2e.run(parser, CHECKS))
