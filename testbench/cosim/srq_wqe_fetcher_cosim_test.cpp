// SPDX-License-Identifier: Apache-2.0
// rtl/srq_wqe_fetcher.sv against model/blocks/srq_wqe_fetcher: random packets, doorbells, commands and flushes, with
// random back-pressure; its latencies; in the model's place; as transactions.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rtl/lockstep.h"
#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin_pins.h"
#include "model/types/context.h"
#include "model/types/descriptor_text.h"
#include "testbench/cosim/cosim_options.h"
#include "testbench/cosim/in_lockstep.h"
#include "testbench/cosim/in_place.h"
#include "testbench/cosim/slow_twin.h"
#include "testbench/cosim/srq_wqe_fetcher_scene.h"
#include "testbench/cosim/wrong_twin.h"
#include "testbench/unit/model/engine/vcd_reader.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::srq_wqe_fetcher_cosim_test {
namespace {

using srq_wqe_fetcher_scene::Scene;

class SrqWqeFetcherCosim : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_ = GetParam().params;
  }
  Params params_;
};

TEST_P(SrqWqeFetcherCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  LockstepOptions options;
  options.every_cover = true;
  options.transactions = cycles / 4;
  const auto report = [](const Scene& scene) {
    const SrqWqeFetcherCounters& c = scene.dut.counters();
    const WorkQueueTableCounters& t = scene.dut.prefetch_counters();
    std::cout << c.packets << " packets, " << c.wqes << " WQEs, " << c.waits << " waits, " << c.no_wqe
              << " without WQE, " << c.bad_wqes << " bad, " << c.flushed << " flushed, " << c.limit_events
              << " limit events, " << t.reads << " reads, " << t.evictions << " evictions, " << t.wqes_discarded
              << " discarded, " << c.context_misses << " context misses, " << c.context_write_backs
              << " written back\n";
  };
  expect_the_same_in_lockstep(
      "srq_wqe_fetcher", params_, cycles, options, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      report);
}

TEST_P(SrqWqeFetcherCosim, RandomBitsInWhatResetDoesNotSetMakeNoDifference) {
  constexpr std::uint64_t kCycles = 6000;
  expect_the_same_from_random_bits("srq_wqe_fetcher", params_, kCycles, [&](Bench& bench, std::uint64_t seed) {
    return Scene(bench, params_, seed, kCycles);
  });
}

TEST_P(SrqWqeFetcherCosim, TheRtlInTheModelsPlaceGivesTheSame) {
  const std::uint64_t seed = test_seed(2026), cycles = std::min<std::uint64_t>(cosim_cycles(), 20'000);
  expect_the_same_in_place("srq_wqe_fetcher", params_, cycles, cycles / 40,
                           [&](Bench& bench) { return Scene(bench, params_, seed, cycles); });
}

TEST_P(SrqWqeFetcherCosim, ItsTransactionsAreThoseOfTheModel) {
  const std::uint64_t seed = test_seed(2026), cycles = std::min<std::uint64_t>(cosim_cycles(), 20'000);
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, params_, seed, cycles);
  TransactionLockstep lockstep(bench.engine(), scene.dut, make_twin("srq_wqe_fetcher", params_),
                               {.least = cycles / 10});
  bench.run_to(Cycle{2 * cycles});
  expect_the_models_cycles(lockstep.finish(), cycles / 10);
}

// mismatch_waves.h R1, of a port that writes a memory: a field differs where the mismatch is, and nothing else does.
TEST_P(SrqWqeFetcherCosim, TheWaveformHasWhatBothWrite) {
  const std::uint64_t seed = test_seed(2026), cycles = 50'000;
  const TemporaryFolder folder;
  const std::string path = folder.file("waves.vcd");
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, params_, seed, cycles);
  auto wrong = std::make_unique<WrongTwin>(make_twin("srq_wqe_fetcher", params_), "", "context_write", 4000);
  Lockstep lockstep(bench.engine(), scene.dut, std::move(wrong), {.waves = path});
  bench.run_to(Cycle{cycles});
  const std::string failure = lockstep.finish().failure;
  ASSERT_NE(failure.find(": port context_write: "), std::string::npos) << failure;
  const std::map<std::string, Changes> signals = read_vcd(path);
  std::uint64_t mismatch = 0;
  for (const auto& [time, value] : signals.at("srq_wqe_fetcher.mismatch")) mismatch = value == "1" ? time : mismatch;
  std::vector<std::string> differing;
  std::size_t written = 0;
  for (const auto& [name, changes] : signals) {
    const std::size_t side = name.find(".model.");
    if (side == std::string::npos || name.rfind("srq_wqe_fetcher.context_write.", 0) != 0) continue;
    const Changes& of_rtl = signals.at(std::string(name).replace(side, 7, ".rtl."));
    const Changes model(changes.begin(), changes.upper_bound(mismatch));
    written += model.rbegin()->second != "x";
    if (model != Changes(of_rtl.begin(), of_rtl.upper_bound(mismatch))) differing.push_back(name);
  }
  EXPECT_EQ(differing.size(), 1u) << testing::PrintToString(differing);
  EXPECT_GT(written, 5u) << "fields";
}

