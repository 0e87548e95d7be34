# SPDX-License-Identifier: Apache-2.0
"""`rxnic find`: the smallest or largest value for which a condition holds, or the knee of a curve.

  R1  A condition reads figures, and `max` and `min` of its figure. They are those of the values that were run, the
      ends of the range among them. With several seeds the condition must hold with each.
  R2  The range is cut in four until two neighbours are left of which one holds. The result does not depend on how many
      runs are made at once.
  R3  Neighbours of the result and values spread over both sides are run too. When one contradicts, the condition is
      not monotone: this is said, and the search goes on where a smaller value held.
  R4  A point that the program refuses does not hold.
  R5  A knee is where two straight lines, which meet there, fit the curve better than one. They leave FITS of one line's
      squared error at most, and their slopes differ. It is looked for over the value and over its logarithm. The better
      fit counts, and says whether slopes are for each step of 1 or for each doubling.
"""
import math

from ..command_line import CommandParser
from ..expression import Expression, ExpressionError
from ..program import RunError, UsageError
from ..runs import frame_of
from . import words
from .axis import Axis, spread
from .subject import Subject, add_arguments

CUT = 4
PROBES = 4
FITS = 0.3
BEND = 0.2  # of the whole change of the curve, that the slopes must differ by over the range
KNEE_POINTS = 9
EXTREMES = {"max", "min"}


class Condition:
    """A condition on figures; `figure` is the one that max and min are of, or None."""

    def __init__(self, text, subject):
        self.places = subject.places
        try:
            self.expression = Expression(text, [*subject.base.figures, *self.places, *EXTREMES])
        except ExpressionError as wrong:
            raise UsageError(f"the condition: {wrong}") from None
        self.text = text
        figures = sorted(self.expression.names - EXTREMES)
        self.figure = None
        if not figures:
            raise UsageError(f"the condition: found '{text}'; expected a figure in it, as "
                             "'rates.packets_per_s >= 0.95*max'")
        if self.expression.names & EXTREMES:
            if len(figures) != 1:
                raise UsageError(f"the condition: found max or min beside {', '.join(figures)}; expected one "
                                 "figure, which they are of")
            self.figure = self.places.get(figures[0], figures[0])

    def holds(self, run, extremes):
        """For one run; `extremes` are those of its seed."""
        values = dict(run.figures) | {name: run.figures.get(place) for name, place in self.places.items()} | extremes
        try:
            return bool(self.expression.value(values))
        except ExpressionError as wrong:
            raise UsageError(f"the condition: {wrong}") from None


