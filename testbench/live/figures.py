# SPDX-License-Identifier: Apache-2.0
"""What a simulator has at a moment: memory, descriptors, CPU time."""
import dataclasses
import os
import pathlib
import re


class Gone(Exception):
    """The simulator has ended."""


@dataclasses.dataclass
class Figures:
    """What the simulator has now."""
    memory: float  # resident, MB
    peak: float  # the most that was resident until now, MB
    descriptors: int
    cpu: float  # seconds used until now


def figures(fabric):
    process = pathlib.Path(f"/proc/{fabric.simulator.process.pid}")
    try:
        status = (process / "status").read_text(encoding="ascii", errors="replace")
        sizes = {name: int(size) / 1024 for name, size in re.findall(r"^Vm(RSS|HWM):\s+(\d+) kB", status, re.M)}
        times = (process / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[11:13]
        return Figures(sizes["RSS"], sizes["HWM"], len(os.listdir(process / "fd")),
                       sum(map(int, times)) / os.sysconf("SC_CLK_TCK"))
    except (OSError, KeyError) as absent:
        raise Gone from absent
