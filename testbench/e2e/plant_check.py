#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/plant_faults: what it writes, which tests it tries, what it refuses, and its record; no fault is planted."""
import shutil
import sys
import tomllib

import e2e

BLOCK = "grh_scatter"
SCRIPT = e2e.ROOT / "scripts" / "plant_faults"
# A fault that the first configuration does not show, and the second one, with a latency of one cycle, does.
WAS, NOW = "assign matured = CountBits'(found);", "assign matured = CountBits'(found) >> 1;"


def table(bench):
    """A run over a part of the faults keeps the rows of the others, by their text, in the order of faults.toml."""
    script = e2e.script(SCRIPT.name)
    file = bench.folder / "FAULTS.md"

    def fault(about):
        return {"file": "rtl/one.sv", "was": "a", "is": "b", "about": about}

    def rows():
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]

    faults = [("one", fault("late")), ("one", fault("early")), ("two", fault("late")), ("two", fault("never tried"))]
    script.write_table(file, faults, {("two", "late"): "Two/Random", ("one", "early"): "NOT CAUGHT",
                                      ("one", "late"): "One/Random"})
    header = "| block | fault | in | caught by |"
    first = "| one | late | `one.sv` | One/Random |"
    early = "| one | early | `one.sv` | NOT CAUGHT |"
    last = "| two | late | `one.sv` | Two/Random |"
    bench.expect_equal(rows(), [header, first, early, last], "the first run")
    script.write_table(file, faults, {("one", "early"): "One/Random"})
    early = early.replace("NOT CAUGHT", "One/Random")
    bench.expect_equal(rows(), [header, first, early, last], "a run over one fault")
    # Another block comes in between; a fault is left out of faults.toml, one is new there.
    faults = [faults[0], ("between", fault("late")), ("one", fault("new")), *faults[2:]]
    script.write_table(file, faults, {("between", "late"): "Between/Random"})
    between = "| between | late | `one.sv` | Between/Random |"
    bench.expect_equal(rows(), [header, first, between, last], "a run with other faults")
    written = file.read_text(encoding="utf-8")
    script.write_table(file, faults, {})
    bench.expect_equal(file.read_text(encoding="utf-8"), written, "a run over none")


