#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user's own RTL: scripts/build_rtl, --rtl BLOCK=FILE, --lockstep BLOCK=FILE and BLOCK=FILE:transactions."""
import json
import os
import pathlib
import re
import shutil
import sys

import e2e
import mpi_traffic
from vcd import Vcd

BLOCK = "grh_scatter"
RTL = e2e.ROOT / "rtl" / f"{BLOCK}.sv"
HERE = e2e.ROOT / "testbench" / "e2e"
BUILD = e2e.ROOT / "scripts" / "build_rtl"
TEST_BUILD = ("--optimize", "0")
TAGS = "tag_match_cam"
HASHED = HERE / "hashed_tag_match_cam.sv"
STORE = HERE / "tcam_tag_store.sv"
SENDS = "send=1 send_imm=0 write=0 write_imm=0 read=0 add=0 ud_qps=0 load=5".split()
EXACT, WILDCARDS = "ffffffffffffffff", "fffffffffffffffc"


def build(bench, name, *files, block=BLOCK, **parameters):
    """The shared object `name` of these files, in the check's folder."""
    for tool in ("verilator", "g++"):
        if not shutil.which(tool):
            raise e2e.Skip(f"{tool}: it is not installed")
    sets = [argument for key, value in parameters.items() for argument in ("--set", f"{key}={value}")]
    done = bench.start(BUILD, block, *files, *sets, *TEST_BUILD, "-o", name)
    bench.expect_equal(done.returncode, 0, f"build_rtl: {done.stderr}")
    bench.expect(f"--lockstep {block}={name}" in done.stdout, f"build_rtl: does not say what to do: {done.stdout}")
    return name


def slow(bench, name, **parameters):
    """slow_scatter.sv, around the project's own module under another name."""
    text = RTL.read_text(encoding="utf-8")
    inside = re.sub(rf"\b(module|endmodule :) {BLOCK}\b", rf"\1 {BLOCK}_inside", text)
    bench.expect(inside.count(f"{BLOCK}_inside") == 2, f"{RTL.name}: found no module and endmodule to rename")
    (bench.folder / "inside.sv").write_text(inside, encoding="utf-8")
    return build(bench, name, HERE / "slow_scatter.sv", "inside.sv", **parameters)


def distribution(bench, done):
    """(transactions, min, median, max) of port out."""
    found = re.search(r"\n  out: (\d+) in the order of each qpn; cycles later than the model: "
                      r"min (-?\d+)   median (-?\d+)   p99 -?\d+   max (-?\d+)\n +-?\d+ █", done.stdout)
    bench.expect(done.returncode == 0 and found, f"says no distribution: {done.stdout[-600:]} {done.stderr}")
    return [int(figure) for figure in found.groups()] if found else [0, 0, 0, 0]


def same(bench):
    """The project's own module as a user's: equal in lockstep, in place, and as transactions."""
    own = build(bench, "own.so", RTL)
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}")
    found = re.search(rf"lockstep: \S*{BLOCK}: \d+ cycles compared, .*; (\d+) transactions, \d+ bits\n", done.stdout)
    bench.expect(done.returncode == 0 and found and int(found[1]) > 0, f"lockstep: {done.stdout[-400:]} {done.stderr}")
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}:transactions")
    count, least, _, most = distribution(bench, done)
    bench.expect(count > 0 and least == most == 0, f"transactions: {count}, {least} to {most} cycles later")
    model, rtl = bench.replay(e2e.SAMPLE, out="model"), bench.replay(e2e.SAMPLE, "--rtl", f"{BLOCK}={own}", out="rtl")
    answers = [(bench.folder / out / "responses.pcap").read_bytes() for out in ("model", "rtl")]
    bench.expect(answers[0] == answers[1], "in place: other responses")
    for figure in ("cqes", "latency_ns", "packets", "events"):
        bench.expect_equal(rtl.get(figure), model.get(figure), f"in place: {figure}")


