#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of model/params/params.toml acts: for each a run in which a figure of the report moves as it should.

A new parameter needs a row in params_rows.py: a scenario, two values, a figure of report.json and its direction.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tomllib

import e2e
from params_rows import MIXED, OTHER, ROWS, SENDS, Replay

PATIENCE = 120  # seconds; each run takes less than one on an idle core
REFUSED = 2     # exit status: a usage or configuration error


def declared():
    """What params.toml holds: {section.key: what it says, with acts_in and otherwise of its section}."""
    text = (e2e.ROOT / "model" / "params" / "params.toml").read_text(encoding="utf-8")
    found = {}
    for section, body in tomllib.loads(text).items():
        of_all = {key: value for key, value in body.items() if key in ("acts_in", "otherwise")}
        for key, p in body.items():
            if isinstance(p, dict):
                found[f"{section}.{key}"] = p if "acts_in" in p else p | of_all
    return found


def spelled(value):
    """As --set takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


ETHERNET_IPV4_UDP, BTH, PCAP_HEADER, PCAP_RECORD, RC_ACK, UNLIMITED = 14 + 20 + 8, 12, 24, 16, 17, 0x1F


def unlimited_acks(capture):
    """ACKs whose syndrome is that of an ACK with unlimited credit, of RoCEv2 over IPv4."""
    count, at = 0, PCAP_HEADER
    while at < len(capture):
        length = int.from_bytes(capture[at + 8:at + 12], "little")
        frame = capture[at + PCAP_RECORD:at + PCAP_RECORD + length]
        count += frame[ETHERNET_IPV4_UDP] == RC_ACK and frame[ETHERNET_IPV4_UDP + BTH] == UNLIMITED
        at += PCAP_RECORD + length
    return count


def figure(report, path):
    """The number at the path; one that a report leaves out because nothing is counted there is 0."""
    at = report
    for texts in ("printed", "refused"):
        if path.startswith(texts + "."):
            return report[texts].count(path.removeprefix(texts + "."))
    for part in path.split("."):
        at = at[int(part)] if isinstance(at, list) else at.get(part, {})
    return at if isinstance(at, (int, float)) else 0


def program(bench):
    """The command that starts it: a sanitizer's library comes before the one that `rxnic run` preloads."""
    options = bench.options
    if not options.preload:
        return [options.program]
    return ["sh", "-c", f'LD_PRELOAD={options.preload}${{LD_PRELOAD:+:$LD_PRELOAD}} exec "$0" "$@"', options.program]


class Walk:
    """Runs scenarios, each with the same values once; a default is the same set as not."""

    def __init__(self, bench, parameters):
        self.bench = bench
        self.defaults = {f"{name}={spelled(p['default'])}" for name, p in parameters.items()}
        self.reports = {}
        self.captures = {}

    def capture(self, traffic):
        if traffic not in self.captures:
            file = f"traffic{len(self.captures)}.pcap"
            made = self.bench.start(self.bench.options.make_traffic, file, *traffic.split())
            self.bench.expect_equal(made.returncode, 0, f"make_traffic {traffic}: {made.stderr}")
            self.captures[traffic] = file
        return self.captures[traffic]

    def report(self, scenario, values, may_refuse=False):
        """None: the run failed, which was said. may_refuse: so that rxnic refuses it is an outcome, too."""
        values = tuple(value for value in values if value not in self.defaults)
        key = (scenario, values)
        if key not in self.reports:
            settings = [part for value in values for part in ("--set", value)]
            if isinstance(scenario, Replay):
                what = ["replay", self.capture(scenario.traffic), "--cqes", "cqes.csv", *scenario.options.split()]
                what += ["--quiet", "--out", "out", *settings]
            else:
                what = ["run", "--quiet", "--nics", scenario.nics, "--out", "out", *settings]
                what += ["--", *program(self.bench), scenario.what]
            command = " ".join(map(str, what))
            self.reports[key] = None
            try:
                done = self.bench.rxnic(*what, timeout=PATIENCE)
                if may_refuse and done.returncode == REFUSED:
                    self.reports[key] = {"refused": done.stderr}
                    return self.reports[key]
                self.bench.expect(done.returncode == 0, f"rxnic {command}: {done.stderr.strip()}")
                if done.returncode == 0:
                    self.reports[key] = self.outcome(scenario, done)
            except subprocess.TimeoutExpired:
                self.bench.expect(False, f"rxnic {command}: no end within {PATIENCE} s")
        return self.reports[key]

    def outcome(self, scenario, done):
        """report.json, and what else Row names."""
        out = self.bench.folder / "out"
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        report |= {"printed": done.stdout, "refused": ""}
        if isinstance(scenario, Replay):
            with open(self.bench.folder / "cqes.csv", encoding="utf-8") as file:
                opcodes = [row["opcode"] for row in csv.DictReader(file)]
            report["opcodes"] = {name: opcodes.count(name) for name in set(opcodes)}
            report["sent"] = {"unlimited": unlimited_acks((out / "responses.pcap").read_bytes())}
        return report


