#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use rdma_cm, unmodified, with Debian's librdmacm: its utilities, server and client.

They run as root between two NICs and as an ordinary user on one. The first row of each program runs in both places, the
others in one of them, in turns. With RXNIC_EVERY_PLACE=1 each row runs in all four combinations.

The messages of the connection manager cross the model: they are counted there, and tshark reads them on the wire.
"""
import random
import re
import signal
import socket
import sys

import live
import wire
from live import e2e
from programs_table import Use, noted_run

SERVER, CLIENT = "198.18.0.1", "198.18.0.2"  # rxnic0, rxnic1
FILE = random.Random(1).randbytes(300_000)  # what rcopy copies
PATIENCE = 60  # seconds until a server listens
MANAGEMENT = 1  # the QP of the connection manager's messages, which are datagrams
# REQ, REP, RTU, REJ, DREQ, DREP, SIDR_REQ, SIDR_REP
NAMES = {"ConnectRequest", "ConnectReply", "ReadyToUse", "ConnectReject", "DisconnectRequest", "DisconnectReply",
         "ServiceIDResReq", "ServiceIDResReqResp"}
NOBODY_LISTENS = "event: RDMA_CM_EVENT_REJECTED, error: 8"  # the REJ's reason: invalid service ID


def name_of_host():
    """127.0.0.1 where the host does not know its own name."""
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
    return socket.gethostname()


class Row:
    """A server and a client, what the client must print, and how many packets there are at least."""

    def __init__(self, server, client, prints=None, packets=5, ends=True, recorded=True,
                 transport="RC", sends=True, with_libtsan=None):
        self.server, self.client = server.split(), client.split()
        # perftest's last argument is the server's address, which no option of it takes.
        last = -1 if self.client[0].startswith("ib_") else None
        self.use = Use(self.client[0], transport, " ".join(self.client[1:last]))
        self.prints, self.packets = prints, packets
        self.ends = ends  # the server ends by itself
        self.recorded = recorded  # or the packets are too many for tshark
        self.sends = sends  # or only connects
        self.with_libtsan = with_libtsan or self  # what is tried in its place

    def commands(self, fabric, port):
        """Both commands, with the fabric's folder, a TCP port and addresses filled in. The addresses are those of the
        client's NIC, of the host, and of the server out of band."""
        own = CLIENT if fabric.nics > 1 else SERVER
        return ([part.format(folder=fabric.folder, port=port.number, own=own, host=name_of_host(),
                             server=fabric.server_address)
                 for part in side]
                for side in (self.server, self.client))


def qperf(prints, *tests, with_libtsan=None):
    """Its tests, and what each prints a figure of. Its server has one address for TCP and rdma_cm."""
    return Row("qperf -lp {port}", f"qperf -lp {{port}} -cm 1 -t 1 -m 4000 {{server}} {' '.join(tests)}",
               "(?s)" + ".*".join(rf"\b{test}:\n(warning: [^\n]*\n)?    {prints}  = " for test in tests),
               100, ends=False, recorded=False, with_libtsan=with_libtsan)