def slower(bench):
    """A cycle more: lockstep refuses it, transactions are equal, and a cycle later."""
    own = slow(bench, "slow.so")
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}")
    bench.expect_equal(done.returncode, 4, "lockstep: exit status")
    bench.expect("port out: valid: 1 and 0 (model and RTL)" in done.stderr, f"lockstep: {done.stderr}")
    waves = re.search(r"waveform of the cycles around it: (\S+)", done.stderr)
    bench.expect(waves, f"names no waveform: {done.stderr}")
    if waves:
        late_piece(bench, Vcd(bench.folder / waves[1]))
    count, least, median, _ = distribution(
        bench, bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}:transactions"))
    bench.expect(count > 0 and least >= 0 and median == 1, f"{count} transactions, median {median} cycles later")
    # It has no activity_o.
    done = bench.rxnic("replay", e2e.SAMPLE, "--rtl", f"{BLOCK}={own}", "--out", "place")
    for words in ("its busy cycles are an upper bound: it has no activity_o", "busy at most (RTL)"):
        bench.expect(words in done.stdout, f"in place: does not say '{words}': {done.stdout}")
    report = (bench.folder / "place" / "report.json").read_text(encoding="utf-8")
    blocks = json.loads(report)["blocks"]
    bench.expect_equal([name for name, block in blocks.items() if "busy_at_most" in block], [BLOCK], "at most")
    bench.expect("busy at most" in bench.rxnic("report", "place").stdout, "rxnic report does not say it")


def late_piece(bench, vcd):
    """The waveform of the first mismatch: the model's piece leaves, and the same one of the RTL a cycle later."""
    scope = next(name for name in vcd.kinds if name.endswith(f"{BLOCK}.mismatch")).removesuffix(".mismatch")
    cycle, = vcd.cycles_in(f"{scope}.mismatch", 1)
    after = vcd.cycles[vcd.cycles.index(cycle) + 1]
    bench.expect_equal([vcd.at(f"{scope}.out.{side}.valid", cycle) for side in ("model", "rtl")], [1, 0], "valid")
    bench.expect_equal(vcd.at(f"{scope}.out.rtl.valid", after), 1, "valid, a cycle later")
    fields = [name for name in vcd.kinds if name.startswith(f"{scope}.out.model.")]
    for name in fields:
        if name.endswith(".valid"):
            continue
        bench.expect_equal(vcd.at(name.replace(".model.", ".rtl."), after), vcd.at(name, cycle), name)
    bench.expect(len(fields) > 20, f"only {len(fields)} fields")


def fault(bench):
    """A wrong bit in the third piece of a slower design is named, with both values and cycles."""
    own = slow(bench, "wrong.so", WrongPiece=3)
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}:transactions")
    bench.expect_equal(done.returncode, 4, "exit status")
    named = re.search(rf"{BLOCK}: port out: transaction 3, \d+ of qpn=\d+: bytes: (\d+) and (\d+) "
                      r"\(model in cycle (\d+), RTL in cycle (\d+)\)\n  model: .*\n  RTL: ", done.stderr)
    bench.expect(named, f"names it not: {done.stderr}")
    if named:
        model, rtl, model_cycle, rtl_cycle = map(int, named.groups())
        bench.expect_equal(rtl, model ^ 1, "the RTL's value")
        bench.expect(rtl_cycle > model_cycle, f"cycles {model_cycle} and {rtl_cycle}")


def compile_c(bench, name, source, *definitions):
    """A small shared object."""
    done = bench.start("gcc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{e2e.ROOT}", *definitions, source,
                       "-o", name)
    bench.expect_equal(done.returncode, 0, f"{name}: {done.stderr}")
    return name


# What is changed in a right description, and what the refusal must name.
ALTERATIONS = {
    "version": ("rtl.version = 99", "interface: found version 99; expected 4"),
    "block": ('rtl.block = "rx_parser"', "block: found rx_parser; expected grh_scatter"),
    "width": ('--signal_of("in_i")->bits', r"signal in_i: found (\d+) bits; expected (\d+)"),
    "direction": ('signal_of("out_o")->direction = kRxnicRtlInput',
                  "signal out_o: found an input; expected an output"),
    "missing": ("--rtl.signal_count", r"signal \w+: found none; expected an (in|out)put of \d+ bits"),
    "surplus": ('signals[rtl.signal_count++] = (struct RxnicRtlSignal){"debug_o", kRxnicRtlOutput, 3, 1}',
                "signal debug_o: found an output of 3 bits; expected none of that name"),
    "parameter": ('parameter_of("LatencyCycles")->value = 7', "parameter LatencyCycles: found 7; expected 4"),
    "size": ('parameter_of("WqeSlots")->value = 8', r"parameter WqeSlots: found 8; expected \d+ or more"),
}


