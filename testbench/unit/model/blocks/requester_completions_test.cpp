// SPDX-License-Identifier: Apache-2.0
// Two NICs: whatever fails, and whenever it does, each send WQE completes exactly once and in order. The rules are R5,
// R6 of model/blocks/requester.h, R9 of model/core/requester/request_table.h, R5 of model/core/responder/refusal.h.
#include <gtest/gtest.h>

#include <random>

#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::requester_completions_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;
constexpr std::uint8_t kShortTimeout = 4;  // 65 us

// Slots and statuses of the QP's completions, in order.
struct Ending {
  std::vector<std::uint32_t> slots;
  std::vector<WcStatus> statuses;
};
Ending ending(const TestHost& host, const HostQp& qp) {
  Ending e;
  for (const HostCompletion& c : host.completions) {
    if (c.cqe.qp_number != raw(qp.qpn())) continue;
    e.slots.push_back(c.cqe.wqe_index);
    e.statuses.push_back(c.cqe.status);
  }
  return e;
}

void expect_each_once_in_order(const Ending& e, std::size_t posted) {
  ASSERT_EQ(e.slots.size(), posted);
  for (std::size_t i = 0; i < posted; ++i) EXPECT_EQ(e.slots[i], i);
  bool failed = false;
  for (const WcStatus s : e.statuses) {
    if (failed) {
      EXPECT_EQ(s, WcStatus::kFlushed);
    }
    failed |= s != WcStatus::kSuccess;
  }
}

TEST(RequesterCompletions, AReadWhoseBufferGoesAwayFailsOnceAndWhatIsBehindIsFlushed) {
  for (std::uint64_t gone = 400; gone < 6000; gone += 100) {
    Bench bench(EngineMode::kFast, kPeriodPs);
    TwoNics nics(bench, with_fast_commands());
    const auto [qa, qb] = nics.connected(Transport::kRc);
    const HostRegion to = nics.a.region(40'000), safe = nics.a.region(40'000), from = nics.b.region(40'000);
    for (int i = 0; i < 3; ++i) {
      nics.a.send(*qa, {.opcode = SendOpcode::kRead, .sges = {safe.piece(0, 3000)}, .va = from.va, .rkey = from.key});
      nics.a.send(*qa, {.opcode = SendOpcode::kRead, .sges = {to.piece(0, 30'000)}, .va = from.va, .rkey = from.key});
      nics.a.send(*qa, {.opcode = SendOpcode::kWrite, .sges = {safe.piece(0, 9)}, .va = from.va, .rkey = from.key});
    }
    give(bench, nics.a, Cycle{gone}, [&](CommandQueue& driver) { return driver.free_region(to.key); });
    bench.run();
    const Ending e = ending(nics.a, *qa);
    expect_each_once_in_order(e, 9);
    const auto first =
        std::find_if(e.statuses.begin(), e.statuses.end(), [](auto s) { return s != WcStatus::kSuccess; });
    if (first != e.statuses.end()) {
      EXPECT_EQ(*first, WcStatus::kLocalProtection) << gone;
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RequesterCompletions, EachWqeCompletesOnceWhateverFails) {
  const std::uint64_t seed = test_seed(3);
  std::uint32_t failures = 0;
  for (std::uint64_t round = 0; round < 150; ++round) {
    std::mt19937_64 random(seed + round);
    Bench bench(EngineMode::kFast, kPeriodPs);
    TwoNics nics(bench, with_fast_commands());
    TestHost &a = nics.a, &b = nics.b;
    const auto [qa, qb] = nics.connected(Transport::kRc);
    qa->software.timeout = kShortTimeout;
    qa->software.retry_count = 2;
    a.nic.requester->modify(qa->software, false);
    const HostRegion mine = a.region(20'000), theirs = b.region(20'000);
    constexpr std::uint32_t kPosted = 40;
    std::uint64_t when = 10;
    for (std::uint32_t i = 0; i < kPosted; ++i) {
      b.receive(*qb, theirs.piece(0, 20'000));
      Work work;
      work.opcode =
          std::array{SendOpcode::kSend, SendOpcode::kWrite, SendOpcode::kRead, SendOpcode::kFetchAdd}[random() % 4];
      work.sges = {mine.piece(random() % 8000, work.opcode == SendOpcode::kFetchAdd ? 8 : 1 + random() % 9000)};
      work.va = theirs.va + 8 - theirs.va % 8;
      work.rkey = theirs.key;
      when += random() % 200;
      bench.at(Cycle{when}, [&, work, q = qa](Cycle) { a.send(*q, work); });
    }
    const Cycle trouble{10 + random() % (when + 2000)};
    switch (random() % 4) {
      case 0:
        give(bench, a, trouble, [&](CommandQueue& driver) { return driver.free_region(mine.key); });
        break;
      case 1:
        give(bench, b, trouble, [&](CommandQueue& driver) { return driver.free_region(theirs.key); });
        break;
      case 2:
        give(bench, a, trouble, [q = qa](CommandQueue& driver) { return driver.fail_qp(q->qpn()); });
        break;
      default:
        give(bench, b, trouble, [q = qb](CommandQueue& driver) { return driver.fail_qp(q->qpn()); });
        break;
    }
    bench.run();
    const Ending e = ending(a, *qa);
    expect_each_once_in_order(e, kPosted);
    failures += e.statuses.empty() || e.statuses.back() != WcStatus::kSuccess;
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "round " << round << " seed " << seed;
      return;
    }
  }
  EXPECT_GT(failures, 75u) << "too few runs in which something failed";
}

}  // namespace
}  // namespace rxnic::requester_completions_test
