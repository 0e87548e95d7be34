#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pages and the distributions of sizes that come along part of the program.

usage: embed.py --out DIR     write DIR/bridge/rxnic/workload/named_texts.cpp, only when it changed
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "model" / "params"))

from emit import banner, write_if_changed  # noqa: E402  pylint: disable=wrong-import-position


def table(name, paths):
    rows = [f'    {{"{path.stem}", "{path.relative_to(ROOT)}", R"text({path.read_text()})text"}},\n'
            for path in sorted(paths)]
    return f"constexpr NamedText {name}[] = {{\n" + "".join(rows) + "};\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", required=True)
    args = parser.parse_args()
    text = (banner("bridge/rxnic/workload/pages and sizes", "bridge/rxnic/workload/embed.py")
            + '#include "bridge/rxnic/workload/page_reader.h"\n\nnamespace rxnic {\nnamespace {\n\n'
            + table("kNamedWorkloads", (HERE / "pages").glob("*.toml")) + "\n"
            + table("kNamedSizes", (HERE / "sizes").glob("*.txt")) + "\n}  // namespace\n\n"
            "std::span<const NamedText> named_workloads() { return kNamedWorkloads; }\n"
            "std::span<const NamedText> named_sizes() { return kNamedSizes; }\n\n}  // namespace rxnic\n")
    write_if_changed(args.out / "bridge" / "rxnic" / "workload" / "named_texts.cpp", text)


if __name__ == "__main__":
    main()
