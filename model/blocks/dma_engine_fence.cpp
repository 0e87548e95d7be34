// SPDX-License-Identifier: Apache-2.0
// Fences, by which the command processor waits for accesses to memory (R12 of dma_engine.h).
#include <algorithm>

#include "model/blocks/dma_engine.h"

namespace rxnic {

// The fence stays in the link until it is answered.
void DmaEngine::carry_out_fence(Cycle now) {
  const DmaFence& fence = *fences.peek(now);
  const auto client = static_cast<std::size_t>(fence.client);
  if (!fence_begun_) {
    fence_begun_ = true;
    fence_behind_ = 0;
    if (fence.of_client) {
      std::uint32_t waiting = 0;
      while (requests[client].peek(now, waiting) != nullptr) ++waiting;
      fence_behind_ = counters_.client_requests[client] + waiting;
    }
  }
  const bool done = counters_.client_requests[client] >= fence_behind_ && has_gathered(fence.gathers);
  if (!done || !fenced.can_push(now)) {
    wake();
    return;
  }
  settle_late_reads();
  fences.drop(now);
  fenced.push(now, {});
  fence_begun_ = false;
}

// Whether the data of the first so many segments is complete.
bool DmaEngine::has_gathered(std::uint64_t segments) const {
  if (segments_taken_ < segments || (has_gathering_ && segments_taken_ == segments)) return false;
  const auto is_before = [&](const Part& p) { return p.segment <= segments; };
  return parts_open_[kDmaClients] == 0 || std::none_of(parts_.begin(), parts_.end(), is_before);
}

}  // namespace rxnic
