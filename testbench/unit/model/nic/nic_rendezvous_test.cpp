// SPDX-License-Identifier: Apache-2.0
// Rendezvous between two NICs (rules 5.7): A sends requests and has the messages, B matches them, reads them and sends
// FIN.
#include <gtest/gtest.h>

#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::nic_rendezvous_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;
using ByteVector = std::vector<std::uint8_t>;

ByteVector pattern(std::size_t n, unsigned seed) {
  ByteVector v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(seed + i * 7 + (i >> 8) * 29);
  return v;
}

// Messages 0, 1, ...: tag, handle and buffer have the same number.
struct NicRendezvous : testing::Test {
  static constexpr std::uint32_t kMost = 4000, kPairs = 2, kMessages = 16;

  void make(const Params& params = {}) {
    own = std::make_unique<Bench>(EngineMode::kFast, kPeriodPs);
    make_in(*own, params);
  }
  void make_in(Bench& in, const Params& params) {
    bench = &in;
    nics = std::make_unique<TwoNics>(*bench, params);
    TestHost &a = nics->a, &b = nics->b;
    list = &b.tm_srq_holder(7, nics->cq_b);
    from = a.region(kMessages * kMost);
    fins = a.region(kMessages * 64);
    to = b.region(kMessages * kMost);
    unexpected = b.region(kMessages * 64);
    a.write(from.va, pattern(kMessages * kMost, 3));
    pairs.clear();
    for (std::uint32_t n = 0; n < kPairs; ++n) {
      HostQp& qa = a.qp(Transport::kRc, nics->cq_a);
      HostQp& qb = b.tagged_qp(*list, nics->cq_b);
      a.connect(qa, 1, qb);
      b.connect(qb, 0, qa);
      pairs.emplace_back(&qa, &qb);
    }
    for (std::uint32_t n = 0; n < kMessages; ++n) {
      a.receive(*pairs[n % kPairs].first, fins.piece(n * 64, 64));
      b.receive(*list, unexpected.piece(n * 64, 64));
    }
  }
  void add(std::uint32_t n, std::uint32_t bytes = kMost, Key lkey = {}) {
    DataSegment buffer = to.piece(n * kMost, bytes);
    if (lkey != Key{}) buffer.lkey = raw(lkey);
    nics->b.add_tag(*list, {n, n, ~std::uint64_t{0}, buffer});
  }
  void ask(std::uint32_t n, std::uint32_t bytes = kMost) {
    ByteVector request(kTmhBytes + kRvhBytes);
    build_tmh({static_cast<std::uint8_t>(TmhOpcode::kRendezvous), 0xabc, n}, request.data());
    build_rvh({from.va + n * kMost, raw(from.key), bytes}, request.data() + kTmhBytes);
    nics->a.send(*pairs[n % kPairs].first, {.inline_data = request});
  }
  void run() {
    bench->run();
    nics->expect_quiet();
  }
  // B's completions of handle n.
  std::vector<Cqe> of_entry(std::uint32_t n) const {
    std::vector<Cqe> all;
    for (const HostCompletion& c : nics->b.completions) {
      const bool names_entry = (c.cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) != 0;
      if (names_entry && c.cqe.wqe_index == n) all.push_back(c.cqe);
    }
    return all;
  }
  void expect_read(std::uint32_t n, std::uint32_t bytes = kMost) {
    const std::vector<Cqe> cqes = of_entry(n);
    ASSERT_EQ(cqes.size(), 2u) << n;
    for (const Cqe& cqe : cqes) {
      EXPECT_EQ(cqe.status, WcStatus::kSuccess);
      EXPECT_EQ(static_cast<int>(cqe.opcode), static_cast<int>(CqeOpcode::kTagReceive));
      EXPECT_EQ(cqe.srq_number, 7u);
      EXPECT_EQ(cqe.qp_number, raw(pairs[n % kPairs].second->qpn()));
    }
    EXPECT_EQ(cqes[0].flags & ~kCqeSrq, kCqeTagMatch);
    EXPECT_EQ(cqes[0].tag, n);
    EXPECT_EQ(cqes[0].tag_context, 0xabcu);
    EXPECT_EQ(cqes[1].flags & ~kCqeSrq, kCqeTagDataValid);
    EXPECT_EQ(cqes[1].byte_count, bytes);
    EXPECT_EQ(nics->b.read(to.va + n * kMost, bytes), nics->a.read(from.va + n * kMost, bytes));
  }
  const RequesterCounters& sent() const { return nics->b.nic.requester->counters(); }

  std::unique_ptr<Bench> own;
  Bench* bench = nullptr;
  std::unique_ptr<TwoNics> nics;
  HostQp* list = nullptr;
  HostRegion from, fins, to, unexpected;
  std::vector<std::pair<HostQp*, HostQp*>> pairs;
};

