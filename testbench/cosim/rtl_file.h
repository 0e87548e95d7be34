// SPDX-License-Identifier: Apache-2.0
// A user's own RTL, in a shared object that scripts/build_rtl has made.
#pragma once

#include <string>

#include "testbench/cosim/rxnic_rtl.h"

namespace rxnic {

// The description in a shared object, which stays loaded. Throws std::invalid_argument: there is no such file, it is no
// shared object, or one without the interface or with another version of it.
const RxnicRtl& load_rtl(const std::string& file);

}  // namespace rxnic
