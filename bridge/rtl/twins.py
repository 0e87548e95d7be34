# SPDX-License-Identifier: Apache-2.0
"""Which blocks have RTL, and for which configurations it is built and tested, for the scripts."""
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
RTL = HERE.parents[1] / "rtl"
LIB = RTL / "lib"
PARAMS = HERE.parents[1] / "model" / "params" / "params.toml"
PORTS = HERE.parents[1] / "model" / "ports"


def blocks():
    """Modules of rtl/ that are a block, not a part of one."""
    return sorted(path.stem for path in RTL.glob("*.sv") if (PORTS / f"{path.stem}_ports.h").is_file())


def files(block):
    """What a module is written in, of rtl/: its file, and those that it has modules of, and so on."""
    found = [RTL / f"{block}.sv"]
    for file in found:  # which grows meanwhile
        named = [f"{name}.sv" for name in re.findall(r"^ *(\w+) (?:#\(|\w+ \()", file.read_text("utf-8"), re.M)]
        there = [folder / name for name in named for folder in (RTL, LIB) if (folder / name).is_file()]
        found += [path for path in dict.fromkeys(there) if path not in found]
    return found


def packages():
    """The packages of rtl/, in the order in which they are read; rxnic_pkg is the only one that others need."""
    return [RTL / "rxnic_pkg.sv", *sorted(set(RTL.glob("*_pkg.sv")) - {RTL / "rxnic_pkg.sv"})]


# Parameters of a module that are no parameters of its block.
OTHERS = {"UdTooLong": "transport_checker.ud_too_long", "WqeError": "transport_checker.wqe_error_status",
          "Credits": "ack_generator.credits", "Rendezvous": "requester.rendezvous",
          "DmaDepth": "dma_engine.queue_depth", "ClockPeriodPs": "nic.clock_period_ps"}


RTL_ONLY = {"TagStore"}  # it decides how, and not what


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
        """As tests are named, by the first three: Latency4Sges1Bytes64."""
        return "".join(re.sub(r"(Cycles|PerCycle)?=", "", item) for item in self.deciding[:3])

    @property
    def random_test(self):
        """A filter for the random lockstep test in this configuration."""
        return f"*ModelAndRtlAgreeOnRandomPackets/{self.name}"

    @property
    def settings(self):
        """These settings for the model: ["--set", "grh_scatter.latency_cycles=4", ...]"""
        described = tomllib.loads(PARAMS.read_text(encoding="utf-8"))
        words = []
        for item in self.deciding:
            name, value = item.split("=")
            if name in RTL_ONLY:
                continue
            key = OTHERS.get(name, f"{self.block}." + re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
            section, name = key.split(".")
            if "values" in described[section][name]:
                value = described[section][name]["values"][int(value)]
            elif isinstance(described[section][name]["default"], bool):
                value = "true" if int(value) else "false"
            words += ["--set", f"{key}={value}"]
        return words


def configurations(block):
    """Those of rtl/CMakeLists.txt: foreach(parameters IN ITEMS "A=1;B=2" ...) rxnic_twin(BLOCK PARAMETERS ...)."""
    text = (RTL / "CMakeLists.txt").read_text(encoding="utf-8").replace("\\\n", "")
    loop = re.search(r"foreach\(parameters IN ITEMS\s+([^)]*)\)\s*"
                     rf"rxnic_twin\({block} PARAMETERS \${{parameters}} ?((?:(?!PARTS)[^)])*)", text)
    if loop is None:
        raise SystemExit(f"{block}: found no configurations in {RTL / 'CMakeLists.txt'}")
    return [Configuration(block, items.split(";"), loop[2].split()) for items in re.findall(r'"([^"]+)"', loop[1])]
