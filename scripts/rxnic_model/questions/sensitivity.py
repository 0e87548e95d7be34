# SPDX-License-Identifier: Apache-2.0
"""`rxnic sensitivity`: every parameter half and double around a configuration: what moves, and what moves nothing.

  R1  A number is halved and doubled, within its range; a power of two stays one. A parameter that is on is turned off,
      and the other way round; one with names has each other name. What has no other value is skipped, by name.
  R2  A parameter moves when one of its values changes rate, p50 or p99 by LEAST, or the number of drops at all.
      Those that move are ranked by the largest share. Without a p99 or a rate in the run, drops alone count.
  R3  Where a parameter moves nothing the program says why it cannot act, if that is so.
"""
import collections
import dataclasses

from ..command_line import CommandParser
from ..runs import frame_of
from . import words
from .subject import Point, Subject, add_arguments

LEAST = 0.001


@dataclasses.dataclass
class Trial:
    value: object
    figures: dict  # rate, p50, p99, drops
    changes: dict  # the same as shares; drops as their difference
    refused: str

    def size(self):
        """The largest share by which a figure moved; drops more or less count as their share of all, 1 at most."""
        shares = [abs(self.changes[name]) for name in ("rate", "p50", "p99") if self.changes.get(name) is not None]
        drops = self.changes.get("drops") or 0
        if drops:
            shares.append(min(1.0, abs(drops) / max(1.0, self.figures["drops"])))
        return max(shares, default=0.0)


@dataclasses.dataclass
class Parameter:
    name: str
    value: object
    evidence: str
    unit: str
    trials: list
    why_not: str  # why it cannot act in this run; "" where nothing says so

    def size(self):
        return max((trial.size() for trial in self.trials), default=0.0)


