// SPDX-License-Identifier: Apache-2.0
// Fences, by which the command processor waits for accesses to memory (R12 of dma_engine.h).
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
  const bool done = counters_.client_requests[client] >= fence_behind_ && gathered_segments_ >= fence.gathers;
  if (!done || !fenced.can_push(now)) {
    wake();
    return;
  }
  settle_late_reads();
  fences.drop(now);
  fenced.push(now, {});
  fence_begun_ = false;
}

}  // namespace rxnic
