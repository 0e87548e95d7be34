#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/area: what yosys finds in the RTL, beside the model."""
import contextlib
import io
import json
import os
import re
import shutil
import sys
import unittest.mock

import e2e

BLOCK = "grh_scatter"
# A small block in the place of the real one. yosys reads it in a moment.
RTL = """// SPDX-License-Identifier: Apache-2.0
module grh_scatter #(
  parameter int unsigned Lanes = rxnic_params_pkg::GrhScatterSgesPerCycle,
  parameter int unsigned Slots = rxnic_params_pkg::SrqWqeFetcherWqeStoreEntries
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  rxnic_link_pkg::scatter_list_read_t at_i,
  input  logic [Lanes*rxnic_link_pkg::DataSegmentBits-1:0] words_i,
  output logic found_o
);
  logic [69:0] cursors_q [Slots];
  logic last_q;
  assign found_o = ^cursors_q[at_i.wqe_slot[3:0]] ^ last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) last_q <= 1'b0;
    else last_q <= ^words_i;
  end
  always_ff @(posedge clk_i) cursors_q[at_i.wqe_slot[7:4]] <= {words_i[69:6], at_i.element};
endmodule
"""
TABLE = """# SPDX-License-Identifier: Apache-2.0
[grh_scatter]
configurations = ["tiny grh_scatter.sges_per_cycle=2"]
[grh_scatter.ports]
at_i = ["ScatterListRead"]
words_i = ["DataSegment", "Lanes"]
[grh_scatter.memories]
cursors = { memories = ["cursors_q"] }
pipeline = { because = "It is left out." }
job = { registers = ["last_q"], because = "It is shorter." }
refused = { because = "It is left out." }
"""


def need_yosys():
    if not shutil.which("yosys"):
        raise e2e.Skip("yosys")


def area(bench, script, *arguments, **how):
    # Other tests have the other cores.
    return bench.start(sys.executable, "-B", script, "--rxnic", bench.options.rxnic, "--jobs", "1", *arguments, **how)


