// SPDX-License-Identifier: Apache-2.0
// Random tests of RTL beside its block, compared in every cycle, from zeros and from random bits in what reset does not
// set.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "bridge/rtl/lockstep.h"
#include "bridge/rtl/twin.h"
#include "testbench/cosim/cosim_options.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

inline constexpr std::uint64_t kRestsWithin = 50'000;  // cycles: so many have some in which nothing happens

// Twice, with the same RTL, which is reset in between: clocked when it has to be, which is not always; then always.
// `make(bench)`: the scene, whose `dut` is the block. `report(scene)`: what the test prints and expects besides.
template <class Make, class Report>
void expect_the_same_in_lockstep(const std::string& block, const Params& params, std::uint64_t cycles,
                                 LockstepOptions options, const Make& make, const Report& report) {
  const std::shared_ptr<Twin> twin = make_twin(block, params, cosim_rtl());
  options.every_port = true;
  for (const bool always : {false, true}) {
    options.always = always;
    Bench bench(EngineMode::kPerCycle);
    auto scene = make(bench);
    Lockstep lockstep(bench.engine(), scene.dut, twin, options);
    bench.run_to(Cycle{cycles});
    const LockstepResult result = lockstep.finish();
    EXPECT_EQ(result.failure, "");
    if (!always && cycles >= kRestsWithin) {
      EXPECT_LT(result.clocked, result.cycles);
    }
    std::cout << result.text(block) << '\n';
    report(scene);
    if (testing::Test::HasFailure()) return;
  }
}

// What reset does not set makes no difference: with random bits there model and RTL agree. The checkers hold from the
// first cycle after reset on. `make(bench, seed)`: the scene, as above; the seed is that of the bits, too.
template <class Make>
void expect_the_same_from_random_bits(const std::string& block, const Params& params, std::uint64_t cycles,
                                      const Make& make) {
  const std::uint64_t first = test_seed(1), behind = first + cosim_seeds();
  for (std::uint64_t seed = first; seed < behind && !testing::Test::HasFailure(); ++seed) {
    Bench bench(EngineMode::kPerCycle);
    auto scene = make(bench, seed);
    Lockstep lockstep(bench.engine(), scene.dut, make_twin(block, params, cosim_rtl(), seed));
    bench.run_to(Cycle{cycles});
    EXPECT_EQ(lockstep.finish().failure, "") << "seed " << seed;
  }
}

}  // namespace rxnic
