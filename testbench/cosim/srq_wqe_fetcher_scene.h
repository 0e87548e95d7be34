// SPDX-License-Identifier: Apache-2.0
// The receive WQE fetcher in its random tests, with all that surrounds it.
#pragma once

#include "model/nic/nic_shared.h"
#include "testbench/cosim/srq_wqe_fetcher_driver.h"
#include "testbench/cosim/stalls.h"
#include "testbench/unit/faulty_memory.h"
#include "testbench/unit/model/nic/made_block.h"

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

struct Scene {
  Scene(Bench& bench, const Params& params, std::uint64_t seed, std::uint64_t cycles)
      : host(bench.keep<FaultyMemory>()),
        shared(bench.keep<NicShared>(PacketPool::Quotas{}, &bench.engine().now(),
                                     params.srq_wqe_fetcher.wqe_store_entries, kCacheLines)),
        dut(bench.place(made_block<SrqWqeFetcherPorts>(bench, &NicBlocks::srq_wqe_fetcher, params, shared, "dut"))),
        driver(bench.add<Driver>("driver", dut, shared, host, seed, Cycle{cycles - cycles / 20})),
        out(bench.sink(dut.out, 4)),
        wqes(bench.memory(dut.dma, dut.dma_done, host, 60, 4)),
        contexts(bench.memory(dut.context_dma, dut.context_dma_done, host, 9, 4)) {
    host.keeps_log = false;
    host.is_unreadable = in_hole;
    bench.connect(driver.packets, dut.in, 4);
    bench.connect(driver.tagged, dut.tagged, 4);
    bench.connect(driver.flushes, dut.flushes, 2);
    bench.connect(driver.doorbells, dut.doorbells, 2);
    bench.connect(driver.commands, dut.commands, 2);
    bench.connect(dut.command_replies, driver.replies, 1);
    bench.connect(driver.released, dut.released, 2);
    bench.connect(driver.places, dut.rendezvous_places, 2);
    auto& events = bench.sink(dut.events, 1);
    auto& returned = bench.sink(dut.returned, 1);
    auto& refusals = bench.sink(dut.refusals, 8);
    dut.lists.bind(shared.wqes);
    dut.pins.bind(bench.keep<Pins>(shared.pins, driver));
    out.on_value([this](Cycle now, const ScatterJob& p) { driver.see(now, p); });
    refusals.on_value([this](Cycle now, const Refusal& r) { driver.see(now, r); });
    const Stalls stalls{seed, 4};
    out.accept_when(stalls(1, 2));
    events.accept_when([](Cycle c) { return c.count % 1024 < 300 || c.count % 128 == 0; });
    wqes.accept_when(stalls(3, 2));
    contexts.accept_when(stalls(4, 2));
    returned.accept_when([](Cycle c) { return c.count % 512 < 256 || c.count % 32 == 0; });
    for (std::uint32_t n = 0; n < kLines; ++n) shared.contexts.pin(line_of(n));  // so that it stays
    driver.create_at_first(params.srq_wqe_fetcher.queue_contexts);
  }
  FaultyMemory& host;
  NicShared& shared;
  SrqWqeFetcherPorts& dut;
  Driver& driver;
  Sink<ScatterJob>& out;
  TestMemory& wqes;
  TestMemory& contexts;
};

}  // namespace rxnic::srq_wqe_fetcher_scene
