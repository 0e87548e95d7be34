// SPDX-License-Identifier: Apache-2.0
// The files that a kernel's driver would have made for the NICs, in a folder of their own. Programs see them as
// /dev/infiniband and below /sys/class, by bridge/device_files; its README.md lists them.
#pragma once

#include <functional>
#include <string>

#include "bridge/rxnic/live/session_options.h"
#include "model/params/params.h"

namespace rxnic {

// Writes the files of the NICs of the run below its folder and returns their folder, an absolute path. When they cannot
// be written, as on a full disk, none is left, `say` is told why, and the path is empty: programs run without. In a
// network of its own (own_network.h) lo is among its interfaces, and programs are shown no others.
std::string write_device_files(const SessionOptions& o, const Params& params, bool own_network,
                               const std::function<void(const std::string&)>& say);

}  // namespace rxnic
