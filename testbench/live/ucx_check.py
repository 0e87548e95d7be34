#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""UCX on the model: ucx_perftest over RC and UD; the packets are counted on the model.

All tests run between two NICs as root (when we are root), every second one as an ordinary user on one, too. With
RXNIC_EVERY_PLACE=1 each test runs in all four combinations.
"""
import re
import sys

import live
from live import e2e
from programs_table import Use, noted_run

TESTS = ("tag_lat", "tag_bw", "tag_sync_lat", "ucp_am_lat", "ucp_am_bw", "stream_lat", "stream_bw", "ucp_put_lat",
         "ucp_put_bw", "ucp_get", "ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap")
ITERATIONS = 200
BYTES = 2000
ATOMICS = ("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap")
# UCX's UD gives a peer up that has not answered for 30 s by the clock: a machine may be held for longer than that.
PATIENT = {"UCX_UD_VERBS_TIMEOUT": "600s"}


def environment(fabric, transport, nic):
    """How a program under `serve` sees the files of its NICs, and UCX's choice of one."""
    library = live.reachable(fabric.bench.options.verbs.parent / "librxnic_device_files.so", fabric)
    return {"LD_PRELOAD": str(library), "RXNIC_DEVICE_FILES": str(fabric.folder / "out" / "device_files"),
            "UCX_TLS": f"{transport},self", "UCX_NET_DEVICES": f"rxnic{nic}:1", "UCX_WARN_UNUSED_ENV_VARS": "n",
            **PATIENT}


def size(test):
    return 8 if test in ATOMICS else BYTES


def use(transport, test):
    """What the table of programs names."""
    return Use("ucx_perftest", transport[:2].upper(), f"-t {test} -s {size(test)}")


def run_test(bench, wire, uid, nics, transport, test):
    """Returns the fabric."""
    what = f"{test} over {transport} ({nics} NICs)"
    port = live.Port()
    options = ["-t", test, "-n", ITERATIONS, "-w", 0, "-p", port.number, "-s", size(test)]
    try:
        with live.Fabric(bench, nics, uid) as fabric:
            server = fabric.start("server", "ucx_perftest", *options, **environment(fabric, transport, 0))
            live.wait_until(lambda: server.ended() or port.is_listened_on(fabric.beside), f"{what}: the server's port")
            client = fabric.start("client", "ucx_perftest", fabric.server_address, *options,
                                  **environment(fabric, transport, nics - 1))
            good = client.wait() == 0 and server.wait() == 0
            bench.expect(good, f"{what}: {server.story()}\n{client.story()}\n{fabric.simulator.story()}")
    finally:
        port.close()
    if not good or fabric.report is None:
        return fabric
    result = re.search(rf"^Final: +{ITERATIONS} ", client.text(), re.M)
    bench.expect(result, f"{what}: no result: {client.text()[-2000:]}")
    packets = live.counters(fabric.report, "rx_parser")["packets"]
    bench.expect(packets >= ITERATIONS, f"{what}: only {packets} packets on the model")
    wire.add(fabric.wire)
    return fabric


def over(transport):
    def check(bench):
        live.need("ucx_perftest")
        wire = live.WireCheck(bench)
        for number, test in enumerate(TESTS):
            places = live.places()
            for _, uid, nics in places if live.EVERY_PLACE or number % 2 else places[:1]:
                with noted_run(bench, use(transport, test)) as run:
                    run.fabric = run_test(bench, wire, uid, nics, transport, test)
        wire.finish(at_least=len(TESTS) * ITERATIONS)

    check.__doc__ = f"ucx_perftest over {transport}: {len(TESTS)} tests"
    return check


UCX_INFO = Use("ucx_info", "", "-d")


def info(bench):
    """ucx_info lists both NICs with RC and UD"""
    live.need("ucx_info")
    for uid in live.users().values():
        with noted_run(bench, UCX_INFO) as run, live.Fabric(bench, 2, uid, record=False) as fabric:
            run.fabric = fabric
            shown = fabric.run("ucx_info", UCX_INFO.options, **fabric.device_files())
            for nic in ("rxnic0", "rxnic1"):
                for transport in ("rc_verbs", "ud_verbs"):
                    bench.expect(re.search(rf"Transport: {transport}\n#\s+Device: {nic}:1", shown),
                                 f"{nic}: no {transport}")


CHECKS = {"rc": over("rc_v"), "ud": over("ud_v"), "info": info}
PROGRAMS = [UCX_INFO, *(use(transport, test) for transport in ("rc_v", "ud_v") for test in TESTS)]

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
