#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of rxnic: what it refuses, what it prints, what it writes."""
import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

import e2e

WAVES = ["--waves", "--waves-from", "--waves-to", "--waves-around"]
RTL = ["--lockstep", "--rtl", "--clock-always", "--random-init"]
# What --help of a command mentions.
EVENTS = ["--events", "--timeline", "--konata", "--annotate", "--html", "--events-from", "--events-to",
          "--events-packets",
          "--events-qps", "--events-limit"]
OPTIONS = {
    "replay": ["trace", "--config", "--set", "--loop", "--receiver", "--host", "--psn", "--pace", "--truncated",
               "--icrc", "--udp-port",
               "--out", "--cqes", "--seed", "--step-all", "--per-cycle", "--step-order", *WAVES, *RTL, "--quiet",
               "--help", "--responses-limit", "--pair", "--from", "--to", "--warmup",
               *EVENTS],
    "workload": ["page", "--keys", "--out", "--seed", "--config", "--set", "--json", "--format", "--help"],
    "explain": ["run_dir", "--packet", "--message", "--qp", "--psn", "--wr-id", "--slowest", "--drops", "--by",
                "--incidents", "--nic", "--most", "--json", "--format", "--help"],
    "diagnose": ["capture", "--udp-port", "--most", "--causes", "--json", "--format", "--config", "--set", "--help"],
    "exercise": ["block", "--seeds", "--seed", "--cycles", "--configs", "--set", "--random-init", "--stop-at-first",
                 "--json", "--out", "--help"],
    "params": ["section", "--config", "--set", "--evidence", "--json", "--format", "--toml", "--memory", "--cost",
               "--help"],
    "counters": ["section", "--json", "--format", "--help"],
    "report": ["run_dir", "--schema", "--by", "--incidents", "--most", "--html", "--data", "--format", "--help"],
    "compare": ["run_dirs", "--html", "--format", "--help"],
    "run": ["program", "--config", "--set", "--nics", "--nic", "--first-address", "--out", "--seed", "--step-order",
            "--record", "--html", *WAVES, *RTL, "--quiet", "--help", "--grace", "--no-device-files", "--network"],
    "serve": ["--config", "--set", "--nics", "--first-address", "--out", "--seed", "--step-order", "--record", "--html",
              *WAVES, *RTL, "--quiet", "--socket", "--help"],
}
ASKED = ["SOURCE", "--config", "--set", "--seeds", "--pace", "--host", "--options", "--jobs", "--json", "--quiet",
         "--help"]  # of each question
# The commands that are Python programs; the manual page names these, and their own --help has the options.
SCRIPTS = {
    "sweep": ["SWEEP.toml", "--out", "--jobs", "--slurm", "--only", "--dry-run", "--timeout", "--job-seconds",
              "--example", "--quiet", "--help"],
    "sensitivity": [*ASKED, "--only", "--least"],
    "why": [*ASKED, "--least", "--most", "--resources"],
    "find": [*ASKED, "--vary", "--where", "--knee", "--largest"],
    "pareto": [*ASKED, "--vary", "--figure", "--want", "--trials", "--seed", "--out"],
}
HOST_KEYS = ["receive=", "rq", "srq", "tm_srq", "depth=", "buffer=", "sges=", "layout=", "linked_list", "cyclic",
             "refill=", "on_completion", "batch:", "cqes=", "page=", "4K", "2M", "1G", "wqe_order=", "sequential",
             "shuffled", "completion", "tags=", "mask=", "cq_compression=", "on|off", "qps_per_srq=",
             "qps_per_cq=", "sge_bytes=", "tag_order=", "reversed", "tag_window=", "unexpected_ppm=", "unexpected_lag=",
             "any_source_ppm=", "any_tag_ppm=", "delete_ppm=", "failing_ppm=", "sync_lag=", "service=", "service_time=",
             "exponential", "workers=", "completions=", "events", "moderation_count=", "moderation_period="]


def refused(bench, code, arguments, *parts):
    """The command ends with `code`, prints nothing on standard output and names each part on standard error."""
    done = bench.rxnic(*arguments)
    command = "rxnic " + " ".join(str(a) for a in arguments)
    bench.expect_equal(done.returncode, code, f"{command}: exit code")
    bench.expect_equal(done.stdout, "", f"{command}: standard output")
    for part in parts:
        bench.expect(part in done.stderr, f"{command}: does not name {part!r}: {done.stderr.strip()}")


