# SPDX-License-Identifier: Apache-2.0
"""Lines of keys in a TOML page, for messages: tomllib does not say them."""
import re

TABLE = re.compile(r"\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
KEY = re.compile(r"\s*([\w.\"' -]+?)\s*=")


def _bare(name):
    return re.sub(r"[\"' ]", "", name)


def line_of(text, table, number, key):
    """The line of `key` in the table of this name (the `number`th of them, from 0), or the table's own line, or 0."""
    here, seen, own = "", {}, 0
    for line, words in enumerate(text.splitlines(), 1):
        begins = TABLE.match(words)
        if begins:
            here = _bare(begins[2])
            seen[here] = seen.get(here, -1) + 1
            own = line if (here, seen[here]) == (table, number) else own
            if not table and here == key:
                return line
            continue
        found = KEY.match(words)
        # `[run.nic]` holds nic.KEY of run
        inside = here == table or (table and here.startswith(table + "."))
        if found and inside and (not table or seen.get(table, number) == number):
            whole = here[len(table) + 1:] + "." + _bare(found[1]) if here != table else _bare(found[1])
            if whole == key or whole.startswith(key + "."):
                return line
    return own
