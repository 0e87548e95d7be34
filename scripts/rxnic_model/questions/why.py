# SPDX-License-Identifier: Apache-2.0
"""`rxnic why`: what binds, what it would bring without the limit, and what its next doubling costs.

  R1  Each resource of resources.toml is made infinite alone. The one that brings most rate binds; it brings at least
      LEAST of the rate. Where others bring nearly as much (ALIKE), any of them would do. Then a resource of the chip is
      named before one outside of it, and both before the clock, which moves all blocks.
  R2  What binds is relieved, and the question is asked again: what binds next. So what binds together is found in turn.
  R3  When none alone brings anything, but all together do, those bind together whose return takes the gain away.
  R4  Those of the slowest messages (p99) are found likewise, each alone. When no resource moves the rate these bind.
"""
import dataclasses

from ..command_line import CommandParser
from ..runs import frame_of
from . import words
from .resources import resources
from .subject import Point, Subject, add_arguments

LEAST = 0.02
ALIKE = 0.8  # of what the best one brings
STEPS = 3


@dataclasses.dataclass
class Effect:
    """A resource without its limit. Figures are None where the run was refused."""
    resource: object
    point: Point
    rate: float | None
    p99: float | None
    rate_gain: float | None
    p99_change: float | None
    refused: str = ""

    def rank(self):
        return (self.resource.general, self.resource.outside)


@dataclasses.dataclass
class Doubling:
    """The next doubling of a resource."""
    values: dict
    bits: int
    rate_gain: float | None
    p99_change: float | None


@dataclasses.dataclass
class Binding:
    effect: Effect
    alternatives: list
    doubling: Doubling | None

    @property
    def name(self):
        return self.effect.resource.name


