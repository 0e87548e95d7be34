# SPDX-License-Identifier: Apache-2.0
"""What a question is asked about: a source with its configuration, run at many points.

  R1  A point is run once; asked again, its figures are there already.
  R2  The figures of a point are the means over the seeds; a figure that one seed does not have is left out.
  R3  A point that the program refuses, or that fails, is its message. It ends no question, unless it is the first one.
  R4  p50 and p99 are of messages that end in a completion; where there are none, of WRITEs, or of READs.
  R5  A record is run closed-loop at every point, the first one too, so that all points mean the same.
"""
import json
import pathlib
import shlex
import sys
import tomllib

from .. import program as rxnic
from .. import workloads
from ..runs import Results, several
from .progress import Progress

FIGURES = {"rate": "rates.packets_per_s", "p50": "latency_ns.p50", "p99": "latency_ns.p99",
           "drops": "packets.dropped.total"}
LATENCIES = {"latency_ns": "", "write_latency_ns": " of WRITEs", "read_latency_ns": " of READs"}  # and what they are of
CANNOT_ACT = " cannot act in this run: "
UNTOUCHED = "nic.clock_period_ps"  # set to its own value, it makes the repeat of a record a what-if


def places_in(figures):
    """FIGURES of a run with these figures (R4)."""
    of = next((name for name in LATENCIES if figures.get(f"{name}.count")), "latency_ns")
    return FIGURES | {name: f"{of}.{name}" for name in ("p50", "p99")}


class Point:
    """What is set beside the subject's own settings: parameters, keys of the synthesised host or of a workload's page,
    or the pace."""

    def __init__(self, values=None, host=None, pace=None, workload=None):
        self.values = dict(values or {})
        self.host = dict(host or {})
        self.pace = pace
        self.workload = dict(workload or {})

    def key(self):
        return json.dumps([self.values, self.host, self.pace, self.workload], sort_keys=True)

    def joined(self, other):
        """Both together; the other one wins."""
        return Point(self.values | other.values, self.host | other.host, other.pace or self.pace,
                     self.workload | other.workload)


class Answer:
    """Figures of a point, the same names as of a run; `refused` is why there are none."""

    def __init__(self, runs):
        failed = [one for one in runs if isinstance(one, Exception)]
        self.refused = str(failed[0]) if failed else ""
        self.runs = [] if failed else list(runs)
        self.figures = {}
        for name, value in (self.runs[0].figures if self.runs else {}).items():
            values = [run.figures.get(name) for run in self.runs]
            if all(isinstance(one, (int, float)) for one in values):
                self.figures[name] = sum(values) / len(values)
            elif len(set(map(str, values))) == 1:
                self.figures[name] = value

    def warnings(self):
        return [line for run in self.runs for line in run.report.get("warnings", [])]

    def cannot_act(self, name):
        """Why the parameter cannot act in the run, in the program's words; "" when it can."""
        for line in self.warnings():
            if line.startswith(name + CANNOT_ACT):
                return line.removeprefix(name + CANNOT_ACT)
        return ""


