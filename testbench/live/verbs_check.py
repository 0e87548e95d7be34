#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test programs of our own, against the system's <infiniband/verbs.h>, each suite on a fabric of two NICs."""
import collections
import contextlib
import json
import os
import pathlib
import re
import sys

import live
import opcodes_table as table
import posted
import rdmacm_check
import wire
from live import e2e


def suite(bench, fabric, name, tests=None, **environment):
    """One suite of live_verbs; its output."""
    text = fabric.run(bench.options.programs / "live_verbs", f"--gtest_filter={tests or f'*{name}.*'}",
                      "--gtest_brief=1", **environment)
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    bench.expect(passed and int(passed[1]) > 0, f"{name}: no test ran: {text[-2000:]}")
    return text


def payload(bench):
    """Random messages over every transport and opcode: arenas, and wire.pcap against the buffers."""
    log = bench.folder / "payloads.jsonl"
    checked = live.WireCheck(bench)
    for uid in live.uids():
        log.unlink(missing_ok=True)
        with live.Fabric(bench, 2, uid) as fabric:
            inside = fabric.folder / "payloads.jsonl"
            suite(bench, fabric, "Payload", RXNIC_LIVE_PAYLOADS=str(inside))
        with open(inside, encoding="ascii") as lines:
            wanted = wire.logged(map(json.loads, lines))
        found = wire.messages(fabric.wire)
        compared = 0
        for key, messages in wanted.items():
            on_wire = found.get(key, [])
            bench.expect_equal(len(on_wire), len(messages), f"nic, qpn, kind {key}: messages on the wire")
            for number, (sent, seen) in enumerate(zip(messages, on_wire)):
                compared += 1
                if sent != seen:
                    bench.expect(False, f"{key} message {number}: the wire differs from the program's buffer")
                    break
        bench.expect(compared > 2000, f"only {compared} messages were compared")
        bench.expect_equal(sorted(set(found) - set(wanted)), [], "messages that no program logged")
        print(f"{compared} messages on the wire equal the programs' buffers")
        checked.add(fabric.wire)
        if fabric.report is None:  # the simulator is another one's: what it did is not known
            continue
        sent, fetched = (sum(len(message[1]) for (_, _, kind), messages in wanted.items() if kind == of
                             for message in messages) for of in ("request", "response"))
        expect_counted(bench, fabric.report, {"requester.payload_bytes": sent, "ack_generator.read_bytes": fetched})
    checked.finish(at_least=5000)


def expect_counted(bench, report, exactly):
    """{"block.counter": count}, over all NICs"""
    for counter, expected in exactly.items():
        block, key = counter.split(".")
        bench.expect_equal(live.counters(report, block)[key], expected, counter)


def watched(bench, name, at_least, arguments=(), tests=None, requests=0, exactly=None, **least):
    """A suite; what it sends is checked by other tools. `requests`: how many packets are compared with what the suite
    has posted, at least; 0: none is. `exactly`: what "block.counter" has; `least`: what block__counter has at least."""
    checked = live.WireCheck(bench)
    reports = []
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, arguments=arguments) as fabric:
            posts = fabric.folder / "posts.jsonl"
            suite(bench, fabric, name, tests, **({"RXNIC_LIVE_POSTS": str(posts)} if requests else {}))
        checked.add(fabric.wire)
        if requests:
            compared, by_devices = posted.check(bench, posted.logged(posts), fabric.wire)
            bench.expect(compared >= requests, f"{name}: only {compared} packets were compared")
            print(f"{name}: {compared} packets of requests on the wire as posted, {by_devices} of them by devices")
        if fabric.report is None:  # the simulator is another one's: what it did is not known
            return reports
        reports.append(fabric.report)
        expect_counted(bench, fabric.report, exactly or {})
        for counter, value in least.items():
            block, key = counter.split("__")
            found = live.counters(fabric.report, block)[key]
            bench.expect(found >= value, f"{block}.{key}: only {found}")
    checked.finish(at_least)
    return reports


