# SPDX-License-Identifier: Apache-2.0
"""Line and toggle coverage of the RTL, from what verilated_cover.h and verilated_toggles.h write."""
import pathlib
import re
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bridge" / "rtl"))
import twins  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXCLUSIONS = HERE / "coverage.toml"
LINE, TOGGLE = "lines", "toggles"
KINDS = {"v_line": LINE, "v_branch": LINE}
RECORD = re.compile(r"C '(.*)' (\d+)$")
NOT_COUNTED = re.compile(r"verilator coverage_off(.*?)verilator coverage_on", re.S)
PARAMETERS = re.compile(r"\b(?:localparam|parameter)\b([^;]*)")
NAMED = re.compile(r"\b(\w+)\s*=")
LOOP = re.compile(r"\bunnamedblk\d")
DECLARED = re.compile(r"\b(\w+)(?:\s*\[[^]]*\])?\s*[,;]")


class Coverage:
    """What was hit of a block, over all of its configurations. A point is (file, line, name); of a toggle the name
    alone, block.signal[bit]."""

    def __init__(self, block):
        self.block = block
        self.lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in twins.files(block)}
        with EXCLUSIONS.open("rb") as file:
            self.table = tomllib.load(file).get(block, {})
        text = "\n".join("\n".join(lines) for lines in self.lines.values())
        self.not_counted = {name for part in NOT_COUNTED.findall(text) for name in DECLARED.findall(part)}
        self.not_counted |= {name for part in PARAMETERS.findall(text) for name in NAMED.findall(part)}
        self.hits = {LINE: {}, TOGGLE: {}}
        self.excluded = {LINE: {}, TOGGLE: {}}  # the point: why
        self.unused = []                        # exclusions that fit nothing that was missed

    def flags(self):
        """Flags for scripts/build_rtl. Where Verilator 5.006 splits an always_comb it misses lines that are reached."""
        return [] if "splits" in self.table else ["--verilator=-fno-split", "--verilator=-fno-reorder"]

    def add(self, folder):
        """The files of a folder."""
        for file in sorted(folder.glob("*.dat")):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                self.add_record(line)
        for file in sorted(folder.glob("*.toggles")):
            for line in file.read_text(encoding="utf-8").splitlines():
                self.add_bit(*line.split())

    def add_bit(self, name, hits):
        scope, *parts = re.split(r"\W", name)
        signal = scope == self.block and not LOOP.search(name)  # not of a package, nor what a loop counts with
        if signal and not self.not_counted & set(parts):
            self.count(TOGGLE, ("", 0, name), int(hits))

    def add_record(self, line):
        found = RECORD.match(line)
        if not found:
            return
        fields = dict(part.split("\2", 1) for part in found[1].split("\1") if "\2" in part)
        kind = KINDS.get(fields.get("page", "").split("/")[0])
        file = pathlib.PurePath(fields.get("f", "")).name
        if kind is None or file not in self.lines:
            return
        self.count(kind, (file, int(fields["l"]), f"{fields['n']} {fields['o']}"), int(found[2]))

    def count(self, kind, point, hits):
        self.hits[kind][point] = self.hits[kind].get(point, 0) + hits

    def exclude(self):
        """Takes out what coverage.toml excludes; what was hit nevertheless is counted."""
        for kind in (LINE, TOGGLE):
            for entry in self.table.get(kind, []):
                fits = [point for point in self.missed(kind) if self.fits(entry, kind, *point)]
                self.excluded[kind].update({point: entry["because"] for point in fits})
                if not fits:
                    self.unused.append(entry)

    def too_many(self):
        """How many toggles more are left out than coverage.toml says: something toggles no longer, and is excused."""
        return max(len(self.excluded[TOGGLE]) - self.table.get("most", 0), 0)

    def fits(self, entry, kind, file, line, name):
        if kind == TOGGLE:
            return re.fullmatch(entry["name"], name) is not None
        return entry["line"] in self.lines[file][line - 1]

    def missed(self, kind):
        return [point for point, hits in sorted(self.hits[kind].items())
                if not hits and point not in self.excluded[kind]]

    def figure(self, kind):
        """(hit, of how many that count)"""
        count = len(self.hits[kind]) - len(self.excluded[kind])
        return count - len(self.missed(kind)), count

    def text(self, kind):
        hit, count = self.figure(kind)
        left_out = len(self.excluded[kind])
        reasons = len(set(self.excluded[kind].values()))
        besides = f"; {left_out} left out for {reasons} reason{'s' * (reasons > 1)}" if left_out else ""
        return f"{kind} {100 * hit / max(count, 1):.1f} % ({hit} of {count}{besides})"
