// SPDX-License-Identifier: Apache-2.0
// Rules R1, R2, R4 and R5 of bridge/rtl/lockstep.h: what is said, and shown, when something is not as it should
// be; and R4 of rtl_block.h.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bridge/rtl/lockstep.h"
#include "bridge/rtl/rtl_block.h"
#include "bridge/rtl/rtl_file.h"
#include "testbench/cosim/put_in_place.h"
#include "testbench/cosim/wrong_twin.h"
#include "testbench/unit/model/blocks/grh_scatter_harness.h"
#include "testbench/unit/model/engine/vcd_reader.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::lockstep_cosim_test {
namespace {

class LockstepTest : public testing::Test {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
  }
  std::unique_ptr<Twin> twin() const { return make_twin("grh_scatter", Params{}); }
  // Which packets come, and when.
  using Scene = std::function<void(Source<ScatterJob>&, WqeStore&)>;
  // One packet without bytes, which the model takes in cycle 10.
  static void one_packet(Source<ScatterJob>& in, WqeStore&) {
    ScatterJob job;
    job.qpn = Qpn{0x77};
    in.push(Cycle{9}, job);
  }
  static void no_packet(Source<ScatterJob>&, WqeStore&) {}
  std::string failure_of(std::unique_ptr<Twin> twin, const GrhScatterParams& params = {},
                         const Scene& scene = one_packet, const LockstepOptions& options = {}) {
    Bench bench(EngineMode::kPerCycle);
    GrhScatterHarness at(bench, params_with(&Params::grh_scatter, params));
    Lockstep lockstep(bench.engine(), at.dut, std::move(twin), options);
    scene(at.in, at.shared.wqes);
    bench.run();
    return lockstep.finish().failure;
  }
};

bool begins_with(const std::string& text, const std::string& begin) { return text.rfind(begin, 0) == 0; }

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST_F(LockstepTest, ATwinStartsNoThreads) {  // of Verilator's library, one for each further core
  const std::ptrdiff_t before = threads();
  const std::unique_ptr<Twin> one = twin();
  EXPECT_EQ(threads(), before);
}

TEST_F(LockstepTest, EqualBlocksHaveNoFailure) { EXPECT_EQ(failure_of(twin()), ""); }

TEST_F(LockstepTest, AFieldThatDiffersIsNamedWithBothValues) {  // R4
  const std::string text = failure_of(std::make_unique<WrongTwin>(twin(), "", "out"));
  EXPECT_TRUE(begins_with(text, "grh_scatter: cycle 14: port out: bytes: 0 and 1 (model and RTL)")) << text;
  EXPECT_NE(text.find("\n  cycle 10 in: "), std::string::npos) << "the transactions before: " << text;
  EXPECT_NE(text.find("qpn=119"), std::string::npos) << text;
}

TEST_F(LockstepTest, AValueThatLeavesInAnotherCycleIsNamed) {  // R4
  GrhScatterParams late;
  late.latency_cycles = 5;
  const std::string text = failure_of(twin(), late);
  EXPECT_TRUE(begins_with(text, "grh_scatter: cycle 14: port out: valid: 0 and 1 (model and RTL)")) << text;
}

TEST_F(LockstepTest, AnActivityThatDiffersIsNamed) {  // R2
  const std::uint8_t blocked = 2;
  auto wrong = std::make_unique<WrongTwin>(twin(), "", "");
  wrong->say(&blocked);
  std::string text = failure_of(std::move(wrong));
  EXPECT_TRUE(begins_with(text, "grh_scatter: cycle 0: activity: starved and blocked (model and RTL)")) << text;
  auto right = std::make_unique<WrongTwin>(twin(), "", "");
  right->say(right->right().activity);
  EXPECT_EQ(failure_of(std::move(right)), "");
  const std::uint8_t starved = 0;  // until it has taken its packet the block is
  wrong = std::make_unique<WrongTwin>(twin(), "", "");
  wrong->say(&starved);
  text = failure_of(std::move(wrong));
  EXPECT_TRUE(begins_with(text, "grh_scatter: cycle 10: activity: busy and starved (model and RTL)")) << text;
}

TEST_F(LockstepTest, AnActivityThatIsNoneEndsTheRun) {  // rtl_block.h, R4
  const std::uint8_t none = 31;
  Bench bench(EngineMode::kFast);
  auto wrong = std::make_unique<WrongTwin>(twin(), "", "");
  wrong->say(&none);
  put_in_place(bench, "grh_scatter", [&] { return std::move(wrong); });
  GrhScatterHarness at(bench);
  one_packet(at.in, at.shared.wqes);
  bench.run();
  EXPECT_EQ(dynamic_cast<RtlBlock&>(at.dut).failure(), "activity_o: found 31; expected an Activity, 19 at most");
}

