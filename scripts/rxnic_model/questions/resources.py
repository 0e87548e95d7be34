# SPDX-License-Identifier: Apache-2.0
"""Resources of resources.toml: what makes each infinite, and what doubles it, around the values of a run."""
import dataclasses
import fnmatch
import functools
import pathlib
import tomllib

from .subject import Point

TABLE = pathlib.Path(__file__).with_name("resources.toml")
KEYS = {"about", "up", "down", "is", "twice", "option", "general", "outside"}


@dataclasses.dataclass(frozen=True)
class Resource:
    name: str
    about: str
    up: dict
    down: dict
    other: dict  # of a kind without more and less
    twice: tuple
    option: dict
    general: bool
    outside: bool

    def parameters(self):
        return [*self.up, *self.down, *self.other]

    def infinite(self, parameters):
        """What is set so that it does not bind; None when all is so already. `parameters`: Subject.parameters()."""
        values = {}
        for name, limit in self.up.items():
            values[name] = max(parameters[name]["value"], parameters[name]["range"][1] if limit is True else limit)
        for name, limit in self.down.items():
            values[name] = min(parameters[name]["value"], parameters[name]["range"][0] if limit is True else limit)
        values |= self.other
        values = {name: value for name, value in values.items() if value != parameters[name]["value"]}
        if not values and not self.option:
            return None
        return Point(values, host=self.option.get("host"), pace=self.option.get("pace"))

    def doubled(self, parameters):
        """Its next doubling: twice as many, or half the time; None where there is no such thing."""
        values = {}
        for name in self.twice:
            one = parameters[name]
            value = one["value"] * 2 if name in self.up else one["value"] // 2
            value = min(max(value, one["range"][0]), one["range"][1])
            if value != one["value"]:
                values[name] = value
        return Point(values) if values else None


@functools.cache
def resources():
    """[Resource], in the order of the table."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    found = []
    for name, one in table.items():
        if name == "excluded":
            continue
        if one.keys() - KEYS or "about" not in one:
            raise ValueError(f"{TABLE.name}: {name}: found {', '.join(one)}; expected about and some of {sorted(KEYS)}")
        up, down = one.get("up", {}), one.get("down", {})
        found.append(Resource(name, one["about"], up, down, one.get("is", {}),
                              tuple(one.get("twice", [*up, *down])), one.get("option", {}),
                              one.get("general", False), one.get("outside", False)))
    return found


def excluded():
    """{section.key, or a pattern of such: why it is in no resource}."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["excluded"]


def unplaced(names):
    """Those of the names section.key that are in no resource and not excluded; those in several places; names of the
    table that are no parameter."""
    placed = [name for one in resources() for name in one.parameters()]
    patterns = excluded()
    places = {name: placed.count(name) + sum(fnmatch.fnmatchcase(name, one) for one in patterns) for name in names}
    unknown = [name for name in [*placed, *patterns] if name not in names and "*" not in name]
    return [n for n, count in places.items() if count == 0], [n for n, count in places.items() if count > 1], unknown
