#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conventions of the tree, each a check that prints what offends and where.

usage: check_style.py [--root DIR] CHECK...     (or `all`)

Exits 0 when all is well, 1 when something offends, 77 when a tool that the check needs is not installed.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import comment_words
import rules_covered

SKIPPED = 77
TOP_LEVEL = {"model", "rtl", "bridge", "testbench", "traces", "scripts", "CMakeLists.txt", "CMakePresets.json",
             "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"}
LIB_TEST = "testbench/cosim/rtl_lib_tb.sv"  # of rtl/lib
# What a floor may include besides itself and what those include in turn; the longest prefix of a path is its floor.
FLOORS = {
    "model/params": [],
    "model/types": ["model/params"],
    "model/core": ["model/types"],
    "model/engine": ["model/types"],
    "model/ports": ["model/engine", "model/core"],
    "model/blocks": ["model/ports"],
    "model/nic": ["model/blocks"],
    "traces": ["model/types"],
    "model/system": ["model/nic", "traces"],
    "model/systemc": ["model/system"],
    "bridge/channel": ["model/types"],
    "bridge/verbs": ["bridge/channel"],
    "bridge/driver": ["bridge/channel", "model/nic"],
    "bridge/live": ["bridge/driver"],
    "bridge/cm": ["bridge/verbs"],
    "bridge/device_files": ["bridge/cm"],
    "bridge/dpi": ["bridge/channel", "model/core"],
    "bridge/rtl": ["model/system", "bridge/dpi"],
    "bridge/rxnic/output": ["model/system"],
    "bridge/rxnic/report": ["model/system"],
    "bridge/rxnic/events": ["model/system"],
    "bridge/rxnic/explain": ["bridge/rxnic/events"],
    "bridge/rxnic/timeline": ["bridge/rxnic/explain"],
    "bridge/rxnic/annotate": ["bridge/rxnic/explain"],
    "bridge/rxnic/page": ["bridge/rxnic/explain", "bridge/rxnic/output", "bridge/rxnic/report"],
    "bridge/rxnic/fabric": ["bridge/rxnic/events", "bridge/rxnic/output", "bridge/rtl", "bridge/driver"],
    "bridge/rxnic/record": ["bridge/rxnic/fabric", "bridge/rxnic/report"],
    "bridge/rxnic/capture": ["bridge/rxnic/annotate", "bridge/rxnic/output", "bridge/rxnic/report", "bridge/rtl"],
    "bridge/rxnic/workload": ["bridge/rxnic/capture"],
    "bridge/rxnic/diagnose": ["bridge/rxnic/capture", "bridge/cm"],
    "bridge/rxnic/live": ["bridge/rxnic/record", "bridge/live", "bridge/cm"],
    "bridge/rxnic/command": ["bridge/rxnic/diagnose", "bridge/rxnic/timeline", "bridge/rxnic/page",
                             "bridge/rxnic/live", "bridge/rxnic/workload"],
    "testbench": ["bridge/rxnic/command", "bridge/device_files", "model/systemc"],
}
SYSTEMC_FLOORS = {"model/engine", "model/ports", "model/blocks", "model/nic", "model/system", "model/systemc",
                  "bridge/driver", "bridge/rxnic/command", "testbench"}
VERBS_FLOORS = {"bridge/cm", "bridge/device_files", "bridge/verbs", "testbench"}
GENERATED = {"model/params/params.h", "model/types/descriptors.h", "model/types/all_counters.h",
             "bridge/channel/messages.h", "bridge/channel/message_table.h", "bridge/channel/version.h"}
DESCRIPTORS, COUNTERS = "model/types/descriptors.toml", "model/types/counters.toml"  # a header for each group, section
NOT_BLOCKS = {"nic", "device", "wire", "host", "fabric", "live"}  # sections of params.toml that are no block
CLANG_FORMAT = "14"


