// SPDX-License-Identifier: Apache-2.0
// A block in a scene as a NIC with these parameters has it: made by the NIC's own maker (model/nic/nic_blocks.h).
//
//     auto& model = made_block<CqeGenerator>(bench, &NicBlocks::cqe_generator, params, shared, "dut");
#pragma once

#include <memory>

#include "model/nic/nic_blocks.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

// Not added to the bench's engine yet. The block reaches host memory by its ports alone.
template <class B, class Ports>
B& made_block(Bench& bench, MakeBlock<Ports> NicPlaces<MakeBlock>::*maker, const Params& params, NicShared& shared,
              const char* name) {
  const NicBlocks blocks;
  const NicPolicies policies;
  auto& host = bench.keep<LocalMemory>();
  auto& made = bench.keep<std::unique_ptr<Ports>>(
      (blocks.*maker)(name, BlockPlace{params, shared, host, bench.engine(), policies}));
  return dynamic_cast<B&>(*made);
}

}  // namespace rxnic