def refusals(bench):
    """What does not fit is refused by name, with both values."""
    own = bench.folder / build(bench, "own.so", RTL)
    cases = []
    for name, (alteration, words) in ALTERATIONS.items():
        compile_c(bench, f"{name}.so", HERE / "altered_rtl.c", f'-DRIGHT="{own}"', f"-DALTERATION={alteration}")
        cases.append((f"{BLOCK}={name}.so", words))
    (bench.folder / "nothing.c").write_text("int nothing;\n", encoding="utf-8")
    compile_c(bench, "nothing.so", "nothing.c")
    (bench.folder / "text.so").write_text("no shared object\n", encoding="utf-8")
    cases += [(f"{BLOCK}=nothing.so", "nothing.so: found no symbol rxnic_rtl"),
              (f"{BLOCK}=text.so", "text.so: found no shared object that can be loaded"),
              (f"{BLOCK}=absent.so", "absent.so: found no such file"),
              (f"rx_parser={own}", r"rx_parser: has no RTL; expected one of: (\w+, )*grh_scatter"),
              (f"{BLOCK}=", f"found '{BLOCK}=.*'; expected BLOCK or BLOCK=FILE"),
              (f"{BLOCK}:transaction", f"found '{BLOCK}:transaction.*'; expected BLOCK or BLOCK=FILE")]
    for choice, words in cases:
        for option, of_mode in (("--rtl", ""), ("--lockstep", ":transactions")):
            done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", option, choice + of_mode)
            bench.expect_equal(done.returncode, 2, f"{option} {choice}{of_mode}")
            bench.expect(re.search(words, done.stderr), f"{option} {choice}{of_mode}: names no {words}: {done.stderr}")
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--rtl", f"{BLOCK}={own}:transactions")
    bench.expect_equal(done.returncode, 2, "--rtl with :transactions")
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--rtl", f"{BLOCK}={own}", "--set", f"{BLOCK}.latency_cycles=6")
    bench.expect("parameter LatencyCycles: found 4; expected 6" in done.stderr, f"other parameters: {done.stderr}")


def stalls(bench):
    """RTL in the model's place that stands still, or keeps packets, ends the run: exit status 4, with what helps."""
    own = bench.folder / build(bench, "own.so", RTL)
    for name, alteration in (("deaf", "eval_with(deaf_eval)"), ("rests", "eval_with(quiescent_eval)")):
        compile_c(bench, f"{name}.so", HERE / "altered_rtl.c", f'-DRIGHT="{own}"', f"-DALTERATION={alteration}")
    stands = rf"^rxnic: \S*{BLOCK}: port in: valid from cycle \d+ on, and not taken in (\d+) cycles "
    for command in (["replay", e2e.SAMPLE], ["replay", e2e.SAMPLE, "--clock-always"]):
        done = bench.rxnic(*command, "--quiet", "--rtl", f"{BLOCK}=deaf.so")
        bench.expect_equal(done.returncode, 4, f"{command}: exit status")
        named = re.search(stands, done.stderr)
        bench.expect(named and int(named[1]) >= 1 << 22, f"{command}: {done.stderr}")
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--clock-always", "--rtl", f"{BLOCK}=rests.so", "--out", "kept")
    bench.expect_equal(done.returncode, 4, f"packets that are kept: exit status: {done.stderr}")
    named = re.search(rf"found (\d+) of (\d+) packets inside the NIC at the end of the run, in cycle \d+; .*\n"
                      rf"  \S*{BLOCK}: in: (\d+) taken, (\d+) left; out: \d+ given", done.stderr)
    bench.expect(named and 0 < int(named[1]) < int(named[2]), f"packets that are kept: {done.stderr}")
    bench.expect(not (bench.folder / "kept" / "report.json").exists(), "packets that are kept: a report")


def tag_replay(bench, trace, *arguments, mask=EXACT, pace="line-rate"):
    return bench.rxnic("replay", trace, "--pace", pace, "--host", f"receive=tm_srq,tags=64,mask={mask}", *arguments)


def hashed_cam(bench, name, **parameters):
    return build(bench, name, HASHED, "-I", e2e.ROOT / "rtl", block=TAGS, **parameters)


