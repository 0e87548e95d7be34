# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep: sweep.csv and sweep.sqlite, a row a point.

  R1  Columns are point (its number), set.NAME of each setting, the program's version, status (0: done), error and
      state_hash. Then come the figures in the order of the reports. A figure that a point lacks is empty.
  R2  Rows are in the order of the page. Nothing depends on where or when a point was run.
  R3  In sweep.sqlite the figures of each NIC are rows of the table nics (point, nic, figures), the others of points.
"""
import csv
import os
import sqlite3

CSV_FILE, SQLITE_FILE = "sweep.csv", "sweep.sqlite"
NIC = "nics."
MOST_COLUMNS = 1900  # SQLite allows 2,000


class Table:
    """Columns and rows of the points that have ended; a row is a dictionary."""

    def __init__(self, points, records, version):
        self.settings = [f"set.{name}" for name in points[0].settings] if points else []
        head = ["point", *self.settings, "version", "status", "error", "state_hash"]
        figures = {}  # in order
        self.rows = []
        for point in points:
            record = records.get(point.key)
            if record is None:
                continue
            row = {"point": point.number, **{f"set.{name}": value for name, value in point.settings.items()},
                   "version": version, "status": record["status"], "error": record.get("error", "")}
            row |= record.get("figures", {})
            figures |= dict.fromkeys(record.get("figures", {}))
            self.rows.append(row)
        self.figures = [name for name in figures if name not in head]
        self.columns = [*head, *self.figures]


def cell(value):
    """As a page of TOML has it: true, not True."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def write_csv(table, path):
    with open(f"{path}.new", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(table.columns)
        for row in table.rows:
            rows.writerow([cell(row.get(name)) for name in table.columns])
    os.replace(f"{path}.new", path)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def kind(values):
    """The type of a column."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        return "INTEGER"
    return "REAL" if kinds <= {int, float} else "TEXT"


def fill(base, name, columns, rows):
    """Makes a table and its rows."""
    columns = columns[:MOST_COLUMNS]
    values = [[cell(row.get(column)) for column in columns] for row in rows]
    kinds = [kind(one) for one in zip(*values)] or ["TEXT"] * len(columns)
    described = ", ".join(f"{quoted(column)} {is_a}" for column, is_a in zip(columns, kinds))
    base.execute(f"CREATE TABLE {name} ({described})")
    places = ", ".join("?" * len(columns))
    base.executemany(f"INSERT INTO {name} VALUES ({places})", values)


def nic_rows(table):
    """(R3) A row for each NIC of each point."""
    names = {}
    for name in table.figures:
        if name.startswith(NIC):
            number, _, figure = name[len(NIC):].partition(".")
            names.setdefault(int(number), []).append((figure, name))
    columns = list(dict.fromkeys(figure for one in names.values() for figure, _ in one))
    rows = [{"point": row["point"], "nic": number, **{figure: row.get(name) for figure, name in names[number]}}
            for row in table.rows for number in sorted(names) if any(row.get(name) is not None for _, name in
                                                                     names[number])]
    return ["point", "nic", *columns], rows


def write_sqlite(table, path):
    new = f"{path}.new"
    if os.path.exists(new):
        os.remove(new)
    base = sqlite3.connect(new)
    try:
        base.execute("PRAGMA journal_mode = OFF")
        with base:
            fill(base, "points", [name for name in table.columns if not name.startswith(NIC)], table.rows)
            if any(name.startswith(NIC) for name in table.figures):
                fill(base, "nics", *nic_rows(table))
    finally:
        base.close()
    os.replace(new, path)
