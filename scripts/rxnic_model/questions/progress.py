# SPDX-License-Identifier: Apache-2.0
"""How far a question is, on standard error: a line that is renewed on a terminal, now and then one elsewhere."""
import sys
import threading
import time

from ..runs import replay

SILENT_S = 3  # a shorter question says nothing
PIPE_S = 15  # between two lines that do not go to a terminal


class Progress:
    def __init__(self, total, what, quiet):
        self.total, self.what, self.quiet = total, what, quiet
        self.done = 0
        self.began = self.shown = time.monotonic()
        self.line = ""
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.line and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def counted(self, **call):
        """replay(**call), counted when it has ended."""
        try:
            return replay(**call)
        finally:
            with self.lock:
                self.done += 1
                self.show()

    def show(self):
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if self.quiet or now - self.began < SILENT_S or now - self.shown < (0.2 if terminal else PIPE_S):
            return
        self.shown = now
        left = (now - self.began) / self.done * (self.total - self.done)
        self.line = f"rxnic: {self.what}: {self.done} of {self.total} runs, {left:.0f} s left"
        print(f"\r\033[K{self.line}" if terminal else self.line, end="" if terminal else "\n", file=sys.stderr,
              flush=True)