# With libtsan rc_rdma_write_poll_lat is left out: it waits for a WRITE without calling anything until a signal says
# that the time is over. But libtsan handles a signal in the next call. When the client's time is over first, its server
# never ends, and serves no other client.
LATENCIES = ("rc_lat", "rc_rdma_read_lat", "rc_rdma_write_lat")
UTILITIES = {
    "rping": [Row(f"rping -s -a {SERVER} -C 20 -V -v", f"rping -c -a {SERVER} -C 20 -V -v", r"ping data: rdma-ping-19"),
              Row(f"rping -s -a {SERVER} -C 1000 -V -S 4000", f"rping -c -a {SERVER} -C 1000 -V -S 4000", packets=4000),
              # The host's own addresses lead to the NIC of the server.
              *(Row(f"rping -s -a {own} -C 5 -V", f"rping -c -a {own} -C 5 -V")
                for own in ("127.0.0.1", "{host}"))],
    "ucmatose": [Row(f"ucmatose -b {SERVER} -C 20 -S 5000", f"ucmatose -s {SERVER} -C 20 -S 5000", "return status 0"),
                 Row(f"ucmatose -b {SERVER} -c 8", f"ucmatose -s {SERVER} -c 8", "return status 0", 8 * 10)],
    "udaddy": [Row(f"udaddy -b {SERVER} -C 20 -S 1000", f"udaddy -s {SERVER} -C 20 -S 1000", "return status 0",
                   transport="UD")],
    "riostream": [Row(f"riostream -b {SERVER} -S 5000 -I 10 -C 5", f"riostream -s {SERVER} -S 5000 -I 10 -C 5 -T v",
                      r"custom +4.8k +5 +10 ")],
    "rdma_client": [Row("rdma_server", f"rdma_client -s {SERVER}", "rdma_client: end 0")],
    # Without an option over RC, in spite of its name.
    "rdma_xclient": [Row("rdma_xserver -c x", f"rdma_xclient -s {SERVER} -c x", "rdma_xclient: end 0", transport="XRC"),
                     Row("rdma_xserver", f"rdma_xclient -s {SERVER}", "rdma_xclient: end 0")],
    "cmtime": [Row(f"cmtime -b {SERVER} -c 50", f"cmtime -s {SERVER} -c 50", r"(?m)^disconnect *: ", 250,
                   ends=False, sends=False)],
    # Both wait for 3 s when they have joined.
    "mckey": [Row(f"mckey -m 239.1.1.1 -b {SERVER} -C 20 -S 500", "mckey -s -m 239.1.1.1 -b {own} -C 20 -S 500",
                  "return status 0", 20, transport="UD"),
              Row(f"mckey -m 239.1.1.1 -b {SERVER} -c 3 -C 9", "mckey -s -m 239.1.1.1 -b {own} -C 9",
                  "return status 0", 9, transport="UD")],
    "rcopy": [Row("rcopy", f"rcopy {{folder}}/source {SERVER}:{{folder}}/copy", "Gb.sec", 100, ends=False)],
    "perftest": [Row(f"{program} {options}", f"{program} {options} {SERVER}", "#bytes",
                     transport=options.split("-c ")[1] if "-c " in options else "RC")
                 for program, options in (
                     ("ib_send_bw", "-R -n 50"), ("ib_write_bw", "-R -n 50 -s 5000"), ("ib_read_lat", "-R -n 50"),
                     ("ib_atomic_bw", "-R -n 50"), ("ib_send_lat", "-R -n 50 -c UD"), ("ib_send_bw", "-R -z -n 50"),
                     ("ib_send_bw", "-R -T 32 -n 20 -b -q 8 --use-srq"), ("ib_send_bw", "-R -n 20 -q 8 -c UD"),
                     ("ib_send_bw", "-z -n 20 -e -c UC"), ("ib_send_bw", "-z -n 20 -q 8 -c UD"),
                     ("ib_send_lat", "-R -n 20 -e"), ("ib_write_lat", "-z -n 20 --odp"),
                     ("ib_read_bw", "-z -n 20 -b"), ("ib_atomic_lat", "-z -n 20"))],
    "qperf": [qperf("bw", "rc_bw", "rc_bi_bw", "rc_rdma_read_bw", "rc_rdma_write_bw"),
              qperf("latency", *LATENCIES, "rc_rdma_write_poll_lat", with_libtsan=qperf("latency", *LATENCIES)),
              qperf("msg_rate", "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add")],
    "libfabric": [Row(f"fi_pingpong -B {{port}} -I 20 -e {endpoint} -p {provider}",
                      f"fi_pingpong -P {{port}} -I 20 -e {endpoint} -p {provider} {{server}}", r"(?m)^4k .* =20 ",
                      100, transport=transport)
                  # A server of RC names itself by an address of the host, 127.0.0.1.
                  for endpoint, provider, transport in (
                      ("msg", "verbs", "RC"), ("dgram", "verbs", "UD"), ("rdm", "verbs;ofi_rxm", "RC"),
                      ("rdm", "verbs;ofi_rxd", "UD"))],
}


