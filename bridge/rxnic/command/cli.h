// SPDX-License-Identifier: Apache-2.0
// The command line of rxnic.
//
//   exit 0: done.  2: usage or configuration error.  3: the trace cannot be read.  1: anything else, a replay that
//   differs from the run that was recorded too.  run: the program's status.
#pragma once

namespace rxnic {

int run_program(int argc, const char* const* argv);

}  // namespace rxnic
