# SPDX-License-Identifier: Apache-2.0
"""SWEEP.toml: what is the same at all points, what differs, and where.

  R1  [run] holds settings that all points have. Each table of [[axes]] is crossed with the others, the first one
      slowest; the lists of one table go together (zipped) and have one length.
  R2  A setting is source, config, seed, a parameter (section.key), a key of the workload (workload.senders.qps), or an
      option of `rxnic replay` (pace, rtl, ...). It stands in one place only.
  R3  `where` lists conditions over the settings; a point for which one does not hold is no point.
  R4  A mistake is refused with file, line, key, what was found and what was expected.
"""
import pathlib
import tomllib

from ..expression import Expression, ExpressionError
from ..figures import suggestion
from ..program import UsageError, parameters
from ..workloads import keys_of_workloads
from .lines import line_of
from .values import OPTIONS, WORKLOAD, ValueRefused, values_of

BASIC = ("source", "config", "seed")
TOP = ("title", "about", "figures", "where", "run", "axes")

EXAMPLE = """\
# A sweep: rxnic sweep THIS.toml
title = "Prefetch of receive WQEs against the latency of PCIe"
# Shown first in the page and on the terminal; any figure of `rxnic counters` or of report.json.
figures = ["rates.packets_per_s", "latency_ns.p99", "srq_wqe_fetcher.wqe_reads"]
# Points for which a condition does not hold are left out.
where = ["srq_wqe_fetcher.prefetch_depth <= 64 or dma_engine.read_latency_ps >= 800000"]

[run]  # what all points have
source = "sample.pcap"  # a capture, a workload, or the folder of a recorded run; relative to this page
config = "nic_100g_gen3"
pace = "line-rate"  # an option of rxnic replay
srq_wqe_fetcher.prefetch = "greedy"  # a parameter

# Each of these tables is crossed with the others.
[[axes]]
dma_engine.read_latency_ps = { from = "400ns", to = "1.6us", factor = 2 }

[[axes]]
srq_wqe_fetcher.prefetch_depth = [16, 64, 128]

[[axes]]
seed = { from = 1, to = 2, step = 1 }

# Lists of one table go together: two points, not four.
#   [[axes]]
#   nic.link_gbps = [100, 400]
#   dma_engine.tlp_rate_mbps = ["113.7G", "454.8G"]
"""


def flat_workload(values, name, known):
    """{workload.TABLE.KEY: value}; a range is a value."""
    flat = {}
    for key, value in values.items():
        whole = f"{name}.{key}"
        is_table = isinstance(value, dict) and whole[len(WORKLOAD):] not in known
        flat |= flat_workload(value, whole, known) if is_table else {whole: value}
    return flat