def grh_scatter(bench):
    """Ports and memories of grh_scatter are as wide as the model's, and follow its parameters."""
    need_yosys()
    settings, entries, lanes = ["--config", "tiny", "--set", "srq_wqe_fetcher.wqe_store_entries=32"], 32, [1, 2]
    done = area(bench, e2e.ROOT / "scripts" / "area", BLOCK, *settings, "--json", "--set",
                "grh_scatter.sges_per_cycle=" + ",".join(map(str, lanes)))
    bench.expect_equal(done.returncode, 0, done.stderr)
    results = json.loads(done.stdout)[BLOCK]
    bench.expect_equal(len(results), len(lanes), "configurations")
    for result, count in zip(results, lanes):
        shown = bench.rxnic("params", "--memory", "--json", *settings, "--set", f"grh_scatter.sges_per_cycle={count}")
        model = {m["name"]: m for m in json.loads(shown.stdout)["memories"] if m["block"] == BLOCK}
        rtl = result["rtl_memories"]
        for ours, models in (("cursors_q", "cursors"), ("pipeline.words_q", "pipeline")):
            found = (rtl[ours]["entries"], rtl[ours]["entry_bits"])
            bench.expect_equal(found, (model[models]["entries"], model[models]["entry_bits"]), ours)
        bench.expect_equal(rtl["cursors_q"]["entries"], entries, "cursors_q")
        bench.expect_equal(result["ports"]["out_o"], count * model["pipeline"]["entry_bits"], "bits of out_o")
        bench.expect_equal(result["ports"]["out_valid_o"], count, "bits of out_valid_o")
        bits = model["pipeline"]["entry_bits"]  # a packet's registers have most of a piece's
        bench.expect(result["gates"] > bits // 2 and bits // 2 < result["flip_flops"] < 2 * bits, f"size: {result}")


def levels(bench):
    """Levels are the gates on the longest path between registers, memories and ports, also of long ones."""
    script = e2e.script("area")

    def gate(kind, output, **inputs):
        return {"type": f"$_{kind}_", "connections": {"Y": [output]} | {port: [bit] for port, bit in inputs.items()}}

    flip_flop = {"type": "$_DFF_PN0_", "connections": {"C": [1], "R": [2], "D": [12], "Q": [10]}}
    netlist = [gate("AND", 12, A=11, B=3), gate("NOT", 11, A=10), gate("OR", 13, A=11, B=11), flip_flop,
               {"type": script.MEMORY, "connections": {"RD_DATA": [20]}}, gate("NOT", 21, A=20)]
    bench.expect_equal(script.levels_of(netlist), 2, "a path of NOT and AND from a register to it")
    bench.expect_equal(script.levels_of([flip_flop]), 0, "without gates")
    chain = [gate("XOR", n + 1, A=n, B=n - 1) for n in range(100, 50100)]
    bench.expect_equal(script.levels_of(chain[::-1]), 50000, "a long path")
    need_yosys()
    done = area(bench, e2e.ROOT / "scripts" / "area", BLOCK, "--config", "tiny", "--json")
    result = json.loads(done.stdout)[BLOCK][0]
    bench.expect(1 < result["levels"] < result["gates"] / 4, f"{BLOCK}: {result['levels']} levels")
    bench.expect("1 of 1 configurations" in done.stderr, f"progress: {done.stderr}")


def bench_(bench):
    """scripts/bench: what failed is named below the table, which is no wider for it."""
    rows = [{"name": "cam/model/100", "real_time": 2.0, "time_unit": "ms", "cycles/s": 1e6},
            {"name": "cam/rtl/100", "real_time": 0, "time_unit": "ms", "error_occurred": True,
             "error_message": "no such RTL: " + "x" * 900}]
    (bench.folder / "figures.json").write_text(json.dumps({"benchmarks": rows}), encoding="ascii")
    done = bench.start(sys.executable, "-B", e2e.ROOT / "scripts" / "bench", "--from", "figures.json")
    lines = done.stdout.splitlines()
    bench.expect_equal(done.returncode, 0, done.stderr)
    bench.expect(max(map(len, lines[:3])) < 60, f"the table is wide: {lines[:3]}")
    bench.expect(lines[2].split() == ["cam/rtl/100", "failed"] and lines[3].startswith("cam/rtl/100: no such RTL"),
                 f"failure: {lines[2:]}")
    # Ratios are those to an earlier run; where that has failed, or has no such benchmark, there is none.
    before = [{**rows[0], "cycles/s": 5e5}, rows[1]]
    for earlier, ratio in (before, "2.00"), (rows[1:], "-"), ([], "-"):
        (bench.folder / "earlier.json").write_text(json.dumps({"benchmarks": earlier}), encoding="ascii")
        done = bench.start(sys.executable, "-B", e2e.ROOT / "scripts" / "bench", "--from", "figures.json",
                           "--baseline", "earlier.json")
        bench.expect_equal((done.returncode, done.stdout.splitlines()[1].split()[-1]), (0, ratio),
                           f"ratio to {earlier}: {done.stderr}")
    # They are looked at before anything is built, run or written: the file of --out may be that of --baseline.
    script = e2e.script("bench")
    began = []

    def begins(*_, **__):
        began.append(True)
        raise SystemExit(9)

    for content, option, status, words in (
            (before, "--baseline", 9, ""), (None, "--baseline", 2, "No such file"), (None, "--from", 2, "No such file"),
            ("text", "--baseline", 2, "no JSON"), ("{}", "--from", 2, "other JSON"), ("[]", "--baseline", 2, "other"),
            ('{"benchmarks": [{"name": "cam"}]}', "--from", 2, "other JSON")):
        file = bench.folder / "other.json"
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content if isinstance(content, str) else json.dumps({"benchmarks": content}), "ascii")
        began.clear()
        said = io.StringIO()
        with contextlib.redirect_stderr(said), unittest.mock.patch.object(script.subprocess, "run", begins), \
                unittest.mock.patch.object(script, "read", wraps=script.read) as read, \
                unittest.mock.patch.object(sys, "argv", ["bench", option, str(file), "--out", str(file)]):
            try:
                script.main()
                ended = 0
            except SystemExit as end:
                ended = end.code
        bench.expect_equal((ended, bool(began), read.call_count), (status, status == 9, 1), f"{option} {content}")
        bench.expect(words in said.getvalue() and (status == 9 or f"{option}: {file}" in said.getvalue()),
                     f"{option} {content}: {said.getvalue()}")


