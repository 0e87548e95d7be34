# SPDX-License-Identifier: Apache-2.0
"""What is varied: NAME=LEAST..GREATEST:STEP. NAME is a parameter, a number of the synthesised host (host.depth), or one
of a workload's page (workload.senders.qps).

  R1  STEP is a number that is added, or xN: each value is N times the one before. Default: every value of the range; of
      a power of two every power.
  R2  Without a range the parameter's own is taken. A range beyond it is refused.
"""
import re

from ..figures import suggestion
from ..program import UsageError
from .subject import Point

EXPECTED = "expected NAME, NAME=LEAST..GREATEST or NAME=LEAST..GREATEST:STEP, as dma_engine.tags=1..64:x2"
HOST_NUMBERS = {"depth": (1, 32768), "buffer": (1, 1 << 20), "sges": (1, 32), "tags": (1, 1 << 20),
                "cqes": (1, 1 << 22)}


class Axis:
    """`values` are all that may be asked, from the least on; with `choices` also those of a switch or a policy."""

    def __init__(self, text, subject, option="--vary", choices=False):
        parameters = subject.parameters()
        found = re.fullmatch(r"([a-z_0-9.]+)(?:=(\d+)\.\.(\d+)(?::(x?)(\d+))?)?", text)
        if not found:
            raise UsageError(f"{option}: found '{text}'; {EXPECTED}")
        self.name, least, most, factor, step = found.groups()
        self.host = self.workload = ""
        if self.name.startswith("workload."):
            self.workload = self.name.removeprefix("workload.")
        elif self.name.startswith("host.") and self.name not in parameters:
            self.host = self.name.removeprefix("host.")
        known = parameters.get(self.name)
        if self.workload:
            limits, powers = self._of_workload(subject.workload_keys(), least, option), False
        elif self.host:
            if self.host not in HOST_NUMBERS:
                raise UsageError(f"{option}: found '{self.name}'; expected host. and one of {', '.join(HOST_NUMBERS)}, "
                                 "or a parameter of rxnic params")
            limits, powers = HOST_NUMBERS[self.host], False
        elif known is None:
            raise UsageError(f"{option}: found '{self.name}'; expected a parameter of rxnic params"
                             f"{suggestion(self.name, list(parameters))}")
        elif isinstance(known["value"], (bool, str)) and choices and not least:
            self.unit, self.now = "", known["value"]
            self.least = self.most = None
            self.values = [False, True] if isinstance(known["value"], bool) else list(known["range"])
            return
        elif isinstance(known["value"], (bool, str)):
            raise UsageError(f"{option}: found '{self.name}', which is no number; expected one that is")
        else:
            limits, powers = known["range"], known["power_of_two"]
        self.unit = known["unit"] if known else ""
        self.now = known["value"] if known else None
        self.least, self.most = (int(least), int(most)) if least else limits
        if not limits[0] <= self.least < self.most <= limits[1]:
            raise UsageError(f"{option}: {self.name}: found {self.least}..{self.most}; expected a range within "
                             f"{limits[0]}..{limits[1]}")
        self.values = self._values(powers, factor, int(step) if step else 1, option)

    def _of_workload(self, keys, least, option):
        """The limits of a key of the workload."""
        known = keys.get(self.workload)
        if known is None:
            raise UsageError(f"{option}: found '{self.name}'; expected a key of rxnic workload --keys, of a workload"
                             f"{suggestion(self.workload, list(keys))}")
        if known.get("type") != "integer" or not least:
            raise UsageError(f"{option}: found '{self.name}'; expected a whole number with its range, as "
                             f"{self.name}=1..64:x2")
        return known["range"]

    def _values(self, powers, factor, step, option):
        if factor == "x" or powers:
            times = step if factor == "x" else 2
            if times < 2 or powers and times & (times - 1):
                raise UsageError(f"{option}: {self.name}: found the step x{times}; expected a power of two, from x2 on"
                                 if powers else f"{option}: {self.name}: found the step x{times}; expected x2 or more")
            first = max(self.least, 1)
            if powers:
                first = 1 << (first - 1).bit_length()
            values = [first]
            while values[-1] * times <= self.most:
                values.append(values[-1] * times)
            return values
        if step < 1:
            raise UsageError(f"{option}: {self.name}: found the step {step}; expected 1 or more")
        return range(self.least, self.most + 1, step)

    def point(self, value):
        if self.workload:
            return Point(workload={self.workload: value})
        return Point(host={self.host: value}) if self.host else Point({self.name: value})


def spread(low, high, count):
    """At most `count` whole numbers strictly between two, each as many times the one before."""
    found = []
    for n in range(1, count + 1):
        share = n / (count + 1)
        base = max(low, 1)
        value = round(base * (max(high, 1) / base) ** share) if low >= 0 else round(low + (high - low) * share)
        if low < value < high and value not in found:
            found.append(value)
    return found
