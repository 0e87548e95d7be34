# SPDX-License-Identifier: Apache-2.0
"""A sweep from beginning to end: for the command, and for Python."""
import dataclasses
import pathlib
import re
import tempfile

from .. import program as rxnic
from ..expression import Expression, ExpressionError
from ..figures import suggestion
from ..program import RunError, UsageError
from ..runs import Result, Results, cores
from . import table, web
from .page import Page
from .points import points_of
from .schedule import Schedule, need_slurm
from .store import Store

SLURM_JOBS = 100  # at a time


@dataclasses.dataclass
class How:
    """How points are run; no result depends on it. `slurm` lists options of sbatch, None: this machine."""

    jobs: int | None = None
    slurm: list | None = None
    timeout: float | None = None
    job_seconds: float | None = None

    def at_a_time(self):
        return self.jobs or (cores() if self.slurm is None else SLURM_JOBS)


class Sweep:
    """A page with its points and the folder of its results."""

    def __init__(self, page, out, only, program):
        self.page, self.out, self.program = page, pathlib.Path(out), program
        self.points = points_of(page, program)
        self.asked = chosen(self.points, only, page.settings())
        self.varied = [name for axis in page.axes for name in axis]
        self.store = Store(self.out / "work")
        self.store.refresh()

    def run(self, how, progress):
        """Runs what is missing, and writes the results: whether there is what draws the page."""
        if how.slurm is not None:
            need_slurm()
        schedule = Schedule(self.store, self.page, self.program, how.at_a_time(), how.slurm, how.timeout,
                            how.job_seconds)
        try:
            schedule.run(list({point.key: point for point in self.asked}.values()), progress, self._check_figures)
        finally:
            drawn = self._write()
        return drawn

    def failed(self):
        return [point for point in self.asked if point.key in self.store.records and not self.store.ended(point.key)]

    def lost(self):
        """Points that no job has run."""
        return [point for point in self.asked if point.key not in self.store.records]

    def _check_figures(self):
        """The figures that the page asks for exist in some run. Raises UsageError."""
        ended = [self.store.records[point.key] for point in self.points if self.store.ended(point.key)]
        names = {name for record in ended for name in record["figures"]}
        for figure in self.page.figures if ended else []:
            if figure not in names:
                self.page.refuse(("", 0), "figures", f"'{figure}', which no run has",
                                 f"names of rxnic counters or of report.json{suggestion(figure, sorted(names))}")

    def _write(self):
        made = table.Table(self.points, self.store.records, rxnic.version(self.program))
        table.write_csv(made, self.out / table.CSV_FILE)
        table.write_sqlite(made, self.out / table.SQLITE_FILE)
        script = web.page_script(self.program)
        if script is None:
            (self.out / web.FILE).unlink(missing_ok=True)  # of an earlier start
            return False
        web.write_page(web.data_of(self.page, self.points, made, self.program), script, self.out / web.FILE)
        return True


def chosen(points, only, settings):
    """Those of --only: numbers, or a condition."""
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


def sweep(page=None, *, run=None, axes=(), where=(), figures=(), title="sweep", out=None, only=None, program=None,
          jobs=None, slurm=None, timeout=None):
    """`rxnic sweep`: Results in the order of the points, a Result or the RunError of each.

    page   a page (SWEEP.toml); or `run`, `axes`, `where`, `figures` and `title` as a page has them:
           sweep(run={"source": "a.pcap"}, axes=[{"nic.link_gbps": [100, 400]}, {"seed": [1, 2]}])
    out    folder of the results. Without it those of a page are in SWEEP.sweep, others are not kept
    only   points: "3,10-20", or a condition
    slurm  options of sbatch, as a list; None: this machine. jobs: at a time; timeout: seconds of a point
    Raises UsageError for a mistake.
    """
    path = rxnic.find_program(program)
    if page is not None:
        made = Page.read(page, path)
        return _results(Sweep(made, out or made.path.with_suffix(".sweep"), only, path), How(jobs, slurm, timeout))
    parsed = {"title": title, "figures": list(figures), "where": list(where), "run": dict(run or {}),
              "axes": [dict(axis) for axis in axes]}
    made = Page(parsed, pathlib.Path(title), "", path, pathlib.Path.cwd())
    if out is not None:
        return _results(Sweep(made, out, only, path), How(jobs, slurm, timeout))
    with tempfile.TemporaryDirectory(prefix="rxnic-") as folder:
        return _results(Sweep(made, folder, only, path), How(jobs, slurm, timeout))


def _results(made, how):
    made.run(how, lambda text: None)
    results = Results()
    for point in made.asked:
        record = made.store.records.get(point.key, {"status": 1, "error": "was not run"})
        of = {"source": point.settings["source"], "settings": point.settings}
        results.append(Result({}, record["figures"], of, took_s=record["took_s"]) if record["status"] == 0
                       else RunError(record["error"], record["status"]))
    return results
