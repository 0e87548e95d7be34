# SPDX-License-Identifier: Apache-2.0
"""run, replay, workload: one run of the program each, in a folder of its own, and several at once."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

from . import program as rxnic
from .figures import Figures, figures_of
from .workloads import settings_of


def frame_of(rows):
    """A pandas.DataFrame of flat dictionaries. Raises UsageError without pandas."""
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise rxnic.UsageError("frame(): found no pandas; expected it (apt-get install python3-pandas)") from None
    return pandas.DataFrame(rows)


class Result(Figures):
    """What a run left. Each figure is an attribute: run.rates.packets_per_s; run["rates.packets_per_s"] is the same.

    of        what was run, as it was given: {"source": ..., "set": {...}, "seed": ...}
    figures   {name: value} of all of them
    report    report.json
    stderr    what the program said: warnings
    took_s    how long it took here, in seconds; no figure of the model
    """

    def __init__(self, report, figures, of, stderr="", took_s=0.0):
        super().__init__(figures, report)
        self.report = report
        self.figures = figures
        self.of = of
        self.stderr = stderr
        self.took_s = took_s

    def row(self):
        """What was set (set.NAME: some parameters share a counter's name) and every figure, as one dictionary."""
        flat = {}
        for name, value in self.of.items():
            if isinstance(value, dict):
                flat |= {f"set.{key}": one for key, one in value.items()}
            elif value is not None:
                flat[f"set.{name}"] = value
        return flat | self.figures

    def frame(self):
        """A pandas.DataFrame of one row."""
        return Results([self]).frame()

    def __repr__(self):
        return f"<run of {self.of.get('source', '')}: {len(self.figures)} figures>"


class Results(list):
    """Results in the order in which they were asked for; a run that failed is its RunError."""

    def frame(self):
        """A pandas.DataFrame, a row a run; what failed is left out."""
        return frame_of([one.row() for one in self if isinstance(one, Result)])


def started(command, arguments, of, keep, program, timeout, behind=()):
    """`rxnic COMMAND --out FOLDER ARGUMENT...`: its result. The folder is new, so no other run's report is read."""
    path = rxnic.find_program(program)
    with tempfile.TemporaryDirectory(prefix="rxnic-") as folder:
        out = pathlib.Path(keep) if keep else pathlib.Path(folder) / "run"
        if keep and (out / "report.json").exists():
            (out / "report.json").unlink()
        begin = time.monotonic()
        done = subprocess.run([path, command, "--quiet", "--out", str(out), *arguments, *behind], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              errors="replace", timeout=timeout, check=False)
        took = time.monotonic() - begin
        if done.returncode != 0:
            raise rxnic.RunError(rxnic.message_of(done.stderr, done.returncode), done.returncode)
        try:
            report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as wrong:
            raise rxnic.RunError(f"{out}/report.json: {wrong}; expected the report of a run", 1) from wrong
    return Result(report, figures_of(report, rxnic.counters(path)), of, done.stderr, took)


def replay(source, *, config=None, set=None, seed=None, workload=None, options=(), keep=None, program=None,
           timeout=None, **flags):
    """`rxnic replay SOURCE`: of a capture, a workload, or the folder of a recorded run.

    config   a configuration's name or file
    set      {section.key: value}; a value may have a unit ("900ns")
    seed     of all random numbers
    workload {TABLE.KEY: value} of a workload's page: {"senders.qps": 64}
    flags    further options: pace="line-rate", receiver="10.0.0.2", step_all=True, host="receive=srq"
    options  arguments as they stand on the command line, for what is no flag
    keep     a folder for what the run writes; without it the files are removed
    program  the program; timeout: seconds
    Raises RunError.
    """
    set = dict(set or {}) | settings_of(workload or {})
    of = {"source": str(source), "config": config, "seed": seed, "set": set, "options": dict(flags)}
    arguments = rxnic.options_of(config, set, seed, options, **flags)
    return started("replay", arguments, of, keep, program, timeout, [str(source)])


def run(command, *, config=None, set=None, seed=None, options=(), keep=None, program=None, timeout=None, **flags):
    """`rxnic run -- COMMAND`: a verbs program, as a list or as one word. Otherwise as replay(); record=True with
    keep=FOLDER leaves a record, which replay(FOLDER) repeats."""
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    of = {"source": " ".join(map(str, words)), "config": config, "seed": seed, "set": dict(set or {}),
          "options": dict(flags)}
    arguments = rxnic.options_of(config, set, seed, options, **flags)
    return started("run", arguments, of, keep, program, timeout, ["--", *map(str, words)])


def workload(page, out, *, program=None, options=(), **flags):
    """`rxnic workload PAGE --out OUT` writes a workload as a capture with the log of its host: the folder."""
    rxnic.start("workload", page, "--out", out, *rxnic.options_of(options=options, **flags), program=program)
    return pathlib.Path(out)


def cores():
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def several(calls, jobs=None, call=replay):
    """Results of call(**one) for each one of `calls`, `jobs` at a time (default: one a core), in their order. A run
    that failed is its RunError in the list.

        several([{"source": "a.pcap", "set": {"nic.link_gbps": gbps}} for gbps in (100, 200, 400)])
    """
    from concurrent.futures import ThreadPoolExecutor  # pylint: disable=import-outside-toplevel

    def tried(one):
        try:
            return call(**one)
        except rxnic.RunError as failed:
            return failed

    with ThreadPoolExecutor(max_workers=jobs or cores()) as pool:
        return Results(pool.map(tried, calls))


def child_seconds():
    """Processor time of the ended children, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
