// SPDX-License-Identifier: Apache-2.0
// The manual page of the program, for man(1): what --help of the program and of each command says, in roff.
//
//   R1  Each command has its arguments and options, but for --help and --help-all, which stand with the program's.
//   R2  Words are filled into lines. A line with several blanks in its midst is a row of a table. The row begins a line
//       of its own, and so does what follows the table. An indented line continues the line before.
//       The value of an option may go on in the next line behind a comma, a bar or a bracket.
//   R3  Nothing of a text is taken for a request or an escape of roff, and each hyphen is one that can be copied.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rxnic {

std::string manual_page(const CLI::App& app);

}  // namespace rxnic
