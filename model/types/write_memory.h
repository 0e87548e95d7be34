// SPDX-License-Identifier: Apache-2.0
// An on-chip memory as a block sees it that writes it over a port (model/engine/write_port.h).
#pragma once

#include "model/types/ids.h"

namespace rxnic {

// `Write`: a descriptor that says where, and what.
template <class Write>
class WriteMemory {
 public:
  virtual void write(Cycle now, const Write& what) = 0;

 protected:
  ~WriteMemory() = default;
};

}  // namespace rxnic
