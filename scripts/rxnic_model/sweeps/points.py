# SPDX-License-Identifier: Apache-2.0
"""Points of a sweep, each with the key of everything that determines its figures."""
import dataclasses
import hashlib
import itertools
import json
import math
import re

from .. import program as rxnic
from .. import workloads
from ..expression import ExpressionError
from . import content
from .page import BASIC
from .values import FLAG, OPTIONS, WORKLOAD, config_path

MOST_POINTS = 1_000_000


@dataclasses.dataclass(frozen=True)
class Point:
    number: int  # from 1, in the order of the page
    settings: dict  # {setting: value}
    key: str  # two points of one key have the same figures


def split(settings, folder):
    """(source, config, seed, parameters, options) of a point; paths do not depend on the working folder."""
    config = settings.get("config")
    parameters = {key: value for key, value in settings.items() if "." in key and not key.startswith(WORKLOAD)}
    options = {key: value for key, value in settings.items() if key in OPTIONS and value != "" and value is not False}
    return (content.source_path(settings["source"], folder), config and config_path(config, folder),
            settings.get("seed"), parameters, options)


def keys_set(settings):
    """((TABLE.KEY, value), ...) of the workload that a point changes."""
    return tuple((key[len(WORKLOAD):], value) for key, value in settings.items() if key.startswith(WORKLOAD))


def key_of(settings, folder, program):
    """The hash of what determines a point: the program, the source, all parameters, seed and options."""
    source, config, seed, parameters, options = split(settings, folder)
    overrides = keys_set(settings)
    record = content.is_record(settings["source"], folder)
    whole = {
        "program": content.program_hash(program),
        "source": content.workload_hash(source, program, overrides) if overrides else content.source_hash(
            settings["source"], folder, program),
        # A record has a configuration of its own, which only what is set changes.
        "parameters": parameters if record and not config else content.effective(config, parameters, program),
        "what_if": record and bool(config or parameters),
        # A workload has a seed of its own, a record needs none, and a capture's is 1.
        "seed": 1 if seed is None and not record and not workloads.is_workload(source, program) else seed,
        "options": {name: [value, content.option_hash(name, value, folder, program) if value is not True else ""]
                    for name, value in options.items()},
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def arguments_of(settings, folder):
    """Arguments of `rxnic replay`, without --out."""
    source, config, seed, parameters, options = split(settings, folder)
    words = rxnic.options_of(config, parameters | workloads.settings_of(keys_set(settings)), seed)
    for name, value in options.items():
        if name in ("rtl", "lockstep"):
            value = ",".join(with_path(part, folder) for part in value.split(","))
        words += [f"--{name}"] if OPTIONS[name] == FLAG else [f"--{name}", rxnic.text_of(value)]
    return [*words, source]


def with_path(part, folder):
    """BLOCK=FILE with a file relative to the page."""
    block, _, file = part.partition("=")
    if not file or file.startswith("dpi:"):
        return part
    path = folder / file.removesuffix(":transactions")
    return f"{block}={path}{':transactions' if file.endswith(':transactions') else ''}" if path.is_file() else part


def refuse_workload(page, settings, wrong):
    """A page of a workload that the program refuses: the key that its message names."""
    found = re.search(r"([\w.]+): found (.*), expected (.*)", wrong.message, re.S)
    keys = [key for key, _ in keys_set(settings)]
    key = next((one for one in keys if found and found[1].endswith(one)), keys[0])
    number = next((n for n, axis in enumerate(page.axes) if WORKLOAD + key in axis), None)
    page.refuse(("run", 0) if number is None else ("axes", number), WORKLOAD + key,
                found[2] if found else wrong.message, found[3] if found else "a workload")


def resolved_settings(page, settings, program):
    """Settings with the values that the program took for keys of the workload."""
    overrides = keys_set(settings)
    if not overrides:
        return settings
    source = content.source_path(settings["source"], page.folder)
    try:
        if not workloads.is_workload(source, program):
            raise rxnic.RunError("source: found no workload, expected one, whose keys can be set", 2)
        text = content.resolved_workload(source, program, overrides)
    except rxnic.RunError as wrong:
        refuse_workload(page, settings, wrong)
    taken = {key: workloads.value_of(text, key) for key, _ in overrides}
    return settings | {WORKLOAD + key: value for key, value in taken.items() if value is not None}


def points_of(page, program):
    """[Point] of a page, in its order: the last axis is fastest."""
    points = []
    groups = [[dict(zip(axis, values)) for values in zip(*axis.values())] for axis in page.axes]
    count = math.prod(map(len, groups))
    if count > MOST_POINTS:
        page.refuse(("", 0), "axes", f"{count} points", f"at most {MOST_POINTS}")
    for chosen in itertools.product(*groups):
        settings = dict(page.run)
        for part in chosen:
            settings |= part
        settings = {name: settings[name] for name in sorted(settings, key=lambda one: place_of(one, page))}
        settings = resolved_settings(page, settings, program)
        try:
            if not all(condition.value(settings) for condition in page.where):
                continue
        except ExpressionError as wrong:
            page.refuse(("", 0), "where", str(wrong), "a condition that can be found true or false at each point")
        points.append(Point(len(points) + 1, settings, key_of(settings, page.folder, program)))
    if not points:
        page.refuse(("", 0), "where" if page.where else "axes", "no point that is left", "at least one")
    return points


def place_of(name, page):
    """What varies stands first, in the order of the page; then source, config and seed."""
    varied = [key for axis in page.axes for key in axis]
    order = [*varied, *BASIC, *page.run]
    return order.index(name)
