// SPDX-License-Identifier: Apache-2.0
// The receive WQE fetcher in its random tests, with all that surrounds it.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "testbench/cosim/configuration.h"
#include "testbench/cosim/srq_wqe_fetcher_driver.h"
#include "testbench/cosim/stalls.h"

namespace rxnic::srq_wqe_fetcher_scene {

// What the scene needs of a NIC.
inline Params surrounded(Params p) {
  p.requester.send_queues = kQueues;
  p.device.max_srqs = kQueues;
  return p;
}

// `other`: what other blocks' parameters say is not the default either.
inline Params params_of(const SrqWqeFetcherParams& of, bool other = false) {
  Params p;
  p.srq_wqe_fetcher = of;
  if (other) {
    p.qp_context_cache.sets = 2048;
    p.requester.rendezvous = 3;
    p.transport_checker.ud_too_long = UdTooLongPolicy::kErrorCqe;
    p.transport_checker.wqe_error_status = WqeErrorStatus::kLocQpOp;
    p.ack_generator.credits = AckCredits::kCounted;
  }
  return surrounded(p);
}

// Those for which the project's RTL is built. The first one is of a NIC by default.
inline std::vector<Configuration> configurations() {
  SrqWqeFetcherParams small;
  small.prefetch_depth = 5;
  small.queues = 5;
  small.wqes_per_read = 3;
  small.reads_in_flight = 3;
  small.hit_cycles = 1;
  small.pipeline_depth = 4;
  small.wqe_store_entries = 6;
  small.wqe_store_share = 2;
  small.late_flushes = 2;
  small.queue_contexts = 8;
  small.queue_context_ways = 2;
  small.queue_misses_in_flight = 2;
  SrqWqeFetcherParams greedy;
  greedy.prefetch = PrefetchPolicy::kGreedy;
  greedy.prefetch_depth = 8;
  greedy.queues = 3;
  greedy.wqes_per_read = 4;
  greedy.reads_in_flight = 4;
  greedy.hit_cycles = 7;
  greedy.pipeline_depth = 12;
  greedy.sequential_prefetch = false;
  greedy.wqe_store_entries = 5;
  greedy.wqe_store_share = 0;
  greedy.late_flushes = 1;
  greedy.queue_contexts = 4;
  greedy.queue_context_ways = 4;
  greedy.queue_misses_in_flight = 1;
  std::vector<Configuration> all;
  for (const Params& p : {params_of({}), params_of(small, true), params_of(greedy)}) {
    const SrqWqeFetcherParams& f = p.srq_wqe_fetcher;
    all.push_back(
        {fmt::format("PrefetchDepth{}Queues{}QueueContexts{}", f.prefetch_depth, f.queues, f.queue_contexts), p});
  }
  return all;
}

// Both the pins of contexts and what the driver sees of them.
class Pins final : public WriteMemory<ContextPin> {
 public:
  Pins(QpPinMemory& memory, Driver& driver) : memory_(memory), driver_(driver) {}
  void write(Cycle now, const ContextPin& what) override {
    memory_.write(now, what);
    driver_.see(now, what);
  }

 private:
  QpPinMemory& memory_;
  Driver& driver_;
};

struct Scene : SrqWqeFetcherHarness {
  Scene(Bench& b, const Params& params, std::uint64_t seed, std::uint64_t cycles)
      : SrqWqeFetcherHarness(b, params,
                             {.in = 4,
                              .tagged = 4,
                              .flushes = 2,
                              .doorbells = 2,
                              .commands = 2,
                              .released = 2,
                              .places = 2,
                              .replies = 1,
                              .out = 4,
                              .events = 1,
                              .returned = 1,
                              .dma = 4,
                              .wqe_cycles = 60,
                              .context_cycles = 9}) {
    auto& driver = b.add<Driver>("driver", *this, seed, Cycle{cycles - cycles / 20});
    driver_ = &driver;
    host.is_unreadable = in_hole;
    dut.pins.bind(b.keep<Pins>(shared.pins, driver));
    const Stalls stalls{seed, 4};
    out.accept_when(stalls(1, 2));
    events.accept_when([](Cycle c) { return c.count % 1024 < 300 || c.count % 128 == 0; });
    wqes.accept_when(stalls(3, 2));
    contexts.accept_when(stalls(4, 2));
    returned.accept_when([](Cycle c) { return c.count % 512 < 256 || c.count % 32 == 0; });
    for (std::uint32_t n = 0; n < kLines; ++n) shared.contexts.pin(driver.line_of(n));  // so that it stays
    driver.create_at_first(params.srq_wqe_fetcher.queue_contexts);
  }
  const Edges& edges() const { return driver_->edges(); }

 private:
  const Driver* driver_ = nullptr;
};

}  // namespace rxnic::srq_wqe_fetcher_scene
