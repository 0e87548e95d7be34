// SPDX-License-Identifier: Apache-2.0
// rtl/grh_scatter.sv against model/blocks/grh_scatter, with random packets and random back-pressure; and its latency.
#include <gtest/gtest.h>

#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin_pins.h"
#include "model/types/descriptor_text.h"
#include "testbench/cosim/grh_scatter_scene.h"
#include "testbench/cosim/in_lockstep.h"
#include "testbench/cosim/in_place.h"

namespace rxnic::grh_scatter_cosim_test {
namespace {

using grh_scatter_scene::Scene;

class GrhScatterCosim : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_ = GetParam().params;
  }
  Params params_;
};

TEST_P(GrhScatterCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  LockstepOptions options;
  options.every_cover = options.words_go = true;
  options.transactions = cycles / 20;
  expect_the_same_in_lockstep(
      "grh_scatter", params_, cycles, options, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      [&](const Scene& scene) { EXPECT_GT(scene.refusals.size(), cycles / 2000); });
}

// The model is slower or faster than the RTL: the same pieces leave, in other cycles.
TEST_P(GrhScatterCosim, TransactionsOfAnotherLatencyAgree) {
  const std::uint64_t seed = test_seed(11), cycles = 20'000;
  for (const std::uint32_t latency : {1u, 6u, 20u}) {
    Params other = params_;
    other.grh_scatter.latency_cycles = latency;
    Bench bench(EngineMode::kPerCycle);
    Scene scene(bench, other, seed, cycles);
    TransactionLockstep lockstep(bench.engine(), scene.dut, make_twin("grh_scatter", params_), {.least = cycles / 40});
    bench.run();
    const TransactionResult result = lockstep.finish();
    EXPECT_EQ(result.failure, "");
    for (const TransactionResult::Port& port : result.ports) {
      if (port.name == "out") std::cout << port.later.count() << " pieces; " << port.later.text() << '\n';
      EXPECT_GT(port.later.count(), cycles / 2000) << port.name;
    }
    if (HasFailure()) return;
  }
}

TEST_P(GrhScatterCosim, RandomBitsInWhatResetDoesNotSetMakeNoDifference) {
  constexpr std::uint64_t kCycles = 6000;
  expect_the_same_from_random_bits("grh_scatter", params_, kCycles, [&](Bench& bench, std::uint64_t seed) {
    return Scene(bench, params_, seed, kCycles);
  });
}

TEST_P(GrhScatterCosim, TheRtlInTheModelsPlaceGivesTheSame) {
  const std::uint64_t seed = test_seed(7), cycles = 20'000;
  expect_the_same_in_place(
      "grh_scatter", params_, cycles, cycles / 20, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      [](const ScatteredSegment& a, const ScatteredSegment& b) {  // fields of observers
        EXPECT_EQ(b.id, a.id);
        EXPECT_EQ(b.message_start, a.message_start);
      });
}

// From both sides: the RTL alone, driven at its pins.
TEST_P(GrhScatterCosim, APacketLeavesTheRtlAfterLatencyCycles) {  // R1
  TwinPins pins(make_twin("grh_scatter", params_));
  EXPECT_TRUE(pins.quiescent());
  ScatterJob p;
  p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  p.transport = Transport::kRc;
  p.outcome = Outcome::kExecute;
  p.takes_wqe = true;
  p.wqe_slot = 3;
  p.payload_bytes = 64;
  p.wqe_bytes = 64;
  pins.offer("in", p);
  EXPECT_TRUE(pins.ready("in"));
  EXPECT_TRUE(pins.valid("lists"));
  pins.tick();  // it was taken in cycle 0
  pins.withdraw("in");
  pins.answer("lists", DataSegment{64, 0x500, 0x7000});
  for (std::uint32_t cycle = 1; cycle <= params_.grh_scatter.latency_cycles + 1; ++cycle) {
    EXPECT_EQ(pins.valid("out"), cycle == params_.grh_scatter.latency_cycles) << "cycle " << cycle;
    pins.tick();
  }
  EXPECT_EQ(pins.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Configurations, GrhScatterCosim, testing::ValuesIn(grh_scatter_scene::configurations()),
                         [](const testing::TestParamInfo<Configuration>& of) { return of.param.name; });

}  // namespace
}  // namespace rxnic::grh_scatter_cosim_test
