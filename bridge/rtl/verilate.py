#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verilates the module of a block into one C++ source that offers it through bridge/rtl/rxnic_rtl.h.

Writes OUT/PREFIX__all.cpp: Verilator's sources, the tables of the module's signals and parameters, and the function
rxnic_rtl() that returns its description. The build and scripts/build_rtl call it.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

# Loops over memories stay loops: a third of the C++. Verilator refuses some loops that it does not unroll.
UNROLL, UNROLL_ALL = "8", "65536"
NOT_UNROLLED = ("BLKLOOPINIT", "--unroll-count")  # in its errors of these
# Lines by Verilator's counters; toggles from the trace (verilated_toggles.h), but of memories.
COVERAGE = ["--coverage-line", "--trace", "--trace-structs", "--trace-max-width", "100000", "--trace-max-array", "1"]
COUNTED = """\
#define RXNIC_RTL_TRACE "toggles.vcd"
#define RXNIC_RTL_TRACER rxnic::VerilatedToggles
#include "bridge/rtl/verilated_toggles.h"
"""
DIRECTIONS = {"IN": "kRxnicRtlInput", "OUT": "kRxnicRtlOutput"}
GLUE = """\
// Made by bridge/rtl/verilate.py
{units}
{traces}#include "bridge/rtl/verilated_rtl.h"

namespace {{

using Top = {prefix};
const RxnicRtlSignal kSignals[] = {{
{signals}}};
const RxnicRtlParameter kParameters[] = {{
{parameters}}};
void* address_of(Top& top, std::uint32_t signal) {{
  void* const all[] = {{{addresses}}};
  return all[signal];
}}
const RxnicRtl kRtl = rxnic::VerilatedRtl<Top, &address_of>::description("{block}", kSignals, kParameters);

}}  // namespace

extern "C" const RxnicRtl* rxnic_rtl() {{ return &kRtl; }}
"""


# What a run writes, by the end of its file's name: Verilator's flag, and what its classes are named by.
TRACES = {".fst": ("--trace-fst", "fst"), ".vcd": ("--trace", "vcd")}
TRACE = """\
#include <verilated_{kind}_c.h>
#define RXNIC_RTL_TRACE "{file}"
#define RXNIC_RTL_TRACER Verilated{title}C
"""


# A module with these registers at its inputs is evaluated once a cycle: the clock rises, and the inputs of the next
# cycle come at the same time (rxnic_rtl.h, R6). Without them what lies behind inputs is evaluated three times.
HELD = "rxnic_held"
HELD_MODULE = """\
module {held} (
  input logic rxnic_load_i,
{ports}
);
{registers}  always @(posedge rxnic_load_i or negedge rxnic_load_i) begin
{loads}  end
  {block} {parameters}{block} (
{pins}
  );
endmodule
"""
NOT_HELD = ("clk_i", "rst_ni")
BITS = {"logic": 1, "bit": 1, "byte": 8, "shortint": 16, "int": 32, "integer": 32, "longint": 64, "time": 64}


class VerilateError(Exception):
    """It did not work; the text says why, "" when Verilator has said so."""


def signals_of(header):
    """[(name, direction, bits)] of the ports of a module, from the header that Verilator made."""
    found = re.findall(r"VL_(IN|OUT|INOUT)(?:8|16|64|W)?\(&?(\w+),(\d+),(\d+)", header)
    for direction, name, _, _ in found:
        if direction not in DIRECTIONS:
            raise VerilateError(f"port {name}: found an inout; expected inputs and outputs")
    return [(name, DIRECTIONS[direction], int(high) - int(low) + 1) for direction, name, high, low in found]


def parameters_of(tree):
    """[(name, value)] of the numbers among the parameters of the top module, from Verilator's XML."""
    values = []
    for var in tree.find(".//module[@topModule='1']").findall("var[@param='true']"):
        const = var.find("const")
        number = re.fullmatch(r"\d+'s?h([0-9a-f]+)", const.get("name")) if const is not None else None
        if number and int(number[1], 16) < 1 << 64:
            values.append((var.get("origName"), int(number[1], 16)))
    return values


