# SPDX-License-Identifier: Apache-2.0
"""The command line of `rxnic sweep`."""
import argparse
import pathlib
import re
import shlex
import signal
import sys
import time

from .. import program as rxnic
from ..command_line import CommandParser
from ..expression import Expression, ExpressionError
from ..figures import suggestion
from ..program import UsageError
from ..runs import cores
from . import table, web
from .page import EXAMPLE, Page
from .points import points_of
from .schedule import Schedule, grouped, need_slurm, need_snakemake
from .store import Store

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


def chosen(points, only, settings):
    """Those of --only."""
    if only is None:
        return points
    if re.fullmatch(r"\s*\d+(\s*-\s*\d+)?(\s*,\s*\d+(\s*-\s*\d+)?)*\s*", only):
        numbers = set()
        for part in only.split(","):
            first, _, last = part.partition("-")
            low, high = int(first), int(last or first)
            if not 1 <= low <= high <= len(points):
                raise UsageError(f"--only: found {part.strip()}; expected points from 1 to {len(points)}")
            numbers |= set(range(low, high + 1))
        return [point for point in points if point.number in numbers]
    try:
        condition = Expression(only, settings)
        found = [point for point in points if condition.value(point.settings)]
    except ExpressionError as wrong:
        raise UsageError(f"--only: {wrong}") from None
    if not found:
        raise UsageError(f"--only: found no point for which {only} holds; expected at least one")
    return found


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


def figures_known(page, store, points):
    """The figures that the page asks for exist in some run. Raises UsageError."""
    ended = [store.records[point.key] for point in points if store.ended(point.key)]
    names = {name for record in ended for name in record["figures"]}
    for figure in page.figures if ended else []:
        if figure not in names:
            page.refuse(("", 0), "figures", f"'{figure}', which no run has",
                        f"names of rxnic counters or of report.json{suggestion(figure, sorted(names))}")


def dry_run(page, points, asked, store, jobs, varied):
    left = {point.key: point for point in asked if not store.ended(point.key)}
    print(f"{page.title}: {len(points)} points, {len(asked)} asked for, {len(left)} to run")
    took = [record["took_s"] for record in store.records.values() if record["status"] == 0]
    if left and took:
        each = sum(took) / len(took)
        groups = grouped(list(left), each, jobs, 20)
        print(f"a point took {each:.3g} s so far: {clock(each * len(left) / jobs)} with {jobs} at a time, "
              f"{len(groups)} jobs")
    for point in asked[:SHOWN]:
        print(f"  {point.number:5}  {'ended ' if store.ended(point.key) else 'to run'}  {words_of(point, varied)}")
    if len(asked) > SHOWN:
        print(f"  and {len(asked) - SHOWN} more")
    return 0


def summary(page, out, points, store, varied):
    """What is said at the end: the exit status."""
    failed = [point for point in points if point.key in store.records and not store.ended(point.key)]
    lost = [point for point in points if point.key not in store.records]
    text = [f"{page.title}: {len(points) - len(failed) - len(lost)} of {len(points)} points; {out / table.CSV_FILE}"]
    if failed:
        text.append(f"{len(failed)} failed, and are tried again when the sweep is started again:")
        for point in failed[:SHOWN]:
            record = store.records[point.key]
            text.append(f"  {point.number:5}  {words_of(point, varied)}: {record['error']} (status {record['status']})")
        if len(failed) > SHOWN:
            text.append(f"  and {len(failed) - SHOWN} more: status and error in {table.CSV_FILE}")
    if lost:
        text.append(f"{len(lost)} were not run: {store.folder / 'snakemake.log'} says why")
    return text, 1 if failed or lost else 0


def write_results(page, points, store, out, program):
    """Table and page: whether there is what draws the page."""
    made = table.Table(points, store.records, rxnic.version(program))
    table.write_csv(made, out / table.CSV_FILE)
    table.write_sqlite(made, out / table.SQLITE_FILE)
    script = web.page_script(program)
    if script is None:
        (out / web.FILE).unlink(missing_ok=True)  # of an earlier start
        return False
    web.write_page(web.data_of(page, points, made, program), script, out / web.FILE)
    return True


def main(arguments):
    options = parser().parse_args(arguments)
    if options.example:
        print(EXAMPLE, end="")
        return 0
    if options.page is None:
        raise UsageError("found no page; expected SWEEP.toml (rxnic sweep --example prints one)")
    program = rxnic.find_program()
    page = Page(options.page, program)
    out = options.out or page.path.with_suffix(".sweep")
    points = points_of(page, program, (out / "work").resolve())
    asked = chosen(points, options.only, page.settings())
    varied = [name for axis in page.axes for name in axis]
    jobs = options.jobs or (cores() if options.slurm is None else 100)
    store = Store(out / "work")
    store.refresh()
    if options.dry_run:
        return dry_run(page, points, asked, store, jobs, varied)
    if options.slurm is not None:
        need_slurm()
        need_snakemake()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    schedule = Schedule(store, page, program, jobs, None if options.slurm is None else shlex.split(options.slurm),
                        options.timeout, options.job_seconds)
    progress = Progress(store, asked, options.quiet)
    unique = list({point.key: point for point in asked}.values())
    try:
        schedule.run(unique, progress, lambda: figures_known(page, store, points))
    finally:
        progress.end()
        drawn = write_results(page, points, store, out, program)
    text, status = summary(page, out, asked, store, varied)
    if not drawn:
        text.append(f"{web.FILE} was not written: scripts/page makes what draws it, once, with node and npm")
    if not options.quiet or status:
        print("\n".join(text), file=sys.stderr if status else sys.stdout)
    return status
