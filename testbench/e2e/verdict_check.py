#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdict of a report, against runs in which what binds is known because it was made scarce."""
import pathlib
import re
import sys

import e2e

SENDS = "rc_qps=4 ud_qps=0 send_imm=0 write=0 write_imm=0 read=0 add=0 load=100"
READS = "ud_qps=0 send=0 send_imm=0 write=0 write_imm=0 add=0 read=1 load=100"
FAST = ["--set", "dma_engine.tlp_rate_mbps=1000000"]
LINE = ["--pace", "line-rate"]
# What is scarce: arguments of make_traffic, options of replay, (what binds, its resource), a parameter that is named.
PLANTED = {
    "PCIe": (f"4000 1 {SENDS}", LINE, ("dma_engine", "busy"), "dma_engine.tlp_rate_mbps"),
    "parser": (f"4000 2 {SENDS} min_bytes=512 max_bytes=512", [*LINE, *FAST, "--set", "rx_parser.beat_bytes=8"],
               ("rx_parser", "busy"), "rx_parser.beat_bytes"),
    "checker": (f"4000 3 {SENDS}", [*LINE, *FAST, "--set", "transport_checker.cycles_per_packet=40"],
                ("transport_checker", "busy"), "transport_checker.cycles_per_packet"),
    "scatter": (f"4000 4 {SENDS} min_bytes=512 max_bytes=512",
                [*LINE, *FAST, "--set", "grh_scatter.bytes_per_cycle=8"],
                ("grh_scatter", "busy"), "grh_scatter.bytes_per_cycle"),
    "CQEs": (f"4000 5 {SENDS}", [*LINE, *FAST, "--set", "cqe_generator.cycles_per_cqe=60"],
             ("cqe_generator", "busy"), "cqe_generator.cycles_per_cqe"),
    "answers": (f"4000 6 {SENDS}", [*LINE, *FAST, "--set", "ack_generator.response_cycles=60"],
                ("ack_generator", "response"), "ack_generator.response_cycles"),
    "WQE reads": (f"3000 7 {SENDS}",
                  [*LINE, *FAST, "--host", "receive=srq,layout=linked_list,wqe_order=shuffled", "--set",
                   "srq_wqe_fetcher.sequential_prefetch=false", "--set", "dma_engine.read_latency_ps=2000000"],
                  ("srq_wqe_fetcher", "wqe"), "dma_engine.read_latency_ps"),
    "QP contexts": (f"3000 8 {SENDS.replace('rc_qps=4', 'rc_qps=512')}",
                    [*LINE, *FAST, "--set", "qp_context_cache.sets=1", "--set", "qp_context_cache.misses_in_flight=1"],
                    ("qp_context_cache", "context"), "qp_context_cache.sets"),
    "translations": (f"3000 9 {SENDS.replace('rc_qps=4', 'rc_qps=64')}",
                     [*LINE, *FAST, "--set", "address_translator.mpt_sets=1", "--set", "address_translator.mpt_ways=1",
                      "--set", "address_translator.walks_in_flight=1"],
                     ("address_translator", "translation"), "address_translator.mpt_sets"),
    "tags": ("3000 10 ud_qps=0 read=0 write=0 write_imm=0 add=0 tags=512 load=100",
             [*LINE, *FAST, "--host", "receive=tm_srq,tags=512", "--set", "tag_match_cam.entries=4"],
             ("tag_match_cam", "tag"), "tag_match_cam.entries"),
    "READ data": (f"1500 11 {READS} min_bytes=64 max_bytes=64",
                  [*LINE, *FAST, "--set", "dma_engine.read_latency_ps=20000000", "--set",
                   "ack_generator.read_responses_in_flight=1"],
                  ("ack_generator", "dma_data"), "dma_engine.read_latency_ps"),
    "the line out": (f"1500 12 {READS} min_bytes=4096 max_bytes=4096 mtu=4096", [*LINE, *FAST], ("out_line", "line"),
                     "nic.link_gbps"),
    "the line": (f"4000 13 {SENDS} min_bytes=1024 max_bytes=1024", LINE, ("line", "line"), "nic.link_gbps"),
    "idle": (f"2000 14 {SENDS.replace('load=100', 'load=1')}", [], ("idle", ""), None),
    "the sender": (f"4000 15 {SENDS.replace('load=100', 'load=30')} min_bytes=512 max_bytes=512", [],
                   ("sender", "packets that come"), None),
    "WQE store": (f"4000 17 {SENDS} min_bytes=2048 max_bytes=2048 mtu=1024",
                  [*LINE, *FAST, "--set", "srq_wqe_fetcher.wqe_store_entries=2"],
                  ("srq_wqe_fetcher", "wqe_store"), "srq_wqe_fetcher.wqe_store_entries"),
    "the host": (f"3000 16 {SENDS}", [*LINE, "--host", "depth=8", "--set", "host.poll_latency_ps=50000000"],
                 ("host", "receive WQE"), None),
}


def verdict_of(bench, arguments, options):
    trace = bench.folder / "traffic.pcap"
    made = bench.start(bench.options.make_traffic, trace, *arguments.split())
    bench.expect_equal(made.returncode, 0, f"make_traffic {arguments}: {made.stderr}")
    return bench.replay(trace, *options)


