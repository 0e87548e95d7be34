# SPDX-License-Identifier: Apache-2.0
"""How much an attack slows an innocent pair, beside an ordinary neighbour: for scripts/soak.

The pair (innocent.cpp) makes rounds without a pause: a request, and a message there and back. Its rate is rounds per
second of the simulator's time. This is what the simulator computes while a round waits for it, for whomever, and what
it sleeps then beyond a millisecond. A wait of either of them for a processor does not count (/proc/PID/schedstat). So
an attack that burns processors is the scheduler's business, and the rate is about the same on a busy machine.

The simulator is one thread and a NIC has one of each pipe. So a neighbour that sends has its share of both, the larger
the more it sends. An attack is compared with NEIGHBOUR, one of the soak's own pairs. This neighbour does no wrong and
sends a message at a time. (Beside a neighbour that keeps its queues full, as ibv_srq_pingpong, the pair has a third of
that.) A round of measurement is a window in which the pair is alone, and one beside an attack, in every fourth round
beside the neighbour. The median of an attack's windows, and of those of all attacks, has to be KEPT of the neighbour's
or more. A round of the pair that is under way at a window's end is waited for, as long as it takes.
"""
import os
import random
import statistics
import struct
import time

import live
from soak_attacks import ATTACKS, beside_innocents, until

NEIGHBOUR = ["ibv_rc_pingpong", "-g", "2", "-n", "100000000"]
KEPT = 2 / 3
ALONE, BESIDE = 0.3, 2.0  # seconds of a window; an attack that goes on longer is ended
ROUNDS, EVERY = 3, 4  # rounds each time that the simulator is at rest; each so-manieth one is beside the neighbour
LEAST = 3  # windows of an attack, and of the neighbour, for a verdict
HAS_WAITS = os.path.exists("/proc/self/schedstat")  # how long a process has waited for a processor


class Own:
    """The soak, for one attack: what that starts is known."""

    def __init__(self, soak):
        self.soak, self.started = soak, []

    def __getattr__(self, name):
        return getattr(self.soak, name)

    def start(self, *command, **environment):
        self.started.append(self.soak.start(*command, **environment))
        return self.started[-1]


class Slowdown:
    """The windows, and what they say."""

    def __init__(self, soak):
        self.soak = soak
        self.chance = random.Random(f"{soak.options.seed}/slowdown")
        self.names = [name for name in soak.options.attacks if ATTACKS[name].run and ATTACKS[name].measured]
        self.order = []
        self.rounds = 0
        self.alone, self.neighbour = [], []  # rates
        self.beside = {name: [] for name in self.names}

    def measure(self):
        """A few rounds of measurement, while nothing else uses the simulator."""
        for _ in range(self.soak.scaled(ROUNDS) if self.names and HAS_WAITS else 0):
            yield from self.round()
            self.rounds += 1

    def round(self):
        soak, file = self.soak, self.soak.bench.folder / "rounds"
        file.unlink(missing_ok=True)
        pair = soak.start("innocent", soak.options.programs / "innocent", soak.fabric.simulator.process.pid, file)
        yield from until(lambda: pair.ended() or "running" in pair.text(), live.PATIENCE)
        begin = self.look(file)
        yield from until(pair.ended, ALONE)
        yield from self.window(pair, file, begin, self.alone)
        begin = self.look(file)
        if self.rounds % EVERY == 0:
            yield from beside_innocents(soak, NEIGHBOUR, BESIDE)
            yield from self.window(pair, file, begin, self.neighbour)
        else:
            self.order = self.order or self.chance.sample(self.names, len(self.names))
            name = self.order.pop()
            soak.alive.append(name)
            yield from self.attack(name)
            yield from self.window(pair, file, begin, self.beside[name])
            soak.alive.remove(name)
        soak.bench.expect(not pair.ended(), f"the innocent pair has ended: {pair.story()}")
        good = not pair.ended()
        pair.kill()
        if good:
            soak.forget(pair)

    def attack(self, name):
        """One attack until its end, but no longer than a window."""
        soak, end = Own(self.soak), time.monotonic() + BESIDE
        attack = ATTACKS[name].run(soak, random.Random(self.chance.getrandbits(64)))
        for _ in attack:
            yield
            if time.monotonic() > end:
                attack.close()
                for program in soak.started:
                    program.kill()
                    if program in soak.fabric.programs:
                        soak.forget(program)
                return

    def window(self, pair, file, begin, rates):
        """Ends one: a round that waits since then belongs to it, however long it takes."""
        now = self.look(file)
        yield from until(lambda: pair.ended() or self.look(file)[0] > now[0] + 1, live.PATIENCE)
        rounds, spent = (after - before for after, before in zip(self.look(file), begin))
        if not pair.ended():
            rates.append(rounds / max(spent, 1) * 1e9)

    @staticmethod
    def look(file):
        """Rounds, and the nanoseconds that they took."""
        return struct.unpack("=QQ", file.read_bytes()) if file.exists() else (0, 0)

    def results(self):
        """The lines of the table, whose first row is its head, and what is wrong, in words."""
        if not HAS_WAITS:
            return [], ["not measured: this kernel has no /proc/PID/schedstat"], []
        if not self.alone or not self.neighbour:
            return [], ["not measured: no window"], []
        alone, neighbour = statistics.median(self.alone), statistics.median(self.neighbour)
        rows = [["the innocent pair", "windows", "rounds/s", "of alone", "of beside the neighbour", ""],
                ["alone", len(self.alone), f"{alone:.0f}", "1.00", "-", ""],
                [f"beside {NEIGHBOUR[0]}", len(self.neighbour), f"{neighbour:.0f}", f"{neighbour / alone:.2f}", "1.00",
                 ""]]
        wrong = []
        every = [rate for rates in self.beside.values() for rate in rates]
        for name, rates in [*self.beside.items(), ("all attacks", every)]:
            if not rates:
                continue
            rate = statistics.median(rates)
            judged = min(len(rates), len(self.neighbour)) >= LEAST
            if judged and rate < KEPT * neighbour:
                wrong.append(f"beside {name} an innocent pair has {rate:.0f} rounds/s, {rate / neighbour:.3f} of what "
                             f"it has beside {NEIGHBOUR[0]}; expected at least {KEPT:.2f}")
            rows.append([f"beside {name}" if name in self.beside else name, len(rates), f"{rate:.0f}",
                         f"{rate / alone:.2f}", f"{rate / neighbour:.2f}", "" if judged else "too few windows"])
        return rows, [], wrong