def add_arguments(parser):
    """The arguments that all questions have."""
    parser.add_argument("source", metavar="SOURCE", help="a capture, a workload, or the folder of a record")
    parser.add_argument("--config", help="configuration: a name or a file (rxnic params)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE",
                        help="a parameter; may be given several times")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="runs of each point, with the seeds 1 to N "
                                                                          "(default: %(default)s)")
    parser.add_argument("--pace", help="when packets arrive: captured, line-rate, or a rate (rxnic replay)")
    parser.add_argument("--host", default="", metavar="KEY=VALUE,...", help="the synthesised host (rxnic replay)")
    parser.add_argument("--options", default="", metavar="TEXT",
                        help="more options of rxnic replay, all of them in one pair of quotes")
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at once (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--quiet", action="store_true", help="say nothing about how far it is")


def pairs_of(texts, option):
    """{key: value} of KEY=VALUE texts. Raises UsageError."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise rxnic.UsageError(f"{option}: found '{text}'; expected KEY=VALUE")
        found[key] = value
    return found


class Subject:
    """A source with its settings. `said` is a function that takes lines about the progress."""

    def __init__(self, source, *, config=None, set=None, seeds=1, pace=None, host="", options="", jobs=None,
                 program=None, quiet=True):
        if seeds < 1:
            raise rxnic.UsageError(f"--seeds: found {seeds}; expected 1 or more")
        if jobs is not None and jobs < 1:
            raise rxnic.UsageError(f"--jobs: found {jobs}; expected 1 or more")
        self.program = rxnic.find_program(program)
        self.source = str(source)
        self.config, self.set = config, dict(set or {})
        self.seeds, self.pace, self.jobs, self.quiet = seeds, pace, jobs, quiet
        self.host = pairs_of([part for part in host.split(",") if part], "--host")
        try:
            self.options = shlex.split(options)
        except ValueError as wrong:
            raise rxnic.UsageError(f"--options: found '{options}': {wrong}") from None
        self.is_record = (pathlib.Path(self.source) / "host.jsonl").is_file()
        self.runs = 0
        self._known = {}
        self._costs = {}
        self.base = self.ask([Point()], "the configuration as it is")[0]
        if self.base.refused:
            raise rxnic.RunError(self.base.refused, 2)
        self.places = places_in(self.base.figures)

    @classmethod
    def of(cls, options):
        """From the arguments of add_arguments()."""
        return cls(options.source, config=options.config, set=pairs_of(options.set, "--set"), seeds=options.seeds,
                   pace=options.pace, host=options.host, options=options.options, jobs=options.jobs,
                   quiet=options.quiet)

    @property
    def is_capture(self):
        return "pace" in self.base.runs[0].report.get("run", {}) and not self.is_record

    def workload_keys(self):
        """{TABLE.KEY: what `rxnic workload --keys` says of it} where the source is a workload."""
        if not workloads.is_workload(self.source, self.program):
            return {}
        return workloads.keys_of_workloads(self.program)

    def parameters(self):
        """{section.key: what `rxnic params --json` says of it, with `value` as in the run}."""
        values = self.base.runs[0].report["config"]["values"]
        found = {}
        for name, one in rxnic.parameters(self.program).items():
            section, _, key = name.partition(".")
            found[name] = one | {"value": values[section][key]}
        return found

    def _calls(self, point):
        values = self.set | point.values
        if self.is_record and not values:
            values = {UNTOUCHED: self._clock_of_record()}
        host = ",".join(f"{key}={value}" for key, value in (self.host | point.host).items())
        flags = {"pace": point.pace or self.pace, "host": host or None}
        return [{"source": self.source, "config": self.config, "set": values, "options": self.options,
                 "seed": None if self.is_record else seed, "program": self.program, "workload": point.workload, **flags}
                for seed in range(1, self.seeds + 1)]

    def _clock_of_record(self):
        """The clock that the record was made with, from its first line."""
        log = pathlib.Path(self.source) / "host.jsonl"
        section, _, key = UNTOUCHED.partition(".")
        try:
            with open(log, encoding="utf-8") as file:
                return tomllib.loads(json.loads(file.readline())["params"])[section][key]
        except (ValueError, KeyError, TypeError):
            raise rxnic.UsageError(f"{log}:1: found no header of a record; expected one that rxnic run --record has "
                                   "written") from None

    def ask(self, points, what=""):
        """The answers of points, in their order."""
        new = {}
        for point in points:
            if point.key() not in self._known:
                new.setdefault(point.key(), point)
        calls = [call for point in new.values() for call in self._calls(point)]
        if calls:
            with Progress(len(calls), what, self.quiet) as progress:
                done = several(calls, self.jobs, call=progress.counted)
            self.runs += len(calls)
            for n, key in enumerate(new):
                self._known[key] = Answer(Results(done[n * self.seeds:(n + 1) * self.seeds]))
        return [self._known[point.key()] for point in points]

    def bits(self, point):
        """total_bits of `rxnic params --cost` at a point."""
        values = self.set | point.values
        key = json.dumps(values, sort_keys=True)
        if key not in self._costs:
            arguments = rxnic.options_of(self.config, values)
            if self.is_record and not self.config:
                arguments = rxnic.options_of(None, {name: one["value"] for name, one in self.parameters().items()}
                                             | values)
            said = rxnic.start("params", "--cost", "--json", *arguments, program=self.program)
            self._costs[key] = json.loads(said)["total_bits"]
        return self._costs[key]

    def title(self):
        """What was asked about, in a line."""
        parts = [self.source] + [f"--config {self.config}"] * bool(self.config)
        parts += [f"--set {key}={value}" for key, value in self.set.items()]
        parts += [f"--pace {self.pace}"] * bool(self.pace)
        parts += ["--host " + ",".join(f"{k}={v}" for k, v in self.host.items())] * bool(self.host)
        return " ".join(parts + self.options + [f"({self.seeds} seeds)"] * (self.seeds > 1))


def warn(text):
    print(f"rxnic: {text}", file=sys.stderr)
