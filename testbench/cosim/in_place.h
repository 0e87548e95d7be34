// SPDX-License-Identifier: Apache-2.0
// Random tests of RTL with the model's latencies. The RTL is in the place of its block, in all modes of the engine,
// clocked always or when it has to be. Or it runs as transactions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin.h"
#include "model/types/descriptor_text.h"
#include "testbench/cosim/put_in_place.h"
#include "testbench/cosim/two_call_twin.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

// Expects at the scene's sink `out` the model's values, in the model's cycles. The rest of the scene has to be in the
// same state at the end. The block's cycles by activity are compared, too. `make(bench)`: the scene, whose `dut` is the
// block. At least `least` values pass. `compare(a, b)`: what the test compares besides the fields of the descriptor.
template <class Make, class Compare>
void expect_the_same_in_place(const std::string& block, const Params& params, std::uint64_t cycles, std::size_t least,
                              const Make& make, const Compare& compare) {
  using Scene = std::invoke_result_t<Make, Bench&>;
  using Value = std::decay_t<decltype(std::declval<Scene&>().out.values()[0])>;
  struct Result {
    std::vector<Value> values;
    std::vector<Cycle> left;
    std::uint64_t rest = 0;  // hash of all but the block
    CycleAccount account{};
  };
  std::uint64_t fused_clocked = 0;
  const auto run = [&](EngineMode mode, bool rtl, bool always, bool fused = true) {
    Bench bench(mode);
    const auto make_rtl = [&]() -> std::unique_ptr<Twin> {
      std::unique_ptr<Twin> twin = make_twin(block, params);
      EXPECT_TRUE(twin->fused());
      return fused ? std::move(twin) : std::make_unique<TwoCallTwin>(std::move(twin));
    };
    if (rtl) put_in_place(bench, block, make_rtl, {.always = always});
    Scene scene = make(bench);
    const Cycle end{2 * cycles};
    bench.at(end, [](Cycle) {});  // every run ends in the same cycle
    bench.run_to(end);
    scene.dut.settle(end);
    Result result{scene.out.values(), {}, bench.engine().state_hash(&scene.dut), scene.dut.account()};
    for (std::size_t n = 0; n < scene.out.size(); ++n) result.left.push_back(scene.out.cycle(n));
    if (rtl) {
      const auto& twin = dynamic_cast<RtlBlock&>(scene.dut);
      EXPECT_GT(twin.transactions(), cycles / 10);
      if (fused) {
        fused_clocked = twin.clocked();
      } else {
        EXPECT_EQ(twin.clocked(), fused_clocked);
      }
      EXPECT_EQ(twin.failure(), "");
    }
    return result;
  };
  const Result model = run(EngineMode::kFast, false, false);
  EXPECT_GT(model.values.size(), least);
  struct Way {
    bool always, fused;
  };
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    EXPECT_TRUE(run(mode, false, false).left == model.left) << "the model in mode " << static_cast<int>(mode);
    for (const auto [always, fused] : {Way{true, true}, Way{false, true}, Way{false, false}}) {
      if (!fused && mode != EngineMode::kFast) continue;
      const Result result = run(mode, true, always, fused);
      ASSERT_EQ(result.values.size(), model.values.size());
      for (std::size_t n = 0; n < model.values.size(); ++n) {
        ASSERT_EQ(first_difference(model.values[n], result.values[n]), "") << n;
        ASSERT_EQ(result.left[n], model.left[n]) << n;
        compare(model.values[n], result.values[n]);
      }
      EXPECT_EQ(result.account, model.account) << static_cast<int>(mode) << (always ? " clocked always" : "");
      EXPECT_EQ(result.rest, model.rest) << static_cast<int>(mode) << (always ? " clocked always" : "");
    }
  }
}

template <class Make>
void expect_the_same_in_place(const std::string& block, const Params& params, std::uint64_t cycles, std::size_t least,
                              const Make& make) {
  expect_the_same_in_place(block, params, cycles, least, make, [](const auto&, const auto&) {});
}

// Expects that the transactions agree, at least `least` of them, each in the model's cycle.
inline void expect_the_models_cycles(const TransactionResult& result, std::uint64_t least) {
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.transactions(), least);
  for (const TransactionResult::Port& p : result.ports) {
    if (p.later.count() == 0) continue;
    EXPECT_EQ(p.later.min(), 0) << p.name;
    EXPECT_EQ(p.later.max(), 0) << p.name;
  }
}

// Equal, and some transactions were made later than the model made them.
inline void expect_later_cycles(const TransactionResult& result, std::uint64_t least) {
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.transactions(), least);
  EXPECT_TRUE(std::any_of(result.ports.begin(), result.ports.end(),
                          [](const TransactionResult::Port& p) { return p.later.count() > 0 && p.later.max() > 0; }));
}

}  // namespace rxnic
