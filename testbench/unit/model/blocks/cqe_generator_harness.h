// SPDX-License-Identifier: Apache-2.0
// The completion generator with a source or a sink at each of its ports, and host memory behind it.
#pragma once

#include "model/blocks/cqe_generator.h"
#include "testbench/unit/model/blocks/block_harness.h"

namespace rxnic {

// The places of the links at the ports.
struct CqeGeneratorLinks {
  std::uint32_t in = 8, doorbells = 8, commands = 8, failures = 8, replies = 8, out = 8, events = 8, flushes = 8;
  std::uint32_t notices = 8;  // of failed, placed and rendezvous
  std::uint32_t dma = 8, context_dma = 8;
  std::uint64_t write_cycles = 1, read_cycles = 50;  // of host memory
};

struct CqeGeneratorHarness : BlockHarness<CqeGenerator, CqeGeneratorPorts> {
  explicit CqeGeneratorHarness(Bench& b, const Params& params = {}, const CqeGeneratorLinks& links = {})
      : BlockHarness(b, &NicBlocks::cqe_generator, params, "cqe_generator"),
        host(b.keep<LocalMemory>()),
        in(b.source(dut.in, links.in)),
        doorbells(b.source(dut.doorbells, links.doorbells)),
        commands(b.source(dut.commands, links.commands)),
        failures(b.source(dut.failures, links.failures)),
        replies(b.sink(dut.command_replies, links.replies)),
        out(b.sink(dut.out, links.out)),
        events(b.sink(dut.events, links.events)),
        flushes(b.sink(dut.flushes, links.flushes)),
        failed_qps(b.sink(dut.failed, links.notices)),
        placed(b.sink(dut.placed, links.notices)),
        rendezvous(b.sink(dut.rendezvous, links.notices)),
        refusals(b.sink(dut.refusals)),
        released(b.sink(dut.released)),
        writes(b.memory(dut.dma, dut.dma_done, host, links.write_cycles, links.dma)),
        contexts(b.memory(dut.context_dma, dut.context_dma_done, host, links.read_cycles, links.context_dma)) {}
  LocalMemory& host;
  Source<CompletionRequest>& in;
  Source<Doorbell>& doorbells;
  Source<CqCommand>& commands;
  Source<QpFailure>& failures;
  Sink<CqReply>& replies;
  Sink<AckRequest>& out;
  Sink<Event>& events;
  Sink<FlushRequest>& flushes;
  Sink<FailedQp>& failed_qps;
  Sink<AnswerNotice>& placed;
  Sink<RendezvousRequest>& rendezvous;
  Sink<Refusal>& refusals;
  Sink<WqeSlot>& released;
  TestMemory& writes;
  TestMemory& contexts;
};

}  // namespace rxnic
