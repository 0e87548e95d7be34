# SPDX-License-Identifier: Apache-2.0
"""sweep.html: the table as curves, a heat map and parallel coordinates, in one file that loads nothing.

  R1  The data stands in the page as JSON in which no character ends the script's element (as of report.html). What
      draws it is build/page/sweep.js, which scripts/page makes; an installed program has it in ../lib/rxnic.
  R2  Figures that are the same at all points are left out, but for those that the page asks for, which come first.
  R3  The page does not grow without bounds: MOST_VALUES numbers, then the last figures are left out, and it says so.
"""
import json
import os
import pathlib

from .. import program as rxnic

FILE, SCHEMA = "sweep.html", "rxnic.sweep/1"
PLACES = ("../../../page/sweep.js", "../lib/rxnic/sweep.js")  # from the program: built, installed
VARIABLE = "RXNIC_SWEEP_SCRIPT"
MOST_VALUES = 1_000_000
DEFAULT_FIGURES = ("rates.packets_per_s", "rates.payload_gbps", "latency_ns.p50", "latency_ns.p99",
                   "packets.dropped.total")
UNITS = (("packets_per_s", "packets/s"), ("_gbps", "Gb/s"), ("_ps", "ps"), ("_bytes", "bytes"), ("cycles", "cycles"))
SAME_RATIO = 0.05  # neighbours of a logarithmic axis differ by one factor, but for so much

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<link rel="icon" href="data:,">
<title>rxnic</title>
</head>
<body>
<noscript>This page draws its charts with a script of its own; it loads nothing.</noscript>
"""


def page_script(program):
    """What draws the page, or None."""
    here = pathlib.Path(os.path.realpath(program)).parent
    chosen = os.environ.get(VARIABLE)
    places = [*(here / one for one in PLACES), rxnic.SCRIPTS.parent / "build" / "page" / "sweep.js"]
    for place in [pathlib.Path(chosen)] if chosen else places:
        if place.is_file():
            return place.read_text(encoding="utf-8")
    return None


def unit_of(name, counters):
    section, _, key = name.rpartition(".")
    one = counters.get(section, {}).get("counters", {}).get(key)
    if one:
        return one["unit"]
    if "_ns." in name and not name.endswith("count"):
        return "ns"
    return next((unit for end, unit in UNITS if name.endswith(end)), "")


def sentence_of(name, counters):
    section, _, key = name.rpartition(".")
    return counters.get(section, {}).get("counters", {}).get(key, {}).get("sentence", "")


def is_logarithmic(values):
    """Whether the values of an axis grow by a factor."""
    if len(values) < 3 or not all(isinstance(value, (int, float)) and value > 0 for value in values):
        return False
    ratios = [later / earlier for earlier, later in zip(values, values[1:])]
    return min(ratios) > 1.2 and max(ratios) / min(ratios) < 1 + SAME_RATIO


def axes_of(page, points, program):
    """Each axis: its values in order, and which one a point has."""
    parameters = rxnic.parameters(program)
    axes = []
    for name in (name for axis in page.axes for name in axis):
        values = list(dict.fromkeys((type(point.settings[name]), point.settings[name]) for point in points))
        at = {value: n for n, value in enumerate(values)}
        plain = [value for _, value in values]
        numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in plain)
        axes.append({"name": name, "unit": parameters.get(name, {}).get("unit", ""), "values": plain,
                     "numeric": numeric, "log": numeric and is_logarithmic(sorted(plain)),
                     "at": [at[type(point.settings[name]), point.settings[name]] for point in points]})
    return axes


def chosen_figures(page, table):
    """(R2) Names in order, and how many of them were asked for."""
    numbers = {name: [row.get(name) for row in table.rows] for name in table.figures}
    numbers = {name: values for name, values in numbers.items()
               if all(value is None or isinstance(value, (int, float)) for value in values)}
    first = [name for name in page.figures or DEFAULT_FIGURES if name in numbers]
    varied = [name for name, values in numbers.items() if name not in first and len(set(values)) > 1]
    return first + varied, len(first), numbers


def data_of(page, points, table, program):
    """What sweep.js draws."""
    by_number = {point.number: point for point in points}
    points = [by_number[row["point"]] for row in table.rows]
    names, shown, numbers = chosen_figures(page, table)
    most = max(shown, MOST_VALUES // max(1, len(points)))
    counters = rxnic.counters(program)
    words = []
    if len(names) > most:  # (R3)
        words.append(f"{len(names) - most} figures are left out: sweep.csv has them.")
    constants = {name: value for name, value in page.run.items()} | {"version": rxnic.version(program)}
    return {
        "schema": SCHEMA, "title": page.title, "about": page.about, "constants": constants, "words": words,
        "points": [point.number for point in points], "axes": axes_of(page, points, program),
        "errors": [row["error"] for row in table.rows], "shown": shown,
        "figures": [{"name": name, "unit": unit_of(name, counters), "sentence": sentence_of(name, counters),
                     "values": numbers[name]} for name in names[:most]],
    }


def write_page(data, script, path):
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")  # (R1)
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(f'{HEAD}<script type="application/json" id="data">{text}</script>\n<script>{script}</script>\n'
                   "</body>\n</html>\n")
    os.replace(new, path)