class Page:
    """What a page says: `title`, `about`, `figures`, `run` {setting: value}, `axes` [{setting: [value]}], `where`
    [Expression], `folder` that sources are relative to."""

    @classmethod
    def read(cls, path, program):
        """A file. Raises UsageError."""
        path = pathlib.Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as wrong:
            raise UsageError(f"{path}: found {wrong.strerror}; expected a page of a sweep (rxnic sweep --example)"
                             ) from None
        except UnicodeDecodeError as wrong:
            raise UsageError(f"{path}: found {wrong.reason}; expected text in UTF-8") from None
        try:
            parsed = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as wrong:
            raise UsageError(f"{path}: found {wrong}; expected TOML") from None
        return cls(parsed, path, text, program, path.resolve().parent)

    def __init__(self, parsed, path, text, program, folder):
        self.path, self.folder, self._text, self._program = path, folder, text, program
        for key in parsed:
            if key not in TOP:
                self.refuse(("", 0), key, f"'{key}'", f"one of {', '.join(TOP)}{suggestion(key, TOP)}")
        self.title = self._text_at(parsed, "title", self.path.stem)
        self.about = self._text_at(parsed, "about", "")
        self.figures = self._texts_at(parsed, "figures")
        self.run = self._constants(parsed.get("run", {}))
        self.axes = self._axes(parsed.get("axes", []))
        self.where = self._conditions(parsed)
        if "source" not in self.settings():
            self.refuse(("run", 0), "source", "nothing", "a capture, a workload or the folder of a record")

    def settings(self):
        """Names of all settings, those of [run] first."""
        return [*self.run, *(key for axis in self.axes for key in axis)]

    def refuse(self, table, key, found, expected):
        """(R4) `table` is a name and which one of that name."""
        name, number = table
        line = line_of(self._text, name, number, key)
        where = f"{self.path}:{line}" if line else str(self.path)
        raise UsageError(f"{where}: {name + '.' if name else ''}{key}: found {found}; expected {expected}")

    def _text_at(self, parsed, key, default):
        value = parsed.get(key, default)
        if not isinstance(value, str):
            self.refuse(("", 0), key, repr(value), "text in quotes")
        return value

    def _texts_at(self, parsed, key):
        value = parsed.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self.refuse(("", 0), key, repr(value), "a list of texts in quotes")
        return value

    def _flat(self, table, values):
        """{setting: value}; `nic.link_gbps = 1` may stand with quotes or without."""
        if not isinstance(values, dict):
            self.refuse(("", 0), table[0], repr(values), f"a table [{table[0]}]")
        known = parameters(self._program)
        sections = {name.partition(".")[0] for name in known}
        flat = {}
        for key, value in values.items():
            if key in sections and isinstance(value, dict):
                flat |= {f"{key}.{inner}": one for inner, one in value.items()}
            elif key == WORKLOAD[:-1] and isinstance(value, dict):
                flat |= flat_workload(value, WORKLOAD[:-1], keys_of_workloads(self._program))
            else:
                flat[key] = value
        for key in flat:
            names = [*BASIC, *OPTIONS, *known, *(WORKLOAD + one for one in keys_of_workloads(self._program))]
            if key not in names:
                near = suggestion(key, names)
                self.refuse(table, key, f"'{key}'", "source, config, seed, a parameter (rxnic params), workload.KEY "
                                                    f"(rxnic workload --keys) or one of {', '.join(OPTIONS)}{near}")
        return flat

    def _values(self, table, key, value):
        try:
            return values_of(key, value, self._program, self.folder)
        except ValueRefused as wrong:
            return self.refuse(table, key, wrong.found, wrong.expected)

    def _constants(self, table):
        constants = {}
        for key, value in self._flat(("run", 0), table).items():
            if isinstance(value, (list, dict)):
                self.refuse(("run", 0), key, repr(value), "one value (several stand in a table [[axes]])")
            constants[key] = self._values(("run", 0), key, [value])[0]
        return constants

    def _axes(self, tables):
        if not isinstance(tables, list):
            self.refuse(("", 0), "axes", "one table", "[[axes]], with two brackets")
        axes, places = [], {key: "[run]" for key in self.run}
        for number, table in enumerate(tables):
            axis = {}
            for key, value in self._flat(("axes", number), table).items():
                if key in places:
                    self.refuse(("axes", number), key, f"it in {places[key]}, too", "it once")
                places[key] = f"table {number + 1} of [[axes]]"
                axis[key] = self._values(("axes", number), key, value)
            if not axis:
                self.refuse(("axes", number), "", "no setting", "at least one in each [[axes]]")
            lengths = {key: len(values) for key, values in axis.items()}
            if len(set(lengths.values())) > 1:
                key = next(key for key in lengths if lengths[key] != next(iter(lengths.values())))
                self.refuse(("axes", number), key, f"{lengths[key]} values",
                            f"{next(iter(lengths.values()))}, as the others of its table have")
            axes.append(axis)
        return axes

    def _conditions(self, parsed):
        conditions = []
        for text in self._texts_at(parsed, "where"):
            try:
                conditions.append(Expression(text, self.settings()))
            except ExpressionError as wrong:
                found, _, expected = str(wrong).partition("; expected ")
                self.refuse(("", 0), "where", found.removeprefix("found "), expected)
        return conditions
