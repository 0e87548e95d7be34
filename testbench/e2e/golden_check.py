#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
r"""State hash, cycles and report of runs that never change, against testbench/e2e/golden.csv.

A change that leaves the model's behaviour as it is leaves every line as it is. One that means to alter it renews the
lines and says which and why:

    testbench/e2e/golden_check.py --rxnic build/release/bridge/rxnic/rxnic \
        --make-traffic build/release/testbench/e2e/make_traffic --renew

The captures beside the project are needed to renew it, to check it they are not: their lines are skipped by name.
`report` is the SHA-256 of report.json without the name of its trace and the state hash (16 hexadecimal digits).
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tomllib

import e2e

sys.path.insert(0, str(e2e.ROOT / "model" / "params"))
import generate  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "golden.csv"
RECORDS = HERE / "golden"
HEAD = ["run", "configuration", "state_hash", "cycles", "report"]
CONFIGURATIONS = {name: ["--config", name] for name in ("nic_100g_gen3", "nic_400g_gen5", "tiny")}
# A record is repeated as it was made, and asked what if; its programs have laid out linked lists.
OF_RECORDS = {"as recorded": [], "nic_400g_gen5": ["--config", "nic_400g_gen5", "--set",
                                                   "srq_wqe_fetcher.srq_layout=linked_list"],
              "tiny": ["--config", "tiny"]}
# Arguments of make_traffic, then options of replay.
TRAFFIC = {
    "ordinary": ("2000 11", []),
    "sends": ("2000 12 read=0 write=0 write_imm=0 add=0 min_bytes=1 max_bytes=4096 mtu=1024",
              ["--host", "receive=srq"]),
    "reads": ("800 13 send=0 send_imm=0 write=0 write_imm=0 add=0 read=1 min_bytes=8 max_bytes=9000", []),
    "atomics": ("1500 14 send=0 send_imm=0 write=0 write_imm=0 read=1 add=3 swap=3 atomic_write=2", []),
    "tags": ("1500 15 read=0 write=0 write_imm=0 add=0 tags=16", ["--host", "receive=tm_srq,tags=16"]),
    "errors": ("3000 16 spare_qps=64 errors=20000", ["--psn", "strict"]),
    "transports": ("2000 17 rc_qps=8 uc_qps=8 ud_qps=8 xrc_qps=8 send_inv=1 load=90",
                   ["--host", "receive=srq,layout=cyclic,refill=batch:8", "--pace", "line-rate"]),
    "compressed": ("2000 18 read=0 write=0 write_imm=0 add=0 load=100",
                   ["--host", "receive=srq,cq_compression=on", "--pace", "line-rate"]),
}


def figures(report, name):
    """What a line says of a report."""
    if "trace" in report:
        report["trace"] = name
    state_hash = report.pop("state_hash")
    return [state_hash, str(report["cycles"]), hashlib.sha256(json.dumps(report).encode()).hexdigest()[:16]]


def captures(bench):
    """The captures beside the project."""
    compare(bench, "capture", [(path.stem, path, CONFIGURATIONS, []) for path in captures_beside()])


def captures_beside():
    return e2e.shared_captures("soft_roce", "nic")


def sample(bench):
    """The project's own sample."""
    compare(bench, "sample", [("sample", e2e.SAMPLE, CONFIGURATIONS, [])])


def traffic(bench):
    """Eight kinds of generated traffic."""
    runs = []
    for name, (arguments, options) in TRAFFIC.items():
        trace = bench.folder / f"{name}.pcap"
        made = bench.start(bench.options.make_traffic, trace, *arguments.split())
        bench.expect_equal(made.returncode, 0, f"make_traffic {arguments}: {made.stderr}")
        runs.append((name, trace, CONFIGURATIONS, options))
    compare(bench, "traffic", runs)


def records(bench):
    """Recorded runs of programs, repeated without them."""
    runs = []
    for archive in sorted(RECORDS.glob("*.tar.xz")):
        name = archive.name.removesuffix(".tar.xz")
        shutil.unpack_archive(archive, bench.folder / name)
        complete(bench.folder / name / "host.jsonl")
        runs.append((name, bench.folder / name, OF_RECORDS, []))
    bench.expect(runs, f"no record in {RECORDS}")
    compare(bench, "record", runs)


def complete(log):
    """A record holds the parameters and the messages of its day. Newer parameters and fields have their defaults."""
    sections = generate.load(generate.HERE / "params.toml")
    messages = tomllib.loads((e2e.ROOT / "bridge" / "channel" / "messages.toml").read_text(encoding="utf-8"))
    bodies = {struct.get("member"): struct["fields"] for struct in messages["struct"].values()}
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for event in events:
        if event["event"] == "header":
            event["params"] = generate.completed(event["params"], sections)
        if event["event"] != "request":
            continue
        for name, field in bodies[messages["request"][event["type"]]["body"]].items():
            described = field if isinstance(field, dict) else {"type": field}
            if described["type"] in ("u8", "u16", "u32", "u64"):
                event["body"].setdefault(name, described.get("default", 0))
    log.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events), encoding="utf-8")


def compare(bench, kind, runs):
    """Runs each in each of its configurations; its lines are those of the table, all of them."""
    known = read_table()
    jobs = [(f"{kind} {name}", trace, configuration, [*arguments, *options])
            for name, trace, configurations, options in runs for configuration, arguments in configurations.items()]

    def run(job):
        name, trace, configuration, arguments = job
        return bench.replay(trace, *arguments, out=f"{name} {configuration}".replace(" ", "-"))

    found = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for (name, _, configuration, _), report in zip(jobs, pool.map(run, jobs)):
            if report is not None:
                found[(name, configuration)] = figures(report, name)
    mine = {key: line for key, line in known.items() if key[0].split()[0] == kind}
    if bench.options.renew:
        write_table({key: line for key, line in known.items() if key not in mine} | found)
        print(f"{kind}: {len(found)} lines, {sum(mine.get(key) != line for key, line in found.items())} of them new")
        bench.expect(True, "")
        return
    for key in sorted(mine.keys() | found.keys()):
        bench.expect_equal(found.get(key), mine.get(key), f"{key[0]}, {key[1]}: {', '.join(HEAD[2:])}")


def read_table():
    if not TABLE.is_file():
        return {}
    head, *lines = [line.split(",") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    if head != HEAD:
        raise ValueError(f"{TABLE}: found the columns {head}; expected {HEAD}")
    return {(run, configuration): rest for run, configuration, *rest in lines}


def write_table(lines):
    text = [",".join(HEAD), *(",".join([*key, *line]) for key, line in sorted(lines.items()))]
    TABLE.write_text("\n".join(text) + "\n", encoding="utf-8")


CHECKS = {"sample": sample, "captures": captures, "traffic": traffic, "records": records}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes generated traffic")
    parser.add_argument("--renew", action="store_true", help="write the table instead of comparing with it")
    sys.exit(e2e.run(parser, CHECKS))
