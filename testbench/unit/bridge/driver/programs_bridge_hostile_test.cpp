// SPDX-License-Identifier: Apache-2.0
// A program that sends garbage, or overwrites its rings and doorbells at random, harms only itself (driver.h R1). Two
// others work as if it did not exist.
#include <gtest/gtest.h>

#include <random>

#include "bridge/channel/tag_ring.h"
#include "testbench/unit/bridge/driver/bridge_program.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::programs_bridge_hostile_test {
namespace {

using channel::Request;

class Hostile : public testing::Test {
 protected:
  Hostile() : lab(2), honest(lab, QpType::kRc, 0, 1), hostile(lab, 0), accomplice(lab, 1), random(test_seed(20261121)) {
    for (Program* p : {&hostile, &accomplice}) {
      pds.push_back(p->create_pd());
      cqs.push_back(p->create_cq());
      buffers.push_back(p->local(1 << 16));
      keys.push_back(p->create_mr(pds.back(), buffers.back(), 1 << 16));
    }
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }
  // A number that an attacker would try.
  std::uint64_t number() {
    static constexpr std::uint64_t kNice[] = {0,
                                              1,
                                              2,
                                              3,
                                              63,
                                              64,
                                              4096,
                                              0x11,
                                              0x12,
                                              0x13,
                                              0xff'ffff,
                                              0xffff'ffff,
                                              ~std::uint64_t{0},
                                              channel::kHeapOffset,
                                              channel::kMappingBytes};
    switch (below(4)) {
      case 0:
        return random();
      case 1:
        return kNice[below(std::size(kNice))];
      case 2:
        return std::uint64_t{1} << below(64);
      default:
        return below(256);
    }
  }
  // Random bytes in a few places, or everywhere.
  void scribble(std::uint8_t* at, std::size_t bytes) {
    const std::uint32_t pieces = below(4) == 0 ? 200 : 1 + below(6);
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const std::uint64_t value = number();
      const std::size_t n = std::min<std::size_t>(bytes, std::size_t{1} << below(4));
      std::memcpy(at + below(static_cast<std::uint32_t>(bytes - n + 1)), &value, n);
    }
  }
  void expect_honest_unharmed() {
    for (ConnectedPair::Side* side : {&honest.left, &honest.right}) {
      std::memset((side == &honest.left ? honest.a : honest.b).bytes(side->buffer), 0, ConnectedPair::kBytes);
    }
    for (std::uint32_t i = 0; i < 3000; ++i) {
      honest.a.bytes(honest.left.buffer)[i] = static_cast<std::uint8_t>(random());
    }
    honest.b.post_receive(honest.right.qp, honest.right.sge(3000));
    honest.b.ring_receive(honest.right.qp);
    honest.a.post_send(honest.left.qp, {.sge = honest.left.sge(3000)});
    honest.a.ring_send(honest.left.qp);
    ASSERT_EQ(honest.b.wait_for(honest.right.cq).status, WcStatus::kSuccess);
    ASSERT_EQ(honest.a.wait_for(honest.left.cq).status, WcStatus::kSuccess);
    ASSERT_EQ(
        std::memcmp(honest.a.bytes(honest.left.buffer), honest.b.bytes(honest.right.buffer), ConnectedPair::kBytes), 0);
    ASSERT_TRUE(honest.a.notices().empty());
    ASSERT_TRUE(honest.b.notices().empty());
  }
  void expect_clean_end() {
    hostile.die();
    accomplice.die();
    ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 2; }));
    expect_honest_unharmed();
    EXPECT_EQ(lab.bridge->driver(0).objects(), 4u);
    EXPECT_EQ(lab.bridge->driver(1).objects(), 4u);
  }

  Lab lab;
  ConnectedPair honest;
  Program hostile, accomplice;
  std::vector<std::uint32_t> pds, keys;
  std::vector<Program::Cq> cqs;
  std::vector<std::uint64_t> buffers;
  std::mt19937_64 random;
};

