// SPDX-License-Identifier: Apache-2.0
// Where the drop-in libibverbs is.
#pragma once

#include <string>

namespace rxnic {

// RXNIC_LIBRARY_DIR; when that is not set, or empty, beside this program, in its build
// folder or where it is installed (../lib/rxnic); absolute. Throws
// std::runtime_error when there is no libibverbs.so.1.
std::string library_folder();
// The value of LD_LIBRARY_PATH: this folder, and what was there before.
std::string library_path(const std::string& folder);

inline constexpr const char* kPreloadedLibrary = "librxnic_device_files.so";

// The library that shows programs the files of their NICs (bridge/device_files), in that folder; throws
// std::runtime_error when it is not there. In front of what LD_PRELOAD names already.
std::string preload_path(const std::string& folder);

}  // namespace rxnic
