# SPDX-License-Identifier: Apache-2.0
"""The commands of rxnic that are written in Python; `rxnic NAME ARGUMENT...` starts python3 with this folder.

A command is a module with main(arguments), which returns the exit status. It raises UsageError for a mistake of the
user (exit 2), RunError for a run that failed.
"""
import importlib
import os
import pathlib
import signal
import sys

QUESTIONS = ("sensitivity", "why", "find", "pareto")
COMMANDS = {"sweep": "rxnic_model.sweeps.command",  # its name: the module
            **{name: f"rxnic_model.questions.{name}" for name in QUESTIONS}}


def main():
    if sys.version_info < (3, 11):
        print(f"rxnic: found Python {sys.version.split()[0]}; expected 3.11 or later (apt-get install python3)",
              file=sys.stderr)
        return 2
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
    from rxnic_model.program import RunError, UsageError  # pylint: disable=import-outside-toplevel
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        print(f"rxnic: found '{name}'; expected one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        return importlib.import_module(COMMANDS[name]).main(sys.argv[2:])
    except UsageError as wrong:
        print(f"rxnic: {name}: {wrong}", file=sys.stderr)
        return 2
    except RunError as failed:
        print(f"rxnic: {name}: {failed}", file=sys.stderr)
        return failed.status if 0 < failed.status < 126 else 1
    except BrokenPipeError:  # as of `rxnic ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