def mistakes(bench):
    """What yosys misreads, and what the model does not have, is named, and the exit code is 1."""
    need_yosys()
    for folder in ("model/params", "model/types"):
        shutil.copytree(e2e.ROOT / folder, bench.folder / folder)
    for folder in ("rtl", "scripts", "bridge/rtl"):
        (bench.folder / folder).mkdir(parents=True)
    for name in ("twins.py", "measured_area.py"):
        shutil.copy(e2e.ROOT / "bridge" / "rtl" / name, bench.folder / "bridge" / "rtl")
    shutil.copy(e2e.ROOT / "rtl" / "rxnic_pkg.sv", bench.folder / "rtl")
    script = shutil.copy(e2e.ROOT / "scripts" / "area", bench.folder / "scripts")
    lanes = "logic [Lanes*rxnic_link_pkg::DataSegmentBits-1:0] words_i"
    cursors = 'cursors = { memories = ["cursors_q"] }\n'
    flip_flop = RTL[RTL.index("always_ff"):RTL.index("^words_i")]
    for was, now, status, *words in [
            ("", "", 0),
            (lanes, "rxnic_link_pkg::data_segment_t [Lanes-1:0] words_i", 1, "words_i", "expected 256"),
            ("logic [69:0] cursors_q", "logic [63:0] cursors_q", 1, "cursors: 1024 bits in the RTL, 1120 in the model"),
            ("cursors_q [Slots]", "cursors_q [2*Slots]", 1, "cursors: 32 entries in the RTL, 16 in the model"),
            ("if (!rst_ni) last_q <= 1'b0;", "if (!rst_ni) for (int n = 0; n < 16; n++) cursors_q[n] <= '0;", 1,
             "cursors_q"),
            (flip_flop, "always_latch begin\n    if (rst_ni) last_q = ", 1, "latch"),
            ("  logic last_q;", "  logic last_q;\n  assign found_o = &words_i;", 1, "multiple conflicting drivers"),
            ('"last_q"', '"first_q"', 1, "first_q: no register"),
            (cursors, "", 1, "cursors_q: a memory of the RTL"),
            (cursors, cursors.replace(" }", ', because = "So." }'), 1, "says why they differ"),
            ('because = "It is shorter."', 'because = ""', 1, "job", "does not say why"),
            ("at_i = ", "of_i = ", 1, "there is no port of_i"),
            ('"Lanes"', '"Lane"', 1, "words_i", "DataSegment, Lane"),
            ("pipeline = ", "pipelines = ", 1, "no memory pipelines"),
    ]:
        for name, text in (("grh_scatter.sv", RTL), ("area.toml", TABLE)):
            (bench.folder / "rtl" / name).write_text(text.replace(was, now) if was else text, encoding="utf-8")
        done = area(bench, script)
        bench.expect_equal(done.returncode, status, f"{was} -> {now}: {done.stderr}")
        for word in words:
            bench.expect(word in done.stderr, f"{was} -> {now}: does not name {word}: {done.stderr}")
    for name, text in (("grh_scatter.sv", "no RTL"), ("area.toml", TABLE), ("../own.sv", RTL)):
        (bench.folder / "rtl" / name).write_text(text, encoding="utf-8")
    done = area(bench, script, BLOCK, "--rtl", "own.sv", "--set", "grh_scatter.sges_per_cycle=1,2")
    bench.expect_equal(done.returncode, 0, f"own RTL: {done.stderr}")
    rows = re.findall(r"^    RTL +[\d ]+$", done.stdout, re.M)
    shown = "cursors_q" in done.stdout and "model" not in done.stdout
    bench.expect(shown and len(rows) == 2, f"own RTL: {done.stdout}")
    # What it includes is looked for beside it first, wherever the program is started.
    (bench.folder / "own.sv").write_text('`include "part.svh"\n', encoding="utf-8")
    for name, content in (("part.svh", RTL), ("rtl/part.svh", "no RTL")):
        (bench.folder / name).write_text(content, encoding="utf-8")
    done = area(bench, script, BLOCK, "--rtl", bench.folder / "own.sv", cwd=bench.folder / "rtl")
    bench.expect_equal(done.returncode, 0, f"own RTL that includes a file, started in rtl/: {done.stderr}")
    (bench.folder / "own.sv").write_text(RTL.replace(lanes, "logic [99:0] words_i"), encoding="utf-8")
    done = area(bench, script, BLOCK, "--rtl", "own.sv")
    bench.expect(done.returncode == 1 and "words_i: yosys has read 100 bits" in done.stderr, f"own port: {done.stderr}")
    (bench.folder / "rtl" / "grh_scatter.sv").write_text(RTL, encoding="utf-8")
    left_out = TABLE.replace("[grh_scatter]", '[grh_scatter]\nnot_sized = "So."', 1)
    (bench.folder / "rtl" / "area.toml").write_text(left_out, encoding="utf-8")
    done = area(bench, script)
    bench.expect_equal(done.stdout, "grh_scatter: not measured unless it is named: So.\n", "not_sized")
    done = area(bench, script, BLOCK)
    bench.expect(done.returncode == 0 and "gates" in done.stdout, f"not_sized, by name: {done.stdout} {done.stderr}")


