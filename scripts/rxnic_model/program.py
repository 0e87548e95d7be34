# SPDX-License-Identifier: Apache-2.0
"""The program rxnic: where it is, how it is started, what it says when it fails."""
import functools
import json
import os
import pathlib
import shutil
import subprocess

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]
PLACES = [SCRIPTS.parent / "build" / "release" / "bridge" / "rxnic" / "rxnic",  # of a source tree
          SCRIPTS.parent / "build" / "dev" / "bridge" / "rxnic" / "rxnic",
          SCRIPTS / ".." / ".." / ".." / "bin" / "rxnic"]  # of PREFIX/share/rxnic/scripts


class UsageError(Exception):
    """A mistake of the user: what was found and what is expected."""


class RunError(Exception):
    """A run that failed: `message` is what the program said, `status` its exit status (negative: of a signal)."""

    def __init__(self, message, status):
        super().__init__(message)
        self.message = message
        self.status = status

    def __reduce__(self):
        return RunError, (self.message, self.status)


def find_program(program=None):
    """The program: `program`, or what the variable RXNIC names, or that of build/release, of build/dev, or an installed
    one. Raises UsageError."""
    chosen = program or os.environ.get("RXNIC")
    if chosen:
        if not os.access(chosen, os.X_OK) or os.path.isdir(chosen):
            raise UsageError(f"found no program at {chosen}; expected rxnic")
        return os.path.abspath(chosen)
    for place in PLACES:
        if place.is_file():
            return str(place)
    installed = shutil.which("rxnic")
    if installed:
        return installed
    raise UsageError(f"found no program at {PLACES[0]}; expected it built (scripts/build release), or RXNIC=FILE")


def text_of(value):
    """A value as the command line takes it: True is on, and a whole number has no point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def options_of(config=None, set=None, seed=None, options=(), **flags):
    """The options of a run as arguments. `set` maps section.key to a value. Among `flags`, pace="line-rate" is
    --pace line-rate, step_all=True is --step-all, and a list is an option that is given several times."""
    arguments = []
    if config is not None:
        arguments += ["--config", str(config)]
    for key, value in (set or {}).items():
        arguments += ["--set", f"{key}={text_of(value)}"]
    if seed is not None:
        arguments += ["--seed", text_of(seed)]
    for name, value in flags.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(option)
            elif one is not None and one is not False:
                arguments += [option, text_of(one)]
    return arguments + [str(option) for option in options]


def message_of(stderr, status):
    """What a failed program said, without its name; the signal that ended it when it said nothing."""
    lines = [line.removeprefix("rxnic: ") for line in stderr.strip().splitlines()]
    said = "\n".join(line for line in lines if line)
    if said:
        return said
    return f"rxnic was ended by signal {-status}" if status < 0 else f"rxnic ended with status {status}"


def start(*arguments, program=None, **how):
    """Runs `rxnic ARGUMENT...`; standard output as text. Raises RunError with what it said."""
    done = subprocess.run([find_program(program), *map(str, arguments)], capture_output=True, text=True,
                          errors="replace", check=False, **how)
    if done.returncode != 0:
        raise RunError(message_of(done.stderr, done.returncode), done.returncode)
    return done.stdout


@functools.cache
def counters(program):
    """`rxnic counters --json`."""
    return json.loads(start("counters", "--json", program=program))


@functools.cache
def parameters(program):
    """section.key of each parameter: what `rxnic params --json` says about it."""
    found = json.loads(start("params", "--json", program=program))
    return {f"{section}.{key}": one for section, keys in found.items() for key, one in keys.items()}


@functools.cache
def version(program):
    """As `rxnic --version` prints it."""
    return start("--version", program=program).strip()
