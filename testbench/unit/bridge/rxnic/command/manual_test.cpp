// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/manual.h"

#include <gtest/gtest.h>

#include <string>

namespace rxnic::manual_test {
namespace {

// The page of a program with one command, which has one option with this description.
std::string page_with(const std::string& description) {
  CLI::App app("rxnic: a model.\n\n  rxnic replay capture.pcap  a capture\n  rxnic run -- PROGRAM\n      a program\n",
               "rxnic");
  app.set_version_flag("--version", "rxnic 1.2.3");
  app.set_help_all_flag("--help-all", "Print all");
  CLI::App* const replay = app.add_subcommand("replay", "Replay a capture");
  std::string trace, seed;
  replay->add_option("--seed", seed, description)->type_name("SEED|[,...]");
  replay->add_option("trace", trace, "The capture")->type_name("TRACE")->required();
  return manual_page(app);
}

TEST(Manual, HasTheProgramItsExamplesAndCommands) {
  EXPECT_EQ(page_with("A seed"),
            ".TH RXNIC 1 \"\" \"rxnic 1.2.3\" \"User Commands\"\n.ad l\n.nh\n"
            ".SH NAME\nrxnic \\- a model\n"
            ".SH SYNOPSIS\n.B rxnic\n[OPTION]... COMMAND [ARGUMENT]...\n"
            ".SH EXAMPLES\n"
            ".TP\n.B rxnic replay capture.pcap\na capture\n"
            ".TP\n.B rxnic run \\-\\- PROGRAM\na program\n"
            ".SH OPTIONS\n"
            ".TP\n\\fB\\-h,\\-\\-help\\fR\nPrint this help message and exit\n"
            ".TP\n\\fB\\-\\-version\\fR\nDisplay program version information and exit\n"
            ".TP\n\\fB\\-\\-help\\-all\\fR\nPrint all\n"
            ".SH COMMANDS\n"
            ".SS rxnic replay\nReplay a capture\n"
            ".TP\n\\fBtrace\\fR TRACE REQUIRED\nThe capture\n"
            ".TP\n\\fB\\-\\-seed\\fR SEED|\\:[,\\:...]\\:\nA seed\n");  // R1
}

std::string text_of(const std::string& description) {
  const std::string page = page_with(description);
  return page.substr(page.find('\n', page.rfind("SEED")) + 1);
}

TEST(Manual, FillsLinesAndLeavesRowsOfATableAlone) {
  EXPECT_EQ(text_of("One line\nand another"), "One line\nand another\n");
  EXPECT_EQ(text_of("Either:\na  the first\nb  the second,\n   as long as it is\nThen more\nand more"),
            "Either:\n.br\na  the first\n.br\nb  the second,\nas long as it is\n.br\nThen more\nand more\n");  // R2
}

TEST(Manual, TakesNothingForARequestOrAnEscape) {
  EXPECT_EQ(text_of(".dot\n'quote\nback\\slash\nhy-phen"), "\\&.dot\n\\&'quote\nback\\eslash\nhy\\-phen\n");  // R3
}

}  // namespace
}  // namespace rxnic::manual_test