def completions(bench, trace, name, *arguments, **how):
    """(completions as lines without their times, model time in ps) of a replay."""
    done = tag_replay(bench, trace, "--cqes", f"{name}.csv", "--out", name, *arguments, **how)
    bench.expect_equal(done.returncode, 0, f"{trace}, {name}: {done.stderr}")
    lines = (bench.folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    report = json.loads((bench.folder / name / "report.json").read_text(encoding="utf-8"))
    return [line.split(",", 2)[2] for line in lines], report["time_ps"]


def organisation(bench):
    """A CAM of another organisation: the bug that it has at first is found. Without the bug transactions are equal,
    with and without wildcards. In the model's place the completions are the model's while the host posts tags in
    time."""
    for tags in (4, 64):
        made = bench.start(bench.options.make_traffic, f"{tags}.pcap", 2000, f"tags={tags}", *SENDS)
        bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
    wrong = hashed_cam(bench, "wrong.so", StopsAtBucket=1)
    done = tag_replay(bench, "4.pcap", "--lockstep", f"{TAGS}={wrong}:transactions")
    bench.expect_equal(done.returncode, 4, "an older tag behind the table is passed by: exit status")
    named = re.search(rf"{TAGS}: port out: transaction \d+: wqe_index: \d+ and \d+ \(model in cycle", done.stderr)
    bench.expect(named, f"names no buffer: {done.stderr}")
    own = hashed_cam(bench, "hashed.so")
    for trace, mask in (("4.pcap", EXACT), ("64.pcap", EXACT), ("64.pcap", WILDCARDS)):
        done = tag_replay(bench, trace, "--lockstep", f"{TAGS}={own}:transactions", mask=mask)
        found = re.search(rf"lockstep: \S*{TAGS}: (\d+) transactions equal", done.stdout)
        bench.expect(done.returncode == 0 and found and int(found[1]) > 4000, f"{trace}, {mask}: {done.stderr}")
        bench.expect_equal(completions(bench, trace, "own", "--rtl", f"{TAGS}={own}", mask=mask, pace="captured")[0],
                           completions(bench, trace, "model", mask=mask, pace="captured")[0],
                           f"{trace}, {mask}: completions in its place")


def public_cam(bench):
    """A public CAM behind the port of tag_store: transactions are equal, with and without wildcards, although the CAM
    takes its time. A CAM that gives the lowest address instead of the oldest entry is found."""
    made = bench.start(bench.options.make_traffic, "4.pcap", 2000, "tags=4", *SENDS)
    bench.expect_equal(made.returncode, 0, f"make_traffic: {made.stderr}")
    files, sizes = (e2e.ROOT / "rtl" / f"{TAGS}.sv", HERE / "public_tcam.sv"), {"Entries": 64}
    own = build(bench, "tcam.so", STORE, *files, "-I", e2e.ROOT / "rtl", block=TAGS, **sizes)
    for mask in (EXACT, WILDCARDS):
        done = tag_replay(bench, "4.pcap", "--set", f"{TAGS}.entries=64", "--lockstep", f"{TAGS}={own}:transactions",
                          mask=mask)
        found = re.search(rf"lockstep: \S*{TAGS}: (\d+) transactions equal", done.stdout)
        bench.expect(done.returncode == 0 and found and int(found[1]) > 4000, f"{mask}: {done.stdout} {done.stderr}")
    text = STORE.read_text(encoding="utf-8")
    lowest = text.replace(".of_i(oldest)", ".of_i(candidates & (~candidates + 1'b1))")
    bench.expect(lowest != text, f"{STORE.name}: found no choice of the oldest entry")
    (bench.folder / "lowest.sv").write_text(lowest, encoding="utf-8")
    wrong = build(bench, "lowest.so", "lowest.sv", *files, "-I", e2e.ROOT / "rtl", block=TAGS, **sizes)
    done = tag_replay(bench, "4.pcap", "--set", f"{TAGS}.entries=64", "--lockstep", f"{TAGS}={wrong}:transactions")
    bench.expect_equal(done.returncode, 4, f"the lowest address in place of the oldest entry: {done.stderr}")
    named = re.search(rf"{TAGS}: port out: transaction \d+: wqe_index: \d+ and \d+ \(model in cycle", done.stderr)
    bench.expect(named, f"names no buffer: {done.stderr}")


def mpi(bench):
    """What another organisation of the CAM costs with the messages that a rank of Sweep3D received, of 8 bytes each."""
    trace = e2e.CAPTURES / "mpi" / "pmpi-trace-rank-3.txt"
    if not trace.is_file():
        raise e2e.Skip(f"no {trace.name} in ../shared/captures/mpi")
    mpi_traffic.write(trace, bench.folder / "mpi.pcap", 8)
    own = hashed_cam(bench, "hashed.so")
    expected, parallel = completions(bench, "mpi.pcap", "model")
    found, hashed = completions(bench, "mpi.pcap", "own", "--rtl", f"{TAGS}={own}")
    bench.expect_equal(found, expected, "completions")
    bench.expect(sum(line.split(",")[3] == "TM_RECV" for line in found) == 1440, "a message was not matched")
    print(f"1440 messages: {parallel / 1e6:.2f} us, hashed {hashed / 1e6:.2f} us")
    bench.expect(parallel < hashed < 1.25 * parallel, f"takes {hashed} ps; parallel {parallel}")


def trace(bench):
    """--trace: the signals inside of the RTL, as a waveform, have what the report has counted, and GTKWave's save file
    names them. FST, which GTKWave's tool reads, has the same as VCD."""
    counts = []
    for kind in ("vcd", "fst"):
        own = build(bench, f"{kind}.so", RTL, "--trace", f"waves.{kind}")
        report = bench.replay(e2e.SAMPLE, "--rtl", f"{BLOCK}={own}")
        written = (bench.folder / f"waves.{kind}").stat().st_size
        bench.expect(written > 4096, f"{kind}: {written} bytes")
        saved = (bench.folder / f"{kind}.gtkw").read_text(encoding="ascii").splitlines()
        named = [line for line in saved if line[0] not in "[-"]
        bench.expect(f'[dumpfile] "waves.{kind}"' in saved and len(named) > 60, f"{kind}.gtkw: {saved[:5]}")
        if kind == "fst" and not shutil.which("fst2vcd"):
            print("FST was written and not read: no fst2vcd (package gtkwave)")
            continue
        if kind == "fst":
            done = bench.start("fst2vcd", "-f", "waves.fst", "-o", "waves.vcd")
            bench.expect_equal(done.returncode, 0, f"fst2vcd: {done.stderr}")
        vcd = Vcd(bench.folder / "waves.vcd")
        inside = f"TOP.{BLOCK}."
        # A cycle is at an even time, before its clock rises.
        cycles = [time for time in vcd.times if time % 2 == 0]
        taken = [time for time in cycles if vcd.at(f"{inside}in_valid_i", time) & vcd.at(f"{inside}in_ready_o", time)]
        counts.append((len(cycles), len(taken), vcd.at(f"{inside}count", cycles[-1])))
        bench.expect(len(taken) > report["packets"]["seen"] / 2, f"{kind}: only {len(taken)} packets were taken")
        if kind == "fst":  # a struct is a vector in VCD
            absent = [name for name in named if re.sub(r"\[.*", "", name) not in vcd.kinds]
            bench.expect(not absent, f"{kind}.gtkw: not in the waveform: {absent[:5]}")
    bench.expect_equal(len(set(counts)), 1, f"cycles, packets and last pieces, in VCD and FST: {counts}")
    (bench.folder / "waves.fst").unlink()
    (bench.folder / "waves.fst").mkdir()
    done = bench.rxnic("replay", e2e.SAMPLE, "--rtl", f"{BLOCK}=fst.so")
    bench.expect(done.returncode == 0 and "waves.fst cannot be written" in done.stderr, f"no trace: {done.stderr}")


def unset(bench):
    """A register that reset does not set is found by --random-init: without it it is zero."""
    text, count = re.subn(r"assign in_ready_o = (.*?);", r"logic [63:0] unset_q;\n  always_ff @(posedge clk_i) "
                          r"unset_q <= unset_q;\n  assign in_ready_o = (\1) && unset_q == '0;",
                          RTL.read_text(encoding="utf-8"), flags=re.S)
    bench.expect_equal(count, 1, "assignments of in_ready_o")
    (bench.folder / "unset.sv").write_text(text, encoding="utf-8")
    own = build(bench, "unset.so", "unset.sv")
    for seed, status in (((), 0), (("--random-init", "5"), 4), (("--random-init", "5"), 4)):
        done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--lockstep", f"{BLOCK}={own}", *seed)
        bench.expect_equal(done.returncode, status, f"{seed}: {done.stderr}")


def need_verilator():
    if not shutil.which("verilator"):
        raise e2e.Skip("verilator: it is not installed")


def names(bench):
    """What a user has written is built, whatever rtl/ has under the same names. This holds for the file of the module,
    what it includes, its submodules, and its packages. Every file that was read is printed. What failed leaves no old
    FILE.so."""
    need_verilator()
    rtl, nonsense = e2e.ROOT / "rtl", "this is no module;\n"
    own = bench.folder / "own"
    own.mkdir()

    def tried(words, status, *arguments, where=own):
        (own / "a.so").write_text("of an earlier build\n", encoding="ascii")
        done = bench.start(BUILD, *arguments, *TEST_BUILD, "-o", own / "a.so", cwd=where)
        what = f"in {where}: {' '.join(map(str, arguments))}"
        bench.expect_equal(done.returncode, status, f"{what}: {done.stderr}")
        bench.expect(re.search(words, done.stdout + done.stderr), f"{what}: does not name {words}: {done.stderr}")
        bench.expect(status == 0 or not (own / "a.so").exists(), f"{what}: leaves the FILE.so of an earlier build")
        return done

    # The file of the module: by a relative name, from its folder and from that of the other one.
    (own / f"{TAGS}.sv").write_text(nonsense, encoding="ascii")
    of_user = rf"{own}/{TAGS}\.sv:1:"
    tried(of_user, 1, TAGS, f"{TAGS}.sv", "-I", rtl)
    tried(of_user, 1, TAGS, pathlib.Path(os.path.relpath(own, rtl)) / f"{TAGS}.sv", "-I", ".", where=rtl)
    # A file without the module, and a checker that binds itself to it: the module would be found by -I.
    (own / f"{TAGS}.sv").unlink()
    (own / "other.sv").write_text("module other (input logic clk_i);\nendmodule\n", encoding="ascii")
    checkers = rtl / "checkers"
    tried(rf"{TAGS}: its module is {rtl}/{TAGS}\.sv, the project's own; expected it in one of {own}/other\.sv", 1, TAGS,
          "other.sv", checkers / f"{TAGS}_checker.sv", "-I", rtl, "-I", checkers)
    # What it includes, and a submodule of it, both of names that rtl/ has: beside it, in -I, in the working directory.
    included, project = "checker_macros.svh", ["-I", rtl, "-I", checkers]
    text = f'`include "{included}"\n' + (rtl / f"{TAGS}.sv").read_text(encoding="utf-8")
    module = own / "deeper" / "my_cam.sv"
    module.parent.mkdir()
    module.write_text(text, encoding="utf-8")
    for name in (included, "tag_store.sv"):
        for folder, includes, where in ((module.parent, project, rtl), (own, [*project, "-I", own], rtl),
                                        (own, project, own), (own, [f"--verilator=-I{own}", *project], rtl)):
            (folder / name).write_text(nonsense, encoding="ascii")
            tried(rf"{folder}/{name}:1:", 1, TAGS, module, *includes, where=where)
            (folder / name).unlink()
    # Packages under another file's name take the place of the project's; two modules of one name are refused.
    (own / "mine.sv").write_text((rtl / "rxnic_pkg.sv").read_text(encoding="utf-8"), encoding="utf-8")
    (own / "scatter.sv").write_text(RTL.read_text(encoding="utf-8"), encoding="utf-8")
    done = tried(f"module {BLOCK}: {own}/scatter.sv\n", 0, BLOCK, "mine.sv", "scatter.sv")
    read = {line.strip() for line in done.stdout.splitlines() if line.startswith("  ")}
    expected = {f"{own}/mine.sv", f"{own}/scatter.sv", f"{rtl}/tag_match_pkg.sv", f"{rtl}/context_cache_pkg.sv",
                f"{rtl}/cqe_pkg.sv", f"{rtl}/wqe_pkg.sv", f"{rtl}/lib/rxnic_fifo.sv",
                "made from the descriptions: rxnic_link_pkg.sv, rxnic_params_pkg.sv"}
    bench.expect_equal(read, expected, "files that were read")
    tried(rf"Duplicate declaration of module: '{BLOCK}'", 1, BLOCK, "scatter.sv", RTL)


def cached(bench):
    """What a build has compiled ccache finds for the next one, whose folder has another name."""
    if not shutil.which("ccache"):
        raise e2e.Skip("ccache: it is not installed")
    script = e2e.script(BUILD.name)
    script.KEPT = bench.folder / "kept"
    os.environ["CCACHE_DIR"] = str(bench.folder / "cache")
    os.environ.pop("CCACHE_DISABLE", None)
    for name in ("one", "another"):
        unit = bench.folder / name / "verilated" / "unit.cpp"
        unit.parent.mkdir(parents=True)
        unit.write_text('#include "part.cpp"\n')
        unit.with_name("part.cpp").write_text("int number() { return 1; }\n")
        library = bench.folder / "library"
        made = script.compile_all(script.compiler(library, 0), [unit], library, bench.folder / name)
        bench.expect(made == [bench.folder / name / "unit.o"] and made[0].is_file(), f"objects: {made}")
    counted = dict(line.split("\t") for line in bench.start("ccache", "--print-stats").stdout.splitlines())
    hits = int(counted["direct_cache_hit"]) + int(counted["preprocessed_cache_hit"])
    bench.expect_equal((hits, int(counted["cache_miss"])), (1, 1), "found, not found")


def kept(bench):
    """Verilator's library is compiled once for a compiler and its flags; what cannot be kept is compiled each time."""
    need_verilator()
    script = e2e.script(BUILD.name)
    source = bench.folder / "library" / "library.cpp"
    source.parent.mkdir()
    source.write_text("int number() { return 1; }\n")

    def compiled(name, optimize):
        folder = bench.folder / name
        folder.mkdir()
        made, = script.compile_all(script.compiler(source.parent, optimize), [source], source.parent, folder)
        bench.expect(made.is_file() and made.stat().st_size > 0, f"{name}: {made}")
        return made

    script.KEPT = bench.folder / "kept"
    bench.expect_equal(compiled("one", 0), bench.folder / "one" / "library.o", "compiled")
    found = compiled("two", 0)
    bench.expect(found.parent.parent == script.KEPT, f"not kept: {found}")
    bench.expect_equal(compiled("more", 1), bench.folder / "more" / "library.o", "other flags")
    bench.expect_equal(sorted(path.name for path in script.KEPT.glob("*/*")), ["library.o"] * 2, "what is kept")
    script.KEPT = source  # not a folder
    for name in ("three", "four"):
        bench.expect_equal(compiled(name, 0), bench.folder / name / "library.o", "compiled each time")


def loops(bench):
    """Loops that Verilator has to unroll are built as they are, unless --unroll-count says otherwise."""
    need_verilator()
    text = RTL.read_text(encoding="utf-8").replace("endmodule", """
  logic [7:0] unused_q [300];
  always_ff @(posedge clk_i or negedge rst_ni) if (!rst_ni) for (int n = 0; n < 300; n++) unused_q[n] <= '0;
    else unused_q[9] <= unused_q[9] + 1;
  wire [2999:0] turned;
  for (genvar n = 0; n < 3000; n++) assign turned[n] = n % 2 == 0;
endmodule""", 1)
    (bench.folder / "loops.sv").write_text(text, encoding="utf-8")
    own = build(bench, "loops.so", "loops.sv")
    done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}")
    bench.expect_equal(done.returncode, 0, f"lockstep: {done.stderr}")
    for flags in (["--verilator=--unroll-count 8"], ["--verilator=--unroll-count", "--verilator=8"]):
        done = bench.start(BUILD, BLOCK, "loops.sv", *flags, *TEST_BUILD, "-o", "a.so")
        bench.expect(done.returncode == 1 and "loops.sv" in done.stderr, f"{flags}: {done.stderr}")


