// SPDX-License-Identifier: Apache-2.0
// Rules R1..R6 of model/nic/nic_control.h, on NICs with traffic.
#include "model/nic/nic_control.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testbench/unit/model/nic/test_host.h"

namespace rxnic {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;
constexpr Cycle kMiddle{2000};  // of sixty messages of 1000 bytes
constexpr auto kDone = CommandResult::kDone;
constexpr auto kBusy = CommandResult::kBusy;
constexpr auto kNoRoom = CommandResult::kNoRoom;

using ByteVector = std::vector<std::uint8_t>;

struct NicControlTest : testing::Test {
  explicit NicControlTest(const Params& params = {}) : nics(bench, params) {}
  Bench bench{EngineMode::kFast, kPeriodPs};
  TwoNics nics;
  TestHost& a = nics.a;
  TestHost& b = nics.b;

  void at(std::uint64_t cycle, std::function<void()> what) {
    bench.at(Cycle{cycle}, [what](Cycle) { what(); });
  }
  // `n` WQEs of `bytes` at `stride` from the region's start.
  void post(HostQp& qp, const HostRegion& region, std::uint32_t n, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < n; ++i) b.receive(qp, region.piece(i * bytes, bytes));
  }
  QpContext context(TestHost& host, const HostQp& qp) {
    QpContext c;
    EXPECT_EQ(host.control.read_qp(qp.qpn(), c), kDone);
    return c;
  }
  // Back to life as a new connection with these PSNs.
  void reconnect(HostQp& qa, HostQp& qb, std::uint32_t psn) {
    for (const auto& [host, qp] : {std::pair{&a, &qa}, std::pair{&b, &qb}}) {
      qp->sends = qp->receives = 0;
      qp->software.qp.state = QpState::kRts;
      qp->software.sq_psn = psn;
      EXPECT_EQ(host->control.modify_qp(qp->software, true, Psn{psn}, true), kDone);
    }
  }
};

// ---- R1, R2: contexts.

TEST_F(NicControlTest, AContextIsReadAndChangedInMemory) {  // R2
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b);
  EXPECT_EQ(context(b, qp).state, QpState::kReset);
  EXPECT_EQ(context(b, qp).valid, 1);
  b.connect(qp, 0, qp);
  EXPECT_EQ(b.nic.qp_context_cache.find(qp.qpn()), nullptr);
  EXPECT_EQ(context(b, qp).state, QpState::kRts);
  EXPECT_EQ(context(b, qp).expected_psn, Psn{100 * raw(qp.qpn())});
}

TEST_F(NicControlTest, AContextIsBusyWhileItMovesAndIsThenChangedInTheCache) {  // R1, R2
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  post(*qb, to, 2, 200);
  a.send(*qa, {.inline_data = ByteVector(8, 1)});
  QpContext c;
  std::uint32_t busy = 0;
  for (std::uint64_t cycle = 50; cycle < 2000; cycle += 10) {
    at(cycle, [&, peer = qb] {
      const bool moving = b.nic.qp_context_cache.moving(peer->qpn());
      busy += moving;
      EXPECT_EQ(b.control.read_qp(peer->qpn(), c), moving ? kBusy : kDone);
      if (moving) {
        EXPECT_EQ(b.control.modify_qp(peer->software, false, {}, false), kBusy);
      }
    });
  }
  at(5000, [&, peer = qb] {
    peer->software.qp.min_rnr_timer = 7;
    EXPECT_EQ(b.control.modify_qp(peer->software, false, {}, false), kDone);
    ASSERT_NE(b.nic.qp_context_cache.find(peer->qpn()), nullptr);
    EXPECT_EQ(b.nic.qp_context_cache.find(peer->qpn())->min_rnr_timer, 7);
    EXPECT_TRUE(b.nic.qp_context_cache.find(peer->qpn())->dirty);
  });
  // What the receive path keeps is not disturbed: the next message is in order.
  at(6000, [&, from = qa] { a.send(*from, {.inline_data = ByteVector(8, 2)}); });
  bench.run();
  nics.expect_quiet();
  EXPECT_GT(busy, 5u);
  EXPECT_EQ(b.count(WcStatus::kSuccess), 2u);
}