def planted(bench):
    """What was made scarce is named, with the parameter that moves it; and moving it as proposed helps."""
    for name, (arguments, options, wanted, parameter) in PLANTED.items():
        report = verdict_of(bench, arguments, options)
        if report is None:
            continue
        verdict = report["verdict"]
        found = (verdict["bound_by"], verdict["resource"])
        bench.expect_equal(found, wanted, f"{name}: {verdict['words']}")
        names = [p["name"] for p in verdict["parameters"]]
        bench.expect(parameter is None or parameter in names, f"{name}: parameters {names}")
        bench.expect(all(p["evidence"] in ("documented", "measured", "assumed") for p in verdict["parameters"]), name)
        tried = next((line for line in verdict["next"] if "--set" in line), None)
        if tried is None or parameter is None:
            continue
        assignment = re.search(r"--set (\S+)", tried)[1]
        other = bench.replay(bench.folder / "traffic.pcap", *options, "--set", assignment, out="other")
        helps = other is not None and other["time_ps"] <= report["time_ps"] * 1.01
        bench.expect(helps, f"{name}: {tried} does not help")


def backlog(bench):
    """Latency is called backlog when packets wait in front of blocks, and not when the NIC keeps up."""
    for load, wanted in ((100, True), (1, False)):
        report = verdict_of(bench, f"4000 21 {SENDS.replace('load=100', f'load={load}')}",
                            LINE if wanted else [])
        verdict = report["verdict"]
        bench.expect_equal(verdict["backlog"], wanted, f"load {load}: {verdict['words']}")
        stages = report["stages_ns"]
        waits = sum(s["wait"]["mean"] for name, s in stages.items() if name not in ("wire", "host_memory"))
        whole = sum(s["mean"] for s in stages.values())
        bench.expect_equal(waits / whole > 0.5, wanted, f"load {load}: {waits} of {whole} ns")


def distrust(bench):
    """A short run, cold caches, missing packets and what was assumed are said, and not of a run without them."""
    def said(arguments, *options):
        return " ".join(verdict_of(bench, arguments, options)["verdict"]["distrust"])
    short = said(f"60 22 {SENDS.replace('rc_qps=4', 'rc_qps=50')}")
    bench.expect("a short run: 60 messages" in short, short)
    bench.expect("cold caches" in short, short)
    # What the NIC drops is not missing in the capture.
    full = said(f"4000 25 {SENDS}", *LINE, "--set", "wire.rx_full=drop", "--set", "wire.rx_buffer_bytes=16K", "--set",
                "rx_parser.beat_bytes=8")
    bench.expect("in the capture" not in full, full)
    long = said(f"5000 23 {SENDS}")
    bench.expect("short" not in long and "cold" not in long and "assumed: a host" in long, long)


def summary(bench):
    """The summary begins with the verdict, ends with what to try, and fits 80 columns."""
    trace = bench.folder / "traffic.pcap"
    bench.start(bench.options.make_traffic, trace, *f"4000 24 {SENDS}".split())
    for source, options in ((trace, LINE), (e2e.SAMPLE, [])):
        done = bench.rxnic("replay", source, "--out", "run", *options)
        lines = [line.replace(str(source), "TRACE") for line in done.stdout.splitlines()]
        bench.expect(lines[2].startswith("  verdict     "), f"begins with {lines[:3]}")
        text = " ".join(done.stdout.split())
        bench.expect("what to try next replay it again with" in text, done.stdout[-800:])
        long = [line for line in lines if len(line) > 80]
        bench.expect(not long, f"more than 80 columns: {long}")
        again = bench.rxnic("report", "run")
        bench.expect(again.stdout and done.stdout.startswith(again.stdout), "rxnic report prints something else")


def workloads(bench):
    """What holds up senders that wait for their answers, and what shows in drops alone."""
    large = "packets = 5000\n[senders]\nqps = 16\nbytes = 3000\n[receiver]\nreceive = \"srq\"\n"
    mixed = ("packets = 2000\n[[senders]]\npeers = 2\nqps = 4\nbytes = 3000\n"
             "[senders.mix]\nsend = 3\nwrite = 3\nread = 2\nfetch_add = 2\n"
             "[[senders]]\ntransport = \"ud\"\nbytes = 500\narrivals = \"poisson\"\nload = 10\n")
    asleep = ("packets = 1000\n[senders]\nqps = 1\nbytes = 64\narrivals = \"constant\"\ninterval = 1000000\n"
              "[receiver]\ncompletions = \"events\"\nmoderation_count = 1000\n")
    for name, page, options, wanted, said in (
            ("store of the fetcher", large, ["srq_wqe_fetcher.queues=1024"], ("srq_wqe_fetcher", "wqe_store"),
             "waited (wait_wqe_store"),
            ("PCIe tags", mixed, ["dma_engine.tags=2"], ("dma_engine", "dma_tag"), "no PCIe tag is free"),
            ("a host that is not woken", asleep, [], ("host", "receive WQE"), "came ahead of the expected PSN"),
            ("failed QPs", large, ["workload.senders.mix.read=1", "workload.senders.mix.send=0",
                                   "ack_generator.answers_per_qp=1"], None, "packets (85 %) were dropped")):
        (bench.folder / "page.toml").write_text(page, encoding="utf-8")
        verdict = bench.replay("page.toml", *(part for one in options for part in ("--set", one)))["verdict"]
        words = " ".join(verdict["words"])
        bench.expect(wanted in (None, (verdict["bound_by"], verdict["resource"])), f"{name}: {words}")
        bench.expect(said in words, f"{name}: {words}")
        bench.expect(wanted is None or " bound " in verdict["words"][0], f"{name}: the reason is not first: {words}")
    on = bench.replay("page.toml", "--set", "cqe_generator.compression=true")["verdict"]
    bench.expect("cqe_generator.compression" not in [p["name"] for p in on["parameters"]], "offers what is on already")


CHECKS = {"planted": planted, "workloads": workloads, "backlog": backlog, "distrust": distrust, "summary": summary}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(PARSER, CHECKS))
