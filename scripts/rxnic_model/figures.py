# SPDX-License-Identifier: Apache-2.0
"""Figures of a run by name, from report.json.

  R1  A counter has the name that `rxnic counters` prints: SECTION.KEY (address_translator.mtt_misses, dropped.icrc).
  R2  Any other number has its place in report.json: rates.packets_per_s, latency_ns.p99, blocks.dma_engine.busy.
  R3  A counter that the report leaves out where it has others of its section is 0. Where the report has no place for
      the section (the fabric of a capture), the figure does not exist.
  R4  Where there are several NICs, each has its figures below nics.N: nics.1.dma_engine.writes.
  R5  Text is left out, but for verdict.bound_by, verdict.resource and state_hash. So are lists, tables and what was
      set, and nothing is a path or a time of the machine.
"""
import difflib

LEFT_OUT = {"config", "tables", "seed", "schema", "nics"}  # at the top
TEXTS = {"verdict.bound_by", "verdict.resource", "state_hash"}


class UnknownFigure(AttributeError, KeyError):
    """A figure that the run does not have; the message says which is near."""

    def __str__(self):
        return str(self.args[0])


def names_by_place(counters):
    """Place in the report: the counter's name (R1)."""
    names = {}
    for section, one in counters.items():
        if "*" not in one["report"]:
            for key in one["counters"]:
                names[f"{one['report']}.{key}"] = f"{section}.{key}"
    return names


def walk(value, place, found):
    if isinstance(value, dict):
        for key, inside in value.items():
            if place or key not in LEFT_OUT:
                walk(inside, f"{place}.{key}" if place else key, found)
    elif isinstance(value, bool):
        found[place] = int(value)
    elif isinstance(value, (int, float)) or (isinstance(value, str) and place in TEXTS):
        found[place] = value


def figures_of(report, counters):
    """{name: value} of a report, with what `rxnic counters --json` says; in the order of the report."""
    names = names_by_place(counters)
    figures = {}
    for prefix, part in [("", report)] + [(f"nics.{n}.", nic) for n, nic in enumerate(report.get("nics", []))]:
        places = {}
        walk(part, "", places)
        for place, value in places.items():
            figures[prefix + names.get(place, place)] = value
        parents = {place.rpartition(".")[0] for place in places}
        for place, name in names.items():
            if place not in places and place.rpartition(".")[0] in parents:
                figures[prefix + name] = 0  # (R3)
    return figures


def suggestion(name, names):
    """"; did you mean 'x'?" when one of `names` is near, or ends alike."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    if not near:
        last = name.rpartition(".")[2]
        near = [one for one in names if one.rpartition(".")[2] == last][:3]
    return f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""


class Figures:
    """The figures whose names begin alike, as attributes: figures.latency_ns.p99."""

    def __init__(self, figures, report, place=""):
        self._figures = figures
        self._report = report
        self._place = place

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        whole = f"{self._place}{name}"
        if whole in self._figures:
            return self._figures[whole]
        if any(one.startswith(whole + ".") for one in self._figures):
            return Figures(self._figures, self._report, whole + ".")
        return self._at(whole)

    def _at(self, name):
        """The place in report.json, where it is another one than the name."""
        value = self._report
        for part in name.split("."):
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                raise UnknownFigure(f"found no figure '{name}'; expected one of rxnic counters or of report.json"
                                    f"{suggestion(name, list(self._figures))}")
        return Figures(self._figures, self._report, name + ".") if isinstance(value, dict) else value

    def __dir__(self):
        return sorted({name[len(self._place):].partition(".")[0] for name in self._figures
                       if name.startswith(self._place)})

    def __repr__(self):
        return f"<figures {self._place.rstrip('.')}: {', '.join(dir(self))}>"
