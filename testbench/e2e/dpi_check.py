#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RTL in a simulator of SystemVerilog: bridge/dpi, with testbench/dpi/receive_path_tb.sv."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

import e2e

BLOCK = "grh_scatter"
BLOCKS = ("grh_scatter", "tag_match_cam", "cqe_generator", "srq_wqe_fetcher")
PINGPONG = e2e.ROOT / "scripts" / "pingpong"


def address(bench):
    """In the abstract name space, of this check alone."""
    return f"@{bench.folder.name}"


def simulate(bench, *command, more=()):
    """Runs the testbench, and rxnic beside it; `DPI` in the command stands for its module of BLOCK, `DPIS` for all of
    its modules."""
    modules = {"DPI": (BLOCK,), "DPIS": BLOCKS}
    words = [",".join(f"{block}=dpi:{address(bench)}" for block in modules[word]) if word in modules else str(word)
             for word in command]
    return simulate_with(bench, bench.options.rxnic, *words, more=more)


def simulate_with(bench, *command, more=()):
    if not bench.options.testbench.is_file():
        raise e2e.Skip("receive_path_tb: it is built with Verilator and g++, without a sanitizer")
    line = shlex.join(map(str, command))
    return bench.start(bench.options.testbench, f"+address={address(bench)}", f"+command={line}", *more)


def traces():
    """The sample, and the captures beside the project when they are there."""
    try:
        return [e2e.SAMPLE, *e2e.shared_captures("soft_roce", "nic")]
    except e2e.Skip:
        return [e2e.SAMPLE]


def counted(bench, done):
    """(packets, pieces, CQEs) that the testbench has seen."""
    found = re.search(r"receive_path_tb: (\d+) packets, (\d+) pieces, (\d+) CQEs\n", done.stdout)
    bench.expect(done.returncode == 0 and found, f"exit status {done.returncode}: {done.stdout[-600:]} {done.stderr}")
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


def captures(bench):
    """Model and RTL agree on every capture, and as much is compared as with the RTL that is built in."""
    figures = r"lockstep: (\S+: \d+ cycles compared, \d+ of them clocked; \d+ transactions, \d+ bits)"
    for trace in traces():
        done = simulate(bench, "replay", trace, "--lockstep", "DPI")
        packets, pieces, _ = counted(bench, done)
        found = re.search(figures, done.stdout)
        built_in = re.search(figures, bench.rxnic("replay", trace, "--lockstep", BLOCK).stdout)
        bench.expect(found and built_in, f"{trace.name}: says not what was compared: {done.stdout[-600:]}")
        if found and built_in:
            bench.expect_equal(found[1], built_in[1], trace.name)
        bench.expect(packets > 0 and pieces > 0, f"{trace.name}: {packets} packets and {pieces} pieces")


def place(bench):
    """In the model's place the answers are the same, byte for byte and in their cycles."""
    for trace in traces():
        model = bench.replay(trace, out="model")
        *_, cqes = counted(bench, simulate(bench, "replay", trace, "--quiet", "--out", "rtl", "--rtl", "DPIS"))
        answers = [(bench.folder / out / "responses.pcap").read_bytes() for out in ("model", "rtl")]
        bench.expect(answers[0] == answers[1], f"{trace.name}: other responses")
        bench.expect_equal(cqes, model["cqes"], f"{trace.name}: CQEs")


