#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Linters over the tree, each file only when it has changed.

usage: check_tools.py [--root DIR] --build DIR TOOL

TOOL is clang_tidy, flake8 or shellcheck. A file that passes gets a stamp in DIR/style/TOOL. The stamp is a digest of
the file, of the project's headers that it includes (clang_tidy), of the tool's configuration, version and arguments. A
file whose stamp fits is not looked at again; flake8 looks at several files in one run, and they pass together.
clang_tidy takes the folders and definitions of each source from DIR/compile_commands.json.

Exits 0 when all is well, 1 when something offends, 77 when the tool is not installed.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from check_style import SKIPPED, Tree

# What clang-tidy looks at: the sources of these folders, and the headers that they include. Tests are left out: they
# are as many lines again, would take twice the time, and are the place where an error shows itself.
TIDIED = ("model/", "traces/", "bridge/")
# What all targets of such a folder have is looked at as one: names that are local to a source differ within it.
ONE_UNIT = ("model", "bridge/rxnic")


@dataclasses.dataclass(frozen=True)
class Tool:
    programs: tuple  # the first one that is installed is taken
    version: str  # what `--version` must say
    config: str  # file at the root of the tree; passed on with --config-file or found by the tool itself
    together: bool = False  # one run for many files: it takes longer to start than to look at one


TOOLS = {
    "clang_tidy": Tool(("clang-tidy-14", "clang-tidy"), "version 14.", ".clang-tidy"),
    "flake8": Tool(("flake8",), "", ".flake8", together=True),
    "shellcheck": Tool(("shellcheck",), "", ".shellcheckrc"),
}


def interpreter(tree, name):
    """The first line of a script, or nothing."""
    with open(tree.root / name, "rb") as file:
        start = file.readline(200)
    return start.decode(errors="replace").strip() if start.startswith(b"#!") else ""


def files_of(tool, tree):
    if tool == "flake8":
        return [name for name in tree.files
                if name.endswith(".py") or re.search(r"\bpython3?$", interpreter(tree, name))]
    return [name for name in tree.files if name.endswith(".sh") or re.search(r"\b(ba)?sh$", interpreter(tree, name))]


class Headers:
    """The project's headers that a file includes, directly and through others: written ones and generated ones."""

    def __init__(self, tree, build):
        self.roots = (tree.root, build / "generated")

    @functools.cache
    def direct(self, path):
        found = []
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(errors="replace"), re.M):
            found += [root / name for root in self.roots if (root / name).is_file()][:1]
        return found

    def all(self, path):
        seen, waiting = {path}, [path]
        while waiting:
            for header in self.direct(waiting.pop()):
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return sorted(seen)


def translation_units(tree, build, headers):
    """What is compiled and has one of the sources in it that clang-tidy looks at. With each comes what clang-tidy must
    know of the command: not warnings and optimization. CMake may have joined several sources (CMAKE_UNITY_BUILD)."""
    tidied = {tree.root / name for name in tree.named(".cpp") if name.startswith(TIDIED)}
    arguments = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if not tidied & {path, *(headers.direct(path) if path.is_relative_to(build) else [])}:
            continue
        words = shlex.split(entry["command"])
        kept = []
        for word, before in zip(words, ["", *words]):
            if before == "-isystem" or re.match(r"-[ID]|-std=", word):
                kept.append(before * (before == "-isystem") + word)
        arguments[path] = kept
    return arguments


def room_of(unit, build):
    """What is looked at as one with sources that CMake has joined: a folder of ONE_UNIT, or else their target."""
    target = unit.parent.parent  # build/model/core/CMakeFiles/rxnic_core.dir/Unity/unity_0_cxx.cxx
    inside = target.relative_to(build)
    return next((folder.replace("/", "_") for folder in ONE_UNIT if inside.is_relative_to(folder)), target.stem)


