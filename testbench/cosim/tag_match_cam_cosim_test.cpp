// SPDX-License-Identifier: Apache-2.0
// rtl/tag_match_cam.sv against model/blocks/tag_match_cam: random packets, operations, returned matches and lists that
// come and go, with random back-pressure.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin_pins.h"
#include "model/types/descriptor_text.h"
#include "testbench/cosim/in_lockstep.h"
#include "testbench/cosim/in_place.h"
#include "testbench/cosim/slow_twin.h"
#include "testbench/cosim/tag_match_cam_scene.h"

namespace rxnic::tag_match_cam_cosim_test {
namespace {

using tag_match_cam_scene::Scene;

class TagMatchCamCosim : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_ = GetParam().params;
  }
  Params params_;
};

TEST_P(TagMatchCamCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  LockstepOptions options;
  options.every_cover = options.words_go = true;
  options.transactions = cycles / 20;
  const auto report = [](const Scene& scene) {
    const TagMatchCamCounters& c = scene.dut.counters();
    std::cout << c.matches << " matches, " << c.unexpected << " unexpected, " << c.operations << " operations, "
              << c.overflow_appends << " to the overflow, " << c.promotions << " back, " << c.walks << " walks, "
              << c.list_reads << " list reads, " << c.list_writes << " list writes, " << c.returned << " returned, "
              << c.rendezvous << " rendezvous, " << c.bad_reads << " bad reads\n";
  };
  expect_the_same_in_lockstep(
      "tag_match_cam", params_, cycles, options, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      report);
}

TEST_P(TagMatchCamCosim, RandomBitsInWhatResetDoesNotSetMakeNoDifference) {
  constexpr std::uint64_t kCycles = 6000;
  expect_the_same_from_random_bits("tag_match_cam", params_, kCycles, [&](Bench& bench, std::uint64_t seed) {
    return Scene(bench, params_, seed, kCycles);
  });
}

TEST_P(TagMatchCamCosim, TheRtlInTheModelsPlaceGivesTheSame) {
  const std::uint64_t seed = test_seed(7), cycles = 20'000;
  expect_the_same_in_place("tag_match_cam", params_, cycles, cycles / 40,
                           [&](Bench& bench) { return Scene(bench, params_, seed, cycles, false); });
}

// Its inputs act on one state: they are offered in the model's order, and the RTL does the same in the same cycles.
TEST_P(TagMatchCamCosim, AsTransactionsTheyAgreeToo) {
  const std::uint64_t cycles = 100'000;
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, params_, test_seed(3), cycles);
  TransactionLockstep lockstep(bench.engine(), scene.dut, make_twin("tag_match_cam", params_));
  bench.run_to(Cycle{cycles});
  expect_the_models_cycles(lockstep.finish(), cycles / 20);
}

// The RTL alone, driven at its pins, with one list.
class Pins : public TwinPins {
 public:
  explicit Pins(const Params& params) : TwinPins(make_twin("tag_match_cam", params)) {
    EXPECT_TRUE(quiescent());
    EXPECT_EQ(give("lists", TagListCommand{true, WqId{7}, Pdn{8}, Cqn{9}}), 0u);
  }
  static TagOperation append(std::uint32_t handle, std::uint64_t tag, std::uint64_t mask, bool signaled) {
    TagOperation op;
    op.opcode = TagOpcode::kAdd;
    op.signaled = signaled;
    op.srq = WqId{7};
    op.entry = {handle, tag, mask, {4096, 1, 2}};
    return op;
  }
  static WqeRequest message(std::uint64_t tag) {
    WqeRequest p;
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.outcome = Outcome::kExecute;
    p.takes_wqe = true;
    p.line = 1;
    p.receive_queue = WqId{7};
    p.tmh_opcode = static_cast<std::uint8_t>(TmhOpcode::kEager);
    p.tag = tag;
    return p;
  }
  // Cycles from the one in which a packet was taken, just now, to its result, which has to be this tag's match.
  std::uint32_t result(std::uint32_t handle) {
    const std::uint32_t cycles = 1 + wait_for("out");
    EXPECT_EQ(value<WqeRequest>("out").wqe_index, handle);
    EXPECT_EQ(value<WqeRequest>("out").tag_verdict, TagVerdict::kMatched);
    return cycles;
  }
};

