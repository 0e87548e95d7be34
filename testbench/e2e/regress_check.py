#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/regress and scripts/mutate_rtl: small ones, and what they must not pass."""
import re
import shutil
import sys

import e2e

sys.dont_write_bytecode = True
sys.path.insert(0, str(e2e.ROOT / "testbench" / "cosim"))
import mutants  # noqa: E402
import rtl_coverage  # noqa: E402
import trial  # noqa: E402
import twins  # noqa: E402

BLOCK = "grh_scatter"
REGRESS = e2e.ROOT / "scripts" / "regress"
MUTATE = e2e.ROOT / "scripts" / "mutate_rtl"


def script(bench, path, *arguments):
    """A script with the build folder of this program."""
    if not shutil.which("verilator"):
        raise e2e.Skip("verilator: it is not installed")
    return bench.start(path, BLOCK, "--build", bench.options.rxnic.parents[2], *arguments)


def table(bench):
    """A row for each configuration and stimulus, with what was compared."""
    done = script(bench, REGRESS, "--only", "random", "--only", "captures", "--cycles", 50000,
                  "--captures", bench.folder)
    bench.expect_equal(done.returncode, 0, f"exit status: {done.stdout} {done.stderr}")
    names = [configuration.name for configuration in twins.configurations(BLOCK)]
    for stimulus in ("random, back-pressure", e2e.SAMPLE.name):
        rows = re.findall(rf"^{BLOCK} +{stimulus} +(\w+) +([\d,]+) +([\d,]+) +(\d+) of (\d+)$", done.stdout, re.M)
        bench.expect_equal([row[0] for row in rows], names, f"{stimulus}: configurations")
        for name, cycles, transactions, hit, points in rows:
            bench.expect(int(cycles.replace(",", "")) > 1000 and int(transactions.replace(",", "")) > 10,
                         f"{stimulus}, {name}: {cycles} cycles, {transactions} transactions")
            bench.expect(stimulus == e2e.SAMPLE.name or hit == points, f"{name}: {hit} of {points} cover points")
    bench.expect(done.stdout.endswith("nothing differs\n"), f"says not how it ended: {done.stdout[-200:]}")
    # Too few cycles for every cover point: a row that fails.
    done = script(bench, REGRESS, "--only", "random", "--cycles", 300)
    bench.expect_equal(done.returncode, 1, "exit status with too few cycles")
    bench.expect(done.stdout.count("FAILED") >= 3, f"rows that fail: {done.stdout}")


def coverage(bench):
    """Lines and toggles are added up over configurations; exclusions leave out what was missed, and must fit it."""
    record = "C '\1f\2/x/rtl/grh_scatter.sv\1l\2{}\1n\2{}\1page\2{}/grh_scatter\1o\2{}\1h\2TOP' {}"
    table_file = bench.folder / "coverage.toml"
    table_file.write_text(f'[{BLOCK}]\nmost = 0\ntoggles = [{{ name = ".*in_i.psn.*", because = "why" }}, '
                          '{ name = ".*in_i.qpn.*", because = "it was hit" }]\n', encoding="utf-8")
    rtl_coverage.EXCLUSIONS = table_file
    counted = rtl_coverage.Coverage(BLOCK)
    for name, hits in (("in_i.qpn[3]", 0), ("in_i.qpn[3]", 1), ("in_i.psn[0]", 0), ("WqeSlots[0]", 0),
                       ("refused_valid_q[0]", 0), ("looks.unnamedblk1.n[0]", 0)):
        counted.add_bit(f"{BLOCK}.{name}", hits)
    counted.add_bit("rxnic_pkg.PageBytes[0]", 0)
    for line in (record.format(50, 5, "v_branch", "if", 0), record.format(51, 5, "v_line", "block", 7),
                 record.format(51, 5, "v_line", "block", 0), record.format(52, 5, "v_user", "cover", 0),
                 record.format(53, 5, "v_line", "block", 0).replace("grh_scatter.sv", "rxnic_pkg.sv")):
        counted.add_record(line)
    bench.expect_equal(counted.figure(rtl_coverage.TOGGLE), (1, 2), "toggles")
    bench.expect_equal(counted.figure(rtl_coverage.LINE), (1, 2), "lines")
    bench.expect_equal(counted.missed(rtl_coverage.TOGGLE), [("", 0, f"{BLOCK}.in_i.psn[0]")], "missed toggles")
    counted.exclude()
    bench.expect_equal(counted.figure(rtl_coverage.TOGGLE), (1, 1), "toggles that count")
    bench.expect_equal(counted.too_many(), 1, "toggles left out above `most`")
    bench.expect_equal([entry["name"] for entry in counted.unused], [".*in_i.qpn.*"], "exclusions that fit nothing")
    bench.expect_equal(counted.text(rtl_coverage.TOGGLE), "toggles 100.0 % (1 of 1; 1 left out for 1 reason)", "text")


