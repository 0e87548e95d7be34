#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rxnic sweep`: its points, its table, what a kill, a crash and one value more do; mistakes in its pages."""
import collections
import csv
import json
import os
import random as numbers
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

import e2e
import slurm_cluster

# Stands for the program: notes each replay in runs.log, and does what files in its folder ask for.
WRAPPER = """\
#!/bin/bash
here=$(dirname "$0")
if [ "$1" = replay ]; then
  seed=$(printf '%s\\n' "$*" | sed -n 's/.*--seed \\([0-9]*\\) .*/\\1/p')
  set_=$(printf '%s\\n' "$*" | sed -n 's/.*read_latency_ps=\\([0-9]*\\) .*/\\1/p')
  echo "$set_ $seed" >> "$here/runs.log"
  if [ -e "$here/hang_$seed" ]; then exec tail -f /dev/null; fi
  if [ -e "$here/crash_$seed" ]; then kill -SEGV $$; fi
  if [ -e "$here/kill" ] && [ "$(wc -l < "$here/runs.log")" -ge 9 ]; then
    while [ ! -s "$here/pid" ]; do :; done
    signalled=$(cat "$here/kill")$(cat "$here/pid")
    rm -f "$here/kill"
    kill "-$(cat "$here/signal")" -- "$signalled"
  fi
fi
exec "$RXNIC_UNDER_TEST" "$@"
"""
PAGE = """\
title = "latencies"
figures = ["rates.packets_per_s", "address_translator.mtt_misses"]
[run]
source = "trace.pcap"
pace = "line-rate"
[[axes]]
dma_engine.read_latency_ps = ["400ns", {more}"800ns"]
[[axes]]
seed = {{ from = 1, to = 10, step = 1 }}
"""
HOW = "--job-seconds", "3", "--jobs", "2"


