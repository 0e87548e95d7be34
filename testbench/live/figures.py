# SPDX-License-Identifier: Apache-2.0
"""What a simulator, or another process of its fabric, has at a moment: memory, regions, descriptors, CPU time."""
import dataclasses
import os
import pathlib
import re


class Gone(Exception):
    """The process has ended."""


@dataclasses.dataclass
class Figures:
    """What a process has now."""
    memory: float  # resident, MB
    peak: float  # the most that was resident until now, MB
    regions: int  # of mapped memory
    descriptors: int
    cpu: float  # seconds used until now


def figures(fabric, pid=None):
    """Figures of the simulator, or of the process with this ID."""
    process = pathlib.Path(f"/proc/{pid or fabric.simulator.process.pid}")
    try:
        status = (process / "status").read_text(encoding="ascii", errors="replace")
        sizes = {name: int(size) / 1024 for name, size in re.findall(r"^Vm(RSS|HWM):\s+(\d+) kB", status, re.M)}
        times = (process / "stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[11:13]
        regions = (process / "maps").read_text(encoding="utf-8", errors="replace").count("\n")
        return Figures(sizes["RSS"], sizes["HWM"], regions, len(os.listdir(process / "fd")),
                       sum(map(int, times)) / os.sysconf("SC_CLK_TCK"))
    except (OSError, KeyError) as absent:
        raise Gone from absent
