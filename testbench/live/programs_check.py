#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs from Debian, unmodified: ibverbs-utils and perftest, server and client as two processes.

Each row of the pingpongs runs between two NICs as root (when we are root) and on one NIC as an ordinary user. Those of
perftest, which measures the CPU's clock for a good part of a second, run in one of these two places, in turns. With
RXNIC_EVERY_PLACE=1 each row runs as both users on one NIC and between two, and some more with -a do. Both programs must
exit with 0, the model's counters must equal what the programs saw, and the wire must be valid RoCE.
"""
import pathlib
import re
import sys

import live
from live import e2e
from programs_table import Use, noted_run

ALL_SIZES = [1 << power for power in range(1, 24)]  # of perftest's -a


class Row:
    """One run of a server and a client. `seen` is what the programs saw, summed over both; None: not known."""

    def __init__(self, options, wqes=None, payload=None, cqes=None, reads=None, atomics=None, more_cqes=0,
                 everywhere=False):
        self.options = options.split()
        self.everywhere = everywhere  # in both places; otherwise in one
        self.seldom = False  # only when every row runs in every place
        self.seen = {("srq_wqe_fetcher", "wqes"): wqes, ("grh_scatter", "bytes"): payload,
                     ("cqe_generator", "cqes"): cqes, ("ack_generator", "reads"): reads,
                     ("ack_generator", "atomics"): atomics}
        self.slack = more_cqes  # requests that were on their way when the program had seen enough
        self.printed = {}  # of -W, by side: what it prints of each counter

    def places(self, number):
        """Where it runs, as the row of this number. With -W between two NICs: each side has the counters of one."""
        if self.seldom and not live.EVERY_PLACE:
            return []
        if self.printed:
            return [(user, uid, 2) for user, uid in live.users().items()]
        return live.places(None if self.everywhere else number)


def pingpong(size, count, options="", extra=0, slack=0):
    """`count` messages each way; `extra`: bytes in front of each datagram."""
    return Row(f"-s {size} -n {count} {options}", wqes=2 * count, payload=2 * count * (size + extra),
               cqes=4 * count, more_cqes=slack, everywhere=True)


def sends(size, count, options="", both=False, extra=0, qps=1):
    """ib_send_*: a receive for each message and, with -Q 1, a completion for each send."""
    total = count * (2 if both else 1) * qps
    return Row(f"-s {size} -n {count} {options}", wqes=total, payload=total * (size + extra), cqes=2 * total, reads=0)


def sends_of_all_sizes(count, options="", both=False, sizes=tuple(ALL_SIZES), extra=0):
    total = count * (2 if both else 1)
    return Row(f"-a -n {count} {options}", wqes=total * len(sizes),
               payload=total * (sum(sizes) + extra * len(sizes)), cqes=2 * total * len(sizes), reads=0)


def writes(size, count, options="", both=False):
    total = count * (2 if both else 1)
    return Row(f"-s {size} -n {count} {options}", wqes=0, payload=total * size, cqes=total, reads=0)


def writes_of_all_sizes(count, options="", both=False):
    total = count * (2 if both else 1)
    return Row(f"-a -n {count} {options}", wqes=0, payload=total * sum(ALL_SIZES), cqes=total * len(ALL_SIZES),
               reads=0)


def reads(size, count, options=""):
    return Row(f"-s {size} -n {count} {options}", wqes=0, payload=count * size, cqes=count, reads=count, atomics=0)


def atomics(count, options=""):
    return Row(f"-n {count} {options}", wqes=0, payload=count * 8, cqes=count, reads=0, atomics=count)


def seldom(row):
    """With -a perftest measures the CPU's clock at each of 23 sizes: seven seconds, in which little is moved."""
    row.seldom = True
    return row


def each(row, times):
    """A row with `times` as much of everything: for each QP and direction."""
    seen = {name: count and count * times for (_, name), count in row.seen.items()}
    return Row(" ".join(row.options), seen["wqes"], seen["bytes"], seen["cqes"], seen["reads"], seen["atomics"])


ACKS = ("ack_generator", "acks")  # as many as the report says: one may acknowledge several messages
FRAME_BYTES = 14 + 20 + 8 + 12 + 4096 + 4  # a SEND of one MTU: Ethernet, IPv4, UDP, BTH, payload, ICRC


def counted(row, client, server):
    """A row with -W. {counter: difference}: what has to be printed; the server has not sent its last ACK for sure."""
    names = ",".join(client | server)
    row.options += ["-W", names]
    row.printed = {"client": client, "server": server}
    return row


