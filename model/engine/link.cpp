// SPDX-License-Identifier: Apache-2.0
#include "model/engine/link.h"

namespace rxnic {

LinkBase* LinkPort::bound_link() { return size() == 0 ? nullptr : (*this)[0]; }

Block& LinkPort::owner() const {
  auto* const block = dynamic_cast<Block*>(get_parent_object());
  assert(block != nullptr && "an In or Out port belongs to a Block");
  return *block;
}

}  // namespace rxnic
