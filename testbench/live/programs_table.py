#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes bridge/verbs/programs.md: which programs of Debian the live checks run, with which options and what result.

A check notes each run of a program in the folder that RXNIC_PROGRAMS_TABLE names, with the network (RXNIC_NETWORK) in
which the run was. What pyverbs_check.py prints is expected there as pyverbs-host.txt and pyverbs-own.txt. The table has
a row for each program and transport that the checks name (their PROGRAMS), with what was noted of it. Something noted
that they do not name is an error: the folder is not of these checks.
"""
import argparse
import collections
import contextlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

FOLDER = "RXNIC_PROGRAMS_TABLE"
PLACES = tuple((network, nics) for network in ("host", "own") for nics in (1, 2))
TABLE = pathlib.Path(__file__).resolve().parents[2] / "bridge" / "verbs" / "programs.md"
CHECKS = ("programs_check", "rdmacm_check", "storage_check", "ucx_check", "mpi_check")
SUITE = ("tests of rdma-core", "all")
# What depends on the run and not on the program: addresses, ports, files, and the number of iterations.
OF_THE_RUN = re.compile(r"((?<!\S)-\w\w? )?(127\.0\.0\.1|\b198\.18\.0\.\d\b|\{\w+\})|\S*\{folder\}\S*|-n \d+")
CM = ("`-R` not with UC or XRC, says perftest; `-z` not with XRC: its QP for the exchange of addresses is an XRC "
      "one then, to which it cannot post receives")
GROUP = "the group is an IPv6 one, its default GID an IPv4 one, and perftest takes no mixture"
LIMITS = {
    "qperf": "only RC: its UC and UD tests do not use `-cm`, and without it its addresses have no GRH, which RoCE "
             "needs (EINVAL); Debian's is built without XRC",
    "ib_send_bw": f"`-g` with perftest's own group needs `-x 0` or `-x 1`: {GROUP}; {CM}",
    "ib_send_lat": f"`-g` with perftest's own group needs `-x 0` or `-x 1`: {GROUP}; {CM}",
    "ib_write_bw": f"not `-e`, which perftest has not on WRITE; {CM}",
    "ib_write_lat": f"not `-e`, which perftest has not on WRITE; {CM}",
    "ib_read_bw": CM, "ib_read_lat": CM,
    "ib_atomic_bw": f"not `--odp`, which perftest has not on atomics; {CM}",
    "ib_atomic_lat": f"not `--odp`, which perftest has not on atomics; {CM}",
}
HEAD = """# Programs

What the checks of [testbench/live](../../testbench/live) run of Debian, unmodified; made by `programs_table.py` there.

A run is one program, or a server and its client, or all ranks of mpirun; it passes when they exit with 0, print what
they should, and the NICs' counters agree. Options: each set that is run, without addresses, ports and `-n`. Then the
runs that passed in the host's network and in the fabric's own (`rxnic run --network`), as root and as an ordinary user;
1 or 2 NICs: on so many the packets of a run were received or sent. Out of band a server's address is 127.0.0.1 in the
first, its NIC's in the second. Packets: at least so many were received in all.