def bits_of(types, number):
    """Bits of a packed type, None of another one; `types`: the entries of Verilator's XML by their numbers."""
    entry = types[number]
    inner = [member.get("sub_dtype_id") for member in entry.findall("memberdtype")] or [entry.get("sub_dtype_id")]
    if entry.tag == "basicdtype":
        left, right = entry.get("left"), entry.get("right")
        return BITS.get(entry.get("name")) if left is None else abs(int(left) - int(right)) + 1
    if entry.tag not in ("structdtype", "enumdtype", "refdtype", "packarraydtype"):
        return None
    found = [bits_of(types, one) for one in inner]
    if entry.tag == "packarraydtype" and found[0] is not None:
        ends = [int(end.get("name").split("h")[1], 16) for end in entry.findall("range/const")]
        return (max(ends) - min(ends) + 1) * found[0]
    return None if None in found else sum(found)


def held_module(block, parameters, tree):
    """The module HELD of a block with these parameters (NAME=VALUE), from Verilator's XML. None: its ports cannot be
    held, since one is not packed or has no name of letters and digits. Raises VerilateError: it has an inout."""
    types = {entry.get("id"): entry for entry in tree.find(".//typetable")}
    ports = [(var.get("origName"), var.get("dir"), bits_of(types, var.get("dtype_id")))
             for var in tree.find(".//module[@topModule='1']").findall("var[@dir]")]
    for name, direction, _ in ports:
        if direction == "inout":
            raise VerilateError(f"port {name}: found an inout; expected inputs and outputs")
    if any(bits is None or not re.fullmatch(r"\w+", name) for name, _, bits in ports):
        return None
    held = [(name, bits) for name, direction, bits in ports if direction == "input" and name not in NOT_HELD]
    names = {name for name, _ in held}
    settings = ", ".join(".{}({})".format(*parameter.split("=", 1)) for parameter in parameters)
    return HELD_MODULE.format(
        held=HELD, block=block, parameters=f"#({settings}) " if settings else "",
        ports=",\n".join(f"  {direction} logic [{bits - 1}:0] {name}" for name, direction, bits in ports),
        registers="".join(f"  logic [{bits - 1}:0] {name}_held;\n" for name, bits in held),
        loads="".join(f"    {name}_held <= {name};\n" for name, _ in held),
        pins=",\n".join(f"    .{name}({name + '_held' * (name in names)})" for name, _, _ in ports))


def wave_names(tree):
    """{port: [its signals as a waveform names them, with their bits]} of the top module, from Verilator's XML: a struct
    is a signal for each field."""
    types = {entry.get("id"): entry for entry in tree.find(".//typetable")}

    def names(name, number):
        entry = types[number]
        members = entry.findall("memberdtype")
        if members:
            return [one for member in members for one in names(f"{name}.{member.get('name')}",
                                                               member.get("sub_dtype_id"))]
        if entry.get("sub_dtype_id"):
            return names(name, entry.get("sub_dtype_id"))
        left, right = entry.get("left"), entry.get("right")
        return [f"{name}[{left}:{right}]" if left is not None else name]

    top = tree.find(".//module[@topModule='1']")
    return {var.get("name"): names(var.get("name"), var.get("dtype_id")) for var in top.findall("var[@dir]")}


def files_of(tree):
    """(the file of the top module, [every file that was read]), from Verilator's XML."""
    named = {file.get("id"): file.get("filename") for file in tree.findall("files/file")}
    top = tree.find(".//module[@topModule='1']").get("loc").split(",")[0]
    return pathlib.Path(named[top]), [pathlib.Path(name) for name in sorted(named.values()) if name[0] != "<"]


def trace_glue(file):
    if file is None:
        return ""
    kind = TRACES[pathlib.PurePath(file).suffix][1]
    return TRACE.format(kind=kind, title=kind.title(), file=file)


