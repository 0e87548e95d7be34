// SPDX-License-Identifier: Apache-2.0
#include "testbench/cosim/twin.h"

#include <stdexcept>

namespace rxnic {

std::unique_ptr<Twin> make_twin(std::string_view block, const Params& params) {
  std::string found;
  for (const TwinBuild* build : twin_builds()) {
    if (build->block != block) continue;
    if (build->fits(params)) return build->make();
    found += "\n  " + std::string(build->parameters);
  }
  if (twin_builds().empty()) throw std::invalid_argument("no RTL was built: Verilator was not found");
  std::string names;
  for (const TwinBuild* build : twin_builds()) {
    if (names.find(build->block) == std::string::npos) names += (names.empty() ? "" : ", ") + std::string(build->block);
  }
  if (found.empty()) throw std::invalid_argument(std::string(block) + ": has no RTL; expected one of: " + names);
  throw std::invalid_argument(std::string(block) + ": its RTL was not built with these parameters, but with:" + found);
}

}  // namespace rxnic
