// SPDX-License-Identifier: Apache-2.0
// Commands of rxnic that are Python programs: scripts/rxnic_model. `rxnic NAME ARGUMENT...` becomes
// `python3 SCRIPTS/rxnic_model NAME ARGUMENT...`, with the variable RXNIC naming this program.
//
//   R1  SCRIPTS is scripts of the source tree for a built program, and ../share/rxnic/scripts for an installed one.
//       RXNIC_SCRIPTS names another folder.
//   R2  The script has all arguments, --help too, and its exit status is that of the command.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace rxnic {

// For the help, the manual page and suggestions. Nothing of their arguments is parsed here.
void describe_script_commands(CLI::App& app);

// When the command line begins with such a command: starts its script in the place of this process. Returns only when
// python3 or the script is missing (the exit status; a message says what to install), and for other command lines
// (nothing).
std::optional<int> start_script_command(int argc, const char* const* argv);

}  // namespace rxnic