TEST_F(NicControlTest, WhatDoesNotExistIsDoneAtOnce) {  // R5
  EXPECT_EQ(b.control.fail_qp(Qpn{77}), kDone);
  EXPECT_EQ(b.control.reset_qp(Qpn{77}), kDone);
  EXPECT_EQ(b.control.free_qp(Qpn{77}), kDone);
  EXPECT_EQ(b.control.free_region(Key{0x7700}), kDone);
  EXPECT_EQ(b.control.free_cq(Cqn{77}), kDone);
  CqContext cq;
  cq.number = Cqn{77};
  EXPECT_EQ(b.control.resize_cq(cq, 0), kDone);
}

// ---- R4: errors.

TEST_F(NicControlTest, AFailedQpFlushesBothQueuesInOrder) {  // R4
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  post(*qb, to, 5, 100);
  // The other side is deaf: what is sent waits for its answer.
  at(10, [&, from = qb] {
    a.control.fail_qp(qa->qpn());
    for (int i = 0; i < 3; ++i) b.send(*from, {.flags = 0, .inline_data = ByteVector(8, 1)});
  });
  const auto tries = repeat(bench, Cycle{3000}, [&, peer = qb] { return b.control.fail_qp(peer->qpn()); });
  bench.run();
  nics.expect_quiet();
  ASSERT_EQ(b.completions.size(), 8u);
  std::uint32_t receives = 0, sends = 0;
  for (const HostCompletion& c : b.completions) {
    EXPECT_EQ(c.cqe.status, WcStatus::kFlushed);
    EXPECT_EQ(c.cqe.qp_number, raw(qb->qpn()));
    const bool is_send = c.cqe.opcode == CqeOpcode::kSend;
    EXPECT_EQ(c.cqe.wqe_index, is_send ? sends++ : receives++);
  }
  EXPECT_EQ(sends, 3u);
  EXPECT_EQ(context(b, *qb).state, QpState::kError);
  EXPECT_EQ(b.control.fail_qp(qb->qpn()), kDone) << "again: nothing more to do";
}

TEST_F(NicControlTest, PacketsThatWereCheckedAreCarriedOutBeforeTheFlush) {  // R1, R4
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  const auto busy = repeat(bench, kMiddle, [&, peer = qb] { return b.control.fail_qp(peer->qpn()); });
  bench.run_to(Cycle{20'000});
  EXPECT_GT(*busy, 0u);
  const std::size_t good = b.count(WcStatus::kSuccess);
  EXPECT_GT(good, 5u);
  EXPECT_LT(good, 60u);
  ASSERT_EQ(b.completions.size(), 60u);
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(b.completions[i].cqe.wqe_index, i);
    EXPECT_EQ(b.completions[i].cqe.status, i < good ? WcStatus::kSuccess : WcStatus::kFlushed) << i;
  }
}

TEST_F(NicControlTest, AReceivePostedToAFailedQpIsFlushed) {  // R4
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  at(10, [&] { EXPECT_EQ(b.control.fail_qp(qp.qpn()), kDone); });
  at(5000, [&] { post(qp, to, 3, 100); });
  bench.run();
  nics.expect_quiet();
  EXPECT_EQ(b.count(WcStatus::kFlushed), 3u);
}

TEST_F(NicControlTest, AFailedQpOfAnSrqTellsOfItsLastWqe) {  // R4
  HostQp& srq = b.srq_holder(9);
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b, 16, srq.rq);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  post(srq, to, 3, 100);
  at(2000, [&] { EXPECT_EQ(b.control.fail_qp(qp.qpn()), kDone); });
  bench.run();
  nics.expect_quiet();
  EXPECT_TRUE(b.completions.empty());
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].type, EventType::kQpLastWqeReached);
  EXPECT_EQ(b.nic.srq_wqe_fetcher.posted(srq.rq), 3u);
}

// ---- Reset.

