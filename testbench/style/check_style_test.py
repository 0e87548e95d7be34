#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every check of check_style.py passes a small good tree and fails on each offence planted into it."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_style

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
PARAMS = '# SPDX-License-Identifier: Apache-2.0\n[cam]\nabout = "A block."\n[cam.entries]\ndefault = 1\n'
GOOD = {
    "CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n",
    "CMakePresets.json": "{}\n",
    "LICENSE": "text\n",
    "CHANGELOG.md": "page\n",
    "CONTRIBUTING.md": "page\n",
    "model/params/params.toml": PARAMS,
    "model/RULES.md": "# Rules\n## 1 Posting\n1. First.\n2. Second.\n## 2 Polling\n1. First.\n",
    "model/NUMBERS.md": "# Numbers\n## Line rate\n",
    "model/types/ids.h": LICENCE + '#include <cstdint>\n\n#include "model/params/params.h"\n',
    "model/engine/block.h": LICENCE + '#include <systemc>\n\n#include "model/types/ids.h"\n',
    "model/core/list.h": LICENCE + '#include "model/types/ids.h"\n',
    "model/blocks/cam.h": LICENCE + '#include "model/ports/cam_ports.h"\nclass Cam final : public CamPorts {};\n',
    "model/ports/cam_ports.h": LICENCE + """#include "model/engine/block.h"
class CamPorts : public Block {
  static BlockFacts facts(const Params& params);
};
""",
    "model/blocks/cam.cpp": LICENCE + '#include "model/blocks/cam.h"\n\nint f(const P& p) { return p.entries; }\n',
    "traces/reader.h": LICENCE + '#include "model/types/ids.h"\n',
    "bridge/README.md": "page\n",
    "rtl/cam.sv": LICENCE,
    "rtl/checkers/cam_checker.sv": LICENCE,
    "rtl/area.toml": "# SPDX-License-Identifier: Apache-2.0\n[cam]\n",
    "testbench/cosim/faults.toml": "# SPDX-License-Identifier: Apache-2.0\n[cam]\n",
    "rtl/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\nrxnic_twin(cam PARAMETERS A=1)\n",
    "testbench/cosim/cam_cosim_test.cpp": LICENCE,
    "scripts/run": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n",
    "testbench/unit/model/blocks/cam_test.cpp": LICENCE + '#include "model/blocks/cam.h"\n',
    **{f"{folder}README.md": "page\n" for folder in
       ("", "model/", "model/params/", "model/types/", "model/engine/", "model/core/", "model/ports/", "model/blocks/",
        "traces/", "bridge/rtl/", "rtl/", "rtl/checkers/", "scripts/", "testbench/", "testbench/cosim/",
        "testbench/unit/",
        "testbench/unit/model/", "testbench/unit/model/blocks/")},
}