def wrong_values(bench):
    """In the model's place RTL that gives what the model cannot use ends the run with 4, and is named. (An assertion of
    the user's on a wide port is compiled with it.)"""
    text = RTL.read_text(encoding="utf-8").replace("endmodule", """
  kept: assert property (@(posedge clk_i) in_valid_i |-> in_i.psn == in_i.psn);
endmodule""", 1)
    bench.expect("piece = {packet_q, looked.first" in text, f"{RTL.name}: found no packet in a piece")
    for name, field, said in (
            ("buffer", "buffer = 32'hffff_fff0",
             r"port out: cycle \d+: found packet buffer 4294967280; expected one of a packet that it has taken"),
            ("line", "line = 32'h7fff_fff0", rf"RTL of {BLOCK} has ended the run in its middle.*--lockstep")):
        wrong = text.replace("piece = {packet_q, looked.first", f"""wrong = packet_q;
          wrong.{field};
          piece = {{wrong, looked.first""").replace("    looked = job_q;", """
    rxnic_link_pkg::completion_request_t wrong;
    wrong = '0;
    looked = job_q;""", 1)
        (bench.folder / "wrong.sv").write_text(wrong, encoding="utf-8")
        own = build(bench, f"{name}.so", "wrong.sv")
        done = bench.rxnic("replay", e2e.SAMPLE, "--rtl", f"{BLOCK}={own}")
        told = re.search(said, done.stderr)
        bench.expect(done.returncode == 4 and told, f"{name} in place: {done.returncode} {done.stderr[-600:]}")
        done = bench.rxnic("replay", e2e.SAMPLE, "--lockstep", f"{BLOCK}={own}")
        bench.expect(done.returncode == 4 and f"{name}: " in done.stderr, f"{name} in lockstep: {done.stderr[-600:]}")