// A message and the append of its tag come in one cycle. The message does not see the append (R2), nor does it in RTL
// that takes both later. Others come behind their append, some in the next cycle: RTL that was offered both would take
// the message first. Others come behind the removal of the tag.
TEST_P(TagMatchCamCosim, SlowerRtlTakesThingsInTheModelsOrder) {
  constexpr std::uint32_t kMessages = 300;
  Bench bench(EngineMode::kPerCycle);
  TagMatchCamHarness at(bench, params_, {.read_cycles = 50, .dma = params_.dma_engine.queue_depth});
  at.dut.create(WqId{7}, {});
  TransactionLockstep lockstep(bench.engine(), at.dut, std::make_unique<SlowTwin>(make_twin("tag_match_cam", params_)));
  std::uint16_t unexpected = 0;
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    const Cycle when{100 + 12 * n};
    at.operations.push(when, Pins::append(n % 8, n, ~std::uint64_t{0}, n % 2 == 0));
    at.in.push(when + std::array<std::uint64_t, 5>{0, 1, 4, 4, 4}[n % 5], Pins::message(n));
    if (n % 5 != 0) continue;
    TagOperation op = Pins::append(n % 8, n, 0, true);
    op.opcode = TagOpcode::kDelete;
    op.tm_sync = true;
    op.unexpected_count = ++unexpected;
    at.operations.push(when + 5, op);
  }
  bench.run_to(Cycle{100 + 12 * kMessages + 1000});
  const TransactionResult result = lockstep.finish();
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(at.dut.counters().unexpected, kMessages / 5);
  EXPECT_EQ(at.dut.counters().matches, kMessages - kMessages / 5);
  const auto out =
      std::find_if(result.ports.begin(), result.ports.end(), [](const auto& p) { return p.name == "out"; });
  ASSERT_NE(out, result.ports.end());
  EXPECT_GE(out->later.count(), kMessages + kMessages / 5 + kMessages * 2 / 5);
  EXPECT_GT(out->later.max(), 0);
}

std::uint32_t rounds_up(std::uint32_t n, std::uint32_t each) { return (n + each - 1) / each; }

// Cycles in which a search occupies the CAM, with so many wildcards before its match, and those until its result.
std::uint32_t rounds_of(const TagMatchCamParams& t, std::uint32_t wildcards) {
  if (t.organisation == TagOrganisation::kBanked) {
    return rounds_up(rounds_up(t.entries, t.bank_entries), t.banks_per_cycle);
  }
  return t.organisation == TagOrganisation::kHashed ? std::max(rounds_up(wildcards, t.wildcards_per_cycle), 1u) : 1;
}
std::uint32_t latency_of(const TagMatchCamParams& t, std::uint32_t wildcards) {
  if (t.organisation != TagOrganisation::kHashed) return t.search_cycles + rounds_of(t, wildcards) - 1;
  return t.search_cycles + rounds_up(wildcards, t.wildcards_per_cycle);
}

TEST_P(TagMatchCamCosim, TheRtlHasTheLatenciesOfTheRules) {  // R1, R3
  const TagMatchCamParams& t = params_.tag_match_cam;
  Pins pins(params_);
  EXPECT_EQ(pins.give("operations", Pins::append(3, 0x55, ~std::uint64_t{0}, true)), 0u);
  // Taken in the cycle in which the CAM is free again, which is the one in which the operation's completion leaves.
  pins.offer("in", Pins::message(0x55));
  std::uint32_t cycle = 1;  // since the append was taken
  for (; !pins.ready("in") && cycle < 2000; ++cycle) {
    EXPECT_FALSE(pins.valid("out")) << cycle;
    pins.tick();
  }
  EXPECT_EQ(cycle, t.append_cycles);
  EXPECT_TRUE(pins.valid("out"));
  EXPECT_EQ(pins.value<WqeRequest>("out").cqe_opcode, CqeOpcode::kTagAdd);
  pins.tick();
  pins.withdraw("in");
  EXPECT_EQ(pins.result(3), latency_of(t, 0));
  EXPECT_EQ(pins.failure(), "");
}

TEST_P(TagMatchCamCosim, TheRtlIsOccupiedByWildcardsAndBanksAsTheRulesSay) {  // R1
  const TagMatchCamParams& t = params_.tag_match_cam;
  constexpr std::uint32_t kWildcards = 7;
  Pins pins(params_);
  for (std::uint32_t n = 0; n < kWildcards; ++n) pins.give("operations", Pins::append(n, 0xab00, 0xff00, false));
  pins.give("operations", Pins::append(kWildcards, 0x55, ~std::uint64_t{0}, false));
  pins.give("operations", Pins::append(kWildcards + 1, 0x55, ~std::uint64_t{0}, false));
  pins.give("in", Pins::message(0x55));
  const std::uint32_t busy = rounds_of(t, kWildcards), latency = latency_of(t, kWildcards);
  // With hazard = stall the next search waits for the result, too.
  const std::uint32_t next = 1 + pins.give("in", Pins::message(0x55));
  EXPECT_EQ(next, t.hazard == SearchHazard::kStall ? std::max(busy, latency) : busy);
  if (next < latency) {
    EXPECT_EQ(next + 1 + pins.wait_for("out"), latency);
  }
  EXPECT_EQ(pins.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Configurations, TagMatchCamCosim, testing::ValuesIn(tag_match_cam_scene::configurations()),
                         [](const testing::TestParamInfo<Configuration>& of) { return of.param.name; });

}  // namespace
}  // namespace rxnic::tag_match_cam_cosim_test