def verilate(block, prefix, out, sources, *, parameters=(), includes=(), flags=(),
             verilator="verilator", coverage=False, trace=None, lean=False):
    """The C++ source of a module. `parameters`: NAME=VALUE. What Verilator says goes to the standard error. `coverage`:
    lines and toggles are counted, too. `trace`, not with `coverage`: the file that a run writes all signals to, .fst or
    .vcd. `lean`: without assertions and cover points. It looks for what it includes, and for modules that no source
    has, in `includes`, then where `flags` say."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tracing = COVERAGE if coverage else []
    if trace is not None:
        tracing = [TRACES[pathlib.PurePath(trace).suffix][0], "--trace-structs"]

    def run(unroll, top, files, *how):
        # -O3 turns on what a flag before it has turned off.
        done = subprocess.run([verilator, "-O3", "--unroll-count", unroll, *(f"-I{folder}" for folder in includes),
                               *flags, "--top-module", top, *map(str, files), *how],
                              capture_output=True, text=True, errors="replace", check=False)
        said = done.stdout + done.stderr
        if done.returncode and unroll == UNROLL and "--unroll-count" not in flags and any(
                words in said for words in NOT_UNROLLED):
            return run(UNROLL_ALL, top, files, *how)
        if done.returncode:
            sys.stderr.write(said)
            raise VerilateError("")
        return said

    settings = [f"-G{parameter}" for parameter in parameters]
    description = out / f"{prefix}.xml"
    run(UNROLL, block, sources, *settings, "-Wno-fatal", "--xml-output", description)
    tree = xml.etree.ElementTree.parse(description)
    module = held_module(block, parameters, tree)
    top, files = block, sources
    if module is not None and not tracing:  # a waveform has the module's own names, and each of its inputs once
        file = out / f"{HELD}.sv"
        file.write_text(module, encoding="utf-8")
        top, files, settings = HELD, [*sources, file], []
    checks = [] if lean else ["--assert", "--coverage-user"]
    sys.stderr.write(run(UNROLL, top, files, *settings, "--cc", "--output-split", "0", *checks, *tracing, "--prefix",
                         prefix, "-Mdir", out))
    signals = [one for one in signals_of((out / f"{prefix}.h").read_text()) if one[0] != "rxnic_load_i"]
    values = parameters_of(tree) or [("", 0)]
    target = out / f"{prefix}__all.cpp"
    target.write_text(GLUE.format(
        block=block, prefix=prefix, traces=COUNTED if coverage else trace_glue(trace),
        units="".join(f'#include "{unit.name}"\n' for unit in sorted(out.glob("*.cpp"))),
        signals="".join(f'    {{"{name}", {direction}, {bits}, sizeof(Top::{name})}},\n'
                        for name, direction, bits in signals),
        parameters="".join(f'    {{"{name}", {value}ull}},\n' for name, value in values),
        addresses=", ".join(f"&top.{name}" for name, _, _ in signals)))
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verilator", default="verilator", metavar="PROGRAM")
    parser.add_argument("--block", required=True, help="the module")
    parser.add_argument("--prefix", required=True, help="of the names that Verilator makes")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR")
    parser.add_argument("--lean", action="store_true", help="without assertions and cover points")
    parser.add_argument("--include", action="append", default=[], metavar="DIR")
    parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("sources", nargs="+", metavar="FILE")
    args = parser.parse_args()
    # -Wall, with the one exception of the packages: no block uses all of their constants. Some signals are there for
    # the checkers alone.
    flags = ["-Wall", "-Wno-UNUSEDPARAM", *(["-Wno-UNUSEDSIGNAL"] if args.lean else [])]
    try:
        verilate(args.block, args.prefix, args.out, args.sources, parameters=args.parameter, includes=args.include,
                 flags=flags, verilator=args.verilator, lean=args.lean)
    except VerilateError as error:
        sys.exit(f"{args.block}: {error}" if str(error) else 1)


if __name__ == "__main__":
    main()