class Tree:
    """The files of a project: those that git has, not what a run or an editor has left among them. Without git: all
    files, but for folders of builds and runs."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        listed = self.tracked()
        if listed is None:
            listed = [os.path.relpath(os.path.join(folder, name), self.root)
                      for folder, _, names in os.walk(self.root) for name in names]
            listed = [name for name in listed if not re.match(r"(build\b|\.git/)", name)
                      and not re.search(r"(^|/)(__pycache__|rxnic-run)/", name)]
        self.files = sorted(name for name in listed if name and (self.root / name).is_file())

    def tracked(self):
        """None: this is no clone, or git does not say."""
        if not (self.root / ".git").exists() or not shutil.which("git"):
            return None
        done = subprocess.run(["git", "-C", self.root, "ls-files", "-z"], capture_output=True, text=True, check=False)
        return done.stdout.split("\0") if done.returncode == 0 else None

    def none(self, name):
        """What is wrong with a file that should be one of the project: most often a new one that git does not have."""
        unknown = ", since git does not have it (git add)" if (self.root / name).is_file() else ""
        return f"there is no {name}{unknown}"

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def named(self, *suffixes, under=""):
        return [name for name in self.files if name.endswith(suffixes) and name.startswith(under)]


def floor_of(name):
    floors = [floor for floor in FLOORS if name.startswith(floor + "/")]
    return max(floors, key=len, default=None)


def allowed(floor):
    """The floor and everything below it."""
    below = {floor}
    for other in FLOORS[floor]:
        below |= allowed(other)
    return below


def check_floors(tree):
    """Includes are rooted and point to the same floor or to one below; SystemC and verbs stay on theirs."""
    generated = set(GENERATED)
    if DESCRIPTORS in tree.files:
        generated |= {f"model/types/{group}.h" for group in tomllib.loads(tree.text(DESCRIPTORS))}
    if COUNTERS in tree.files:
        generated |= {f"model/types/{section}_counters.h" for section in tomllib.loads(tree.text(COUNTERS))}
    for name in tree.named(".h", ".cpp"):
        floor = floor_of(name)
        if floor is None:
            yield f"{name}: lies on no floor ({', '.join(FLOORS)})"
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not include:
                continue
            where, path = f"{name}:{number}", include[2]
            if include[1] == "<":
                if re.match(r"systemc|sysc/|tlm", path) and floor not in SYSTEMC_FLOORS:
                    yield f"{where}: {floor} includes <{path}>: SystemC belongs to {', '.join(sorted(SYSTEMC_FLOORS))}"
                if re.match(r"infiniband/|rdma/", path) and floor not in VERBS_FLOORS:
                    yield f"{where}: {floor} includes <{path}>: verbs belong to {', '.join(sorted(VERBS_FLOORS))}"
                continue
            if name.startswith("testbench/examples/") and f"testbench/examples/{path}" in tree.files:
                continue  # built outside of the project
            target = floor_of(path)
            if target is None or (path not in generated and path not in tree.files):
                yield f"{where}: {tree.none(path)}: expected a file of the project, named from its root"
            elif target not in allowed(floor):
                yield f'{where}: {floor} includes "{path}" of {target}, which is not below it'


def check_format(tree):
    """clang-format has nothing to change."""
    tool = shutil.which(f"clang-format-{CLANG_FORMAT}") or shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout if tool else ""
    if f"version {CLANG_FORMAT}." not in version:
        print(f"skipped: clang-format {CLANG_FORMAT} is not installed")
        sys.exit(SKIPPED)
    sources = tree.named(".h", ".cpp")
    if sources:
        done = subprocess.run([tool, "--dry-run", "-Werror", *sources], cwd=tree.root, capture_output=True, text=True)
        if done.returncode:
            yield from sorted(set(re.findall(r"^(\S+:\d+):\d+: error: .*$", done.stderr, re.M))) or [done.stderr]


def needs_licence(name):
    path = pathlib.PurePath(name)
    return (path.suffix in {".h", ".cpp", ".c", ".py", ".sv", ".toml", ".cmake", ".yml", ".yaml"}
            or path.name == "CMakeLists.txt" or name.startswith(("scripts/", ".ci/")) and path.suffix == "")


def check_spdx(tree):
    """One SPDX line a file: the first, or the second after #!."""
    for name in tree.files:
        lines = tree.text(name).splitlines()
        at = [i for i, line in enumerate(lines) if re.fullmatch(r"(//|#) SPDX-License-Identifier: Apache-2\.0", line)]
        if needs_licence(name) and at != [1 if lines and lines[0].startswith("#!") else 0]:
            yield f"{name}: expected one SPDX line, the first (after #!), found {len(at)}"


