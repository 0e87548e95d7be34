#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bridge/verbs/programs.md names what the checks run, and programs_table.py says what was noted, no more."""
import json
import os
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import programs_table
from programs_table import Use

SUITE_OUTPUT = """test_addr: 3 of 3 passed
test_dmabuf_rdma: skipped 'No GPU' (no GPU here)
test_raw: skipped 'Must be run by root on Ethernet link layer' (for root)
test_addr: 1 of 3 passed
"""


class ProgramsTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for patch in (mock.patch.dict(os.environ, {programs_table.FOLDER: folder.name}),
                      mock.patch("programs_table.package", lambda program: f"package of {program}"),
                      mock.patch("live.users", lambda: {"root": None, "user": 1})):
            patch.start()
            self.addCleanup(patch.stop)

    def note(self, *uses, uid=1, nics=2, packets=70, failures=(), idle=0, own=False):
        bench = types.SimpleNamespace(failures=[])

        def of_nic(received, sent):
            return {"blocks": {block: {"counters": {"packets": count}}
                               for block, count in (("rx_parser", received), ("requester", sent))}}

        report = {"nics": [of_nic(packets, 0)] * (nics - idle) + [of_nic(0, 0)] * idle}
        with programs_table.noted_run(bench, *uses) as run:
            run.fabric = types.SimpleNamespace(uid=uid, nics=nics, report=report, own=own)
            bench.failures.extend(failures)

    def row(self, begin):
        rows = [row for row in programs_table.table(self.folder).splitlines() if row.startswith(begin)]
        self.assertEqual(len(rows), 1, rows)
        return rows[0]

    def test_programs_md_names_what_the_checks_run(self):
        found = programs_table.begins(programs_table.TABLE.read_text(encoding="utf-8"))
        self.assertGreater(len(found), 40)
        self.assertEqual(found, programs_table.begins(programs_table.table(self.folder)))

    def test_programs_md_has_runs_of_each_program_in_both_networks(self):
        for row in programs_table.TABLE.read_text(encoding="utf-8").removeprefix(programs_table.HEAD).splitlines():
            cells = [cell.strip() for cell in row.split(" |")]
            for network, places in (("host", cells[4:6]), ("own", cells[6:8])):
                self.assertRegex(" ".join(places), r"\d of \d", f"{network}: {row}")

    def test_runs_are_counted_by_network_nics_and_user(self):
        uses = [use for use in __import__("ucx_check").PROGRAMS if use[:2] == ("ucx_perftest", "RC")]
        self.note(uses[0], uses[1])
        self.note(uses[0], nics=1, failures=["a failure"])
        self.note(uses[0], nics=1, own=True)
        self.note(uses[1], nics=1, own=True, failures=["a failure"])
        self.assertRegex(self.row("| ucx_perftest | RC |"), r"`-t tag_lat -s 2000`, .* \| package of ucx_perftest "
                         r"\| user 0 of 1 \| user 2 of 2 \| user 1 of 2 \| not run \| 400 \| \|$")
        with mock.patch("os.geteuid", lambda: 0):
            self.note(uses[0], uid=None)
        self.assertRegex(self.row("| ucx_perftest | RC |"), r"\| user 0 of 1 \| root 1 of 1, user 2 of 2 \|")

    def test_nics_are_those_that_were_at_work(self):
        use = next(use for use in __import__("mpi_check").PROGRAMS if use.transport == "RC")
        nowhere_else = r"not run \| not run"
        self.note(use, nics=2, idle=1)
        self.assertRegex(self.row("| mpirun | RC |"), rf"\| user 1 of 1 \| not run \| {nowhere_else} \| 70 \| \|$")
        self.note(use, nics=2)
        self.assertRegex(self.row("| mpirun | RC |"), rf"\| user 1 of 1 \| user 1 of 1 \| {nowhere_else} \| 200 \| \|$")
        self.note(use, nics=2, idle=2)
        self.assertRegex(self.row("| mpirun | RC |"), rf"\| user 1 of 1 \| user 2 of 2 \| {nowhere_else} \| 200 \| \|$")

    def test_a_program_without_a_run_is_shown_as_such(self):
        self.assertRegex(self.row("| mpirun | UD |"), r"(\| not run ){4}\| \| \|$")

    def test_a_run_that_no_check_names_is_refused(self):
        self.note(Use("ucx_perftest", "RC", "-t nothing"))
        with self.assertRaisesRegex(ValueError, "nothing is not among"):
            programs_table.table(self.folder)

    def test_addresses_ports_and_counts_are_left_out(self):
        self.assertEqual(programs_table.short("-c -a 198.18.0.1 -n 5 -C 20 -P {port} -m 239.1.1.1 {server}"),
                         "-c -C 20 -m 239.1.1.1")

    def test_the_suite_has_one_row(self):
        (self.folder / "pyverbs-own.txt").write_text(SUITE_OUTPUT, encoding="utf-8")
        rest = r"\| root 3 of 3, user 1 of 3 \| not run \| \| `test_dmabuf_rdma`: no GPU here; those with RAW"
        self.assertRegex(self.row("| tests of rdma-core | all |"), r"\| not run \| not run " + rest)
        (self.folder / "pyverbs-host.txt").write_text("test_addr: 2 of 3 passed\n" * 2, encoding="utf-8")
        self.assertRegex(self.row("| tests of rdma-core | all |"), r"\| root 2 of 3, user 2 of 3 \| not run " + rest)

    def test_every_limit_is_of_a_program(self):
        programs = {program for program, _ in programs_table.named()}
        self.assertLessEqual(programs_table.LIMITS.keys(), programs)

    def test_nothing_is_noted_without_the_folder(self):
        with mock.patch.dict(os.environ):
            del os.environ[programs_table.FOLDER]
            self.note(Use("mpirun", "RC"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_equal_notes_make_equal_tables(self):
        self.note(*__import__("rdmacm_check").PROGRAMS)
        once = programs_table.table(self.folder)
        (file,) = self.folder.iterdir()
        file.write_text("".join(reversed(file.read_text(encoding="ascii").splitlines(True))), encoding="ascii")
        self.assertEqual(programs_table.table(self.folder), once)
        json.loads(file.read_text(encoding="ascii").splitlines()[0])


if __name__ == "__main__":
    unittest.main()