// What a block in the model's place with this patience says of itself, and how many values leave it.
class InPlaceTest : public LockstepTest {
 protected:
  struct Result {
    std::string failure, passed;
    std::size_t values = 0;
    Cycle end{};
  };
  static constexpr std::uint64_t kPatience = 50;
  Result result_of(std::unique_ptr<Twin> twin, const Scene& scene = one_packet, Cycle ready_from = {}) {
    Bench bench(EngineMode::kFast);
    put_in_place(bench, "grh_scatter", [&] { return std::move(twin); }, {.patience = kPatience});
    GrhScatterHarness at(bench);
    at.out.stall(Cycle{}, ready_from);
    scene(at.in, at.shared.wqes);
    bench.run();
    const auto& rtl = dynamic_cast<const RtlBlock&>(at.dut);
    return {std::string(rtl.failure()), rtl.passed(), at.out.size(), bench.engine().now()};
  }
};

TEST_F(InPlaceTest, AnInputThatIsNotTakenForLongEndsTheRun) {  // rtl_block.h, R4: from both sides
  const Result late = result_of(std::make_unique<DeafTwin>(twin(), "in", kPatience - 1));
  EXPECT_EQ(late.failure, "");
  EXPECT_EQ(late.values, 1u);
  const Result never = result_of(std::make_unique<DeafTwin>(twin(), "in", kPatience));
  EXPECT_EQ(never.failure,
            "port in: valid from cycle 10 on, and not taken in 50 cycles in which nothing else passed the block: it "
            "stands still");
  EXPECT_EQ(never.values, 0u);
  EXPECT_EQ(never.end, Cycle{10 + kPatience - 1});
  EXPECT_EQ(never.passed, "in: 0 taken, 1 left; out: 0 given; refusals: 0 given");
}

TEST_F(InPlaceTest, WhatIsBehindTheBlockMayTakeItsTime) {  // rtl_block.h, R4
  const auto many = [](Source<ScatterJob>& in, WqeStore&) {
    for (std::uint64_t n = 0; n < 40; ++n) {
      ScatterJob job;
      job.qpn = Qpn{0x77};
      in.push(Cycle{9 + n}, job);
    }
  };
  const Result result = result_of(twin(), many, Cycle{10 * kPatience});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.values, 40u);
}

TEST_F(InPlaceTest, RtlThatIsNeverQuiescentLetsTheRunEnd) {  // rtl_block.h, R3
  const std::uint8_t never = 0;
  const auto restless = [&] {
    auto made = std::make_unique<DeafTwin>(twin(), "in", 0);
    made->quiescent = &never;
    return made;
  };
  const Result one = result_of(restless());
  EXPECT_EQ(one.failure, "");
  EXPECT_EQ(one.values, 1u);
  EXPECT_EQ(one.end, Cycle{14 + kPatience + 1})
      << "its packet leaves in cycle 14; its activity changes in the last one";
  const auto later = [](Source<ScatterJob>& in, WqeStore& store) {
    one_packet(in, store);
    ScatterJob job;
    job.qpn = Qpn{0x77};
    in.push(Cycle{9 + 5 * kPatience}, job);
  };
  EXPECT_EQ(result_of(restless(), later).values, 2u);
}

TEST_F(InPlaceTest, RestDoesNotCountAsWaiting) {  // rtl_block.h, R4: between two packets it is not stepped
  const auto two = [](Source<ScatterJob>& in, WqeStore&) {
    for (const std::uint64_t cycle : {9u, 9u + 5 * static_cast<unsigned>(kPatience)}) {
      ScatterJob job;
      job.qpn = Qpn{0x77};
      in.push(Cycle{cycle}, job);
    }
  };
  const Result result = result_of(std::make_unique<DeafTwin>(twin(), "in", 3), two);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.values, 2u);
}

class MismatchWavesTest : public LockstepTest {
 protected:
  std::string waves(std::unique_ptr<Twin> twin, const GrhScatterParams& params = {}, const Scene& scene = one_packet) {
    const std::string text = failure_of(std::move(twin), params, scene, {.waves = path});
    EXPECT_NE(text.find("\n  waveform of the cycles around it: " + path), std::string::npos) << text;
    signals = read_vcd(path);
    return text;
  }
  const TemporaryFolder folder;
  std::string path = folder.file("grh_scatter.vcd");
  std::map<std::string, Changes> signals;  // times in ps; a cycle is of 1000
};