TEST_F(NicControlTest, AQpThatWasResetBeginsANewLife) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  a.write(from.va, ByteVector(2000, 0xa5));
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  std::uint32_t ready = 0;
  std::uint64_t before_a = 0, before_b = 0;
  const auto restart = [&](Cycle) {
    if (++ready < 2) return;
    before_a = a.nic.cqe_generator.counters().cqes;
    before_b = b.nic.cqe_generator.counters().cqes;
    EXPECT_EQ(context(b, *qb).state, QpState::kReset);
    EXPECT_EQ(b.nic.srq_wqe_fetcher.posted(qb->rq), 0u);
    reconnect(*qa, *qb, 7000);
    b.receive(*qb, to.piece(60'000, 2500));
    a.send(*qa, {.sges = {from.piece(0, 2000)}});
  };
  const auto busy = repeat(
      bench, kMiddle, [&, peer = qb] { return b.control.reset_qp(peer->qpn()); }, restart);
  repeat(
      bench, kMiddle, [&, peer = qa] { return a.control.reset_qp(peer->qpn()); }, restart);
  bench.run();
  nics.expect_quiet();
  EXPECT_GT(*busy, 0u);
  EXPECT_EQ(ready, 2u);
  EXPECT_LT(before_b, 60u);
  // After the reset nothing of the old life completes.
  ASSERT_EQ(b.completions.size(), before_b + 1);
  EXPECT_EQ(b.completions.back().cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(b.completions.back().cqe.wqe_index, 0u);
  EXPECT_EQ(b.completions.back().cqe.byte_count, 2000u);
  ASSERT_EQ(a.completions.size(), before_a + 1);
  EXPECT_EQ(a.completions.back().cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(b.read(to.va + 60'000, 2000), ByteVector(2000, 0xa5));
}

TEST_F(NicControlTest, AQpInErrorIsResetWithItsFlushUnderWay) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(64 * 1024);
  post(*qb, to, 60, 100);
  std::size_t before = 0;
  at(2000, [&, peer = qb] { EXPECT_EQ(b.control.fail_qp(peer->qpn()), kDone); });
  // Late doorbells are flushed without a context; they are waited for as well.
  at(2150, [&, peer = qb] { post(*peer, to, 4, 100); });
  const auto busy = repeat(
      bench, Cycle{2160}, [&, peer = qb] { return b.control.reset_qp(peer->qpn()); },
      [&](Cycle) { before = b.completions.size(); });
  bench.run();
  EXPECT_GT(*busy, 0u);
  nics.expect_quiet();
  EXPECT_EQ(b.count(WcStatus::kFlushed), b.completions.size());
  // The CQEs were written when the command was done; they become visible a little later.
  EXPECT_LE(b.completions.size() - before, 64u);
  EXPECT_EQ(context(b, *qb).state, QpState::kReset);
}

// ---- R3: what is freed is not touched.

TEST_F(NicControlTest, AFreedQpIsDeafAndItsNumberFree) {  // R3
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  std::size_t before = 0;
  std::uint64_t writes = 0;
  const auto busy = repeat(
      bench, kMiddle, [&, peer = qb] { return b.control.free_qp(peer->qpn()); },
      [&, peer = qb](Cycle) {
        before = b.nic.cqe_generator.counters().cqes;
        writes = b.nic.dma_engine.started(DmaClient::kCqe);
        EXPECT_EQ(b.nic.qp_context_cache.find(peer->qpn()), nullptr);
      });
  const auto queue =
      repeat(bench, Cycle{6000}, [&, peer = qb] { return b.control.free_queue(peer->rq, peer->receive_queue); });
  bench.run_to(Cycle{200'000});
  EXPECT_GT(*busy, 0u);
  EXPECT_GT(before, 0u);
  EXPECT_EQ(b.nic.cqe_generator.counters().cqes, before);
  EXPECT_EQ(b.nic.dma_engine.started(DmaClient::kCqe), writes);
  EXPECT_EQ(b.nic.shared.packets.in_use(), 0u);
  EXPECT_EQ(b.nic.shared.wqes.in_use(), 0u);
  EXPECT_GT(b.nic.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kQpNotFound)], 0u);
  b.expect_canaries();
}

// In the middle of traffic of every kind a region goes away: from the moment the command is done its bytes are the
// program's again.
struct FreedRegionTest : NicControlTest, testing::WithParamInterface<SendOpcode> {};

TEST_P(FreedRegionTest, IsNotTouchedAnyMore) {  // R1, R3
  const auto [qa, qb] = nics.connected(Transport::kRc, 256);
  const HostRegion mine = a.region(64 * 1024), theirs = b.region(64 * 1024);
  const bool atomic = GetParam() == SendOpcode::kFetchAdd || GetParam() == SendOpcode::kAtomicWrite;
  const std::uint32_t bytes = atomic ? 8 : 900;
  for (std::uint32_t i = 0; i < 200; ++i) {
    if (GetParam() == SendOpcode::kSend) b.receive(*qb, theirs.piece(i * 300, bytes));
    Work work;
    work.opcode = GetParam();
    work.sges = {mine.piece(i * 300, bytes)};
    work.va = theirs.va + i * 296;
    work.rkey = theirs.key;
    work.compare_add = 1;
    a.send(*qa, work);
  }
  const ByteVector after(64 * 1024, 0xee);
  Cycle freed{};
  const auto busy = repeat(
      bench, Cycle{3500}, [&] { return b.control.free_region(theirs.key); },
      [&](Cycle now) {
        freed = now;
        b.write(theirs.va, after);
      });
  bench.run_to(Cycle{200'000});
  EXPECT_GT(*busy, 0u) << "the command came into the traffic";
  EXPECT_GT(freed.count, 0u);
  EXPECT_EQ(b.read(theirs.va, after.size()), after);
  b.expect_canaries();
  a.expect_canaries();
  EXPECT_GT(a.count(WcStatus::kSuccess), 3u);
  ASSERT_LT(a.count(WcStatus::kSuccess), 200u);
  const WcStatus expected = GetParam() == SendOpcode::kSend ? WcStatus::kRemoteOperation : WcStatus::kRemoteAccess;
  EXPECT_EQ(a.count(expected), 1u);
  EXPECT_EQ(a.completions.size(), 200u);
}

INSTANTIATE_TEST_SUITE_P(NicControl, FreedRegionTest,
                         testing::Values(SendOpcode::kSend, SendOpcode::kWrite, SendOpcode::kRead,
                                         SendOpcode::kFetchAdd, SendOpcode::kAtomicWrite),
                         [](const auto& kind) {
                           return kind.param == SendOpcode::kSend       ? "Send"
                                  : kind.param == SendOpcode::kWrite    ? "Write"
                                  : kind.param == SendOpcode::kRead     ? "Read"
                                  : kind.param == SendOpcode::kFetchAdd ? "Atomic"
                                                                        : "AtomicWrite";
                         });

TEST_F(NicControlTest, ARegionMayBeRegisteredAgainUnderItsKey) {  // R3
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(4096), old = b.region(4096), other = b.region(4096);
  a.write(from.va, ByteVector(100, 0x5a));
  const auto write = [&, sender = qa] {
    a.send(*sender, {.opcode = SendOpcode::kWrite, .sges = {from.piece(0, 100)}, .va = old.va, .rkey = old.key});
  };
  at(10, write);
  const auto entry = b.memory.load<MptEntry>(mpt_address(old.key));
  const auto pages =
      b.memory.load<std::array<BusAddress, 2>>(BusAddress{b.memory.load<MptEntry>(mpt_address(other.key)).mtt_base});
  repeat(
      bench, Cycle{4000}, [&] { return b.control.free_region(old.key); },
      [&](Cycle) {
        b.write(old.va, ByteVector(100, 1));
        b.control.create_region(entry, pages);  // the same key, other memory
      });
  at(8000, write);
  bench.run();
  EXPECT_EQ(a.count(WcStatus::kSuccess), 2u);
  EXPECT_EQ(b.read(old.va, 100), ByteVector(100, 1));
  EXPECT_EQ(b.read(other.va, 100), ByteVector(100, 0x5a));
}

TEST_F(NicControlTest, AQueueIsBusyWhileItsWqesAreRead) {  // R1, R3
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  post(qp, to, 10, 100);
  std::uint64_t reads = 0;
  at(20, [&] { EXPECT_GT(b.nic.srq_wqe_fetcher.prefetch_counters().reads, 0u); });
  repeat(bench, Cycle{20}, [&] { return b.control.free_qp(qp.qpn()); });
  const auto busy = repeat(
      bench, Cycle{25}, [&] { return b.control.free_queue(qp.rq, qp.receive_queue); },
      [&](Cycle) { reads = b.nic.dma_engine.started(DmaClient::kWqe); });
  bench.run();
  EXPECT_GT(*busy, 5u) << "a read takes 403 ns";
  EXPECT_EQ(b.nic.dma_engine.started(DmaClient::kWqe), reads);
  nics.expect_quiet();
}

// ---- CQs.

TEST_F(NicControlTest, AFreedCqIsNotWrittenAnyMore) {  // R3
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  const CqContext ring = b.cq_context(nics.cq_b);
  const ByteVector after(std::size_t{ring.slots} * 64, 0xee);
  Cycle freed{};
  repeat(
      bench, kMiddle, [&] { return b.control.free_cq(nics.cq_b); },
      [&](Cycle now) {
        freed = now;
        b.memory.write(ring.base, after);
      });
  bench.run();
  EXPECT_GT(freed.count, 0u);
  ByteVector found(after.size());
  b.memory.read(ring.base, found);
  EXPECT_EQ(found, after);
  EXPECT_EQ(a.count(WcStatus::kSuccess), 60u) << "the messages arrive all the same";
}

TEST_F(NicControlTest, ACqIsMadeAnewInTheSamePlace) {
  for (int i = 0; i < 3; ++i) {
    CqContext c;
    c.number = Cqn{40};
    c.base = BusAddress{0xb'0000'0000};
    c.slots = 16;
    b.control.create_cq(c);
    ASSERT_NE(b.nic.cqe_generator.find(Cqn{40}), nullptr);
    EXPECT_EQ(b.control.free_cq(Cqn{40}), kDone);
    EXPECT_EQ(b.nic.cqe_generator.find(Cqn{40}), nullptr);
  }
}

// The program polls late: CQEs wait in the old ring when it is replaced by one of another size.
struct ResizeTest : NicControlTest, testing::WithParamInterface<std::uint32_t> {};

TEST_P(ResizeTest, LosesNoCompletionUnderTraffic) {
  HostQp& qa = a.qp(Transport::kRc, nics.cq_a, 256);
  const Cqn cq = b.cq(128);
  HostQp& qb = b.qp(Transport::kRc, cq, 256);
  a.connect(qa, 1, qb);
  b.connect(qb, 0, qa);
  const HostRegion to = b.region(64 * 1024);
  post(qb, to, 200, 100);
  for (std::uint32_t i = 0; i < 200; ++i) a.send(qa, {.inline_data = ByteVector(1 + i % 64, 1)});
  std::uint32_t resized = 0;
  const auto resize = [&](std::uint64_t from, std::uint32_t slots) {
    at(from, [&, slots] { b.resize(cq, slots); });
    // 30 CQEs or so come while software does not look.
    repeat(
        bench, Cycle{from + 300},
        [&, slots] {
          CqContext c = b.cq_context(cq);
          c.base = b.next_ring(cq);
          c.slots = slots;
          return b.control.resize_cq(c, b.consumer(cq));
        },
        [&](Cycle) {
          ++resized;
          b.switched(cq);
        });
  };
  resize(3000, GetParam());
  resize(4000, 512);
  bench.run();
  nics.expect_quiet();
  EXPECT_EQ(resized, 2u);
  ASSERT_EQ(b.completions.size(), 200u);
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(b.completions[i].cqe.wqe_index, i);
    EXPECT_EQ(b.completions[i].cqe.byte_count, 1 + i % 64);
    EXPECT_EQ(b.completions[i].cqe.status, WcStatus::kSuccess);
  }
}

INSTANTIATE_TEST_SUITE_P(NicControl, ResizeTest, testing::Values(64u, 128u, 256u));

// ---- R6: what there is no room for.

Params small() {
  Params p;
  p.requester.send_queues = 3;
  p.transport_checker.responder_resources = 20;
  p.device.max_srqs = 2;
  p.tag_match_cam.lists = 1;
  return p;
}

struct SmallNicTest : NicControlTest {
  SmallNicTest() : NicControlTest(small()) {}
  CommandResult create(std::uint32_t qpn) {
    QpContext c;
    c.qpn = Qpn{qpn};
    c.transport = Transport::kRc;
    return b.control.create_qp(c, {BusAddress{0x1000}, 16, 64, false});
  }
  CommandResult ready(std::uint32_t qpn, QpState state, std::uint8_t resources) {
    SendQpContext c;
    c.qp.qpn = Qpn{qpn};
    c.qp.transport = Transport::kRc;
    c.qp.state = state;
    c.qp.max_dest_rd_atomic = resources;
    return b.control.modify_qp(c, false, {}, false);
  }
  WqId srq(std::uint32_t number, bool tag_matching) {
    WqContext c;
    c.kind = WqKind::kSrq;
    c.number = number;
    c.base = BusAddress{0x10000};
    c.slots = 16;
    c.stride = 64;
    c.tag_matching = tag_matching;
    return b.control.create_queue(c);
  }
};

TEST_F(SmallNicTest, OneQpMoreIsRefusedUntilOneIsGone) {  // R6
  for (std::uint32_t n = 1; n < 4; ++n) EXPECT_EQ(create(n), kDone);
  EXPECT_EQ(create(4), kNoRoom);
  QpContext c;
  EXPECT_EQ(b.control.read_qp(Qpn{4}, c), kDone);
  EXPECT_EQ(c.valid, 0) << "nothing has changed";
  repeat(bench, Cycle{10}, [&] { return b.control.free_qp(Qpn{2}); });
  at(5000, [&] {
    EXPECT_EQ(create(4), kDone);
    EXPECT_EQ(create(5), kNoRoom);
  });
  bench.run();
}

TEST_F(SmallNicTest, AQpHasItsResourcesFromReadinessToReset) {  // R6
  for (std::uint32_t n = 1; n < 4; ++n) EXPECT_EQ(create(n), kDone);
  EXPECT_EQ(ready(1, QpState::kInit, 16), kDone);
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 20u);
  EXPECT_EQ(ready(1, QpState::kRtr, 16), kDone);
  EXPECT_EQ(ready(2, QpState::kRtr, 5), kNoRoom);
  EXPECT_EQ(ready(2, QpState::kRtr, 4), kDone);
  EXPECT_EQ(ready(1, QpState::kRts, 16), kDone) << "it has them";
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 0u);
  EXPECT_EQ(ready(1, QpState::kSqd, 10), kDone) << "fewer";
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 6u);
  repeat(bench, Cycle{10}, [&] { return b.control.reset_qp(Qpn{1}); });
  repeat(bench, Cycle{10}, [&] { return b.control.free_qp(Qpn{2}); });
  bench.run();
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 20u);
}

TEST_F(SmallNicTest, OneSrqMoreIsRefusedUntilOneIsGone) {  // R6
  const WqId tagged = srq(1, true);
  EXPECT_NE(tagged, kNoWq);
  EXPECT_EQ(srq(2, true), kNoWq) << "there is one list";
  EXPECT_NE(srq(2, false), kNoWq);
  EXPECT_EQ(srq(3, false), kNoWq);
  WqContext gone;
  gone.kind = WqKind::kSrq;
  gone.number = 1;
  gone.tag_matching = true;
  repeat(bench, Cycle{10}, [&] { return b.control.free_queue(tagged, gone); });
  bench.run();
  EXPECT_NE(srq(3, true), kNoWq);
}

}  // namespace
}  // namespace rxnic
