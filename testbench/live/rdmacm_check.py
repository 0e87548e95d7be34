#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use rdma_cm, unmodified, with Debian's librdmacm: its utilities, server and client on two NICs.

The messages of the connection manager cross the model: they are counted there, and tshark reads them on the wire.
"""
import re
import sys

import live
from live import e2e

SERVER, CLIENT = "10.0.0.1", "10.0.0.2"  # rxnic0, rxnic1
PATIENCE = 60  # seconds until a server listens


class Row:
    """A server and a client, what both must print, and how many REQ or SIDR_REQ the wire has at least."""

    def __init__(self, server, client, prints=None, requests=1):
        self.server, self.client = server.split(), client.split()
        self.prints, self.requests = prints, requests


UTILITIES = {
    "rping": [Row(f"rping -s -a {SERVER} -C 20 -V -v", f"rping -c -a {SERVER} -C 20 -V -v", r"ping data: rdma-ping-19"),
              Row(f"rping -s -a {SERVER} -C 50 -V -S 4000", f"rping -c -a {SERVER} -C 50 -V -S 4000")],
    "ucmatose": [Row(f"ucmatose -b {SERVER} -C 20 -S 5000", f"ucmatose -s {SERVER} -C 20 -S 5000", "return status 0"),
                 Row(f"ucmatose -b {SERVER} -c 8", f"ucmatose -s {SERVER} -c 8", "return status 0", 8)],
    "udaddy": [Row(f"udaddy -b {SERVER} -C 20 -S 1000", f"udaddy -s {SERVER} -C 20 -S 1000", "return status 0")],
    "riostream": [Row(f"riostream -b {SERVER} -S 5000 -I 10 -C 5", f"riostream -s {SERVER} -S 5000 -I 10 -C 5 -T v",
                      r"custom +4.8k +5 +10 ")],
    "rdma_client": [Row("rdma_server", f"rdma_client -s {SERVER}", "rdma_client: end 0")],
    "rdma_xclient": [Row("rdma_xserver", f"rdma_xclient -s {SERVER}", "rdma_xclient: end 0")],
}


def environment(fabric, nic):
    """How a program under `serve` finds rdma_cm, on one NIC."""
    library = live.reachable(fabric.bench.options.verbs.parent / "librxnic_device_files.so", fabric)
    return {"LD_PRELOAD": str(library), "RXNIC_DEVICE_FILES": str(fabric.folder / "out" / "device_files"),
            "RXNIC_NIC": str(nic)}


def run_pair(fabric, row):
    """Runs both. A client that comes before its server listens is rejected, and comes again."""
    server = fabric.start("server", *row.server, **environment(fabric, 0))

    def attempt():
        client = fabric.start("client", *row.client, **environment(fabric, 1))
        client.wait()
        return client if client.process.returncode == 0 or server.ended() else None

    client = live.wait_until(attempt, " ".join(row.client), PATIENCE)
    return client.wait() == 0 and server.wait() == 0, server, client


def utility(name):
    def check(bench):
        live.need(name)
        wire = live.WireCheck(bench)
        for uid in live.users().values():
            for row in UTILITIES[name]:
                what = " ".join(row.client)
                with live.Fabric(bench, 2, uid) as fabric:
                    good, server, client = run_pair(fabric, row)
                    bench.expect(good, f"{what}: {server.story()}\n{client.story()}\n{fabric.simulator.story()}")
                if row.prints:
                    bench.expect(re.search(row.prints, client.text()), f"{what}: {client.text()[-2000:]}")
                wire.add(fabric.wire)
        wire.finish(at_least=sum(row.requests for row in UTILITIES[name]))

    check.__doc__ = f"{name} and its server"
    return check


CHECKS = {name: utility(name) for name in UTILITIES}

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
