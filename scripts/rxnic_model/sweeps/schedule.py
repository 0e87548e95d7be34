# SPDX-License-Identifier: Apache-2.0
"""Which points are run by which job, and Snakemake, which runs the jobs here or on a cluster.

  R1  Some points are run first, spread over the sweep, to see how long one takes. Then a job is made of so many points
      that it takes tens of seconds. How points are grouped changes no result.
  R2  A job has every n-th point, so that jobs take about as long as each other.
  R3  When nothing is left after the first points, Snakemake is not started.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

from ..program import SCRIPTS, UsageError
from .points import arguments_of

LOCAL_SECONDS, SLURM_SECONDS, LEAST_SECONDS = 20, 60, 3
JOBS_A_CORE = 8  # at least, so that cores end together
LOOK_SECONDS = 0.5  # from one look at the results to the next
TRIES = 3  # of a job that is lost with its machine; a point that fails is no lost job
PR_SET_PDEATHSIG = 1
PLAIN = ["-S"]  # without packages of the site: a job needs none, and begins sooner

SNAKEFILE = """\
rule all:
    input: expand("job-{{n}}.done", n=range({count}))

rule job:
    output: "job-{{n}}.done"
    shell: "{command} {folder}/job-{{wildcards.n}}.json"
"""


def need_snakemake():
    if not shutil.which("snakemake"):
        raise UsageError("found no snakemake; expected version 7 (apt-get install snakemake)")


def need_slurm():
    for tool in ("sbatch", "scontrol", "scancel"):
        if not shutil.which(tool):
            raise UsageError(f"--slurm: found no {tool}; expected it (apt-get install slurm-client)")
    need_snakemake()
    version = subprocess.run(["snakemake", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if not version.startswith("7."):  # later ones have no --cluster
        raise UsageError(f"--slurm: found snakemake {version}; expected version 7 (apt-get install snakemake)")


def spread(items, count):
    """`count` of them, evenly."""
    count = min(count, len(items))
    return [items[n * len(items) // count] for n in range(count)]


def grouped(items, seconds_each, cores, most_seconds):
    """(R1, R2) Lists of items."""
    total = seconds_each * len(items)
    target = min(max(total / (cores * JOBS_A_CORE), LEAST_SECONDS), most_seconds)
    a_job = max(1, round(target / max(seconds_each, 1e-6)))
    count = max(min(len(items), cores), -(-len(items) // a_job))
    return [items[n::count] for n in range(count)]


def die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Schedule:
    """Runs points of a page into a store.

    jobs  at a time. slurm: options of sbatch, or None for this machine. timeout: seconds of a point, or None.
    """

    def __init__(self, store, page, program, jobs, slurm, timeout, job_seconds):
        self.store, self.page, self.program = store, page, program
        self.jobs, self.slurm, self.timeout = jobs, slurm, timeout
        self.job_seconds = job_seconds or (LOCAL_SECONDS if slurm is None else SLURM_SECONDS)
        folder = store.folder / "jobs"
        folder.mkdir(exist_ok=True)
        last = max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=0)
        self.generation = f"{last + 1:04d}"
        self.folder = folder.resolve() / self.generation
        self.log = store.folder / "snakemake.log"

    def run(self, points, progress, check):
        """Runs all of them. `progress` is called now and then with a text, `check` once when some have ended."""
        with self.store.owned(self.generation, lambda: progress("waiting for the points of an earlier sweep")):
            self.store.refresh()
            points = [point for point in points if not self.store.ended(point.key)]
            self.folder.mkdir()
            try:
                failed_before = set(self.store.records)
                first = spread(points, 2 * self.jobs if self.slurm is None else 2)
                self._start_here(first, progress)
                check()
                done = {point.key for point in first}
                rest = [point for point in points if point.key not in done]
                if rest:
                    took = [self.store.records[key]["took_s"] for key in done - failed_before
                            if self.store.records.get(key, {}).get("status") == 0]
                    self._snakemake(rest, sum(took) / len(took) if took else 1.0, progress)
            finally:
                self.store.begin("none")
            shutil.rmtree(self.folder, ignore_errors=True)
            (self.folder.parent / self.generation).mkdir()  # its number is not given again

    def _write(self, number, points):
        job = {"name": f"{self.generation}-{number}", "generation": self.generation, "local": self.slurm is None,
               "program": self.program, "timeout": self.timeout, "folder": str(self.store.folder.resolve()),
               "page_folder": str(self.page.folder),
               "points": [[point.key,
                           arguments_of(point.settings, self.page.folder)] for point in points]}
        path = self.folder / f"job-{number}.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        return path

    def _environment(self):
        return {**os.environ, "PYTHONPATH": str(SCRIPTS), "PYTHONDONTWRITEBYTECODE": "1"}

    def _watch(self, processes, progress, text):
        """Until all have ended, or the user ends them."""
        try:
            while any(process.poll() is None for process in processes):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    next(one for one in processes if one.poll() is None).wait(timeout=LOOK_SECONDS)
                self.store.refresh()
                progress(text)
        except BaseException:
            self.store.begin("none")  # jobs end after their point
            for process in processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
            for process in processes:
                process.wait()
            self.store.refresh()
            raise
        self.store.refresh()

    def _start_here(self, points, progress):
        """(R1) The first points, without Snakemake."""
        jobs = min(self.jobs if self.slurm is None else 1, len(points))
        processes = []
        for n in range(jobs):
            path = self._write(f"first-{n}", points[n::jobs])
            processes.append(subprocess.Popen([sys.executable, *PLAIN, "-m", "rxnic_model.sweeps.job", str(path)],
                                              env=self._environment(), preexec_fn=die_with_parent))
        self._watch(processes, progress, "")

    def _snakemake(self, points, seconds_each, progress):
        need_snakemake()
        groups = grouped(points, seconds_each, self.jobs, self.job_seconds)
        for n, group in enumerate(groups):
            self._write(n, group)
        command = f"exec {shlex.join([sys.executable, *PLAIN])} -m rxnic_model.sweeps.job"
        # Snakemake formats the command and reads it as Python.
        escaped = [text.replace("{", "{{").replace("}", "}}").replace("\\", "\\\\").replace('"', '\\"')
                   for text in (command, shlex.quote(str(self.folder)))]
        (self.folder / "Snakefile").write_text(
            SNAKEFILE.format(count=len(groups), command=escaped[0], folder=escaped[1]), encoding="utf-8")
        words = ["snakemake", "--snakefile", str(self.folder / "Snakefile"), "--directory", str(self.folder),
                 "--nolock", "--keep-going", "--retries", str(TRIES - 1), "--rerun-triggers", "mtime",
                 "--scheduler", "greedy", "--quiet", "all"]
        if self.slurm is None:
            words += ["--cores", str(self.jobs)]
        else:
            submit = ["sbatch", "--parsable", "--job-name", "rxnic-sweep", "--output",
                      str(self.folder / "slurm-%j.log"), *self.slurm]
            status = pathlib.Path(__file__).with_name("slurm_status")
            words += ["--jobs", str(self.jobs), "--cluster", shlex.join(submit), "--cluster-cancel", "scancel",
                      "--cluster-status", f"sh {shlex.quote(str(status))}", "--latency-wait", "60"]
        with self.log.open("ab") as log:
            snakemake = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env={**self._environment(), "XDG_CACHE_HOME": str(self.folder)},
                                         preexec_fn=die_with_parent)
            self._watch([snakemake], progress, f"{len(groups)} jobs")
