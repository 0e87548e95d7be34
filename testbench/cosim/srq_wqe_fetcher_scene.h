// SPDX-License-Identifier: Apache-2.0
// The receive WQE fetcher in its random tests, with all that surrounds it.
#pragma once

#include "testbench/cosim/srq_wqe_fetcher_driver.h"
#include "testbench/cosim/stalls.h"

namespace rxnic::srq_wqe_fetcher_scene {

inline Params params_of(const SrqWqeFetcherParams& of, bool other = false) {
  Params p;
  p.srq_wqe_fetcher = of;
  p.requester.send_queues = kQueues;
  p.requester.rendezvous = other ? 3 : RequesterParams{}.rendezvous;
  p.device.max_srqs = kQueues;
  p.qp_context_cache.sets = kCacheLines / 4;
  p.qp_context_cache.ways = 4;
  if (other) {
    p.transport_checker.ud_too_long = UdTooLongPolicy::kErrorCqe;
    p.transport_checker.wqe_error_status = WqeErrorStatus::kLocQpOp;
    p.ack_generator.credits = AckCredits::kCounted;
  }
  return p;
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
    host.is_unreadable = in_hole;
    dut.pins.bind(b.keep<Pins>(shared.pins, driver));
    const Stalls stalls{seed, 4};
    out.accept_when(stalls(1, 2));
    events.accept_when([](Cycle c) { return c.count % 1024 < 300 || c.count % 128 == 0; });
    wqes.accept_when(stalls(3, 2));
    contexts.accept_when(stalls(4, 2));
    returned.accept_when([](Cycle c) { return c.count % 512 < 256 || c.count % 32 == 0; });
    for (std::uint32_t n = 0; n < kLines; ++n) shared.contexts.pin(line_of(n));  // so that it stays
    driver.create_at_first(params.srq_wqe_fetcher.queue_contexts);
  }
};

}  // namespace rxnic::srq_wqe_fetcher_scene
