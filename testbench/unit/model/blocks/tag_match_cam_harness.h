// SPDX-License-Identifier: Apache-2.0
// The tag matcher with a source or a sink at each of its ports, and host memory behind it.
#pragma once

#include "model/blocks/tag_match_cam.h"
#include "testbench/unit/faulty_memory.h"
#include "testbench/unit/model/blocks/block_harness.h"

namespace rxnic {

// The places of the links at the ports.
struct TagMatchCamLinks {
  std::uint32_t in = 8, operations = 8, returned = 8, lists = 8, list_done = 8, out = 8;
  std::uint64_t read_cycles = 100;  // of host memory
  std::uint32_t dma = 8;
};

struct TagMatchCamHarness : BlockHarness<TagMatchCam, TagMatchCamPorts> {
  explicit TagMatchCamHarness(Bench& b, const Params& params = {}, const TagMatchCamLinks& links = {})
      : BlockHarness(b, &NicBlocks::tag_match_cam, params, "tag_match_cam"),
        host(b.keep<FaultyMemory>()),
        in(b.source(dut.in, links.in)),
        operations(b.source(dut.operations, links.operations)),
        returned(b.source(dut.returned, links.returned)),
        lists(b.source(dut.lists, links.lists)),
        list_done(b.sink(dut.list_done, links.list_done)),
        out(b.sink(dut.out, links.out)),
        memory(b.memory(dut.dma, dut.dma_done, host, links.read_cycles, links.dma)) {}
  FaultyMemory& host;
  Source<WqeRequest>& in;
  Source<TagOperation>& operations;
  Source<TagReturn>& returned;
  Source<TagListCommand>& lists;
  Sink<StepDone>& list_done;
  Sink<WqeRequest>& out;
  TestMemory& memory;
};

}  // namespace rxnic