def usage(bench):
    """A wrong command line exits 2 and names what was found."""
    replay = ["replay", e2e.SAMPLE]
    for arguments, *parts in [
            ([], "no command", "replay"),
            (["reply"], "reply"),
            (["replay"], "trace"),
            ([*replay, "--colour"], "--colour"),
            ([*replay, "another.pcap"], "another.pcap"),
            ([*replay, "--psn", "loose"], "--psn", "loose", "strict"),
            ([*replay, "--seed", "many"], "--seed", "many"),
            ([*replay, "--pace", "fast"], "--pace", "fast", "line-rate"),
            ([*replay, "--pace", "-1"], "--pace", "-1"),
            ([*replay, "--pace", "nan"], "--pace", "nan"),
            ([*replay, "--icrc", "no"], "--icrc", "no", "ignore"),
            ([*replay, "--udp-port", "70000"], "--udp-port", "70000"),
            ([*replay, "--receiver", "somebody"], "--receiver", "somebody"),
            ([*replay, "--pair", "0x11"], "--pair", "0x11", "QP=PEER_QP"),
            ([*replay, "--pair", "0x999=0x21"], "--pair", "0x999", "connected QP of the receiver"),
            ([*replay, "--receiver", "10.9.9.9"], "--receiver", "10.9.9.9", "10.0.0.1", "10.0.0.2"),
            ([*replay, "--host", "depth=0"], "--host", "depth", "0", "32767"),
            ([*replay, "--host", "colour=red"], "--host", "colour", "receive"),
            ([*replay, "--host", "depth"], "--host", "depth", "key=value"),
            ([*replay, "--host", "depth=4,depth=5"], "--host", "depth", "second"),
            ([*replay, "--host", "page=64K"], "--host", "page", "64K", "4K", "2M", "1G"),
            ([*replay, "--host", "wqe_order=random"], "--host", "wqe_order", "random", "sequential", "shuffled",
             "completion"),
            ([*replay, "--host", "cq_compression=1"], "--host", "cq_compression", "1", "on", "off"),
            ([*replay, "--host", "receive=tm_srq,tags=0"], "--host", "tags", "0", "1..1048576"),
            ([*replay, "--host", "receive=tm_srq,tags=2000"], "--host", "tags", "2000", "tag_match_cam.max_tags"),
            ([*replay, "--host", "tags=4"], "--host", "tags", "4", "receive=tm_srq"),
            ([*replay, "--host", "mask=ff"], "--host", "mask", "ff", "tags=N"),
            ([*replay, "--host", "receive=tm_srq,tags=4,mask=fg"], "--host", "mask", "fg", "hexadecimal"),
            ([*replay, "--step-all", "--per-cycle"], "--step-all", "--per-cycle"),
            ([*replay, "--step-all", "--waves"], "--step-all", "--per-cycle"),
            ([*replay, "--step-order", "backwards"], "--step-order", "backwards", "path", "reverse"),
            ([*replay, "--step-order", "-1"], "--step-order", "-1"),
            ([*replay, "--step-order", "7x"], "--step-order", "7x"),
            (["run", "--step-order", "backwards", "--", "true"], "--step-order", "backwards"),
            ([*replay, "--out", e2e.SAMPLE], "--out", "sample.pcap"),
            (["params", "--json", "--toml"], "--json", "--toml"),
            (["params", "--memory", "--toml"], "--memory", "--toml"),
            (["params", "colours"], "colours", "nic"),
            (["counters", "colours"], "colours", "rx_parser"),
            (["report"], "run_dir"),
            (["report", "--schema", "run"], "--schema"),
            (["report", "nowhere"], "report.json"),
    ]:
        refused(bench, 2, arguments, *parts)
    (bench.folder / "spoilt").mkdir()
    (bench.folder / "spoilt" / "report.json").write_text("{", encoding="utf-8")
    refused(bench, 2, ["report", "spoilt"], "spoilt/report.json")
    # A run never writes over its own trace.
    bench.replay(e2e.SAMPLE, out="again")
    before = (bench.folder / "again/responses.pcap").read_bytes()
    refused(bench, 2, ["replay", "again/responses.pcap", "--out", "again"], "again/responses.pcap", "itself")
    refused(bench, 2, ["replay", "again/responses.pcap", "--cqes", "again/responses.pcap"], "itself")
    bench.expect_equal((bench.folder / "again/responses.pcap").read_bytes(), before, "the trace")


def config(bench):
    """A wrong configuration exits 2 and names file, line, key and what was expected."""
    toml = bench.rxnic("params", "--toml").stdout
    lines = toml.splitlines()
    at = lines.index("[nic]") + 1
    number = next(i for i in range(at, len(lines)) if lines[i].startswith("link_gbps")) + 1
    trace = ["replay", e2e.SAMPLE, "--config"]

    def variant(name, replacement):
        changed = lines[:number - 1] + ([] if replacement is None else [replacement]) + lines[number:]
        (bench.folder / name).write_text("\n".join(changed) + "\n", encoding="utf-8")
        return name

    here = f":{number}: "
    for name, line, *parts in [
            ("range.toml", "link_gbps = 0", here, "nic.link_gbps", "found 0", "from 1 to"),
            ("type.toml", 'link_gbps = "fast"', here, "nic.link_gbps", 'found "fast"', "an integer"),
            ("unknown.toml", "link_gbs = 100", here, "nic.link_gbs", "unknown key", "link_gbps"),
            ("syntax.toml", "link_gbps = = 100", here, "a TOML file"),
            ("missing.toml", None, f":{at}: ", "nic.link_gbps", "no such key", "from 1 to"),
            ("section.toml", "link_gbps = 100\n[nick]", f":{number + 1}: ", "nick", "unknown section", "nic"),
    ]:
        for command in ([*trace, variant(name, line)], ["params", "--config", variant(name, line)]):
            refused(bench, 2, command, name, "expected", *parts)
    for value, *parts in [
            ("nic.link_gbps=0", "nic.link_gbps", "found 0", "from 1 to"),
            ("nic.link_gbps=fast", "nic.link_gbps", '"fast"', "an integer"),
            ("nic.link_gbs=1", "nic.link_gbs", "unknown key", "link_gbps"),
            ("nick.link_gbps=1", "nick.link_gbps", "unknown section"),
            ("link_gbps", "link_gbps", "section.key=value"),
            ("srq_wqe_fetcher.srq_layout=linear", "srq_wqe_fetcher.srq_layout", "linear", "linked_list", "cyclic"),
    ]:
        refused(bench, 2, ["params", "--set", value], "--set", "expected", *parts)
        refused(bench, 2, ["replay", e2e.SAMPLE, "--set", value], "--set", "expected", *parts)
    refused(bench, 2, [*trace, "nic_101g"], "--config", "nic_101g", "nic_100g_gen3", "expected")
    refused(bench, 2, [*trace, "absent.toml"], "--config", "absent.toml", "expected")


