#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RTL in lockstep with the model, and in its place: --lockstep and --rtl."""
import json
import os
import pathlib
import re
import shutil
import sys

import e2e

BLOCK = "grh_scatter"
BLOCKS = (BLOCK, "cqe_generator", "srq_wqe_fetcher")  # that every packet passes


def need_rtl(bench):
    """Skips the check when the program was built without RTL."""
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--lockstep", BLOCK)
    if "found no RTL of the project" in done.stderr:
        raise e2e.Skip("Verilator: the program was built without RTL")


def traces():
    """The sample, and the captures beside the project when they are there."""
    try:
        return [e2e.SAMPLE, *e2e.shared_captures("soft_roce", "nic")]
    except e2e.Skip:
        return [e2e.SAMPLE]


def lockstep(bench):
    """Model and RTL agree on every capture, and the run says how much was compared."""
    need_rtl(bench)
    for trace in traces():
        done = bench.rxnic("replay", trace, "--lockstep", ",".join(BLOCKS))
        bench.expect_equal(done.returncode, 0, f"{trace.name}: {done.stderr}")
        for block in BLOCKS:
            found = re.search(rf"lockstep: \S*{block}: (\d+) cycles compared, .*; (\d+) transactions", done.stdout)
            bench.expect(found and int(found[2]) > 0,
                         f"{trace.name}: {block}: does not say what was compared: {done.stdout[-400:]}")


def clocked(bench):
    """RTL that is clocked in idle cycles, too, does and answers the same: in lockstep, and in the model's place."""
    need_rtl(bench)
    trace = (e2e.SAMPLE, "--pace", "400")  # Gb/s: as captured, nearly all of 800,000 cycles are idle
    figures = re.compile(r"lockstep: (\S+): (\d+) cycles compared, (\d+) of them clocked; (\d+) transactions")
    left_out, always = (figures.findall(bench.rxnic("replay", *trace, "--lockstep", ",".join(BLOCKS), *more).stdout)
                        for more in ((), ("--clock-always",)))
    bench.expect_equal(len(left_out), len(BLOCKS), "blocks compared")
    for (name, compared, some, transactions), (_, *all_of) in zip(left_out, always):
        bench.expect_equal(all_of, [compared, compared, transactions], f"{name}: cycles, clocked, transactions")
        bench.expect(int(some) < int(compared), f"{name}: {some} of {compared} cycles clocked without the option")
    answers = []
    for more in ((), ("--clock-always",)):
        report = bench.replay(*trace, "--rtl", ",".join(BLOCKS), *more, out="clocked")
        answers.append(((bench.folder / "clocked" / "responses.pcap").read_bytes(), report["cqes"],
                        report["latency_ns"], report["events"]))
    bench.expect(answers[0] == answers[1], "in the model's place: other answers or times")


# Counters of a block that its ports do not show.
UNKNOWN = {BLOCK: {"elements", "failed"}, "cqe_generator": {"discarded", "context_hits", "context_misses",
                                                            "context_reads_ahead", "unmoderated_events"}}
CAM, FETCHER = "tag_match_cam", "srq_wqe_fetcher"
ALL = (*BLOCKS, CAM)
WITH_TAGS = ("--host", "receive=tm_srq,tags=24")


def same_account(bench, what, model, rtl, blocks):
    """Cycles of the run, those of each block by activity, and all counters that a report has of RTL are the model's."""
    for figure in ("cycles", "time_ps", "rates"):
        bench.expect_equal(rtl[figure], model[figure], f"{what}: {figure}")
    for name, of_model in model["blocks"].items():
        of_rtl = rtl["blocks"][name]
        if name not in blocks:
            bench.expect_equal(of_rtl, of_model, f"{what}: {name}")
            continue
        for key in ("busy", "busy_at_most", "starved", "blocked", "waiting"):
            bench.expect_equal(of_rtl.get(key), of_model.get(key), f"{what}: {name}: {key}")
        shown = of_rtl["counters"]
        bench.expect_equal(shown, {key: of_model["counters"][key] for key in shown}, f"{what}: {name}: counters")
        bench.expect("packets" in shown and shown["packets"] > 0, f"{what}: {name}: counts no packets")
        if name in UNKNOWN:
            bench.expect_equal(set(of_model["counters"]) - set(shown), UNKNOWN[name], f"{what}: {name}: not counted")


