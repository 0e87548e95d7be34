# SPDX-License-Identifier: Apache-2.0
"""The command line of `rxnic sweep`."""
import pathlib

from ..command_line import CommandParser
from ..program import UsageError

ABOUT = "Run the model at many points, and make one table of all figures."


def main(arguments):
    parser = CommandParser("sweep", ABOUT)
    parser.add_argument("page", metavar="SWEEP.toml", help="what is swept")
    options = parser.parse_args(arguments)
    if not pathlib.Path(options.page).is_file():
        raise UsageError(f"{options.page}: found nothing; expected a page of a sweep")
    raise UsageError(f"{options.page}: nothing runs it yet")