def recorded(bench):
    """rtl/measured_area.json is of the RTL of this tree; --record keeps what was measured, once."""
    sys.path.insert(0, str(e2e.ROOT / "bridge" / "rtl"))
    import measured_area  # pylint: disable=import-outside-toplevel
    rows = measured_area.rows()
    bench.expect(len(rows) > 5, f"{len(rows)} rows")
    for row in rows:
        bench.expect_equal(row["rtl"], measured_area.digest(row["block"]),
                           f"{row['block']} was changed after it was measured: scripts/area {row['block']} --record")
        bench.expect_equal(list(row["parameters"]), measured_area.parameters(row["block"]), row["block"])
    table = bench.folder / "measured.json"
    row = dict(rows[0], gates=1)
    other = dict(row, parameters=dict.fromkeys(row["parameters"], 5), gates=2)
    with unittest.mock.patch.object(measured_area, "TABLE", table):
        for new, kept in (([row], 1), ([row], 1), ([other], 2), ([dict(row, gates=3)], 2), ([dict(row, rtl="0")], 1)):
            measured_area.record(new)
            bench.expect_equal(len(measured_area.rows()), kept, f"rows after {new}")
    need_yosys()
    same = [r for r in rows if r["block"] == "tag_store_age" and r["parameters"]["tag_match_cam.entries"] == 16]
    bench.expect_equal(len(same), 1, "tag_store_age of 16 entries")
    done = area(bench, e2e.ROOT / "scripts" / "area", "tag_store_age", "--set", "tag_match_cam.entries=16", "--json")
    bench.expect_equal(done.returncode, 0, f"tag_store_age: {done.stderr}")
    again = json.loads(done.stdout)["tag_store_age"][0]
    for key in ("gates", "levels", "flip_flops"):
        bench.expect_equal(again[key], same[0][key], f"tag_store_age: {key}")


def absent(bench):
    """Without yosys it exits 2 and names it."""
    done = area(bench, e2e.ROOT / "scripts" / "area", BLOCK, env=dict(os.environ, PATH=str(bench.folder)))
    bench.expect(done.returncode == 2 and "yosys is not installed" in done.stderr, f"without yosys: {done.stderr}")


def refusals(bench):
    """A wrong command line exits 2 and says what was expected."""
    need_yosys()
    script = e2e.ROOT / "scripts" / "area"
    helped = area(bench, script, "--help")
    bench.expect(helped.returncode == 0 and "rtl/area.toml" in helped.stdout, f"--help: {helped.stdout}")
    for arguments, *words in ((["rx_parsers"], "rx_parsers", BLOCK),
                              (["--config", "nic_101g"], "nic_101g", "nic_100g_gen3"),
                              (["--set", "grh_scatter.latency_cycles=4,0"], "latency_cycles", "found 0"),
                              (["--set", "grh_scatter.latency"], "grh_scatter.latency", "section.key=value"),
                              (["--jobs", "0"], "--jobs: found 0", "1 or more"),
                              (["--timeout", "-1"], "--timeout: found -1", "more than 0"),
                              (["--timeout", "0"], "--timeout: found 0"),
                              (["--timeout", "nan"], "--timeout: found nan"),
                              (["--timeout", "1e9"], "--timeout: found 1e+09", "1,000,000"),
                              (["--rtl", "own.sv"], "found 0 blocks"),
                              ([BLOCK, "--rtl", "own.sv"], "found no file", "own.sv")):
        done = area(bench, script, *arguments)
        bench.expect_equal(done.returncode, 2, " ".join(arguments))
        for word in words:
            bench.expect(word in done.stderr, f"{' '.join(arguments)}: does not name {word}: {done.stderr}")


CHECKS = {"grh_scatter": grh_scatter, "levels": levels, "mistakes": mistakes, "recorded": recorded, "absent": absent,
          "refusals": refusals, "bench": bench_}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