def protection(bench):
    """Wrong keys, bounds, rights, pages, PDs, freed and destroyed objects."""
    # On one NIC and between two: 24 requests with a key, bounds or a right that the peer refuses. There are also 6
    # messages for a receive with such an error. Pages that the host refuses, and errors of the own buffer, count
    # elsewhere.
    watched(bench, "Protection", at_least=200, exactly={"address_translator.remote_errors": 2 * 24,
                                                        "address_translator.local_errors": 2 * 6})


def by_rdma_cm(bench, name):
    """A suite of its own that uses the system's librdmacm, as each user; its fabrics."""
    program = bench.options.programs / name
    if not program.exists():
        raise e2e.Skip(f"librdmacm-dev is not installed: {name} was not built")
    for uid in live.uids():
        with live.Fabric(bench, 2, uid) as fabric:
            text = fabric.run(program, "--gtest_brief=1", **fabric.device_files())
            bench.expect(re.search(r"\[  PASSED  \] [1-9]", text), text)
        yield fabric


def connection_rules(bench):
    """rdma_cm: private data that does not fit, events of IDs that are gone."""
    for _ in by_rdma_cm(bench, "connection_rules"):
        pass


def create_srq(bench):
    """rdma_create_srq of the system's librdmacm: each of its rules."""
    for fabric in by_rdma_cm(bench, "create_srq"):
        if fabric.report is not None:  # otherwise the simulator is another one's: what it did is not known
            expect_counted(bench, fabric.report, {"srq_wqe_fetcher.wqes": 4})  # a receive for each of its messages


def atomic_write(bench):
    """ATOMIC WRITE by ibv_post_send and ibv_wr_atomic_write."""
    # On one NIC and between two: 3 that are carried out and 2 that are refused.
    watched(bench, "AtomicWrite", at_least=20, exactly={"ack_generator.atomics": 2 * 3, "ack_generator.naks": 2 * 2})


def srq(bench):
    """SRQs: posting, sizes, limits; the WQE fetcher did it, with one doorbell a call."""
    # On one NIC and between two there is a doorbell at least for each of 14 lists whose receives are used. There are
    # more when the NIC has seen a list in parts. Doorbells of the 32 queues of SizesAreAtLeastThoseThatWereAskedFor go
    # with their queue, which is destroyed at once, when they have not arrived (doorbell_line.h R2).
    doorbells = 2 * 14
    watched(bench, "Srq", at_least=400, requests=500, srq_wqe_fetcher__wqes=150,
            srq_wqe_fetcher__limit_events=4, srq_wqe_fetcher__wqes_discarded=1,
            srq_wqe_fetcher__doorbells=doorbells)
    watched(bench, "Srq", arguments=("--set", "srq_wqe_fetcher.srq_layout=cyclic"), at_least=400, requests=300,
            srq_wqe_fetcher__wqes=150, srq_wqe_fetcher__limit_events=4)
    for report in watched(bench, "SrqDoorbells", at_least=200):
        bench.expect_equal(live.counters(report, "srq_wqe_fetcher")["doorbells"], 20, "doorbells of 20 calls")


def completions(bench):
    """Errors, overruns, moderation, RESET, unsignaled requests; with compressed completions as well."""
    watched(bench, "Completions", at_least=2000, requests=1000, cqe_generator__overruns=2, cqe_generator__discarded=2,
            cqe_generator__error_cqes=6, cqe_generator__completion_events=8)
    # What is compressed takes fewer slots: nothing overruns. One write at a time is back-pressure, without which
    # nothing is compressed.
    narrow = [word for setting in ("cqe_generator.compression=true", "dma_engine.posted_header_credits=1",
                                   "dma_engine.write_latency_ps=60000", "address_translator.queue_depth=2")
              for word in ("--set", setting)]
    watched(bench, "Completions", at_least=2000, arguments=narrow,
            tests="*Completions.*-*AnOverrunIsAnEvent*", cqe_generator__compressed=200, cqe_generator__sessions=20)
    # Those that a RESET removes were written: both sides' of 3 messages, and of 3 times the 7 that an SRQ holds.
    watched(bench, "Completions", at_least=50, tests="*Completions.Reset*",
            exactly={"cqe_generator.cqes": 2 * 2 * (3 + 3 * 7)})


