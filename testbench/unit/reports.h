// SPDX-License-Identifier: Apache-2.0
// What a block reports of the packets that it refused (core/responder/refusal.h), in place of the link to the transport
// checker.
#pragma once

#include <vector>

#include "model/core/responder/refusal.h"

namespace rxnic {

struct Reports {
  std::vector<Refusal> all;
  bool bound() const { return true; }
  void push(Cycle, const Refusal& r) { all.push_back(r); }
};

}  // namespace rxnic