def joined_units(units, build):
    """What CMake has joined becomes one unit for a target, or for a folder of ONE_UNIT. The headers that its sources
    include are read, and looked at, once. They take most of the time."""
    folder = build / "style" / "joined"
    rooms, joined = collections.defaultdict(list), {}
    for path, arguments in units.items():
        if path.parent.name == "Unity":
            rooms[room_of(path, build)].append(path)
        else:
            joined[path] = arguments
    folder.mkdir(parents=True, exist_ok=True)
    for room, paths in rooms.items():
        path = paths[0]
        if len(paths) > 1:
            path = folder / f"{room}.cpp"
            path.write_text("".join(f'#include "{part}"\n' for part in sorted(paths)))
        joined[path] = list(dict.fromkeys(word for part in paths for word in units[part]))
    return joined


class Job:
    """One file, what is run for it, and its stamp."""

    def __init__(self, name, command, parts, stamp):
        self.name, self.command, self.stamp = name, command, stamp
        digest = hashlib.sha256()
        self.bytes = 0  # of all that is looked at
        for part in parts:
            data = part.read_bytes() if isinstance(part, pathlib.Path) else part.encode()
            digest.update(len(data).to_bytes(8, "little") + data)
            self.bytes += len(data)
        self.digest = digest.hexdigest()

    def is_due(self):
        return not self.stamp.is_file() or self.stamp.read_text() != self.digest

    def passes(self):
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(self.digest)


def run(jobs, root):
    """What the tool has to say of the files; a stamp for each of them when that is nothing."""
    command = [*jobs[0].command, *(job.name for job in jobs[1:])]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode == 0:
        for job in jobs:
            job.passes()
        return ""
    return done.stdout if done.stdout.strip() else f"{done.stderr}{command[0]}: exit status {done.returncode}"


def jobs_of(tool, tree, build, program, version):
    config = tree.root / TOOLS[tool].config
    common = [version, *([config] if config.is_file() else [])]
    headers = Headers(tree, build)
    tidy = tool == "clang_tidy"
    if tidy:
        units = joined_units(translation_units(tree, build, headers), build)
    else:
        units = {tree.root / name: [] for name in files_of(tool, tree)}
    for path, arguments in units.items():
        name = str(path.relative_to(tree.root) if path.is_relative_to(tree.root) else path)
        command, parts = [program, name], [path]
        if tidy:
            command = [program, "--quiet", f"--config-file={config}", "--warnings-as-errors=*", name, "--", *arguments]
            parts = headers.all(path)
        stamp = build / "style" / tool / (name.replace("/", "+") + ".stamp")
        yield Job(name, command, [*common, *command, *parts], stamp)


def installed(tool):
    """The program and the version that it says, or nothing."""
    for name in tool.programs:
        program = shutil.which(name)
        version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program else ""
        if program and tool.version in version:
            return program, version
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--build", required=True, type=pathlib.Path, help="build folder: stamps, generated headers")
    parser.add_argument("tool", choices=TOOLS, metavar="TOOL", help=", ".join(TOOLS))
    args = parser.parse_args()
    found = installed(TOOLS[args.tool])
    if not found:
        print(f"skipped: {TOOLS[args.tool].programs[0]} is not installed")
        return SKIPPED
    jobs = list(jobs_of(args.tool, Tree(args.root), args.build.resolve(), *found))
    # The longest first: none is left to run alone when the others have ended.
    due = sorted((job for job in jobs if job.is_due()), key=lambda job: -job.bytes)
    cores = os.cpu_count()
    runs = [due[n::cores] for n in range(min(cores, len(due)))] if TOOLS[args.tool].together else [[job] for job in due]
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        said = list(pool.map(lambda jobs: run(jobs, args.root), runs))
    # clang-tidy reports a header's fault once for every source that includes it.
    lines = dict.fromkeys(line for text in said for line in text.splitlines())
    print("\n".join(lines) if lines else f"{len(jobs)} files, of which {len(due)} were looked at: nothing offends")
    return 1 if lines or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
