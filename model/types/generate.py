#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C++ and SystemVerilog forms of descriptors.toml and the C++ form of counters.toml.

usage: generate.py --out DIR     write DIR/model/types/*.h and DIR/rtl/rxnic_link_pkg.sv, only what changed
"""
import argparse
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "params"))

import counters  # noqa: E402
from emit import DescriptionError, banner, camel, is_plain_text, is_sentence, snake, write_if_changed  # noqa: E402

BANNER = banner("model/types/descriptors.toml", "model/types/generate.py")
SCALARS = {"bool": ("bool", 1), "u8": ("std::uint8_t", 8), "u16": ("std::uint16_t", 16), "u32": ("std::uint32_t", 32),
           "u64": ("std::uint64_t", 64)}
FIELD_KEYS = {"type", "bits", "sentence", "default", "hex", "array", "bytes", "observer", "opaque"}
# A field of such a name gets an underscore appended in SystemVerilog (IEEE 1800-2017, annex B). The last line has names
# of built-in classes, and names that Verilator warns of because its C++ uses them.
SV_KEYWORDS = set("""
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on
sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand
trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void
wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
mailbox process queue semaphore
""".split())


class Enumeration:
    def __init__(self, group, name, about, values, has_count):
        self.group, self.name, self.about, self.has_count = group, name, about, has_count
        self.values = []  # (key, number, sentence)
        following = 0
        for key, value in values.items():
            need(re.fullmatch(r"[a-z][a-z0-9_]*", key), f"{name}.{key}", "a snake_case name")
            if isinstance(value, str):
                value = {"sentence": value}
            need(value.keys() <= {"value", "sentence"}, f"{name}.{key}", "value and sentence only")
            sentence, number = value.get("sentence"), value.get("value", following)
            need(sentence == "" or is_sentence(sentence), f"{name}.{key}", 'a sentence with a full stop, or ""')
            need(type(number) is int and following <= number < 256, f"{name}.{key}", "a number that ascends, up to 255")
            self.values.append((key, number, sentence))
            following = number + 1
        need(self.values, name, "a value at least")
        self.bits = max(1, self.values[-1][1].bit_length())
        self.cpp, self.sv, self.hex = name, snake(name) + "_e", False

    def cpp_default(self, default):
        key = self.values[0][0] if default is None else default
        if key not in (value[0] for value in self.values):
            return None
        return f"{self.name}::k{camel(key)}"


class Number:
    """bool, an unsigned integer, or a type of ids.h."""

    def __init__(self, cpp, bits, is_id=False, hexadecimal=False):
        self.cpp, self.bits, self.is_id, self.hex, self.group = cpp, bits, is_id, hexadecimal, None
        self.sv = None  # a vector of the field's width

    def cpp_default(self, default):
        if default is None:
            return "{}" if self.is_id else "false" if self.cpp == "bool" else "0"
        if self.is_id:
            return default if isinstance(default, str) and re.fullmatch(r"k[A-Z]\w*", default) else None
        if self.cpp == "bool":
            return str(default).lower() if type(default) is bool else None
        return hex(default) if type(default) is int and 0 <= default < 1 << self.bits else None


class Field:
    def __init__(self, where, key, p, types):
        self.key, self.sentence = key, p.get("sentence")
        self.sv_key = key + "_" if key in SV_KEYWORDS else key
        need(re.fullmatch(r"[a-z][a-z0-9_]*", key), where, "a snake_case name")
        need(isinstance(p, dict) and p.keys() <= FIELD_KEYS, where, f"no keys but {', '.join(sorted(FIELD_KEYS))}")
        need(is_sentence(self.sentence), where, "a sentence that ends with a full stop")
        need(len({"type", "bytes", "opaque"} & p.keys()) == 1, where, "one of type, bytes, opaque")
        self.opaque = p.get("opaque")
        self.observer = p.get("observer", False)
        self.count = p.get("array", p.get("bytes", 0))
        self.blob = "bytes" in p
        need(type(self.count) is int and self.count >= 0, where, "a number of elements")
        if self.opaque:
            need(p.keys() <= {"opaque", "sentence"} and is_plain_text(self.opaque), where, "opaque and sentence only")
            self.type, self.bits, self.hex = None, 0, False
            return
        self.type = types.get("u8" if self.blob else p["type"])
        need(self.type, where, f"a type that is known: {', '.join(types)}")
        self.bits = p.get("bits", self.type.bits)
        need(type(self.bits) is int and 0 < self.bits <= self.type.bits, where, f"1 to {self.type.bits} bits")
        need(self.bits == self.type.bits or isinstance(self.type, Number), where, "bits only for a number")
        self.hex = p.get("hex", self.type.hex)
        need(not self.count or "default" not in p, where, "no default for an array")
        self.default = None if isinstance(self.type, Struct) else self.type.cpp_default(p.get("default"))
        need(self.default or isinstance(self.type, Struct) and "default" not in p, where, "a default that the type has")

    def on_port(self):
        return not self.observer and not self.opaque

    def use(self):
        return "kOpaque" if self.opaque else "kObserver" if self.observer else "kPort"

    def member(self):
        if self.opaque:
            return f"{self.opaque} {self.key}{{}};"
        if self.count:
            return f"std::array<{self.type.cpp}, {self.count}> {self.key}{{}};"
        if isinstance(self.type, Struct) or self.default == "{}":
            return f"{self.type.cpp} {self.key}{{}};"
        return f"{self.type.cpp} {self.key} = {self.default};"

    def note(self):
        if self.opaque:
            return "[opaque]"
        count = f"{self.count} x " if self.count else ""
        return f"[{count}{self.bits} bit{'s' if self.bits > 1 else ''}{', observer' if self.observer else ''}]"

    def sv_member(self):
        element = self.type.sv or f"logic{f' [{self.bits - 1}:0]' if self.bits > 1 or self.count else ''}"
        if not self.count:
            return f"{element} {self.sv_key};"
        if self.type.sv:  # yosys takes no array of a struct in a struct
            return f"logic [{self.count * self.bits - 1}:0] {self.sv_key};"
        return f"logic [{self.count - 1}:0][{self.bits - 1}:0] {self.sv_key};"


class Struct:
    def __init__(self, group, name, p, types):
        self.group, self.name, self.about, self.mixin = group, name, p["about"], p.get("mixin")
        self.base = types.get(p.get("extends"))
        need(self.base is None and "extends" not in p or isinstance(self.base, Struct), name, "extends = a descriptor")
        need(self.mixin is None or self.base is None, name, "mixin only without extends")
        self.own = [Field(f"{name}.{key}", key, field, types) for key, field in p["fields"].items()]
        self.fields = (self.base.fields if self.base else []) + self.own
        keys = [f.key for f in self.fields]
        need(len(keys) == len(set(keys)), name, "each field once, those of what it extends included")
        need(any(f.on_port() for f in self.fields), name, "a field on the port at least")
        self.bits = sum(f.bits * max(f.count, 1) for f in self.fields if f.on_port())
        self.cpp, self.sv, self.hex = name, snake(name) + "_t", False


def need(condition, where, expected):
    if not condition:
        raise DescriptionError(f"descriptors.toml: {where}: expected {expected}")


def load(path):
    """The groups as {group: (about, [Enumeration or Struct])}, checked."""
    with open(path, "rb") as file:
        data = tomllib.load(file)
    types = {name: Number(cpp, bits) for name, (cpp, bits) in SCALARS.items()}
    for name, p in data.pop("ids").items():
        types[name] = Number(name, p["bits"], True, p.get("hex", False))
    groups = {}
    for group, body in data.items():
        need(re.fullmatch(r"[a-z][a-z0-9_]*", group), group, "a snake_case group")
        about = body.pop("about", None)
        need(is_sentence(about), group, "about = a sentence")
        groups[group] = (about, [])
        for name, p in body.items():
            where = f"{group}.{name}"
            need(re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) and name not in types, where, "the name of a new C++ type")
            need(isinstance(p, dict) and is_sentence(p.get("about")), where, "about = a sentence")
            of_struct = {"about", "fields"} <= p.keys() <= {"about", "fields", "extends", "mixin"}
            need(of_struct or p.keys() | {"count"} == {"about", "values", "count"}, where, "fields or values")
            made = (Struct(group, name, p, types) if of_struct
                    else Enumeration(group, name, p["about"], p["values"], p.get("count", False)))
            types[name] = made
            groups[group][1].append(made)
    return groups


def cpp_enumeration(e):
    out = [f"\n// {e.about}\nenum class {e.name} : std::uint8_t {{\n"]
    following = 0
    for key, number, sentence in e.values:
        value = "" if number == following else f" = {number}"
        out.append(f"  k{camel(key)}{value},{f'  // {sentence}' if sentence else ''}\n")
        following = number + 1
    if e.has_count:
        out.append("  kCount\n")
    out.append(f"}};\ntemplate <>\nstruct Enumeration<{e.name}> {{\n"
               f'  static constexpr std::string_view kName = "{e.name}";\n'
               f'  static constexpr std::string_view kSentence = "{e.about}";\n'
               f"  static constexpr unsigned kBits = {e.bits};\n"
               f"  static constexpr std::array<EnumeratorInfo, {len(e.values)}> kValues = {{{{\n")
    out += [f'      {{{number}, "{key}", "{sentence}"}},\n' for key, number, sentence in e.values]
    out.append("  }};\n};\n")
    return "".join(out)


def cpp_struct(s):
    base = s.base.name if s.base else f"{s.mixin}<{s.name}>" if s.mixin else ""
    out = [f"\n// {s.about}\nstruct {s.name}{' : ' if base else ''}{base} {{\n"]
    for f in s.own:
        out.append(f"  // {f.sentence} {f.note()}\n  {f.member()}\n")
    out.append(f"}};\nstatic_assert(std::is_trivially_copyable_v<{s.name}>);\n"
               f"template <>\nstruct Descriptor<{s.name}> {{\n"
               f'  static constexpr std::string_view kName = "{s.name}";\n'
               f'  static constexpr std::string_view kSvName = "{s.sv}";\n'
               f'  static constexpr std::string_view kSentence = "{s.about}";\n'
               f"  static constexpr unsigned kBits = {s.bits};\n"
               f"  static constexpr std::array<FieldInfo, {len(s.fields)}> kFields = {{{{\n")
    for f in s.fields:
        values = f"Enumeration<{f.type.name}>::kValues" if isinstance(f.type, Enumeration) else "{}"
        out.append(f'      {{"{f.key}", "{f.sv_key}", {f.bits}, {max(f.count, 1)}, FieldUse::{f.use()}, '
                   f'{"true" if f.hex else "false"}, {"true" if f.blob else "false"}, {values},\n'
                   f'       "{f.sentence}"}},\n')
    out.append("  }};\n")
    for what, use in (("field", "kPort"), ("observer", "kObserver")):
        calls = [f"    f(kFields[{i}], d.{f.key}...);\n" for i, f in enumerate(s.fields) if f.use() == use]
        out.append(f"  template <class F, class... D>\n"
                   f"  static constexpr void for_each_{what}([[maybe_unused]] F&& f, [[maybe_unused]] D&... d) {{\n"
                   + "".join(calls) + "  }\n")
    out.append("};\n")
    return "".join(out)


def cpp_header(group, about, entries):
    used = [f.type for s in entries if isinstance(s, Struct) for f in s.fields if f.type]
    includes = {"model/types/descriptor.h"}
    structs = [s for s in entries if isinstance(s, Struct)]
    includes |= {f"model/types/{t.group}.h" for t in used if t.group not in (None, group)}
    includes |= {f"model/types/{s.base.group}.h" for s in structs if s.base and s.base.group != group}
    includes |= {f"model/types/{snake(s.mixin)}.h" for s in structs if s.mixin}
    if any(isinstance(t, Number) and t.is_id for t in used):
        includes.add("model/types/ids.h")
    out = [BANNER, f"// {about}\n#pragma once\n\n#include <array>\n#include <cstdint>\n#include <string_view>\n"
           "#include <type_traits>\n\n"]
    out += [f'#include "{name}"\n' for name in sorted(includes)]
    out.append("\nnamespace rxnic {\n")
    out += [cpp_struct(e) if isinstance(e, Struct) else cpp_enumeration(e) for e in entries]
    out.append("\n}  // namespace rxnic\n")
    return "".join(out)


def cpp_all(groups):
    out = [BANNER, "// All descriptors and enumerations, for tools and tests. A block includes only the groups that it "
           "uses.\n#pragma once\n\n"]
    out += [f'#include "model/types/{group}.h"\n' for group in sorted(groups)]
    out.append("\nnamespace rxnic {\n")
    for kind, what in ((Struct, "descriptor"), (Enumeration, "enumeration")):
        out.append(f"\n// f.operator()<T>() for each {what}.\ntemplate <class F>\n"
                   f"constexpr void for_each_{what}(F&& f) {{\n")
        out += [f"  f.template operator()<{e.name}>();\n" for _, entries in groups.values() for e in entries
                if isinstance(e, kind)]
        out.append("}\n")
    out.append("\n}  // namespace rxnic\n")
    return "".join(out)


def cpp_operations(groups):
    out = [BANNER, '#include "model/types/descriptors.h"\n#include "model/types/make_descriptor_operations.h"\n\n'
           "namespace rxnic {\n\n"]
    out += [f"template const DescriptorOperations& operations_of<{e.name}>();\n" for _, entries in groups.values()
            for e in entries if isinstance(e, Struct)]
    out.append("\n}  // namespace rxnic\n")
    return "".join(out)


def sv_package(groups):
    out = [BANNER, "package rxnic_link_pkg;\n"]
    for about, entries in groups.values():
        out.append(f"\n  // {about}\n")
        for e in entries:
            out.append(f"\n  // {e.about}\n")
            if isinstance(e, Struct):
                out.append("  typedef struct packed {\n")
                for f in e.fields:
                    if f.on_port():
                        out.append(f"    // {f.sentence}\n    {f.sv_member()}\n")
            else:
                out.append(f"  typedef enum logic [{e.bits - 1}:0] {{\n")
                for i, (key, number, sentence) in enumerate(e.values):
                    comma = "," if i + 1 < len(e.values) else ""
                    out.append((f"    // {sentence}\n" if sentence else "")
                               + f"    {e.name}{camel(key)} = {e.bits}'d{number}{comma}\n")
            out.append(f"  }} {e.sv};\n")
            if isinstance(e, Struct):
                out.append(f"  localparam int unsigned {e.name}Bits = {e.bits};\n")
    out.append("\nendpackage : rxnic_link_pkg\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", required=True)
    out = parser.parse_args().out
    try:
        groups = load(HERE / "descriptors.toml")
        enumerations = {e.name: e for _, entries in groups.values() for e in entries if isinstance(e, Enumeration)}
        sections = counters.load(HERE / "counters.toml", enumerations)
    except (DescriptionError, tomllib.TOMLDecodeError) as error:
        sys.exit(f"generate.py: {error}")
    for group, (about, entries) in groups.items():
        write_if_changed(out / "model" / "types" / f"{group}.h", cpp_header(group, about, entries))
    write_if_changed(out / "model" / "types" / "descriptors.h", cpp_all(groups))
    write_if_changed(out / "model" / "types" / "descriptor_operations.cpp", cpp_operations(groups))
    for section in sections:
        write_if_changed(out / "model" / "types" / f"{section.name}_counters.h", counters.cpp_header(section))
    write_if_changed(out / "model" / "types" / "all_counters.h", counters.cpp_all(sections))
    write_if_changed(out / "rtl" / "rxnic_link_pkg.sv", sv_package(groups))


if __name__ == "__main__":
    main()