class Search:
    """The search of R1 to R4. `value` is the result, or None; `rows` what was run; `remarks` what to know about it."""

    def __init__(self, subject, axis, text, largest=False):
        self.subject, self.axis, self.largest = subject, axis, largest
        self.condition = Condition(text, subject)
        self.values = axis.values[::-1] if largest else axis.values
        self.answers = {}
        self.remarks = []
        self.monotone = True
        self.value = self._search()
        self.rows = [(self.values[n], answer, self._held(n)) for n, answer in sorted(self.answers.items())]

    def _ask(self, places):
        new = sorted(n for n in set(places) if 0 <= n < len(self.values) and n not in self.answers)
        answers = self.subject.ask([self.axis.point(self.values[n]) for n in new], f"find {self.axis.name}")
        self.answers |= zip(new, answers)

    def _extremes(self, seed):
        if not self.condition.figure:
            return {}
        runs = [answer.runs[seed] for answer in self.answers.values() if answer.runs]
        known = [run.figures.get(self.condition.figure) for run in runs]
        known = [value for value in known if isinstance(value, (int, float))]
        return {"max": max(known), "min": min(known)} if known else {}

    def _held(self, n):
        answer = self.answers[n]
        return bool(answer.runs) and all(self.condition.holds(run, self._extremes(seed))
                                         for seed, run in enumerate(answer.runs))

    def _cut(self, low, high):
        """The first place that holds, between `low`, which does not hold, and `high`, which does (R2)."""
        while high - low > 1:
            inside = sorted({low + (high - low) * n // CUT for n in range(1, CUT)} - {low, high})
            self._ask(inside)
            first = next((n for n in inside if self._held(n)), high)
            low, high = max(n for n in [low, *inside] if n < first), first
        return high

    def _first(self):
        """The first place that holds when none before it does; None where none holds."""
        last = len(self.values) - 1
        self._ask([0, last])
        if self._held(0):
            return 0
        if not self._held(last):
            self._ask([n - 1 for n in spread(1, last + 1, 2 * PROBES)])
            held = [n for n in sorted(self.answers) if self._held(n)]
            if not held:
                return None
            self._contradicts(held[0], last)
            last = held[0]
        return self._cut(0, last)

    def _contradicts(self, held, not_held):
        self.monotone = False
        remark = f"not monotone: it holds at {self.values[held]}, and not at {self.values[not_held]}"
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _search(self):
        for _ in range(len(self.values)):
            place = self._first()
            if place is None:
                return None
            self._ask([place - 2, place - 1, place + 1, place + 2, *spread(place + 2, len(self.values) - 1, PROBES),
                       *spread(1, place - 1, PROBES)])
            if self._held(place):
                return self.values[self._checked(place)]
            # Another extreme was seen: the search begins again, with what is known.
        return None

    def _checked(self, place):
        """The place, or a smaller one where it holds as well (R3)."""
        fails = [n for n in sorted(self.answers) if not self._held(n)]
        smaller = [n for n in sorted(self.answers) if n < place and self._held(n)]
        if smaller:
            self._contradicts(smaller[0], next(n for n in fails if n > smaller[0]))
            low = max((n for n in fails if n < smaller[0]), default=-1)
            place = self._cut(low, smaller[0]) if low >= 0 else smaller[0]
        larger = [n for n in fails if n > place]
        if larger:
            self._contradicts(place, larger[0])
        return place

    def frame(self):
        """A pandas.DataFrame, a row a value that was run."""
        return frame_of([{self.axis.name: value, "holds": held, **answer.figures} for value, answer, held in self.rows])

    def as_json(self):
        also = [self.condition.figure] if self.condition.figure else []
        rows = [{"value": value, "holds": held, "refused": answer.refused,
                 **{name: answer.figures.get(place) for name, place in self.subject.places.items()},
                 **{name: answer.figures.get(name) for name in also}} for value, answer, held in self.rows]
        return {"question": "find", "of": self.subject.title(), "vary": self.axis.name,
                "range": [self.axis.values[0], self.axis.values[-1]], "condition": self.condition.text,
                "wanted": "largest" if self.largest else "smallest", "value": self.value, "monotone": self.monotone,
                "remarks": self.remarks, "rows": sorted(rows, key=lambda row: row["value"]), "runs": self.subject.runs}

    def text(self):
        way = "largest" if self.largest else "smallest"
        unit = f" {self.axis.unit}" if self.axis.unit else ""
        where = f"{self.axis.values[0]}..{self.axis.values[-1]}"
        lines = [f"find: {self.subject.title()}", ""]
        if self.value is None:
            lines.append(f"{self.axis.name}: at none of the values that were run in {where}{unit} it holds that "
                         f"{self.condition.text}.")
        else:
            lines.append(f"{self.axis.name} = {self.value}{unit} is the {way} in {where} for which "
                         f"{self.condition.text}.")
            edge = self.values[0]
            if self.value == edge:
                lines.append("   It is the end of the range: beyond it nothing was run.")
            bits = self._bits()
            if bits is not None:
                way = "less" if bits[1] < 0 else "more"
                lines.append(f"   The NIC then has {words.bits(bits[0])} on the chip, {words.bits(abs(bits[1]))} {way} "
                             "than as it is.")
        seeds = f", with each of {self.subject.seeds} seeds" if self.subject.seeds > 1 else ""
        lines += [f"   {remark}" for remark in self.remarks]
        refused = [answer.refused.splitlines()[0] for _, answer, _ in self.rows if answer.refused]
        if refused:
            lines.append(f"   {len(refused)} values were refused, and count as not holding: {refused[0]}")
        if self.monotone and self.value is not None:
            lines.append(f"   Its neighbours, and values spread over the range, agree{seeds}.")
        figure = self.condition.figure
        rows = [[self.axis.name, "holds", "rate", "p50", "p99", "drops", *([figure] if figure else [])]]
        for value, answer, held in sorted(self.rows, key=lambda row: row[0]):
            f = {name: answer.figures.get(place) for name, place in self.subject.places.items()}
            rows.append([words.plain(value), "refused" if answer.refused else "yes" if held else "no",
                         words.rate(f["rate"]), words.time_ns(f["p50"]), words.time_ns(f["p99"]),
                         words.plain(f["drops"]), *([words.plain(answer.figures.get(figure))] if figure else [])])
        return "\n".join([*lines, "", words.table(rows, left=()), f"{self.subject.runs} runs"])

    def _bits(self):
        if self.axis.host or self.axis.workload or self.subject.is_record:
            return None
        now = self.subject.bits(self.axis.point(self.value))
        return now, now - self.subject.bits(type(self.axis.point(self.value))())


def fitted(xs, ys, bend=None):
    """(squared error, coefficients) of a straight line, or of two that meet at `bend`, by least squares."""
    columns = [[1.0] * len(xs), list(xs)] + ([[max(0.0, x - bend) for x in xs]] if bend is not None else [])
    size = len(columns)
    rows = [[sum(a * b for a, b in zip(columns[i], columns[j])) for j in range(size)]
            + [sum(a * y for a, y in zip(columns[i], ys))] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            return math.inf, None
        for r in range(size):
            if r != i:
                times = rows[r][i] / rows[i][i]
                rows[r] = [a - times * b for a, b in zip(rows[r], rows[i])]
    found = [rows[i][size] / rows[i][i] for i in range(size)]
    error = sum((y - sum(c * column[n] for c, column in zip(found, columns))) ** 2 for n, y in enumerate(ys))
    return error, found


def knee_of(shapes, ys):
    """(place, slope before, slope behind, name of the shape) of a curve; None where there is no knee (R5). `shapes` are
    its abscissas by name."""
    whole = max(ys) - min(ys)
    if len(ys) < 4 or whole == 0:
        return None
    straight = min(fitted(xs, ys)[0] for xs in shapes.values())
    if straight <= 1e-9 * whole ** 2:
        return None
    error, _, name, place = min((fitted(xs, ys, x)[0], n, name, place) for n, (name, xs) in enumerate(shapes.items())
                                for place, x in enumerate(xs) if 0 < place < len(xs) - 1)
    xs = shapes[name]
    _, slope, change = fitted(xs, ys, xs[place])[1]
    if error > FITS * straight or abs(change) * (xs[-1] - xs[0]) < BEND * whole:
        return None
    least = 1e-9 * whole / (xs[-1] - xs[0])  # what rounding leaves of a slope of 0
    return place, *(one if abs(one) > least else 0.0 for one in (slope, slope + change)), name


class Knee:
    """Where the slope of a figure changes over an axis. `value` is the knee, or None."""

    def __init__(self, subject, axis, figure):
        self.subject, self.axis = subject, axis
        self.figure = subject.places.get(figure, figure)
        if not isinstance(subject.base.figures.get(self.figure), (int, float)):
            Condition(f"{figure} > 0", subject)  # says which figure was perhaps meant
            raise UsageError(f"--knee: found '{figure}'; expected a figure that is a number in the run")
        last = len(axis.values) - 1
        places = {0, last} | {n for n in range(last + 1)} if last < KNEE_POINTS else {0, last}
        if last >= KNEE_POINTS:
            wanted = spread(max(axis.values[0], 1), axis.values[-1], KNEE_POINTS - 2)
            places |= {min(range(last + 1), key=lambda n, v=v: abs(axis.values[n] - v)) for v in wanted} \
                if last < 10000 else {round((v - axis.values[0]) / (axis.values[1] - axis.values[0])) for v in wanted}
        self.known = {}
        self.value = self.before = self.behind = None
        self.each = "doubling" if axis.values[0] > 0 else "step of 1"
        self._ask(places)
        if not self._curve():
            said = [answer.refused for answer in self.known.values() if answer.refused]
            raise RunError(said[0] if said else f"no run has {self.figure}", 1)
        for _ in range(40):
            found = self._look()
            if found is None or not self._refine(found):
                break

    def _ask(self, places):
        new = sorted(set(places) - set(self.known))
        answers = self.subject.ask([self.axis.point(self.axis.values[n]) for n in new], f"knee of {self.axis.name}")
        self.known |= zip(new, answers)

    def _curve(self):
        return [(n, answer.figures[self.figure]) for n, answer in sorted(self.known.items())
                if self.figure in answer.figures]

    def _look(self):
        """The place of the knee, or None."""
        curve = self._curve()
        values, ys = [self.axis.values[n] for n, _ in curve], [y for _, y in curve]
        shapes = {"step of 1": [float(value) for value in values]}
        if values[0] > 0:
            shapes["doubling"] = [math.log2(value) for value in values]
        found = knee_of(shapes, ys)
        if not found:
            self.value = None
            return None
        place, self.before, self.behind, self.each = found
        self.value = values[place]
        return curve[place][0]

    def _refine(self, place):
        """Values between the knee and its neighbours; False when there are none."""
        places = sorted(self.known)
        at = places.index(place)
        new = {(place + places[other]) // 2 for other in (at - 1, at + 1) if 0 <= other < len(places)} - set(places)
        self._ask(new)
        return bool(new)

    def frame(self):
        """A pandas.DataFrame, a row a value that was run."""
        return frame_of([{self.axis.name: self.axis.values[n], self.figure: y} for n, y in self._curve()])

    def as_json(self):
        return {"question": "find", "of": self.subject.title(), "vary": self.axis.name, "knee": self.value,
                "figure": self.figure, "slope_before": self.before if self.value is not None else None,
                "slope_behind": self.behind if self.value is not None else None,
                "slopes_are_per": self.each if self.value is not None else None,
                "rows": [{"value": self.axis.values[n], self.figure: y} for n, y in self._curve()],
                "runs": self.subject.runs}

    def text(self):
        curve = self._curve()
        lines = [f"knee: {self.subject.title()}", ""]
        if self.value is not None:
            lines.append(f"{self.axis.name} = {self.value} is the knee of {self.figure}: each {self.each} changes it "
                         f"by {words.plain(self.before)} before, and by {words.plain(self.behind)} behind.")
        elif curve and max(y for _, y in curve) == min(y for _, y in curve):
            lines.append(f"{self.figure} is {words.plain(curve[0][1])} at each value of {self.axis.name}: there is no "
                         "knee.")
        else:
            lines.append(f"{self.figure} has no knee over {self.axis.name}: one straight line fits it nearly as well "
                         "as two.")
        rows = [[self.axis.name, self.figure]] + [[words.plain(self.axis.values[n]), words.plain(y)] for n, y in curve]
        return "\n".join([*lines, "", words.table(rows, left=()), f"{self.subject.runs} runs"])


ABOUT = """The smallest (largest) value for which a condition on figures holds, by bisection, with each of the seeds.
Its neighbours and values over the whole range are checked, and it is said when the condition is not monotone. Or the
knee: where the slope of a figure changes."""
EXAMPLES = """a condition has figures of rxnic counters and report.json, and rate, p50, p99, drops; max and min are of
its figure over the range.

examples:
  rxnic find capture.pcap --pace line-rate --vary srq_wqe_fetcher.prefetch_depth --where 'rate >= 0.95*max'
  rxnic find capture.pcap --vary dma_engine.read_latency_ps=100000..5000000:50000 --where 'p99 < 20000' --largest
  rxnic find capture.pcap --pace line-rate --vary host.depth=1..1024:x2 --where 'drops == 0' --seeds 5
  rxnic find capture.pcap --pace line-rate --vary dma_engine.tags=1..64 --knee rate
  rxnic find workload.toml --vary workload.senders.qps=1..1024:x2 --knee rate
"""


def main(arguments):
    parser = CommandParser("find", ABOUT, EXAMPLES)
    add_arguments(parser)
    parser.add_argument("--vary", required=True, metavar="NAME[=LEAST..GREATEST[:STEP]]",
                        help="a parameter, host.depth (buffer, sges, tags, cqes), or workload.KEY of a page; STEP is "
                             "added, or xN")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--where", metavar="CONDITION", help="what must hold")
    what.add_argument("--knee", metavar="FIGURE", help="find where the slope of this figure changes instead")
    parser.add_argument("--largest", action="store_true", help="the largest value instead of the smallest")
    options = parser.parse_args(arguments)
    subject = Subject.of(options)
    axis = Axis(options.vary, subject)
    found = Knee(subject, axis, options.knee) if options.knee else Search(subject, axis, options.where, options.largest)
    return words.printed(found.as_json(), options, found.text())
