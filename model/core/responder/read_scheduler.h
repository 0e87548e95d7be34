// SPDX-License-Identifier: Apache-2.0
// A policy: which QP's READ the responder serves next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/types/ids.h"

namespace rxnic {

struct ReadTurn {
  Qpn qpn{};
  std::uint32_t bytes_left = 0;  // of its READ: that were not asked for
  std::uint32_t on_way = 0;      // responses of the QP that were asked for and have not left
  std::uint32_t turns = 0;       // responses since it came to the front
};

class ReadScheduler {
 public:
  virtual ~ReadScheduler() = default;
  // `waiting`: QPs with READ data to ask for, at least one. The first is the one whose turn it is, the others wait, the
  // longest waiting first. The index of that whose next response is asked for; another number than an index is the
  // first one. To choose another one ends the turn of the first. Asked once for each response.
  virtual std::size_t next(std::span<const ReadTurn> waiting) = 0;
};

}  // namespace rxnic
