// SPDX-License-Identifier: Apache-2.0
// An on-chip memory as a block sees it that reads it over a port (model/engine/read_port.h).
#pragma once

#include <cstdint>

namespace rxnic {

template <class Address, class Word>
class ReadMemory {
 public:
  // The words from `address` on; `words`: how many there are.
  virtual const Word* read(const Address& address, std::uint32_t& words) const = 0;

 protected:
  ~ReadMemory() = default;
};

}  // namespace rxnic
