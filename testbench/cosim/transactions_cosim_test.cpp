// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/rtl/transactions.h, with a scatter engine in C++ in the RTL's place. This engine needs no Verilator,
// and is as slow, and as wrong, as a test wants.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "bridge/rtl/transactions.h"
#include "model/types/descriptor_bits.h"
#include "testbench/unit/model/blocks/grh_scatter_harness.h"

namespace rxnic::transactions_cosim_test {
namespace {

constexpr std::uint64_t kNone = 0;
constexpr std::uint32_t kElementBytes = 64;

struct Behaviour {
  std::uint64_t latency = 4;
  bool swaps = false;           // of two packets in it the second one leaves first
  std::uint64_t wrong = kNone;  // number of the packet that leaves with another `bytes`,
  std::uint64_t lost = kNone;   // that does not leave,
  std::uint64_t twice = kNone;  // that leaves twice
  bool hangs = false;           // takes nothing
};

template <Described T>
struct Signal {
  std::array<std::uint32_t, words_of_bits(Descriptor<T>::kBits)> bits{};
  TwinSignal signal() { return {bits.data(), sizeof bits}; }
};

// For packets without bytes, or with those of a whole scatter element.
class FakeScatter final : public Twin {
 public:
  explicit FakeScatter(const Behaviour& behaviour) : b_(behaviour) {
    clock = &clock_;
    reset_n = &reset_n_;
    quiescent = &quiescent_;
    const BlockFacts facts = GrhScatterPorts::facts(Params{});
    for (const PortFacts& p : facts.ports) {
      TwinPort port{p};
      if (p.name == "in") {
        port.valid = {&in_valid_, 1};
        port.ready = {&in_ready_, 1};
        port.data = in_.signal();
      } else if (p.name == "out") {
        port.valid = {&out_valid_, 1};
        port.ready = {&out_ready_, 1};
        port.data = out_.signal();
      } else if (p.name == "lists") {
        port.valid = {&lists_valid_, 1};
        port.data = lists_.signal();
        port.words = word_.signal();
      } else {
        port.valid = {&refusals_valid_, 1};
        port.data = refusals_.signal();
      }
      ports_.push_back(port);
    }
  }
  void eval() override {
    if (clock_ != 0 && !clocked_ && reset_n_ != 0) rise();
    clocked_ = clock_ != 0;
    show();
  }
  std::string_view failure() const override { return {}; }
  std::vector<CoverPoint> cover_points() const override { return {}; }

 private:
  struct Work {
    ScatterJob job;
    std::uint64_t number;
    std::uint64_t due;
  };
  void rise() {
    if (out_valid_ != 0 && out_ready_ != 0) work_.pop_front();
    if (in_valid_ != 0 && in_ready_ != 0) take(unpack<ScatterJob>(in_.bits.data()));
    ++cycle_;
  }
  void take(const ScatterJob& job) {
    ++taken_;
    if (taken_ == b_.lost) return;
    for (unsigned n = taken_ == b_.twice ? 2 : 1; n > 0; --n) work_.push_back({job, taken_, cycle_ + b_.latency});
    if (b_.swaps && work_.size() == 2) std::swap(work_[0].job, work_[1].job);
  }
  void show() {
    in_ready_ = b_.hangs ? 0 : 1;
    quiescent_ = work_.empty() ? 1 : 0;
    out_valid_ = lists_valid_ = 0;
    if (work_.empty()) return;
    const Work& w = work_.front();
    if (w.job.wqe_slot != kNoWqeSlot && cycle_ + 1 == w.due) {
      lists_valid_ = 1;
      pack(ScatterListRead{w.job.wqe_slot, 0}, lists_.bits.data());
    }
    if (cycle_ < w.due) return;
    out_valid_ = 1;
    ScatteredSegment piece;
    static_cast<CompletionRequest&>(piece) = w.job;
    piece.access = w.job.access;
    if (w.job.wqe_slot != kNoWqeSlot) {
      const auto element = unpack<DataSegment>(word_.bits.data());
      piece.key = Key{element.lkey};
      piece.va = element.address;
      piece.bytes = w.job.payload_bytes;
      piece.byte_count = w.job.payload_bytes;
    }
    if (w.number == b_.wrong) piece.bytes ^= 1u;
    pack(piece, out_.bits.data());
  }