def send_flags(bench):
    """FENCE, INLINE; SOLICITED is among the events, where flags are legal among the opcodes."""
    watched(bench, "SendFlags", at_least=60, requester__wqes=18)


def send_errors(bench):
    """Sends that fail, the state of their QP (SQE, ERR) and how it comes back; the PSNs that a query shows."""
    # On one NIC and between two: one send of each attempt has a key that is none.
    watched(bench, "SendErrors", at_least=300, requester__errors=60, requester__flushed=1000)


def tags(bench):
    """TM SRQs: operations on their tag lists, and messages; the CAM searched for them."""
    watched(bench, "Tags", at_least=500, requests=400, tag_match_cam__matches=400, tag_match_cam__unexpected=14,
            tag_match_cam__untagged=2, tag_match_cam__operations=600, tag_match_cam__failed_operations=20)
    watched(bench, "TagsAtScale", at_least=2000, tag_match_cam__matches=2048, tag_match_cam__unexpected=32768)


def rendezvous(bench):
    """Messages that the device reads itself when their tag has matched; its requester and its CAM took part."""
    for report in watched(bench, "Rendezvous", at_least=150, requests=100, requester__fins=30):
        matched, begun = live.counters(report, "tag_match_cam")["rendezvous"], live.counters(report, "requester")
        incomplete = live.counters(report, "tag_match_cam")["rendezvous_incomplete"]
        bench.expect_equal((matched - incomplete, begun["rendezvous"] - begun["fins"]), (begun["rendezvous"], 6),
                           "rendezvous begun; those without a FIN")
        bench.expect_equal(report["match_latency_ns"]["count"], begun["rendezvous"], "matches, apart from their data")


def xrc(bench):
    """XRC domains, SRQs and QPs: messages, memory, what two opened devices share."""
    # On one NIC and between two: 14 messages that take a receive, and 4 that are refused.
    watched(bench, "Xrc", at_least=100, requests=60,
            exactly={"srq_wqe_fetcher.wqes": 2 * 14, "ack_generator.naks": 2 * 4})


def windows(bench):
    """Memory windows of both types, zero-based windows and regions; the command processor bound them."""
    watched(bench, "Windows", at_least=100, command_processor__windows_bound=20,
            command_processor__keys_invalidated=6, command_processor__windows_refused=10,
            address_translator__remote_invalidations=2)


def multicast(bench):
    """Groups with several QPs; the parser made the copies."""
    watched(bench, "Multicast", at_least=100, rx_parser__copies=250)


def device_memory(bench):
    """Memory of the device: messages, WRITEs, READs and atomics; the DMA engine accessed it."""
    watched(bench, "DeviceMemory", at_least=20, dma_engine__device_accesses=50)


def null_region(bench):
    """Null regions: neither written to nor read from; who would have done it counted the bytes."""
    watched(bench, "NullRegion", at_least=20, address_translator__null_bytes=10_000, requester__null_bytes=9_000)


def paging(bench):
    """On-demand regions: messages, WRITEs, READs, atomics; who lacked a page asked for it."""
    watched(bench, "Paging", at_least=200, address_translator__page_requests=20, requester__page_requests=20)