def run_pair(fabric, row):
    """Runs both. A client that comes before its server listens is rejected, and comes again.

    With a new server where the client's end was that server's, too. These are ucmatose, of whose connections some came
    before, and perftest, which connects twice. Its server stops listening in between, and its client, rejected then,
    dies of SIGSEGV.
    """
    port = live.Port()
    server_command, client_command = row.commands(fabric, port)
    servers = []

    def attempt():
        if not servers or came_too_early(servers[-1]):
            servers.append((fabric.start("server", *server_command, **fabric.device_files(), RXNIC_NIC="0"), []))
        server, clients = servers[-1]
        clients.append(fabric.start("client", *client_command, **fabric.device_files(),
                                    RXNIC_NIC=str(min(1, fabric.nics - 1))))
        return clients[-1].wait() == 0 or server.ended() and not came_too_early(servers[-1])

    def came_too_early(pair):
        server, clients = pair
        if row.client[0].startswith("ib_"):
            # The address sanitizer takes the signal itself.
            early = (clients[-1].process.returncode == -signal.SIGSEGV
                     or re.search(r"AddressSanitizer: SEGV .* in rdma_resolve_addr", clients[-1].text()) is not None)
        else:  # the last but one: the server had not ended yet when the next one came
            early = server.ended() and server.wait() != 0 and any(NOBODY_LISTENS in one.text() for one in clients[-2:])
        if early:
            server.kill()
        return early

    try:
        live.wait_until(attempt, " ".join(row.client), PATIENCE)
    except AssertionError as late:
        server, clients = servers[-1]
        raise AssertionError(f"{late}: {clients[-1].story()}\n{server.story()}") from late
    server, clients = servers[-1]
    if not row.ends:
        server.kill()
    port.close()
    good = clients[-1].wait() == 0 and server.wait() == (0 if row.ends else -signal.SIGKILL)
    return good, server, clients[-1]


def utility(name):
    def check(bench):
        live.need(UTILITIES[name][0].client[0])
        checked = live.WireCheck(bench)
        for number, row in enumerate(UTILITIES[name]):
            if live.with_libtsan(bench) and row.with_libtsan is not row:
                print(f"not tried with libtsan: {' '.join(row.client)}")
                row = row.with_libtsan
            for _, uid, nics in live.places(number or None):
                with noted_run(bench, row.use) as run:
                    run.fabric = run_row(bench, checked, row, uid, nics)
        checked.finish(at_least=0)

    check.__doc__ = f"{name} and its server"
    return check


