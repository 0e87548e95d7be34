// SPDX-License-Identifier: Apache-2.0
// R17 of bridge/driver/driver.h: a request for much is carried out in pieces, and others' go on between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_pieces_test {
namespace {

using channel::Request;

constexpr std::uint64_t kPageBytes = 4096, kPages = 200 * kPagesAtOnce;
constexpr std::uint64_t kFewCycles = 20'000;  // of a request that gives some commands, and the looks around it

struct DriverPieces : testing::Test {
  static channel::Message registration(std::uint32_t pd, std::uint64_t pages, std::uint32_t access = kLocalWrite) {
    channel::Message m;
    m.type = Request::kRegisterMemory;
    m.body.memory = {};
    m.body.memory.pd = pd;
    m.body.memory.access = access;
    m.body.memory.address = m.body.memory.iova = TestPrograms::kLocalBase;
    m.body.memory.length = pages * kPageBytes;
    return m;
  }
  std::size_t replies(const Program& p) { return lab.own_port.replies[p.id].size(); }
  // Cycles until the next reply to `p`.
  std::uint64_t wait_for_reply(const Program& p) {
    const std::size_t before = replies(p);
    const Cycle begin = lab.at();
    EXPECT_TRUE(lab.run_until([&] { return replies(p) > before; }));
    return (lab.at() - begin).count;
  }
  // What a request of the other program takes: at most, of several.
  std::uint64_t others_time() {
    std::uint64_t most = 0;
    for (int n = 0; n < 5; ++n) {
      const Cycle begin = lab.at();
      other.create_mr(others_pd, other.local(kPageBytes), kPageBytes);
      most = std::max(most, (lab.at() - begin).count);
    }
    return most;
  }