def traces(bench):
    """A trace that cannot be read exits 3 and is named; one that ends early is replayed with a warning."""
    sample = e2e.SAMPLE.read_bytes()
    for name, data in [
            ("empty.pcap", b""),
            ("text.pcap", b"this is no capture, whatever its name says\n"),
            ("header.pcap", sample[:20]),
            ("no_packet.pcap", sample[:24]),
            ("wifi.pcap", sample[:20] + struct.pack("<I", 105) + sample[24:]),
            ("any.pcap", sample[:20] + struct.pack("<I", 113) + bytes(8) + struct.pack("<II", 15, 15) + bytes(15)),
            ("text.gz", gzip.compress(b"this is no capture, either\n")),
            ("damaged.gz", gzip.compress(sample)[:10] + b"\xff" * 99),
    ]:
        (bench.folder / name).write_bytes(data)
        refused(bench, 3, ["replay", name], name, "found", "expected")
    refused(bench, 3, ["replay", "absent.pcap"], "absent.pcap", "No such file")
    refused(bench, 3, ["replay", bench.folder], str(bench.folder), "host.jsonl", "No such file")
    (bench.folder / "cut.pcap").write_bytes(sample[:-7])
    done = bench.rxnic("replay", "cut.pcap")
    bench.expect_equal(done.returncode, 0, "a cut capture: exit code")
    bench.expect("ends early" in done.stdout, f"a cut capture: no warning: {done.stdout}")
    # A compressed one has any name.
    (bench.folder / "capture").write_bytes(gzip.compress(sample)[:-9])
    done = bench.rxnic("replay", "capture")
    bench.expect_equal(done.returncode, 0, "a cut gzip file: exit code")
    bench.expect("the gzip data ends early" in done.stdout, f"a cut gzip file: no warning: {done.stdout}")
    # What cannot be written is no fault of the trace.
    full = bench.folder / "full"
    for name in ("responses.pcap", "report.json"):
        full.mkdir(exist_ok=True)
        (full / name).symlink_to("/dev/full")
        refused(bench, 1, ["replay", e2e.SAMPLE, "--out", full], name)
        (full / name).unlink()
    (full / "waves.vcd").mkdir()
    refused(bench, 1, ["replay", e2e.SAMPLE, "--out", full, "--waves"], "waves.vcd")
    refused(bench, 1, ["replay", e2e.SAMPLE, "--cqes", "no/folder.csv"], "no/folder.csv")


def programs(bench):
    """run and serve: a wrong command line exits 2, a program that cannot be started 127 or 126, any other its own."""
    for arguments, *parts in [
            (["run"], "program", "-- PROGRAM"),
            (["run", "--"], "program", "-- PROGRAM"),
            (["run", "--colour", "--", "true"], "--colour"),
            (["run", "--nics", "0", "--", "true"], "--nics", "0", "64"),
            (["run", "--nics", "65", "--", "true"], "--nics", "65", "64"),
            (["run", "--nics", "2", "--nic", "2", "--", "true"], "--nic", "2", "0 to 1"),
            *((["run", "--nics", "2", "--first-address", address, "--", "true"], "--first-address", address, "IPv4")
              for address in ("somebody", "fe80::1", "lid:1", "198.18.0", "127.0.0.1", "126.255.255.255",
                              "0.255.255.255", "223.255.255.255", "224.0.0.1")),
            (["run", "--network", "mine", "--", "true"], "--network", "mine", "own", "host"),
            (["run", "--seed", "many", "--", "true"], "--seed", "many"),
            (["run", "--config", "nic_101g", "--", "true"], "nic_101g", "nic_100g_gen3"),
            (["run", "--set", "nic.link_gbps=0", "--", "true"], "nic.link_gbps", "from 1 to"),
            (["run", "--out", e2e.SAMPLE, "--", "true"], "--out", "sample.pcap"),
            (["serve"], "--socket"),
            (["serve", "--nics", "0", "--socket", "s"], "--nics", "64"),
            (["serve", "--set", "nic.link_gbs=1", "--socket", "s"], "nic.link_gbs", "unknown key"),
    ]:
        refused(bench, 2, arguments, *parts)
    refused(bench, 1, ["serve", "--socket", "no/such/folder/socket"], "no/such/folder/socket")
    refused(bench, 127, ["run", "--", "./absent", "--option"], "./absent", "No such file")
    (bench.folder / "text").write_text("no program\n", encoding="utf-8")
    refused(bench, 126, ["run", "--", "./text"], "./text", "Permission denied")
    for command, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7),
                            (["sh", "-c", "test \"$1\" = --", "sh", "--"], 0)):
        done = bench.rxnic("run", "--quiet", "--", *command)
        bench.expect_equal((done.returncode, done.stdout, done.stderr), (status, "", ""), f"run -- {command}")
    killed = bench.rxnic("run", "--quiet", "--", "sh", "-c", "kill -TERM $$")
    bench.expect_equal((killed.returncode, killed.stdout), (128 + 15, ""), "a killed program: exit code and output")
    bench.expect("sh was killed by signal 15 (Terminated)" in killed.stderr, f"a killed program: {killed.stderr!r}")
    # A log that cannot be written is a failure of the run. The program's own goes before it.
    (bench.folder / "full").mkdir()
    (bench.folder / "full" / "log.txt").symlink_to("/dev/full")
    for command, status in (("true", 1), ("exit 7", 7)):
        done = bench.rxnic("run", "--out", "full", "--", "sh", "-c", command)
        bench.expect_equal(done.returncode, status, f"a full disk, {command}: {done.stderr}")
        bench.expect("full/log.txt: No space left" in done.stderr, f"a full disk: {done.stderr}")
    said = bench.rxnic("run", "--nics", "3", "--nic", "2", "--out", "said", "--", "sh", "-c",
                       "echo $RXNIC_NIC $RXNIC_SOCKET; test -e ${LD_LIBRARY_PATH%%:*}/libibverbs.so.1")
    bench.expect(re.fullmatch(r"2 @rxnic-\d+-[0-9a-f]{16}\n", said.stdout), f"environment: {said.stdout!r}")
    bench.expect_equal(said.returncode, 0, f"the library is not there: {said.stderr}")
    bench.expect("said/report.json" in said.stderr, f"run does not name its report: {said.stderr!r}")
    bench.expect("rxnic run -- sh -c" in bench.rxnic("report", "said").stdout, "report of a run")
    # A library that is not there is named before anything is started.
    done = bench.rxnic("run", "--", "touch", "started", env=dict(os.environ, RXNIC_LIBRARY_DIR="nowhere"))
    bench.expect(done.returncode == 1 and "nowhere/libibverbs.so.1" in done.stderr, f"no library: {done.stderr}")
    bench.expect(not (bench.folder / "started").exists(), "a program was started without its library")


