// SPDX-License-Identifier: Apache-2.0
// Rules R2..R7 and R10 of model/blocks/command_processor.h on whole NICs with traffic: what a command changes, and what
// it leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "testbench/unit/model/nic/model_blocks.h"
#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::nic_commands_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;
constexpr Cycle kMiddle{2000};  // of sixty messages of 1000 bytes
using ByteVector = std::vector<std::uint8_t>;

struct NicCommandsTest : testing::Test {
  explicit NicCommandsTest(const Params& params = with_fast_commands()) : nics(bench, params) {}
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
  using Command = std::function<Ticket(CommandQueue&)>;
  std::shared_ptr<Given> command(TestHost& host, std::uint64_t from, Command what,
                                 std::function<void(Cycle)> then = {}) {
    return give(bench, host, Cycle{from}, std::move(what), std::move(then));
  }
  // The present context, in the cache or in memory.
  StoredQpContext context(TestHost& host, const HostQp& qp) {
    const QpContext* const here = context_cache_of(host.nic).find(qp.qpn());
    if (here != nullptr) return *here;
    return host.memory.load<StoredQpContext>(qp_context_address(qp.qpn()));
  }
  // Makes both QPs a new connection with these PSNs; `then` is called when both sides are ready.
  void reconnect(HostQp& qa, HostQp& qb, std::uint32_t psn, std::function<void()> then) {
    auto left = std::make_shared<int>(2);
    for (const auto& [host, qp] : {std::pair{&a, &qa}, std::pair{&b, &qb}}) {
      qp->sends = qp->receives = 0;
      qp->software.qp.state = QpState::kRts;
      qp->software.sq_psn = psn;
      host->give(host->driver.modify_qp(qp->software, {true, Psn{psn}, true}),
                 [left, then](const CommandReply& reply, Cycle) {
                   EXPECT_EQ(reply.status, CommandStatus::kDone);
                   if (--*left == 0) then();
                 });
    }
  }
};

// ---- Contexts.

TEST_F(NicCommandsTest, AContextIsQueriedAndChangedWhileItsQpReceives) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  post(*qb, to, 2, 200);
  a.send(*qa, {.inline_data = ByteVector(8, 1)});
  std::vector<std::shared_ptr<Given>> queries;
  for (std::uint64_t cycle = 10; cycle < 2000; cycle += 50) {
    queries.push_back(command(b, cycle, [peer = qb](CommandQueue& driver) { return driver.query_qp(peer->qpn()); }));
  }
  const auto modified = command(b, 5000, [peer = qb](CommandQueue& driver) {
    peer->software.qp.min_rnr_timer = 7;
    return driver.modify_qp(peer->software, {});
  });
  // The receive path's state of the QP is not changed: the next message is in order.
  at(8000, [&, from = qa] { a.send(*from, {.inline_data = ByteVector(8, 2)}); });
  bench.run();
  nics.expect_quiet();
  const std::uint32_t first = 100 * raw(qa->qpn());
  for (const auto& query : queries) {
    ASSERT_TRUE(query->is_done());
    EXPECT_EQ(query->reply.status, CommandStatus::kDone);
    EXPECT_EQ(query->reply.number, static_cast<std::uint32_t>(QpState::kRts));
    EXPECT_TRUE(query->reply.value == first || query->reply.value == first + 1);
  }
  EXPECT_EQ(queries.back()->reply.value, first + 1);
  EXPECT_EQ(modified->reply.status, CommandStatus::kDone);
  EXPECT_EQ(context(b, *qb).min_rnr_timer, 7);
  EXPECT_EQ(b.count(WcStatus::kSuccess), 2u);
}