def place(bench):
    """With the RTL in the model's place the answers are equal, byte for byte and in their cycles. The run ends in the
    same cycle, with the same cycles by activity, and counters as far as the ports show them."""
    need_rtl(bench)
    for trace in traces():
        model = bench.replay(trace, out="model")
        rtl = bench.replay(trace, "--rtl", ",".join(BLOCKS), out="rtl")
        answers = [(bench.folder / out / "responses.pcap").read_bytes() for out in ("model", "rtl")]
        bench.expect(answers[0] == answers[1], f"{trace.name}: other responses")
        for figure in ("cqes", "latency_ns", "packets", "events"):
            bench.expect_equal(rtl.get(figure), model.get(figure), f"{trace.name}: {figure}")
        same_account(bench, trace.name, model, rtl, BLOCKS)
        bench.expect_equal([use["use"] for use in rtl["rtl"]], ["rtl"] * len(BLOCKS), f"{trace.name}: uses")


def random_init(bench):
    """What reset does not set has no effect. Random bits in its place give equal results in every block, in lockstep,
    where the checkers hold from reset on, and in the model's place."""
    need_rtl(bench)
    every = ",".join(ALL)
    reports = []
    for seed in ((), *(("--random-init", number) for number in ("1", "2", "3", "0xfedcba9876543210"))):
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", *WITH_TAGS, "--lockstep", every, *seed)
        bench.expect_equal(done.returncode, 0, f"lockstep {seed}: {done.stdout} {done.stderr}")
        reports.append(bench.replay(e2e.SAMPLE, *WITH_TAGS, "--rtl", every, *seed))
    bench.expect(all(report == reports[0] for report in reports), "in the model's place: other reports")


def account(bench):
    """What each of the four blocks does with its cycles is the model's. This holds cycle by cycle in lockstep, and in
    the report with the RTL in its place. The traffic has buffers and tags, requests that fail, and WQEs and contexts
    that are waited for."""
    need_rtl(bench)
    made = bench.start(bench.options.make_traffic, "failing.pcap", "1500", "errors=20000", "load=90")
    bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
    made = bench.start(bench.options.make_traffic, "tags.pcap", "1500", "tags=8", "load=90", "write=0", "read=0",
                       "write_imm=0", "add=0", "ud_qps=0")
    bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
    slow_memory = ("--set", "dma_engine.read_latency_ps=3000000")
    waits = {}
    for trace, host, blocks in (("failing.pcap", (), BLOCKS), ("tags.pcap", WITH_TAGS, ALL)):
        done = bench.rxnic("replay", trace, "--quiet", *host, *slow_memory, "--lockstep", ",".join(blocks))
        bench.expect_equal(done.returncode, 0, f"{trace}: {done.stderr}")
        model, rtl = (bench.replay(trace, *host, *slow_memory, *place_of)
                      for place_of in ((), ("--rtl", ",".join(blocks))))
        same_account(bench, trace, model, rtl, blocks)
        for name in blocks:
            waits.setdefault(name, set()).update(rtl["blocks"][name]["waiting"])
            bench.expect(rtl["blocks"][name]["busy"] > 0, f"{trace}: {name} is never busy")
    bench.expect("wqe" in waits[FETCHER] and "tag" in waits[CAM], f"waited for: {waits}")


def tags(bench):
    """The tag matcher: on an SRQ with tags model and RTL agree, and do the same; without tags nothing passes it."""
    need_rtl(bench)
    for trace in traces():
        done = bench.rxnic("replay", trace, *WITH_TAGS, "--lockstep", "tag_match_cam")
        bench.expect_equal(done.returncode, 0, f"{trace.name}: {done.stderr}")
        found = re.search(r"lockstep: \S*tag_match_cam: (\d+) cycles compared, .*; (\d+) transactions", done.stdout)
        bench.expect(found and int(found[2]) > 0, f"{trace.name}: does not say what was compared: {done.stdout[-400:]}")
    reports = [bench.replay(e2e.SAMPLE, *WITH_TAGS, *place_of, out=f"out{len(place_of)}")
               for place_of in ((), ("--rtl", "tag_match_cam"))]
    for figure in ("cqes", "latency_ns", "packets", "events"):
        bench.expect_equal(reports[1].get(figure), reports[0].get(figure), figure)
    same_account(bench, "tags", *reports, [CAM])
    done = bench.rxnic("replay", e2e.SAMPLE, "--receiver", "all", "--out", "every", "--lockstep", f"{CAM},{BLOCK}")
    bench.expect_equal(done.returncode, 5, f"no tags, every receiver: {done.stderr}")
    bench.expect(f"{BLOCK}: " in done.stdout and f"{CAM}: nothing was compared" in done.stderr, done.stdout)
    for how in ("", ":transactions"):
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--out", "idle", "--lockstep", f"{CAM}{how},{BLOCK}")
        bench.expect_equal(done.returncode, 5, "no tags")
        bench.expect(done.stderr.startswith(f"rxnic: {CAM}: nothing was compared, since it had nothing to do") and
                     BLOCK not in done.stderr, f"no tags: {done.stderr}")
        uses = json.loads((bench.folder / "idle" / "report.json").read_text(encoding="utf-8"))["rtl"]
        counts = {use["block"].split(".")[1]: use["transactions"] for use in uses}
        bench.expect(counts[CAM] == 0 and counts[BLOCK] > 0, f"no tags: the report says {uses}")


