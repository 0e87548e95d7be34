# SPDX-License-Identifier: Apache-2.0
"""What the commands of this folder have in common: their help, and how a wrong command line is refused."""
import argparse
import importlib
import os
import subprocess
import sys

from .program import UsageError

DEBIAN_PYTHON = "/usr/bin/python3"  # the one that finds the modules of Debian packages


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog):
        super().__init__(prog, max_help_position=28, width=120)


class CommandParser(argparse.ArgumentParser):
    """The arguments of `rxnic NAME`. The headings are those of other commands, by which completion finds options."""

    def __init__(self, name, description, epilog=""):
        super().__init__(prog=f"rxnic {name}", description=description, epilog=epilog, formatter_class=_Help,
                         allow_abbrev=False)
        self._positionals.title = "Positionals"
        self._optionals.title = "Options"

    def error(self, message):
        raise UsageError(f"{message} ({self.prog} --help)")


def need(module, package):
    """The Python module of a Debian package. Raises UsageError, which says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UsageError(f"found no {module}; expected it (apt-get install {package})") from None


def need_or_change(module, package):
    """As need(), for a command before it begins. Where this Python does not find the module and Debian's does, that one
    runs the command, in the place of this process."""
    try:
        return need(module, package)
    except UsageError:
        if os.path.realpath(sys.executable) == os.path.realpath(DEBIAN_PYTHON) or not os.access(DEBIAN_PYTHON, os.X_OK):
            raise
        has_it = subprocess.run([DEBIAN_PYTHON, "-c", f"import {module}"], capture_output=True, check=False)
        if has_it.returncode != 0:
            raise
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
