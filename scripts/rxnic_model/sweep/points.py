# SPDX-License-Identifier: Apache-2.0
"""Points of a sweep, each with the key of everything that determines its figures."""
import dataclasses
import hashlib
import itertools
import json

from .. import program as rxnic
from ..expression import ExpressionError
from . import content
from .page import BASIC
from .values import FLAG, OPTIONS, config_path


@dataclasses.dataclass(frozen=True)
class Point:
    number: int  # from 1, in the order of the page
    settings: dict  # {setting: value}
    key: str  # two points of one key have the same figures


def split(settings, folder):
    """(source, config, seed, parameters, options) of a point, with paths that do not depend on the working folder."""
    config = settings.get("config")
    parameters = {key: value for key, value in settings.items() if "." in key}
    options = {key: value for key, value in settings.items() if key in OPTIONS and value != "" and value is not False}
    return (content.source_path(settings["source"], folder), config and config_path(config, folder),
            settings.get("seed", 1), parameters, options)


def key_of(settings, folder, program):
    """The hash of what determines a point: the program, the source, all parameters, seed and options."""
    _, config, seed, parameters, options = split(settings, folder)
    record = content.is_record(settings["source"], folder)
    whole = {
        "program": content.program_hash(program),
        "source": content.source_hash(settings["source"], folder, program),
        # A record has a configuration of its own, which only what is set changes.
        "parameters": parameters if record and not config else content.effective(config, parameters, program),
        "what_if": record and bool(config or parameters),
        "seed": seed,
        "options": {name: [value, content.option_hash(name, value, folder, program) if value is not True else ""]
                    for name, value in options.items()},
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def arguments_of(settings, folder):
    """Arguments of `rxnic replay`, without --out."""
    source, config, seed, parameters, options = split(settings, folder)
    words = rxnic.options_of(config, parameters, seed)
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


def points_of(page, program):
    """[Point] of a page, in its order: the last axis is fastest."""
    points = []
    groups = [[dict(zip(axis, values)) for values in zip(*axis.values())] for axis in page.axes]
    for chosen in itertools.product(*groups):
        settings = dict(page.run)
        for part in chosen:
            settings |= part
        settings = {name: settings[name] for name in sorted(settings, key=lambda one: place_of(one, page))}
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
