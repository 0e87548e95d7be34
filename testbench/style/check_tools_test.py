#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_tools.py runs a tool for what has changed and for nothing else, and each tool finds what is planted."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import check_tools

# Stands for a tool: writes down which files it was run for (what is no option, before --). It finds fault with a file
# that holds the word "fault".
FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "fake version 14.0.6"; exit 0; fi
status=0
echo "$*" > "$RAN.line"
for word in "$@"; do
  case "$word" in
    --) break ;;
    -*) continue ;;
  esac
  echo "$word" >> "$RAN"
  if grep -q fault "$word"; then echo "$word: a fault"; status=1; fi
done
exit $status
"""


class CheckTools(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.root)
        self.build = self.root / "build" / "dev"
        self.ran = self.root / "build" / "ran"
        self.write(".clang-tidy", "Checks: '*'\n")
        self.write("model/core/list.h", '#include "model/types/ids.h"\n')
        self.write("model/types/ids.h", '#include "model/params/params.h"\n')
        self.write("build/dev/generated/model/params/params.h", "inline constexpr int kWidth = 8;\n")
        self.write("model/core/list.cpp", '#include "model/core/list.h"\n')
        self.write("model/core/other.cpp", "int other;\n")
        self.write("testbench/unit/list_test.cpp", "// fault: tests are not looked at\n")
        self.commands()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commands(self, flags="-O1 -DX=1"):
        files = [self.root / "model/core" / name for name in ("list.cpp", "other.cpp")]
        self.write("build/dev/compile_commands.json", json.dumps(
            [{"file": str(f), "command": f"c++ {flags} -I{self.root} -std=c++20 -c {f} -o x.o"} for f in files]))

    def check(self, tool):
        """The exit code, and what was printed."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch.object(
                sys, "argv", ["check_tools.py", "--root", str(self.root), "--build", str(self.build), tool]):
            return check_tools.main(), said.getvalue()

    def use_fake(self, name):
        folder = self.root / "build" / "bin"
        self.write(f"build/bin/{name}", FAKE)
        (folder / name).chmod(0o755)
        patch = mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", RAN=str(self.ran))
        patch.start()
        self.addCleanup(patch.stop)

    def looked_at(self, tool="clang_tidy", status=0):
        """The files that one check runs the tool for."""
        self.ran.parent.mkdir(exist_ok=True)
        self.ran.write_text("")
        found, said = self.check(tool)
        self.assertEqual(found, status, said)
        return sorted(self.ran.read_text().split())

    def test_unchanged_files_are_looked_at_once(self):
        self.use_fake("clang-tidy-14")
        self.assertEqual(self.looked_at(), ["model/core/list.cpp", "model/core/other.cpp"])
        self.assertEqual(self.looked_at(), [])

    def test_the_longest_file_is_looked_at_first(self):
        self.use_fake("clang-tidy-14")
        for length, order in ((1000, ["other", "list"]), (0, ["list", "other"])):
            self.write("model/core/other.cpp", "int other;\n" + "/" * length)
            self.commands(f"-DX={length}")
            self.ran.parent.mkdir(exist_ok=True)
            self.ran.write_text("")
            with mock.patch.object(os, "cpu_count", return_value=1):
                self.check("clang_tidy")
            self.assertEqual(self.ran.read_text().split(), [f"model/core/{name}.cpp" for name in order])

    def test_a_changed_source_is_looked_at_again(self):
        self.use_fake("clang-tidy-14")
        self.looked_at()
        self.write("model/core/other.cpp", "int another;\n")
        self.assertEqual(self.looked_at(), ["model/core/other.cpp"])

    def test_a_changed_header_has_what_includes_it_looked_at(self):
        self.use_fake("clang-tidy-14")
        self.looked_at()
        for name in ("model/core/list.h", "model/types/ids.h", "build/dev/generated/model/params/params.h"):
            with self.subTest(name):
                self.write(name, (self.root / name).read_text() + "// more\n")
                self.assertEqual(self.looked_at(), ["model/core/list.cpp"])

    def test_a_changed_configuration_or_argument_has_everything_looked_at(self):
        self.use_fake("clang-tidy-14")
        self.looked_at()
        self.write(".clang-tidy", "Checks: '-*'\n")
        self.assertEqual(len(self.looked_at()), 2)
        self.commands("-O1 -DX=2")
        self.assertEqual(len(self.looked_at()), 2)
        self.commands("-O3 -DX=2")
        self.assertEqual(self.looked_at(), [], "optimization is nothing to a linter")

    def test_joined_sources_are_looked_at_together(self):
        self.use_fake("clang-tidy-14")
        joined = "build/dev/Unity/unity_0_cxx.cxx"
        both = [self.root / "model/core" / name for name in ("list.cpp", "other.cpp")]
        self.write(joined, "".join(f'#include "{file}"\n' for file in both))
        self.write("build/dev/Unity/unity_1_cxx.cxx", f'#include "{self.root / "testbench/unit/list_test.cpp"}"\n')
        self.write("build/dev/compile_commands.json", json.dumps(
            [{"file": str(self.root / f"build/dev/Unity/unity_{n}_cxx.cxx"), "command": "c++ -c"} for n in (0, 1)]))
        self.assertEqual(self.looked_at(), [joined])
        self.assertEqual(self.looked_at(), [])
        for name in ("model/types/ids.h", "model/core/other.cpp"):
            with self.subTest(name):
                self.write(name, "// changed\n")
                self.assertEqual(self.looked_at(), [joined])

    def test_what_was_joined_for_a_target_is_looked_at_as_one(self):
        self.use_fake("clang-tidy-14")
        for n, name in enumerate(("list.cpp", "other.cpp")):
            self.write(f"build/dev/core.dir/Unity/unity_{n}_cxx.cxx", f'#include "{self.root / "model/core" / name}"\n')
        self.write("build/dev/compile_commands.json", json.dumps(
            [{"file": str(self.root / f"build/dev/core.dir/Unity/unity_{n}_cxx.cxx"), "command": "c++ -c"}
             for n in (0, 1)]))
        joined = "build/dev/style/joined/core.cpp"
        self.assertEqual(self.looked_at(), [joined])
        self.assertEqual(self.looked_at(), [])
        self.write("model/types/ids.h", "// changed\n")
        self.assertEqual(self.looked_at(), [joined])

    def test_what_the_targets_of_a_folder_have_is_looked_at_as_one(self):
        self.use_fake("clang-tidy-14")
        units = []
        for name, of in (("list.cpp", "model/core/CMakeFiles/core.dir"), ("other.cpp", "model/nic/CMakeFiles/nic.dir")):
            units.append(f"build/dev/{of}/Unity/unity_0_cxx.cxx")
            self.write(units[-1], f'#include "{self.root / "model/core" / name}"\n')
        self.write("build/dev/compile_commands.json", json.dumps(
            [{"file": str(self.root / unit), "command": f"c++ -c -DA{n} -isystem /usr/include -DB"}
             for n, unit in enumerate(units)]))
        self.assertEqual(self.looked_at(), ["build/dev/style/joined/model.cpp"])
        self.assertIn("model.cpp -- -DA0 -isystem/usr/include -DB -DA1\n", (self.build.parent / "ran.line").read_text())

    def test_a_file_with_a_fault_is_looked_at_until_it_is_mended(self):
        self.use_fake("clang-tidy-14")
        self.write("model/core/other.cpp", "// fault\n")
        self.looked_at(status=1)
        self.assertIn("model/core/other.cpp: a fault", self.check("clang_tidy")[1])
        self.assertEqual(self.looked_at(status=1), ["model/core/other.cpp"])
        self.write("model/core/other.cpp", "int other;\n")
        self.assertEqual(self.looked_at(), ["model/core/other.cpp"])

    def test_files_that_are_looked_at_together_pass_together(self):
        self.use_fake("flake8")
        names = [f"scripts/{n}.py" for n in range(5)]
        for name in names:
            self.write(name, "import os\n")
        self.write(names[2], "# fault\n")
        with mock.patch.object(os, "cpu_count", return_value=2):
            self.assertEqual(self.looked_at("flake8", status=1), names)
            again = self.looked_at("flake8", status=1)
            self.assertIn(names[2], again)
            self.assertIn(len(again), (2, 3), "those of the other run have passed")
            self.write(names[2], "import os\n")
            self.assertIn(names[2], self.looked_at("flake8"))
            self.assertEqual(self.looked_at("flake8"), [])

    def test_a_tool_that_fails_without_a_word_is_no_success(self):
        self.use_fake("flake8")
        self.write("build/bin/flake8", FAKE.replace("status=0", "exit 3"))
        self.write("scripts/run.py", "import os\n")
        status, said = self.check("flake8")
        self.assertEqual(status, 1)
        self.assertIn("exit status 3", said)

    def test_a_missing_tool_is_named_and_skipped(self):
        with mock.patch.dict(os.environ, PATH=str(self.root)):
            for tool in check_tools.TOOLS:
                status, said = self.check(tool)
                self.assertEqual(status, 77)
                self.assertRegex(said, "skipped: .* is not installed")

    def test_scripts_are_known_by_their_first_line(self):
        self.write("scripts/run", "#!/usr/bin/env bash\necho $1\n")
        self.write("scripts/plot", "#!/usr/bin/env python3\nimport os\n")
        self.write("scripts/README.md", "echo $1\n")
        for tool, name in (("shellcheck", "scripts/run"), ("flake8", "scripts/plot")):
            with self.subTest(tool):
                self.use_fake(tool)
                self.assertEqual(self.looked_at(tool), [name])

    def finds(self, tool, *words):
        status, said = self.check(tool)
        if status == 77:
            self.skipTest(said)
        self.assertEqual(status, 1, said)
        for word in words:
            self.assertIn(word, said)

    def test_shellcheck_finds_what_is_planted(self):
        self.write("scripts/run", "#!/usr/bin/env bash\nrm -rf $1/*\n")
        self.finds("shellcheck", "scripts/run", "SC2086")

    def test_flake8_finds_what_is_planted(self):
        self.write("scripts/plot", "#!/usr/bin/env python3\nimport os\n")
        self.finds("flake8", "scripts/plot:2:1", "F401")

    def test_clang_tidy_finds_what_is_planted_in_a_source_and_in_a_header(self):
        shutil.copy(pathlib.Path(__file__).resolve().parents[2] / ".clang-tidy", self.root)
        self.write("model/core/other.cpp", "int f(int n) { return n > 1 ? n : n; }\n")
        self.write("model/core/list.h", "struct List { void Append(); };\n")
        self.finds("clang_tidy", "model/core/other.cpp:1", "misc-redundant-expression", "model/core/list.h:1",
                   "invalid case style for function 'Append'")


if __name__ == "__main__":
    unittest.main()
