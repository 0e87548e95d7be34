// SPDX-License-Identifier: Apache-2.0
// RTL in the place of the block of a scene.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bridge/rtl/rtl_blocks.h"
#include "testbench/unit/model/engine/bench.h"

namespace rxnic {

// From now on the bench places RTL where a scene places `block`; make_twin() makes what is behind it. The block that
// the bench returns is an RtlBlock.
inline void put_in_place(Bench& bench, const std::string& block, std::function<std::unique_ptr<Twin>()> make,
                         const RtlBlock::Options& options = {}) {
  bench.set_in_place([&bench, block, make = std::move(make), options](Block& model) -> Block& {
    const std::shared_ptr<Block> behind(std::shared_ptr<void>(), &model);  // which the bench keeps
    std::unique_ptr<Block> rtl;
    with_rtl_block(block, [&](const auto& entry) { rtl = entry.make("rtl", bench.engine(), behind, make(), options); });
    return *bench.keep<std::unique_ptr<Block>>(std::move(rtl));
  });
}

}  // namespace rxnic