def programs(bench):
    """Verbs programs drive the RTL of one NIC and of two; they check their data."""
    for program, iterations in (("ibv_srq_pingpong", 20), ("ibv_ud_pingpong", 200)):
        if not shutil.which(program):
            raise e2e.Skip(f"{program} is not installed")
        done = simulate(bench, "run", "--nics", 2, "--rtl", "DPIS", "--", PINGPONG, program, "--chk", "-n", iterations)
        packets, pieces, cqes = counted(bench, done)
        bench.expect_equal(done.stdout.count(f"{iterations} iters in "), 2, f"{program}: ends: {done.stdout[-600:]}")
        # Both ways; a message of ibv_srq_pingpong has four packets at an MTU of 1,024 bytes.
        least = 2 * iterations * (4 if program == "ibv_srq_pingpong" else 1)
        bench.expect(packets >= least and pieces >= least, f"{program}: {packets} packets and {pieces} pieces")
        bench.expect(cqes >= 4 * iterations, f"{program}: {cqes} CQEs")
        expect_clocked(bench, program, done, ("grh_scatter", "cqe_generator", "srq_wqe_fetcher"))
    done = simulate(bench, "run", "--nics", 2, "--lockstep", "DPI", "--", bench.options.example)
    packets, *_ = counted(bench, done)
    bench.expect(packets > 0, f"tag_matching: {packets} packets")
    done = simulate(bench, "run", "--nics", 2, "--rtl", "DPIS", "--", bench.options.example)
    counted(bench, done)
    expect_clocked(bench, "tag_matching", done, ("grh_scatter", "cqe_generator", "srq_wqe_fetcher"))
    tags = re.findall(r"rtl: nic\d\.tag_match_cam: \d+ cycles clocked, (\d+) transactions", done.stderr + done.stdout)
    bench.expect(sum(map(int, tags)) > 0, f"tag_matching: no tags: {done.stdout[-600:]} {done.stderr}")


def random(bench):
    """Random packets with back-pressure, compared with the model in every cycle."""
    for block, configuration, cycles in (("grh_scatter", "Latency4Sges1Bytes64", 5000),
                                         ("tag_match_cam", "Entries256Organisation0Search4", 20000),
                                         ("cqe_generator", "CqContexts4096CqContextWays4Latency4", 12000),
                                         ("srq_wqe_fetcher", "PrefetchDepth64Queues256QueueContexts8192", 3000)):
        done = simulate_with(bench, "env", f"RXNIC_COSIM_RTL=dpi:{address(bench)}", f"RXNIC_COSIM_CYCLES={cycles}",
                             bench.options.cosim_tests, f"--gtest_filter=*AgreeOnRandomPackets/{configuration}")
        counted(bench, done)
        found = re.findall(rf"{block}: (\d+) cycles compared, \d+ of them clocked; (\d+) transactions", done.stdout)
        bench.expect_equal(len(found), 2, f"{block}: with idle cycles left out, and clocked: {done.stdout[-600:]}")
        for compared, transactions in found:
            bench.expect(int(compared) > cycles / 2 and int(transactions) > cycles / 20,
                         f"{block}: {compared} cycles, {transactions} transactions compared")


def expect_clocked(bench, program, done, blocks):
    for block in blocks:
        clocked = re.findall(rf"rtl: nic(\d)\.{block}: (\d+) cycles clocked", done.stderr + done.stdout)
        bench.expect_equal([nic for nic, _ in clocked], ["0", "1"], f"{program}: NICs whose {block} was clocked")


def refusals(bench):
    """Who is not there, what does not fit and what there is no module for is refused by name."""
    done = bench.rxnic("replay", e2e.SAMPLE, "--quiet", "--rtl", f"{BLOCK}=dpi:{address(bench)}")
    bench.expect_equal(done.returncode, 2, "nobody listens")
    bench.expect("no simulator answers at" in done.stderr, f"nobody listens: {done.stderr}")
    for arguments, words in ((["--set", f"{BLOCK}.latency_cycles=6"],
                              "parameter LatencyCycles: found 4; expected 6"),
                             (["--set", "srq_wqe_fetcher.wqe_store_entries=65536"],
                              r"parameter WqeSlots: found \d+; expected 65536 or more")):
        done = simulate(bench, "replay", e2e.SAMPLE, "--quiet", "--rtl", "DPI", *arguments)
        bench.expect(re.search(words, done.stderr), f"{arguments}: does not name {words}: {done.stderr}")
        bench.expect("rxnic has ended with 2" in done.stdout + done.stderr, f"{arguments}: {done.stdout}")
        bench.expect(done.returncode != 0, f"{arguments}: exit status 0")
    done = simulate(bench, "run", "--quiet", "--nics", 3, "--rtl", "DPI", "--", "true")
    bench.expect(f"found no module for {BLOCK}, or each is taken" in done.stderr, f"a third NIC: {done.stderr}")
    done = simulate(bench, "replay", e2e.SAMPLE, "--quiet", "--rtl", f"rx_parser=dpi:{address(bench)}")
    bench.expect("rx_parser: has no RTL" in done.stderr, f"rx_parser: {done.stderr}")
    done = bench.start(bench.options.testbench, "+address=no/such/folder/socket")
    bench.expect("cannot listen at 'no/such/folder/socket'" in done.stderr, f"no folder: {done.stderr}")
    bench.expect(done.returncode != 0, "no folder: exit status 0")