def check_blocks(tree):
    """A block has ports, a header, a source and a timed test; every block that params.toml names exists."""
    stems = {pathlib.PurePath(name).stem for name in tree.named(".h", under="model/blocks/")
             if re.search(r":\s*public\s+\w+Ports\b", tree.text(name))}
    if "model/params/params.toml" in tree.files:
        stems |= set(tomllib.loads(tree.text("model/params/params.toml"))) - NOT_BLOCKS
    for stem in sorted(stems):
        for name in (f"model/ports/{stem}_ports.h", f"model/blocks/{stem}.h", f"model/blocks/{stem}.cpp",
                     f"testbench/unit/model/blocks/{stem}_test.cpp"):
            if name not in tree.files:
                yield f"{stem}: {tree.none(name)}"
    for name in tree.named(".sv", under="rtl/"):
        if name.endswith("_pkg.sv"):
            continue
        stem = pathlib.PurePath(name).stem
        block = stem.removesuffix("_checker") if name.startswith("rtl/checkers/") else stem
        if name.startswith("rtl/lib/"):
            if LIB_TEST not in tree.files or f" {stem} #(" not in tree.text(LIB_TEST):
                yield f"{name}: {LIB_TEST} does not try it"
            continue
        if block not in stems and any(re.search(rf"^ *{stem} (#\(|\w+ \()", tree.text(other), re.M)
                                      for other in tree.named(".sv", ".svh", under="rtl/") if other != name):
            continue  # a part of a block, or of such a part
        if block not in stems:
            yield f"{name}: there is no block of that stem"
            continue
        for needed in (f"rtl/{block}.sv", f"rtl/checkers/{block}_checker.sv",
                       f"testbench/cosim/{block}_cosim_test.cpp"):
            if needed not in tree.files:
                yield f"{name}: {tree.none(needed)}"
        if name != f"rtl/{block}.sv":
            continue
        ports = f"model/ports/{block}_ports.h"
        if ports in tree.files and " facts(" not in tree.text(ports):
            yield f"{name}: {ports} declares no facts() for its RTL"
        for table in ("rtl/area.toml", "testbench/cosim/faults.toml"):
            if table not in tree.files or block not in tomllib.loads(tree.text(table)):
                yield f"{name}: {table} does not name {block}"
        listed = "rtl/CMakeLists.txt"
        if listed not in tree.files or f"rxnic_twin({block} " not in tree.text(listed):
            yield f"{name}: {listed} has no configuration of {block}"


def check_readmes(tree):
    """Every folder has a README.md of one page, or a link or a `name` in that of a folder above."""
    folders = {str(parent) for name in tree.files for parent in pathlib.PurePath(name).parents}
    for folder in sorted(folders):
        if any(part.startswith(".") and part != "." for part in pathlib.PurePath(folder).parts):
            continue
        readme = "README.md" if folder == "." else f"{folder}/README.md"
        if readme not in tree.files:
            above = next((p for p in pathlib.PurePath(folder).parents if str(p / "README.md") in tree.files), None)
            name = pathlib.PurePath(folder).relative_to(above).as_posix() if above is not None else ""
            if not name or not re.search(rf"[`(]{re.escape(name)}[`)]", tree.text(str(above / "README.md"))):
                yield f"{folder}: there is no README.md, nor does one above name it"
        elif folder != "." and len(tree.text(readme).splitlines()) > 80:
            yield f"{readme}: is longer than one page (80 lines)"