// The RTL alone, driven at its pins: a ring of WQEs without a QP that has one in use.
class Pins : public TwinPins {
 public:
  explicit Pins(const Params& params) : TwinPins(make_twin("srq_wqe_fetcher", params)) {
    EXPECT_TRUE(quiescent());
    for (const char* port : {"context", "tagged_context", "flush_context", "command_context"}) answer(port, OpenWqe{});
    EXPECT_EQ(give("commands", WqCommand{.operation = WqOperation::kCreate,
                                         .number = 77,
                                         .base = BusAddress{0x8000},
                                         .slots = 16,
                                         .stride = 64}),
              0u);
  }
  // Posts WQEs and returns the read that follows in the same cycle; it has been asked for in the last one.
  DmaRequest post(std::uint32_t producer) {
    offer("doorbells", Doorbell{DoorbellKind::kReceive, false, 0, producer});
    EXPECT_TRUE(ready("doorbells"));
    EXPECT_TRUE(valid("dma"));
    const auto request = value<DmaRequest>("dma");
    tick();
    withdraw("doorbells");
    return request;
  }
  // The first WQE is a segment of 4096 bytes.
  void complete(const DmaRequest& read) {
    answer("fetched_wqes", DataSegment{4096, 0x777, 0x1000});
    offer("dma_done", DmaCompletion{read.cookie, true});
  }
  static WqeRequest packet() {
    WqeRequest p;
    p.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    p.transport = Transport::kRc;
    p.outcome = Outcome::kExecute;
    p.line = 3;
    p.residence = 1;
    p.message_sequence = 1;
    p.queue = p.receive_queue = WqId{0};
    p.takes_wqe = p.ends_message = p.completes = true;
    return p;
  }
};

// RTL of other latencies. A ring of receives, each of which a message takes; its slot is free again 20 cycles later.
TEST_P(SrqWqeFetcherCosim, SlowerRtlMakesTheSameTransactions) {
  constexpr std::uint32_t kMessages = 15;
  Bench bench(EngineMode::kPerCycle);
  SrqWqeFetcherHarness at(bench, params_, {.dma = 4, .wqe_cycles = 60, .context_cycles = 9});
  at.out.on_value([&](Cycle now, const ScatterJob& p) {
    if (p.releases_wqe && p.wqe_slot != kNoWqeSlot) at.released.push(now + 20, {p.wqe_slot});
  });
  WqContext context;
  context.kind = WqKind::kSrq;
  context.base = BusAddress{0x8000};
  context.slots = 16;
  context.stride = 64;
  const WqId queue = at.dut.create(context, at.host);
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    std::array<std::uint8_t, 64> slot{};
    const DataSegment sge{4096, 0x777, 0x1000 * (n + 1ull)};
    write_wqe(slot, context.layout, n + 1, {&sge, 1});
    at.host.write(wqe_address(context, n), slot);
  }
  at.doorbells.push(Cycle{10}, {DoorbellKind::kReceive, false, raw(queue), kMessages});
  TransactionLockstep lockstep(bench.engine(), at.dut,
                               std::make_unique<SlowTwin>(make_twin("srq_wqe_fetcher", params_)));
  WqeRequest p = Pins::packet();
  p.uses_srq = true;
  p.queue = p.receive_queue = queue;
  at.shared.contexts[p.line].residence = p.residence;
  for (std::uint32_t n = 0; n < kMessages; ++n, ++p.message_sequence) {
    at.shared.contexts.pin(p.line);
    at.in.push(Cycle{1000 + 40 * n}, p);
  }
  bench.run_to(Cycle{1000 + 40 * kMessages + 1000});
  EXPECT_EQ(at.out.size(), kMessages);
  EXPECT_EQ(at.dut.counters().wqes, kMessages);
  expect_later_cycles(lockstep.finish(), 2 * kMessages);
}