  const Behaviour b_;
  std::uint8_t clock_ = 0, reset_n_ = 0, quiescent_ = 1;
  std::uint8_t in_valid_ = 0, in_ready_ = 0, out_valid_ = 0, out_ready_ = 0, lists_valid_ = 0, refusals_valid_ = 0;
  Signal<ScatterJob> in_;
  Signal<ScatteredSegment> out_;
  Signal<ScatterListRead> lists_;
  Signal<DataSegment> word_;
  Signal<Refusal> refusals_;
  std::deque<Work> work_;
  std::uint64_t cycle_ = 0, taken_ = 0;
  bool clocked_ = false;
};

// Some packets, alternately of two QPs, taken by the model in cycles 10, 11...
class TransactionsTest : public testing::Test {
 protected:
  TransactionResult run(std::unique_ptr<Twin> twin, unsigned packets = 4, const GrhScatterParams& params = {},
                        const std::function<void(Bench&, NicShared&)>& before = {}) {
    Bench bench(EngineMode::kPerCycle);
    GrhScatterHarness at(bench, params_with(&Params::grh_scatter, params));
    at.out.stall(Cycle{0}, stalled_until_);
    TransactionLockstep lockstep(bench.engine(), at.dut, std::move(twin));
    if (before) before(bench, at.shared);
    for (std::uint32_t n = 0; n < packets; ++n) {
      job_.qpn = Qpn{0x10 + n % qps_};
      job_.wqe_index = n;
      at.in.push(Cycle{9 + n}, job_);
    }
    end_ == Cycle{} ? bench.run() : bench.run_to(end_);
    return lockstep.finish();
  }
  TransactionResult run(const Behaviour& behaviour, unsigned packets = 4) {
    return run(std::make_unique<FakeScatter>(behaviour), packets);
  }
  static const CycleSpread& out_of(const TransactionResult& r) {
    for (const auto& p : r.ports) {
      if (p.name == "out") return p.later;
    }
    static const CycleSpread kNothing;
    return kNothing;
  }
  ScatterJob job_;
  std::uint32_t qps_ = 2;
  Cycle stalled_until_{};  // the sink behind the block
  Cycle end_{};            // of the run; 0: when nothing is due any more
};

bool begins_with(const std::string& text, const std::string& begin) { return text.rfind(begin, 0) == 0; }

TEST_F(TransactionsTest, EqualRtlIsNeverLater) {
  const TransactionResult r = run(Behaviour{});
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(r.transactions(), 4u);
  EXPECT_EQ(out_of(r).text(), "min 0   median 0   p99 0   max 0");
}

TEST_F(TransactionsTest, SlowerAndFasterRtlIsEqualAndTheCyclesAreCounted) {  // R3
  const TransactionResult slow = run({.latency = 11});
  EXPECT_EQ(slow.failure, "");
  EXPECT_EQ(out_of(slow).text(), "min 7   median 7   p99 7   max 7");
  const TransactionResult fast = run({.latency = 1});
  EXPECT_EQ(fast.failure, "");
  EXPECT_EQ(out_of(fast).text(), "min -3   median -3   p99 -3   max -3");
}

TEST_F(TransactionsTest, ItsOutputsWaitForTheModelsConsumer) {  // R2
  stalled_until_ = Cycle{200};
  const TransactionResult r = run(Behaviour{}, 30);
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(out_of(r).count(), 30u);
  EXPECT_GE(out_of(r).min(), -8);
}

TEST_F(TransactionsTest, OtherOrderIsEqualBetweenQueuesOnly) {  // R3
  EXPECT_EQ(run({.swaps = true}, 2).failure, "");
  qps_ = 1;
  const std::string text = run({.swaps = true}, 2).failure;
  EXPECT_TRUE(begins_with(text,
                          "grh_scatter: port out: transaction 1, 1 of qpn=16: wqe_index: 0 and 1 (model in cycle "
                          "14, RTL in cycle 14)"))
      << text;
}

TEST_F(TransactionsTest, AFieldThatDiffersIsNamedWithBothValuesAndCycles) {  // R6
  const std::string text = run({.latency = 6, .wrong = 3}).failure;
  EXPECT_TRUE(begins_with(text,
                          "grh_scatter: port out: transaction 3, 2 of qpn=16: bytes: 0 and 1 (model in cycle 16, "
                          "RTL in cycle 18)\n  model: "))
      << text;
}

TEST_F(TransactionsTest, AMissingTransactionIsNamedAtTheEnd) {  // R5
  const std::string text = run({.lost = 4}).failure;
  EXPECT_TRUE(begins_with(text,
                          "grh_scatter: port out: transaction 4, 2 of qpn=17: missing: the model made it in cycle "
                          "17, the RTL did not\n  "))
      << text;
}

TEST_F(TransactionsTest, ASurplusTransactionIsNamedAtTheEnd) {  // R5
  const std::string text = run({.twice = 4}).failure;
  EXPECT_TRUE(begins_with(text,
                          "grh_scatter: port out: transaction 5, 3 of qpn=17: surplus: the RTL made it in cycle 18, "
                          "the model did not\n  "))
      << text;
}

TEST_F(TransactionsTest, WhatTheRunsEndKeepsTheModelFromIsNotSurplus) {  // R5
  end_ = Cycle{16};
  const TransactionResult r = run({.latency = 1});
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(r.transactions(), 3u);
  EXPECT_EQ(r.lines("lockstep: x").back(), "  refusals: none");
  EXPECT_NE(r.lines("x")[3].find("out: 1 more, which the run's end came before"), std::string::npos) << r.lines("x")[3];
}

TEST_F(TransactionsTest, RtlThatTakesNothingIsNamed) {  // R1, R5
  const std::string text = run({.hangs = true}).failure;
  EXPECT_TRUE(begins_with(text, "grh_scatter: port out: transaction 1, 1 of qpn=16: missing: ")) << text;
}

TEST_F(TransactionsTest, NothingToCompareIsAFailure) {
  EXPECT_EQ(run(Behaviour{}, 0).failure, "grh_scatter: 0 transactions compared; expected 1 or more");
}

// The list is another one when the RTL reads it: its place has been used again. (R4)
TEST_F(TransactionsTest, LateReadsGetWhatTheModelFound) {
  job_.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  job_.transport = Transport::kRc;
  job_.outcome = Outcome::kExecute;
  job_.ends_message = true;
  job_.takes_wqe = true;
  job_.payload_bytes = kElementBytes;
  job_.wqe_bytes = kElementBytes;
  const auto set = [](NicShared& shared, std::uint32_t slot, std::uint64_t address) {
    ScatterList& wqe = shared.wqes[slot];
    wqe.sge_count = 1;
    wqe.sge[0] = {kElementBytes, 0x500, address};
  };
  const TransactionResult r =
      run(std::make_unique<FakeScatter>(Behaviour{.latency = 500}), 1, {}, [&](Bench& bench, NicShared& shared) {
        job_.wqe_slot = 0;
        set(shared, job_.wqe_slot, 0x7000);
        bench.at(Cycle{100}, [&, slot = job_.wqe_slot](Cycle) { set(shared, slot, 0x9000); });
        bench.at(Cycle{800}, [](Cycle) {});
      });
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(out_of(r).min(), 496);
}

}  // namespace
}  // namespace rxnic::transactions_cosim_test
