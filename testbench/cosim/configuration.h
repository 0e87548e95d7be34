// SPDX-License-Identifier: Apache-2.0
// A configuration for which a block's RTL is built: its name, as that of its tests, and the parameters of the NIC.
#pragma once

#include <ostream>
#include <string>

#include "model/params/params.h"

namespace rxnic {

struct Configuration {
  std::string name;  // rtl/CMakeLists.txt, by the first three parameters (bridge/rtl/twins.py)
  Params params;
};
inline std::ostream& operator<<(std::ostream& out, const Configuration& of) { return out << of.name; }

}  // namespace rxnic
