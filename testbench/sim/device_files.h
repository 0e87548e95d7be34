// SPDX-License-Identifier: Apache-2.0
// The files that a kernel's driver would have made for the NICs, in a folder of their own: what bridge/device_files
// shows to programs as /dev/infiniband and below /sys/class. bridge/device_files/README.md lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/params/params.h"

namespace rxnic {

// Writes the files of NICs 0 to nics - 1 below `out` and returns their folder, an absolute path. When they cannot be
// written, as on a full disk, none is left, `say` is told why, and the path is empty: programs run without.
std::string write_device_files(const std::string& out, std::uint32_t nics, const Params& params,
                               const std::function<void(const std::string&)>& say);

}  // namespace rxnic