TEST_F(Hostile, RandomRequestsHurtNobodyElse) {
  const Params params;
  const std::uint64_t command_cycles = params.command_processor.command_ps / params.nic.clock_period_ps;
  constexpr QpType kTypes[] = {QpType::kRc,      QpType::kUc,         QpType::kUd,
                               QpType::kXrcSend, QpType::kXrcReceive, QpType::kRawPacket};
  std::uint64_t accepted = 0;
  for (int i = 0; i < 12'000; ++i) {
    channel::Message m;
    m.type = static_cast<Request>(1 + below(static_cast<unsigned>(channel::kLastRequest) + 2));
    // These two take model time; the requests behind them wait.
    if (m.type == Request::kReadClock && below(8) != 0) continue;
    if (m.type == Request::kResizeCq && below(128) != 0) continue;
    switch (below(3)) {
      case 0:
        for (auto& byte : m.body.bytes) byte = static_cast<std::uint8_t>(random());
        break;
      case 1:
        break;
      default:  // nearly valid
        switch (m.type) {
          case Request::kCreateCq:
            m.body.cq = hostile.cq_request(1u << below(8));
            break;
          case Request::kCreateSrq:
            m.body.srq = hostile.srq_request(pds[0], 1u << below(8));
            m.body.srq.type = below(2);
            m.body.srq.cqn = cqs[0].number;
            m.body.srq.xrcd = below(16);
            break;
          case Request::kOpenXrcd:
            m.body.xrcd.create = 1;
            m.body.xrcd.has_file = below(2);
            m.body.xrcd.file_number = below(3);
            break;
          case Request::kAllocateWindow:
            m.body.window = {pds[0], 1 + below(2), 0};
            break;
          case Request::kCreateFlow:
            m.body.flow.qpn = 0x11 + below(64);
            m.body.flow.kind = static_cast<std::uint8_t>(below(4));
            break;
          case Request::kCreateRss:
            m.body.rss.pd = pds[0];
            m.body.rss.log_entries = static_cast<std::uint8_t>(below(3));
            for (auto& queue : m.body.rss.queues) queue = 0x11 + below(64);
            break;
          case Request::kImportPd:
          case Request::kImportMemory:
          case Request::kImportDeviceMemory:
            m.body.import = {below(2) == 0 ? pds[1] : keys[1], raw(accomplice.id), pds[1], 0, 0};
            break;
          case Request::kOpenQp:
            m.body.qp.qpn = 0x11 + below(64);
            m.body.qp.xrcd = below(16);
            break;
          case Request::kCreateQp:
            m.body.qp = hostile.qp_request(kTypes[below(6)], pds[0], cqs[0].number, cqs[0].number, 1u << below(6));
            if (is_xrc(static_cast<QpType>(m.body.qp.type))) m.body.qp.receive_slots = 0;
            if (m.body.qp.type == static_cast<std::uint32_t>(QpType::kXrcReceive)) m.body.qp.send_slots = 0;
            if (m.body.qp.type == static_cast<std::uint32_t>(QpType::kRawPacket) && below(2) == 0)
              m.body.qp.send_slots = 0;
            m.body.qp.xrcd = below(16);
            break;
          case Request::kModifyQp: {
            const QpType type = kTypes[below(6)];
            const Program::Qp qp{0x11 + below(64), 0, 0, 0, 0, 0, 0, 0};
            m.body.attributes = below(4) == 0   ? Program::to_rts(qp, type)
                                : below(3) == 0 ? Program::to_rtr(qp, type, below(2), 0x11 + below(64))
                                                : Program::to_init(qp, type);
            break;
          }
          case Request::kRegisterMemory:
            m.body.memory.pd = pds[0];
            m.body.memory.access = below(16);
            m.body.memory.address = m.body.memory.iova = buffers[0] + below(4096);
            m.body.memory.length = below(1 << 20);
            m.body.memory.page_shift = below(4) == 0 ? below(64) : 12;
            break;
          default:
            m.body.handle.number = below(100);
        }
        if (below(2) == 0) scribble(m.body.bytes.data(), 64);
    }
    hostile.send(m);
    if (i % 16 == 0) lab.run(16 * command_cycles);  // or most requests would find too many ahead of them
    accepted = lab.bridge->counters().requests - lab.bridge->counters().refused;
    if (i % 2000 == 0) expect_honest_unharmed();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 1000u);
  expect_clean_end();
}

