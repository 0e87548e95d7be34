# SPDX-License-Identifier: Apache-2.0
"""Which blocks have RTL, and for which configurations it is built and tested, for the scripts."""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


def blocks():
    return sorted(path.name.removesuffix("_twin.cpp") for path in HERE.glob("*_twin.cpp"))


class Configuration:
    """Parameters of a module: those that decide what it does, and those that only bound what it can hold."""

    def __init__(self, block, deciding, bounds):
        self.block, self.deciding, self.bounds = block, deciding, bounds

    @property
    def parameters(self):
        """["LatencyCycles=4", ...]"""
        return self.deciding + self.bounds

    @property
    def name(self):
        """As tests are named: Latency4Sges1Bytes64."""
        return "".join(re.sub(r"(Cycles|PerCycle)?=", "", item) for item in self.deciding)

    @property
    def random_test(self):
        """A filter for the random lockstep test in this configuration."""
        return f"*ModelAndRtlAgreeOnRandomPackets/{self.name}"

    @property
    def settings(self):
        """The same for the model: ["--set", "grh_scatter.latency_cycles=4", ...]"""
        words = []
        for item in self.deciding:
            name, value = item.split("=")
            words += ["--set", f"{self.block}.{re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()}={value}"]
        return words


def configurations(block):
    """Those that CMakeLists.txt lists: foreach(parameters IN ITEMS "A=1;B=2" ...) rxnic_twin(BLOCK PARAMETERS ...)."""
    text = (HERE / "CMakeLists.txt").read_text(encoding="utf-8")
    loop = re.search(r"foreach\(parameters IN ITEMS ([^)]*)\)\s*"
                     rf"rxnic_twin\({block} PARAMETERS \${{parameters}} ([^)]*)\)", text)
    if loop is None:
        raise SystemExit(f"{block}: found no configurations in {HERE / 'CMakeLists.txt'}")
    return [Configuration(block, items.split(";"), loop[2].split()) for items in re.findall(r'"([^"]+)"', loop[1])]
