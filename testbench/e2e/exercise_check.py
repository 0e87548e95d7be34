#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rxnic exercise: RTL that is right, RTL with a fault that a capture does not show, and what is refused."""
import json
import re
import shlex
import shutil
import sys

import e2e

BLOCK = "grh_scatter"
RTL = e2e.ROOT / "rtl" / f"{BLOCK}.sv"
BUILD = e2e.ROOT / "scripts" / "build_rtl"
PLAIN = "Latency4Sges1Bytes64"
# The address of an element's bytes does not carry into bit 32.
RIGHT = "sge.address + 64'(looked.cursor.element_offset) :"
WRONG = "{sge.address[63:32], sge.address[31:0] + looked.cursor.element_offset} :"
SHORT = ("--cycles", "20000")


def build(bench, name, file=RTL, **parameters):
    for tool in ("verilator", "g++"):
        if not shutil.which(tool):
            raise e2e.Skip(f"{tool}: it is not installed")
    sets = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    done = bench.start(BUILD, BLOCK, file, *sets, "--optimize", "0", "-o", name)
    bench.expect_equal(done.returncode, 0, f"build_rtl: {done.stderr}")
    return name


def exercised(bench, status, *arguments):
    """The result as JSON of a run that ends with this exit status."""
    done = bench.rxnic("exercise", *arguments, "--json")
    bench.expect_equal(done.returncode, status, f"{arguments}: {done.stdout[-600:]}{done.stderr}")
    return json.loads(done.stdout) if done.stdout else {}


def twin(bench):
    """The project's own RTL is equal in each configuration; every port passed something; the same again."""
    done = bench.rxnic("exercise", BLOCK, *SHORT)
    if "found no RTL of the project" in done.stderr:
        raise e2e.Skip("the project's RTL is not built")
    bench.expect_equal(done.returncode, 0, f"{done.stdout}{done.stderr}")
    for words in (f"{BLOCK} is equal to the model in all of 12 runs: seeds 1 to 4 in 3 configurations, 20 000 cycles",
                  "cover points  33 of 33 hit", "addresses across 4 GiB"):
        bench.expect(words in done.stdout, f"does not say '{words}': {done.stdout}")
    arguments = [BLOCK, *SHORT, "--configs", PLAIN, "--seeds", "2"]
    result = exercised(bench, 0, *arguments, "--out", "twin")
    bench.expect_equal([(run["configuration"], run["seed"], run["equal"]) for run in result["runs"]],
                       [(PLAIN, 1, True), (PLAIN, 2, True)], "runs")
    bench.expect_equal(result["transactions"], sum(run["transactions"] for run in result["runs"]), "transactions")
    bench.expect(all(count > 0 for count in result["ports"].values()) and len(result["ports"]) == 4,
                 f"ports: {result['ports']}")
    bench.expect_equal(exercised(bench, 0, *arguments), result, "the same again")
    bench.expect_equal(json.loads((bench.folder / "twin" / "exercise.json").read_text()), result, "exercise.json")
    bench.expect_equal(exercised(bench, 0, f"{BLOCK}:transactions", *arguments[1:])["result"], "equal", "transactions")


def fault(bench):
    """A carry that is lost: a capture passes, random stimulus names it, and the command that is printed repeats it."""
    text = RTL.read_text(encoding="utf-8")
    bench.expect_equal(text.count(RIGHT), 1, f"{RTL.name}: places of the fault")
    (bench.folder / "carry.sv").write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    own = build(bench, "carry.so", "carry.sv")
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}")
    bench.expect_equal(done.returncode, 0, f"a capture: {done.stderr}")
    (bench.folder / "found").mkdir()
    (bench.folder / "found" / "exercise.vcd").write_text("of an earlier run\n", encoding="ascii")
    done = bench.rxnic("exercise", f"{BLOCK}={own}", "--cycles", "50000", "--out", "found")
    bench.expect_equal(done.returncode, 4, f"{done.stdout}{done.stderr}")
    named = re.search(rf"{BLOCK}: cycle \d+: port out: va: 0x\w+ and 0x\w+ \(model and RTL\)", done.stdout)
    bench.expect(named and f"{BLOCK}={own} differs from the model in" in done.stdout, f"names it not: {done.stdout}")
    again = re.search(r"\n  again: rxnic (.*)\n", done.stdout)
    bench.expect(again, f"does not say how it is repeated: {done.stdout}")
    if named and again:
        repeated = bench.rxnic(*shlex.split(again[1]))
        bench.expect_equal(repeated.returncode, 4, "repeated")
        bench.expect(named[0] in repeated.stdout, f"repeated: another difference: {repeated.stdout}")
    waves = (bench.folder / "found" / "exercise.vcd").read_text(encoding="utf-8")
    bench.expect("mismatch" in waves and (bench.folder / "found" / "exercise.gtkw").is_file(), "no waveform")
    result = exercised(bench, 4, f"{BLOCK}={own}", "--cycles", "50000", "--stop-at-first")
    bench.expect_equal([run["equal"] for run in result["runs"]],
                       [True] * (len(result["runs"]) - 1) + [False], "--stop-at-first")
    bench.expect("difference" in result["runs"][-1] and "again" in result["runs"][-1], f"{result['runs'][-1]}")