def programs(bench):
    """A program behind the option keeps its own options and its exit status; without traffic too little is compared."""
    need_rtl(bench)
    for option, ends_with, status in (("--rtl", 7, 7), ("--lockstep", 7, 7), ("--lockstep", 0, 5)):
        done = bench.rxnic("run", "--quiet", "--out", "out", option, BLOCK, "--", "sh", "-c", f"exit {ends_with}")
        bench.expect_equal(done.returncode, status, f"{option}: exit status; {done.stderr}")
        uses = json.loads((bench.folder / "out" / "report.json").read_text(encoding="utf-8"))["rtl"]
        bench.expect_equal([use["transactions"] for use in uses], [0], f"{option}: the report")
        says = f"{BLOCK}: nothing was compared" in done.stderr
        bench.expect_equal(says, option == "--lockstep", f"{option}, {ends_with}: says that nothing was compared")


def refusals(bench):
    """What there is no RTL of, and what is named twice, is refused by name."""
    need_rtl(bench)
    for arguments, words in ((["--lockstep", "rx_parser"], "rx_parser"),
                             (["--lockstep", "nothing"], "nothing"),
                             (["--lockstep", BLOCK, "--rtl", BLOCK], "twice"),
                             (["--clock-always"], "--clock-always"),
                             (["--random-init", "3"], "--random-init"),
                             (["--random-init", "-3", "--rtl", BLOCK], "--random-init"),
                             (["--random-init", "3", "--rtl", f"{BLOCK}=dpi:nowhere"], "--random-init"),
                             (["--rtl", BLOCK, "--set", f"{BLOCK}.latency_cycles=17"], "LatencyCycles=4")):
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", *arguments)
        bench.expect_equal(done.returncode, 2, " ".join(arguments))
        bench.expect(words in done.stderr, f"{' '.join(arguments)}: does not name {words}: {done.stderr}")


def lean(bench):
    """--rtl takes the lean RTL when it is there, otherwise the checked one; --lockstep takes them the other way round.
    Which of them it was makes no difference. Random bits in registers are for the checked one."""
    need_rtl(bench)
    built = bench.options.rxnic.parents[2] / "rtl"
    if not list((built / "lean").glob(f"{BLOCK}_*.so")):
        raise e2e.Skip(f"found no RTL without checkers of {BLOCK}; expected what target rtl_{BLOCK}_lean builds")
    only = {}
    for name, folder in (("checked", built), ("lean", built / "lean")):
        only[name] = bench.folder / name / ("lean" if name == "lean" else "")
        only[name].mkdir(parents=True)
        for file in folder.glob(f"{BLOCK}_*.so"):
            shutil.copy(file, only[name])
    reports = []
    for name in only:
        folder = {"env": os.environ | {"RXNIC_RTL_DIR": str(bench.folder / name)}}
        for use in ("--rtl", "--lockstep"):
            done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", use, BLOCK, "--out", name + use, **folder)
            bench.expect_equal(done.returncode, 0, f"{name} {use}: {done.stderr}")
        reports.append((bench.folder / (name + "--rtl") / "report.json").read_bytes())
    bench.expect(reports[0] == reports[1], "RTL with and without checkers: other reports")
    # With a file in place of the other one's that cannot be loaded: whoever loads it is refused.
    for name, loads, seed, refused in (("checked", "--rtl", (), True), ("checked", "--lockstep", (), False),
                                       ("checked", "--rtl", ("--random-init", "3"), False),
                                       ("lean", "--lockstep", (), True), ("lean", "--rtl", (), False)):
        broken = bench.folder / name / (f"lean/{BLOCK}_00.so" if name == "checked" else f"{BLOCK}_00.so")
        broken.parent.mkdir(exist_ok=True)
        broken.write_text("no shared object\n", encoding="utf-8")
        shutil.copy(broken, bench.folder / name / f"{FETCHER}_00.so")  # which nobody asks for
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", loads, BLOCK, *seed, "--out", "other",
                           env=os.environ | {"RXNIC_RTL_DIR": str(bench.folder / name)})
        bench.expect_equal(done.returncode, 2 if refused else 0, f"{name} {loads} {seed}: {done.stderr}")
        bench.expect(not refused or f"{broken}: found no shared object" in done.stderr,
                     f"{name} {loads}: {done.stderr}")


CHECKS = {"lockstep": lockstep, "lean": lean, "clocked": clocked, "place": place, "random_init": random_init,
          "account": account, "tags": tags, "programs": programs, "refusals": refusals}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(parser, CHECKS))
