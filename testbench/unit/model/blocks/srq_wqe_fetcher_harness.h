// SPDX-License-Identifier: Apache-2.0
// The receive WQE fetcher with a source or a sink at each of its ports, and host memory behind it.
#pragma once

#include "model/blocks/srq_wqe_fetcher.h"
#include "testbench/unit/faulty_memory.h"
#include "testbench/unit/model/blocks/block_harness.h"

namespace rxnic {

// The places of the links at the ports.
struct SrqWqeFetcherLinks {
  std::uint32_t in = 8, tagged = 8, flushes = 8, doorbells = 8, commands = 8, released = 8, places = 8;
  std::uint32_t replies = 8, out = 8, events = 8, returned = 8, dma = 8;
  std::uint64_t wqe_cycles = 50, context_cycles = 50;  // of reads of host memory
};

// ACKs report credits. (R12)
inline Params counting_credits(const SrqWqeFetcherParams& of) {
  Params p = params_with(&Params::srq_wqe_fetcher, of);
  p.ack_generator.credits = AckCredits::kCounted;
  return p;
}

struct SrqWqeFetcherHarness : BlockHarness<SrqWqeFetcher, SrqWqeFetcherPorts> {
  explicit SrqWqeFetcherHarness(Bench& b, const Params& params = {}, const SrqWqeFetcherLinks& links = {})
      : BlockHarness(b, &NicBlocks::srq_wqe_fetcher, params, "srq_wqe_fetcher"),
        host(b.keep<FaultyMemory>()),
        in(b.source(dut.in, links.in)),
        tagged(b.source(dut.tagged, links.tagged)),
        flushes(b.source(dut.flushes, links.flushes)),
        doorbells(b.source(dut.doorbells, links.doorbells)),
        commands(b.source(dut.commands, links.commands)),
        released(b.source(dut.released, links.released)),
        places(b.source(dut.rendezvous_places, links.places)),
        replies(b.sink(dut.command_replies, links.replies)),
        out(b.sink(dut.out, links.out)),
        events(b.sink(dut.events, links.events)),
        returned(b.sink(dut.returned, links.returned)),
        refusals(b.sink(dut.refusals)),
        wqes(b.memory(dut.dma, dut.dma_done, host, links.wqe_cycles, links.dma)),
        contexts(b.memory(dut.context_dma, dut.context_dma_done, host, links.context_cycles, links.dma)) {
    host.keeps_log = false;
    dut.lists.bind(shared.wqes);
    dut.pins.bind(shared.pins);
  }
  FaultyMemory& host;
  Source<WqeRequest>& in;
  Source<WqeRequest>& tagged;
  Source<FlushRequest>& flushes;
  Source<Doorbell>& doorbells;
  Source<WqCommand>& commands;
  Source<WqeSlot>& released;
  Source<RendezvousPlaces>& places;
  Sink<WqReply>& replies;
  Sink<ScatterJob>& out;
  Sink<Event>& events;
  Sink<TagReturn>& returned;
  Sink<Refusal>& refusals;
  TestMemory& wqes;
  TestMemory& contexts;
};

}  // namespace rxnic