TEST_F(NicCommandsTest, WhatDoesNotExistIsAnsweredAndChangesNothing) {  // R5
  std::vector<std::shared_ptr<Given>> given;
  const auto no = [&](Command what) { given.push_back(command(b, 10, std::move(what))); };
  no([](CommandQueue& driver) { return driver.fail_qp(Qpn{77}); });
  no([](CommandQueue& driver) { return driver.query_qp(Qpn{77}); });
  no([](CommandQueue& driver) { return driver.reset_qp(Qpn{77}); });
  no([](CommandQueue& driver) { return driver.free_qp(Qpn{77}); });
  no([](CommandQueue& driver) { return driver.free_region(Key{0x7700}); });
  no([](CommandQueue& driver) { return driver.free_cq(Cqn{77}); });
  no([](CommandQueue& driver) { return driver.query_queue(WqId{77}); });
  no([](CommandQueue& driver) { return driver.arm_limit(WqId{77}, 1); });
  no([](CommandQueue& driver) { return driver.free_queue(WqId{77}, WqContext{}); });
  no([](CommandQueue& driver) {
    CqContext cq;
    cq.number = Cqn{77};
    cq.slots = 16;
    return driver.resize_cq(cq, 0);
  });
  no([](CommandQueue& driver) {
    SendQpContext qp;
    qp.qp.qpn = Qpn{77};
    return driver.modify_qp(qp, {});
  });
  bench.run();
  for (const auto& g : given) {
    ASSERT_TRUE(g->is_done());
    EXPECT_EQ(g->reply.status, CommandStatus::kNoObject);
  }
  EXPECT_EQ(b.nic.command_processor.counters().no_object, given.size());
  EXPECT_EQ(b.nic.command_processor.counters().bytes_written, 0u);
}

// ---- R4: errors.

TEST_F(NicCommandsTest, AFailedQpFlushesBothQueuesInOrder) {  // R4
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  post(*qb, to, 5, 100);
  // The other side does not respond: requests wait for their acknowledgement.
  at(10, [&, from = qb, qa = qa] {
    a.give(a.driver.fail_qp(qa->qpn()));
    for (int i = 0; i < 3; ++i) b.send(*from, {.flags = 0, .inline_data = ByteVector(8, 1)});
  });
  command(b, 3000, [peer = qb](CommandQueue& driver) { return driver.fail_qp(peer->qpn()); });
  const auto again = command(b, 9000, [peer = qb](CommandQueue& driver) { return driver.fail_qp(peer->qpn()); });
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
  EXPECT_EQ(again->reply.status, CommandStatus::kDone) << "again: nothing more to do";
}

TEST_F(NicCommandsTest, PacketsThatWereCheckedAreCarriedOutBeforeTheFlush) {  // R1, R4
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  const auto failed =
      command(b, kMiddle.count, [peer = qb](CommandQueue& driver) { return driver.fail_qp(peer->qpn()); });
  bench.run_to(Cycle{20'000});
  EXPECT_TRUE(failed->is_done());
  const std::size_t good = b.count(WcStatus::kSuccess);
  EXPECT_GT(good, 5u);
  EXPECT_LT(good, 60u);
  ASSERT_EQ(b.completions.size(), 60u);
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(b.completions[i].cqe.wqe_index, i);
    EXPECT_EQ(b.completions[i].cqe.status, i < good ? WcStatus::kSuccess : WcStatus::kFlushed) << i;
  }
}

TEST_F(NicCommandsTest, AReceivePostedToAFailedQpIsFlushed) {  // R4
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  command(b, 10, [&](CommandQueue& driver) { return driver.fail_qp(qp.qpn()); });
  at(5000, [&] { post(qp, to, 3, 100); });
  bench.run();
  nics.expect_quiet();
  EXPECT_EQ(b.count(WcStatus::kFlushed), 3u);
}

TEST_F(NicCommandsTest, AFailedQpOfAnSrqReportsItsLastWqe) {  // R4
  HostQp& srq = b.srq_holder(9);
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b, 16, srq.rq);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  post(srq, to, 3, 100);
  command(b, 2000, [&](CommandQueue& driver) { return driver.fail_qp(qp.qpn()); });
  bench.run();
  nics.expect_quiet();
  EXPECT_TRUE(b.completions.empty());
  ASSERT_EQ(b.events.size(), 1u);
  EXPECT_EQ(b.events[0].type, EventType::kQpLastWqeReached);
  EXPECT_EQ(fetcher_of(b.nic).posted(srq.rq), 3u);
}

// ---- Reset.