def finishes(bench):
    """RTL that calls $finish ends the run with 4, in place and in lockstep."""
    text = RTL.read_text(encoding="utf-8").replace("endmodule", """
  always @(posedge clk_i) if (in_valid_i && in_i.psn == 24'h103) $finish;
endmodule""", 1)
    (bench.folder / "finishes.sv").write_text(text, encoding="utf-8")
    own = build(bench, "finishes.so", "finishes.sv")
    for use in ("--rtl", "--lockstep"):
        done = bench.rxnic("replay", e2e.SAMPLE, use, f"{BLOCK}={own}")
        bench.expect(done.returncode == 4 and "the RTL has called $finish" in done.stderr, f"{use}: {done.stderr[:99]}")


def usage(bench):
    """scripts/build_rtl refuses what it cannot do, shows errors with file and line, and writes nothing then."""
    (bench.folder / "bad.sv").write_text(f"module {BLOCK} (input logic clk_i);\n  assign x = ;\nendmodule\n",
                                         encoding="utf-8")
    (bench.folder / "other.sv").write_text("module other (input logic clk_i);\nendmodule\n", encoding="utf-8")
    for status, arguments, words in ((2, [BLOCK, "bad.sv"], "-o"),
                                     (2, ["rx_parser", "bad.sv", "-o", "a.so"], "found rx_parser; expected one of"),
                                     (2, [BLOCK, "absent.sv", "-o", "a.so"], "found no file absent.sv"),
                                     (2, [BLOCK, "bad.sv", "-o", "a.so", "--set", "Latency"], "--set: found Latency"),
                                     (2, [BLOCK, "bad.sv", "-o", "no/a.so"], "found no folder no"),
                                     (2, [BLOCK, "bad.sv", "-o", "."], "found the folder .; expected a file"),
                                     (1, [BLOCK, "bad.sv", "-o", "a.so"], "bad.sv:2:"),
                                     (1, [BLOCK, "other.sv", "-o", "a.so"], BLOCK),
                                     (1, [BLOCK, RTL, "--set", "Depth=3", "-o", "a.so"], "Depth")):
        if not shutil.which("verilator"):
            raise e2e.Skip("verilator: it is not installed")
        done = bench.start(BUILD, *arguments)
        bench.expect_equal(done.returncode, status, " ".join(map(str, arguments)))
        bench.expect(words in done.stderr, f"{arguments}: does not name {words}: {done.stderr}")
        bench.expect(not (bench.folder / "a.so").exists(), f"{arguments}: has written something")
    # A flag for Verilator comes behind those that would turn it on again. A stand-in says what it is called with.
    stand_in = bench.folder / "verilator"
    stand_in.write_text('#!/bin/sh\necho "called with $*"\nexit 1\n', encoding="ascii")
    stand_in.chmod(0o755)
    done = bench.start(BUILD, BLOCK, RTL, "--verilator=-fno-split", "-o", "a.so",
                       env={**os.environ, "PATH": f"{bench.folder}:{os.environ['PATH']}"})
    words = (done.stdout + done.stderr).split()
    bench.expect("-fno-split" in words and "-O3" in words[:words.index("-fno-split")], f"flags: {words}")
    done = bench.start(BUILD, "--help")
    for words in ("--set", "--lockstep", ":transactions", "--rtl", "rtl/OWN_RTL.md"):
        bench.expect(words in done.stdout, f"--help does not mention {words}")


CHECKS = {"same": same, "slower": slower, "fault": fault, "refusals": refusals, "stalls": stalls, "usage": usage,
          "names": names, "cached": cached, "kept": kept, "loops": loops, "unset": unset,
          "wrong_values": wrong_values, "finishes": finishes, "organisation": organisation, "public_cam": public_cam,
          "mpi": mpi, "trace": trace}

if __name__ == "__main__":
    parser = e2e.parser_for(__doc__, CHECKS)
    parser.add_argument("--make-traffic", required=True, type=lambda f: pathlib.Path(f).resolve(), metavar="FILE",
                        help="the program that writes captures")
    sys.exit(e2e.run(parser, CHECKS))