def old_results(bench):
    """A run that fails, whatever for, leaves no results of an earlier one. A run that is refused because it would write
    over its trace leaves all, and so does --help. What is not of rxnic stays."""
    out = bench.folder / "out"
    own = bench.folder / "first"
    bench.replay(e2e.SAMPLE, "--waves", "--cqes", "first/cqes.csv", out=own)
    written = {name: (own / name).read_bytes() for name in ("report.json", "responses.pcap", "waves.vcd", "waves.gtkw",
                                                            "cqes.csv")}
    written |= {"responses.infiniband.pcap": b"old", "nic0.grh_scatter.vcd": written["waves.vcd"],
                "nic0.grh_scatter.gtkw": written["waves.gtkw"], "notes.txt": b"old"}
    names, others = set(written), {"cqes.csv", "notes.txt"}  # others: what no run writes of which it is not the option
    report = written["report.json"].decode()
    (bench.folder / "bad.pcap").write_bytes(b"no capture")

    def left(status, *arguments, files=None):
        out.mkdir(exist_ok=True)
        for name, content in (written | (files or {})).items():
            (out / name).write_bytes(content)
        done = bench.rxnic(*arguments)
        bench.expect_equal(done.returncode, status, f"{arguments}: {done.stderr}")
        return {name for name in names if (out / name).exists()}

    replay = ("replay", e2e.SAMPLE, "--out", out)
    for status, *arguments in ((2, *replay, "--bogus"), (2, *replay, "--seed", "-1"), (2, *replay, "--set", "nic.x=1"),
                               (2, "replay", e2e.SAMPLE, f"--out={out}", "--pace", "fast"),
                               (2, *replay, "--receiver", "192.0.2.1"), (3, "replay", "bad.pcap", "--out", out),
                               (3, "replay", "absent.pcap", "--out", out), (2, "replay", "--out", out)):
        bench.expect_equal(left(status, *arguments), others, f"{arguments}: left")
        table = ("--cqes", out / "cqes.csv")
        bench.expect_equal(left(status, *arguments, *table), {"notes.txt"}, f"{arguments}, {table}: left")
    for lockstep in (("--lockstep", "nothing"), ("--lockstep", "grh_scatter", "--bogus")):
        bench.expect_equal(left(2, *replay, *lockstep), others, f"{lockstep}: left")
    run = ("run", "--out", out)
    for status, *arguments in ((2, *run, "--nics", "0", "--", "true"), (2, *run),
                               (2, *run, "--set", "a.b=1", "--", "true"),
                               (127, *run, "--quiet", "--", "./absent"),
                               (2, "serve", "--out", out)):
        bench.expect_equal(left(status, *arguments), others, f"{arguments}: left")
    bench.expect_equal(left(0, *run, "--quiet", "--", "true"), {"report.json", *others}, "run: left")
    bench.expect_equal(left(0, *replay, "--help"), names, "--help: left")
    bench.expect("responses.pcap" in left(2, "replay", out / "responses.pcap", "--out", out), "the trace is removed")
    foreign = {name: b"of others" for name in names if not name.startswith("responses")}
    kept = left(2, *replay, "--bogus", "--cqes", out / "cqes.csv", files=foreign)
    bench.expect_equal(kept, set(foreign), "files of others of these names")
    # Neither does a run that is ended.
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        (out / "report.json").write_text(report, encoding="utf-8")
        process = subprocess.Popen([bench.options.rxnic, "run", "--quiet", "--out", out, "--", "sh", "-c",
                                    "echo ready; exec sleep 600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True)
        process.stdout.readline()
        bench.expect(not (out / "report.json").exists(), f"{signum.name}: a report of an earlier run while it runs")
        process.send_signal(signum)
        process.wait(60)
        found = (out / "report.json").read_text(encoding="utf-8") if (out / "report.json").exists() else ""
        bench.expect(found != report, f"{signum.name}: the report of an earlier run is left")
    # A recorded run is not removed by replaying it into its own folder, which is refused.
    done = bench.rxnic("run", "--quiet", "--record", "--out", "record", "--", "true")
    bench.expect_equal(done.returncode, 0, f"record: {done.stderr}")
    kept = sorted(path.name for path in (bench.folder / "record").iterdir())
    bench.rxnic("replay", "record", "--out", "record")
    bench.rxnic("replay", "record", "--quiet")
    bench.expect_equal(sorted(path.name for path in (bench.folder / "record").iterdir()), kept, "a record")
    # A record stays until a run begins that has another one, or none: it would be compared with the other's report.
    parts = {"host.jsonl", "wire.pcap"}
    for status, stays, *arguments in ((0, False, "run", "--", "true"), (127, False, "run", "--", "./absent"),
                                      (2, True, "run", "--nics", "0", "--", "true"), (0, False, "replay", e2e.SAMPLE),
                                      (3, True, "replay", "absent.pcap"), (0, False, "replay", "record"),
                                      (0, False, "replay", "record", "--set", "nic.link_gbps=50")):
        bench.rxnic("run", "--quiet", "--record", "--out", "other", "--", "true")
        command, *rest = arguments
        done = bench.rxnic(command, "--quiet", "--out", "other", *rest)
        bench.expect_equal(done.returncode, status, f"{arguments}: {done.stderr}")
        found = parts & {path.name for path in (bench.folder / "other").iterdir()}
        bench.expect_equal(found, parts if stays else set(), f"{arguments}: parts of a record")
    # Its wire may be replayed beside it. The report of that is not compared with the record.
    wire = bench.folder / "record" / "wire.pcap"
    own_wire = wire.read_bytes()
    wire.write_bytes(e2e.SAMPLE.read_bytes())
    done = bench.rxnic("replay", wire, "--quiet", "--out", "record")
    bench.expect_equal(done.returncode, 0, f"the wire of a record: {done.stderr}")
    wire.write_bytes(own_wire)
    done = bench.rxnic("replay", "record", "--out", "again")
    bench.expect(done.returncode == 0 and "equal to the recorded run" in done.stdout, f"a record: {done.stderr}")
    # Waveforms beside a record stay while it is replayed, and others do not where its replay would write some.
    for folder, stays in (("rxnic-run", False), ("record", True)):
        (bench.folder / folder).mkdir(exist_ok=True)
        (bench.folder / folder / "waves.vcd").write_bytes(written["waves.vcd"])
        bench.rxnic("replay", "record", "--waves", "--bogus", *(["--out", "record"] if stays else []))
        bench.expect_equal((bench.folder / folder / "waves.vcd").exists(), stays, f"waves.vcd in {folder}")


def records(bench):
    """A record is repeated or changed; options of captures are refused with it, a damaged one exits 3 with its line."""
    done = bench.rxnic("run", "--record", "--quiet", "--out", "run", "--", "true")
    bench.expect_equal(done.returncode, 0, f"run --record: {done.stderr}")
    again = bench.rxnic("replay", "run", "--out", "again")
    bench.expect(again.returncode == 0 and "equal to the recorded run" in again.stdout, again.stdout + again.stderr)
    bench.expect_equal((bench.folder / "again/report.json").read_bytes(),
                       (bench.folder / "run/report.json").read_bytes(), "the report of the replay")
    for option in (["--receiver", "10.0.0.1"], ["--pace", "50"], ["--psn", "strict"], ["--host", "depth=4"],
                   ["--seed", "2"], ["--cqes", "c.csv"], ["--pair", "17=33"]):
        refused(bench, 2, ["replay", "run", *option], option[0], "recorded run")
    for option in (["--config", "tiny"], ["--set", "nic.link_gbps=50"]):
        done = bench.rxnic("replay", "run", *option)
        said = "closed loop, " + " ".join(option)
        bench.expect(done.returncode == 0 and said in done.stdout, f"{option}: {done.stderr}")
    refused(bench, 2, ["replay", "run", "--out", "run"], "run", "itself")
    log = (bench.folder / "run/host.jsonl").read_text(encoding="utf-8")
    lines = log.splitlines(keepends=True)
    bench.expect(len(lines) == 2, f"a run without verbs has {len(lines)} lines in its log")
    for name, text, *parts in [
            ("empty", "", ":1: ", "header"),
            ("text", "no log\n", ":1: ", "event"),
            ("version", log.replace('"version":8', '"version":9'), ":1: ", "version 9", "version 8"),
            ("address", log.replace('"198.18.0.1"', '"127.0.0.1"'), ":1: ", "first_address", "127.0.0.1", "198.18.0.1"),
            ("cut", lines[0], ":2: ", "end of the file"),
            ("half", log[:-20], ":2: ", "cut off"),
            ("more", log + lines[1], ":3: ", "after the end"),
            ("unknown", lines[0] + '{"event":"shout"}\n' + lines[1], ":2: ", "shout", "doorbell"),
            ("param", log.replace("link_gbps = 100", "link_gbps = 0"), ":1: ", "nic.link_gbps", "from 1 to"),
    ]:
        folder = bench.folder / name
        folder.mkdir()
        (folder / "host.jsonl").write_text(text, encoding="utf-8")
        (folder / "wire.pcap").write_bytes((bench.folder / "run/wire.pcap").read_bytes())
        refused(bench, 3, ["replay", name], f"{name}/host.jsonl", "found", "expected", *parts)
    (bench.folder / "run/wire.pcap").unlink()
    refused(bench, 3, ["replay", "run"], "run/wire.pcap", "No such file")


def params(bench):
    """params prints a table, JSON, and a configuration that gives the same values again."""
    for chosen in ("nic_100g_gen3", "nic_400g_gen5", "tiny"):
        base = ["params", "--config", chosen]
        text = bench.rxnic(*base, "--evidence").stdout
        parsed = json.loads(bench.rxnic(*base, "--json").stdout)
        keys = [(section, key) for section, body in parsed.items() for key in body if isinstance(body[key], dict)]
        bench.expect(len(keys) > 50, f"{chosen}: --json holds {len(keys)} parameters")
        for section, key in keys:
            bench.expect(re.search(rf"\b{key}\b", text), f"{chosen}: the table has no {section}.{key}")
            for field in ("value", "default"):
                bench.expect(field in parsed[section][key], f"{chosen}: {section}.{key} has no {field}")
        toml = bench.rxnic(*base, "--toml").stdout
        (bench.folder / "same.toml").write_text(toml, encoding="utf-8")
        bench.expect_equal(bench.rxnic("params", "--config", "same.toml", "--toml").stdout, toml, f"{chosen}: --toml")
        again = json.loads(bench.rxnic("params", "--config", "same.toml", "--json").stdout)
        bench.expect(again == parsed, f"{chosen}: --json of its own --toml differs")
    one = bench.rxnic("params", "--set", "nic.link_gbps=50", "nic", "--json").stdout
    bench.expect_equal(list(json.loads(one)), ["nic"], "params of one section")
    bench.expect_equal(json.loads(one)["nic"]["link_gbps"]["value"], 50, "--set nic.link_gbps=50")


def memory(bench):
    """params --memory lists every on-chip memory; the sums are those of the entries."""
    sums = {}
    for chosen in ("nic_100g_gen3", "nic_400g_gen5", "tiny"):
        base = ["params", "--memory", "--config", chosen]
        listed = json.loads(bench.rxnic(*base, "--json").stdout)
        text = bench.rxnic(*base).stdout
        blocks = dict.fromkeys(listed["blocks"], 0)
        for m in listed["memories"]:
            bits = (m["entries"] or 0) * (m["entry_bits"] or 0)
            bench.expect_equal(m["bits"] or 0, bits, f"{chosen}: bits of {m['block']}.{m['name']}")
            blocks[m["block"]] += bits
            bench.expect(f"  {m['name']} " in text, f"{chosen}: the table has no {m['name']}")
        bench.expect_equal(listed["blocks"], blocks, f"{chosen}: sums by block")
        bench.expect_equal(listed["bits"], sum(blocks.values()), f"{chosen}: sum")
        sums[chosen] = listed["bits"]
    bench.expect(sums["tiny"] < sums["nic_100g_gen3"] < sums["nic_400g_gen5"], f"sums in order: {sums}")
    one = json.loads(bench.rxnic("params", "--memory", "--json", "--config", "tiny", "--set",
                                 "srq_wqe_fetcher.wqe_store_entries=32").stdout)
    store = [m for m in one["memories"] if m["name"] == "wqe_store"]
    bench.expect_equal([m["entries"] for m in store], [32], "entries of the store that was set")


def cost(bench):
    """params --cost: bits by kind and block are those of --memory; RTL is measured at its own parameters only."""
    for chosen in ("nic_100g_gen3", "nic_400g_gen5", "tiny"):
        base = ["params", "--cost", "--config", chosen]
        listed = json.loads(bench.rxnic(*base, "--json").stdout)
        known = json.loads(bench.rxnic("params", "--memory", "--json", "--config", chosen).stdout)
        text = bench.rxnic(*base).stdout
        bench.expect_equal(listed["total_bits"], known["bits"], f"{chosen}: bits in all")
        bench.expect_equal({b: one["total_bits"] for b, one in listed["blocks"].items()}, known["blocks"], chosen)
        sums = dict.fromkeys(("sram", "cam", "flip_flops"), 0)
        for m, same in zip(listed["memories"], known["memories"], strict=True):
            bench.expect_equal((m["name"], m["bits"]), (same["name"], same["bits"]), chosen)
            bench.expect(m["rule"] and f"{m['block']}.{m['name']} " in text, f"{chosen}: {m['block']}.{m['name']}")
            sums[m["kind"]] += m["bits"]
        bench.expect_equal((listed["sram_bits"], listed["cam_bits"], listed["flip_flop_bits"]), tuple(sums.values()),
                           f"{chosen}: bits by kind")
        for word in ("exact", "estimated", "measured"):
            bench.expect(word in text, f"{chosen}: the table does not say what is {word}")
    measured = json.loads((e2e.ROOT / "rtl/measured_area.json").read_text("utf-8"))["measured"]
    bench.expect(len(measured) > 5, f"{len(measured)} measurements")
    for row in measured:
        settings = [part for name, value in row["parameters"].items()
                    for part in ("--set", f"{name}={str(value).lower()}")]
        for more, basis in (([], "measured"), (["--set", other_value(row)], "not measured with these parameters")):
            done = bench.rxnic("params", "--cost", "--json", *settings, *more)
            shown = [r for r in json.loads(done.stdout)["rtl"] if r["rtl"].split()[0] == row["block"]]
            bench.expect_equal([r["basis"] for r in shown], [basis], f"{row['block']} {settings} {more}")
            if not more:
                bench.expect_equal({k: shown[0][k] for k in ("gates", "levels", "flip_flops")},
                                   {k: row[k] for k in ("gates", "levels", "flip_flops")}, f"{row['block']} {settings}")
    table = list(csv.DictReader(io.StringIO(bench.rxnic("params", "--cost", "--format", "csv").stdout)))
    bench.expect(len(table) > 100 and {"kind", "read_ports", "write_ports", "rule", "gates"} <= set(table[0]),
                 f"{len(table)} rows of {list(table[0])}")
    refused(bench, 2, ["params", "--cost", "--memory"], "--cost", "--memory")


def other_value(row):
    """A setting with which the RTL of a measured row is another one."""
    name = next(name for name in row["parameters"] if name.endswith("entries"))
    return f"{name}={3 * row['parameters'][name]}"


def report(bench):
    """`rxnic report` prints the summary of the run again."""
    run = bench.rxnic("replay", e2e.SAMPLE, "--out", "run", "--cqes", "run/cqes.csv")
    bench.expect_equal(run.returncode, 0, "replay: exit code")
    summary, written = run.stdout.split("\nwritten: ")
    for name in ("run/report.json", "run/responses.pcap", "run/cqes.csv"):
        bench.expect(name in written and (bench.folder / name).exists(), f"{name} is not among what was written")
    shown = bench.rxnic("report", "run")
    bench.expect_equal(shown.returncode, 0, "report: exit code")
    bench.expect_equal(shown.stdout, summary, "report")
    bench.expect("\x1b" not in run.stdout, "colours in a pipe")


def quiet(bench):
    """--quiet prints nothing, whatever is written."""
    for arguments in ([], ["--waves"], ["--step-all"], ["--cqes", "c.csv"]):
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", *arguments)
        bench.expect_equal((done.returncode, done.stdout, done.stderr), (0, "", ""), f"--quiet {arguments}")


def help_(bench):
    """--help of every command mentions its options."""
    for command, options in {**OPTIONS, **SCRIPTS}.items():
        done = bench.rxnic(command, "--help")
        bench.expect_equal(done.returncode, 0, f"{command} --help: exit code")
        for option in options:
            bench.expect(option in done.stdout, f"{command} --help does not mention {option}")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", done.stdout):
            bench.expect(option in [*options, "--help-all"], f"{command} --help mentions {option}, which this does not")
    host = bench.rxnic("replay", "--help").stdout
    for key in HOST_KEYS:
        bench.expect(key in host, f"replay --help does not mention {key} of --host")
    everything = bench.rxnic("--help-all").stdout
    for command in {**OPTIONS, **SCRIPTS}:
        bench.expect(command in bench.rxnic("--help").stdout, f"--help does not mention {command}")
        bench.expect(command in everything, f"--help-all does not mention {command}")
    version = bench.rxnic("--version")
    bench.expect(re.fullmatch(r"rxnic \d+\.\d+\.\d+\n", version.stdout), f"--version: {version.stdout!r}")


def manual(bench):
    """The manual page has a section for each command, with its arguments and options; man shows it as meant."""
    done = bench.rxnic("--manual")
    bench.expect_equal((done.returncode, done.stderr), (0, ""), "--manual")
    head, *rest = re.split(r"^\.SS rxnic (\w+)\n", done.stdout, flags=re.M)
    sections = dict(zip(rest[::2], rest[1::2]))
    bench.expect_equal(sorted(sections), sorted({**OPTIONS, **SCRIPTS}), "sections")
    for command, options in {**OPTIONS, "": ["-h,--help", "--version", "--help-all", "--manual"]}.items():
        found = re.findall(r"^\.TP\n\\fB(\S+)\\fR", sections.get(command, head), re.M)
        wanted = [option.replace("-", r"\-") for option in options if option != "--help"]
        bench.expect_equal(sorted(found), sorted(wanted), f"options of rxnic {command}")
    if not shutil.which("man"):
        print("what man shows was not looked at: man is not installed")
        return
    (bench.folder / "rxnic.1").write_text(done.stdout)
    shown = bench.start("man", "--warnings", "-l", "rxnic.1", env={**os.environ, "LC_ALL": "C", "MANWIDTH": "80"})
    bench.expect_equal((shown.returncode, shown.stderr), (0, ""), "man")
    for line in ("rxnic run --nics 2 -- PROGRAM", "closed  each after", "open    at their",
                 "The report compares with the record", "rxnic - a cycle-level model", "--lockstep BLOCK:{",
                 "receive=rq|srq|tm_srq  an RQ"):
        bench.expect(re.search(f"^ +{re.escape(line)}", shown.stdout, re.M), f"no line begins with {line!r}")
    bench.expect("as in the record, as long after" in " ".join(shown.stdout.split()), "an indented line ends another")


def scripts(bench):
    """Commands that are Python programs: started with all arguments and with this program, and what is said when
    python3 or the script is missing."""
    module = bench.folder / "scripts" / "rxnic_model"
    module.mkdir(parents=True)
    (module / "__main__.py").write_text("import os, sys\nprint(sys.argv[1:], os.environ['RXNIC'])\nsys.exit(9)\n")
    environment = {**os.environ, "RXNIC_SCRIPTS": str(module.parent)}
    done = bench.rxnic("sweep", "--help", "--", "-x", env=environment)
    bench.expect_equal(done.returncode, 9, "status of the script")
    bench.expect_equal(done.stdout, f"['sweep', '--help', '--', '-x'] {bench.options.rxnic}\n", "what the script got")
    done = bench.rxnic("sweep", env={**environment, "PATH": str(bench.folder)})
    bench.expect_equal((done.returncode, done.stdout), (2, ""), "without python3")
    bench.expect("apt-get install python3" in done.stderr, f"without python3: {done.stderr}")
    done = bench.rxnic("sweep", env={**environment, "RXNIC_SCRIPTS": str(bench.folder)})
    bench.expect_equal((done.returncode, done.stdout), (2, ""), "without the script")
    bench.expect(str(bench.folder / "rxnic_model") in done.stderr, f"without the script: {done.stderr}")
    refused(bench, 2, ["sweep"], "SWEEP.toml")
    refused(bench, 2, ["sweep", "none.toml"], "none.toml")


def formats(bench):
    """--format csv has the fields of --format json, for a program that reads CSV."""
    def printed(*arguments):
        done = bench.rxnic(*arguments)
        bench.expect_equal((done.returncode, done.stderr), (0, ""), f"{arguments}")
        return done.stdout

    def plain(value):
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    def flat(value, place=""):
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
        if inside is None:
            return {place: plain(value)}
        found = {}
        for key, one in inside:
            found |= flat(one, f"{place}.{key}" if place else str(key))
        return found

    def rows(text):
        return list(csv.DictReader(io.StringIO(text)))

    bench.replay(e2e.SAMPLE, "--events", "--set", "dma_engine.read_latency_ps=0.9us")
    report = json.loads(printed("report", "run", "--format", "json"))
    bench.expect_equal(report["config"]["values"]["dma_engine"]["read_latency_ps"], 900000, "a value with a unit")
    found = {row["key"]: row["value"] for row in rows(printed("report", "run", "--format", "csv"))}
    wanted = flat(report)
    bench.expect_equal(list(found), list(wanted), "places of the report")
    numbers = [key for key, value in wanted.items() if re.fullmatch(r"\d+(\.\d+)?", value)]
    bench.expect_equal([float(found[key]) for key in numbers], [float(wanted[key]) for key in numbers], "its numbers")
    params = json.loads(printed("params", "--format", "json"))
    bench.expect_equal(printed("params", "--json"), printed("params", "--format", "json"), "params --json")
    table = rows(printed("params", "--format", "csv"))
    bench.expect_equal([(row["section"], row["key"], row["value"], row["sentence"]) for row in table],
                       [(section, key, plain(one["value"]), one["sentence"])
                        for section, keys in params.items() for key, one in keys.items()], "params")
    counters = json.loads(printed("counters", "--format", "json"))
    table = rows(printed("counters", "--format", "csv"))
    bench.expect_equal([(row["section"], row["counter"], row["sentence"]) for row in table],
                       [(section, name, one["sentence"]) for section, of in counters.items()
                        for name, one in of["counters"].items()], "counters")
    lives = json.loads(printed("explain", "run", "--packet", "1-100", "--most", "100", "--format", "json"))
    table = rows(printed("explain", "run", "--packet", "1-100", "--most", "100", "--format", "csv"))
    bench.expect_equal([row["packet"] for row in table], [str(life["packet"]) for life in lives], "packets")
    for row, life in zip(table, lives):
        for stay in life.get("stays", []):
            bench.expect_equal(row[f"stays.{stay['block']}.wait_cycles"], str(stay["wait_cycles"]), f"{life['packet']}")
    bench.expect(len(rows(printed("params", "--memory", "--format", "csv"))) > 10, "memories")
    refused(bench, 2, ["params", "--format", "xml"], "--format", "json")
    refused(bench, 2, ["params", "--format", "csv", "--toml"], "excludes")


def suggestions(bench):
    """A mistyped command or option is refused with the one that was perhaps meant."""
    for words, meant in ((["repaly", "x"], "replay"), (["explane"], "explain"), (["param"], "params"),
                         (["replay", "--evnts", "x"], "--events"),
                         (["replay", "--lockstp=grh_scatter", "x"], "--lockstep"),
                         (["explain", "run", "--pakcet", "3"], "--packet"),
                         (["run", "--nicss", "2", "--", "true"], "--nics")):
        refused(bench, 2, words, f"did you mean '{meant}'?")
    done = bench.rxnic("xyzzy")
    bench.expect(done.returncode == 2 and "did you mean" not in done.stderr and "expected run, serve" in done.stderr,
                 done.stderr)


def repeat(bench):
    """Equal input, configuration and seed: equal bytes."""
    runs = []
    for out in ("first", "second"):
        bench.replay(e2e.SAMPLE, "--seed", "7", "--cqes", f"{out}.csv", out=out)
        runs.append([(bench.folder / name).read_bytes() for name in
                     (f"{out}/report.json", f"{out}/responses.pcap", f"{out}.csv")])
    for name, one, two in zip(("report.json", "responses.pcap", "cqes"), *runs):
        bench.expect(one == two, f"{name} differs from one run to the next")
        bench.expect(len(one) > 500, f"{name} holds {len(one)} bytes")
    # The engine's modes differ in nothing but the report's words about them.
    base = bench.replay(e2e.SAMPLE)
    for mode in ("--step-all", "--per-cycle"):
        other = bench.replay(e2e.SAMPLE, mode, "--pace", "line-rate", out="mode")
        fast = bench.replay(e2e.SAMPLE, "--pace", "line-rate", out="fast")
        for key in ("cycles", "packets", "blocks", "latency_ns", "state_hash"):
            bench.expect(other[key] == fast[key], f"{mode}: {key} differs")
        bench.expect(other["state_hash"] != base["state_hash"], "--pace makes no difference")
    # Nor does the order in which the blocks are stepped, not even in those.
    for order in ("reverse", "1", "2"):
        other = bench.replay(e2e.SAMPLE, "--step-order", order, out="order")
        bench.expect(other == base, f"--step-order {order} differs")


def cqes(bench):
    """--cqes: every completion is a line of the table."""
    result = bench.replay(e2e.SAMPLE, "--cqes", "cqes.csv")
    with open(bench.folder / "cqes.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    bench.expect_equal(len(rows), result["cqes"], "lines")
    bench.expect(len(rows) > 10, f"only {len(rows)} lines")
    bench.expect(all(None not in row and None not in row.values() for row in rows), "a line with other columns")
    times = [float(rows[i][next(iter(rows[i]))]) for i in range(len(rows))]
    bench.expect(times == sorted(times), f"the first column ({next(iter(rows[0]))}) does not grow")


CHECKS = {"usage": usage, "config": config, "traces": traces, "programs": programs, "old_results": old_results,
          "records": records, "params": params, "memory": memory, "cost": cost, "report": report, "quiet": quiet,
          "help": help_, "manual": manual, "scripts": scripts, "formats": formats, "suggestions": suggestions,
          "repeat": repeat, "cqes": cqes}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