TEST_F(NicCommandsTest, AQpThatWasResetBeginsANewLife) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  a.write(from.va, ByteVector(2000, 0xa5));
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  std::uint32_t ready = 0;
  std::uint64_t before_a = 0, before_b = 0;
  const auto restart = [&, qa = qa, qb = qb](Cycle) {
    if (++ready < 2) return;
    before_a = a.nic.cqe_generator.counters().cqes;
    before_b = b.nic.cqe_generator.counters().cqes;
    EXPECT_EQ(context(b, *qb).state, QpState::kReset);
    EXPECT_EQ(fetcher_of(b.nic).posted(qb->rq), 0u);
    reconnect(*qa, *qb, 7000, [&, qa, qb] {
      b.receive(*qb, to.piece(60'000, 2500));
      a.send(*qa, {.sges = {from.piece(0, 2000)}});
    });
  };
  const auto reset = command(
      b, kMiddle.count, [peer = qb](CommandQueue& driver) { return driver.reset_qp(peer->qpn()); }, restart);
  command(
      a, kMiddle.count, [peer = qa](CommandQueue& driver) { return driver.reset_qp(peer->qpn()); }, restart);
  bench.run();
  nics.expect_quiet();
  EXPECT_TRUE(reset->is_done());
  EXPECT_EQ(ready, 2u);
  EXPECT_LT(before_b, 60u);
  // After the reset no request from before it completes.
  ASSERT_EQ(b.completions.size(), before_b + 1);
  EXPECT_EQ(b.completions.back().cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(b.completions.back().cqe.wqe_index, 0u);
  EXPECT_EQ(b.completions.back().cqe.byte_count, 2000u);
  ASSERT_EQ(a.completions.size(), before_a + 1);
  EXPECT_EQ(a.completions.back().cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(b.read(to.va + 60'000, 2000), ByteVector(2000, 0xa5));
}

TEST_F(NicCommandsTest, AQpInErrorIsResetWithItsFlushUnderWay) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(64 * 1024);
  post(*qb, to, 60, 100);
  std::size_t before = 0;
  command(b, 2000, [peer = qb](CommandQueue& driver) { return driver.fail_qp(peer->qpn()); });
  // WQEs of late doorbells are flushed without a context; the command waits for them as well.
  at(2150, [&, peer = qb] { post(*peer, to, 4, 100); });
  const auto reset = command(
      b, 2160, [peer = qb](CommandQueue& driver) { return driver.reset_qp(peer->qpn()); },
      [&](Cycle) { before = b.completions.size(); });
  bench.run();
  EXPECT_TRUE(reset->is_done());
  nics.expect_quiet();
  EXPECT_EQ(b.count(WcStatus::kFlushed), b.completions.size());
  // The CQEs had been written when the command was done; the program sees them a little later.
  EXPECT_LE(b.completions.size() - before, 64u);
  EXPECT_EQ(context(b, *qb).state, QpState::kReset);
}

// ---- R3: freed memory is not accessed.

TEST_F(NicCommandsTest, AFreedQpIsDeafAndItsNumberFree) {  // R3
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  std::size_t before = 0;
  std::uint64_t writes = 0;
  const auto freed = command(
      b, kMiddle.count, [peer = qb](CommandQueue& driver) { return driver.free_qp(peer->qpn()); },
      [&, peer = qb](Cycle) {
        before = b.nic.cqe_generator.counters().cqes;
        writes = b.nic.dma_engine.started(DmaClient::kCqe);
        EXPECT_EQ(context_cache_of(b.nic).find(peer->qpn()), nullptr);
      });
  const auto queue =
      command(b, 6000, [peer = qb](CommandQueue& driver) { return driver.free_queue(peer->rq, peer->receive_queue); });
  bench.run_to(Cycle{200'000});
  EXPECT_TRUE(freed->is_done() && queue->is_done());
  EXPECT_GT(before, 0u);
  EXPECT_EQ(b.nic.cqe_generator.counters().cqes, before);
  EXPECT_EQ(b.nic.dma_engine.started(DmaClient::kCqe), writes);
  EXPECT_EQ(b.nic.shared.packets.in_use(), 0u);
  EXPECT_EQ(fetcher_of(b.nic).wqes_in_use(), 0u);
  EXPECT_GT(b.nic.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kQpNotFound)], 0u);
  b.expect_canaries();
}

// In the middle of traffic of every kind a region is freed. From the moment the command is done the region's bytes
// belong to the program again.
struct FreedRegionTest : NicCommandsTest, testing::WithParamInterface<SendOpcode> {};

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
  const auto command_given = command(
      b, 3500, [&](CommandQueue& driver) { return driver.free_region(theirs.key); },
      [&](Cycle now) {
        freed = now;
        b.write(theirs.va, after);
      });
  bench.run_to(Cycle{200'000});
  EXPECT_EQ(command_given->reply.status, CommandStatus::kDone);
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

INSTANTIATE_TEST_SUITE_P(NicCommands, FreedRegionTest,
                         testing::Values(SendOpcode::kSend, SendOpcode::kWrite, SendOpcode::kRead,
                                         SendOpcode::kFetchAdd, SendOpcode::kAtomicWrite),
                         [](const auto& kind) {
                           return kind.param == SendOpcode::kSend       ? "Send"
                                  : kind.param == SendOpcode::kWrite    ? "Write"
                                  : kind.param == SendOpcode::kRead     ? "Read"
                                  : kind.param == SendOpcode::kFetchAdd ? "Atomic"
                                                                        : "AtomicWrite";
                         });

// As FreedRegionTest for the requester's reads, which wait for the only tag, with the command in any phase of them.
struct FreedSenderTest : NicCommandsTest, testing::WithParamInterface<std::uint32_t> {
  static Params with_one_tag() {
    Params p = with_fast_commands();
    p.dma_engine.tags = 1;
    return p;
  }
  FreedSenderTest()
      : NicCommandsTest(with_one_tag()),
        qps(nics.connected(Transport::kRc, 256)),
        mine(a.region(64 * 1024)),
        theirs(b.region(64 * 1024)) {
    a.write(mine.va, ByteVector(mine.bytes, 0x11));
    b.write(theirs.va, ByteVector(theirs.bytes, 0));
    for (std::uint32_t n = 0; n < kSends; ++n) {
      Work work;
      work.opcode = SendOpcode::kWrite;
      work.sges = {mine.piece(n * 1000, 500), mine.piece(n * 1000 + 500, 500)};
      work.va = theirs.va + n * 1000;
      work.rkey = theirs.key;
      a.send(*qps.first, work);
    }
  }
  static constexpr std::uint32_t kSends = 60;
  std::uint64_t started() const {
    return a.nic.dma_engine.started(DmaClient::kSendPayload) + a.nic.dma_engine.started(DmaClient::kSendWqe);
  }
  std::pair<HostQp*, HostQp*> qps;
  HostRegion mine, theirs;
};

TEST_P(FreedSenderTest, NoByteOfAFreedRegionIsSent) {  // R3
  const auto given = command(
      a, 1200 + GetParam(), [&](CommandQueue& driver) { return driver.free_region(mine.key); },
      [&](Cycle) { a.write(mine.va, ByteVector(mine.bytes, 0xee)); });
  bench.run_to(Cycle{200'000});
  EXPECT_EQ(given->reply.status, CommandStatus::kDone);
  const ByteVector arrived = b.read(theirs.va, theirs.bytes);
  EXPECT_GT(std::count(arrived.begin(), arrived.end(), 0x11), 0);
  EXPECT_EQ(std::count(arrived.begin(), arrived.end(), 0xee), 0);
  EXPECT_EQ(a.count(WcStatus::kLocalProtection), 1u);
}

TEST_P(FreedSenderTest, NothingIsReadForAFreedQp) {  // R3
  std::uint64_t before = 0;
  const auto given = command(
      a, 1200 + GetParam(), [&](CommandQueue& driver) { return driver.free_qp(qps.first->qpn()); },
      [&](Cycle) { before = started(); });
  bench.run_to(Cycle{200'000});
  EXPECT_EQ(given->reply.status, CommandStatus::kDone);
  EXPECT_GT(before, 0u);
  EXPECT_EQ(started(), before);
  EXPECT_EQ(a.nic.shared.packets.in_use(), 0u);
}

// The requester reads the table of regions by itself, in the cycle in which the DMA engine writes it or in another one.
TEST(NicCommands, AFreedRegionOfASenderIsGoneInTheSameCycleInAllOrders) {
  expect_equal_in_all_orders(
      [](Bench& bench) {
        TwoNics nics(bench, with_fast_commands());
        TestHost& a = nics.a;
        const HostRegion to = nics.b.region(64 * 1024);
        // A message's first packets are made every other cycle; one of these bursts meets the write.
        for (std::uint64_t n = 0; n < 32; ++n) {
          HostQp* const qp = nics.connected(Transport::kUc).first;
          const HostRegion mine = a.region(64 * 1024);
          const std::uint64_t from = 10 + 4000 * n;
          give(bench, a, Cycle{from}, [mine](CommandQueue& d) { return d.free_region(mine.key); });
          bench.at(Cycle{from + 90 + 3 * n}, [&a, qp, mine, to](Cycle) {
            a.send(*qp, {.opcode = SendOpcode::kWrite, .sges = {mine.piece(0, 60'000)}, .va = to.va, .rkey = to.key});
          });
        }
        bench.run();
        return bench.state_hash();
      },
      kPeriodPs);
}

INSTANTIATE_TEST_SUITE_P(NicCommands, FreedSenderTest, testing::Range(0u, 4000u, 500u));

TEST_F(NicCommandsTest, ARegionMayBeRegisteredAgainUnderItsKey) {  // R3
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
  command(
      b, 4000, [&](CommandQueue& driver) { return driver.free_region(old.key); },
      [&](Cycle) {
        b.write(old.va, ByteVector(100, 1));
        b.give(b.driver.create_region(entry, pages));  // the same key, other memory
      });
  at(8000, write);
  bench.run();
  EXPECT_EQ(a.count(WcStatus::kSuccess), 2u);
  EXPECT_EQ(b.read(old.va, 100), ByteVector(100, 1));
  EXPECT_EQ(b.read(other.va, 100), ByteVector(100, 0x5a));
}

TEST_F(NicCommandsTest, AFreedQueueIsNotReadAnyMore) {  // R3
  HostQp& qp = b.qp(Transport::kRc, nics.cq_b);
  b.connect(qp, 0, qp);
  const HostRegion to = b.region(4096);
  post(qp, to, 10, 100);
  std::uint64_t reads = 0;
  at(20, [&] { EXPECT_GT(b.nic.srq_wqe_fetcher.prefetch_counters().reads, 0u); });
  command(b, 20, [&](CommandQueue& driver) { return driver.free_qp(qp.qpn()); });
  const auto freed = command(
      b, 20, [&](CommandQueue& driver) { return driver.free_queue(qp.rq, qp.receive_queue); },
      [&](Cycle) { reads = b.nic.dma_engine.started(DmaClient::kWqe); });
  at(20'000, [&] { post(qp, to, 10, 100); });  // the program does not know
  bench.run();
  EXPECT_EQ(freed->reply.status, CommandStatus::kDone);
  EXPECT_EQ(b.nic.dma_engine.started(DmaClient::kWqe), reads);
  nics.expect_quiet();
}

// ---- CQs.

TEST_F(NicCommandsTest, AFreedCqIsNotWrittenAnyMore) {  // R3
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024);
  post(*qb, to, 60, 1000);
  for (int i = 0; i < 60; ++i) a.send(*qa, {.sges = {from.piece(0, 1000)}});
  const CqContext ring = b.cq_context(nics.cq_b);
  const ByteVector after(std::size_t{ring.slots} * 64, 0xee);
  Cycle freed{};
  command(
      b, kMiddle.count, [&](CommandQueue& driver) { return driver.free_cq(nics.cq_b); },
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

TEST_F(NicCommandsTest, ACqIsMadeAnewInTheSamePlace) {
  for (int i = 0; i < 3; ++i) {
    CqContext c;
    c.number = Cqn{40};
    c.base = BusAddress{0xb'0000'0000};
    c.slots = 16;
    const std::uint64_t from = 10 + 5000u * static_cast<std::uint64_t>(i);
    command(
        b, from, [c](CommandQueue& driver) { return driver.create_cq(c); },
        [&](Cycle) { EXPECT_NE(cqe_generator_of(b.nic).find(Cqn{40}), nullptr); });
    command(b, from + 2500, [](CommandQueue& driver) { return driver.free_cq(Cqn{40}); });
  }
  std::vector<std::shared_ptr<Given>> at_once;
  for (int i = 0; i < 3; ++i) {
    CqContext c;
    c.number = Cqn{40};
    c.base = BusAddress{0xb'0000'0000};
    c.slots = 16;
    at_once.push_back(command(b, 20'000, [c](CommandQueue& driver) { return driver.create_cq(c); }));
    at_once.push_back(command(b, 20'000, [](CommandQueue& driver) { return driver.free_cq(Cqn{40}); }));
  }
  bench.run();
  for (const auto& given : at_once) EXPECT_EQ(given->reply.status, CommandStatus::kDone);
  EXPECT_EQ(cqe_generator_of(b.nic).find(Cqn{40}), nullptr);
}

// The program polls late: CQEs wait in the old ring when it is replaced by one of another size.
struct ResizeTest : NicCommandsTest, testing::WithParamInterface<std::tuple<std::uint32_t, std::uint32_t>> {
  static Params with_stride() {
    Params p = with_fast_commands();
    p.cqe_generator.cqe_bytes = std::get<1>(GetParam());
    return p;
  }
  ResizeTest() : NicCommandsTest(with_stride()) {}
};

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
    // About 30 CQEs come while software does not poll: until the reply is in its memory.
    command(
        b, from + 50,
        [&, slots](CommandQueue& driver) {
          CqContext c = b.cq_context(cq);
          c.base = b.next_ring(cq);
          c.slots = slots;
          return driver.resize_cq(c, b.consumer(cq));
        },
        [&](Cycle) {
          ++resized;
          b.switched(cq);
        });
  };
  resize(3000, std::get<0>(GetParam()));
  resize(5000, 512);
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

// Slots of the new ring, bytes of a slot.
INSTANTIATE_TEST_SUITE_P(NicCommands, ResizeTest,
                         testing::Combine(testing::Values(64u, 128u, 256u), testing::Values(64u, 128u)));

TEST_F(NicCommandsTest, ACqIsNotResizedToLessThanItHolds) {  // R7
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(64 * 1024);
  post(*qb, to, 20, 100);
  at(5, [&] { b.resize(nics.cq_b, 16); });  // the program does not poll
  for (int i = 0; i < 20; ++i) a.send(*qa, {.inline_data = ByteVector(8, 1)});
  const auto resized = command(b, 20'000, [&](CommandQueue& driver) {
    CqContext c = b.cq_context(nics.cq_b);
    c.base = b.next_ring(nics.cq_b);
    c.slots = 16;
    return driver.resize_cq(c, 0);
  });
  bench.run();
  EXPECT_EQ(resized->reply.status, CommandStatus::kRefused);
  EXPECT_EQ(cqe_generator_of(b.nic).find(nics.cq_b)->context().slots, 256u);
  EXPECT_EQ(b.nic.command_processor.counters().refused, 1u);
}

// ---- Other orders and modes: commands of every kind in the middle of traffic.

TEST(NicCommands, StepOrderAndModeDoNotMatter) {
  expect_equal_in_all_orders(
      [](Bench& bench) {
        TwoNics nics(bench, with_fast_commands());
        TestHost &a = nics.a, &b = nics.b;
        std::vector<std::pair<HostQp*, HostQp*>> qps;
        const HostRegion from = a.region(64 * 1024), to = b.region(64 * 1024), other = b.region(64 * 1024);
        for (int i = 0; i < 4; ++i) {
          qps.push_back(nics.connected(Transport::kRc));
          SendQpContext& software = qps.back().first->software;
          software.timeout = 3;
          software.retry_count = 1;
          a.nic.requester->modify(software, false);
        }
        for (std::uint32_t n = 0; n < 20; ++n) {
          for (const auto& [qa, qb] : qps) {
            b.receive(*qb, to.piece(n * 1000, 1000));
            a.send(*qa, {.sges = {from.piece(0, 900)}});
            a.send(*qa, {.opcode = SendOpcode::kRead, .sges = {from.piece(0, 900)}, .va = other.va, .rkey = other.key});
          }
        }
        std::vector<std::shared_ptr<Given>> given;
        const auto command = [&](TestHost& host, std::uint64_t from_cycle, std::function<Ticket(CommandQueue&)> what) {
          given.push_back(give(bench, host, Cycle{from_cycle}, std::move(what)));
        };
        command(b, 1500, [&](CommandQueue& d) { return d.query_qp(qps[0].second->qpn()); });
        command(b, 1700, [&](CommandQueue& d) { return d.modify_qp(qps[1].second->software, {}); });
        command(b, 2000, [&](CommandQueue& d) { return d.fail_qp(qps[2].second->qpn()); });
        command(b, 2100, [&](CommandQueue& d) { return d.reset_qp(qps[2].second->qpn()); });
        command(b, 2200, [&](CommandQueue& d) { return d.free_qp(qps[3].second->qpn()); });
        command(b, 2200,
                [&](CommandQueue& d) { return d.free_queue(qps[3].second->rq, qps[3].second->receive_queue); });
        command(b, 2300, [&](CommandQueue& d) { return d.free_region(other.key); });
        command(b, 2400, [&](CommandQueue& d) {
          b.resize(nics.cq_b, 512);
          CqContext c = b.cq_context(nics.cq_b);
          c.base = b.next_ring(nics.cq_b);
          c.slots = 512;
          return d.resize_cq(c, b.consumer(nics.cq_b));
        });
        command(a, 2500, [&](CommandQueue& d) {
          return d.silence_qps(std::array{qps[0].first->qpn(), qps[1].first->qpn()});
        });
        command(a, 2600, [&](CommandQueue& d) { return d.free_qp(qps[3].first->qpn()); });
        command(a, 2600, [&](CommandQueue& d) { return d.free_region(from.key); });
        command(a, 2600, [&](CommandQueue& d) { return d.free_cq(nics.cq_a); });
        bench.run();
        for (const auto& g : given) EXPECT_TRUE(g->is_done());
        StateHash h;
        for (const auto& g : given) h.mix(g->done.count);
        h.mix(bench.state_hash());
        return h.value();
      },
      kPeriodPs);
}

// ---- R10: objects for which there is no room.

Params small() {
  Params p = with_fast_commands();
  p.requester.send_queues = 3;
  p.transport_checker.responder_resources = 20;
  p.device.max_srqs = 2;
  p.tag_match_cam.lists = 1;
  p.rx_parser.own_addresses = 2;  // one is the port's
  return p;
}

struct SmallNicTest : NicCommandsTest {
  SmallNicTest() : NicCommandsTest(small()) {}
  using Answer = std::shared_ptr<Given>;
  Answer create(std::uint64_t from, std::uint32_t qpn, QpState state = QpState::kReset, std::uint8_t resources = 1) {
    SendQpContext c = context(qpn, state, resources);
    c.queue = {BusAddress{0x1000}, 16, 64, false};
    return command(b, from, [c](CommandQueue& d) { return d.create_qp(c); });
  }
  Answer change(std::uint64_t from, std::uint32_t qpn, QpState state, std::uint8_t resources) {
    return command(b, from, [c = context(qpn, state, resources)](CommandQueue& d) { return d.modify_qp(c, {}); });
  }
  Answer free(std::uint64_t from, std::uint32_t qpn) {
    return command(b, from, [qpn](CommandQueue& d) { return d.free_qp(Qpn{qpn}); });
  }
  static WqContext srq_context(std::uint32_t number, bool tag_matching) {
    WqContext c;
    c.kind = WqKind::kSrq;
    c.number = number;
    c.base = BusAddress{0x10000};
    c.slots = 16;
    c.stride = 64;
    c.tag_matching = tag_matching;
    return c;
  }
  Answer srq(std::uint64_t from, std::uint32_t number, bool tag_matching) {
    return command(b, from, [c = srq_context(number, tag_matching)](CommandQueue& d) { return d.create_queue(c); });
  }
  void expect(const Answer& answer, CommandStatus status) {
    ASSERT_TRUE(answer->is_done());
    EXPECT_EQ(answer->reply.status, status);
  }

  std::vector<std::uint32_t> left;

 private:
  static SendQpContext context(std::uint32_t qpn, QpState state, std::uint8_t resources) {
    SendQpContext c;
    c.qp.qpn = Qpn{qpn};
    c.qp.transport = Transport::kRc;
    c.qp.state = state;
    c.qp.max_dest_rd_atomic = resources;
    return c;
  }
};

TEST_F(SmallNicTest, OneQpMoreIsRefusedUntilOneIsGone) {  // R10
  for (std::uint32_t n = 1; n < 4; ++n) create(5, n);
  const auto fourth = create(6, 4, QpState::kRtr, 16);
  const auto none = command(b, 7, [](CommandQueue& d) { return d.query_qp(Qpn{4}); });
  free(5000, 2);
  const auto again = create(5001, 4), fifth = create(5002, 5);
  bench.run();
  expect(fourth, CommandStatus::kNoRoom);
  expect(none, CommandStatus::kNoObject);  // nothing has changed
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 20u) << "its entries are not kept either";
  expect(again, CommandStatus::kDone);
  expect(fifth, CommandStatus::kNoRoom);
  EXPECT_EQ(b.nic.command_processor.counters().no_room, 2u);
}

TEST_F(SmallNicTest, AQpHasItsResourcesFromReadinessToReset) {  // R10
  for (std::uint32_t n = 1; n < 4; ++n) create(5, n);
  const auto resources_left = [&](Cycle now) {
    bench.at(now, [&](Cycle) { left.push_back(b.nic.transport_checker.resources_left()); });
  };
  change(1000, 1, QpState::kInit, 16);
  resources_left(Cycle{3000});
  const auto ready = change(4000, 1, QpState::kRtr, 16);
  const auto too_many = change(4001, 2, QpState::kRtr, 5), enough = change(4002, 2, QpState::kRtr, 4);
  const auto has_them = change(4003, 1, QpState::kRts, 16);
  resources_left(Cycle{10'000});
  const auto fewer = change(11'000, 1, QpState::kSqd, 10);
  resources_left(Cycle{14'000});
  command(b, 15'000, [](CommandQueue& d) { return d.reset_qp(Qpn{1}); });
  free(15'001, 2);
  bench.run();
  expect(ready, CommandStatus::kDone);
  expect(too_many, CommandStatus::kNoRoom);
  expect(enough, CommandStatus::kDone);
  expect(has_them, CommandStatus::kDone);
  expect(fewer, CommandStatus::kDone);
  EXPECT_EQ(left, (std::vector<std::uint32_t>{20, 0, 6}));
  EXPECT_EQ(b.nic.transport_checker.resources_left(), 20u);
}

TEST_F(SmallNicTest, OneSrqMoreIsRefusedUntilOneIsGone) {  // R10
  const auto tagged = srq(5, 1, true), no_list = srq(6, 2, true), plain = srq(7, 2, false), third = srq(8, 3, false);
  bench.at(Cycle{10'000}, [&](Cycle) {
    ASSERT_TRUE(tagged->is_done());
    const WqId queue{tagged->reply.number};
    b.give(b.driver.free_queue(queue, srq_context(1, true)));
  });
  const auto again = srq(15'000, 3, true);
  bench.run();
  expect(tagged, CommandStatus::kDone);
  expect(no_list, CommandStatus::kNoRoom);
  expect(plain, CommandStatus::kDone);
  expect(third, CommandStatus::kNoRoom);
  expect(again, CommandStatus::kDone);
}

TEST_F(SmallNicTest, OneQpMoreInAGroupIsRefused) {  // R10
  const auto attach = [&](std::uint64_t from, std::uint32_t group) {
    return command(b, from, [group](CommandQueue& d) { return d.attach_multicast(Address::ipv4(group), Qpn{0x11}); });
  };
  const auto first = attach(5, 0xe0000001), second = attach(6, 0xe0000002);
  bench.run();
  expect(first, CommandStatus::kDone);
  expect(second, CommandStatus::kNoRoom);
}

}  // namespace
}  // namespace rxnic::nic_commands_test