def steered_frames(bench, name, least):
    """A suite that sends frames of other protocols; the parser found their QPs by the frames' fields."""
    for uid in live.uids():
        with live.Fabric(bench, 2, uid) as fabric:
            suite(bench, fabric, name)
        frames = wire.ether_types(fabric.wire)
        bench.expect(frames[0x0800] + frames[0x88b5] >= least, f"{name}: too few frames on the wire: {frames}")
        if fabric.report is None:  # the simulator is another one's: what it did is not known
            continue
        found = live.counters(fabric.report, "rx_parser")["steered"]
        bench.expect(found >= least, f"{name}: rx_parser.steered: only {found}")


def raw(bench):
    """RAW_PACKET QPs, flow steering, RSS."""
    steered_frames(bench, "Raw", 50)
    steered_frames(bench, "Rss", 120)


def lifecycle(bench):
    """Parent domains with allocators, regions registered anew, handles made of completions, MAC addresses."""
    # The refused requests: 34 that a peer may not have, and 6 whose own region the requester may not use.
    for report in watched(bench, "Lifecycle", at_least=900, srq_wqe_fetcher__wqes=480, grh_scatter__grh_areas=24,
                          ack_generator__reads=16, command_processor__commands=500):
        bench.expect_equal((live.counters(report, "address_translator")["remote_errors"],
                            live.counters(report, "requester")["errors"]), (34, 40), "refused; failed WRs")
    steered_frames(bench, "PeerAddress", 6)


