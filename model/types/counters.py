# SPDX-License-Identifier: Apache-2.0
"""The C++ form of model/types/counters.toml; generate.py writes it."""
import re
import tomllib

from emit import DescriptionError, banner, camel, is_plain_text, is_sentence

BANNER = banner("model/types/counters.toml", "model/types/generate.py")
COUNTER_KEYS = {"unit", "sentence", "key", "high_water", "by"}


def need(condition, where, expected):
    if not condition:
        raise DescriptionError(f"counters.toml: {where}: expected {expected}")


class Counter:
    def __init__(self, where, member, p, enumerations):
        self.member = member
        need(re.fullmatch(r"[a-z][a-z0-9_]*", member), where, "a snake_case name")
        need(isinstance(p, dict) and p.keys() <= COUNTER_KEYS, where, f"no keys but {', '.join(sorted(COUNTER_KEYS))}")
        self.unit, self.sentence = p.get("unit"), p.get("sentence")
        need(is_plain_text(self.unit) and self.unit, where, "a unit")
        need(is_sentence(self.sentence), where, "a sentence that ends with a full stop")
        self.key, self.high_water, self.by = p.get("key", member), p.get("high_water", False), p.get("by")
        need(re.fullmatch(r"[a-z][a-z0-9_]*", self.key), where, "a snake_case key")
        need(self.by is None or self.by in enumerations, where, "by = an enumeration of descriptors.toml")
        self.enumeration = enumerations.get(self.by)

    def elements(self):
        """(key in the report, member) of each number."""
        if not self.by:
            return [(self.key, self.member)]
        return [(f"{self.key}_{name}", f"{self.member}[{number}]") for name, number, _ in self.enumeration.values]

    def declaration(self):
        if not self.by:
            return f"std::uint64_t {self.member} = 0;"
        return f"std::array<std::uint64_t, {self.enumeration.values[-1][1] + 1}> {self.member}{{}};  // by {self.by}"


class Section:
    def __init__(self, name, body, enumerations):
        need(re.fullmatch(r"[a-z][a-z0-9_]*", name), name, "a snake_case section")
        need(isinstance(body, dict) and body.keys() <= {"about", "report", "counters"}, name, "about, report, counters")
        self.name, self.about, self.struct = name, body.get("about"), camel(name) + "Counters"
        self.report = body.get("report", f"blocks.{name}.counters")
        need(is_sentence(self.about), name, "about = a sentence")
        need(body.get("counters"), name, "a counter at least")
        self.counters = [Counter(f"{name}.{member}", member, p, enumerations) for member, p in body["counters"].items()]


def load(path, enumerations):
    """The sections in order, checked; no two numbers of them have the same place in the report."""
    with open(path, "rb") as file:
        sections = [Section(name, body, enumerations) for name, body in tomllib.load(file).items()]
    seen = set()
    for section in sections:
        for counter in section.counters:
            for key, _ in counter.elements():
                need((section.report, key) not in seen, f"{section.name}.{counter.member}", f"a key other than {key}")
                seen.add((section.report, key))
    return sections


def cpp_header(section):
    elements = [(c, key, member) for c in section.counters for key, member in c.elements()]
    out = [BANNER, f"// {section.about}\n#pragma once\n\n#include <array>\n#include <cstdint>\n"
           '#include <string_view>\n\n#include "model/types/counter.h"\n\nnamespace rxnic {\n\n'
           f"struct {section.struct} {{\n"]
    out += [f"  // {c.sentence} [{c.unit}]\n  {c.declaration()}\n" for c in section.counters]
    out.append(f"}};\ntemplate <>\nstruct Counters<{section.struct}> {{\n"
               f'  static constexpr std::string_view kSection = "{section.name}";\n'
               f'  static constexpr std::string_view kSentence = "{section.about}";\n'
               f'  static constexpr std::string_view kReport = "{section.report}";\n'
               f"  static constexpr std::array<CounterInfo, {len(elements)}> kAll = {{{{\n")
    out += [f'      {{"{key}", "{c.unit}", "{c.sentence}", {"true" if c.high_water else "false"}}},\n'
            for c, key, _ in elements]
    out.append("  }};\n  template <class F, class... C>\n  static constexpr void for_each(F&& f, C&... c) {\n")
    out += [f"    f(kAll[{i}], c.{member}...);\n" for i, (_, _, member) in enumerate(elements)]
    out.append("  }\n};\n\n}  // namespace rxnic\n")
    return "".join(out)


def cpp_all(sections):
    out = [BANNER, "// All counters, for tools and tests.\n#pragma once\n\n"]
    out += [f'#include "model/types/{name}_counters.h"\n' for name in sorted(s.name for s in sections)]
    out.append("\nnamespace rxnic {\n\n// f.operator()<C>() for each struct of counters.\ntemplate <class F>\n"
               "constexpr void for_each_counters(F&& f) {\n")
    out += [f"  f.template operator()<{s.struct}>();\n" for s in sections]
    out.append("}\n\n}  // namespace rxnic\n")
    return "".join(out)