TEST_F(Hostile, RandomRingsAndDoorbellsHurtNobodyElse) {
  std::vector<Program::Qp> qps;
  std::vector<std::uint32_t> targets;  // QPNs of other programs are left out: RC accepts a packet whose PSN fits
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    for (int k = 0; k < 2; ++k) {
      const auto mine = hostile.create_qp(type, pds[0], cqs[0]);
      const auto theirs = accomplice.create_qp(type, pds[1], cqs[1]);
      hostile.connect(mine, type, 1, theirs.number);
      accomplice.connect(theirs, type, 0, mine.number);
      qps.push_back(mine);
      targets.push_back(theirs.number);
    }
  }
  auto srq = hostile.create_srq(pds[0]);
  auto tagged = hostile.srq_request(pds[0]);
  tagged.type = kSrqTagMatching;
  tagged.cqn = cqs[0].number;
  tagged.tag_slots = 64;
  tagged.tag_ring = hostile.heap(64 * channel::kTagWriteBytes);
  tagged.tag_doorbell = 0;
  const auto made = hostile.call(Request::kCreateSrq, [&](auto& b) { b.srq = tagged; });
  ASSERT_EQ(made.status, 0);
  auto to = hostile.qp_request(QpType::kRc, pds[0], cqs[0].number, cqs[0].number);
  to.has_srq = 1;
  to.srqn = made.body.srq.srqn;
  to.send_slots = 0;
  const auto matching = hostile.create_qp(to);
  auto sender = accomplice.create_qp(QpType::kRc, pds[1], cqs[1]);
  hostile.connect(matching, QpType::kRc, 1, sender.number);
  accomplice.connect(sender, QpType::kRc, 0, matching.number);
  for (int i = 0; i < 10'000; ++i) {
    Program::Qp& qp = qps[below(static_cast<std::uint32_t>(qps.size()))];
    if (below(2) == 0) {
      Program::Wr wr;
      wr.opcode = static_cast<SendOpcode>(below(12));
      wr.flags = static_cast<std::uint8_t>(random());
      wr.sge = {below(70000), keys[0], buffers[0]};
      wr.remote = {buffers[1], keys[1], 0, 1, 2};
      wr.remote_qpn = 0x11 + below(32);
      const std::uint64_t slot = qp.send_ring + std::uint64_t{qp.posted_sends % qp.slots} * Program::kSendStride;
      hostile.post_send(qp, wr);
      if (below(2) == 0) scribble(hostile.at(slot), Program::kSendStride);
      hostile.post_receive(qp, {below(5000), keys[0], buffers[0] + below(1 << 17)});
    }
    if (below(4) == 0) scribble(hostile.at(qp.receive_ring), 64 * Program::kReceiveStride);
    if (below(4) == 0) scribble(hostile.at(srq.ring), 64 * Program::kReceiveStride);
    if (below(8) == 0) scribble(hostile.at(cqs[0].ring), 64 * 64);
    if (below(2) == 0) scribble(hostile.at(tagged.tag_ring), 64 * channel::kTagWriteBytes);
    if (below(8) == 0) {
      scribble(accomplice.bytes(buffers[1]), 64);
      accomplice.post_send(sender, {.sge = {below(5000), keys[1], buffers[1]}});
      accomplice.ring_send(sender);
    }
    if (i % 64 == 0) {
      hostile.to_state(matching, QpState::kReset);
      accomplice.to_state(sender, QpState::kReset);
      sender.posted_sends = 0;
      hostile.connect(matching, QpType::kRc, 1, sender.number);
      accomplice.connect(sender, QpType::kRc, 0, matching.number);
    }
    const auto board = static_cast<channel::Board>(below(channel::kBoards));
    const std::uint32_t index = below(16) == 0 ? static_cast<std::uint32_t>(number()) : below(12);
    switch (below(4)) {
      case 0:
        hostile.ring(board, index, number());
        break;
      case 1:
        hostile.ring_send(qp, random() % 300);
        break;
      case 2:
        hostile.ring_receive(qp);
        break;
      default:
        hostile.ring(channel::Board::kConsumer, cqs[0].record, below(1000));
        break;
    }
    if (i % 8 == 0) lab.run(100);
    if (i % 256 == 0) {  // from the error state back to RTS
      const QpType type = qp.number == qps[0].number || qp.number == qps[1].number   ? QpType::kRc
                          : qp.number == qps[2].number || qp.number == qps[3].number ? QpType::kUc
                                                                                     : QpType::kUd;
      EXPECT_EQ(hostile.to_state(qp, QpState::kReset), 0);
      qp.posted_sends = qp.posted_receives = 0;
      hostile.modify(Program::to_init(qp, type));
      hostile.modify(Program::to_rtr(qp, type, 1, targets[below(static_cast<std::uint32_t>(targets.size()))]));
      hostile.modify(Program::to_rts(qp, type));
    }
    if (i % 2000 == 0) expect_honest_unharmed();
    if (HasFatalFailure()) return;
  }
  expect_clean_end();
}

