# SPDX-License-Identifier: Apache-2.0
"""rtl/measured_area.json: what yosys made of the RTL, by configuration, for `rxnic params --cost`.

scripts/area writes it."""
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "model" / "params")]
import generate  # noqa: E402
import twins  # noqa: E402

TABLE = twins.RTL / "measured_area.json"
ABOUT = ("What yosys made of the RTL, written by scripts/area --record. A row holds for NICs in which all parameters "
         "that the RTL reads have these values. `rtl` is a digest of its sources without comments and spaces.")


def parameters(block):
    """["section.key"] of the parameters that the RTL of a block or a part of one reads."""
    text = "".join(path.read_text("utf-8") for path in twins.files(block))
    named = set(re.findall(r"rxnic_params_pkg::(\w+)", text))
    sections = generate.load(twins.PARAMS)
    return [f"{section}.{key}" for section, (_, keys) in sections.items() for key in keys
            if generate.camel(section) + generate.camel(key) in named]


def digest(block):
    """A digest of the sources of a block, which changes when what yosys reads of them does."""
    text = "".join(path.read_text("utf-8") for path in twins.files(block))
    return hashlib.sha256(re.sub(r"//[^\n]*|\s+", "", text).encode()).hexdigest()[:16]


def rows():
    return json.loads(TABLE.read_text("utf-8"))["measured"] if TABLE.is_file() else []


def row(block, part_of, tool, values, figures):
    """`values`: a configuration, {section: {key: value}}; `figures`: gates, levels, flip_flops and memory_bits."""
    used = {name: values[name.partition(".")[0]][name.partition(".")[2]] for name in parameters(block)}
    return {"block": block, "part_of": part_of, "tool": tool, "rtl": digest(block), "parameters": used, **figures}


def record(new):
    """Adds rows, in the place of those of the same block and parameters, and of other RTL of the block."""
    kept = [one for one in rows() if not any(one["block"] == n["block"] and
                                             (one["parameters"] == n["parameters"] or one["rtl"] != n["rtl"])
                                             for n in new)]
    table = sorted(kept + new, key=lambda one: (one["block"], json.dumps(one["parameters"])))
    lines = ",\n".join("  " + json.dumps(one) for one in table)
    TABLE.write_text(f'{{\n "about": {json.dumps(ABOUT)},\n "measured": [\n{lines}\n ]\n}}\n', encoding="utf-8")
