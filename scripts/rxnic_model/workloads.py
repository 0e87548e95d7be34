# SPDX-License-Identifier: Apache-2.0
"""Workloads with other values of some keys: {"senders.qps": 64, "network.loss_ppm": 100, "packets": 50000}.

  R1  A key is that of `rxnic workload --keys`, with its table. The program sets it in every [[senders]] of the page
      (`--set workload.senders.qps=64`), and checks the page.
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


def resolved(page, program, overrides=()):
    """A page with the value of every key, as text; `overrides`: (TABLE.KEY, value). Raises RunError for a mistake."""
    return rxnic.start("workload", page, *rxnic.options_of(set=settings_of(overrides)), program=program)


def settings_of(overrides):
    """{workload.TABLE.KEY: value}, as `--set` takes them."""
    return {f"workload.{key}": value for key, value in dict(overrides).items()}


def _named_file(value, folder):
    return folder / value if isinstance(value, str) and 0 < len(value) < 1000 and (folder / value).is_file() else None


def files_named(text, folder):
    """Files that the text of a page names."""
    todo = [tomllib.loads(text)]
    while todo:
        value = todo.pop()
        if isinstance(value, (dict, list)):
            todo += value.values() if isinstance(value, dict) else value
        elif named := _named_file(value, folder):
            yield named


def value_of(text, name):
    """A key's value in a page with the value of every key; that of the first [[senders]]. Nothing: it does not act."""
    at = tomllib.loads(text)
    for part in name.split("."):
        at = at[0] if isinstance(at, list) else at
        at = at.get(part) if isinstance(at, dict) else None
    return at