def anchors(page):
    """What a link may name behind #: each heading in lower case, with - for blanks, without other punctuation."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def check_links(tree):
    """Every link of a page into the project names a file or folder that git has, and a heading of it, if any."""
    known = set(tree.files) | {str(parent) for name in tree.files for parent in pathlib.PurePath(name).parents}
    for name in tree.named(".md"):
        text = tree.text(name)
        for link in re.finditer(r"\]\((?!\w+:)([^)\s#]*)#?([^)\s]*)\)", text):
            to = os.path.normpath(os.path.join(os.path.dirname(name), link[1])) if link[1] else name
            if to not in known or link[2] and link[2] not in anchors(tree.text(to)):
                yield f"{name}:{text.count(chr(10), 0, link.start()) + 1}: there is nothing at {link[0][2:-1]}"


def check_layout(tree):
    """The top level holds what it should, and nothing is large."""
    tops = {name.split("/")[0] for name in tree.files}
    for top in sorted(tops - TOP_LEVEL):
        if not top.startswith("."):
            yield f"{top}: is not of the top level ({', '.join(sorted(TOP_LEVEL))}, dot files)"
    for top in sorted(TOP_LEVEL - tops):
        yield f"{top}: is missing"
    for name in tree.files:
        if (tree.root / name).stat().st_size > 1 << 20:
            yield f"{name}: is larger than 1 MiB"


def check_text(tree):
    """No path of one machine, nothing unfinished without a reason, no stray blanks, no line above 120 columns."""
    machine = re.compile(r"(?<![\w.}>)*])/(?:" + "|".join(("home", "root", "tmp", "work", "farm", "Users")) + r")/")
    unfinished = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b(?!\([^)]+\): \S)")
    for name in tree.files:
        data = (tree.root / name).read_bytes()
        if b"\0" in data or name == "LICENSE":
            continue
        text = data.decode("utf-8", errors="replace")
        if text and not text.endswith("\n"):
            yield f"{name}: does not end with a newline"
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{name}:{number}"
            if machine.search(line):
                yield f"{where}: a path of one machine: {machine.search(line)[0]}"
            if unfinished.search(line):
                yield f"{where}: {unfinished.search(line)[0]} without a reason, as in KEYWORD(why): what"
            if line != line.rstrip() or "\t" in line:
                yield f"{where}: a tab, or blanks at the end"
            if len(line) > 120 and not name.endswith((".md", ".json", ".toml", ".csv")):
                yield f"{where}: {len(line)} columns"


def of_stem(name, stems):
    """`name` is the header or a source of one of the stems: X.h, X.cpp, X_<subject>.cpp."""
    return any(name.startswith(stem) and re.fullmatch(r"\.h|(_\w+)?\.cpp", name[len(stem):]) for stem in stems)


def check_params(tree):
    """Every key of params.toml is read where its section's struct is used, or somewhere as section.key."""
    if "model/params/params.toml" not in tree.files:
        return
    code = {name: tree.text(name) for name in tree.named(".h", ".cpp")
            if not name.startswith(("model/params/", "testbench/unit/"))}
    for section, body in tomllib.loads(tree.text("model/params/params.toml")).items():
        struct = section.title().replace("_", "") + "Params"
        users = {name.rsplit(".", 1)[0] for name, text in code.items() if re.search(rf"\b{struct}\b", text)}
        own = "".join(text for name, text in code.items()
                      if of_stem(name, users) or re.fullmatch(rf"model/\w+/{section}\.(h|cpp)", name))
        for key in body:
            if not isinstance(body[key], dict) or re.search(rf"\.{key}\b", own):  # the others are of the section
                continue
            if not any(re.search(rf"\b{section}\.{key}\b", text) for text in code.values()):
                yield f"{section}.{key}: is in params.toml, but nothing reads it"


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def check_counters(tree):
    """Every counter of counters.toml is counted where its struct is a member, or in a template that is given it."""
    if COUNTERS not in tree.files:
        return
    code = {name: tree.text(name) for name in tree.named(".h", ".cpp", under="model/")}
    for section, body in tomllib.loads(tree.text(COUNTERS)).items():
        struct = section.title().replace("_", "") + "Counters"
        owners = {name.rsplit(".", 1)[0] for name, text in code.items() if re.search(rf"\b{struct} \w+_;", text)}
        templates = {snake(t) for text in code.values() for t in re.findall(rf"\b(\w+)<[^<>;]*\b{struct}\b", text)}
        own = "".join(text for name, text in code.items()
                      if of_stem(name, owners) or pathlib.PurePath(name).stem in templates)
        for member in body["counters"]:
            at = rf"\.{member}\b(\[[^]]*\])*"
            if not re.search(rf"\+\+[^;]*{at}|{at}( \+= | = |\+\+)", own):
                yield f"{section}.{member}: is in counters.toml, but nothing counts it"


