#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C++ and SystemVerilog forms of model/params/params.toml.

usage: generate.py --out DIR     write DIR/model/params/*.{h,cpp} and DIR/rtl/rxnic_params_pkg.sv, only what changed
       generate.py --complete    add the keys that configs/*.toml lack, with their defaults

The defaults are a named configuration, too, which has no file.
"""
import argparse
import pathlib
import re
import sys
import tomllib

from emit import DescriptionError, banner, camel, is_plain_text, is_sentence, write_if_changed

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("width", "depth", "latency", "policy")
EVIDENCE = ("documented", "measured", "assumed")
CPP_TYPES = {"u32": "std::uint32_t", "u64": "std::uint64_t", "bool": "bool"}
TYPE_LIMITS = {"u32": 2**32 - 1, "u64": 2**63 - 1}  # TOML integers have 63 bits
FIELDS = {"type", "unit", "default", "kind", "sentence", "evidence", "source"}
# What a run must have for a parameter to act in it; the first is every run.
ACTS_IN = ("any", "capture", "programs", "switch", "marked", "srq_layout", "linked_list", "cyclic", "tag_matching",
           "tags", "compression", "armed", "several_cqs", "none")
WHEN_FIELDS = {"acts_in", "otherwise", "needs"}
EXTRA_FIELDS = {
    "u32": {"range", "power_of_two"},
    "u64": {"range", "power_of_two"},
    "bool": set(),
    "enum": {"name", "values"},
}


DEFAULT_CONFIG = "nic_100g_gen3"  # its values are the defaults
DEFAULT_ABOUT = "A 100 Gb/s NIC on PCIe gen3 x16, of the ConnectX-5 class; the defaults of params.toml"

BANNER = banner("model/params/params.toml", "model/params/generate.py")


def check(section, key, p):
    """Raises DescriptionError unless the parameter is well formed."""

    def need(condition, expected):
        if not condition:
            raise DescriptionError(f"params.toml: {section}.{key}: expected {expected}")

    need(re.fullmatch(r"[a-z][a-z0-9_]*", key), "a snake_case key")
    need(p.get("type") in EXTRA_FIELDS, f"a type of {', '.join(EXTRA_FIELDS)}")
    for field in sorted(FIELDS - p.keys()):
        need(False, f"the field '{field}'")
    for field in sorted(p.keys() - FIELDS - WHEN_FIELDS - EXTRA_FIELDS[p["type"]]):
        need(False, f"no field '{field}' with type {p['type']}")
    need(p["kind"] in KINDS, f"a kind of {', '.join(KINDS)}")
    need(p["evidence"] in EVIDENCE, f"evidence of {', '.join(EVIDENCE)}")
    for field in ("unit", "sentence", "source"):
        need(is_plain_text(p[field]), f"'{field}' to be plain text")
    need(is_sentence(p["sentence"]), "a sentence that ends with a full stop")
    need(p["source"] != "", "a source")
    default = p["default"]
    if p["type"] in TYPE_LIMITS:
        r = p.get("range")
        need(isinstance(r, list) and len(r) == 2, "range = [least, greatest]")
        need(0 <= r[0] <= r[1] <= TYPE_LIMITS[p["type"]], f"a range within {p['type']}")
        need(type(default) is int and r[0] <= default <= r[1], "a default within the range")
        need(not p.get("power_of_two") or default & (default - 1) == 0, "a power of two as default")
        need(p["unit"] != "", "a unit")
    elif p["type"] == "bool":
        need(type(default) is bool, "true or false as default")
    else:
        need(re.fullmatch(r"[A-Z][A-Za-z0-9]*", p.get("name", "")), "name = the enum's C++ type")
        need(len(p.get("values", [])) >= 2, "two values at least")
        need(default in p["values"], "a default among the values")


def check_when(name, when):
    """acts_in and otherwise of a section or a parameter."""
    acts_in = when.get("acts_in", "any")
    if acts_in not in ACTS_IN:
        raise DescriptionError(f"params.toml: {name}: expected acts_in of {', '.join(ACTS_IN)}")
    said = "otherwise" in when
    if not is_plain_text(when.get("otherwise", "")) or (not said if acts_in != "any" else said and "needs" not in when):
        raise DescriptionError(f"params.toml: {name}: expected otherwise = why it cannot act, with acts_in or needs")


def check_needs(name, needs, sections):
    """Each alternative of each need is SECTION.KEY=VALUE|VALUE or SECTION.KEY!=VALUE of a parameter that exists, or
    run.has=FEATURE."""
    for alternative in (a for need in needs for a in need.split(" or ")):
        if alternative in [f"run.has={feature}" for feature in ACTS_IN[1:]]:
            continue
        match = re.fullmatch(r"([a-z_]+)\.([a-z0-9_]+)(!?=)([a-z0-9_|]+)", alternative)
        p = sections.get(match[1], ("", {}))[1].get(match[2]) if match else None
        if p is None:
            raise DescriptionError(f"params.toml: {name}: found the need '{alternative}', expected that of a parameter")
        allowed = {"enum": p.get("values", []), "bool": ["true", "false"]}.get(p["type"])
        for value in match[4].split("|"):
            if not (value in allowed if allowed else value.isdigit()):
                raise DescriptionError(f"params.toml: {name}: found the need '{alternative}', expected another value")


def load(path):
    """params.toml as {section: (about, {key: parameter})}, checked."""
    with open(path, "rb") as file:
        data = tomllib.load(file)
    sections = {}
    enums = set()
    for section, body in data.items():
        about = body.pop("about", None)
        if not isinstance(about, str):
            raise DescriptionError(f"params.toml: {section}: expected about = a sentence")
        when = {field: body.pop(field) for field in ("acts_in", "otherwise") if field in body}
        check_when(section, when)
        for key, p in body.items():
            if not isinstance(p, dict):
                raise DescriptionError(f"params.toml: {section}.{key}: expected a table")
            check(section, key, p)
            if "acts_in" not in p:
                p |= when
            check_when(f"{section}.{key}", p)
            if p["type"] == "enum":
                if p["name"] in enums:
                    raise DescriptionError(f"params.toml: {section}.{key}: the enum name '{p['name']}' is used twice")
                enums.add(p["name"])
        sections[section] = (about, body)
    for section, (_, body) in sections.items():
        for key, p in body.items():
            check_needs(f"{section}.{key}", p.get("needs", []), sections)
    return sections


def cpp_default(p):
    if p["type"] == "enum":
        return f"{p['name']}::k{camel(p['default'])}"
    if p["type"] == "bool":
        return "true" if p["default"] else "false"
    return str(p["default"]) + ("ULL" if p["type"] == "u64" else "")


def limits(p):
    if p["type"] in TYPE_LIMITS:
        return p["range"][0], p["range"][1]
    return 0, 1 if p["type"] == "bool" else len(p["values"]) - 1


def number(p):
    """The default as the number that descriptors and SystemVerilog use."""
    return p["values"].index(p["default"]) if p["type"] == "enum" else int(p["default"])


def range_text(p):
    if p["type"] not in TYPE_LIMITS:
        return ""
    return f", {p['range'][0]}..{p['range'][1]}{', power of two' if p.get('power_of_two') else ''}"


def header(sections):
    out = [BANNER, "#pragma once\n\n#include <cstdint>\n\nnamespace rxnic {\n"]
    for section, (about, params) in sections.items():
        for p in params.values():
            if p["type"] == "enum":
                out.append(f"\n// {p['sentence']}\nenum class {p['name']} : std::uint8_t {{ "
                           + ", ".join("k" + camel(v) for v in p["values"]) + " };\n")
        out.append(f"\n// {about}\nstruct {camel(section)}Params {{\n")
        for key, p in params.items():
            unit = f" [{p['unit']}{range_text(p)}]" if p["unit"] else ""
            cpp_type = CPP_TYPES.get(p["type"], p.get("name"))
            out.append(f"  // {p['sentence']}{unit}\n  {cpp_type} {key} = {cpp_default(p)};\n")
        out.append(f"  bool operator==(const {camel(section)}Params&) const = default;\n}};\n")
    out.append(f"\n// All of them; the defaults are those of the configuration {DEFAULT_CONFIG}.\nstruct Params {{\n")
    out += [f"  {camel(section)}Params {section};\n" for section in sections]
    out.append("  bool operator==(const Params&) const = default;\n};\n\n}  // namespace rxnic\n")
    return "".join(out)


def descriptors(sections):
    out = [BANNER, '#include "model/params/descriptor.h"\n\nnamespace rxnic {\nnamespace {\n\n']
    rows = []
    for section, (_, params) in sections.items():
        for key, p in params.items():
            values = "{}"
            if p["type"] == "enum":
                values = f"k{p['name']}Values"
                names = ", ".join(f'"{v}"' for v in p["values"])
                out.append(f"constexpr std::string_view {values}[] = {{{names}}};\n")
            member = f"p.{section}.{key}"
            least, greatest = limits(p)
            cast = CPP_TYPES.get(p["type"], p.get("name"))
            assign = "v != 0" if p["type"] == "bool" else f"static_cast<{cast}>(v)"
            rows.append(
                f'    {{"{section}", "{key}", ParamType::k{camel(p["type"])}, "{p["unit"]}",\n'
                f'     {least}ULL, {greatest}ULL, {"true" if p.get("power_of_two") else "false"}, {number(p)}ULL,\n'
                f'     {values}, ParamKind::k{camel(p["kind"])},\n'
                f'     "{p["sentence"]}",\n     ParamEvidence::k{camel(p["evidence"])}, "{p["source"]}",\n'
                f'     RunFeature::k{camel(p.get("acts_in", "any"))}, "{p.get("otherwise", "")}",\n'
                f'     "{" and ".join(p.get("needs", []))}",\n'
                f"     [](const Params& p) {{ return static_cast<std::uint64_t>({member}); }},\n"
                f"     [](Params& p, std::uint64_t v) {{ {member} = {assign}; }}}},\n")
    out.append("\nconstexpr ParamDescriptor kDescriptors[] = {\n" + "".join(rows) + "};\n\n")
    rows = [f'    {{"{section}", "{about}"}},\n' for section, (about, _) in sections.items()]
    out.append("constexpr ParamSection kSections[] = {\n" + "".join(rows) + "};\n\n}  // namespace\n\n")
    out.append("std::span<const ParamDescriptor> param_descriptors() { return kDescriptors; }\n"
               "std::span<const ParamSection> param_sections() { return kSections; }\n\n}  // namespace rxnic\n")
    return "".join(out)


def named_configs(paths, sections):
    configs = [(DEFAULT_CONFIG, "params.toml", completed(f'about = "{DEFAULT_ABOUT}"\n', sections))]
    configs += [(path.stem, f"configs/{path.name}", path.read_text()) for path in paths]
    out = [BANNER, '#include "model/params/config.h"\n\nnamespace rxnic {\nnamespace {\n\n'
           "constexpr NamedConfig kConfigs[] = {\n"]
    out += [f'    {{"{name}", "model/params/{file}", R"toml({text})toml"}},\n' for name, file, text in configs]
    out.append("};\n\n}  // namespace\n\nstd::span<const NamedConfig> named_configs() { return kConfigs; }\n\n"
               "}  // namespace rxnic\n")
    return "".join(out)


def sv_package(sections):
    out = [BANNER, "package rxnic_params_pkg;\n"]
    for section, (about, params) in sections.items():
        out.append(f"\n  // {about}\n")
        for key, p in params.items():
            if p["type"] == "enum":
                for i, value in enumerate(p["values"]):
                    out.append(f"  localparam int unsigned {p['name']}{camel(value)} = 32'd{i};\n")
            unit = f" [{p['unit']}]" if p["unit"] else ""
            sv_type, width = {"u64": ("longint unsigned", 64), "bool": ("bit", 1)}.get(p["type"], ("int unsigned", 32))
            out.append(f"  // {p['sentence']}{unit}\n"
                       f"  localparam {sv_type} {camel(section)}{camel(key)} = {width}'d{number(p)};\n")
    out.append("\nendpackage : rxnic_params_pkg\n")
    return "".join(out)


def toml_value(p):
    if p["type"] == "enum":
        return f'"{p["default"]}"'
    return str(p["default"]).lower()


def completed(text, sections):
    """The configuration's text with every missing section and key added."""
    data = tomllib.loads(text)
    for section, (_, params) in sections.items():
        lines = [f"{key} = {toml_value(p)}\n" for key, p in params.items() if key not in data.get(section, {})]
        if not lines:
            continue
        if section not in data:
            text = text.rstrip("\n") + f"\n\n[{section}]\n" + "".join(lines)
            continue
        body = re.search(rf"(?ms)^\[{section}\]\n.*?(?=^\[|\Z)", text)
        text = text[:body.start()] + body[0].rstrip("\n") + "\n" + "".join(lines) + "\n" + text[body.end():]
    return text.rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=pathlib.Path, metavar="DIR")
    what.add_argument("--complete", action="store_true")
    args = parser.parse_args()
    configs = sorted((HERE / "configs").glob("*.toml"))
    try:
        sections = load(HERE / "params.toml")
    except (DescriptionError, tomllib.TOMLDecodeError) as error:
        sys.exit(f"generate.py: {error}")
    if args.complete:
        for path in configs:
            if write_if_changed(path, completed(path.read_text(), sections)):
                print(f"completed {path.relative_to(HERE)}")
        return
    params = args.out / "model" / "params"
    write_if_changed(params / "params.h", header(sections))
    write_if_changed(params / "param_descriptors.cpp", descriptors(sections))
    write_if_changed(params / "named_configs.cpp", named_configs(configs, sections))
    write_if_changed(args.out / "rtl" / "rxnic_params_pkg.sv", sv_package(sections))


if __name__ == "__main__":
    main()