TEST_F(MismatchWavesTest, ModelAndRtlAreSideBySide) {
  waves(std::make_unique<WrongTwin>(twin(), "", "out"));
  EXPECT_EQ(signals.at("grh_scatter.mismatch"), (Changes{{0, "0"}, {14000, "1"}, {15000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.in.valid"), (Changes{{0, "0"}, {10000, "1"}, {11000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.in.qpn"), (Changes{{0, "x"}, {10000, "1110111"}}));
  EXPECT_EQ(signals.at("grh_scatter.in.model.ready"), (Changes{{0, "0"}, {10000, "1"}, {11000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.in.rtl.ready").at(0), "1");
  for (const std::string side : {"grh_scatter.out.model.", "grh_scatter.out.rtl."}) {
    EXPECT_EQ(signals.at(side + "valid"), (Changes{{0, "0"}, {14000, "1"}, {15000, "0"}})) << side;
    EXPECT_EQ(signals.at(side + "qpn"), (Changes{{0, "x"}, {14000, "1110111"}})) << side;
  }
  EXPECT_EQ(signals.at("grh_scatter.out.model.bytes"), (Changes{{0, "x"}, {14000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.out.rtl.bytes"), (Changes{{0, "x"}, {14000, "1"}}));
  EXPECT_TRUE(std::filesystem::exists(folder.file("grh_scatter.gtkw")));
}

TEST_F(MismatchWavesTest, CyclesBehindTheMismatchAreShown) {
  GrhScatterParams late;
  late.latency_cycles = 5;
  waves(twin(), late);
  EXPECT_EQ(signals.at("grh_scatter.out.rtl.valid"), (Changes{{0, "0"}, {14000, "1"}, {15000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.out.model.valid"), (Changes{{0, "0"}, {15000, "1"}, {16000, "0"}}));
  EXPECT_EQ(signals.at("grh_scatter.clk").rbegin()->first, (14 + MismatchWaves::kAfter) * 1000 + 500);
}

TEST_F(MismatchWavesTest, TheTwinsReadsAreAnsweredBehindTheMismatch) {  // R2
  const auto with_list = [](Source<ScatterJob>& in, WqeStore& store) {
    one_packet(in, store);
    ScatterJob job;
    job.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    job.role = PacketRole::kReceived;
    job.outcome = Outcome::kExecute;
    job.takes_wqe = true;
    job.payload_bytes = 8;
    job.wqe_slot = 0;
    job.wqe_bytes = 16;
    store[job.wqe_slot].sge_count = 2;
    store[job.wqe_slot].sge[0] = {0, 0x11, 0x1000};
    store[job.wqe_slot].sge[1] = {16, 0x22, 0x2000};
    in.push(Cycle{18}, job);
  };
  waves(std::make_unique<WrongTwin>(twin(), "", "out"), {}, with_list);  // the mismatch is in cycle 14
  EXPECT_EQ(signals.at("grh_scatter.out.model.va").rbegin()->second, "10000000000000");
  for (const std::string field : {"va", "key"}) {
    EXPECT_EQ(signals.at("grh_scatter.out.rtl." + field), signals.at("grh_scatter.out.model." + field)) << field;
  }
}

TEST_F(MismatchWavesTest, AFileThatCannotBeWrittenIsNamed) {
  path = "/proc/grh_scatter.vcd";
  const std::string text = failure_of(std::make_unique<WrongTwin>(twin(), "", "out"), {}, one_packet, {.waves = path});
  EXPECT_NE(text.find("\n  no waveform: " + path), std::string::npos) << text;
}

TEST_F(LockstepTest, AMissingPortIsNamed) {  // R1
  EXPECT_EQ(failure_of(std::make_unique<WrongTwin>(twin(), "refusals", "")),
            "grh_scatter: the RTL has no port refusals");
}

TEST_F(LockstepTest, TooLittleIsAFailure) {  // R5
  EXPECT_EQ(failure_of(twin(), {}, no_packet), "grh_scatter: 0 transactions compared; expected 1 or more");
  EXPECT_EQ(failure_of(twin(), {}, one_packet, {.every_port = true}),
            "grh_scatter: port refusals: nothing was compared");
  EXPECT_TRUE(
      begins_with(failure_of(twin(), {}, one_packet, {.every_cover = true}), "grh_scatter: not hit: plan_r2_ipv4"));
}

TEST_F(LockstepTest, OtherParametersThanWereBuiltAreRefused) {
  Params params;
  params.grh_scatter.latency_cycles = 17;
  try {
    make_twin("grh_scatter", params);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("LatencyCycles=4 SgesPerCycle=1 BytesPerCycle=64"), std::string::npos);
  }
  EXPECT_THROW(make_twin("rx_parser", Params{}), std::invalid_argument);
}

}  // namespace
}  // namespace rxnic::lockstep_cosim_test
