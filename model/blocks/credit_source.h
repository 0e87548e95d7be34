// SPDX-License-Identifier: Apache-2.0
// What the answer generator asks of the WQE fetcher for the credit field of an ACK (AckCredits::kCounted).
#pragma once

#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

// How many receive WQEs a queue holds: for the credit field (AckCredits::kCounted).
class CreditSource {
 public:
  virtual ~CreditSource() = default;
  virtual std::uint32_t posted(WqId queue) const = 0;
};

}  // namespace rxnic
