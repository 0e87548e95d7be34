# SPDX-License-Identifier: Apache-2.0
"""What the commands of this folder have in common: their help, and how a wrong command line is refused."""
import argparse
import importlib

from .program import UsageError


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