class CheckStyle(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in GOOD.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def offences(self, check):
        return list(check_style.CHECKS[check](check_style.Tree(self.root)))

    def assert_one(self, check, *words):
        found = self.offences(check)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_good_tree_passes_every_check(self):
        for check in check_style.CHECKS:
            if check == "format":
                continue
            with self.subTest(check):
                self.assertEqual(self.offences(check), [])

    def test_files_that_git_does_not_have(self):
        def git(*arguments):
            subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True)

        self.write("rxnic-run/report.json", "{}")
        self.assertEqual(self.offences("layout") + self.offences("text") + self.offences("readmes"), [])  # no clone
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        git("init", "-q")
        git("add", ".", ":!rxnic-run")
        self.write("notes", "of the user, \t without a newline")
        self.assertEqual(self.offences("layout") + self.offences("text") + self.offences("readmes"), [])
        git("add", "notes")
        self.assert_one("layout", "notes")
        git("rm", "-q", "--cached", "model/blocks/cam.cpp")  # a new file, as a rule
        self.assert_one("blocks", "no model/blocks/cam.cpp", "(git add)")

    def test_include_of_a_higher_floor(self):
        self.write("model/types/ids.h", LICENCE + '#include "model/core/list.h"\n')
        self.assert_one("floors", "model/types/ids.h:2", "model/core")

    def test_include_of_a_floor_beside(self):
        self.write("traces/reader.h", LICENCE + '#include "model/core/list.h"\n')
        self.assert_one("floors", "traces/reader.h:2")

    def test_include_that_is_not_rooted(self):
        self.write("model/blocks/cam.cpp", LICENCE + '#include "cam.h"\nint f(const P& p) { return p.entries; }\n')
        self.assert_one("floors", "model/blocks/cam.cpp:2", "no cam.h")

    def test_include_that_does_not_exist(self):
        self.write("model/core/list.h", LICENCE + '#include "model/types/gone.h"\n')
        self.assert_one("floors", "gone.h")

    def test_include_of_a_generated_group(self):
        self.write("model/core/list.h", LICENCE + '#include "model/types/ring.h"\n')
        self.assert_one("floors", "ring.h")
        self.write("model/types/descriptors.toml", '# SPDX-License-Identifier: Apache-2.0\n[ring]\nabout = "A ring."\n')
        self.assertEqual(self.offences("floors"), [])

    def test_systemc_below_the_engine(self):
        self.write("model/core/list.h", LICENCE + "#include <systemc>\n")
        self.assert_one("floors", "model/core/list.h:2", "<systemc>")

    def test_verbs_in_the_model(self):
        self.write("model/core/list.h", LICENCE + "#include <infiniband/verbs.h>\n")
        self.assert_one("floors", "model/core/list.h:2")

    def test_source_outside_every_floor(self):
        self.write("scripts/tool.cpp", LICENCE)
        self.assert_one("floors", "scripts/tool.cpp")

    def test_format(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        try:
            self.assertEqual(self.offences("format"), [])
        except SystemExit:
            self.skipTest("clang-format is not installed")
        self.write("model/core/list.h", LICENCE + "int   f( );\n")
        self.assertTrue(any("model/core/list.h:2" in o for o in self.offences("format")))

    def test_licence_missing_doubled_or_late(self):
        for text in ("int x;\n", LICENCE + LICENCE, "\n" + LICENCE):
            with self.subTest(text):
                self.write("model/core/list.h", text)
                self.assert_one("spdx", "model/core/list.h")

    def test_licence_of_a_script(self):
        self.write("scripts/run", "#!/bin/sh\n")
        self.assert_one("spdx", "scripts/run")

    def test_block_without_source(self):
        (self.root / "model/blocks/cam.cpp").unlink()
        self.assert_one("blocks", "cam", "no model/blocks/cam.cpp")

    def test_block_without_test(self):
        (self.root / "testbench/unit/model/blocks/cam_test.cpp").unlink()
        self.assert_one("blocks", "cam_test.cpp")

    def test_block_unknown_to_the_parameters_without_test(self):
        self.write("model/blocks/extra.h", LICENCE + "class Extra : public ExtraPorts {};\n")
        self.write("model/blocks/extra.cpp", LICENCE)
        self.write("model/ports/extra_ports.h", LICENCE)
        self.assert_one("blocks", "extra_test.cpp")

    def test_block_of_the_parameters_that_does_not_exist(self):
        self.write("model/params/params.toml", PARAMS + '[gone]\nabout = "A block."\n')
        self.assertEqual(len(self.offences("blocks")), 4)

    def test_rtl_without_its_checker_or_test(self):
        for name in ("rtl/checkers/cam_checker.sv", "testbench/cosim/cam_cosim_test.cpp"):
            with self.subTest(name):
                (self.root / name).unlink()
                self.assertTrue(all(f"no {name}" in o for o in self.offences("blocks")), self.offences("blocks"))
                self.assertNotEqual(self.offences("blocks"), [])
                self.write(name, LICENCE)

    def test_rtl_without_area_faults_or_configuration(self):
        for table in ("rtl/area.toml", "testbench/cosim/faults.toml", "rtl/CMakeLists.txt"):
            with self.subTest(table):
                self.write(table, "# SPDX-License-Identifier: Apache-2.0\n[other]\n")
                self.assert_one("blocks", "rtl/cam.sv", table)
                self.write(table, GOOD[table])

    def test_rtl_of_a_block_that_does_not_state_its_facts(self):
        self.write("model/ports/cam_ports.h", LICENCE + "class CamPorts : public Block {};\n")
        self.assert_one("blocks", "rtl/cam.sv", "model/ports/cam_ports.h", "facts()")

    def test_rtl_of_no_block(self):
        self.write("rtl/array.sv", LICENCE)
        self.assert_one("blocks", "rtl/array.sv", "no block")
        self.write("rtl/cam.sv", LICENCE + "  array #(\n")
        self.assertEqual(self.offences("blocks"), [])

    def test_part_of_a_part_of_a_block(self):
        self.write("rtl/cam.sv", LICENCE + "  array #(\n")
        self.write("rtl/array.sv", LICENCE + "  row #(\n")
        self.write("rtl/row.sv", LICENCE)
        self.assertEqual(self.offences("blocks"), [])

    def test_rtl_library_without_a_test(self):
        self.write("rtl/lib/fifo.sv", LICENCE)
        self.assert_one("blocks", "rtl/lib/fifo.sv", "does not try it")
        self.write("testbench/cosim/rtl_lib_tb.sv", LICENCE + "  fifo #(.Depth(1)) dut (\n")
        self.assertEqual(self.offences("blocks"), [])

    def test_checker_without_its_rtl(self):
        (self.root / "rtl/cam.sv").unlink()
        self.assert_one("blocks", "no rtl/cam.sv")

    def test_module_without_block(self):
        self.write("rtl/other.sv", LICENCE)
        self.assert_one("blocks", "rtl/other.sv")

    def test_folder_without_readme(self):
        (self.root / "model/core/README.md").unlink()
        self.assert_one("readmes", "model/core")

    def test_folder_that_the_readme_above_names(self):
        self.write("model/core/lists/deep/list.h", LICENCE)
        self.assertEqual(len(self.offences("readmes")), 2)
        self.write("model/core/README.md", "page on `lists/deep`\n")
        self.assert_one("readmes", "model/core/lists")
        self.write("model/core/README.md", "page on [lists](lists) and `lists/deep`\n")
        self.assertEqual(self.offences("readmes"), [])

    def test_readme_of_more_than_a_page(self):
        self.write("model/core/README.md", "line\n" * 81)
        self.assert_one("readmes", "model/core/README.md")

    def test_links_to_what_exists(self):
        self.write("model/core/README.md", "[a](list.h), [b](../core), [c](../../LICENSE), [d](https://example.org/x),"
                   " [e](../../traces/README.md#host--port), [f](#own-page)\n# Own page\n")
        self.write("traces/README.md", "## `Host` / port\n")
        self.assertEqual(self.offences("links"), [])

    def test_link_to_nothing(self):
        for link in ("gone.h", "../gone", "core/list.h", "/model/core/list.h", "../../..", "#gone",
                     "../../traces/README.md#gone"):
            with self.subTest(link):
                self.write("model/core/README.md", f"page\nsee [it]({link})\n")
                self.assert_one("links", "model/core/README.md:2", link)

    def test_top_level_with_something_else(self):
        self.write("docs/README.md", "page\n")
        self.assert_one("layout", "docs")

    def test_top_level_with_something_missing(self):
        (self.root / "LICENSE").unlink()
        self.assert_one("layout", "LICENSE")

    def test_large_file(self):
        self.write("traces/README.md", "x" * ((1 << 20) + 1))
        self.assert_one("layout", "traces/README.md")

    def test_machine_path(self):
        for path in ("home/", "tmp/", "work/"):
            with self.subTest(path):
                self.write("model/core/list.h", LICENCE + f"// see /{path}me\n")
                self.assert_one("text", "model/core/list.h:2")

    def test_unfinished_without_reason(self):
        word = "TO" + "DO"
        self.write("model/core/list.h", LICENCE + f"// {word}: later\n")
        self.assert_one("text", word)
        self.write("model/core/list.h", LICENCE + f"// {word}(issue 7): later\n")
        self.assertEqual(self.offences("text"), [])

    def test_blanks_tabs_width_and_last_newline(self):
        for text in ("int x; \n", "\tint x;\n", "int x;", "// " + "x" * 118 + "\n"):
            with self.subTest(text):
                self.write("model/core/list.h", LICENCE + text)
                self.assert_one("text", "model/core/list.h")

    def test_parameter_that_nothing_reads(self):
        self.write("model/blocks/cam.cpp", LICENCE + '#include "model/blocks/cam.h"\n')
        self.assert_one("params", "cam.entries")

    def test_counter_that_nothing_counts(self):
        self.write("model/types/counters.toml", '# SPDX-License-Identifier: Apache-2.0\n[cam.counters]\n'
                   'hits = { unit = "tags" }\nwaits = { unit = "tags" }\n')
        self.write("model/blocks/cam.h", LICENCE + "class Cam final : public CamPorts { CamCounters counters_; };\n")
        for counting in ("++counters_.waits;", "counters_.waits += 2;", "counters_.waits = 7;",
                         "++(late ? counters_.waits : counters_.hits);", "++counters_.waits[i];"):
            self.write("model/blocks/cam.cpp", LICENCE + f"void f() {{ ++counters_.hits; {counting} }}\n")
            self.assertEqual(self.offences("counters"), [], counting)
        self.write("model/blocks/cam.cpp", LICENCE + "void f() { ++counters_.hits; Row<Cam, CamCounters, 4> row; }\n")
        self.write("model/core/row.h", LICENCE + "void g() { ++counters_.waits; }\n")
        self.assertEqual(self.offences("counters"), [], "a template counts")
        self.write("model/core/row.h", LICENCE + "void g() {}\n")
        self.assert_one("counters", "cam.waits")
        for reading in ("g(counters_.waits);", "if (counters_.waits == 3) g();"):
            self.write("model/blocks/cam.cpp", LICENCE + f"void f() {{ ++counters_.hits; {reading} }}\n")
            self.assert_one("counters", "cam.waits")

    def test_citations_of_what_exists(self):
        for text in ("rules 1", "rules 1.2, 2 and 2.1", "rules 1.1 .. 1.2", "rules\n//       2.1", "rules R7",
                     "NUMBERS.md, Line rate"):
            with self.subTest(text):
                self.write("model/core/list.h", LICENCE + f"// see {text}; the rest\n")
                self.assertEqual(self.offences("citations"), [])

    def test_citation_of_a_rule_that_does_not_exist(self):
        for cited, missing in (("3", "3"), ("1.3", "1.3"), ("1.1, 2.2", "2.2"), ("1 and 4", "4"), ("1 .. 1.9", "1.9")):
            for name in ("model/core/list.h", "testbench/unit/model/blocks/cam_test.cpp", "model/core/README.md",
                         "model/params/params.toml"):
                with self.subTest(cited + " in " + name):
                    self.write(name, f"// see rules {cited}\n")
                    self.assert_one("citations", f"{name}:1", f"no point {missing}")
                    self.write(name, "")

    def test_citation_that_goes_on_in_the_next_line(self):
        self.write("model/core/list.h", LICENCE + "// and so on (rules\n//       7.1)\n")
        self.assert_one("citations", "model/core/list.h:2", "no point 7.1")

    def test_citation_of_a_heading_that_does_not_exist(self):
        self.write("model/core/list.h", LICENCE + "// NUMBERS" + ".md, Wire rate\n")
        self.assert_one("citations", "model/core/list.h:2", "Wire rate")

    def cover(self, rows, tests="TEST_P(Posting, InOrder) {}\n"):
        self.write("testbench/live/posting_test.cpp", tests)
        self.write("testbench/live/verbs_check.py",
                   'def posting(bench):\n    watched("Posting", cam__searches=3)\n\n\n'
                   'def polling(bench):\n    watched("Polling", cam__walks=3)\n    expect("cam.hits")\n\n\n'
                   'CHECKS = {"posting": posting,\n          "poll": polling}\n')
        self.write("testbench/live/rules_covered.md", "".join(f"| {row} |\n" for row in rows))

    ROWS = ["1.1 | order | `Posting.InOrder` | `cam.searches`", "1.2 | all | `live.verbs.posting` | ",
            "2.1 | polling | `Posting.InOrder` | "]

    def test_rules_that_are_covered(self):
        self.assertEqual(self.offences("rules_covered"), [], "no page, no rules to cover")
        self.cover(self.ROWS)
        self.assertEqual(self.offences("rules_covered"), [])

    def test_rule_without_a_test(self):
        self.cover(self.ROWS[:2])
        self.assert_one("rules_covered", "rule 2.1 has no live test")
        self.cover([*self.ROWS[:2], "2.1 | polling | | "])
        self.assert_one("rules_covered", "rule 2.1 has no live test")

    def test_row_of_a_rule_that_does_not_exist(self):
        self.cover([*self.ROWS, "2.9 | none | `Posting.InOrder` | "])
        self.assert_one("rules_covered", "no point 2.9")

    def test_row_that_names_what_does_not_exist(self):
        for wrong, named in ((self.ROWS[0].replace("InOrder", "Other"), "no live test Posting.Other"),
                             (self.ROWS[0].replace("cam.searches", "cam.walks"), "the counter cam.walks")):
            self.cover([wrong, *self.ROWS[1:]])
            self.assert_one("rules_covered", "rules_covered.md:1", named)
        self.cover([self.ROWS[0], self.ROWS[1].replace("posting", "other"), self.ROWS[2]])
        self.assert_one("rules_covered", "rules_covered.md:2", "no live test live.verbs.other")

    def test_counter_that_only_the_check_of_other_tests_reads(self):
        for test, counter in (("Polling.Once", "cam.walks"), ("live.verbs.poll", "cam.hits")):
            tests = "TEST_P(Posting, InOrder) {}\nTEST_F(Polling, Once) {}\n"
            self.cover([*self.ROWS[:2], f"2.1 | polling | `{test}` | `{counter}`"], tests)
            self.assertEqual(self.offences("rules_covered"), [])
            self.cover([*self.ROWS[:2], f"2.1 | polling | `Posting.InOrder` | `{counter}`"], tests)
            self.assert_one("rules_covered", "rules_covered.md:3", f"the counter {counter}")

    def test_citation_of_a_page_by_another_name(self):
        self.write("model/core/list.h", LICENCE + "// code of rules" + ".md\n")
        self.assert_one("citations", "model/core/list.h:2", "expected a citation")

    LONG = "This sentence goes on " + "and on " * 11  # 26 words

    def test_sentences_of_comments(self):
        for name, comment in (("model/core/list.h", "// {}\n"), ("model/core/list.h", "int a;  // {}\n"),
                              ("model/core/list.h", "/* {} */\n"), ("rtl/cam.sv", "// {}\n"), ("a.cmake", "# {}\n"),
                              ("rtl/cam_tags.svh", "  // {}\n"), ("model/params/params.toml", "# {}\n"),
                              ("model/core/list.cpp", "int a = 1'000;  // {}\n"), ("model/make.py", "a = 1  # {}\n"),
                              ("model/make.py", 'def f():\n    """{}"""\n'), ("model/CMakeLists.txt", "# {}\n")):
            for sentence, fault in ((self.LONG, "26 words"), ("Of a queue.", 'begins with "Of"'),
                                    ("The same for two.", 'begins with "The same"'), ("That of one.", "That"),
                                    ("Good. Of a queue.", "Of a queue"), ("A list: That of one.", "That of one")):
                with self.subTest(name + " " + comment + sentence):
                    kept = GOOD.get(name, "")
                    self.write(name, kept + comment.format(sentence))
                    self.assert_one("words", name, fault)
                    self.write(name, kept)

    def test_sentence_that_goes_on_in_the_next_line(self):
        for comment in ("// {}\n// {}\n", "//   R1  {}\n//       {}\n", "//  - {}\n//    {}\n",
                        "int a;  // {}\n        // {}\n", "// {}\n// R3 and so on {}\n"):
            with self.subTest(comment):
                self.write("model/core/list.h", LICENCE + comment.format(self.LONG, "ends."))
                self.assert_one("words", "model/core/list.h:2", "a sentence has ")
        self.write("model/core/list.h", LICENCE)
        self.write("model/make.py", f'"""{self.LONG}\nends."""\n')
        self.assert_one("words", "model/make.py:1", "has 27 words")

    def test_what_is_no_sentence_that_goes_on(self):
        half = "This is half of " + "what was " * 10  # 24 words
        for comment in ("// {}\n//\n// {}\n", "//   R1  {}\n//   R2  {}\n", "//   R10 {}\n//   R11 {}\n",
                        "// - {}\n// - {}\n", "//  (1) {}\n//  (2) {}\n", "// {}\n// name  {}\n", "// {}\n//     {}\n",
                        "int a;  // {}\nint b;  // {}\n", "// {}\nint b;\n// {}\n", "// {}.\n// A {}\n",
                        "// {}.\n// step() {}\n"):
            with self.subTest(comment):
                self.write("model/core/list.h", LICENCE + comment.format(half, half))
                self.assertEqual(self.offences("words"), [])

    def test_what_is_no_sentence(self):
        for text in ('const char* a = "// Of a queue.";\n', 'auto a = R"(\n// Of a queue.\n)";\n',
                     "// " + "a + b_1 * " * 20 + "\n", "// | Of | two |\n// " + "| a, 1 " * 31 + "\n",
                     "// Often, of course.\n", "char a = '\"';  // a quotation mark\nchar b = '\"';\n"):
            with self.subTest(text):
                self.write("model/core/list.h", LICENCE + text)
                self.assertEqual(self.offences("words"), [])
        self.write("model/make.py", 'TEXT = """\n# Of a queue.\n"""\nother = "# Of a queue."\n')
        self.assertEqual(self.offences("words"), [])


if __name__ == "__main__":
    unittest.main()
