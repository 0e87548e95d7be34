# SPDX-License-Identifier: Apache-2.0
"""Numbers as people read them, and what every question says alike."""
import json

from .subject import LATENCIES


def plain(value):
    """1234567.0 as 1 234 567; small ones with a few digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", " ")
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.4g}"


def rate(value):
    """Packets in a second."""
    for unit, size in (("Gpackets/s", 1e9), ("Mpackets/s", 1e6), ("kpackets/s", 1e3)):
        if value is not None and value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{plain(value)} packets/s"


def time_ns(value):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value is not None and value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{plain(value)} ns"


def bits(value):
    for unit, size in (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{plain(value)} bits"


def as_it_is(subject):
    """The figures before anything is changed, in a line."""
    base = {name: subject.base.figures.get(place) for name, place in subject.places.items()}
    of = LATENCIES[subject.places["p99"].partition(".")[0]]
    return (f"as it is: {rate(base['rate'])}, p50 {time_ns(base['p50'])}, p99 {time_ns(base['p99'])}{of}, "
            f"drops {plain(base['drops'])}")


def share(new, old):
    """By how much `new` is more than `old`, as a share; None where there is no old value."""
    if not isinstance(new, (int, float)) or not isinstance(old, (int, float)) or old == 0:
        return None
    return new / old - 1


def percent(value):
    if value is None:
        return "-"
    if abs(value) < 0.0005:
        return "0"
    return f"{value:+.1%}" if abs(value) < 10 else f"x{1 + value:.3g}"


def table(rows, left=(0,)):
    """Rows of texts as aligned lines; columns in `left` begin at the same place, the others end there."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if n in left else cell.rjust(width)
                               for n, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def printed(result, options, text):
    """Prints what a question has found: JSON, or words."""
    print(json.dumps(result, indent=1) if options.json else text)
    return 0
