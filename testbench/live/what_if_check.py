#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What-if of a recorded run: the posts of Debian's programs to NICs with other parameters, compared with the record."""
import json
import re
import shutil
import sys

import live
from live import e2e

READS = "dma_engine.read_latency_ps=2000000"
SLOW = ("--set", READS, "--set", "dma_engine.write_latency_ps=2000000")
FAR = "fabric.cable_delay_ps=5000000"
# Programs, and which latency of their report grows with that of memory.
PINGPONGS = ((["ibv_rc_pingpong", "-g", "2", "-n", "200", "-c"], "one_way_latency_ns"),
             (["ibv_srq_pingpong", "-g", "2", "-n", "200", "-q", "4", "-c"], "one_way_latency_ns"),
             (["ibv_ud_pingpong", "-g", "2", "-n", "200", "-c"], "one_way_latency_ns"),
             (["ibv_rc_pingpong", "-g", "2", "-n", "50", "-e"], "one_way_latency_ns"))
# They wait for data in their memory, keep queues full, or wait for the end of the other one without a completion.
PERFTESTS = ((["ib_write_lat", "-F", "-n", "200"], "write_latency_ns"), (["ib_send_bw", "-F", "-n", "300"], None),
             (["ib_read_lat", "-F", "-n", "100"], "read_latency_ns"),
             (["ib_read_bw", "-F", "-n", "100"], None), (["ib_atomic_bw", "-F", "-n", "100"], None))


def recorded(bench, command):
    """The folder of a recorded run of two programs."""
    live.need(command[0])
    port = live.Port()
    with live.Fabric(bench, 2) as fabric:
        options = [*command[1:], "-p", port.number]
        fabric.pair([command[0], "-d", "rxnic0", *options], [command[0], "-d", "rxnic1", *options, "127.0.0.1"], port)
    port.close()
    return fabric.folder / "out"