TEST_F(NicRendezvous, MessagesAreReadAndTheirSendersAreTold) {
  make();
  for (std::uint32_t n = 0; n < kMessages; ++n) add(n);
  for (std::uint32_t n = 0; n < kMessages; ++n) ask(n);
  run();
  for (std::uint32_t n = 0; n < kMessages; ++n) expect_read(n);
  EXPECT_EQ(sent().rendezvous, kMessages);
  EXPECT_EQ(sent().fins, kMessages);
  EXPECT_EQ(sent().memory_reads, 0u) << "neither WQEs nor payload";
  // A: its SENDs, and FINs as ordinary receives.
  EXPECT_EQ(nics->a.completions.size(), 2u * kMessages);
  EXPECT_EQ(nics->a.count(WcStatus::kSuccess), 2u * kMessages);
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    const ByteVector fin = nics->a.read(fins.va + n * 64, kTmhBytes + kRvhBytes);
    EXPECT_EQ(parse_tmh(fin.data()).opcode, static_cast<int>(TmhOpcode::kFinish));
    EXPECT_EQ(parse_tmh(fin.data()).tag, n) << "in the order of the requests";
    EXPECT_EQ(parse_rvh(fin.data() + kTmhBytes).va, from.va + n * kMost);
  }
  EXPECT_EQ(nics->b.nic.tag_match_cam.counters().rendezvous, kMessages);
}

// The match comes before the message has been asked for, its end after the last byte.
TEST_F(NicRendezvous, CompletesWhenTheBytesAreThere) {
  make();
  add(0);
  ask(0);
  bool seen_before = false, seen_late = false;
  for (std::uint64_t cycle = 1; of_entry(0).size() < 2 && cycle < 20'000; ++cycle) {
    bench->run_to(Cycle{cycle});
    const bool whole = nics->b.read(to.va, kMost) == nics->a.read(from.va, kMost);
    seen_before |= whole && of_entry(0).empty();
    seen_late |= !whole && of_entry(0).size() == 2;
  }
  EXPECT_FALSE(seen_before);
  EXPECT_FALSE(seen_late);
  run();
  expect_read(0);
}

TEST_F(NicRendezvous, ATableOfOneRefusesTheNextAndDrains) {
  Params params;
  params.requester.rendezvous = 1;
  make(params);
  for (std::uint32_t n = 0; n < kMessages; ++n) add(n);
  for (std::uint32_t n = 0; n < kMessages; ++n) ask(n);
  run();
  for (std::uint32_t n = 0; n < kMessages; ++n) expect_read(n);
  const std::uint64_t refused = nics->b.nic.srq_wqe_fetcher.counters().no_rendezvous;
  EXPECT_GE(refused, 1u);
  EXPECT_EQ(nics->b.nic.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kRendezvousFull)],
            refused);
  EXPECT_EQ(nics->b.nic.tag_match_cam.counters().matches, kMessages + nics->b.nic.tag_match_cam.counters().returned);
  EXPECT_EQ(nics->a.count(WcStatus::kSuccess), 2u * kMessages);
}

// A place that is taken by a request that fails behind the WQE fetcher comes back as well.
TEST_F(NicRendezvous, AFailedQpGivesItsPlacesBack) {
  Params params;
  params.requester.rendezvous = 2;
  make(params);
  add(0, kMost, Key{0x777700});  // B may not write there
  add(2);
  ask(0);
  ask(2);  // of the same QP
  bench->at(Cycle{30'000}, [this](Cycle) {
    for (const std::uint32_t n : {3u, 5u}) add(n);
    for (const std::uint32_t n : {3u, 5u}) ask(n);
  });
  run();
  ASSERT_EQ(of_entry(0).size(), 2u);
  EXPECT_EQ(of_entry(0)[1].status, WcStatus::kLocalProtection);
  expect_read(3);
  expect_read(5);
  EXPECT_EQ(nics->b.nic.srq_wqe_fetcher.counters().no_rendezvous, 0u) << "two at once";
}

TEST_F(NicRendezvous, ModesAndStepOrdersAgree) {
  Params params;
  params.requester.rendezvous = 2;
  params.tag_match_cam.entries = 4;  // and an overflow
  const auto scenario = [&](Bench& in) {
    make_in(in, params);
    for (std::uint32_t n = 0; n < kMessages; ++n) {
      if (n % 5 != 4) add(n, n % 7 == 6 ? 100 : kMost);
      in.at(Cycle{2000 + 150 * n}, [this, n](Cycle) { ask(n, 1 + n * 240); });
    }
    run();
    EXPECT_GT(sent().rendezvous, 8u);
    EXPECT_GT(nics->b.nic.srq_wqe_fetcher.counters().no_rendezvous, 0u);
    EXPECT_EQ(nics->b.count(WcStatus::kRendezvousIncomplete), 2u);
    const std::uint64_t hash = in.state_hash();
    nics.reset();
    return hash;
  };
  expect_equal_in_all_orders(scenario, kPeriodPs);
}

}  // namespace
}  // namespace rxnic::nic_rendezvous_test
