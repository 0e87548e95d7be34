# SPDX-License-Identifier: Apache-2.0
"""Reads a waveform file (VCD), cycle by cycle."""
import bisect
import re

UNKNOWN = "x"


class Vcd:
    """Signals by full name ("nic0.rx_parser.in_valid_i"), and their values.

    `kinds`: name -> (type, bits). `times`: every time stamp, in order; `final`: the last one. `cycles`: the times at
    which clk rises. `first`: name -> value at the first time stamp. `changes`: [(time, name, value)] after that.
    Numbers are int, text is str, what is not known is UNKNOWN.
    """

    def __init__(self, path):
        self.kinds, self.times, self.cycles, self.changes = {}, [], [], []
        self.first, self.final, self.comments = {}, None, []
        self._history = {}  # name -> (times, values)
        self._names = {}  # by identifier code
        text = path.read_text(encoding="ascii")
        definitions, end, body = text.partition("$enddefinitions $end\n")
        if not end:
            raise ValueError(f"{path}: no $enddefinitions")
        self._declare(definitions)
        self._read(body)

    def _declare(self, text):
        scopes = []
        for keyword, words in re.findall(r"\$(\w+)\s(.*?)\s*\$end\b", text, re.S):
            words = words.split()
            if keyword == "scope":
                scopes.append(words[1])
            elif keyword == "upscope":
                scopes.pop()
            elif keyword == "var":
                name = ".".join([*scopes, words[3]])
                if name in self.kinds:
                    raise ValueError(f"{name} is declared twice")
                self.kinds[name] = (words[0], int(words[1]))
                self._names.setdefault(words[2], []).append(name)
                if len(words) > 4 and words[4] != f"[{int(words[1]) - 1}:0]":
                    raise ValueError(f"{name}: {words[4]}, but {words[1]} bits")
            elif keyword == "comment":
                self.comments.append(" ".join(words))
        if scopes:
            raise ValueError(f"scopes left open: {scopes}")

    def _value(self, line):
        if line[0] in "01x":
            return line[1:], UNKNOWN if line[0] == "x" else int(line[0])
        value, code = line[1:].split(" ")
        if line[0] == "s":
            return code, UNKNOWN if value == "x" else value
        if line[0] != "b":
            raise ValueError(f"what is {line!r}?")
        return code, UNKNOWN if value == "x" else int(value, 2)

    def _read(self, body):
        time, dumping = None, False
        for line in body.splitlines():
            if not line:
                continue
            if line.startswith("$comment"):
                self.comments.append(line[len("$comment "):-len(" $end")])
            elif line in ("$dumpvars", "$end"):
                dumping = line == "$dumpvars"
            elif line[0] == "#":
                if time is not None and int(line[1:]) <= time:
                    raise ValueError(f"time stands still or runs back: {line}")
                time = int(line[1:])
                self.times.append(time)
            else:
                code, value = self._value(line)
                names = self._names[code]
                for name in names:
                    self._set(time, name, value, dumping)
                if value == 1 and names[0].endswith(".clk"):
                    self.cycles.append(time)
        self.final = time
        if self.cycles and self.cycles[-1] == time:
            raise ValueError("the file ends in the middle of a cycle")

    def _set(self, time, name, value, dumping):
        _, bits = self.kinds[name]
        if isinstance(value, int) and value >> bits:
            raise ValueError(f"{name}: {value} has more than {bits} bits")
        if dumping or name not in self._history:
            self.first[name] = value
            self._history[name] = ([time], [value])
            return
        times, values = self._history[name]
        if values[-1] == value or times[-1] == time:
            raise ValueError(f"#{time}: {name} is {values[-1]} already, or has changed at this time")
        times.append(time)
        values.append(value)
        self.changes.append((time, name, value))

    def at(self, name, time):
        """The value of a signal after what the file says of that time."""
        times, values = self._history[name]
        return values[bisect.bisect_right(times, time) - 1]

    def history(self, name):
        return list(zip(*self._history[name]))

    def ports(self):
        """Without their ends: "nic0.rx_parser.in"."""
        return [name[:-len("_valid_i")] for name in self.kinds if name.endswith(("_valid_i", "_valid_o"))]

    def is_input(self, port):
        return f"{port}_valid_i" in self.kinds

    def valid(self, port):
        """The name of the signal."""
        return f"{port}_valid_i" if self.is_input(port) else f"{port}_valid_o"

    def ready(self, port):
        return f"{port}_ready_o" if self.is_input(port) else f"{port}_ready_i"

    def field(self, port, name):
        return f"{port}_i.{name}" if self.is_input(port) else f"{port}_o.{name}"

    def cycles_in(self, name, value):
        """The cycles in which the signal has the value."""
        times, values = self._history[name]
        for begin, end, found in zip(times, [*times[1:], self.final], values):
            if found == value:
                yield from self.cycles[bisect.bisect_left(self.cycles, begin):bisect.bisect_left(self.cycles, end)]

    def transfers(self, port):
        """The cycles in which something passes the port."""
        return [time for time in self.cycles_in(self.valid(port), 1) if self.at(self.ready(port), time) == 1]

    def count(self, port):
        """Descriptors that pass it."""
        more = f"{port}_more"
        return sum(1 + (self.at(more, time) if more in self.kinds else 0) for time in self.transfers(port))