def counters(bench):
    """RTL that was built to count its lines and toggles does: what a clock, a wire that stays and a task have."""
    if not shutil.which("verilator"):
        raise e2e.Skip("verilator: it is not installed")
    build = bench.options.rxnic.parents[2]
    configuration, counted = twins.configurations(BLOCK)[0], rtl_coverage.Coverage(BLOCK)
    made = bench.folder / "counting.so"
    refusal = trial.build(configuration, {}, made, "--coverage", "--optimize", "0", *counted.flags())
    bench.expect_equal(refusal, "", "it is built")
    verdict = trial.run(configuration, made, build / "testbench" / "cosim" / "cosim_tests", 10000,
                        RXNIC_RTL_COVERAGE=str(bench.folder))
    bench.expect_equal(verdict, "not caught", "the test")
    counted.add(bench.folder)
    hits = {name: hits for (_, _, name), hits in counted.hits[rtl_coverage.TOGGLE].items()}
    for name, expected in (("clk_i", 1), ("in_i.psn[0]", 1), ("refusals_o.buffer[0]", 0)):
        bench.expect_equal(hits.get(f"{BLOCK}.{name}"), expected, name)
    bench.expect(not any("checker" in name or "cursors_q" in name for name in hits), "a checker, a memory")
    for kind in (rtl_coverage.LINE, rtl_coverage.TOGGLE):
        hit, count = counted.figure(kind)
        bench.expect(count > 50 and hit > 0.8 * count, counted.text(kind))
    refused = bench.start(e2e.ROOT / "scripts" / "build_rtl", BLOCK, e2e.SAMPLE, "--coverage", "--trace", "a.vcd", "-o",
                          "a.so")
    bench.expect_equal(refused.returncode, 2, "both --coverage and --trace")


def changes(bench):
    """Places are found as SystemVerilog is read; mutants are built, tried, counted; a seed draws the same ones."""
    source = mutants.Source("assign y = a + b * c - d;  // + 1\nq <= s <= t ? {u[7:0], v[w+:8]} : x[n - 1];\n")
    bench.expect_equal([source.text[begin:end] + " | " + new for begin, end, new, _ in source.changes()],
                       ["a + b * c | a - b * c", "a + b * c - d | a + b * c + d", "s <= t | s < t", "s <= t | s >= t",
                        "n - 1 | n + 1", "1 | 2", "1 | 0"], "changes")
    extreme = mutants.Source("y = a < b ? a : b; z = a < b ? c : d;")
    bench.expect_equal([change for *_, change in extreme.changes()], ["< -> >", "< -> <=", "< -> >"], "of a minimum")
    lists = [script(bench, MUTATE, "--list", "--count", 30, "--seed", seed).stdout for seed in (5, 5, 6)]
    bench.expect(lists[0] == lists[1] != lists[2], "seeds")
    drawn = re.findall(r"^(\w+).sv:\d+:\d+: .* -> .*$", lists[0], re.M)
    bench.expect(len(drawn) == 30 and set(drawn) == {BLOCK, "rxnic_fifo"}, f"mutants, also of its parts: {drawn}")
    done = script(bench, MUTATE, "--count", 1, "--cycles", 50000, "--seed", 5, "--jobs", 1)
    said = re.search(r"grh_scatter: seed 5; 1 mutants, [01] caught; besides \d+ that change nothing", done.stdout)
    bench.expect(said, f"says not what it did: {done.stdout} {done.stderr}")
    for option in ("--jobs", "--count", "--cycles"):
        done = bench.start(MUTATE, BLOCK, option, 0)
        bench.expect(done.returncode == 2 and f"{option}: found 0; expected 1 or more" in done.stderr, done.stderr)
    done = bench.start(MUTATE, BLOCK, "--build", bench.folder)
    bench.expect_equal(done.returncode, 2, "a folder without tests")
    bench.expect("found no" in done.stderr, done.stderr)


CHECKS = {"table": table, "coverage": coverage, "counters": counters, "mutants": changes}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