def traffic(sent, received, **hw_counters):
    """{counter: difference}; `sent` and `received` in packets, None: not known."""
    packets = {"counters/port_xmit_packets": sent, "counters/port_rcv_packets": received}
    return packets | {f"hw_counters/{name}": count for name, count in hw_counters.items()}


COUNTED = {
    "send_bw": counted(sends(4096, 100, "-Q 1"),
                       traffic(100, ACKS, out_of_buffer=0) | {"counters/port_xmit_data": 100 * FRAME_BYTES // 4},
                       traffic(None, 100, out_of_buffer=0) | {"counters/port_rcv_data": 100 * FRAME_BYTES // 4}),
    "write_bw": counted(writes(65536, 20, "-Q 1"), traffic(320, ACKS), traffic(None, 320)),
    "read_bw": counted(reads(65536, 20, "-Q 1"), traffic(20, 320, rx_read_requests=0),
                       traffic(320, 20, rx_read_requests=20)),
    "atomic_bw": counted(atomics(50, "-Q 1"), traffic(50, 50, rx_atomic_requests=0),
                         traffic(50, 50, rx_atomic_requests=50)),
}

PINGPONGS = {
    "rc": [pingpong(1, 200, "-g 2"), pingpong(4096, 200, "-g 2 -c"), pingpong(65536, 20, "-g 1 -c -e"),
           pingpong(1 << 20, 4, "-g 2 -c -m 4096"), pingpong(100, 100, "-g 0 -e"), pingpong(3000, 100, "-g 2 -N"),
           pingpong(3000, 100, "-g 2 -t")],
    "uc": [pingpong(1, 200, "-g 2"), pingpong(4096, 200, "-g 2 -c"), pingpong(65536, 20, "-g 1 -c -e"),
           pingpong(1 << 20, 4, "-g 2 -c -m 4096"), pingpong(100, 100, "-g 0 -e")],
    "ud": [pingpong(1, 200, "-g 2", 40), pingpong(2048, 200, "-g 2 -c", 40), pingpong(4096, 100, "-g 1 -c -e", 40),
           pingpong(100, 100, "-g 0 -e", 40)],
    # The 16 QPs share one count: each may have one more message on its way at the end.
    "srq": [pingpong(1, 320, "-g 2 -q 16", slack=64), pingpong(4096, 320, "-g 2 -q 16 -c -e", slack=64),
            pingpong(1 << 20, 20, "-g 1 -q 16 -c -m 4096", slack=64), pingpong(64, 100, "-g 0 -q 1 -e", slack=4)],
    # Only the last one of its SENDs has a completion.
    "xsrq": [Row("-s 4096 -n 100 -g 2", wqes=200, payload=200 * 4096, cqes=202, everywhere=True),
             Row("-s 65536 -n 20 -g 1 -e", wqes=40, payload=40 * 65536, cqes=42, everywhere=True)],
}
# perftest's own group, ff01::, is an IPv6 group, and its own choice of a GID is the IPv4 one. So its check of both
# fails on any RoCE device with an IPv4 address. This group fits that choice.
GROUP = "-M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:1:1"
PERFTEST = {
    "send_bw": [sends(64, 500, "-Q 1"), sends(65536, 50, "-Q 1 -e"), sends(100, 300, "-Q 1 --use-srq"),
                sends(4096, 100, "-Q 1 -q 4 --use-srq", qps=4), sends_of_all_sizes(5, "-Q 1"),
                sends(64, 200, "-Q 1 -c UC"),
                sends(65536, 20, "-Q 1 -c UC -e"), seldom(sends_of_all_sizes(5, "-Q 1 -c UC")),
                sends(64, 200, "-Q 1 -c UD", extra=40), sends(2048, 100, "-Q 1 -c UD -e --use-srq", extra=40),
                sends_of_all_sizes(5, "-Q 1 -c UD", sizes=ALL_SIZES[:12], extra=40),
                each(sends(4096, 40, "-Q 1 -b -q 8"), 16), each(sends(5000, 40, "-Q 1 -b -q 8 --use-srq"), 16),
                each(sends(64, 40, "-Q 1 -b -q 8 -c UC"), 16),
                each(sends(64, 40, "-Q 1 -b -q 8 -c UD", extra=40), 16),
                sends(8192, 50, "-Q 1 --odp -e"), sends(1000, 50, "-Q 1 --odp -c UD", extra=40),
                sends(64, 50, "-Q 1 -g -x 1 -c UD", extra=40),
                sends(64, 50, f"-Q 1 -g {GROUP} -c UD", extra=40)],
    "send_lat": [sends(32, 200, both=True), sends(65536, 20, "-e", True), sends(32, 100, "--use-srq", True),
                 seldom(sends_of_all_sizes(5, "", True)), sends(32, 100, "-c UC", True),
                 sends(4096, 50, "-c UC -e", True),
                 sends(32, 100, "-c UD", True, 40), sends(1024, 50, "-c UD -e", True, 40),
                 sends(8192, 50, "--odp", True), sends(64, 50, "-g -x 1 -c UD", True, 40),
                 sends(64, 50, f"-g {GROUP} -c UD", True, 40)],
    "write_bw": [writes(64, 500, "-Q 1"), writes(65536, 50, "-Q 1"), writes(64, 200, "-Q 1 -c UC"),
                 seldom(writes_of_all_sizes(5, "-Q 1")), each(writes(4096, 40, "-Q 1 -b -q 8 --odp"), 16),
                 each(writes(64, 40, "-Q 1 -b -q 8 -c UC"), 16)],
    "write_lat": [writes(32, 200, both=True), writes(65536, 20, both=True), writes(32, 100, "-c UC", True),
                  seldom(writes_of_all_sizes(5, "", True)), writes(8192, 50, "--odp", True)],
    "read_bw": [reads(64, 500, "-Q 1"), reads(65536, 50, "-Q 1 -e"),
                seldom(Row("-a -n 5 -Q 1", wqes=0)), each(reads(4096, 40, "-Q 1 -b -q 8 --odp"), 16)],
    "read_lat": [reads(32, 200), reads(65536, 20, "-e"), seldom(Row("-a -n 5", wqes=0)), reads(8192, 50, "--odp")],
    "atomic_bw": [atomics(300, "-Q 1 -A CMP_AND_SWAP"), atomics(300, "-Q 1 -A FETCH_AND_ADD"),
                  atomics(100, "-Q 1 -e"), each(atomics(40, "-Q 1 -b -q 8"), 16)],
    "atomic_lat": [atomics(200, "-A CMP_AND_SWAP"), atomics(200, "-A FETCH_AND_ADD"), atomics(100, "-e")],
}
for of_program, with_counters in COUNTED.items():
    PERFTEST[of_program].append(with_counters)

PERFTEST_XRC = [
    ("send_bw", sends(4096, 100, "-Q 1 -c XRC")), ("send_lat", sends(32, 100, "-c XRC", True)),
    ("write_bw", writes(4096, 100, "-Q 1 -c XRC")), ("write_lat", writes(32, 100, "-c XRC", True)),
    ("read_bw", reads(4096, 50, "-Q 1 -c XRC")), ("read_lat", reads(32, 50, "-c XRC")),
    ("atomic_bw", atomics(50, "-Q 1 -c XRC")), ("atomic_lat", atomics(50, "-c XRC")),
    ("send_bw", each(sends(4096, 40, "-Q 1 -b -q 8 -e -c XRC"), 16)),
    ("write_bw", each(writes(4096, 40, "-Q 1 -b --odp -c XRC"), 2)),
]
# The files of perftest's XRC domains have fixed names: one of these runs at a time, and each by a user of its own.
XRC_DOMAINS = [pathlib.Path("/tmp") / f"xrc_domain_{side}" for side in ("server", "client")]


def use(program, row):
    """What the table of programs names."""
    options = " ".join(row.options)
    chosen = re.search(r"-c (UC|UD|XRC)\b", options) or re.match(r"ibv_(uc|ud|x)", program)
    return Use(program, {"x": "XRC"}.get(chosen[1], chosen[1].upper()) if chosen else "RC", options)


def check_counters(bench, row, report, what):
    """The counters of the blocks equal what the programs saw."""
    for (block, name), seen in row.seen.items():
        if seen is None:
            continue
        counted = live.counters(report, block).get(name)
        if row.slack and counted is not None:
            per_cqe = seen / row.seen["cqe_generator", "cqes"]
            good = seen <= counted <= seen + row.slack * per_cqe
        else:
            good = counted == seen
        bench.expect(good, f"{what}: {block}.{name} is {counted}; the programs saw {seen}")
    bench.expect_equal(report["error_cqes"], 0, f"{what}: error CQEs")


def check_output(bench, program, text, what):
    """What a program prints: its result, and no error about the contents of its buffers."""
    bench.expect("invalid data" not in text, f"{what}: {text[-1000:]}")
    if program.startswith("ibv_"):
        result = r"^success$" if "xsrq" in program else r"\d+ iters in [\d.]+ seconds"
        bench.expect(re.search(result, text, re.M), f"{what}: no result: {text[-1000:]}")
    else:
        # inf: perftest could not measure the processor's clock, which happens on a busy machine.
        time = r" +(?:[\d.]+|inf)"
        bench.expect(re.search(rf"^ *\d+ +\d+{time}{time}", text, re.M), f"{what}: no result: {text[-1000:]}")
        bench.expect("not recognized" not in text, f"{what}: {text[:1000]}")
        if program in ("ib_send_lat", "ib_write_lat"):  # which take inline data as far as the device has them
            bench.expect(re.search(r"^ *Max inline data *: *[1-9]", text, re.M), f"{what}: not inline: {text[:1500]}")


def check_printed(bench, row, report, side, text, what):
    """The differences that -W prints are those of the messages."""
    for name, expected in row.printed[side].items():
        if isinstance(expected, tuple):
            expected = live.counters(report, expected[0])[expected[1]]
        printed = re.search(rf"^\t{name}=(\d+)$", text, re.M)
        bench.expect(printed, f"{what}: {side}: no {name}: {text[-1000:]}")
        if printed and expected is not None:
            bench.expect_equal(int(printed[1]), expected, f"{what}: {side}: {name}")


def run_row(bench, wire, program, row, nics, uid, what):
    """Returns the fabric."""
    port = live.Port()
    try:
        with live.Fabric(bench, nics, uid) as fabric:
            options = ["-p", port.number, *row.options, *([] if program.startswith("ibv_") else ["-F"])]
            good, server, client = fabric.pair([program, "-d", "rxnic0", *options],
                                               [program, "-d", f"rxnic{nics - 1}", *options, fabric.server_address],
                                               port, **(fabric.device_files() if row.printed else {}))
    finally:
        port.close()
    if not good or fabric.report is None:
        return fabric
    check_output(bench, program, client.text(), what)
    check_output(bench, program, server.text(), what) if program.startswith("ibv_") else None
    check_counters(bench, row, fabric.report, what)
    for side, one in (("client", client), ("server", server)):
        if row.printed:
            check_printed(bench, row, fabric.report, side, one.text(), what)
    wire.add(fabric.wire)
    return fabric


def family(program, rows):
    def check(bench):
        live.need(program)
        wire = live.WireCheck(bench)
        for number, row in enumerate(rows):
            for user, uid, nics in row.places(number):
                failed = len(bench.failures)
                what = f"{program} {' '.join(row.options)} ({user}, {nics} NICs)"
                with noted_run(bench, use(program, row)) as run:
                    run.fabric = run_row(bench, wire, program, row, nics, uid, what)
                if bench.options.verbose or len(bench.failures) > failed:
                    print(f"{what}: {'FAILED' if len(bench.failures) > failed else 'good'}")
        wire.finish(at_least=len(rows))

    check.__doc__ = f"{program}, {len(rows)} rows"
    return check


def perftest_xrc(bench):
    """perftest's programs over XRC."""
    live.need(*(f"ib_{name}" for name, _ in PERFTEST_XRC))
    wire = live.WireCheck(bench)
    for number, (name, row) in enumerate(PERFTEST_XRC):
        for user, uid, nics in row.places(number):
            for file in XRC_DOMAINS:
                file.unlink(missing_ok=True)
            with noted_run(bench, use(f"ib_{name}", row)) as run:
                run.fabric = run_row(bench, wire, f"ib_{name}", row, nics, uid,
                                     f"ib_{name} {' '.join(row.options)} ({user}, {nics} NICs)")
    for file in XRC_DOMAINS:
        file.unlink(missing_ok=True)
    wire.finish(at_least=1000)


MACS = ("02:72:78:00:00:01", "02:72:78:00:00:02")
IPV4 = "-J 10.1.0.2 -j 10.1.0.1 -K 7000 -k 6000"
RAW_ETHERNET = (  # program, options, frames that go to the server at least
    ("raw_ethernet_bw", "-n 300 -s 1024", 300), ("raw_ethernet_bw", f"-n 300 -s 200 {IPV4}", 300),
    ("raw_ethernet_bw", f"-n 300 -s 1500 {IPV4} --tcp", 300), ("raw_ethernet_bw", "-n 200 -s 64 -l 4", 200),
    ("raw_ethernet_lat", "-n 100 -s 64", 100), ("raw_ethernet_lat", f"-n 100 -s 512 {IPV4}", 100),
)


def raw_ethernet(bench):
    """perftest's programs on RAW_PACKET QPs: the parser finds the server's QP by its flow."""
    live.need("raw_ethernet_bw", "raw_ethernet_lat", "stdbuf")
    for user, uid in live.users().items():
        for program, options, frames in RAW_ETHERNET:
            what = f"{program} {options} ({user})"
            with noted_run(bench, Use(program, "RAW_PACKET", options)) as run:
                run.fabric = run_raw_ethernet(bench, program, options, frames, uid, what)


def run_raw_ethernet(bench, program, options, frames, uid, what):
    """Returns the fabric."""
    with live.Fabric(bench, 2, uid, record=False) as fabric:
        command = ["stdbuf", "-oL", program, "-F", *options.split()]
        server = fabric.start("server", *command, "--server", "-d", "rxnic0", "-B", MACS[0], "-E", MACS[1])
        live.wait_until(lambda: server.ended() or "#bytes" in server.text(), f"{what}: the server's begin")
        client = fabric.start("client", *command, "--client", "-d", "rxnic1", "-B", MACS[1], "-E", MACS[0])
        good = client.wait() == 0 and server.wait(20) == 0
        bench.expect(good, f"{what}: {server.story()}\n{client.story()}")
    if good and fabric.report is not None:
        check_output(bench, program, client.text(), what)
        steered = live.counters(fabric.report, "rx_parser")["steered"]
        bench.expect(steered >= frames, f"{what}: rx_parser.steered: only {steered}")
        bench.expect_equal(fabric.report["error_cqes"], 0, f"{what}: error CQEs")
    return fabric


DEVICES = (Use("ibv_devices", "", ""), Use("ibv_devinfo", "", "-v"))


def devices(bench):
    """ibv_devices and ibv_devinfo -v"""
    live.need("ibv_devices", "ibv_devinfo")
    for uid in live.users().values():
        with noted_run(bench, *DEVICES) as run, live.Fabric(bench, 2, uid, record=False) as fabric:
            run.fabric = fabric
            names = fabric.run("ibv_devices")
            bench.expect(re.search(r"rxnic0\s+[0-9a-f]{16}\n\s+rxnic1\s+[0-9a-f]{16}\n", names), names)
            one = fabric.run("ibv_devices", RXNIC_NIC="1")
            bench.expect("rxnic1" in one and "rxnic0" not in one, f"RXNIC_NIC=1: {one}")
            told = fabric.run("ibv_devinfo", "-v")
            for wanted in (r"hca_id:\s+rxnic0", r"hca_id:\s+rxnic1", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet",
                           r"GID\[\s*0\]:\s+fe80:.*RoCE v1", r"GID\[\s*1\]:\s+fe80:.*RoCE v2",
                           r"GID\[\s*2\]:\s+::ffff:198\.18\.0\.1, RoCE v2"):
                bench.expect(re.search(wanted, told), f"ibv_devinfo -v: no {wanted!r} in {told}")
            max_qp_wr = re.search(r"max_qp_wr:\s+(\d+)", told)
            bench.expect(max_qp_wr and int(max_qp_wr[1]) >= 16384, f"max_qp_wr: {told}")
        # Without a fabric there is no device, and a message says why.
        nobody = fabric.start("orphan", "ibv_devices")
        nobody.wait()
        bench.expect("rxnic0" not in nobody.text() and str(fabric.socket) in nobody.text(), nobody.story())


CHECKS = {"devices": devices}
CHECKS |= {f"{kind}_pingpong": family(f"ibv_{kind}_pingpong", rows) for kind, rows in PINGPONGS.items()}
CHECKS |= {name: family(f"ib_{name}", rows) for name, rows in PERFTEST.items()}
CHECKS["perftest_xrc"] = perftest_xrc
CHECKS["raw_ethernet"] = raw_ethernet
PROGRAMS = [*DEVICES, *(use(f"ibv_{kind}_pingpong", row) for kind, rows in PINGPONGS.items() for row in rows),
            *(use(f"ib_{name}", row) for name, rows in PERFTEST.items() for row in rows),
            *(use(f"ib_{name}", row) for name, row in PERFTEST_XRC),
            *(Use(program, "RAW_PACKET", options) for program, options, _ in RAW_ETHERNET)]

if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--verbose", action="store_true", help="print every row")
    sys.exit(e2e.run(parser, CHECKS))
