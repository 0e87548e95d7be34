// SPDX-License-Identifier: Apache-2.0
// The completion generator in its random tests: a program and packets, memory, and sinks that stall.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "testbench/cosim/configuration.h"
#include "testbench/cosim/cqe_generator_driver.h"
#include "testbench/cosim/stalls.h"

namespace rxnic::cqe_generator_scene {

// Parameters of a NIC by default, or of a small NIC around other parameters of the block.
inline Params params_of(const CqeGeneratorParams& of) {
  Params p;
  if (of == p.cqe_generator) return p;
  p.cqe_generator = of;
  p.nic.clock_period_ps = 1000;
  p.requester.send_queues = kQueues / 2;
  p.device.max_srqs = kQueues / 2;
  p.srq_wqe_fetcher.wqe_store_entries = kSlots;
  p.qp_context_cache.sets = kQps / 2;
  p.qp_context_cache.ways = 2;
  p.dma_engine.queue_depth = 4;
  return p;
}

// What the scene needs of a NIC.
inline Params surrounded(const Params& p) { return p; }

// Those for which the project's RTL is built. The first one is of a NIC by default.
inline std::vector<Configuration> configurations() {
  CqeGeneratorParams small;
  small.event_latency_cycles = 8;
  small.moderation_unit_ps = 16'001;  // a part of a cycle counts
  small.cq_contexts = 8;
  small.cq_context_ways = 2;
  small.cq_misses_in_flight = 2;
  small.moderation_timers = 2;
  CqeGeneratorParams compressing = small;
  compressing.compression = true;
  compressing.compression_max = 9;
  compressing.compression_timeout_cycles = 40;
  compressing.latency_cycles = 1;
  compressing.event_latency_cycles = 1;
  compressing.cycles_per_cqe = 2;
  compressing.cq_contexts = 4;
  compressing.cq_context_ways = 4;
  compressing.cq_misses_in_flight = 1;
  compressing.write_depth = 5;
  compressing.event_depth = 7;
  CqeGeneratorParams wide = small;
  wide.cqe_bytes = 128;
  wide.compression = true;
  wide.compression_max = 8;
  wide.latency_cycles = 9;
  wide.cq_contexts = 8;
  wide.cq_context_ways = 1;
  wide.cq_misses_in_flight = 4;
  wide.moderation_timers = 1;
  std::vector<Configuration> all;
  for (const CqeGeneratorParams& p : {CqeGeneratorParams{}, small, compressing, wide}) {
    all.push_back(
        {fmt::format("CqContexts{}CqContextWays{}Latency{}", p.cq_contexts, p.cq_context_ways, p.latency_cycles),
         params_of(p)});
  }
  return all;
}

struct Scene : CqeGeneratorHarness {
  // `steered`: the program knows what the model holds; not when RTL is in its place.
  Scene(Bench& b, const Params& params, std::uint64_t seed, std::uint64_t cycles, bool steered = true)
      : CqeGeneratorHarness(b, params,
                            {.doorbells = 2,
                             .commands = 2,
                             .failures = 2,
                             .replies = 1,
                             .out = 4,
                             .events = 4,
                             .flushes = 1,
                             .notices = 2,
                             .dma = params.dma_engine.queue_depth,
                             .context_dma = params.dma_engine.queue_depth,
                             .write_cycles = 9,
                             .read_cycles = 13}) {
    driver_ = &b.add<Driver>("driver", *this, seed, Cycle{cycles - cycles / 20}, steered);
    flushes.on_value([this](Cycle now, const FlushRequest& r) { shared.contexts.unpin(r.line, now); });
    const Stalls stalls{seed, 8};
    out.accept_when(stalls(1, 2));
    events.accept_when([slow = stalls(2, 3)](Cycle c) { return c.count % 8 < 6 && slow(c); });
    writes.accept_when(stalls(3, 2));
    contexts.accept_when(stalls(4, 2));
    contexts.fail_reads_from(cq_context_address(number_of(kCqs - 1)));
    flushes.accept_when([](Cycle c) { return c.count % 4096 >= 1024 && (c.count % 64 < 8 || c.count % 16 == 0); });
    failed_qps.accept_when(stalls(6, 3));
    placed.accept_when(stalls(7, 3));
    rendezvous.accept_when(stalls(8, 3));
    Random random(seed + 77);
    Edges edges(seed + 77);
    constexpr Transport kTransports[] = {Transport::kRc, Transport::kRc, Transport::kUc, Transport::kUd,
                                         Transport::kXrc};
    for (std::uint32_t line = 0; line < shared.contexts.size(); ++line) {
      QpContext& qp = shared.contexts[line];
      qp.valid = 1;
      qp.qpn = Qpn{random.below(1u << 24)};
      qp.residence = random.one_in(2) ? 0 : static_cast<std::uint32_t>(random.bits());
      qp.transport = kTransports[random.below(std::size(kTransports))];
      qp.uses_srq = random.one_in(3);
      qp.receive_queue = random.one_in(4) ? kNoWq : WqId{random.below(kQueues)};
      qp.receive_cq = number_of(random.below(kCqs));
    }
    for (std::uint32_t n = 0; n < kCqs - 2; ++n) dut.create(random_cq(random, edges, number_of(n), false), host);
    dut.attach_srq(WqId{1}, Srqn{11});
    dut.attach_srq(WqId{6}, Srqn{66});
  }
  const Edges& edges() const { return driver_->edges(); }

 private:
  const Driver* driver_;
};

}  // namespace rxnic::cqe_generator_scene
