# SPDX-License-Identifier: Apache-2.0
"""Workloads with other values of some keys: {"senders.qps": 64, "network.loss_ppm": 100, "packets": 50000}.

  R1  A key is that of `rxnic workload --keys`, with its table. It is set in every [[senders]] of the page.
  R2  The program checks the changed page; what it says names the key.
"""
import functools
import json
import pathlib
import tomllib

from . import program as rxnic


@functools.cache
def keys_of_workloads(program):
    """{TABLE.KEY: what the program says about it}; nothing for a program without workloads."""
    try:
        said = json.loads(rxnic.start("workload", "--keys", "--json", program=program))
    except rxnic.RunError:
        return {}
    return {f"{table}.{key}" if table else key: about for table, keys in said.items() for key, about in keys.items()}


@functools.cache
def names_of_workloads(program):
    """Those that come along."""
    try:
        return [one["name"] for one in json.loads(rxnic.start("workload", "--json", program=program))]
    except rxnic.RunError:
        return []


def is_workload(source, program):
    """Whether a source is a page, or the name of one that comes along."""
    path = pathlib.Path(source)
    return path.suffix == ".toml" if path.is_file() else not path.exists() and source in names_of_workloads(program)


def resolved(page, program):
    """A page with the value of every key, as text. Raises RunError when something is wrong in it."""
    return rxnic.start("workload", page, program=program)


def _scalar(value):
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else rxnic.text_of(value)


def _text(table, name=""):
    """A table as TOML: its own keys first."""
    own = [f"{key} = {_scalar(value)}\n" for key, value in table.items() if not _is_table(value)]
    for key, value in table.items():
        if _is_table(value):
            inner = f"{name}.{key}" if name else key
            for one in value if isinstance(value, list) else [value]:
                head = f"[[{inner}]]" if isinstance(value, list) else f"[{inner}]"
                own.append(f"\n{head}\n{_text(one, inner)}")
    return "".join(own)


def _is_table(value):
    return isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict))


def _parsed(page, program):
    path = pathlib.Path(page)
    if path.is_file():
        return _with_whole_paths(tomllib.loads(path.read_text(encoding="utf-8")), path.resolve().parent)
    whole = tomllib.loads(resolved(page, program))
    return _without_defaults(whole, keys_of_workloads(program))


def _named_file(value, folder):
    return folder / value if isinstance(value, str) and 0 < len(value) < 1000 and (folder / value).is_file() else None


def _with_whole_paths(value, folder):
    """Files that a page names are relative to it."""
    if isinstance(value, dict):
        return {key: _with_whole_paths(inside, folder) for key, inside in value.items()}
    if isinstance(value, list):
        return [_with_whole_paths(inside, folder) for inside in value]
    named = _named_file(value, folder)
    return str(named) if named else value


def files_named(text, folder):
    """Files that the text of a page names."""
    todo = [tomllib.loads(text)]
    while todo:
        value = todo.pop()
        if isinstance(value, (dict, list)):
            todo += value.values() if isinstance(value, dict) else value
        elif named := _named_file(value, folder):
            yield named


def _without_defaults(table, keys, name=""):
    """A key that another one needs would be refused when that is changed."""
    left = {}
    for key, value in table.items():
        whole = f"{name}.{key}" if name else key
        if isinstance(value, dict):
            left[key] = _without_defaults(value, keys, whole)
        elif _is_table(value):
            left[key] = [_without_defaults(one, keys, whole) for one in value]
        elif value if name.endswith("mix") else whole not in keys or keys[whole]["default"] != value:
            left[key] = value  # a mix that is there has only the kinds that it names
    return left


def changed(page, overrides, program):
    """(R1) The text of a page with other values."""
    parsed = _parsed(page, program)
    for name, value in overrides.items():
        *tables, key = name.split(".")
        places = [parsed]
        for table in tables:
            inside = []
            for place in places:
                below = place.setdefault(table, [{}] if table == "senders" else {})
                inside += below if isinstance(below, list) else [below]
            places = inside
        for place in places:
            place[key] = value
    return _text(parsed)


def value_of(text, name):
    """A key's value in a page with the value of every key; that of the first [[senders]]. Nothing: it does not act."""
    at = tomllib.loads(text)
    for part in name.split("."):
        at = at[0] if isinstance(at, list) else at
        at = at.get(part) if isinstance(at, dict) else None
    return at