def copy(bench):
    """The copy has what the tree has, without what it had before. What is not of an earlier copy stays."""
    if not shutil.which("git"):
        raise e2e.Skip("git: it is not installed")
    script = e2e.script(SCRIPT.name)
    script.ROOT, to = bench.folder / "tree", bench.folder / "copy"
    for path, text in ((script.ROOT / "a" / "kept.cpp", "1"), (script.ROOT / "a" / "gone.cpp", "2"), (to / "own", "3")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    bench.expect_equal(bench.start("git", "init", "-q", script.ROOT).returncode, 0, "git init")
    script.copy_tree(to)
    bench.expect((to / "a" / "gone.cpp").is_file(), "nothing was copied")
    before = (to / "a" / "kept.cpp").stat().st_mtime_ns
    (script.ROOT / "a" / "gone.cpp").unlink()
    script.copy_tree(to)
    found = sorted(str(path.relative_to(to)) for path in to.rglob("*") if path.is_file())
    bench.expect_equal(found, ["a/kept.cpp", "build/copied", "own"], "files of the copy")
    bench.expect_equal((to / "a" / "kept.cpp").stat().st_mtime_ns, before, "the time of a file that has not changed")


def configurations(bench):
    """A fault of RTL alone is tried in one configuration after another; of anything else, in none."""
    if not shutil.which("verilator"):
        raise e2e.Skip("verilator: it is not installed")
    script = e2e.script(SCRIPT.name)
    tests = bench.options.rxnic.parents[2] / "testbench" / "cosim" / "cosim_tests"
    if not tests.is_file():
        raise e2e.Skip(f"{tests}: it is not built")
    file = f"rtl/{BLOCK}.sv"
    text = (e2e.ROOT / file).read_text(encoding="utf-8")
    tried = []
    verdict = script.trial.verdict

    def note(configuration, *how):
        tried.append(configuration.name)
        return verdict(configuration, *how)

    script.trial.verdict = note
    names = [configuration.name for configuration in script.twins.configurations(BLOCK)]
    caught = script.catching_configuration(tests, BLOCK, {file: text}, 50000)
    bench.expect_equal((caught, tried), ("", names), "with nothing changed")
    tried.clear()
    bench.expect(text.count(WAS) == 1, f"{file}: no {WAS}")
    caught = script.catching_configuration(tests, BLOCK, {file: text.replace(WAS, NOW)}, 50000)
    bench.expect_equal((caught, tried), (f"ModelAndRtlAgreeOnRandomPackets/{names[1]}", names[:2]), "a fault")
    tried.clear()
    caught = script.catching_configuration(tests, BLOCK, {file: text + "\nno RTL\n"}, 50000)
    bench.expect_equal((caught, tried), ("", names[:1]), "what Verilator refuses")
    tried.clear()
    for other in ("model/blocks/grh_scatter.cpp", "rtl/checkers/grh_scatter_checker.sv"):
        caught = script.catching_configuration(tests, BLOCK, {file: "", other: ""}, 50000)
        bench.expect_equal((caught, tried), ("", []), other)


def mistakes(bench):
    """A line that does not fit the sources, a block or number that there is not, and no clone end it with 2."""
    for folder in ("scripts", "testbench/cosim", "bridge/rtl", "rtl"):
        (bench.folder / folder).mkdir(parents=True)
    copy = shutil.copy(SCRIPT, bench.folder / "scripts")
    for name in ("testbench/cosim/trial.py", "bridge/rtl/twins.py"):
        shutil.copy(e2e.ROOT / name, bench.folder / name)
    (bench.folder / "rtl" / "one.sv").write_text("aab", encoding="utf-8")
    faults = bench.folder / "testbench" / "cosim" / "faults.toml"
    line = '[one]\nfaults = [{{ file = "rtl/one.sv", was = "{}", is = "c", about = "wrong" }}]\n'
    for was, status, *words in (("b", 0, "1 one: wrong"), ("a", 2, "wrong", "found 2 times in rtl/one.sv", "once: a"),
                                ("d", 2, "wrong", "found 0 times")):
        faults.write_text(line.format(was), encoding="utf-8")
        done = bench.start(copy, "--list")
        bench.expect_equal(done.returncode, status, f"{was}: {done.stdout} {done.stderr}")
        for word in words:
            bench.expect(word in done.stdout + done.stderr, f"{was}: does not say {word}: {done.stdout} {done.stderr}")
    faults.write_text(line.format("b").replace('about =', 'class = "odd", about ='), encoding="utf-8")
    done = bench.start(copy, "--list")
    bench.expect_equal(done.returncode, 2, "a class that there is not")
    bench.expect("class: found odd; expected one of width, wrap" in done.stderr, f"a class: {done.stderr}")
    faults.write_text(line.format("b"), encoding="utf-8")
    for which, status in (("one", 0), ("1", 0), ("two", 2), ("2", 2)):
        bench.expect_equal(bench.start(copy, "--list", which).returncode, status, f"--list {which}")
    done = bench.start(copy, "one")
    bench.expect_equal(done.returncode, 2, "a tree that is no clone")
    bench.expect("found no clone" in done.stderr, f"a tree that is no clone: {done.stderr}")


def recorded(bench):
    """Each line of faults.toml fits the sources, and FAULTS.md says what has caught it; a block has 15 or more."""
    done = bench.start(SCRIPT, "--list")
    bench.expect_equal(done.returncode, 0, f"{done.stdout[-400:]} {done.stderr}")
    script = e2e.script(SCRIPT.name)
    table_of_faults = tomllib.loads(script.TABLE.read_text(encoding="utf-8"))
    faults = [(block, script.name_of(fault)) for block, body in table_of_faults.items() for fault in body["faults"]]
    verdicts = script.known_verdicts(script.TABLE.with_name("FAULTS.md"))
    missing = [fault for fault in faults if verdicts.get(fault, "NOT CAUGHT") == "NOT CAUGHT"]
    bench.expect_equal(missing, [], "faults without a test in FAULTS.md")
    bench.expect_equal(sorted(verdicts.keys() - {*faults, ("block", "fault")}), [], "rows of no fault")
    few = [block for block in script.twins.blocks() if sum(of == block for of, _ in faults) < 15]
    bench.expect_equal(few, [], "blocks with fewer than 15 faults")
    listed = bench.start(SCRIPT, "--list", "boundary").stdout.splitlines()
    found = {kind: sum(f": {kind}: " in line for line in listed) for kind in script.CLASSES}
    bench.expect(len(listed) == sum(found.values()) >= 20 and min(found.values()) > 0, f"faults at boundaries: {found}")
    bench.expect_equal(len(bench.start(SCRIPT, "--list", "carry").stdout.splitlines()), found["carry"], "of a class")


CHECKS = {"table": table, "copy": copy, "configurations": configurations, "mistakes": mistakes, "recorded": recorded}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