def check_citations(tree):
    """Every `rules N.M` is a point of model/RULES.md, and what follows `NUMBERS.md,` one of its headings."""
    points = set()
    for section, number in rules_covered.points_of(tree):
        points |= {section, f"{section}.{number}"}
    numbers = tree.text("model/NUMBERS.md") if "model/NUMBERS.md" in tree.files else ""
    headings = tuple(re.findall(r"^## (.+)$", numbers, re.M))
    gap = r"\s+(?:(?://|#|\*)\s*)?"  # a citation may go on in the next line of a comment
    rules = re.compile(rf"\b[Rr]ules{gap}(\d+(?:\.\d+)?(?:(?:,{gap}(?:and )?|{gap}and{gap}|\s*\.\.\s*)\d+(?:\.\d+)?)*)")
    for name in tree.files:
        if not name.endswith((".h", ".cpp", ".py", ".sv", ".md", ".toml", ".txt")):
            continue
        text = tree.text(name)
        for cited in rules.finditer(text):
            for point in re.findall(r"\d+(?:\.\d+)?", cited[1]):
                if point not in points:
                    yield f"{name}:{text.count(chr(10), 0, cited.start()) + 1}: model/RULES.md has no point {point}"
        for cited in re.finditer(rf"\bNUMBERS\.md,{gap}", text):
            if not text.startswith(headings, cited.end()):
                found = text[cited.end():cited.end() + 30].split("\n")[0]
                yield f"{name}:{text.count(chr(10), 0, cited.start()) + 1}: model/NUMBERS.md has no heading {found!r}"
        for cited in re.finditer(r"\b(rules|numbers)\.md\b", text):
            yield (f"{name}:{text.count(chr(10), 0, cited.start()) + 1}: {cited[0]}: expected a citation of "
                   "model/RULES.md (rules N.M) or of a heading of model/NUMBERS.md")


def check_rules_covered(tree):
    """Each rule that a program sees has a row of live tests that exist, and of counters that their checks read."""
    yield from rules_covered.offences(tree)


def check_words(tree):
    """A sentence of a comment is short, and does not begin with words that leave the reader to look for its noun."""
    yield from comment_words.offences(tree)


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("checks", nargs="+", choices=[*CHECKS, "all"], metavar="CHECK", help=", ".join(CHECKS))
    args = parser.parse_args()
    tree = Tree(args.root)
    offences = []
    for name in CHECKS if "all" in args.checks else args.checks:
        offences += [f"{name}: {offence}" for offence in CHECKS[name](tree)]
    print("\n".join(offences) if offences else f"{len(tree.files)} files looked at, nothing offends")
    return 1 if offences or not tree.files else 0


if __name__ == "__main__":
    sys.exit(main())