def walk(bench):
    """Each parameter moves a figure of a report as it should; one that cannot act in any run is named in a warning."""
    names = {row.name for row in ROWS}
    parameters = declared()
    nowhere = {name: p["otherwise"] for name, p in parameters.items() if p.get("acts_in") == "none"}
    bench.expect_equal(len(names), len(ROWS), "parameters with two rows")
    for name in sorted(parameters.keys() - names - nowhere.keys()):
        bench.expect(False, f"{name}: no row in ROWS says what it moves")
    for name in sorted(names - (parameters.keys() - nowhere.keys())):
        bench.expect(False, f"{name}: has a row, and is no parameter that acts")
    runs = Walk(bench, parameters)
    walked = 0
    for row in (r for r in ROWS if r.name in parameters):
        refused = row.figure.startswith("refused.")
        reports = [runs.report(row.scenario, (*row.also, f"{row.name}={value}"), refused)
                   for value in (row.value, row.to)]
        if None in reports:
            continue
        before, after = (figure(report, row.figure) for report in reports)
        print(f"{row.name}: {row.value} -> {row.to}: {row.figure} {before} -> {after}")
        moved = (after - before) * row.direction > 0 if row.direction != OTHER else after != before
        bench.expect(moved, f"{row.name}: {row.value} -> {row.to}: {row.figure} {before} -> {after}, "
                            f"expected {('another', 'more', 'less')[row.direction]}")
        unduly = [text for text in reports[1].get("warnings", []) if text.startswith(f"{row.name} cannot act")]
        bench.expect_equal(unduly, [], f"{row.name} acts, and a warning")
        walked += 1
    for name, why in nowhere.items():
        default = parameters[name]["default"]
        least, most = (False, True) if parameters[name]["type"] == "bool" else parameters[name]["range"]
        other = spelled(most if default == least else least)
        report = runs.report(MIXED, (f"{name}={other}",))
        print(f"{name}: cannot act: {why}")
        said = report is not None and any(name in text and why in text for text in report["warnings"])
        bench.expect(said, f"{name}: no warning")
        walked += 1
    print(f"{walked} parameters walked, {len(parameters)} in params.toml")
    bench.expect_equal(walked, len(parameters), "parameters walked")