def ends(bench):
    """What the testbench finds wrong, and its death, end the run; rxnic's death ends the testbench."""
    for option in ("--rtl", "--lockstep"):
        done = simulate(bench, "replay", e2e.SAMPLE, "--quiet", option, "DPI", more=["+page_bytes=64"])
        bench.expect(re.search(r"piece \d+: \d+ bytes at [0-9a-f]+ cross a page of 64 bytes", done.stderr),
                     f"{option}: the testbench's own check: {done.stderr}")
        bench.expect("rxnic has ended with 4" in done.stdout + done.stderr, f"{option}: {done.stdout}")
    for killed in ("simulator", "rxnic"):
        bench.expect_equal(killed_run(bench, killed), 4 if killed == "simulator" else True, f"{killed}: killed")


def killed_run(bench, killed):
    """One of the two is killed in the middle: rxnic's exit status, or whether the testbench has ended."""
    where = str(bench.folder / f"{killed}.socket")  # its own: a simulator that was killed leaves its socket behind
    log = bench.folder / "rxnic.log"
    command = [bench.options.rxnic, "run", "--quiet", "--nics", "2", "--rtl", f"{BLOCK}=dpi:{where}", "--", PINGPONG,
               "ibv_ud_pingpong", "-n", "1000000"]
    with subprocess.Popen([bench.options.testbench, f"+address={where}"], cwd=bench.folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as simulator:
        wait_until(lambda: os.path.exists(where))
        with open(log, "w", encoding="utf-8") as errors, subprocess.Popen(
                command, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=errors) as rxnic:
            try:
                # 0.3 s of a core: it has begun long ago.
                wait_until(lambda: rxnic.poll() is not None or ticks_of(simulator) >= 30)
                bench.expect_equal(rxnic.poll(), None, f"rxnic: {log.read_text(encoding='utf-8')}")
                if killed == "simulator":
                    simulator.kill()
                    return rxnic.wait(e2e.TIMEOUT)
                rxnic.kill()
                return simulator.wait(e2e.TIMEOUT) == 0
            finally:
                simulator.kill()
                rxnic.kill()


def ticks_of(process):
    """Ticks of a core that the process itself has used: a hundred a second."""
    return int(pathlib.Path("/proc", str(process.pid), "stat").read_text(encoding="utf-8").split()[13])


def wait_until(holds):
    """A test that waits too long fails."""
    limit = time.monotonic() + e2e.TIMEOUT
    while not holds():
        if time.monotonic() > limit:
            raise AssertionError("it did not come")
        time.sleep(0.02)


OWN = """// a, module in a comment
module own #(
  parameter int unsigned Width = $clog2(16), /* , */
  localparam int unsigned Twice = 2 * Width
) (
  input logic clk_i, input [Width-1:0] in_i,
  output var pkg::word_t out_o  // the last
);
endmodule
"""


def modules(bench):
    """scripts/dpi_module lists what a header declares, in its order, and refuses what it cannot read."""
    program = e2e.ROOT / "scripts" / "dpi_module"
    own = bench.folder / "own.sv"
    own.write_text(OWN)
    done = bench.start(program, own)
    bench.expect_equal(done.returncode, 0, done.stderr)
    for line in ("module own_module", "  parameter int unsigned Width = $clog2(16),", "  logic [Width-1:0] in_i;",
                 "  localparam int unsigned Twice = 2 * Width", "  pkg::word_t out_o;", "    .Width(Width)",
                 "    `RXNIC_PARAMETER(Width)"):
        bench.expect(line in done.stdout.splitlines(), f"expected {line!r}: {done.stdout}")
    bench.expect_equal(re.findall(r"`RXNIC_(INPUT|OUTPUT)\((\w+)\)", done.stdout),
                       [("INPUT", "clk_i"), ("INPUT", "in_i"), ("OUTPUT", "out_o")], "ports")
    own.write_text("module own #(parameter type T = logic, parameter int A = 1) (input logic a);")
    typed = bench.start(program, own).stdout
    bench.expect_equal(re.findall(r"`RXNIC_PARAMETER\((\w+)\)", typed), ["A"], "a type is no number")
    bench.expect("    .T(T),\n    .A(A)\n" in typed, f"a type is passed on: {typed}")
    for text, words in (("package p; endpackage", "there is no module"),
                        ("module old(a, b);", "found 'a'; expected 'input TYPE NAME'"),
                        ("module one;", "declares no ports in its header"),
                        ("module open #(parameter int A = (1", "a parenthesis is not closed"),
                        ("module own #(int A = 1) (input a);", "expected 'parameter TYPE NAME = DEFAULT'")):
        own.write_text(text)
        done = bench.start(program, own, "-o", "never.sv")
        bench.expect_equal(done.returncode, 2, text)
        bench.expect(words in done.stderr and "own.sv" in done.stderr, f"{text}: {done.stderr}")
    bench.expect_equal(bench.start(program, "nothing.sv").returncode, 2, "no file")
    bench.expect(not (bench.folder / "never.sv").exists(), "something was written")
    own.write_text(OWN)
    done = bench.start(program, own, "-o", ".")
    bench.expect_equal((done.returncode, done.stderr), (2, "dpi_module: .: Is a directory\n"), "-o with a folder")


def commands_of(page):
    """[command, what the page says that it prints] of the lines that begin with `$`."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, output = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", part, re.S).groups()
            found.append((command, output.splitlines()))
    return found


def readme(bench):
    """The commands of bridge/dpi/README.md, as they stand there, in a folder in which build/release is the build at
    hand. Verilator reads what it is given, and compiles nothing: that takes minutes, and has been done by the build."""
    if not bench.options.testbench.is_file():
        raise e2e.Skip("receive_path_tb: it is built with Verilator and g++, without a sanitizer")
    build = bench.options.testbench.parents[3]
    for name, place in (("build/release", build), ("scripts/rxnic", bench.options.rxnic),
                        ("obj_dir/Vreceive_path_tb", bench.options.testbench), ("scripts/build", None),
                        ("scripts/pingpong", None), ("bridge", None), ("rtl", None), ("testbench", None)):
        (bench.folder / name).parent.mkdir(exist_ok=True)
        (bench.folder / name).symlink_to(place or e2e.ROOT / name)
    build_dpi, verilate, run, compare = commands_of(e2e.ROOT / "bridge" / "dpi" / "README.md")
    bench.expect("--binary" in verilate[0], verilate[0])
    for command, output in (build_dpi, (verilate[0].replace("--binary", "--lint-only"), []), run, compare):
        if "ibv_srq_pingpong" in command and not shutil.which("ibv_srq_pingpong"):
            continue
        done = bench.start("bash", "-c", command)
        bench.expect_equal(done.returncode, 0, f"{command}: {done.stdout[-600:]}{done.stderr[-600:]}")
        for line in output:  # in which numbers differ from run to run
            like = re.sub(r"\d+", r"\\d+", re.escape(line)) if line != "..." else ""
            bench.expect(re.search(f"^{like}$", done.stdout + done.stderr, re.M), f"{line}: {done.stdout[-600:]}")
    made = bench.start("ninja", "-C", "build/release", "-t", "commands", "dpi").stdout
    for name in ("generated/params.stamp", "generated/descriptors.stamp", "bridge/dpi/librxnic_dpi.so",
                 *(f"bridge/dpi/{block}_module.sv" for block in BLOCKS)):
        bench.expect(name in made, f"target dpi does not make {name}: {made}")


CHECKS = {"captures": captures, "place": place, "programs": programs, "random": random, "modules": modules,
          "refusals": refusals, "ends": ends, "readme": readme}

if __name__ == "__main__":
    PARSER = e2e.parser_for(__doc__, CHECKS)
    PARSER.add_argument("--testbench", required=True, type=pathlib.Path, metavar="FILE")
    PARSER.add_argument("--example", required=True, type=pathlib.Path, metavar="FILE", help="a tag-matching program")
    PARSER.add_argument("--cosim-tests", required=True, type=pathlib.Path, metavar="FILE")
    sys.exit(e2e.run(PARSER, CHECKS))
