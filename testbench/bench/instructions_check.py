#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions a packet, by block, against testbench/bench/instructions.toml."""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import e2e  # noqa: E402
import instructions  # noqa: E402

PROFILE = """# callgrind format
version: 1
events: Ir

ob=(1) rxnic
fl=(1) ???
fn=(1) rxnic::DmaEngine::step(rxnic::Cycle)
10 100
+1 20
cfn=(2) rxnic::Cycle rxnic::Engine::tick<1ul>()
calls=3 0
* 5000
-4 3

fn=(2)
0 40

fn=(1)
fi=(2) link.h
7 1
fe=(1)
9 2
"""
GROUPS = {
    "rxnic::DmaEngine::step(rxnic::Cycle)": "dma_engine",
    "rxnic::Cycle rxnic::Engine::tick<1ul>()": "engine",
    "rxnic::Link<rxnic::WireFrame>::push(rxnic::Cycle, rxnic::WireFrame const&)": "engine",
    "void rxnic::DmaEngine::pass_on<rxnic::Doorbell>(rxnic::Cycle, rxnic::DmaEngine::HostWrite)": "dma_engine",
    "rxnic::(anonymous namespace)::parse_udp(std::span<unsigned char const, 1ul>, rxnic::Headers&)": "headers",
    "rxnic::make_cqe(rxnic::CompletionRequest const&, unsigned int, rxnic::Cycle)": "cqe_generator",
    "rxnic::(anonymous namespace)::Answers::on_frame(rxnic::Packet const&, unsigned long)": "capture",
    "rxnic::(anonymous namespace)::Vcrcs::add(rxnic::CapturedFrame const&)": "other",
    "_ZN5rxnic10DescriptorINS_10WqeRequestEE14for_each_fieldIZNS_6detail": "assertions",
    "__memcpy_avx_unaligned_erms": "library",
}


def parts(bench):
    """A profile is read by function, a function counts for its block, and what passes its budget is named."""
    found = instructions.functions_of(PROFILE)
    bench.expect_equal(found, {"rxnic::DmaEngine::step(rxnic::Cycle)": 126,
                               "rxnic::Cycle rxnic::Engine::tick<1ul>()": 40}, "functions")
    for function, group in GROUPS.items():
        bench.expect_equal(instructions.group_of(function), group, function)
    bench.expect_equal(instructions.by_group({"rxnic::DmaEngine::step(rxnic::Cycle)": 126.4, "memcpy": 0.8}),
                       {"total": 127, "dma_engine": 126, "library": 1}, "groups")
    budgets = {"total": 1000, "dma_engine": 600, "engine": 100, "library": 1}
    for counted, expected in [({"total": 1020, "dma_engine": 612, "engine": 110}, []),
                              ({"total": 1021, "dma_engine": 612, "engine": 110}, ["total"]),
                              ({"total": 1020, "dma_engine": 613, "engine": 110}, ["dma_engine"]),
                              ({"total": 1020, "dma_engine": 612, "engine": 111}, ["engine"]), ({"total": 1}, []),
                              ({"total": 0}, ["found no instructions; expected some"])]:
        named = [text.split(": ")[1] for text in instructions.excess("case", counted, budgets)]
        bench.expect_equal(named, expected, f"{counted}: passed budgets")


def budgets(bench):
    """No load needs more instructions than its budget."""
    if not shutil.which("valgrind"):
        raise e2e.Skip("found no valgrind")
    build = pathlib.Path(bench.options.rxnic).parents[2]
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    compiler = bench.start("g++", "-dumpfullversion").stdout.strip()
    of_gcc = re.search(r"^CMAKE_CXX_COMPILER:\w+=.*[gc]\+\+$", cache, re.M) and compiler.startswith("12.")
    if build.name != "release" or not of_gcc:
        raise e2e.Skip(f"budgets are of the preset release, built by g++ 12; found {build.name}, g++ {compiler}")
    found = instructions.count_cases("release", instructions.TESTED, build)
    bench.expect(instructions.read_budgets("release").keys() >= set(instructions.TESTED), "a case without budget")
    for text in found:
        bench.expect(False, text)


CHECKS = {"parts": parts, "budgets": budgets}

if __name__ == "__main__":
    sys.exit(e2e.run(e2e.parser_for(__doc__, CHECKS), CHECKS))
