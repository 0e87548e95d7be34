// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error of the program.
//
//   R1  A closed one of the three is opened on /dev/null, so that no file or socket of the program gets its number. Its
//       direction is the wrong one: who uses it, the program of `rxnic run` too, finds EBADF as if it were closed.
//   R2  What cannot be written to standard output is an error. What cannot be written to standard error is lost.
//   R3  A file that grows beyond the limit of the process (ulimit -f) is a write error and no signal.
#pragma once

#include <string>

namespace rxnic {

// R1, R3. Before anything else in main().
void open_standard_streams();

// Writes to standard output, at once. Throws std::runtime_error. (R2)
void print_output(const std::string& text);

// "rxnic: text" as a line on standard error.
void print_message(const std::string& text);

}  // namespace rxnic