def opcodes(bench):
    """Every opcode on every transport, by both interfaces. What is legal is carried out and on the wire, all else is
    refused and sends nothing. The blocks that take part have counted each."""
    checked = live.WireCheck(bench)
    for uid in live.uids():
        with live.Fabric(bench, 2, uid) as fabric:
            inside = fabric.folder / "opcodes.jsonl"
            suite(bench, fabric, "Opcodes", RXNIC_LIVE_OPCODES=str(inside))
        log, rdma = table.logged(inside), bench.folder / "rdma.pcap"
        table.check_cells(bench, log)
        packets, frames = table.check_wire(bench, log, fabric.wire, rdma)
        bench.expect(packets >= 250 and frames >= 30, f"too little on the wire: {packets} packets, {frames} frames")
        print(f"{len(log)} WRs posted: {packets} packets and {frames} frames of RAW_PACKET QPs as the table has them")
        checked.add(rdma)
        if fabric.report is None:  # the simulator is another one's: what it did is not known
            continue
        taken = table.Taken(log)
        expect_counted(bench, fabric.report, {
                "requester.wqes": taken.of(),
                "requester.window_requests": taken.of("BIND_MW", "LOCAL_INV"),
                "requester.segments": taken.packets("TSO"),
                "command_processor.windows_bound": taken.of("BIND_MW"),
                "command_processor.keys_invalidated": taken.of("LOCAL_INV"),
                "rx_parser.steered": taken.packets(on=["RAW_PACKET"]),
                "srq_wqe_fetcher.wqes": taken.packets(*table.TAKE_A_RECEIVE),
                "ack_generator.reads": taken.of("RDMA_READ"),
                "ack_generator.atomics": taken.of("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "ATOMIC_WRITE"),
                "address_translator.remote_invalidations": taken.of("SEND_WITH_INV", on=["RC"]),
                "address_translator.refused_invalidations": taken.of("SEND_WITH_INV", on=["XRC_SEND"])})
        sending = live.counters(fabric.report, "requester")
        bench.expect_equal(sending["packets"] - sending["repeated"], taken.packets(), "requester.packets, sent once")
    checked.finish(at_least=250)


def tso(bench):
    """TCP segmentation and checksums on RAW_PACKET and UD QPs; the requester cut the messages."""
    for uid in live.uids():
        with live.Fabric(bench, 2, uid) as fabric:
            suite(bench, fabric, "Tso")
        checksums = wire.tcp_checksums(bench, fabric.wire)
        if checksums is not None:
            bench.expect_equal(checksums["bad"], 0, "TCP segments with a wrong checksum")
            bench.expect(checksums["good"] >= 800, f"too few TCP segments on the wire: {checksums}")
        if fabric.report is None:  # the simulator is another one's: what it did is not known
            continue
        sending = live.counters(fabric.report, "requester")
        for key, least in (("segments", 800), ("checksums", 820)):
            bench.expect(sending[key] >= least, f"requester.{key}: only {sending[key]}")
        found = live.counters(fabric.report, "rx_parser")["checksums_ok"]
        bench.expect(found >= 60, f"rx_parser.checksums_ok: only {found}")


def imports(bench):
    """Devices, PDs, regions and device memory of another context."""
    # On one NIC and between two: 2 SENDs of 3,000 bytes from an imported region, and a WRITE of 100.
    # How many WRITEs a window lets through while its region goes depends on the moment; then there is one of 100 more.
    ends = "ARegionGoesWithItsProcessAlthoughAnImporterHasBoundAWindowToIt"
    watched(bench, "Import", at_least=20, tests=f"*Import.*:-*{ends}*",
            exactly={"requester.payload_bytes": 2 * (2 * 3000 + 100)})
    watched(bench, "Import", at_least=2, tests=f"*Import.{ends}*", requester__payload_bytes=2 * (4 * 64 + 100))


def differential(bench):
    """Random sequences of everything that can be posted, against a plain reference.

    RXNIC_SEQUENCES of them run on one NIC and as many on two. They are divided among RXNIC_PROCESSES programs that run
    beside each other, each with NICs and a seed of its own (RXNIC_SEED and those after it).
    """
    sequences, processes, seed = (int(os.environ.get(name, default)) for name, default in
                                  (("RXNIC_SEQUENCES", "300"), ("RXNIC_PROCESSES", "1"), ("RXNIC_SEED", "1")))
    share = -(-sequences // processes)
    for uid in live.uids():
        with contextlib.ExitStack() as fabrics:
            programs = []
            for n in range(processes):
                fabric = fabrics.enter_context(live.Fabric(bench, 2, uid, record=False))
                programs.append(fabric.start("differential", bench.options.programs / "live_verbs",
                                             "--gtest_filter=*Differential*", "--gtest_brief=1",
                                             RXNIC_SEED=str(seed + n), RXNIC_SEQUENCES=str(share)))
            total = collections.Counter()
            for program in programs:
                code, text = program.wait(), program.text()
                bench.expect(code == 0, f"exit code {code}: {program.story()}")
                print(*re.findall(r"RXNIC_SEED=.*|\d+ sequences from .*", text), sep="\n")
                for line in re.findall(r"\d+ sequences from .*", text):
                    for count, what in re.findall(r"(\d+) (sequences from|requests|lists of several|held by a fence|"
                                                  r"failed|calls refused|window requests|tag operations|events)", line):
                        total[what] += int(count)
            bench.expect_equal(total["sequences from"], 2 * share * processes, "sequences")
            enough = len(total) == 9 and min(total.values()) >= sequences // 10
            bench.expect(enough, f"too little was compared: {total}")


# What may happen to a frame, each alone and all together: by what it is asked for, and the counter that shows it.
IMPAIRMENTS = {"loss": "lost", "corrupt": "corrupted", "duplicate": "duplicated", "reorder": "reordered"}


def integrity(bench):
    """Every byte and every atomic's result on a network that loses, corrupts, duplicates and reorders frames.

    5 % of each alone and of all together; with RXNIC_SEEDS of them each, from RXNIC_SEED on (1 and 2).
    """
    first, seeds, sequences = (int(os.environ.get(name, default)) for name, default in
                               (("RXNIC_SEED", "1"), ("RXNIC_SEEDS", "2"), ("RXNIC_SEQUENCES", "25")))
    for kinds in [(kind,) for kind in IMPAIRMENTS] + [tuple(IMPAIRMENTS)]:
        total = collections.Counter()
        for seed in range(first, first + seeds):
            settings = [f"fabric.{kind}_ppm=50000" for kind in kinds] + [f"fabric.impairment_seed={seed}"]
            arguments = [part for setting in settings for part in ("--set", setting)]
            with live.Fabric(bench, 2, record=False, arguments=arguments) as fabric:
                told = suite(bench, fabric, "integrity", "Integrity.*:Unreliable.*:*Differential*TwoNics",
                             RXNIC_IMPAIRED="+".join(kinds), RXNIC_SEED=str(seed), RXNIC_SEQUENCES=str(sequences))
            for pattern, what in ((r"(\d+) requests of", "requests"), (r"(\d+) additions", "atomics"),
                                  (r"sequences from .*?(\d+) requests", "random requests"),
                                  (r"(\d+) of \d+ messages", "unreliable"), (r"(\d+) of \d+ packets", "writes")):
                total[what] += sum(int(found) for found in re.findall(pattern, told))
            if fabric.report is None:  # the simulator is another one's: what it did is not known
                continue
            for kind, counter in IMPAIRMENTS.items():
                found = fabric.report["fabric"][counter]
                bench.expect((found > 100) == (kind in kinds), f"{kinds}, seed {seed}: {found} {counter}")
            words = " ".join(fabric.report["verdict"]["words"])
            for kind in kinds:
                bench.expect(f" {IMPAIRMENTS[kind]}" in words, f"{kinds}: the verdict does not say so: {words}")
            # What is sent again is counted where it is sent, and where it arrives although it had arrived before.
            again = live.counters(fabric.report, "requester")["repeated"]
            bench.expect(again > 0 or kinds == ("duplicate",), f"{kinds}, seed {seed}: nothing was sent again")
            total["sent again"] += again
        print(f"{'+'.join(kinds)}: {dict(total)}")
        bench.expect_equal(total["requests"], seeds * 5 * 4 * 48, f"{kinds}: requests of streams")
        enough = total["random requests"] > 5 * sequences * seeds and min(total[one] for one in (
            "atomics", "unreliable", "writes")) > 50 * seeds
        bench.expect(enough, f"{kinds}: too little was compared: {dict(total)}")


def grh(bench):
    """The 40 bytes in front of a datagram."""
    watched(bench, "Grh", at_least=6, grh_scatter__grh_areas=6)


def events(bench):
    """Completion channels, and requests that are solicited; events that nobody reads."""
    watched(bench, "Events", at_least=500, tests="*/Events.*", cqe_generator__completion_events=800)
    watched(bench, "UnreadEvents", at_least=10, cqe_generator__completion_events=60)


def asynchronous(bench):
    """Asynchronous events of every kind that the device has; moderated completion events."""
    for report in watched(bench, "Asynchronous", at_least=50, cqe_generator__qp_events=6,
                          srq_wqe_fetcher__limit_events=2):
        for kind in ("cq_error", "qp_access_error", "qp_request_error", "qp_last_wqe_reached", "srq_limit_reached",
                     "qp_sq_drained", "qp_communication_established"):
            bench.expect(report["events"][kind] > 0, f"no {kind} in the report: {report['events']}")


def latency(bench):
    """What a program measures with completion timestamps agrees with the report within 1 %."""
    with live.Fabric(bench, 2, record=False) as fabric:
        suite(bench, fabric, "Latency", "Latency.ClockAndTimestampsAgree")
    with live.Fabric(bench, 2, record=False) as fabric:
        text = suite(bench, fabric, "Latency", "Latency.MedianOfAPingPong")
    said = re.search(r"one way: (\d+) samples, median ([\d.]+) ns to the CQE", text)
    bench.expect(said, text)
    if said is None or fabric.report is None:
        return
    # The timestamp is taken when the CQE is built, the report's latency ends when the CQE can be polled. The difference
    # is the time of the write.
    values = fabric.report["config"]["values"]
    dma, cqe = values["dma_engine"], values["cqe_generator"]
    write = (cqe["latency_cycles"] * values["nic"]["clock_period_ps"] + dma["write_latency_ps"]) / 1000
    write += (cqe["cqe_bytes"] + dma["write_header_bytes"]) * 8 / dma["tlp_rate_mbps"] * 1000
    reported, measured = fabric.report["one_way_latency_ns"], float(said[2]) + write
    print(f"one way, 32 bytes: the program measures {said[2]} ns to the CQE, whose write takes {write:.1f} ns: "
          f"{measured:.1f} ns; the report says {reported['p50']} ns of {reported['count']} messages; "
          "published 810-830 ns")
    bench.expect_equal(reported["count"], int(said[1]), "messages in the report")
    bench.expect(abs(measured - reported["p50"]) <= 0.01 * reported["p50"],
                 f"median {measured:.1f} ns; the report says {reported['p50']} ns")


def threads(bench):
    """Many threads, many QPs; a program that forks."""
    for uid in live.uids():
        with live.Fabric(bench, 2, uid, record=False) as fabric:
            suite(bench, fabric, "Threads")


def hostile(bench):
    """10^4 corruptions of mapping and doorbells, garbage over sockets, and lies, while others work."""
    live.need("ibv_rc_pingpong", "rping")
    connects = rdmacm_check.UTILITIES["rping"][0]

    def pingpong(fabric):
        port = live.Port()
        options = ["-p", port.number, "-g", "2", "-n", "500", "-s", "5000", "-c"]
        good, server, client = fabric.pair(["ibv_rc_pingpong", "-d", "rxnic0", *options],
                                           ["ibv_rc_pingpong", "-d", "rxnic1", *options, "127.0.0.1"], port)
        port.close()
        return good and "invalid data" not in server.text() + client.text()

    def rping(fabric):
        good, server, client = rdmacm_check.run_pair(fabric, connects)
        bench.expect(good and re.search(connects.prints, client.text()), f"{server.story()}\n{client.story()}")
        return good

    def suites(fabric):
        suite(bench, fabric, "victims", "*/Tags.*:*/Rendezvous.*:*/Xrc.*:*/Windows.*:*/DeviceMemory.*")
        return True

    victims = (pingpong, rping, suites)
    with live.Fabric(bench, 2, record=False) as fabric:
        attacker = fabric.start("hostile", bench.options.programs / "hostile", "10000")
        rounds, good = 0, True
        while good and (not attacker.ended() or rounds < len(victims)):
            good = victims[rounds % len(victims)](fabric)
            rounds += 1
        bench.expect(good, f"victims, round {rounds}")
        code = attacker.wait()
        bench.expect(code == 0 and "10000 corruptions" in attacker.text(), attacker.story())
        suite(bench, fabric, "Payload")
        print(f"{rounds} runs of victims came to their end beside: {attacker.text().strip()}")


CHECKS = {"payload": payload, "protection": protection, "atomic_write": atomic_write, "grh": grh, "srq": srq,
          "completions": completions, "send_flags": send_flags, "send_errors": send_errors, "tags": tags,
          "rendezvous": rendezvous, "xrc": xrc, "windows": windows, "multicast": multicast, "raw": raw,
          "opcodes": opcodes, "tso": tso, "lifecycle": lifecycle,
          "import": imports, "device_memory": device_memory, "null_region": null_region, "create_srq": create_srq,
          "connection_rules": connection_rules,
          "paging": paging, "differential": differential, "integrity": integrity, "events": events,
          "asynchronous": asynchronous, "latency": latency, "threads": threads, "hostile": hostile}


if __name__ == "__main__":
    parser = live.parser_for(__doc__, CHECKS)
    parser.add_argument("--programs", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FOLDER",
                        help="where live_verbs and hostile are")
    sys.exit(e2e.run(parser, CHECKS))