class Why:
    """What the question has found: `binding` and `p99_binding` are names, the first one first; `steps` has the figures.
    """

    def __init__(self, subject, least=LEAST, most=STEPS):
        self.subject, self.least, self.most = subject, least, most
        self.parameters = subject.parameters()
        self.base = {name: subject.base.figures.get(place) for name, place in subject.places.items()}
        self.effects = self._relieved(Point(), "each resource without its limit")
        self.doublings = self._doubled()
        self.together = False
        self.steps = self._chain()
        self.p99_steps = self._slowest()
        self.binding = [step.name for step in self.steps or self.p99_steps]
        self.p99_binding = [step.name for step in self.p99_steps]
        self.verdict = subject.base.runs[0].report.get("verdict", {})

    def _effect(self, resource, point, answer, before):
        rate, p99 = (answer.figures.get(self.subject.places[name]) for name in ("rate", "p99"))
        return Effect(resource, point, rate, p99, words.share(rate, before.get(self.subject.places["rate"])),
                      words.share(p99, before.get(self.subject.places["p99"])), answer.refused)

    def _asked(self):
        """Resources that a question about this source can relieve."""
        for one in resources():
            if one.option and not self.subject.is_capture:
                continue
            point = one.infinite(self.parameters)
            if point is not None:
                yield one, point

    def _relieved(self, at, what):
        """The effect of each resource beside what is relieved already."""
        before = self.subject.ask([at])[0].figures
        pairs = [(one, at.joined(point)) for one, point in self._asked()]
        answers = self.subject.ask([point for _, point in pairs], what)
        return [self._effect(one, point, answer, before) for (one, point), answer in zip(pairs, answers)]

    def _doubled(self):
        """{resource: Doubling}."""
        points = {one.name: one.doubled(self.parameters) for one in resources()}
        points = {name: point for name, point in points.items() if point}
        answers = self.subject.ask(list(points.values()), "the next doubling of each")
        before = self.subject.bits(Point())
        moved = [(name, point, answer) for (name, point), answer in zip(points.items(), answers) if not answer.refused]
        return {name: Doubling(point.values, self.subject.bits(point) - before,
                               words.share(answer.figures.get(self.subject.places["rate"]), self.base["rate"]),
                               words.share(answer.figures.get(self.subject.places["p99"]), self.base["p99"]))
                for name, point, answer in moved}

    def _best(self, effects):
        """(the one that binds, those that bring nearly as much), or None (R1)."""
        gains = [one for one in effects if one.rate_gain is not None and one.rate_gain >= self.least]
        if not gains:
            return None
        top = max(one.rate_gain for one in gains)
        alike = sorted((one for one in gains if one.rate_gain >= ALIKE * top),
                       key=lambda one: (one.rank(), -one.rate_gain))
        return alike[0], alike[1:]

    def _chain(self):
        steps, effects = [], self.effects
        while len(steps) < self.most:
            best = self._best(effects)
            if best is None:
                return steps or self._joint()
            first, alike = best
            steps.append(Binding(first, [one.resource.name for one in alike],
                                 self.doublings.get(first.resource.name)))
            if len(steps) < self.most:
                effects = [one for one in self._relieved(first.point, f"what binds behind {first.resource.name}")
                           if one.resource.name not in [step.name for step in steps]]
        return steps

    def _joint(self):
        """Those that bind together (R3)."""
        pairs = list(self._asked())
        everything = Point()
        for _, point in pairs:
            everything = everything.joined(point)
        rate = self.subject.ask([everything], "all without their limits")[0].figures.get(self.subject.places["rate"])
        if (words.share(rate, self.base["rate"]) or 0) < self.least:
            return []
        without = []
        for kept, _ in pairs:
            rest = Point()
            for one, point in pairs:
                if one is not kept:
                    rest = rest.joined(point)
            without.append(rest)
        answers = self.subject.ask(without, "all but one without their limits")
        found = []
        for (kept, point), answer in zip(pairs, answers):
            loss = words.share(answer.figures.get(self.subject.places["rate"]), rate)
            if loss is not None and -loss >= self.least:
                found.append((loss, kept, point))
        self.together = bool(found)
        effects = {one.resource.name: one for one in self.effects}
        found.sort(key=lambda one: one[0])
        return [Binding(effects[kept.name], [], self.doublings.get(kept.name)) for _, kept, _ in found[:self.most]]

    def _slowest(self):
        cuts = [one for one in self.effects if one.p99_change is not None and -one.p99_change >= self.least
                and not one.resource.option]
        cuts.sort(key=lambda one: (one.p99_change, one.rank()))
        if not cuts:
            return []
        near = [one for one in cuts if one.p99_change <= cuts[0].p99_change * ALIKE]
        near.sort(key=lambda one: (one.rank(), one.p99_change))
        ordered = near + [one for one in cuts if one not in near]
        return [Binding(one, [], self.doublings.get(one.resource.name)) for one in ordered[:self.most]]

    def agrees(self):
        """Whether the verdict of the run names the same: one of its parameters is of what binds first."""
        steps = self.steps or self.p99_steps
        named = {one["name"] for one in self.verdict.get("parameters", [])}
        bound = self.verdict.get("bound_by")
        if not steps:
            return bound in ("nothing", "idle")
        if bound in ("nothing", "idle", "sender"):
            return steps[0].name in ("arrivals", "link_rate") or not self.steps
        if bound in ("line", "out_line"):
            return "link_rate" in [steps[0].name, *steps[0].alternatives]
        if bound == "host":
            return steps[0].name in ("receive_depth", "host_reaction")
        first = [steps[0].name, *steps[0].alternatives]
        return any(named & set(one.parameters()) for one in resources() if one.name in first)

    def frame(self):
        """A pandas.DataFrame, a row a resource."""
        return frame_of([{"resource": one.resource.name, "rate": one.rate, "rate_gain": one.rate_gain,
                          "p99_ns": one.p99, "p99_change": one.p99_change} for one in self.effects])

    def as_json(self):
        def effect(one):
            return {"resource": one.resource.name, "about": one.resource.about, "set": one.point.values,
                    "options": {"host": one.point.host, "pace": one.point.pace}, "rate": one.rate,
                    "rate_gain": one.rate_gain, "p99_ns": one.p99, "p99_change": one.p99_change}

        def doubling(one):
            return one and {"set": one.values, "bits": one.bits, "rate_gain": one.rate_gain,
                            "p99_change": one.p99_change}

        def binding(one):
            return effect(one.effect) | {"alternatives": one.alternatives, "doubling": doubling(one.doubling)}
        return {"question": "why", "of": self.subject.title(), "base": self.base, "binding": self.binding,
                "p99_binding": self.p99_binding, "together": self.together,
                "steps": [binding(one) for one in self.steps], "p99_steps": [binding(one) for one in self.p99_steps],
                "resources": [effect(one) | {"doubling": doubling(self.doublings.get(one.resource.name)),
                                             "refused": one.refused} for one in self.effects],
                "verdict": {"bound_by": self.verdict.get("bound_by"), "resource": self.verdict.get("resource"),
                            "parameters": [one["name"] for one in self.verdict.get("parameters", [])],
                            "agrees": self.agrees()},
                "runs": self.subject.runs}


def _sentences(n, step, why):
    one = step.effect
    lead = f"{n}. {one.resource.name} binds" if n == 1 or why.together else \
        f"{n}. With that relieved {one.resource.name} binds"
    alone = "alone " if why.together else ""
    lines = [f"{lead}: {one.resource.about}.",
             f"   Without the limit {alone}{words.rate(one.rate)} ({words.percent(one.rate_gain)}), p99 "
             f"{words.time_ns(one.p99)} ({words.percent(one.p99_change)})."]
    if step.alternatives:
        lines.append(f"   As much would come of {', '.join(step.alternatives)}.")
    return lines + [f"   {_doubling(step.doubling)}"]