def run_row(bench, checked, row, uid, nics):
    """Returns the fabric."""
    what = f"{' '.join(row.client)} ({nics} NICs)"
    with live.Fabric(bench, nics, uid, record=row.recorded) as fabric:
        (fabric.folder / "source").write_bytes(FILE)
        good, server, client = run_pair(fabric, row)
        bench.expect(good, f"{what}: {server.story()}\n{client.story()}\n{fabric.simulator.story()}")
    copy = fabric.folder / "copy"
    bench.expect(not copy.exists() or copy.read_bytes() == FILE, f"{what}: the copy differs")
    if row.prints:
        bench.expect(re.search(row.prints, client.text()), f"{what}: {client.text()[-2000:]}")
    if fabric.report is not None:
        packets = live.counters(fabric.report, "rx_parser")["packets"]
        bench.expect(packets >= row.packets, f"{what}: {packets} packets")
        if nics > 1:
            of_each = [live.counters({"nics": [nic]}, "rx_parser")["packets"]
                       + live.counters({"nics": [nic]}, "requester")["packets"] for nic in fabric.report["nics"]]
            bench.expect(min(of_each) >= row.packets // 2, f"{what}: packets received and sent by each NIC: {of_each}")
        if row.recorded:
            checked.add(fabric.wire)
            of_transport = sum(count for (_, qpn, opcode), count in wire.bth_opcodes(fabric.wire).items()
                               if qpn != MANAGEMENT and opcode >> 5 == wire.TRANSPORTS[row.use.transport])
            bench.expect(of_transport > 0 or not row.sends, f"{what}: no packet with an opcode of {row.use.transport}")
    return fabric


FI_INFO = Use("fi_info", "", "-p verbs")


def fi_info(bench):
    """libfabric's fi_info lists a NIC with RC and UD"""
    live.need("fi_info")
    for uid in live.users().values():
        with noted_run(bench, FI_INFO) as run, live.Fabric(bench, 2, uid, record=False) as fabric:
            run.fabric = fabric
            shown = fabric.run("fi_info", *FI_INFO.options.split(), **fabric.device_files())
            for domain, protocol in (("rxnic0", "RDMA_CM_IB_RC"), ("rxnic0-dgram", "IB_UD")):
                bench.expect(re.search(rf"domain: {domain}\n(.+\n)+? +protocol: FI_PROTO_{protocol}\n", shown), shown)


def messages(bench):
    """What tshark calls the connection manager's messages, each as often as its answer; a group's datagrams."""
    live.need("tshark", "rping", "udaddy", "mckey")
    with live.Fabric(bench, 2) as fabric:
        early = fabric.start("client", "rping", "-c", "-a", SERVER, "-C", "1", **fabric.device_files(), RXNIC_NIC="1")
        bench.expect(early.wait() != 0, f"nobody listens: {early.story()}")
        for name in ("rping", "udaddy", "mckey"):
            good, server, client = run_pair(fabric, UTILITIES[name][0])
            bench.expect(good, f"{server.story()}\n{client.story()}")

    def told(what):
        shark = bench.start("tshark", *live.GUESSES, "-n", "-r", fabric.wire, "-Y", what, "-T", "fields", "-e",
                            "_ws.col.Info")
        bench.expect_equal(shark.returncode, 0, shark.stderr[-1000:])
        return shark.stdout.splitlines()

    names = told("infiniband.deth.srcqp == 1")
    seen = {name: names.count(f"CM: {name}") for name in sorted(NAMES)}
    bench.expect(min(seen.values()) > 0 and sum(seen.values()) == len(names), f"{seen}: {set(names)}")
    bench.expect_equal(seen["ConnectRequest"], seen["ConnectReply"] + seen["ConnectReject"], f"answers: {seen}")
    for one, answer in (("ConnectReply", "ReadyToUse"), ("DisconnectRequest", "DisconnectReply"),
                        ("ServiceIDResReq", "ServiceIDResReqResp")):
        bench.expect_equal(seen[one], seen[answer], f"{one}, {answer}")
    # A group is joined without a message: there is no subnet manager over Ethernet.
    group = told("infiniband.bth.destqp == 0xffffff && ip.dst == 239.1.1.1")
    bench.expect(len(group) >= 20, f"datagrams to the group: {group}")


def unserved(bench):
    """Where nobody serves rdma_cm the program fails, and a line says why: no simulator, no such NIC, no agent."""
    live.need("rping")

    def failing(fabric, why, **environment):
        program = fabric.start("client", "rping", "-c", "-a", SERVER, "-C", "1", **fabric.device_files(), **environment)
        bench.expect(program.wait(20) > 0 and re.search(why, program.text()), f"{why}: {program.story()}")

    with live.Fabric(bench, 2, record=False) as fabric:
        nowhere = str(fabric.folder / "nowhere")
        failing(fabric, rf"rxnic: .*{re.escape(nowhere)}", RXNIC_SOCKET=nowhere)
        failing(fabric, "rxnic: RXNIC_NIC=7: the simulator has NICs 0 to 1", RXNIC_NIC="7")
    verbs = bench.options.verbs
    libraries = bench.folder / "libraries"
    libraries.mkdir()
    for file in (verbs, verbs.parent / "librxnic_device_files.so"):  # but no rxnic_cm_agent
        (libraries / file.name).symlink_to(file)
    bench.options.verbs = libraries / verbs.name
    try:
        with live.Fabric(bench, 2, record=False) as fabric:
            failing(fabric, "rxnic: no /dev/infiniband/rdma_cm: the connection manager has ended")
        why = fabric.simulator.text()
        bench.expect("programs find no rdma_cm" in why and "rxnic_cm_agent: No such file" in why, why)
    finally:
        bench.options.verbs = verbs


CHECKS = {name: utility(name) for name in UTILITIES}
CHECKS |= {"fi_info": fi_info, "messages": messages, "unserved": unserved}
PROGRAMS = [FI_INFO, *(row.use for rows in UTILITIES.values() for row in rows)]

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
