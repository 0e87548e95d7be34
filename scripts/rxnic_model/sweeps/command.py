# SPDX-License-Identifier: Apache-2.0
"""The command line of `rxnic sweep`, its progress, and what it says at the end."""
import argparse
import pathlib
import re
import shlex
import signal
import sys
import time

from .. import program as rxnic
from ..command_line import CommandParser
from ..program import UsageError
from . import table, web
from .page import EXAMPLE, Page
from .run import How, Sweep
from .schedule import LOCAL_SECONDS, grouped

ABOUT = """\
Run the model at many points, and make one table of all figures: what was set, every figure by its name in rxnic
counters, the state hash, the version. A page says what is swept: parameters, configurations, workloads, captures,
records, RTL in the model's place, seeds, options of rxnic replay; crossed or going together, with conditions."""
TEACHES = """\
A page to begin with:
  rxnic sweep --example > prefetch.toml
  rxnic sweep --dry-run prefetch.toml
  rxnic sweep prefetch.toml

The results are in the folder prefetch.sweep:
  sweep.csv     a row a point
  sweep.sqlite  the same for SQL: SELECT "set.dma_engine.read_latency_ps", "rates.packets_per_s" FROM points
  sweep.html    curves, a heat map, parallel coordinates and the points, for a browser without a network
  work          what has been run, and what the jobs said

A point that has ended is never run again, also not after more values were added; started again, the sweep goes on, and
repeats what failed. A point is another one when its program, source, parameters, seed or options are others. A point
that fails is reported and stops nothing; the exit status is then 1. Snakemake runs the jobs
(apt-get install snakemake)."""
SHOWN = 12  # points of --dry-run, failures


def jobs_of(text):
    if not re.fullmatch(r"[1-9]\d{0,4}", text):
        raise argparse.ArgumentTypeError(f"found '{text}'; expected a number from 1 to 99999")
    return int(text)


def seconds_of(text):
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) <= 0:
        raise argparse.ArgumentTypeError(f"found '{text}'; expected seconds, more than 0")
    return float(text)


def parser():
    made = CommandParser("sweep", ABOUT, TEACHES)
    made.add_argument("page", metavar="SWEEP.toml", nargs="?", help="what is swept")
    made.add_argument("--out", metavar="FOLDER", type=pathlib.Path,
                      help="folder of the results (default: SWEEP.sweep beside the page)")
    made.add_argument("--jobs", metavar="N", type=jobs_of,
                      help="points at a time (default: one a core; with --slurm 100)")
    made.add_argument("--slurm", metavar="OPTIONS", nargs="?", const="",
                      help="run the jobs on a cluster, with these options of sbatch: --slurm='-p short'. Its machines "
                           "must see the page, its sources, the program and FOLDER")
    made.add_argument("--only", metavar="POINTS", help="these points alone: 3,10-20, or a condition over the settings")
    made.add_argument("--dry-run", action="store_true", help="say which points there are, and what would be run")
    made.add_argument("--timeout", metavar="S", type=seconds_of,
                      help="a point that takes longer has failed, in seconds")
    made.add_argument("--job-seconds", metavar="S", type=seconds_of,
                      help="how long a job is to take (default: 20; with --slurm 60); the results are the same")
    made.add_argument("--example", action="store_true", help="print a page to begin with")
    made.add_argument("--quiet", action="store_true", help="print no summary and no progress")
    return made


