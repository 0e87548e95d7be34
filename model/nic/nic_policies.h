// SPDX-License-Identifier: Apache-2.0
// The policies of a NIC that an architect may replace. A maker makes an object for each NIC; without a maker the NIC
// has the policy of the model, which its parameters steer. RTL has the policies of the model.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "model/core/memory/dma_arbiter.h"
#include "model/core/memory/replacement.h"
#include "model/core/receive_queue/prefetch_window.h"
#include "model/core/responder/read_scheduler.h"

namespace rxnic {

struct NicPolicies {
  std::function<std::unique_ptr<PrefetchWindow>()> prefetch;             // doubles when packets wait
  std::function<std::unique_ptr<Replacement>(NicCache of)> replacement;  // least recently used
  std::function<std::unique_ptr<DmaArbiter>()> dma;                      // in turn
  std::function<std::unique_ptr<ReadScheduler>()> reads;                 // in turn, responses_per_turn each
};

// What a maker makes, nullptr without one.
template <class Policy, class... Args>
std::unique_ptr<Policy> made(const std::function<std::unique_ptr<Policy>(Args...)>& make, Args... of) {
  return make ? make(of...) : nullptr;
}

}  // namespace rxnic
