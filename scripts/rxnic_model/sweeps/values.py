# SPDX-License-Identifier: Apache-2.0
"""Values of a setting: one, a list, or a range.

  R1  A range is {from, to, step}, {from, to, factor}, or {from, to, count} with log = true or without. `to` is a value
      of it when it is met.
  R2  A value of a parameter is the number that the model takes for it, in the parameter's unit: "900ns" is 900000. It
      is checked by the program, whose message says what is expected.
"""
import functools
import re

from .. import program as rxnic
from .content import SourceRefused, source_hash

# Options of `rxnic replay` that change what a run finds: what values they take.
TEXT, FLAG = "text", "flag"
OPTIONS = {"pace": TEXT, "host": TEXT, "receiver": TEXT, "pair": TEXT, "psn": TEXT, "truncated": TEXT, "icrc": TEXT,
           "udp-port": TEXT, "loop": TEXT, "from": TEXT, "to": TEXT, "warmup": TEXT, "rtl": TEXT, "lockstep": TEXT,
           "clock-always": FLAG, "random-init": TEXT}
RANGES = ({"from", "to", "step"}, {"from", "to", "factor"}, {"from", "to", "count"}, {"from", "to", "count", "log"})
WORKLOAD = "workload."  # before a key of `rxnic workload --keys`
MOST = 1_000_000  # values of one range


class ValueRefused(Exception):
    """What was found and what is expected."""

    def __init__(self, found, expected):
        super().__init__(found, expected)
        self.found, self.expected = found, expected


@functools.cache
def parameter_value(key, text, program):
    """(R2) of one parameter."""
    section, _, name = key.partition(".")
    try:
        said = rxnic.start("params", section, "--json", "--set", f"{key}={text}", program=program)
    except rxnic.RunError as wrong:
        found, _, expected = wrong.message.partition(", expected ")
        raise ValueRefused(found.rpartition(": found ")[2], expected or "what the program says") from None
    return rxnic.json.loads(said)[section][name]["value"]


def is_plain(key, value, program):
    """A whole number in the range of its parameter, for which the program need not be asked."""
    about = rxnic.parameters(program)[key]
    if type(value) is not int or type(about["value"]) is not int or about["power_of_two"]:
        return False
    low, high = about["range"]
    return low <= value <= high


def number_of(key, value, program):
    """An end of a range, as a number."""
    if "." in key and not key.startswith(WORKLOAD):
        value = parameter_value(key, rxnic.text_of(value), program)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueRefused(repr(value), "a number, for a range")
    return value


def _plain(value):
    return int(value) if float(value).is_integer() else float(f"{value:.12g}")


def range_of(key, table, program):
    """(R1)"""
    if set(table) not in RANGES:
        raise ValueRefused("{" + ", ".join(table) + "}",
                           "{from, to, step}, {from, to, factor} or {from, to, count, log}")
    first, last = number_of(key, table["from"], program), number_of(key, table["to"], program)
    if last < first:
        raise ValueRefused(f"from = {table['from']}, to = {table['to']}", "a range that goes upwards")
    if "count" in table:
        count, logarithmic = table["count"], table.get("log", False)
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST:
            raise ValueRefused(f"count = {count!r}", f"a whole number from 2 to {MOST}")
        if not isinstance(logarithmic, bool):
            raise ValueRefused(f"log = {logarithmic!r}", "true or false")
        if logarithmic and first <= 0:
            raise ValueRefused(f"from = {first}", "more than 0, for a logarithmic range")
        parts = [n / (count - 1) for n in range(count)]
        exact = [first * (last / first) ** part if logarithmic else first + (last - first) * part for part in parts]
        whole = isinstance(first, int) and isinstance(last, int)
        return list(dict.fromkeys(round(value) if whole else _plain(value) for value in exact))
    step, factor = table.get("step"), table.get("factor")
    if step is not None and "." in key and isinstance(step, str):
        step = number_of(key, step, program)
    change = step if factor is None else factor
    if isinstance(change, bool) or not isinstance(change, (int, float)) or change <= (0 if factor is None else 1):
        raise ValueRefused(f"{'step' if factor is None else 'factor'} = {change!r}",
                           "more than 0" if factor is None else "more than 1")
    if factor is not None and first <= 0:
        raise ValueRefused(f"from = {first}", "more than 0, for a factor")
    values, n = [], 0
    while True:
        value = _plain(first + n * step) if factor is None else _plain(first * factor ** n)
        if value > last * (1 + 1e-12):
            return values
        values.append(value)
        n += 1
        if n > MOST:
            raise ValueRefused(f"more than {MOST} values", "fewer")


def checked(key, value, program, folder):
    """One value of a setting as the points have it. Raises ValueRefused."""
    if isinstance(value, (list, dict)) or value is None:
        raise ValueRefused(repr(value), "a number, a text, true or false")
    if key.startswith(WORKLOAD):
        return value  # the points ask the program, with the other keys
    if "." in key:
        return value if is_plain(key, value, program) else parameter_value(key, rxnic.text_of(value), program)
    if key == "seed":
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2 ** 64:
            raise ValueRefused(repr(value), "a whole number from 0 to 2^64 - 1")
        return value
    if OPTIONS.get(key) == FLAG:
        if not isinstance(value, bool):
            raise ValueRefused(repr(value), "true or false")
        return value
    if key in OPTIONS:
        if isinstance(value, bool) or str(value) == "" and key not in ("rtl", "lockstep"):
            raise ValueRefused(repr(value), "a text or a number, as on the command line")
        return rxnic.text_of(value)
    if not isinstance(value, str) or not re.search(r"\S", value):
        raise ValueRefused(repr(value), "a text in quotes")
    try:
        if key == "source":
            source_hash(value, folder, program)
        else:
            rxnic.start("params", "nic", "--json", "--config", config_path(value, folder), program=program)
    except rxnic.RunError as wrong:
        found, _, expected = wrong.message.partition(", expected ")
        raise ValueRefused(found, expected or "a configuration") from None
    except SourceRefused as wrong:
        raise ValueRefused(f"'{value}'", str(wrong)) from None
    return value


def config_path(name, folder):
    """A configuration's name as it is, a file of it relative to the page."""
    return str(folder / name) if "/" in name or name.endswith(".toml") else name


def values_of(key, value, program, folder):
    """All values of a setting, in their order. Raises ValueRefused."""
    if isinstance(value, dict):
        if key not in ("seed",) and "." not in key:
            raise ValueRefused("a range", "a list")
        value = range_of(key, value, program)
    if not isinstance(value, list):
        raise ValueRefused(repr(value), "a list, or a range {from, to, ...}")
    if not value:
        raise ValueRefused("an empty list", "at least one value")
    found = [checked(key, one, program, folder) for one in value]
    seen = set()
    for n, one in enumerate(found):
        if (type(one), one) in seen:
            raise ValueRefused(f"{rxnic.text_of(value[n])} twice", "each value once")
        seen.add((type(one), one))
    return found
