# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end checks have in common: starting the program, finding traces, failing and skipping.

A check is a function that takes a Bench and calls its expect(); a script's main() is run(checks, doc). Exit codes:
0 all is well, 1 something is not (each failure is printed), 77 skipped (what is absent is printed).
"""
import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "traces" / "sample.pcap"
CAPTURES = ROOT.parent / "shared" / "captures"
TIMEOUT = 600  # seconds; far above what anything takes


class Skip(Exception):
    """What a check needs is absent; the message says what."""


class Bench:
    """A folder of its own, the program, and the list of what went wrong."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)
        self.failures = []
        self.done = 0

    def rxnic(self, *arguments, **how):
        return self.start(self.options.rxnic, *arguments, **how)

    def start(self, *command, **how):
        """Runs a command in the check's folder; standard output and error as text."""
        how = {"timeout": TIMEOUT, "cwd": self.folder} | how
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace",
                              check=False, **how)

    def replay(self, trace, *arguments, out="run"):
        """A quiet replay that must work: its report."""
        done = self.rxnic("replay", trace, "--quiet", "--out", out, *arguments)
        self.expect(done.returncode == 0, f"{trace}: exit {done.returncode}: {done.stderr.strip()}")
        if done.returncode != 0:
            return None
        return json.loads((self.folder / out / "report.json").read_text(encoding="utf-8"))

    def sides(self, trace):
        """The RDMA addresses of a trace: the program names them when it is asked for another one."""
        done = self.rxnic("replay", trace, "--quiet", "--receiver", "192.0.2.1", "--out", "sides")
        named = re.search(r"expected an address of the trace: (.+)", done.stderr)
        self.expect(done.returncode == 2 and named, f"{trace}: names no addresses: {done.stderr.strip()}")
        return named[1].split(", ") if named else []

    def expect(self, holds, otherwise):
        self.done += 1
        if not holds:
            self.failures.append(otherwise)
            print(f"FAILED: {otherwise}", file=sys.stderr)

    def expect_equal(self, found, expected, what):
        self.expect(found == expected, f"{what}: found {found!r}; expected {expected!r}")


def script(name):
    """A program of scripts/, to call its parts."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(made)
    return made


def shared_captures(*folders):
    """The captures beside the project, those in `folders` only."""
    found = sorted(path for folder in folders for path in (CAPTURES / folder).glob("*.pcap"))
    if not found:
        raise Skip(f"no captures in ../shared/captures/{{{','.join(folders)}}}")
    return found


def parser_for(doc, checks):
    epilog = "checks:\n" + "\n".join(f"  {name:<10} {check.__doc__}" for name, check in checks.items())
    parser = argparse.ArgumentParser(description=doc, epilog=epilog,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rxnic", required=True, type=pathlib.Path, metavar="FILE", help="the program")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="default: all of those below")
    return parser


def run(parser, checks):
    """Runs the checks that the command line names; the exit code."""
    options = parser.parse_args()
    options.rxnic = options.rxnic.resolve()
    if not options.rxnic.is_file():
        parser.error(f"--rxnic: found nothing at {options.rxnic}; expected the program")
    unknown = [name for name in options.checks if name not in checks]
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; expected {', '.join(checks)}")
    failed, skipped, total = 0, 0, 0
    for name in options.checks or checks:
        with tempfile.TemporaryDirectory(prefix=f"rxnic-{name}-") as folder:
            bench = Bench(options, folder)
            try:
                checks[name](bench)
            except Skip as absent:
                print(f"{name}: skipped: {absent}")
                skipped += 1
                continue
            # A check that looked at nothing shows nothing.
            bench.expect(bench.done > 0, f"{name}: nothing was checked")
            print(f"{name}: {bench.done} expectations, {len(bench.failures)} failed")
            failed += len(bench.failures)
            total += bench.done
    if failed:
        return 1
    return SKIPPED if skipped and not total else 0
