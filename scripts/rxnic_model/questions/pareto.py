# SPDX-License-Identifier: Apache-2.0
"""`rxnic pareto`: rate or latency against the bits on the chip, by Optuna's search; the points that no other one beats.

  R1  Trials are made in batches of BATCH, whatever the number of cores. A batch is drawn with the seed and its number,
      from all trials before it. So an interrupted search goes on as if it had not been.
  R2  DIR/trials.jsonl keeps what was asked and each whole batch. A search that asks for something else is refused
      there. One that asks for more trials adds them.
  R3  The first trial is the configuration as it is, where it is within the ranges.
  R4  The front has each trial that no other one beats. One beats another when it costs at most as much, is at least as
      good, and better in one of both. When several are equal the front has the first.
"""
import csv
import json
import pathlib

from ..command_line import CommandParser, need, need_or_change
from ..program import UsageError
from ..runs import frame_of
from . import words
from .axis import Axis
from .subject import Point, Subject, add_arguments, warn

BATCH = 8
DOWNWARD = ("p50", "p90", "p99", "p999", "max", "mean", "drops", "total", "misses", "waits", "dropped", "naks")
TRIALS, FRONT_CSV, FRONT_JSON, CHART = "trials.jsonl", "front.csv", "front.json", "front.svg"


class Draw:
    """How the sampler draws a value of an axis: the value itself, or its place in the list."""

    def __init__(self, axis, kinds):
        values = axis.values
        self.axis, self.by_place = axis, False
        if axis.least is None:
            self.kind = kinds.CategoricalDistribution(values)
        elif isinstance(values, range) and values.step == 1 and values[0] >= 1:
            self.kind = kinds.IntDistribution(values[0], values[-1], log=True)
        else:
            self.by_place = True
            self.kind = kinds.IntDistribution(0, len(values) - 1)

    def value(self, drawn):
        return self.axis.values[drawn] if self.by_place else drawn

    def of(self, value):
        return self.axis.values.index(value) if self.by_place else value


