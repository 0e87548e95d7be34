// SPDX-License-Identifier: Apache-2.0
// Blocks and policies of one's own in a NIC (model/nic/nic_blocks.h, nic_policies.h).
#include "model/nic/nic_blocks.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "model/blocks/grh_scatter.h"
#include "model/params/config.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/model/nic/model_blocks.h"

namespace rxnic {
namespace {

TEST(NicBlocks, AMakerIsCalledOnceForEachNic) {  // R2
  Bench bench;
  auto& memory = bench.keep<LocalMemory>();
  const Params params = load_config(kDefaultConfig);
  NicOptions options;
  std::vector<std::string> made;
  options.blocks.grh_scatter = [&, make = options.blocks.grh_scatter](const char* name, const BlockPlace& at) {
    EXPECT_EQ(&at.engine, &bench.engine());
    auto block = make(name, at);
    made.emplace_back(block->name());
    return block;
  };
  bench.keep<Nic>("first", params, memory, bench.engine(), options);
  bench.keep<Nic>("second", params, memory, bench.engine(), options);
  EXPECT_EQ(made, (std::vector<std::string>{"first.grh_scatter", "second.grh_scatter"}));
}

TEST(NicBlocks, TheRequestersMakerIsForNicsThatHaveOne) {  // R2
  Bench bench;
  auto& memory = bench.keep<LocalMemory>();
  int made = 0;
  NicOptions options;
  options.blocks.requester = [&made, make = options.blocks.requester](const char* name, const BlockPlace& at) {
    ++made;
    return make(name, at);
  };
  bench.keep<Nic>("without", load_config(kDefaultConfig), memory, bench.engine(), options);
  EXPECT_EQ(made, 0);
  options.requester = true;
  bench.keep<Nic>("with", load_config(kDefaultConfig), memory, bench.engine(), options);
  EXPECT_EQ(made, 1);
}

TEST(NicBlocks, AMissingBlockIsRefusedByName) {
  const auto message = [](const NicOptions& options) -> std::string {
    Bench bench;
    auto& memory = bench.keep<LocalMemory>();
    try {
      bench.keep<Nic>("nic", load_config(kDefaultConfig), memory, bench.engine(), options);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  NicOptions options;
  options.blocks.cqe_generator = nullptr;
  EXPECT_EQ(message(options), "NicBlocks::cqe_generator: found none; expected a block");
  options.blocks.cqe_generator = [](const char*, const BlockPlace&) { return nullptr; };
  EXPECT_EQ(message(options), "NicBlocks::cqe_generator: found none; expected a block");
  options.blocks.cqe_generator = NicBlocks().cqe_generator;
  EXPECT_EQ(message(options), "");
}

TEST(NicBlocks, AfterARefusalTheEngineTakesAnotherNic) {
  Bench bench;
  auto& memory = bench.keep<LocalMemory>();
  const Params params = load_config(kDefaultConfig);
  NicOptions options;
  options.blocks.requester = nullptr;
  options.requester = true;
  EXPECT_THROW(Nic("refused", params, memory, bench.engine(), options), std::invalid_argument);
  EXPECT_TRUE(bench.engine().links().empty());
  EXPECT_TRUE(bench.engine().blocks().empty());
  const Nic& nic = bench.keep<Nic>("nic", params, memory, bench.engine(), NicOptions{});
  EXPECT_EQ(bench.engine().links().size(), nic.links().size());
  bench.run();
}

TEST(NicPolicies, EachCacheHasAPolicyOfItsOwn) {
  struct First final : Replacement {
    std::size_t victim(std::span<const CacheWay>) const override { return 0; }
  };
  Bench bench;
  auto& memory = bench.keep<LocalMemory>();
  std::vector<NicCache> caches;
  int windows = 0, arbiters = 0, schedulers = 0;
  NicOptions options;
  options.policies.replacement = [&](NicCache of) {
    caches.push_back(of);
    return std::make_unique<First>();
  };
  options.policies.prefetch = [&] { return ++windows, std::make_unique<DoublingWindow>(); };
  options.policies.dma = [&] { return ++arbiters, nullptr; };
  options.policies.reads = [&] { return ++schedulers, nullptr; };
  bench.keep<Nic>("nic", load_config(kDefaultConfig), memory, bench.engine(), options);
  EXPECT_EQ(caches, (std::vector<NicCache>{NicCache::kQpContexts, NicCache::kQueueContexts, NicCache::kMpt,
                                           NicCache::kMtt, NicCache::kCqContexts}));
  EXPECT_EQ(windows, 1);
  EXPECT_EQ(arbiters, 1);
  EXPECT_EQ(schedulers, 1);
}

}  // namespace
}  // namespace rxnic