def warnings(bench):
    """A parameter that was set and cannot act is named in a warning of the report and on standard error."""
    made = bench.start(bench.options.make_traffic, "sends.pcap", "50", *SENDS.split(), "tags=8",
                       "min_bytes=64")
    bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")

    def replayed(*arguments):
        done = bench.rxnic("replay", "sends.pcap", "--quiet", "--out", "out", *arguments)
        bench.expect_equal(done.returncode, 0, f"{arguments}: {done.stderr}")
        report = json.loads((bench.folder / "out" / "report.json").read_text(encoding="utf-8"))
        for text in report["warnings"]:
            bench.expect(f"warning: {text}" in done.stderr, f"{text!r} is not on standard error: {done.stderr}")
        return report["warnings"]

    srq, tagged, table = "receive=srq", "receive=tm_srq", "dma_engine.read_latency=table"
    for host, also, value, why in [
            ("receive=rq", [], "fabric.loopback_latency_ps=1", "there is no fabric"),
            ("receive=rq", [], "fabric.switch_latency_ps=1", "no frame passes a switch"),
            ("receive=rq", [], "fabric.ecn_threshold_bytes=1", "no frame passes a switch"),
            ("receive=rq", [], "requester.dcqcn_min_mbps=2", "nothing is posted to send"),
            ("receive=rq", [], "ack_generator.cnp_scope=port", "no packet is marked"),
            ("receive=rq", [], "live.timer_gap_ps=1000000", "no live programs"),
            ("receive=rq", [], "requester.latency_cycles=1", "nothing is posted to send"),
            ("receive=rq", [], "device.max_cqs=1", "no driver"),
            ("receive=rq", [], "nic.event_depth=2", "no run raises events faster"),
            ("receive=rq", [], "srq_wqe_fetcher.srq_layout=cyclic", "receive=srq"),
            (srq + ",layout=cyclic", [], "srq_wqe_fetcher.srq_layout=cyclic", "--host layout chooses"),
            ("cq_compression=off", [], "cqe_generator.compression=true", "cq_compression=off"),
            ("receive=rq", [], "srq_wqe_fetcher.sequential_prefetch=false", "linked list"),
            (srq, ["srq_wqe_fetcher.sequential_prefetch=false"], "srq_wqe_fetcher.prefetch_depth=8", "linked lists"),
            (srq, ["srq_wqe_fetcher.sequential_prefetch=false"], "srq_wqe_fetcher.wqes_per_read=1", "linked lists"),
            (srq, ["srq_wqe_fetcher.sequential_prefetch=false"], "srq_wqe_fetcher.prefetch=greedy", "linked lists"),
            (srq, [], "tag_match_cam.search_cycles=1", "receive=tm_srq"),
            (tagged, [], "tag_match_cam.entries=1", "tags=N"),
            (tagged + ",tags=4", [], "tag_match_cam.bank_entries=1", "tag_match_cam.organisation=banked"),
            (tagged + ",tags=4", ["tag_match_cam.organisation=banked"], "tag_match_cam.wildcards_per_cycle=2",
             "tag_match_cam.organisation=hashed"),
            ("receive=rq", [], "dma_engine.read_latency_p50_ps=390000", table),
            ("receive=rq", [], "dma_engine.read_latency_min_ps=1000", "dma_engine.read_latency=range|table"),
            ("receive=rq", [table], "dma_engine.read_latency_ps=1000", "dma_engine.read_latency=constant"),
            ("receive=rq", [], "dma_engine.latency_seed=2", "dma_engine.write_latency_spread_ps!=0"),
            ("receive=rq", [], "cqe_generator.compression_max=2", "cqe_generator.compression=true"),
            ("receive=rq", [], "cqe_generator.cq_contexts=1", "one CQ"),
            ("receive=rq", [], "cqe_generator.moderation_timers=1", "no CQ is armed"),
            ("receive=rq", [], "ack_generator.coalesce_timer_ps=1000", "ack_generator.coalesce_packets!=1"),
    ]:
        options = [part for setting in (*also, value) for part in ("--set", setting)]
        found = replayed("--host", host, *options)
        cannot = value.partition("=")[0] + " cannot act in this run: "
        bench.expect(len(found) == 1 and found[0].startswith(cannot) and why in found[0],
                     f"{host} {also} {value}: found {found}; expected one that says '{why}'")
    # What acts, and what has the configuration's value, is not mentioned.
    for arguments in [
            [],
            ["--set", "fabric.switch_latency_ps=300000"],
            ["--set", "host.poll_latency_ps=1"],
            ["--set", "dma_engine.relaxed_ordering=true"],  # of reads, whether or not writes are spread
            ["--config", "nic_400g_gen5"],
            ["--set", f"{table}", "--set", "dma_engine.read_latency_p50_ps=390000"],
            ["--set", "dma_engine.write_latency_spread_ps=1", "--set", "dma_engine.latency_seed=2"],
            ["--host", "receive=srq", "--set", "srq_wqe_fetcher.srq_layout=cyclic"],
            ["--host", "receive=tm_srq,tags=4", "--set", "tag_match_cam.entries=1"],
            ["--host", "completions=events", "--set", "cqe_generator.moderation_timers=1"],
            ["--host", "qps_per_cq=1", "--set", "cqe_generator.cq_contexts=1"],
    ]:
        unduly = [text for text in replayed(*arguments) if "cannot act" in text]
        bench.expect_equal(unduly, [], f"{arguments}: warnings")
    # A file holds what differs from its base, and --set may say something of it.
    (bench.folder / "mine.toml").write_text('base = "nic_400g_gen5"\n[fabric]\ncable_delay_ps = 77\n', encoding="utf-8")
    found = replayed("--config", "mine.toml", "--set", "live.timer_gap_ps=4000000")
    bench.expect_equal([text.partition(" ")[0] for text in found], ["fabric.cable_delay_ps", "live.timer_gap_ps"],
                       "a file, and --set")


def programs(bench):
    """Warnings of a run of programs, which a repetition of its record gives, too."""
    settings = ("host.poll_latency_ps=1", "fabric.loopback_latency_ps=1", "fabric.cable_delay_ps=1",
                "requester.dcqcn_min_mbps=2")
    of_host = "host.poll_latency_ps cannot act in this run: the programs poll and post by themselves"
    of_cable = "fabric.cable_delay_ps cannot act in this run: no frame passes a switch: that takes programs on two NICs"
    of_rate = "requester.dcqcn_min_mbps cannot act in this run: it needs fabric.ecn_threshold_bytes!=0 or " \
              "fabric.mark_ppm!=0"
    for nics, also, expected in [(1, (), [of_cable, of_rate, of_host]), (2, (), [of_rate, of_host]),
                                 (2, ("fabric.ecn_threshold_bytes=1",), [of_host])]:
        options = [part for setting in (*settings, *also) for part in ("--set", setting)]
        done = bench.rxnic("run", "--record", "--no-device-files", "--nics", nics, "--out", "out", *options, "--",
                           bench.options.program, "clock")
        report = json.loads((bench.folder / "out" / "report.json").read_text(encoding="utf-8"))
        bench.expect_equal(report["warnings"], expected, f"{nics} NICs, {also}: warnings")
        for text in expected:
            bench.expect(f"warning: {text}" in done.stderr, f"{text!r} is not on standard error: {done.stderr}")
        again = bench.rxnic("replay", "out")
        bench.expect(again.returncode == 0 and "the report" in again.stdout, f"the record differs: {again.stderr}")


CHECKS = {"walk": walk, "warnings": warnings, "programs": programs}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    for option, what in (("--make-traffic", "the program that writes captures"), ("--program", "params_program")):
        parser.add_argument(option, required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE", help=what)
    parser.add_argument("--preload", metavar="FILE", help="a sanitizer's library for programs that rxnic starts")
    sys.exit(e2e.run(parser, CHECKS))