def what_if(bench, run, *options):
    """The report of a what-if that must work."""
    out = bench.folder / "what-if"
    shutil.rmtree(out, ignore_errors=True)
    done = bench.rxnic("replay", run, "--quiet", "--out", out, *options)
    bench.expect(done.returncode == 0, f"{options}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads((out / "report.json").read_text(encoding="utf-8")) if done.returncode == 0 else None


def ratios(report):
    return {name: figure["ratio"] for name, figure in report["what_if"]["figures"].items()}


def fits(bench, report):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    schema = json.loads(bench.rxnic("report", "--schema").stdout)
    for error in jsonschema.Draft202012Validator(schema).iter_errors(report):
        bench.expect(False, f"{'/'.join(map(str, error.absolute_path))}: {error.message}")


def same_work(bench, report, what):
    """As many messages and completions as in the record, none in error, and the same data."""
    figures = report["what_if"]["figures"]
    for name in ("messages", "cqes", "error_cqes", "bytes"):
        bench.expect_equal(figures[name]["what_if"], figures[name]["record"], f"{what}: {name}")
    bench.expect(figures["messages"]["record"] > 0, f"{what}: no messages")
    for name in ("different_bytes", "unknown_bytes", "given_up"):
        bench.expect_equal(report["what_if"][name], 0, f"{what}: {name}")


def closed_loop(bench, programs):
    for command, latency in programs:
        what = " ".join(command)
        run = recorded(bench, command)
        report = what_if(bench, run, *SLOW)
        if report is None:
            continue
        fits(bench, report)
        same_work(bench, report, what)
        ratio = ratios(report)
        bench.expect(ratio["time_ps"] > 1, f"{what}: time: {ratio['time_ps']}")
        if latency is not None:
            name = f"{latency}.p50"
            bench.expect(ratio[name] > 1, f"{what}: {name}: {ratio[name]}")
        bench.expect(what_if(bench, run, *SLOW) == report, f"{what}: another report the second time")


def closed(bench):
    """Closed loop, ping-pongs: a slower device, later posts, the same messages and data."""
    closed_loop(bench, PINGPONGS)


def perftests(bench):
    """Closed loop, programs that wait for other things than completions."""
    closed_loop(bench, PERFTESTS)


def same(bench):
    """With the parameters of the record every figure is the record's, in both loops."""
    for command, _ in (*PINGPONGS, *PERFTESTS):
        run = recorded(bench, command)
        record = json.loads((run / "report.json").read_text(encoding="utf-8"))
        value = record["config"]["values"]["dma_engine"]["read_latency_ps"]
        for loop in ("closed", "open"):
            report = what_if(bench, run, "--set", f"dma_engine.read_latency_ps={value}", "--loop", loop)
            if report is None:
                continue
            what = f"{' '.join(command)}, {loop}"
            for name, figure in report["what_if"]["figures"].items():
                bench.expect_equal(figure["what_if"], figure["record"], f"{what}: {name}")
            bench.expect_equal(report["state_hash"], record["state_hash"], f"{what}: state_hash")
            same_work(bench, report, what)


def open_loop(bench):
    """Open loop: posts at their recorded times, however long completions take."""
    run = recorded(bench, ["ibv_rc_pingpong", "-g", "2", "-n", "200"])
    waits, runs_on = what_if(bench, run, "--set", FAR), what_if(bench, run, "--set", FAR, "--loop", "open")
    if waits is None or runs_on is None:
        return
    bench.expect(ratios(waits)["time_ps"] > 1.5, f"closed: time: {ratios(waits)['time_ps']}")
    bench.expect(ratios(runs_on)["time_ps"] < 1.1, f"open: time: {ratios(runs_on)['time_ps']}")
    bench.expect(ratios(runs_on)["one_way_latency_ns.p50"] > 1.5, f"open: latency: {ratios(runs_on)}")
    bench.expect_equal(ratios(runs_on)["messages"], 1.0, "open: messages")


def refused(bench):
    """What cannot be asked: exit 2 and a reason; a record that does not repeat has no what-if."""
    run = recorded(bench, ["ibv_rc_pingpong", "-g", "2", "-n", "10"])
    for arguments, code, reason in (
            ((run, "--loop", "open"), 2, "--loop: found neither --set nor --config"),
            ((e2e.SAMPLE, "--loop", "open", *SLOW), 2, "--loop: found a capture"),
            ((run, *SLOW, "--loop", "half"), 2, "--loop"),
            ((run, "--set", "dma_engine.no=1"), 2, "dma_engine.no"),
            ((run, *SLOW, "--host", "depth=1"), 2, "--host: found with the folder of a recorded run"),
            ((run, *SLOW, "--seed", "1"), 2, "--seed: found with the folder of a recorded run"),
            ((run, "--set", "srq_wqe_fetcher.srq_layout=cyclic"), 2, "srq_layout: found cyclic"),
            ((run, "--set", "device.max_qp_wrs=64"), 1, "found a reply to create_qp of client"),
            ((run, *SLOW, "--out", run), 2, "found the trace itself")):
        done = bench.rxnic("replay", *arguments)
        bench.expect_equal(done.returncode, code, f"{arguments}: {done.stderr}")
        bench.expect(reason in done.stderr, f"{arguments}: {done.stderr}")
    shown = bench.rxnic("replay", run, *SLOW)
    bench.expect("against the record" in shown.stdout and "closed loop" in shown.stdout, shown.stdout[-2000:])
    log = run / "host.jsonl"
    text = log.read_text(encoding="utf-8")
    rung = '"board":"send","index":0,"value":'
    values = re.findall(rung + r"(\d+)}", text)
    log.write_text(text.replace(f"{rung}{values[1]}}}", f"{rung}{int(values[1]) + 1}}}", 1), encoding="utf-8")
    done = bench.rxnic("replay", run, *SLOW)
    bench.expect(done.returncode == 1 and "differs from the recorded run" in done.stderr, f"tampered: {done.stderr}")


CHECKS = {"closed": closed, "perftests": perftests, "same": same, "open": open_loop, "refused": refused}

if __name__ == "__main__":
    sys.exit(e2e.run(live.parser_for(__doc__, CHECKS), CHECKS))