  Lab lab{1};
  Program greedy{lab, 0}, other{lab, 0};
  std::uint32_t pd = greedy.create_pd(), others_pd = other.create_pd();
};

TEST_F(DriverPieces, AHugeRegionTakesACycleForEachPageAndNobodyElseWaits) {
  for (const std::uint32_t access : {std::uint32_t{kLocalWrite}, kLocalWrite | kAccessOnDemand}) {
    const Cycle begin = lab.at();
    const std::size_t before = replies(greedy);
    greedy.send(registration(pd, kPages, access));
    EXPECT_LT(others_time(), kFewCycles);
    EXPECT_EQ(replies(greedy), before) << "it is not done";
    EXPECT_TRUE(lab.run_until([&] { return replies(greedy) > before; }));
    const channel::Message reply = lab.own_port.replies[greedy.id].back();
    EXPECT_EQ(reply.status, 0);
    const std::uint64_t took = (lab.at() - begin).count;
    EXPECT_GE(took, kPages - kPagesAtOnce);
    EXPECT_LT(took, kPages + kPages / 4 + kFewCycles);
    EXPECT_EQ(greedy.free(Request::kFreeMemory, reply.body.memory.lkey), 0);
  }
}

TEST_F(DriverPieces, WhatFitsIntoOnePieceTakesNoTimeForItsPages) {
  const auto time_of = [&](std::uint64_t pages) {
    greedy.send(registration(pd, pages));
    return wait_for_reply(greedy);
  };
  constexpr std::uint64_t kLooks = 300;  // the port looks every 50 cycles, run_until every 100
  const std::uint64_t one = time_of(1);
  EXPECT_LT(time_of(kPagesAtOnce), one + kLooks);
  EXPECT_GT(time_of(kPagesAtOnce + 1) + kLooks, one + kPagesAtOnce);
}

TEST_F(DriverPieces, EveryPageOfAllPiecesIsThere) {
  constexpr std::uint64_t kThere = TestPrograms::kLocalBytes / kPageBytes;  // four pieces
  static_assert(kThere > 3 * kPagesAtOnce);
  const std::uint32_t mr = greedy.create_mr(pd, greedy.local(kThere * kPageBytes), kThere * kPageBytes);
  auto cq = greedy.create_cq();
  auto qp = greedy.create_qp(QpType::kRc, pd, cq);
  greedy.connect(qp, QpType::kRc, 0, qp.number);
  for (const std::uint64_t page : {std::uint64_t{0}, kPagesAtOnce - 1, kPagesAtOnce, 2 * kPagesAtOnce, kThere - 1}) {
    const std::uint64_t from = TestPrograms::kLocalBase + page * kPageBytes, to = from + 2048;
    std::memset(greedy.bytes(from), static_cast<int>(page % 251 + 1), 64);
    greedy.post_send(qp, {.opcode = SendOpcode::kWrite, .sge = {64, mr, from}, .remote = {to, mr, 0, 0, 0}});
    greedy.ring_send(qp);
    ASSERT_EQ(greedy.wait_for(cq).status, WcStatus::kSuccess);
    EXPECT_EQ(std::memcmp(greedy.bytes(from), greedy.bytes(to), 64), 0) << page;
  }
}

TEST_F(DriverPieces, ARegionIsReregisteredInPiecesToo) {
  const std::uint32_t mr = greedy.create_mr(pd, greedy.local(kPageBytes), kPageBytes);
  channel::Message again = registration(pd, kPages);
  again.type = Request::kReregisterMemory;
  again.body.memory.lkey = mr;
  again.body.memory.rereg_flags = kReregTranslation;
  const std::size_t before = replies(greedy);
  greedy.send(again);
  EXPECT_LT(others_time(), kFewCycles);
  EXPECT_EQ(replies(greedy), before);
  EXPECT_GE(wait_for_reply(greedy), kPages / 2);
  EXPECT_EQ(lab.own_port.replies[greedy.id].back().status, 0);
  EXPECT_EQ(greedy.free(Request::kFreeMemory, mr), 0);
}

// Nobody waits for the rest of it.
TEST_F(DriverPieces, WhoEndsMeanwhileIsGoneAtOnce) {
  for (const bool again : {false, true}) {
    Program ends(lab, 0);
    const std::uint32_t its_pd = ends.create_pd();
    channel::Message m = registration(its_pd, kPages);
    if (again) {
      m.body.memory.lkey = ends.create_mr(its_pd, ends.local(kPageBytes), kPageBytes);
      m.body.memory.rereg_flags = kReregTranslation;
      m.type = Request::kReregisterMemory;
    }
    ends.send(m);
    lab.run(kPages / 4);
    ends.die();
    const Cycle begin = lab.at();
    EXPECT_TRUE(lab.run_until([&] { return !lab.own_port.released_clients.empty(); }));
    EXPECT_LT((lab.at() - begin).count, kFewCycles);
    EXPECT_EQ(lab.bridge->driver(0).objects(), 2u) << "the PDs of the two that remain";
    lab.own_port.released_clients.clear();
  }
}

// Who has imported its PD may free it by then.
TEST_F(DriverPieces, ARegionThatIsFreedMeanwhileIsNotMade) {
  ASSERT_EQ(other.call(Request::kImportPd, [&](auto& b) { b.import = {pd, raw(greedy.id), 0, 0, 0}; }).status, 0);
  const std::uint32_t one = greedy.create_mr(pd, greedy.local(kPageBytes), kPageBytes);
  greedy.send(registration(pd, kPages));
  lab.run(kPages / 4);
  const std::uint32_t next = ((one >> 8) + 1) << 8 | 1;  // keys are given in turn
  ASSERT_EQ(other.free(Request::kFreeMemory, next), 0);
  wait_for_reply(greedy);
  EXPECT_EQ(lab.own_port.replies[greedy.id].back().status, EINVAL);
}

TEST_F(DriverPieces, AdviceTakesItsTimeForEachPageAndNobodyElseWaits) {
  constexpr std::uint64_t kAdvised = 512;
  const std::uint64_t memory = greedy.local(kAdvised * kPageBytes);
  const std::uint32_t mr = greedy.create_mr(pd, memory, kAdvised * kPageBytes, kLocalWrite | kAccessOnDemand);
  channel::Message m;
  m.type = Request::kAdviseMemory;
  m.body.advice = {pd, mr, kAdvicePrefetchNoFault, kAdviceFlush, memory, kAdvised * kPageBytes, 0};
  const Cycle begin = lab.at();
  const std::size_t before = replies(greedy);
  greedy.send(m);
  EXPECT_LT(others_time(), kFewCycles);
  EXPECT_TRUE(lab.run_until([&] { return replies(greedy) > before; }));
  EXPECT_EQ(lab.own_port.replies[greedy.id].back().status, 0);
  const std::uint64_t took = (lab.at() - begin).count;
  EXPECT_GE(took, (kAdvised - 64) * kCyclesOfAPage);
}

TEST_F(DriverPieces, ACommandSilencesSomeQpsOfAProgramThatEnds) {
  constexpr std::size_t kQps = 2 * kSilencedAtOnce + 1;
  Program ends(lab, 0);
  const std::uint32_t its_pd = ends.create_pd();
  auto cq = ends.create_cq();
  for (std::size_t n = 0; n < kQps; ++n) {
    ends.create_qp(ends.qp_request(QpType::kRc, its_pd, cq.number, cq.number, 4));
  }
  const std::uint64_t before = lab.nics[0]->command_processor.counters().commands;
  ends.die();
  EXPECT_TRUE(lab.run_until([&] { return lab.own_port.released_clients.size() == 1; }, 200'000'000));
  EXPECT_EQ(lab.nics[0]->command_processor.counters().commands - before, 3 + 2 * kQps + 1)
      << "besides a QP and a receive queue for each, and the CQ";
}

}  // namespace
}  // namespace rxnic::driver_pieces_test
