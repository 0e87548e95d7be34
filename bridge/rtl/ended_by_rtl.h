// SPDX-License-Identifier: Apache-2.0
// A run that RTL ends with a signal. Verilator aborts when a loop does not settle. In the model's place a wrong number
// may be an index that no memory of the model has. Such a run ends with exit status 4, and names the blocks with RTL.
//
//   R1  These are SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, from the call on. No report is written: nothing that the
//       model holds can be relied on.
//   R2  With a sanitizer, which says more, the signals are left to it.
#pragma once

#include <string>

namespace rxnic {

// `blocks`: those with RTL, and how it is used, in words. `in_place`: of them some are in the model's place.
void tell_what_rtl_ends(const std::string& blocks, bool in_place);

}  // namespace rxnic
