# SPDX-License-Identifier: Apache-2.0
"""Contents that a point depends on, as hashes: the program, its source, files that options name."""
import functools
import hashlib
import os
import pathlib

from .. import program as rxnic
from .. import workloads

RECORD = ("host.jsonl", "wire.pcap")  # of the folder of a recorded run


class SourceRefused(Exception):
    """What is expected of a source."""


@functools.cache
def file_hash(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.cache
def program_hash(program):
    """The program itself: a model that was built anew is another one, though its version is the same."""
    return file_hash(os.path.realpath(program))


@functools.cache
def resolved_workload(page, program, overrides=()):
    """The page with the value of every key: what determines the workload, but for files that it names."""
    return workloads.resolved(page, program, overrides)


def workload_hash(page, program, overrides=()):
    """Hashes of a workload: every key's value, and the content of each file that the page names."""
    path = pathlib.Path(page)
    text = resolved_workload(page, program, overrides)
    hashes = [hashlib.sha256(text.encode()).hexdigest()]
    for named in sorted(set(workloads.files_named(text, path.resolve().parent))) if path.is_file() else []:
        hashes.append(file_hash(str(named)))
    return "".join(hashes)


def source_path(source, folder):
    """A file or folder relative to the page; a name that is none, as it is."""
    path = folder / source
    return str(path) if path.exists() else source


def is_record(source, folder):
    return (folder / source / RECORD[0]).is_file()


@functools.cache
def source_hash(source, folder, program):
    """Raises SourceRefused."""
    path = folder / source
    if is_record(source, folder):
        return "".join(file_hash(str(path / name)) for name in RECORD if (path / name).is_file())
    if path.is_dir():
        raise SourceRefused("a capture, a workload, or the folder of a run that was recorded (rxnic run --record)")
    page = source_path(source, folder)
    if workloads.is_workload(page, program):
        try:
            return workload_hash(page, program)
        except rxnic.RunError as wrong:
            raise SourceRefused(f"a workload without mistakes: {wrong.message}") from None
    if path.is_file():
        return file_hash(str(path))
    raise SourceRefused("a file beside this page, the folder of a record, or one of the workloads that come along"
                        f" ({', '.join(workloads.names_of_workloads(program)) or 'none'})")


def option_hash(name, value, folder, program):
    """What else an option's value names: own RTL (BLOCK=FILE), or the RTL that comes along."""
    if name not in ("rtl", "lockstep"):
        return ""
    hashes = []
    for part in filter(None, value.split(",")):
        block, _, file = part.partition("=")
        if file and not file.startswith("dpi:"):
            path = folder / file.removesuffix(":transactions")
            hashes.append(file_hash(str(path)) if path.is_file() else "")
            continue
        here = pathlib.Path(os.path.realpath(program)).parent
        for place in ("../../rtl", "../lib/rxnic/rtl"):
            made = f"{block.partition(':')[0]}_*.so"
            hashes += [file_hash(str(one)) for to in (place, f"{place}/lean") for one in sorted((here / to).glob(made))]
    return "".join(hashes)


def effective(config, overrides, program):
    """Every parameter's value: two configurations that say the same are the same."""
    return {**_values_of(config or "", program), **overrides}


@functools.cache
def _values_of(config, program):
    said = rxnic.start("params", "--json", *(["--config", config] if config else []), program=program)
    return {f"{section}.{key}": one["value"] for section, keys in rxnic.json.loads(said).items()
            for key, one in keys.items()}
