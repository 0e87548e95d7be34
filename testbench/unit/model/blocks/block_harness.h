// SPDX-License-Identifier: Apache-2.0
// A block in a test as a NIC with these parameters has it: made by the NIC's own maker (model/nic/nic_blocks.h). Where
// the bench places RTL, `dut` is that RTL. X_harness.h joins all ports of block X, for its unit tests and for
// testbench/cosim.
#pragma once

#include <memory>

#include "model/nic/nic_blocks.h"
#include "testbench/unit/model/engine/bench.h"

namespace rxnic {

// The defaults but for one block, and the clock of a bench.
template <class Section>
Params params_with(Section Params::*section, const Section& value) {
  Params p;
  p.nic.clock_period_ps = 1000;
  p.*section = value;
  return p;
}

template <class Model, class Ports = Model>
struct BlockHarness {
  // The block reaches host memory by its ports alone.
  BlockHarness(Bench& b, MakeBlock<Ports> NicPlaces<MakeBlock>::*maker, const Params& params, const char* name)
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{.receive = PacketPool::kNoLimit}, &b.engine().now(),
                                 params.srq_wqe_fetcher.wqe_store_entries,
                                 params.qp_context_cache.sets * params.qp_context_cache.ways)),
        model(dynamic_cast<Model&>(*b.keep<std::unique_ptr<Ports>>(
            (NicBlocks().*maker)(name, BlockPlace{params, shared, b.keep<LocalMemory>(), b.engine(), NicPolicies()})))),
        dut(b.place<Ports>(model)) {}

  Bench& bench;
  NicShared& shared;
  Model& model;
  Ports& dut;
};

}  // namespace rxnic