// Far faster than the NIC takes them: what waits stays in proportion to the queues, and so does freeing them.
TEST_F(Hostile, RingingEveryDoorbellAllTheTimeHurtsNobodyElse) {
  constexpr std::uint32_t kQps = 500, kRounds = 2000;
  std::vector<Program::Qp> qps;
  for (std::uint32_t n = 0; n < kQps; ++n) {
    qps.push_back(hostile.create_qp(hostile.qp_request(QpType::kRc, pds[0], cqs[0].number, cqs[0].number, 1)));
  }
  std::size_t most = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (const Program::Qp& qp : qps) {
      hostile.ring(channel::Board::kReceive, qp.receive_record, round);
      hostile.ring(channel::Board::kSend, qp.send_record, round);
    }
    lab.run(50);
    most = std::max(most, lab.bridge->driver(0).doorbells());
  }
  EXPECT_LE(most, 2 * kQps * 4);  // those that wait, and three times as many on their way
  expect_clean_end();
}

// All of the program's memory is unmapped: every DMA of it fails.
TEST_F(Hostile, MemoryThatGoesAwayHurtsNobodyElse) {
  std::vector<Program::Qp> mine;
  for (int k = 0; k < 4; ++k) {
    mine.push_back(hostile.create_qp(QpType::kRc, pds[0], cqs[0]));
    const auto theirs = accomplice.create_qp(QpType::kRc, pds[1], cqs[1]);
    hostile.connect(mine[k], QpType::kRc, 1, theirs.number);
    accomplice.connect(theirs, QpType::kRc, 0, mine[k].number);
    for (int i = 0; i < 4; ++i) hostile.post_send(mine[k], {.sge = {60000, keys[0], buffers[0]}});
    hostile.ring_send(mine[k]);
  }
  lab.run(1000);
  TestPrograms::Space& space = *lab.own_memory.spaces[hostile.id];
  space.heap.clear();
  space.local.clear();
  lab.run(20'000);
  expect_honest_unharmed();
  expect_clean_end();
}

}  // namespace
}  // namespace rxnic::programs_bridge_hostile_test