def words_of(point, varied):
    """What a point has that others have not."""
    return ", ".join(f"{name}={rxnic.text_of(point.settings[name])}" for name in varied) or "the only one"


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """A line on the terminal, or one every half minute elsewhere."""

    def __init__(self, store, points, quiet):
        self._store, self._keys, self._quiet = store, {point.key for point in points}, quiet
        self._began = time.monotonic()
        self._at_first = None
        self._terminal = sys.stderr.isatty()
        self._next = self._began + (0.5 if self._terminal else 30)
        self._drawn = False

    def __call__(self, text):
        ended = sum(1 for key in self._keys if key in self._store.records)
        if self._at_first is None:
            self._at_first = ended
        now = time.monotonic()
        if self._quiet or now < self._next:
            return
        self._next = now + (0.5 if self._terminal else 30)
        new = ended - self._at_first
        left = f", {clock((now - self._began) * (len(self._keys) - ended) / new)} left" if new > 0 else ""
        line = f"rxnic: {ended} of {len(self._keys)} points{left}{', ' + text if text else ''}"
        print(f"\r\x1b[K{line}" if self._terminal else line, end="" if self._terminal else "\n", file=sys.stderr,
              flush=True)
        self._drawn = self._terminal

    def end(self):
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def dry_run(sweep, how):
    left = {point.key: point for point in sweep.asked if not sweep.store.ended(point.key)}
    print(f"{sweep.page.title}: {len(sweep.points)} points, {len(sweep.asked)} asked for, {len(left)} to run")
    took = [record["took_s"] for record in sweep.store.records.values() if record["status"] == 0]
    if left and took:
        each, jobs = sum(took) / len(took), how.at_a_time()
        groups = grouped(list(left), each, jobs, how.job_seconds or LOCAL_SECONDS)
        print(f"a point took {each:.3g} s so far: {clock(each * len(left) / jobs)} with {jobs} at a time, "
              f"{len(groups)} jobs")
    for point in sweep.asked[:SHOWN]:
        state = "to run" if point.key in left else "ended "
        print(f"  {point.number:5}  {state}  {words_of(point, sweep.varied)}")
    if len(sweep.asked) > SHOWN:
        print(f"  and {len(sweep.asked) - SHOWN} more")
    return 0


def extremes(sweep):
    """Where each figure that the page asks for is smallest and largest."""
    for figure in sweep.page.figures:
        found = [(sweep.store.records[point.key]["figures"].get(figure), point) for point in sweep.asked
                 if sweep.store.ended(point.key)]
        found = [(value, point) for value, point in found if isinstance(value, (int, float))]
        if found:
            low, high = min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])
            yield f"{figure}: {low[0]:.6g} at all points" if low[0] == high[0] else (
                f"{figure}: from {low[0]:.6g} at {words_of(low[1], sweep.varied)}\n"
                f"{' ' * len(figure)}    to {high[0]:.6g} at {words_of(high[1], sweep.varied)}")


def summary(sweep, drawn):
    """What is said at the end, and the exit status."""
    failed, lost = sweep.failed(), sweep.lost()
    ended = len(sweep.asked) - len(failed) - len(lost)
    text = [f"{sweep.page.title}: {ended} of {len(sweep.asked)} points; {sweep.out / table.CSV_FILE}", *extremes(sweep)]
    if failed:
        text.append(f"{len(failed)} failed, and are tried again when the sweep is started again:")
        for point in failed[:SHOWN]:
            record = sweep.store.records[point.key]
            text.append(f"  {point.number:5}  {words_of(point, sweep.varied)}: {record['error']} "
                        f"(status {record['status']})")
        if len(failed) > SHOWN:
            text.append(f"  and {len(failed) - SHOWN} more: status and error in {table.CSV_FILE}")
    if lost:
        text.append(f"{len(lost)} were not run: {sweep.store.folder / 'snakemake.log'} says why")
    if not drawn:
        text.append(f"{web.FILE} was not written: scripts/page makes what draws it, once, with node and npm")
    return text, 1 if failed or lost else 0


def main(arguments):
    options = parser().parse_args(arguments)
    if options.example:
        print(EXAMPLE, end="")
        return 0
    if options.page is None:
        raise UsageError("found no page; expected SWEEP.toml (rxnic sweep --example prints one)")
    program = rxnic.find_program()
    page = Page.read(options.page, program)
    sweep = Sweep(page, options.out or page.path.with_suffix(".sweep"), options.only, program)
    how = How(options.jobs, None if options.slurm is None else shlex.split(options.slurm), options.timeout,
              options.job_seconds)
    if options.dry_run:
        return dry_run(sweep, how)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = Progress(sweep.store, sweep.asked, options.quiet)
    try:
        drawn = sweep.run(how, progress)
    except KeyboardInterrupt:
        progress.end()
        ended = sum(1 for point in sweep.asked if sweep.store.ended(point.key))
        print(f"rxnic: sweep: interrupted: {ended} of {len(sweep.asked)} points have ended; started again, it goes on",
              file=sys.stderr)
        raise
    finally:
        progress.end()
    text, status = summary(sweep, drawn)
    if not options.quiet or status:
        print("\n".join(text), file=sys.stderr if status else sys.stdout)
    return status
