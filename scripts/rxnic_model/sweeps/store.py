# SPDX-License-Identifier: Apache-2.0
"""What has been run: a line a point, in files of the folder `results`, and who may add some.

  R1  A point has ended when its line is whole. A line that a kill has cut is no line.
  R2  Each job writes a file of its own, so that jobs on several machines never share one.
  R3  One sweep is at work in a folder. Jobs of an earlier one, which was killed, end after the point that they are at.
      The next one waits for that, and runs none of their points again.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import time

from ..program import UsageError

GENERATION, RUNNING, OWNER = "generation", "jobs.lock", "sweep.lock"


class Store:
    """The results below a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.results = self.folder / "results"
        self.results.mkdir(parents=True, exist_ok=True)
        self._read = {}  # file: bytes that were read
        self.records = {}  # key: its record; one that worked wins over one that failed

    def refresh(self):
        """Reads the lines that are new: how many."""
        new = 0
        for path in sorted(self.results.glob("*.jsonl")):
            if path.stat().st_size == self._read.get(path, 0):
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                text = file.read()
            whole = text.rfind(b"\n") + 1
            self._read[path] = self._read.get(path, 0) + whole
            for line in text[:whole].splitlines():
                try:
                    record = json.loads(line)
                    key, status = record["key"], record["status"]
                except (ValueError, KeyError, TypeError):
                    continue  # (R1)
                if status == 0 or not self.ended(key):
                    self.records[key] = record
                new += 1
        return new

    def ended(self, key):
        """Whether a point has its figures."""
        return key in self.records and self.records[key]["status"] == 0

    @contextlib.contextmanager
    def owned(self, generation, wait):
        """(R3) Inside, this process is the only sweep of the folder. `wait` is called when others still run."""
        with (self.folder / OWNER).open("a", encoding="utf-8") as owner:
            for again in range(5, -1, -1):  # a job that looks for its owner has it for a moment
                try:
                    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not again:
                        raise UsageError(f"{self.folder}: found another rxnic sweep at work in it; expected none"
                                         ) from None
                    time.sleep(0.05)
            self.begin(generation)
            with (self.folder / RUNNING).open("a", encoding="utf-8") as running:
                try:
                    fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    wait()
                    fcntl.flock(running, fcntl.LOCK_EX)
            yield

    def begin(self, generation):
        """Jobs of another generation end after their point."""
        new = self.folder / (GENERATION + ".new")
        new.write_text(generation, encoding="utf-8")
        os.replace(new, self.folder / GENERATION)

    def generation(self):
        return (self.folder / GENERATION).read_text(encoding="utf-8")

    @contextlib.contextmanager
    def joined(self):
        """For a job: the next sweep waits for its end."""
        with (self.folder / RUNNING).open("a", encoding="utf-8") as running:
            fcntl.flock(running, fcntl.LOCK_SH)
            yield

    def owner_lives(self):
        """Whether a sweep is at work here. For jobs on the machine of the sweep."""
        with (self.folder / OWNER).open("a", encoding="utf-8") as owner:
            try:
                fcntl.flock(owner, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def noted(self, name):
        """Keys of what a job has run already."""
        path = self.results / f"{name}.jsonl"
        keys = set()
        for line in path.read_bytes().splitlines() if path.is_file() else []:
            try:
                keys.add(json.loads(line)["key"])
            except (ValueError, KeyError, TypeError):
                continue  # (R1)
        return keys

    def writer(self, name):
        return Writer(self.results / f"{name}.jsonl")


class Writer:
    """Adds records to a file: each one is whole for others as soon as it is written."""

    def __init__(self, path):
        self._file = path.open("ab+")
        if self._file.tell() > 0:
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")  # behind a line that a kill has cut

    def add(self, record):
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