TEST_P(SrqWqeFetcherCosim, APacketLeavesAfterHitCyclesAtThePins) {  // R1, R2, R13
  Pins rtl(params_);
  const DmaRequest read = rtl.post(8);
  EXPECT_EQ(read.address, BusAddress{0x8000});
  rtl.complete(read);
  rtl.tick();
  rtl.withdraw("dma_done");
  rtl.offer("in", Pins::packet());
  EXPECT_TRUE(rtl.ready("in"));
  rtl.tick();
  rtl.withdraw("in");
  for (std::uint32_t cycle = 1; cycle <= params_.srq_wqe_fetcher.hit_cycles + 1; ++cycle) {
    EXPECT_EQ(rtl.valid("out"), cycle == params_.srq_wqe_fetcher.hit_cycles) << "cycle " << cycle;
    EXPECT_EQ(rtl.valid("lists"), rtl.valid("out"));
    if (rtl.valid("out")) {
      EXPECT_EQ(rtl.value<ScatterJob>("out").wqe_bytes, 4096u);
    }
    rtl.tick();
  }
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(SrqWqeFetcherCosim, APacketThatWaitsLeavesWithTheReadAtThePins) {  // R1
  Pins rtl(params_);
  const DmaRequest read = rtl.post(8);
  rtl.give("in", Pins::packet());
  for (std::uint32_t n = 0; n < 40; ++n) {
    EXPECT_FALSE(rtl.valid("out")) << "its WQE has not come";
    rtl.tick();
  }
  rtl.complete(read);
  EXPECT_TRUE(rtl.valid("out"));
  rtl.tick();
  rtl.withdraw("dma_done");
  EXPECT_FALSE(rtl.valid("out"));
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(SrqWqeFetcherCosim, APacketWithoutAWqeIsRefusedAfterHitCyclesAtThePins) {  // R4
  Pins rtl(params_);
  rtl.give("in", Pins::packet());
  EXPECT_EQ(rtl.wait_for("out"), params_.srq_wqe_fetcher.hit_cycles - 1);
  EXPECT_TRUE(rtl.valid("refusals"));
  EXPECT_EQ(rtl.value<Refusal>("refusals").kind, RefusalKind::kNotReady);
  EXPECT_EQ(rtl.value<ScatterJob>("out").drop_reason, DropReason::kNoReceiveWqe);
}

TEST_P(SrqWqeFetcherCosim, AFlushSendsAWqeACycleAtThePins) {  // R9
  Pins rtl(params_);
  const DmaRequest read = rtl.post(2);
  rtl.complete(read);
  rtl.tick();
  rtl.withdraw("dma_done");
  rtl.offer("flushes", FlushRequest{3, 1, Qpn{9}, Transport::kRc, false, WqId{0}, Cqn{5}});
  EXPECT_TRUE(rtl.ready("flushes"));
  for (std::uint32_t n = 0; n < 2; ++n) {
    EXPECT_TRUE(rtl.valid("out")) << "from the cycle of the request on";
    EXPECT_EQ(rtl.value<ScatterJob>("out").wqe_index, n);
    EXPECT_TRUE(rtl.value<ContextPin>("pins").pins);
    rtl.tick();
    rtl.withdraw("flushes");
  }
  EXPECT_FALSE(rtl.valid("out"));
  EXPECT_TRUE(rtl.valid("pins"));
  EXPECT_FALSE(rtl.value<ContextPin>("pins").pins);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(SrqWqeFetcherCosim, ADoorbellWaitsForItsContextAtThePins) {  // R14
  Pins rtl(params_);
  rtl.offer("doorbells", Doorbell{DoorbellKind::kReceive, false, 5, 1});
  EXPECT_TRUE(rtl.valid("context_dma"));
  EXPECT_FALSE(rtl.ready("doorbells"));
  const auto request = rtl.value<DmaRequest>("context_dma");
  EXPECT_EQ(request.address, queue_context_address(WqId{5}));
  rtl.tick();
  for (std::uint32_t n = 0; n < 20; ++n) {
    EXPECT_FALSE(rtl.valid("context_dma"));
    EXPECT_FALSE(rtl.ready("doorbells"));
    rtl.tick();
  }
  rtl.answer("fetched", StoredQueue{});
  rtl.offer("context_dma_done", DmaCompletion{request.cookie, true});
  EXPECT_TRUE(rtl.ready("doorbells")) << "in the cycle in which it comes: there is no such queue";
  EXPECT_EQ(rtl.failure(), "");
}

INSTANTIATE_TEST_SUITE_P(Configurations, SrqWqeFetcherCosim, testing::ValuesIn(srq_wqe_fetcher_scene::configurations()),
                         [](const testing::TestParamInfo<Configuration>& of) { return of.param.name; });

}  // namespace
}  // namespace rxnic::srq_wqe_fetcher_cosim_test
