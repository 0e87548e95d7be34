// SPDX-License-Identifier: Apache-2.0
// RTL in shared objects: a user's own, which scripts/build_rtl has made, and the project's, which target `rtl` makes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rtl/rxnic_rtl.h"

namespace rxnic {

// The description in a shared object, which stays loaded. Throws std::invalid_argument: there is no such file, it is no
// shared object, or one without the interface or with another version of it.
const RxnicRtl& load_rtl(const std::string& file);

// Where the project's own RTL is: in the folder RXNIC_RTL_DIR. When that variable is not set, or empty: beside this
// program, in its build folder or where it is installed (../lib/rxnic/rtl).
std::string rtl_folder();
// The project's own RTL is built in two ways (rtl/README.md): kChecked with its assertions and cover points, kLean
// without, which is faster.
enum class RtlBuild : std::uint8_t { kChecked, kLean };
// The shared objects of a block in that folder, BLOCK_NUMBER.so, or for kLean in its folder lean, loaded, by their
// names; without a block all. Empty when there is none. Throws as load_rtl(), but not for those of other blocks, which
// may be of an earlier version.
std::vector<const RxnicRtl*> built_rtl(RtlBuild build = RtlBuild::kChecked, std::string_view block = "");

}  // namespace rxnic