class Pareto:
    """The search. `trials` and `front` are rows: {trial, bits, the figure, rate, p50, p99, drops, values}."""

    def __init__(self, subject, axes, out, *, figure="rate", want=None, trials=64, seed=1):
        self.optuna = need("optuna", "python3-optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.ERROR)
        self.subject, self.axes, self.seed = subject, axes, seed
        self.draws = {axis.name: Draw(axis, self.optuna.distributions) for axis in axes}
        self.name, self.figure = figure, subject.places.get(figure, figure)
        if not isinstance(subject.base.figures.get(self.figure), (int, float)):
            raise UsageError(f"--figure: found '{figure}'; expected rate, p50, p99, drops, or a number of report.json "
                             "in the run")
        self.want = want or ("least" if self.figure.rpartition(".")[2] in DOWNWARD else "most")
        self.out = pathlib.Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.asked = {"question": "pareto", "of": subject.title(), "figure": self.figure, "want": self.want,
                      "seed": seed, "vary": {axis.name: [str(axis.values[0]), str(axis.values[-1]), len(axis.values)]
                                             for axis in axes}}
        self.trials = self._kept()
        self.resumed = len(self.trials)
        while len(self.trials) < trials:
            self._batch()
        self.front = self._front()

    def _kept(self):
        """The whole batches of an earlier search (R2)."""
        file = self.out / TRIALS
        if not file.exists():
            file.write_text(json.dumps(self.asked) + "\n", encoding="utf-8")
            return []
        lines = file.read_text(encoding="utf-8").split("\n")
        try:
            asked = json.loads(lines[0])
        except ValueError:
            raise UsageError(f"{file}:1: found '{lines[0][:40]}'; expected a search of rxnic pareto") from None
        if asked != self.asked:
            different = [key for key in self.asked if asked.get(key) != self.asked[key]]
            raise UsageError(f"{file}: found another search ({', '.join(different)} differ); expected the same one, or "
                             "another --out")
        batches, whole = [], len(lines[0]) + 1
        for number, line in enumerate(lines[1:-1], 2):  # behind the last line end nothing stands, or a part of a line
            try:
                batches.append(json.loads(line)["batch"])
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"{file}:{number}: found '{line[:40]}'; expected a batch of trials") from None
            whole += len(line) + 1
        with open(file, "r+", encoding="utf-8") as kept:
            kept.truncate(whole)
        return [trial for batch in batches for trial in batch]

    def _study(self):
        """All trials so far, with the sampler of the next batch (R1)."""
        number = len(self.trials) // BATCH
        sampler = self.optuna.samplers.TPESampler(seed=self.seed * 1_000_003 + number, n_startup_trials=2 * BATCH)
        study = self.optuna.create_study(directions=["minimize", "maximize" if self.want == "most" else "minimize"],
                                         sampler=sampler)
        kinds = {name: draw.kind for name, draw in self.draws.items()}
        for trial in self.trials:
            if trial["refused"]:
                continue
            study.add_trial(self.optuna.trial.create_trial(params=trial["drawn"], distributions=kinds,
                                                           values=[trial["bits"], trial[self.figure]]))
        return study, kinds

    def _batch(self):
        study, kinds = self._study()
        drawn = [study.ask(fixed_distributions=kinds).params for _ in range(BATCH)]
        if not self.trials and all(axis.now in axis.values for axis in self.axes):  # (R3)
            drawn[0] = {axis.name: self.draws[axis.name].of(axis.now) for axis in self.axes}
        values = [{name: draw.value(one[name]) for name, draw in self.draws.items()} for one in drawn]
        points = []
        for one in values:
            point = Point()
            for axis in self.axes:
                point = point.joined(axis.point(one[axis.name]))
            points.append(point)
        answers = self.subject.ask(points, f"pareto, trials {len(self.trials)} to {len(self.trials) + BATCH - 1}")
        rows = []
        for n, (one, point, answer) in enumerate(zip(values, points, answers)):
            row = {"trial": len(self.trials) + n, "values": one, "drawn": drawn[n], "refused": answer.refused,
                   "bits": None if answer.refused else self.subject.bits(point), self.figure: None}
            row |= {name: answer.figures.get(place) for name, place in self.subject.places.items()}
            row[self.figure] = answer.figures.get(self.figure)
            if row[self.figure] is None and not row["refused"]:
                row["refused"] = f"the run has no {self.figure}"
            rows.append(row)
        with open(self.out / TRIALS, "a", encoding="utf-8") as file:
            file.write(json.dumps({"batch": rows}) + "\n")
        self.trials += rows

    def _front(self):
        sign = -1 if self.want == "most" else 1
        front, best = [], None
        done = [one for one in self.trials if not one["refused"]]
        for one in sorted(done, key=lambda row: (row["bits"], sign * row[self.figure], row["trial"])):
            if best is None or sign * one[self.figure] < best:
                front.append(one)
                best = sign * one[self.figure]
        return front

    def rows(self):
        """The front, a flat row a point."""
        return [{"trial": one["trial"], "total_bits": one["bits"], self.figure: one[self.figure],
                 **{place: one[name] for name, place in self.subject.places.items()}, **one["values"]}
                for one in self.front]

    def frame(self):
        """A pandas.DataFrame, the front, a row a point."""
        return frame_of(self.rows())

    def as_json(self):
        return self.asked | {"trials": len(self.trials), "refused": sum(bool(one["refused"]) for one in self.trials),
                             "front": self.rows()}

    def write(self):
        """front.csv, front.json and, with matplotlib, front.svg; the names of those that were written."""
        rows = self.rows()
        with open(self.out / FRONT_CSV, "w", newline="", encoding="utf-8") as file:
            if rows:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        (self.out / FRONT_JSON).write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")
        return [FRONT_CSV, FRONT_JSON] + ([CHART] if self._chart() else [])

    def _chart(self):
        try:
            import matplotlib  # pylint: disable=import-outside-toplevel
        except ImportError:
            warn(f"pareto: found no matplotlib; {CHART} is not written (apt-get install python3-matplotlib)")
            return False
        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.hashsalt": "rxnic", "svg.fonttype": "none", "font.size": 10})
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
        picture, axes = pyplot.subplots(figsize=(7, 4.5))
        done = [one for one in self.trials if not one["refused"]]
        axes.scatter([one["bits"] / 1e6 for one in done], [one[self.figure] for one in done], s=12, color="#999999",
                     label="trials")
        axes.plot([one["bits"] / 1e6 for one in self.front], [one[self.figure] for one in self.front], "o-",
                  drawstyle="steps-post", color="#1f5fa8", label="front")
        first = next((one for one in done if one["trial"] == 0), None)
        if first:
            axes.plot([first["bits"] / 1e6], [first[self.figure]], "x", color="#c03030", label="first trial")
        axes.set_xlabel("bits on the chip, Mbit")
        axes.set_ylabel(self.figure)
        axes.legend()
        picture.savefig(self.out / CHART, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(picture)
        return True

    def text(self, written):
        lines = [f"pareto: {self.subject.title()}", ""]
        if not self.front:
            return "\n".join([*lines, f"None of {len(self.trials)} trials has a result: {self.trials[0]['refused']}"])
        cheap, best = self.front[0], self.front[-1]
        lines.append(f"{len(self.front)} of {len(self.trials)} trials are beaten by no other one in {self.figure} "
                     f"({'more' if self.want == 'most' else 'less'} is better) and bits.")
        first = self.trials[0]
        lines.append(f"The cheapest has {words.bits(cheap['bits'])} and {words.plain(cheap[self.figure])}, the best "
                     f"{words.bits(best['bits'])} and {words.plain(best[self.figure])}; the first trial has "
                     f"{words.bits(first['bits'] or 0)} and {words.plain(first[self.figure])}.")
        if self.resumed:
            lines.append(f"{min(self.resumed, len(self.trials))} trials are of an earlier search, which went on.")
        rows = [["bits", self.figure, "rate", "p50", "p99", "drops", *[axis.name for axis in self.axes]]]
        for one in self.front:
            rows.append([words.plain(one["bits"]), words.plain(one[self.figure]), words.rate(one["rate"]),
                         words.time_ns(one["p50"]), words.time_ns(one["p99"]), words.plain(one["drops"]),
                         *[words.plain(one["values"][axis.name]) for axis in self.axes]])
        return "\n".join([*lines, "", words.table(rows, left=()), "", f"written: {self.out}/ {', '.join(written)}"])


ABOUT = """A search for the best rate or latency against the bits on the chip, with Optuna: which configurations does no
other one beat? A search that was interrupted, or that is asked for more trials, goes on."""
EXAMPLES = """examples:
  rxnic pareto capture.pcap --pace line-rate --out front --vary srq_wqe_fetcher.prefetch_depth \\
    --vary address_translator.mtt_sets=16..4096 --vary qp_context_cache.sets=1..256
  rxnic pareto capture.pcap --figure p99 --trials 200 --out front --vary dma_engine.tags --vary dma_engine.queue_depth
"""


def main(arguments):
    parser = CommandParser("pareto", ABOUT, EXAMPLES)
    add_arguments(parser)
    parser.add_argument("--vary", action="append", required=True, metavar="NAME[=LEAST..GREATEST[:STEP]]",
                        help="a parameter; given several times")
    parser.add_argument("--figure", default="rate", help="rate, p50, p99, drops, or a figure by name (default: rate)")
    parser.add_argument("--want", choices=["most", "least"], help="which is better (default: by the figure's name)")
    parser.add_argument("--trials", type=int, default=64, metavar="N",
                        help=f"in all, rounded up to a multiple of {BATCH} (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the search (default: %(default)s)")
    parser.add_argument("--out", required=True, metavar="DIR", help=f"for {TRIALS}, {FRONT_CSV}, {FRONT_JSON}, {CHART}")
    options = parser.parse_args(arguments)
    if options.trials < 1:
        parser.error(f"--trials: found {options.trials}; expected 1 or more")
    need_or_change("optuna", "python3-optuna")
    subject = Subject.of(options)
    axes = [Axis(text, subject, choices=True) for text in options.vary]
    found = Pareto(subject, axes, options.out, figure=options.figure, want=options.want, trials=options.trials,
                   seed=options.seed)
    return words.printed(found.as_json(), options, found.text(found.write()))