def own(bench):
    """RTL of parameters that no configuration has: refused with both values, and equal when they are said."""
    late = build(bench, "late.so", LatencyCycles=6)
    done = bench.rxnic("exercise", f"{BLOCK}={late}")
    bench.expect_equal(done.returncode, 2, "other parameters")
    for words in ("parameter LatencyCycles: found 6; expected 4", f"--set {BLOCK}.KEY=VALUE"):
        bench.expect(words in done.stderr, f"does not say '{words}': {done.stderr}")
    result = exercised(bench, 0, f"{BLOCK}={late}", "--set", f"{BLOCK}.latency_cycles=6", "--seeds", "2", *SHORT,
                       "--random-init")
    bench.expect_equal(len(result["runs"]), 2, "runs")
    bench.expect(result["cover_points"] == 0 and result["transactions"] > 1000, f"compared: {result['transactions']}")
    (bench.folder / "text.so").write_text("no shared object\n", encoding="ascii")
    for arguments, words in (([f"tag_match_cam={late}"], f"{late}: block: found {BLOCK}; expected tag_match_cam"),
                             ([f"{BLOCK}={late}", "--configs", PLAIN], "parameter LatencyCycles: found 6; expected 4"),
                             ([f"{BLOCK}=text.so"], "text.so: found no shared object")):
        done = bench.rxnic("exercise", *arguments)
        bench.expect_equal(done.returncode, 2, f"{arguments}")
        bench.expect(words in done.stderr, f"{arguments}: does not say '{words}': {done.stderr}")


def usage(bench):
    """What cannot be understood is refused with what was found and what was expected; nothing compared is status 5."""
    for arguments, *words in ([[], "block"],
                              [["rx_parser"], "rx_parser", "cqe_generator, grh_scatter, srq_wqe_fetcher"],
                              [[f"{BLOCK}="], f"found '{BLOCK}='", "BLOCK=FILE"],
                              [[f"{BLOCK}=dpi:localhost:1"], "dpi:", "expected a shared object"],
                              [[f"{BLOCK}=absent.so"], "absent.so: found no such file"],
                              [[BLOCK, "--configs", "Latency5"], "--configs: found 'Latency5'", PLAIN],
                              [[BLOCK, "--seeds", "0"], "--seeds", "0"],
                              [[BLOCK, "--seeds", "2", "--seed", "3"], "--seed"],
                              [[BLOCK, "--seed", "many"], "--seed", "many"],
                              [[BLOCK, "--cycles", "0"], "--cycles", "0"],
                              [[BLOCK, "--set", "grh_scatter.latency=4"], "grh_scatter.latency"],
                              [["tag_match_cam", "--set", "tag_match_cam.lists=1"], "tag_match_cam.lists: found 1"]):
        done = bench.rxnic("exercise", *arguments)
        bench.expect_equal(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
        for part in words:
            bench.expect(part in done.stderr, f"{arguments}: does not name '{part}': {done.stderr}")
    done = bench.rxnic("exercise", "tag_match_cam", "--cycles", "2")
    if "found no RTL of the project" in done.stderr:
        raise e2e.Skip("the project's RTL is not built")
    bench.expect_equal(done.returncode, 5, f"nothing compared: {done.stdout}{done.stderr}")
    bench.expect("nothing was compared" in done.stdout, f"nothing compared: {done.stdout}")


CHECKS = {"twin": twin, "fault": fault, "own": own, "usage": usage}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
