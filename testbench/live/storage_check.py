#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Storage over rdma_cm without a kernel's driver: fio's rdma engine, and libiscsi over iSER to tgtd.

The data are looked at where they lie: in the memory of fio's other side, in the file behind tgtd's disk.
"""
import os
import random
import re
import signal
import sys

import live
from live import e2e
from programs_table import Use, noted_run
from rdmacm_check import SERVER

BLOCK, DEPTH, COUNT = 16384, 4, 64
MEMORY = BLOCK * (COUNT + 4)  # of a job: its blocks, and some more
PATTERN = b"\x51\x58"
FIO = (f"--ioengine=rdma --bs={BLOCK // 1024}k --size={BLOCK * COUNT // 1024}k "
       f"--buffer_pattern=0x{PATTERN.hex()}")
# With send the server has a receive for each message from the beginning: fio asks for no retries without one.
FIO_VERBS = {"write": DEPTH, "read": DEPTH, "send": COUNT}  # and the server's blocks


def fio_use(verb):
    return Use("fio", "RC", f"{FIO} --verb={verb}")


def blocks(memory, count=DEPTH):
    return [memory[at:at + BLOCK] for at in range(0, count * BLOCK, BLOCK)]


def fio_pair(bench, uid, nics, verb):
    """Returns the fabric. A client that comes before its server listens is rejected, says so, and exits with 0."""
    what = f"fio {verb} ({nics} NICs)"
    with live.Fabric(bench, nics, uid) as fabric:
        port = live.Port()
        before = random.Random(1).randbytes(MEMORY)
        server_memory, client_memory = fabric.folder / "server-memory", fabric.folder / "client-memory"
        for file, content in ((server_memory, before), (client_memory, bytes(MEMORY))):
            file.write_bytes(content)
            if uid is not None:
                os.chown(file, uid, uid)
        options = [*FIO.split(), f"--port={port.number}"]
        server = fabric.start("server", "fio", "--name=server", *options, "--rw=read", f"--iodepth={FIO_VERBS[verb]}",
                              f"--iomem=mmapshared:{server_memory}", **fabric.device_files(), RXNIC_NIC="0")
        clients = []

        def attempt():
            clients.append(fabric.start("client", "fio", "--name=client", *options, "--rw=write", f"--iodepth={DEPTH}",
                                        f"--verb={verb}", f"--hostname={SERVER}",
                                        f"--iomem=mmapshared:{client_memory}", **fabric.device_files(),
                                        RXNIC_NIC=str(nics - 1)))
            return clients[-1].wait() != 0 or server.ended() or "REJECTED" not in clients[-1].text()

        live.wait_until(attempt, what)
        good = clients[-1].wait() == 0 and server.wait() == 0
        port.close()
        bench.expect(good, f"{what}: {server.story()}\n{clients[-1].story()}")
    written, read = (blocks(file.read_bytes()) for file in (server_memory, client_memory))
    if verb == "send":
        bench.expect_equal(blocks(server_memory.read_bytes(), COUNT), [PATTERN * (BLOCK // 2)] * COUNT,
                           f"{what}: the server's memory")
    # fio chooses a block of the other side at random.
    if verb == "write":
        bench.expect(PATTERN * (BLOCK // 2) in written and set(written) <= {PATTERN * (BLOCK // 2), *blocks(before)},
                     f"{what}: other data in the server's memory")
    elif verb == "read":
        bench.expect_equal(written, blocks(before), f"{what}: the server's memory")
        bench.expect(set(read) <= set(written), f"{what}: the client has other data than the server")
    if fabric.report is not None:
        placed = live.counters(fabric.report, "grh_scatter")["bytes"]
        bench.expect(placed >= BLOCK * COUNT, f"{what}: only {placed} bytes were placed")
        bench.expect_equal(live.counters(fabric.report, "ack_generator")["reads"], COUNT if verb == "read" else 0,
                           f"{what}: READs")
        rejected = len(clients) - 1  # each with a receive that is flushed
        bench.expect(fabric.report["error_cqes"] <= rejected, f"{what}: {fabric.report['error_cqes']} error CQEs")
    return fabric


def fio(bench):
    """fio writes to and reads from the memory of another fio"""
    live.need("fio")
    wire = live.WireCheck(bench)
    for _, uid, nics in live.places():
        for verb in FIO_VERBS:
            with noted_run(bench, fio_use(verb)) as run:
                run.fabric = fio_pair(bench, uid, nics, verb)
            wire.add(run.fabric.wire)
    wire.finish(at_least=1000)


TGTD, TGTADM = "/usr/sbin/tgtd", "/usr/sbin/tgtadm"  # not in an ordinary user's PATH
ISER_PORT = 3261
INITIATOR, TARGET = "iqn.2001-04.org.example:user", "iqn.2001-04.org.example:disk"
DISK_URL = f"iser://{SERVER}:{ISER_PORT}/{TARGET}/1"
SECTOR, SECTORS = 512, 2048
WRITTEN = b"\xa6"  # by iscsi-test-cu's Write10.Simple, to 1, 2, ... 255 sectors from the first one on
PASSED = r" asserts +[1-9]\d* +[1-9]\d* +[1-9]\d* +0 +n/a"  # in all, run, passed, failed
# iscsi-ls is not here: over iSER libiscsi polls its CQ once more after the answer has made it destroy it.
ISER = (  # program, options, what it prints
    ("iscsi-inq", "", r"^Peripheral Device Type:DIRECT_ACCESS$"),
    ("iscsi-readcapacity16", "", rf"^Total size:{SECTOR * SECTORS}$"),
    ("iscsi-perf", "-b 8 -m 4", r"iops average [1-9][\s\S]*^finished\.$"),
    ("iscsi-test-cu", "-d -t SCSI.Write10.Simple", PASSED),
    # Verify10: what was read goes back, and the target compares it with its disk.
    ("iscsi-test-cu", "-d -t SCSI.Verify10.Simple", PASSED),
    ("iscsi-test-cu", "-d -t SCSI.CompareAndWrite.Simple", PASSED),
)
ISER_USES = (Use(TGTD, "RC", "-f --iser nop=off"), *(Use(program, "RC", options) for program, options, _ in ISER))


class Target:
    """tgtd with one disk."""

    def __init__(self, bench, fabric):
        self.bench, self.fabric = bench, fabric
        self.disk = fabric.folder / "disk"
        self.disk.write_bytes(random.Random(2).randbytes(SECTOR * SECTORS))
        if fabric.uid is not None:
            os.chown(self.disk, fabric.uid, fabric.uid)
        self.environment = {**fabric.device_files(), "TGT_IPC_SOCKET": str(fabric.folder / "tgtd")}
        self.daemon = fabric.start("tgtd", TGTD, "-f", "--iser", f"port={ISER_PORT},nop=off", **self.environment,
                                   RXNIC_NIC="0")
        live.wait_until(lambda: self.daemon.ended() or (fabric.folder / "tgtd.0").exists(), "tgtd's control socket")
        self.tell("target", "new", "--targetname", TARGET)
        self.tell("logicalunit", "new", "--lun", "1", "-b", self.disk)
        self.tell("target", "bind", "-I", "ALL")
        self.tell("target", "bind", "-Q", INITIATOR)  # Debian's version wants both

    def tell(self, mode, operation, *more):
        told = self.fabric.start("tgtadm", TGTADM, "--lld", "iser", "--mode", mode, "--op", operation, "--tid", "1",
                                 *more, **self.environment)
        self.bench.expect_equal(told.wait(), 0, f"{told.story()}\n{self.daemon.story()}")


def iser_session(bench, uid, nics):
    """Returns the fabric."""
    with live.Fabric(bench, nics, uid) as fabric:
        target = Target(bench, fabric)
        # libiscsi 1.19 does not initialize its connection. So a second login of a process, as iscsi-test-cu's, fails
        # where freed memory is given out again as it was.
        tested = not live.with_libtsan(bench)
        for program, options, prints in ISER:
            if program == "iscsi-test-cu" and not tested:
                print(f"left out with libtsan: {program} {options}")
                continue
            client = fabric.start("initiator", program, "-i", INITIATOR, *options.split(), DISK_URL,
                                  **fabric.device_files(), RXNIC_NIC=str(nics - 1))
            if program == "iscsi-perf":  # held for a second at the end of a time limit it never ends
                live.wait_until(lambda: client.ended() or "iops current" in client.text(), "iscsi-perf's first second")
                client.signal(signal.SIGINT)
            good = client.wait() == 0 and re.search(prints, client.text(), re.M)
            bench.expect(good, f"{client.story()}\n{target.daemon.story()}")
            if options.endswith("Write10.Simple"):
                bench.expect_equal(target.disk.read_bytes()[:255 * SECTOR], WRITTEN * 255 * SECTOR, "on the disk")
    if fabric.report is not None and tested:
        reads = live.counters(fabric.report, "ack_generator")["reads"]
        bench.expect(reads > 0, f"{reads} READs of what was to be written")
    return fabric


def iser(bench):
    """libiscsi over iSER to the disk of a tgtd: what it writes is in the file, what it reads is compared"""
    live.need(TGTD, TGTADM, *(program for program, _, _ in ISER))
    wire = live.WireCheck(bench)
    for _, uid, nics in live.places():
        with noted_run(bench, *ISER_USES) as run:
            run.fabric = iser_session(bench, uid, nics)
        wire.add(run.fabric.wire)
    wire.finish(at_least=1000)


CHECKS = {"fio": fio, "iser": iser}
PROGRAMS = [*(fio_use(verb) for verb in FIO_VERBS), *ISER_USES]

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