| program | transport | options | package | host, 1 NIC | host, 2 NICs | own, 1 NIC | own, 2 NICs | packets | limits |
|---|---|---|---|---|---|---|---|---|---|
"""

Use = collections.namedtuple("Use", "program transport options", defaults=("",))


@contextlib.contextmanager
def noted_run(bench, *uses):
    """Notes a run of each program; it passes when the check finds no failure meanwhile. The caller sets its fabric."""
    run = types.SimpleNamespace(fabric=None)
    failures = len(bench.failures)
    yield run
    if FOLDER in os.environ:
        fabric = run.fabric
        nics = [{block: nic["blocks"][block]["counters"]["packets"] for block in ("rx_parser", "requester")}
                for nic in fabric.report["nics"]] if fabric.report else []
        at_work = sum(any(nic.values()) for nic in nics)  # the others only were there
        noted = {"network": "own" if fabric.own else "host", "nics": at_work or fabric.nics,
                 "passed": len(bench.failures) == failures,
                 "user": "root" if fabric.uid is None and os.geteuid() == 0 else "user",
                 "packets": sum(nic["rx_parser"] for nic in nics)}
        with open(pathlib.Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl", "a", encoding="ascii") as file:
            file.writelines(json.dumps({"use": use, **noted}) + "\n" for use in uses)


def short(options):
    return " ".join(OF_THE_RUN.sub(" ", options).split())


def named():
    """{(program, transport): options} of all runs in the checks."""
    found = {}
    for check in CHECKS:
        for use in importlib.import_module(check).PROGRAMS:
            found.setdefault(use[:2], {})[short(use.options)] = True  # a set with an order
    found[SUITE] = dict.fromkeys(importlib.import_module("pyverbs_check").MODULES)
    return found


def begin_of_row(key, options):
    return f"| {' | '.join(key)} | {', '.join(f'`{one}`' for one in options if one)} |"


def begins(table):
    """The beginning of each row of a table, as begin_of_row makes it."""
    return [" |".join(row.split(" |")[:3]) + " |" for row in table.removeprefix(HEAD).splitlines()]


def package(program):
    """Name and version of the Debian package that a program or a file comes from."""
    def query(*arguments):
        return subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=True).stdout

    owner = query("-S", os.path.realpath(shutil.which(program) or program)).split(":")[0]
    return " ".join(query("-W", "-f", "${Package} ${Version}", owner).split())


def of_programs(folder):
    """{(program, transport): the rest of its row}"""
    runs = collections.defaultdict(list)
    for file in folder.glob("*.jsonl"):
        for line in file.read_text(encoding="ascii").splitlines():
            one = json.loads(line)
            use = Use(*one["use"])
            if short(use.options) not in named().get(use[:2], {}):
                raise ValueError(f"{file}: {' '.join(use)} is not among the PROGRAMS of {', '.join(CHECKS)}")
            runs[use[:2]].append(one)
    return {key: (package(key[0]), *(passed(every, network, nics) for network, nics in PLACES),
                  first_digit(sum(one["packets"] for one in every)), LIMITS.get(key[0], ""))
            for key, every in runs.items()}


def first_digit(count):
    """24680 is 20,000: the rest differs from run to run."""
    unit = 10 ** (len(str(count)) - 1)
    return f"{count // unit * unit:,}" if count else ""


def passed(runs, network, nics):
    """How many of those in a place passed, in words."""
    here = {user: [one["passed"] for one in runs
                   if (one["user"], one["network"], one["nics"]) == (user, network, nics)] for user in ("root", "user")}
    return in_words(here) if any(here.values()) else "not run"


def in_words(results):
    """{user: [whether it passed, ...]}"""
    return ", ".join(f"{user} {sum(of_user)} of {len(of_user)}" for user, of_user in results.items() if of_user)


def of_suite(outputs):
    """The rest of its row, from {network: the output of pyverbs_check.py}."""
    suite = importlib.import_module("pyverbs_check")
    cells = [suite_passed(outputs[network]) if nics == 1 and network in outputs else "not run"
             for network, nics in PLACES]
    own = outputs.get("own", "")
    reasons = sorted(set(re.findall(r"^(test_\w+): (?:skipped ['\"].*?['\"]|FAIL) \((.+)\)$", own, re.M)))
    limits = [f"`{test}`: {reason}" for test, reason in reasons if reason != "for root"]
    if "(for root)" in own:
        limits.append("those with RAW_PACKET are for root, says the suite")
    return package(str(suite.SUITE)), *cells, "", "; ".join(limits)


def suite_passed(output):
    """Each module as each of live.users()."""
    users = list(importlib.import_module("live").users())
    results = {user: [] for user in users}
    times = collections.Counter()
    for module, good, tests in re.findall(r"^(test_\w+): (\d+) of (\d+) passed$", output, re.M):
        user = users[times[module]]
        times[module] += 1
        results[user] += [True] * int(good) + [False] * (int(tests) - int(good))
    return in_words(results)


def table(folder):
    rest = of_programs(folder)
    outputs = {network: folder / f"pyverbs-{network}.txt" for network, _ in PLACES}
    outputs = {network: file.read_text(encoding="utf-8") for network, file in outputs.items() if file.exists()}
    if outputs:
        rest[SUITE] = of_suite(outputs)
    nothing = ("", *("not run" for _ in PLACES), "", "")
    rows = [f"{begin_of_row(key, options)} {' | '.join(rest.get(key, nothing))} |"
            for key, options in sorted(named().items())]
    return HEAD + "".join(f"{re.sub(' +', ' ', row)}\n" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="what the checks have noted")
    parser.add_argument("--out", type=pathlib.Path, default=TABLE, metavar="FILE", help="default: %(default)s")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder} is not a folder")
    arguments.out.write_text(table(arguments.folder), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