class Sweep:
    """A page in a folder of the check, and the wrapper around the program."""

    def __init__(self, bench, text=PAGE.format(more="")):
        if not shutil.which("snakemake"):  # 7.21 of Debian
            raise e2e.Skip("snakemake is not installed")
        self.bench = bench
        self.page = bench.folder / "page.toml"
        self.page.write_text(text, encoding="utf-8")
        shutil.copy(e2e.SAMPLE, bench.folder / "trace.pcap")
        self.wrapper = bench.folder / "rxnic"
        self.wrapper.write_text(WRAPPER, encoding="utf-8")
        self.wrapper.chmod(0o755)
        self.environment = {**os.environ, "RXNIC": str(self.wrapper), "RXNIC_UNDER_TEST": str(bench.options.rxnic)}
        self.words = [sys.executable, "-B", str(e2e.ROOT / "scripts" / "rxnic_model"), "sweep"]

    def start(self, *arguments):
        return self.bench.start(*self.words, *arguments, *HOW, self.page, env=self.environment)

    def counts(self):
        """How often each point was run."""
        log = self.bench.folder / "runs.log"
        return collections.Counter(log.read_text(encoding="utf-8").splitlines() if log.is_file() else [])

    def rows(self, folder="page.sweep"):
        with open(self.bench.folder / folder / "sweep.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def files(self, folder="page.sweep"):
        return [(self.bench.folder / folder / name).read_bytes() for name in ("sweep.csv", "sweep.sqlite")]

    def ended(self):
        """Points that have ended, by what is in the store."""
        lines = [line for path in (self.bench.folder / "page.sweep" / "work" / "results").glob("*.jsonl")
                 for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
        return sum(1 for line in lines if line.endswith("\n"))


def done_well(bench, done, what):
    bench.expect_equal(done.returncode, 0, f"{what}: {done.stderr.strip()}: exit code")


def table(bench):
    """A row a point in the order of the page, with every figure of its report; CSV and SQLite say the same."""
    sweep = Sweep(bench)
    done = sweep.start()
    done_well(bench, done, "sweep")
    bench.expect("20 of 20 points" in done.stdout, f"summary: {done.stdout}")
    rows = sweep.rows()
    bench.expect_equal([int(row["point"]) for row in rows], list(range(1, 21)), "points")
    bench.expect_equal([row["set.dma_engine.read_latency_ps"] for row in rows], ["400000"] * 10 + ["800000"] * 10,
                       "latencies")
    bench.expect_equal([row["set.seed"] for row in rows], [str(n) for n in range(1, 11)] * 2, "seeds")
    bench.expect(all(row["set.source"] == "trace.pcap" for row in rows), "the source is not as the page has it")
    report = bench.replay("trace.pcap", "--set", "dma_engine.read_latency_ps=800ns", "--seed", "3", "--pace",
                          "line-rate")
    bench.expect_equal(rows[12]["state_hash"], report["state_hash"], "state hash")
    bench.expect_equal(float(rows[12]["rates.packets_per_s"]), report["rates"]["packets_per_s"], "rate")
    counters = json.loads(bench.rxnic("counters", "--json").stdout)
    compared = 0
    for section, one in counters.items():
        place = report
        for part in one["report"].split("."):
            place = place.get(part) if isinstance(place, dict) else None
        for key in one["counters"] if isinstance(place, dict) and "*" not in one["report"] else []:
            bench.expect_equal(rows[12].get(f"{section}.{key}"), str(place.get(key, 0)), f"{section}.{key}")
            compared += 1
    bench.expect(compared > 200, f"only {compared} counters were compared")
    base = sqlite3.connect(bench.folder / "page.sweep" / "sweep.sqlite")
    base.row_factory = sqlite3.Row
    stored = [dict(row) for row in base.execute("SELECT * FROM points ORDER BY point")]
    base.close()
    bench.expect_equal([{name: str(value) for name, value in row.items()} for row in stored], rows, "SQLite and CSV")
    before = sweep.files()
    done_well(bench, sweep.start(), "again")
    bench.expect_equal(sum(sweep.counts().values()), 20, "runs after a second start")
    bench.expect(sweep.files() == before, "the second start wrote another table")
    done_well(bench, sweep.start("--out", "other", "--jobs", "1", "--job-seconds", "0.01"), "one at a time")
    bench.expect(sweep.files("other") == before, "one at a time gives another table")


def killed(bench):
    """Killed half way, alone and with all its processes, or asked to end: no point that had ended is run again."""
    expected = None
    for who, sent, sign in (("alone", "KILL", ""), ("all", "KILL", "-"), ("asked", "TERM", "")):
        shutil.rmtree(bench.folder / "page.sweep", ignore_errors=True)
        for name in ("runs.log", "pid"):
            (bench.folder / name).unlink(missing_ok=True)
        sweep = Sweep(bench)
        (bench.folder / "signal").write_text(sent, encoding="utf-8")
        (bench.folder / "kill").write_text(sign, encoding="utf-8")
        process = subprocess.Popen([*sweep.words, *HOW, str(sweep.page)], env=sweep.environment, cwd=bench.folder,
                                   start_new_session=True, stderr=subprocess.PIPE, text=True)
        (bench.folder / "pid").write_text(str(process.pid), encoding="utf-8")
        said = process.communicate(timeout=e2e.TIMEOUT)[1]
        bench.expect_equal(process.returncode, -signal.SIGKILL if sent == "KILL" else 128 + signal.SIGINT,
                           f"{who}: status of the sweep: {said}")
        bench.expect(sent == "KILL" or "started again, it goes on" in said, f"{who}: what is said: {said}")
        before = sweep.ended()
        # Asked to end, the points that are left may be over before it does.
        bench.expect(0 < before < 20 + (who == "asked"), f"{who}: {before} of 20 points had ended at the kill")
        done_well(bench, sweep.start(), f"{who}: again")
        counts = sweep.counts()
        bench.expect_equal(len(counts), 20, f"{who}: points that were run")
        twice = sum(count - 1 for count in counts.values())
        # Killed with everything, those that were at work are run again: two at most.
        bench.expect(twice <= (2 if who == "all" else 0), f"{who}: {twice} points were run again: {counts}")
        bench.expect_equal(len(sweep.rows()), 20, f"{who}: rows")
        expected = expected or sweep.files()
        bench.expect(sweep.files() == expected, f"{who}: another table")


def crash(bench):
    """A point that crashes is reported, stops nothing, and is run again by the next start."""
    sweep = Sweep(bench)
    (bench.folder / "crash_5").touch()
    done = sweep.start()
    bench.expect_equal(done.returncode, 1, "exit code")
    bench.expect("18 of 20 points" in done.stderr and "2 failed" in done.stderr, f"summary: {done.stderr}")
    bench.expect(re.search(r"5 +dma_engine.read_latency_ps=400000, seed=5: rxnic was ended by signal 11", done.stderr),
                 f"the point is not named: {done.stderr}")
    rows = sweep.rows()
    bench.expect_equal([int(row["point"]) for row in rows if row["status"] != "0"], [5, 15], "points with a status")
    bench.expect_equal({row["status"] for row in rows}, {"0", "-11"}, "statuses")
    bench.expect("signal 11" in rows[4]["error"] and not rows[4]["state_hash"], f"the row: {rows[4]['error']}")
    (bench.folder / "crash_5").unlink()
    done_well(bench, sweep.start(), "again")
    bench.expect_equal({point: count for point, count in sweep.counts().items() if count != 1},
                       {"400000 5": 2, "800000 5": 2}, "points that were run again")
    bench.expect_equal({row["status"] for row in sweep.rows()}, {"0"}, "statuses at the end")
    two = PAGE.format(more="").replace('"trace.pcap"', '["trace.pcap", "broken.pcap"]')
    sweep.page.write_text(two.replace("[run]\nsource", "[[axes]]\nsource").replace("pace", "[run]\npace"),
                          encoding="utf-8")
    (bench.folder / "broken.pcap").write_bytes(b"no capture")
    done = sweep.start("--only", "seed == 1")
    bench.expect_equal(done.returncode, 1, "a source that is no capture: exit code")
    bad = [row for row in sweep.rows() if row["status"] == "3"]
    bench.expect_equal(len(bad), 2, "rows of a source that is no capture")
    bench.expect(all(row["error"].startswith("broken.pcap") for row in bad), "a path is in the table")


def extended(bench):
    """One value more runs only the new points; another program, source or parameter is another point."""
    sweep = Sweep(bench)
    done_well(bench, sweep.start(), "sweep")
    sweep.page.write_text(PAGE.format(more='"600ns", '), encoding="utf-8")
    done = sweep.start("--dry-run")
    bench.expect("30 points, 30 asked for, 10 to run" in done.stdout, f"--dry-run: {done.stdout}")
    done_well(bench, sweep.start(), "one value more")
    counts = sweep.counts()
    bench.expect_equal(set(counts.values()), {1}, "how often points were run")
    bench.expect_equal(len(counts), 30, "points that were run")
    bench.expect_equal([row["set.dma_engine.read_latency_ps"] for row in sweep.rows()][9:21],
                       ["400000"] + ["600000"] * 10 + ["800000"], "rows in the order of the page")
    # A parameter that is set to what the configuration says is no other point; another value is.
    sweep.page.write_text(PAGE.format(more="") + "[[axes]]\ndma_engine.tags = [64, 32]\n", encoding="utf-8")
    bench.expect("40 points, 40 asked for, 20 to run" in sweep.start("--dry-run").stdout, "an axis more")
    sweep.page.write_text(PAGE.format(more=""), encoding="utf-8")
    bench.expect(" 0 to run" in sweep.start("--dry-run").stdout, "the page as before")
    with open(bench.folder / "trace.pcap", "ab") as file:
        file.write(bytes(16))
    bench.expect(" 20 to run" in sweep.start("--dry-run").stdout, "another capture of the name")
    shutil.copy(e2e.SAMPLE, bench.folder / "trace.pcap")
    bench.expect(" 0 to run" in sweep.start("--dry-run").stdout, "the capture as before")
    with open(sweep.wrapper, "a", encoding="utf-8") as file:
        file.write("# another program\n")
    bench.expect(" 20 to run" in sweep.start("--dry-run").stdout, "another program")


def chosen(bench):
    """Crossed and zipped axes, conditions, --only, --dry-run."""
    sweep = Sweep(bench, """\
where = ["tags >= 16 or pace == 'captured'"]
[run]
source = "trace.pcap"
[[axes]]
"dma_engine.tags" = { from = 8, to = 64, factor = 2 }
[[axes]]
pace = ["line-rate", "captured"]
seed = [7, 8]
[[axes]]
dma_engine.read_latency_ps = { from = "100ns", to = "10us", count = 3, log = true }
""")
    done = sweep.start("--dry-run")
    done_well(bench, done, "--dry-run")
    bench.expect("page: 21 points, 21 asked for, 21 to run" in done.stdout, f"points: {done.stdout}")
    first = "1  to run  dma_engine.tags=8, pace=captured, seed=8, dma_engine.read_latency_ps=100000"
    bench.expect(first in done.stdout, f"the first point: {done.stdout}")
    bench.expect_equal(sweep.counts(), collections.Counter(), "runs of --dry-run")
    done_well(bench, sweep.start("--only", "2-3,7"), "--only numbers")
    bench.expect_equal([row["point"] for row in sweep.rows()], ["2", "3", "7"], "rows of --only 2-3,7")
    done_well(bench, sweep.start("--only", "tags == 64 and read_latency_ps < 1000000"), "--only condition")
    bench.expect_equal([row["point"] for row in sweep.rows()], ["2", "3", "7", "16", "19"], "rows after a condition")
    for only, said in (("22", "points from 1 to 21"), ("tags > 99", "expected at least one"),
                       ("depth > 1", "'depth'"), ("__import__('os')", "__import__()")):
        done = sweep.start("--only", only)
        bench.expect_equal(done.returncode, 2, f"--only {only}: exit code")
        bench.expect(said in done.stderr, f"--only {only}: {done.stderr}")
    done = bench.start(*sweep.words, "--example", env=sweep.environment)
    sweep.page.write_text(done.stdout.replace("sample.pcap", "trace.pcap"), encoding="utf-8")
    bench.expect(" 16 points" in sweep.start("--dry-run").stdout, "the example")


def slurm(bench):
    """A real Slurm gives the same table to the byte as the cores of this machine, and reports a crash as they do."""
    sweep = Sweep(bench)
    (bench.folder / "crash_5").touch()
    here = sweep.start("--out", "here")
    bench.expect_equal(here.returncode, 1, "here: exit code")
    with slurm_cluster.slurm_cluster(2) as environment:
        sweep.environment = {**environment, **{name: sweep.environment[name] for name in ("RXNIC", "RXNIC_UNDER_TEST")}}
        there = sweep.start("--out", "there", "--slurm=--comment=sweep")
        jobs = bench.start("scontrol", "-o", "show", "jobs", env=environment).stdout
    bench.expect_equal(there.returncode, 1, f"Slurm: exit code: {there.stderr}")
    # How far a sweep is comes every few seconds, so a quick one does not say it.
    there_said, here_said = (re.sub(r"(?m)^rxnic: \d+ of \d+ points, .*\n|(there|here)/", "", done.stderr)
                             for done in (there, here))
    bench.expect_equal(there_said, here_said, "what is said")
    bench.expect("2 failed" in here_said, here_said)
    bench.expect_equal(len(sweep.rows("there")), 20, "rows")
    bench.expect(sweep.files("here") == sweep.files("there"), "Slurm gives another table")
    bench.expect_equal(set(sweep.counts().values()), {2}, "how often each point was run, here and there")
    ended = re.findall(r"JobName=rxnic-sweep .*JobState=COMPLETED .*Comment=sweep", jobs)
    bench.expect(len(ended) >= 2, f"{len(ended)} jobs of Slurm have completed: {jobs}")


# A part of PAGE, what stands there instead, the line that is named, and parts of the message.
MISTAKES = [
    ("title", "titel", 1, "'titel'", "did you mean 'title'"),
    ('"latencies"', "5", 1, "title: found 5", "text in quotes"),
    ('["rates.packets_per_s", "address_translator.mtt_misses"]', '"rates"', 2, "figures", "a list"),
    ("[run]", "[run", 3, "line 3", "TOML"),
    ("source =", "sauce =", 4, "run.sauce", "did you mean 'source'"),
    ("source =", "# source =", 3, "source: found nothing", "a capture, a workload"),
    ("trace.pcap", "none.pcap", 4, "run.source: found 'none.pcap'", "a file"),
    ('"trace.pcap"', '"."', 4, "run.source: found '.'", "folder of a run that was recorded"),
    ('"trace.pcap"', '["trace.pcap"]', 4, "run.source: found ['trace.pcap']", "[[axes]]"),
    ("pace =", "rate =", 5, "run.rate", "pace"),
    ('"line-rate"', "true", 5, "run.pace: found True", "on the command line"),
    ("[[axes]]\ndma", "[axes]\ndma", 8, "overwrite", "TOML"),
    ("read_latency_ps", "read_latency_pz", 7, "engine.read_latency_pz", "did you mean 'dma_engine.read_latency_ps'"),
    ("dma_engine.", "dma.", 7, "'dma'", "a parameter"),
    ('"400ns", ', '"400xs", ', 7, 'found "400xs"', "an integer from 1000"),
    ('"400ns", ', "-4, ", 7, "found -4", "an integer from 1000"),
    ('"400ns", ', '"0.8us", ', 7, "twice", "each value once"),
    ('["400ns", "800ns"]', "[]", 7, "an empty list", "at least one"),
    ('["400ns", "800ns"]', '"400ns"', 7, "found '400ns'", "a list, or a range"),
    ('["400ns", "800ns"]', '[["400ns"], "800ns"]', 7, "found ['400ns']", "a number"),
    ('["400ns", "800ns"]', '{ from = "400ns", to = "800ns" }', 7, "{from, to}", "factor"),
    ('["400ns", "800ns"]', '{ from = "800ns", to = "400ns", factor = 2 }', 7, "from = 800ns", "upwards"),
    ('["400ns", "800ns"]', '{ from = "400ns", to = "800ns", factor = 1 }', 7, "factor = 1", "more than 1"),
    ('["400ns", "800ns"]', '{ from = "400ns", to = "800ns", step = 0 }', 7, "step = 0", "more than 0"),
    ('["400ns", "800ns"]', '{ from = "400ns", to = "800ns", count = 1 }', 7, "count = 1", "from 2"),
    ('["400ns", "800ns"]', '{ from = "400ns", to = "800ns", count = 3, log = 1 }', 7, "log = 1", "true or false"),
    ("[[axes]]\nseed", 'pace = ["1G", "2G"]\n[[axes]]\nseed', 8, "axes.pace: found it in [run], too", "once"),
    ("[[axes]]\nseed", 'config = ["tiny"]\n[[axes]]\nseed', 8, "axes.config: found 1 values", "2, as the others"),
    ("[[axes]]\nseed", 'config = ["tiny", "small"]\n[[axes]]\nseed', 8, "axes.config", "nic_100g_gen3"),
    ("[[axes]]\nseed", 'config = { from = 1, to = 2, step = 1 }\n[[axes]]\nseed', 8, "a range", "a list"),
    ("[[axes]]\nseed", "clock-always = [1, true]\n[[axes]]\nseed", 8, "axes.clock-always: found 1", "true or false"),
    ("[[axes]]\nseed", "[[axes]]\n[[axes]]\nseed", 8, "no setting", "at least one"),
    ("[[axes]]\nseed", "[[axes]]\ndma_engine.read_latency_ps = [400000]\n[[axes]]\nseed", 9, "too", "once"),
    ("to = 10,", "to = 1000000,", 6, "axes: found 2000000 points", "at most 1000000"),
    ("from = 1,", "from = -1,", 9, "axes.seed: found -1", "2^64"),
    ("from = 1,", 'from = "a",', 9, "axes.seed: found 'a'", "a number"),
    ("step = 1", "step = 1e-9", 9, "more than 1000000 values", "fewer"),
    ('title = "latencies"', 'where = ["depth > 4"]', 1, "where: found 'depth'", "read_latency_ps"),
    ('title = "latencies"', 'where = ["seed >"]', 1, "where: found 'seed >'", "a condition"),
    ('title = "latencies"', "where = [\"pace > 4\"]", 1, "where", "true or false"),
    ('title = "latencies"', 'where = ["seed > 99"]', 1, "no point that is left", "at least one"),
    ('title = "latencies"', 'where = ["seed.__class__ == 1"]', 1, "seed.__class__", "expected one of"),
]


def mistakes(bench):
    """Mistakes in a page: each is refused with file, line, key, what was found and what is expected."""
    sweep = Sweep(bench)
    for old, new, line, *parts in MISTAKES:
        text = PAGE.format(more="")
        bench.expect(old in text, f"{old!r} is not in the page")
        sweep.page.write_text(text.replace(old, new, 1), encoding="utf-8")
        done = sweep.start("--dry-run")
        bench.expect_equal((done.returncode, done.stdout), (2, ""), f"{new!r}: exit code: {done.stderr}")
        message = done.stderr.strip()
        bench.expect(re.search(rf"page\.toml(:{line}: |: found .*line {line})", message),
                     f"{new!r}: line {line}: {message}")
        for part in parts:
            bench.expect(part in message, f"{new!r}: does not name {part!r}: {message}")
        bench.expect(len(message.splitlines()) == 1, f"{new!r}: {message}")
    bench.expect(len(MISTAKES) >= 40, f"only {len(MISTAKES)} mistakes")
    # A figure is known when a point has run.
    sweep.page.write_text(PAGE.format(more="").replace("mtt_misses", "mtt_mises"), encoding="utf-8")
    done = sweep.start()
    bench.expect_equal(done.returncode, 2, "a figure that no run has: exit code")
    bench.expect("page.toml:2: figures: found 'address_translator.mtt_mises'" in done.stderr and
                 "did you mean 'address_translator.mtt_misses'" in done.stderr, f"a figure: {done.stderr}")


def random(bench):
    """Pages with random changes are read or refused in one line, and end nothing else."""
    seed = 54
    print(f"random: seed {seed}")
    source = numbers.Random(seed)
    sys.path.insert(0, str(e2e.ROOT / "scripts"))
    from rxnic_model.program import UsageError  # pylint: disable=import-outside-toplevel
    from rxnic_model.sweeps.page import EXAMPLE, Page  # pylint: disable=import-outside-toplevel
    from rxnic_model.sweeps.points import points_of  # pylint: disable=import-outside-toplevel
    sweep = Sweep(bench)
    pages = [PAGE.format(more=""), EXAMPLE.replace("sample.pcap", "trace.pcap")]
    pieces = ["[", "]", "{", "}", '"', "=", ",", "\n", "0", "-1", "1e99", "nan", "inf", "true", "1979-05-27", "''", "é",
              "[[axes]]", "from", "count", "log = true", "seed", "config", "workload.packets", "nic", "x.y", "\\", "#"]
    read, refused = 0, 0
    for _ in range(400):
        text = source.choice(pages)
        for _ in range(source.randint(1, 3)):
            at, length = source.randrange(len(text)), source.choice([0, 0, 1, 2, 8])
            text = text[:at] + source.choice(pieces) + text[at + length:]
        sweep.page.write_text(text, encoding="utf-8")
        try:
            points_of(Page.read(sweep.page, str(bench.options.rxnic)), str(bench.options.rxnic))
            read += 1
        except UsageError as wrong:
            refused += 1
            bench.expect(str(wrong).startswith(str(sweep.page)) and "expected" in str(wrong), f"{text}: {wrong}")
    bench.expect(read >= 20 and refused >= 100, f"{read} pages were read, {refused} refused")


def command(bench):
    """Wrong command lines, and what is said without Snakemake."""
    sweep = Sweep(bench)
    for arguments, *parts in [([], "SWEEP.toml"), (["none.toml"], "none.toml", "No such file"),
                              (["--jobs", "0", "page.toml"], "--jobs", "'0'", "from 1"),
                              (["--timeout", "-1", "page.toml"], "--timeout", "'-1'", "seconds"),
                              (["--colour", "page.toml"], "--colour", "--help")]:
        done = bench.start(*sweep.words, *arguments, env=sweep.environment)
        bench.expect_equal((done.returncode, done.stdout), (2, ""), f"{arguments}: exit code: {done.stderr}")
        for part in parts:
            bench.expect(part in done.stderr, f"{arguments}: does not name {part}: {done.stderr}")
    (bench.folder / "hang_1").touch()
    done = sweep.start("--only", "seed == 1", "--timeout", "1")
    bench.expect_equal(done.returncode, 1, "points that do not end: exit code")
    bench.expect(done.stderr.count("did not end within 1 s (status -9)") == 2, f"points that do not end: {done.stderr}")
    (bench.folder / "hang_1").unlink()
    only_python = bench.folder / "bin"
    only_python.mkdir()
    for name in ("sed", "dirname", "wc", "cat", "bash"):
        (only_python / name).symlink_to(shutil.which(name))
    sweep.environment["PATH"] = str(only_python)
    done = sweep.start()
    bench.expect_equal(done.returncode, 2, "without Snakemake: exit code")
    bench.expect("apt-get install snakemake" in done.stderr, f"without Snakemake: {done.stderr}")
    bench.expect(len(sweep.rows()) >= 4, "no rows of what was run before")
    (only_python / "snakemake").write_text("#!/bin/bash\necho no machine\nexit 1\n", encoding="utf-8")
    (only_python / "snakemake").chmod(0o755)
    done = sweep.start()
    bench.expect_equal(done.returncode, 1, "Snakemake fails: exit code")
    bench.expect(re.search(r"\d+ were not run: \S*snakemake.log says why", done.stderr), f"it fails: {done.stderr}")
    log = (bench.folder / "page.sweep" / "work" / "snakemake.log").read_text(encoding="utf-8")
    bench.expect("no machine" in log, f"snakemake.log: {log}")
    done = sweep.start("--slurm")
    bench.expect_equal(done.returncode, 2, "without Slurm: exit code")
    bench.expect("found no sbatch; expected it (apt-get install slurm-client)" in done.stderr, f"Slurm: {done.stderr}")


CHECKS = {"table": table, "killed": killed, "crash": crash, "extended": extended, "chosen": chosen,
          "slurm": slurm, "mistakes": mistakes, "random": random, "command": command}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