def _doubling(one):
    if one is None:
        return "It has no next doubling."
    what = ", ".join(f"{key}={value}" for key, value in list(one.values.items())[:3])
    more = f" and {len(one.values) - 3} more" if len(one.values) > 3 else ""
    price = f"for {words.bits(one.bits)}" if one.bits else "for no bits on the chip"
    return (f"Its next doubling ({what}{more}) brings {words.percent(one.rate_gain)}, p99 "
            f"{words.percent(one.p99_change)}, {price}.")


def text_of(why):
    """The answer in words, the reason before the numbers."""
    lines = [f"why: {why.subject.title()}", words.as_it_is(why.subject), ""]
    if why.together:
        lines.append("No resource alone moves the rate; these bind together:")
    if not why.steps:
        lines.append(f"No resource moves the rate by {why.least:.0%}, neither alone nor all together.")
    for n, step in enumerate(why.steps, 1):
        lines += _sentences(n, step, why)
    if why.p99_steps:
        lines += ["", "The slowest messages (p99) wait for:"]
        for step in why.p99_steps:
            one = step.effect
            lines.append(f"   {one.resource.name}: without the limit {words.time_ns(one.p99)} "
                         f"({words.percent(one.p99_change)}). {_doubling(step.doubling)}")
    said = (why.verdict.get("words") or ["It says nothing."])[0]
    if why.agrees():
        lines += ["", f"The verdict of the run agrees: {said}"]
    else:
        names = ", ".join(one["name"] for one in why.verdict.get("parameters", [])) or "no parameter"
        lines += ["", f"The verdict of the run says something else: {said}", f"   It would move {names}. The figures "
                  "above are of runs without the limit; the verdict is of the cycles of one run."]
    rows = [["resource", "rate", "", "p99", "", "next doubling", "rate", "p99", "bits"]]
    silent = []
    moved = sorted(why.effects, key=lambda one: (-(one.rate_gain or 0), one.p99_change or 0))
    for one in moved:
        if one.refused or max(abs(one.rate_gain or 0), abs(one.p99_change or 0)) < 0.0005:
            silent.append(one.resource.name)
            continue
        d = why.doublings.get(one.resource.name)
        first = next(iter(d.values.items()), None) if d else None
        rows.append([one.resource.name, words.rate(one.rate), words.percent(one.rate_gain), words.time_ns(one.p99),
                     words.percent(one.p99_change), f"{first[0]}={first[1]}" if first else "-",
                     words.percent(d.rate_gain) if d else "-", words.percent(d.p99_change) if d else "-",
                     words.plain(d.bits) if d else "-"])
    lines += ["", "each alone without its limit, and its next doubling", words.table(rows, left=(0, 5))]
    lines += ["", f"moves nothing: {', '.join(silent)}", f"{why.subject.runs} runs"]
    return "\n".join(lines)


ABOUT = """What binds? Each resource (link, PCIe bandwidth, PCIe latency, caches, prefetch, buffers, clock...) is made
infinite or instant in turn, then doubled. Says which binds first, what it would bring in rate and p99, what binds
behind it, and what its next doubling costs in bits on the chip."""
EXAMPLES = """examples:
  rxnic why capture.pcap --pace line-rate
  rxnic why capture.pcap --set dma_engine.tags=2 --pace line-rate --json
  rxnic why --resources                              the resources, and what is set for each
"""


def resources_text():
    rows = [["resource", "without its limit", "what it is"]]
    for one in resources():
        names = [f"{name} up" for name in one.up] + [f"{name} down" for name in one.down]
        names += [f"{name}={value}" for name, value in one.other.items()] + [f"--{name}" for name in one.option]
        for n, name in enumerate(names):
            rows.append([one.name if n == 0 else "", name, one.about if n == 0 else ""])
    return words.table(rows, left=(0, 1, 2))


def main(arguments):
    if arguments == ["--resources"]:
        print(resources_text())
        return 0
    parser = CommandParser("why", ABOUT, EXAMPLES)
    add_arguments(parser)
    parser.add_argument("--least", type=float, default=LEAST, metavar="SHARE",
                        help="what counts as moved, as a share (default: %(default)s)")
    parser.add_argument("--most", type=int, default=STEPS, metavar="N",
                        help="how many that bind, one behind the other (default: %(default)s)")
    parser.add_argument("--resources", action="store_true", help="print the resources, and what is set for each, alone")
    options = parser.parse_args(arguments)
    why = Why(Subject.of(options), options.least, options.most)
    return words.printed(why.as_json(), options, text_of(why))
