# SPDX-License-Identifier: Apache-2.0
"""Points, one after the other: what a job of Snakemake runs, here or on a cluster's machine.

usage: python3 -m rxnic_model.sweeps.job JOB.json

A point that fails or crashes is noted and stops nothing.
"""
import json
import pathlib
import re
import subprocess
import sys

from ..program import RunError
from ..runs import child_seconds, started
from .store import Store

SHOWN = 300  # characters of a message


def message_without_paths(message, folder):
    """What the program said, in one line; where files lie on this machine is no part of it."""
    line = " ".join(message.split())
    return re.sub(r"\S*/rxnic-[^/\s]+/run", "RUN", line.replace(folder + "/", ""))[:SHOWN]


def record_of(key, arguments, program, timeout, folder):
    """Runs a point: what the store keeps of it. took_s and cpu_s are of this machine and come into no table."""
    before = child_seconds()
    try:
        result = started("replay", arguments, {}, None, program, timeout)
        record = {"key": key, "status": 0, "took_s": result.took_s, "figures": result.figures}
    except RunError as failed:
        record = {"key": key, "status": failed.status, "error": message_without_paths(failed.message, folder)}
    except subprocess.TimeoutExpired:
        record = {"key": key, "status": -9, "error": f"did not end within {timeout:g} s"}
    record["cpu_s"] = round(child_seconds() - before, 6)
    return record


def run_job(store, job):
    """Whether all points of the job were run, by it or by an earlier start of it.

    `job`: {"name", "generation", "local", "program", "timeout", "page_folder", "points": [[key, arguments]]}.
    """
    with store.joined(), store.writer(job["name"]) as writer:
        noted = store.noted(job["name"])
        for key, arguments in job["points"]:
            if store.generation() != job["generation"] or (job["local"] and not store.owner_lives()):
                return False
            if key not in noted:
                writer.add(record_of(key, arguments, job["program"], job["timeout"], job["page_folder"]))
    return True


def main(path):
    path = pathlib.Path(path)
    job = json.loads(path.read_text(encoding="utf-8"))
    store = Store(job["folder"])
    if run_job(store, job):
        path.with_suffix(".done").touch()
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
