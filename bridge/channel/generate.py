#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C++ form of messages.toml.

usage: generate.py --out DIR     write DIR/bridge/channel/messages.h, message_table.h and version.h, only what changed

A program and a simulator of different versions refuse each other. So what both have to know alike has a digest beside
the version: the names and types of messages.toml, and the code of shared_mapping.h. When the digest does not fit, this
is an error that names the next version and its digest.
"""
import argparse
import hashlib
import pathlib
import re
import sys
import textwrap
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "model" / "params"))

from emit import DescriptionError, banner, camel, is_plain_text, write_if_changed  # noqa: E402

BANNER = banner("bridge/channel/messages.toml", "bridge/channel/generate.py")
COLUMNS = 120
MESSAGE_BYTES, HEADER_BYTES = 512, 16
NUMBERS = {"u8": "std::uint8_t", "u16": "std::uint16_t", "u32": "std::uint32_t", "u64": "std::uint64_t"}


def need(condition, where, expected):
    if not condition:
        raise DescriptionError(f"messages.toml: {where}: expected {expected}")


def about_of(where, p):
    need(is_plain_text(p.get("about", "")), where, "about = words without quotation marks")
    return p.get("about", "")


class Field:
    def __init__(self, where, name, p):
        p = {"type": p} if isinstance(p, str) else p
        need(re.fullmatch(r"[a-z][a-z0-9_]*", name), where, "a snake_case name")
        need(isinstance(p, dict) and {"type"} <= p.keys() <= {"type", "default", "about"}, where,
             "a type, or type, default, about")
        kind = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", p["type"])
        need(kind, where, "TYPE or TYPE[n]")
        self.name, self.type, self.about = name, p["type"], about_of(where, p)
        element, count = NUMBERS.get(kind[1], kind[1]), kind[2]
        self.cpp = f"std::array<{element}, {count}>" if count else element
        if element == "char" or name == "reserved":  # as C has it
            self.member = f"{element} {name}[{count}] = {{}};"
        elif count:
            self.member = f"{self.cpp} {name}{{}};"
        else:
            default = p.get("default", 0 if kind[1] in NUMBERS else None)
            self.member = f"{element} {name}{'{}' if default is None else f' = {default}'};"


class Struct:
    def __init__(self, name, p):
        need(re.fullmatch(r"[A-Z]\w*", name), name, "the name of a C++ type")
        need({"fields"} <= p.keys() <= {"fields", "about", "member", "header"}, name, "fields, about, member, header")
        self.name, self.member, self.header, self.about = name, p.get("member"), p.get("header"), about_of(name, p)
        self.fields = [Field(f"{name}.{key}", key, field) for key, field in p["fields"].items()]


class Request:
    def __init__(self, name, p, bodies):
        need(re.fullmatch(r"[a-z][a-z0-9_]*", name), name, "a snake_case name")
        need({"body"} <= p.keys() <= {"body", "recorded", "about"}, name, "body, recorded, about")
        need(p["body"] in bodies, name, f"a body that is known: {', '.join(bodies)}")
        self.name, self.cpp, self.body = name, f"k{camel(name)}", p["body"]
        self.recorded, self.about = p.get("recorded", True), about_of(name, p)


def code_of(path):
    """Without comments and blanks."""
    return "".join(re.sub(r"//.*", "", path.read_text()).split())


def check_version(version, digest, requests, structs, mapping):
    """Raises DescriptionError unless `digest` is that of `version` and of what both sides have to know alike."""
    need(type(version) is int and 0 < version < 2 ** 32, "version", "a number from 1")
    alike = [[[r.name, r.body] for r in requests],
             [[s.name, s.member, [[f.name, f.type] for f in s.fields]] for s in structs], mapping]
    now = hashlib.sha256(repr(alike).encode()).hexdigest()[:16]
    of, _, then = digest.partition("-") if isinstance(digest, str) else ("", "", "")
    if of != str(version):
        need(False, "digest", f'digest = "{version}-{now}", that of version {version}')
    need(then == now, "version", f'version = {version + 1} and digest = "{version + 1}-{now}", since what a program '
         f"and the simulator have to know alike is no longer that of version {version}")


def load(path, mapping):
    """The version, the requests in the order of their numbers, and the structs; checked."""
    with open(path, "rb") as file:
        data = tomllib.load(file)
    need(data.keys() == {"version", "digest", "request", "struct"}, "file",
         "version, digest, [request] and [struct.NAME]")
    structs = [Struct(name, p) for name, p in data["struct"].items()]
    bodies = [s.member for s in structs if s.member]
    need(len(bodies) == len(set(bodies)), "struct", "each member once")
    requests = [Request(name, p, bodies) for name, p in data["request"].items()]
    check_version(data["version"], data["digest"], requests, structs, code_of(mapping))
    return data["version"], requests, structs


def commented(line, about):
    """A line of C++ and its comment, in front of it where both do not fit."""
    if not about:
        return f"{line}\n"
    if len(line) + len(about) + 5 <= COLUMNS:
        return f"{line}  // {about}\n"
    indent = line[:len(line) - len(line.lstrip())]
    return "".join(f"{part}\n" for part in textwrap.wrap(about, COLUMNS, initial_indent=f"{indent}// ",
                                                         subsequent_indent=f"{indent}// ")) + f"{line}\n"


def header(about, includes):
    return [BANNER, f"// {about}\n#pragma once\n\n", *(f"#include {name}\n" if name else "\n" for name in includes)]


def version_header(version):
    return "".join([*header("The version of the channel.", ["<cstdint>"]), "\nnamespace rxnic::channel {\n\n",
                    f"inline constexpr std::uint32_t kVersion = {version};\n\n}}  // namespace rxnic::channel\n"])


def messages(requests, structs):
    out = header("The control messages between a program and the simulator: protocol.h.", [
        "<array>", "<cstddef>", "<cstdint>", "<type_traits>", "", '"bridge/channel/gid.h"',
        '"bridge/channel/shared_mapping.h"', '"model/types/flow.h"', '"model/types/send_work_queue.h"'])
    out.append("\nnamespace rxnic::channel {\n\nenum class Request : std::uint16_t {\n")
    out += [commented(f"  {r.cpp}{' = 1' if n == 0 else ''},", r.about) for n, r in enumerate(requests)]
    out.append(f"}};\ninline constexpr Request kLastRequest = Request::{requests[-1].cpp};\n")
    for s in structs:
        if s.header:
            out += [f"\n// {s.name} of {s.header} is as messages.toml says.\n",
                    f"static_assert(sizeof({s.name}) ==\n              ",
                    " +\n              ".join(f"sizeof({f.cpp})" for f in s.fields) + ");\n",
                    *(f"static_assert(std::is_same_v<decltype({s.name}::{f.name}), {f.cpp}>);\n" for f in s.fields)]
            continue
        out += ["\n", commented(f"struct {s.name} {{", s.about)]
        out += [commented(f"  {f.member}", f.about) for f in s.fields]
        out.append("};\n")
    out.append("\nstruct Message {\n  std::uint32_t version = kVersion;\n  Request type{};\n"
               "  std::uint16_t reserved = 0;\n  std::uint32_t sequence = 0;\n  std::int32_t status = 0;\n"
               "  union Body {\n")
    out += [f"    {s.name} {s.member};\n" for s in structs if s.member]
    out.append(f"    std::array<std::uint8_t, {MESSAGE_BYTES - HEADER_BYTES}> bytes;\n    Body() : bytes{{}} {{}}\n"
               f"  }} body;\n}};\nstatic_assert(sizeof(Message) == {MESSAGE_BYTES});\n"
               "static_assert(std::is_trivially_copyable_v<Message>);\n\n}  // namespace rxnic::channel\n")
    return "".join(out)


def message_table(requests, structs):
    def visitor(s):
        return (f"template <class V>\nvoid for_each_field(V& v, {s.name}& of) {{\n"
                + "".join(f'  v("{f.name}", of.{f.name});\n' for f in s.fields) + "}\n")
    out = header("Requests and fields by the names that the log of a run gives them.", [
        "<array>", "<string_view>", "", '"bridge/channel/messages.h"'])
    out += ["\nnamespace rxnic {\n\n// v(name, field) for each.\n", *(visitor(s) for s in structs if s.header),
            "\n}  // namespace rxnic\n"]
    out.append("\nnamespace rxnic::channel {\n\n// By number, from 1.\n"
               f"inline constexpr std::array<std::string_view, {len(requests)}> kRequestNames = {{\n")
    out += [f'    "{r.name}",\n' for r in requests]
    out.append("};\n\n// v(name, field) for each.\n")
    bodies = {r.body for r in requests if r.recorded}
    for s in structs:
        if s.member in bodies:
            out.append(visitor(s))
    out.append("\n// f(part of the body that the message's type has), unless it has none in a log.\n"
               "template <class F>\nvoid with_body(Message& m, F&& f) {\n  switch (m.type) {\n")
    for body in (s.member for s in structs if s.member in bodies):
        out += [f"    case Request::{r.cpp}:\n" for r in requests if r.recorded and r.body == body]
        out.append(f"      return f(m.body.{body});\n")
    out += [f"    case Request::{r.cpp}:\n" for r in requests if not r.recorded]
    out.append("      return;\n  }\n}\n\n}  // namespace rxnic::channel\n")
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", required=True)
    out = parser.parse_args().out / "bridge" / "channel"
    try:
        version, requests, structs = load(HERE / "messages.toml", HERE / "shared_mapping.h")
    except (DescriptionError, tomllib.TOMLDecodeError) as error:
        sys.exit(f"generate.py: {error}")
    write_if_changed(out / "version.h", version_header(version))
    write_if_changed(out / "messages.h", messages(requests, structs))
    write_if_changed(out / "message_table.h", message_table(requests, structs))


if __name__ == "__main__":
    main()