def other_values(one):
    """The values to try of a parameter, in the form of `rxnic params --json` with `value` (R1)."""
    now = one["value"]
    if isinstance(now, bool):
        return [not now]
    if isinstance(now, str):
        return [value for value in one["range"] if value != now]
    least, most = one["range"]
    return list(dict.fromkeys(value for value in (now // 2, now * 2) if least <= value <= most and value != now))


def skipped_values(one):
    """Halves and doubles that are out of its range."""
    if isinstance(one["value"], (bool, str)):
        return []
    return [value for value in (one["value"] // 2, one["value"] * 2)
            if value != one["value"] and not one["range"][0] <= value <= one["range"][1]]


class Sensitivity:
    """What the question has found: `moving` ranked, `still`, and `skipped` values."""

    def __init__(self, subject, only=(), least=LEAST):
        self.subject, self.least = subject, least
        self.base = {name: subject.base.figures.get(place) for name, place in subject.places.items()}
        known = {name: one for name, one in subject.parameters().items()
                 if not only or any(name == word or name.startswith(word + ".") for word in only)}
        pairs = [(name, value) for name, one in known.items() for value in other_values(one)]
        answers = subject.ask([Point({name: value}) for name, value in pairs], "every parameter half and double")
        trials = collections.defaultdict(list)
        why_not = {}
        for (name, value), answer in zip(pairs, answers):
            figures = {key: answer.figures.get(place) for key, place in subject.places.items()}
            changes = {key: words.share(figures[key], self.base[key]) for key in ("rate", "p50", "p99")}
            changes["drops"] = (figures["drops"] or 0) - (self.base["drops"] or 0) if not answer.refused else None
            trials[name].append(Trial(value, figures, changes, answer.refused))
            why_not[name] = why_not.get(name) or answer.cannot_act(name)
        self.parameters = [Parameter(name, one["value"], one["evidence"], one["unit"], trials[name],
                                     why_not.get(name, "")) for name, one in known.items()]
        self.skipped = {name: skipped_values(one) for name, one in known.items() if skipped_values(one)}
        self.moving = sorted((one for one in self.parameters if one.size() >= least), key=lambda one: -one.size())
        self.still = [one for one in self.parameters if one.size() < least]

    def frame(self):
        """A pandas.DataFrame, a row a value that was tried."""
        return frame_of([{"parameter": one.name, "evidence": one.evidence, "from": one.value, "to": trial.value,
                          **trial.figures} for one in self.parameters for trial in one.trials])

    def as_json(self):
        def row(one):
            return {"parameter": one.name, "value": one.value, "unit": one.unit, "evidence": one.evidence,
                    "moved": one.size(), "why_not": one.why_not,
                    "trials": [{"value": t.value, **t.figures, "changes": t.changes, "refused": t.refused}
                               for t in one.trials]}
        return {"question": "sensitivity", "of": self.subject.title(), "base": self.base,
                "moving": [row(one) for one in self.moving], "still": [row(one) for one in self.still],
                "skipped": self.skipped, "runs": self.subject.runs}


def _reason(one):
    if not one.trials:
        return "it has no other value within its range"
    if all(trial.refused for trial in one.trials):
        return f"refused: {one.trials[0].refused.splitlines()[0]}"
    return one.why_not or "it acts, and none of the figures shows it here"


def text_of(found):
    """The answer in words: what moves most, all that moves, what moves nothing and why."""
    lines = [f"sensitivity: {found.subject.title()}",
             words.as_it_is(found.subject), ""]
    total = len(found.parameters)
    if found.moving:
        first = found.moving[0]
        assumed = sum(one.evidence == "assumed" for one in found.moving)
        lines.append(f"{len(found.moving)} of {total} parameters move rate, p50, p99 or drops, most of all "
                     f"{first.name}. The defaults of {assumed} of them are assumed.")
    else:
        lines.append(f"None of {total} parameters moves rate, p50, p99 or drops by {found.least:.1%}.")
    rows = [["parameter", "evidence", "from", "to", "rate", "p50", "p99", "drops"]]
    for one in found.moving:
        for n, trial in enumerate(one.trials):
            cells = [words.percent(trial.changes[key]) for key in ("rate", "p50", "p99")]
            drops = trial.changes["drops"]
            cells.append("-" if drops is None else f"{drops:+g}" if drops else "0")
            if trial.refused:
                cells = ["refused", "", "", ""]
            rows.append([one.name if n == 0 else "", one.evidence if n == 0 else "",
                         words.plain(one.value) if n == 0 else "", words.plain(trial.value), *cells])
    lines += ["", words.table(rows, left=(0, 1))] if found.moving else []
    reasons = collections.defaultdict(list)
    for one in found.still:
        reasons[_reason(one)].append(one.name)
    lines += ["", f"{len(found.still)} move nothing:"]
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        lines += [f"  {reason}:", "    " + ", ".join(names)]
    if found.skipped:
        lines += ["", "out of range, and not tried: " + ", ".join(
            f"{name}={'|'.join(map(str, values))}" for name, values in found.skipped.items())]
    return "\n".join([*lines, f"{found.subject.runs} runs"])


ABOUT = """What moves? Every parameter is halved and doubled around a configuration (a switch is turned, a policy has
each of its other values). Ranks what moves rate, p50, p99 and drops, with what each default rests on, and says why the
others move nothing."""
EXAMPLES = """examples:
  rxnic sensitivity capture.pcap --pace line-rate
  rxnic sensitivity record --config nic_400g_gen5
  rxnic sensitivity capture.pcap --only dma_engine --only host --json
"""


def main(arguments):
    parser = CommandParser("sensitivity", ABOUT, EXAMPLES)
    add_arguments(parser)
    parser.add_argument("--only", action="append", default=[], metavar="SECTION[.KEY]",
                        help="these parameters alone; may be given several times")
    parser.add_argument("--least", type=float, default=LEAST, metavar="SHARE",
                        help="what counts as moved, as a share (default: %(default)s)")
    options = parser.parse_args(arguments)
    subject = Subject.of(options)
    for word in options.only:
        if not any(name == word or name.startswith(word + ".") for name in subject.parameters()):
            parser.error(f"--only: found '{word}'; expected a section or a parameter of rxnic params")
    found = Sensitivity(subject, options.only, options.least)
    return words.printed(found.as_json(), options, text_of(found))
