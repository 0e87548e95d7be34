// SPDX-License-Identifier: Apache-2.0
// TM SRQs of programs: which are refused, and how operations come to the NIC. A program writes operations into its ring
// (driver.h R9, R10; channel/tag_ring.h).
#include <gtest/gtest.h>

#include <bit>
#include <cerrno>

#include "bridge/channel/tag_ring.h"
#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_tags_test {
namespace {

using channel::Request;
using channel::TagWrite;
using channel::TagWriteKind;

constexpr std::uint32_t kSlots = 8, kRecord = 5;

class DriverTags : public testing::Test {
 protected:
  DriverTags() : lab(2), a(lab, 0), pd(a.create_pd()), cq(a.create_cq()) {}

  channel::SharedReceiveQueue tm_request() {
    channel::SharedReceiveQueue asked = a.srq_request(pd);
    asked.type = kSrqTagMatching;
    asked.cqn = cq.number;
    asked.tag_slots = kSlots;
    asked.tag_ring = a.heap(std::uint64_t{kSlots} * channel::kTagWriteBytes);
    asked.tag_doorbell = kRecord;
    return asked;
  }
  template <class Change>
  std::int32_t create(Change change) {
    auto asked = tm_request();
    change(asked);
    const auto reply = a.call(Request::kCreateSrq, [&](auto& body) { body.srq = asked; });
    if (reply.status == 0) {
      srq = {reply.body.srq.srqn, asked.doorbell, asked.slots, 0, asked.ring};
      tag_ring = asked.tag_ring;
    }
    return reply.status;
  }
  void create() {
    ASSERT_EQ(create([](auto&) {}), 0);
  }
  template <class Change>
  std::int32_t create_qp(Change change) {
    auto asked = a.qp_request(QpType::kRc, pd, cq.number, cq.number);
    asked.has_srq = 1;
    asked.srqn = srq.number;
    asked.send_slots = 0;
    change(asked);
    return a.call(Request::kCreateQp, [&](auto& body) { body.qp = asked; }).status;
  }
  void write(TagWrite w) { a.store(tag_ring + std::uint64_t{written++ % slots} * sizeof w, w); }
  void write_sync(std::uint8_t flags = channel::kTagWriteSignaled) {
    TagWrite w;
    w.kind = TagWriteKind::kSync;
    w.flags = flags;
    write(w);
  }
  void ring_tags(std::uint32_t value) { a.ring(channel::Board::kTags, kRecord, value); }
  std::uint64_t operations() const { return lab.nics[0]->tag_match_cam.counters().operations; }

  Lab lab;
  Program a;
  std::uint32_t pd;
  Program::Cq cq;
  Program::Srq srq;
  std::uint64_t tag_ring = 0;
  std::uint32_t slots = kSlots, written = 0;
};

TEST_F(DriverTags, WhatATmSrqNeedsIsChecked) {
  Program other(lab, 0);
  const auto foreign = other.create_cq();
  EXPECT_EQ(create([](auto& q) { q.type = 3; }), EOPNOTSUPP);
  EXPECT_EQ(create([&](auto& q) { q.cqn = foreign.number; }), EINVAL);
  EXPECT_EQ(create([](auto& q) { q.tag_slots = 0; }), EINVAL);
  EXPECT_EQ(create([](auto& q) { q.tag_slots = 6; }), EINVAL);
  EXPECT_EQ(create([&](auto& q) { q.tag_slots = 2 * std::bit_ceil(lab.own_port.attributes.max_tag_operations); }),
            EINVAL);
  EXPECT_EQ(create([](auto& q) { q.tag_ring += 32; }), EINVAL);
  EXPECT_EQ(create([](auto& q) { q.tag_ring = channel::kMappingBytes - 64; }), EINVAL);
  EXPECT_EQ(create([](auto& q) { q.tag_doorbell = channel::kDoorbells; }), EINVAL);
  create();
  EXPECT_EQ(create([](auto&) {}), EINVAL) << "the record is in use";
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  EXPECT_EQ(create([](auto&) {}), 0);
}

TEST_F(DriverTags, ItsCqIsInUse) {
  create();
  EXPECT_EQ(a.free(Request::kFreeCq, cq.number), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  EXPECT_EQ(a.free(Request::kFreeCq, cq.number), 0);
}

TEST_F(DriverTags, ItsQpsAreRcAndHaveNoSendQueue) {  // R10
  create();
  EXPECT_EQ(create_qp([](auto& q) { q.type = static_cast<std::uint32_t>(QpType::kUc); }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.type = static_cast<std::uint32_t>(QpType::kUd); }), EINVAL);
  EXPECT_EQ(create_qp([](auto& q) { q.send_slots = 64; }), EINVAL);
  EXPECT_EQ(create_qp([](auto&) {}), 0);
}

TEST_F(DriverTags, MoreListsThanTheNicHasAreRefused) {
  const std::uint32_t lists = lab.params.tag_match_cam.lists;
  for (std::uint32_t n = 0; n < lists; ++n) {
    ASSERT_EQ(create([&](auto& q) { q.tag_doorbell = 100 + n; }), 0) << n;
  }
  EXPECT_EQ(create([](auto&) {}), ENOMEM);
}

TEST_F(DriverTags, OperationsCompleteInOrderUnderTheirSlots) {  // R9
  create();
  for (std::uint32_t n = 0; n < 3 * kSlots; ++n) {
    if (n % kSlots == 3) {
      write_sync(0);  // not signaled
    } else {
      write_sync();
    }
    if (n % 3 != 2 && n + 1 != 3 * kSlots) continue;
    ring_tags(written);
    lab.run(3000);
  }
  for (std::uint32_t n = 0; n < 3 * kSlots; ++n) {
    if (n % kSlots == 3) continue;
    const Cqe cqe = a.wait_for(cq);
    EXPECT_EQ(cqe.opcode, CqeOpcode::kTagSync);
    EXPECT_EQ(cqe.wqe_index, n % kSlots);
    EXPECT_EQ(cqe.srq_number, srq.number);
  }
  EXPECT_EQ(operations(), 3 * kSlots);
}

// R9: those for which the link has no room wait, and come in order.
TEST_F(DriverTags, MoreOperationsThanTheLinkTakesComeInOrder) {
  ASSERT_LT(2 * lab.params.nic.doorbell_depth, 1024u);
  slots = 1024;
  cq = a.create_cq(2 * slots);
  ASSERT_EQ(create([&](auto& q) {
              q.tag_slots = slots;
              q.tag_ring = a.heap(std::uint64_t{slots} * channel::kTagWriteBytes);
            }),
            0);
  for (std::uint32_t n = 0; n < slots; ++n) write_sync();
  ring_tags(written);
  for (std::uint32_t n = 0; n < slots; ++n) ASSERT_EQ(a.wait_for(cq).wqe_index, n);
  EXPECT_EQ(operations(), slots);
}

// Given to a NIC in the same look of the host as the send that needs it.
TEST_F(DriverTags, ATagThatWasWrittenBeforeASendIsNotBehindIt) {
  create();
  auto to = a.qp_request(QpType::kRc, pd, cq.number, cq.number);
  to.has_srq = 1;
  to.srqn = srq.number;
  to.send_slots = 0;
  const auto receiver = a.create_qp(to);
  Program b(lab, 0);
  const std::uint32_t senders_pd = b.create_pd();
  auto senders_cq = b.create_cq();
  auto sender = b.create_qp(QpType::kRc, senders_pd, senders_cq);
  a.connect(receiver, QpType::kRc, 0, sender.number);
  b.connect(sender, QpType::kRc, 0, receiver.number);
  const std::uint64_t from = b.local(4096), into = a.local(4096);
  const std::uint32_t from_key = b.create_mr(senders_pd, from, 4096), into_key = a.create_mr(pd, into, 4096);
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kEager), 7, 0x55}, b.bytes(from));
  std::memset(b.bytes(from) + kTmhBytes, 0xab, 100);
  TagWrite w;
  w.kind = TagWriteKind::kAdd;
  w.handle = 6;
  w.tag = 0x55;
  w.mask = ~std::uint64_t{0};
  w.buffer = {4096, into_key, into};
  write(w);
  b.post_send(sender, {.sge = {kTmhBytes + 100, from_key, from}});
  b.ring_send(sender, 80);
  ring_tags(written);  // after it, as a look takes them: the bridge puts tags first
  const Cqe cqe = a.wait_for(cq);
  EXPECT_EQ(cqe.opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(cqe.wqe_index, 6u);
  EXPECT_EQ(cqe.tag_context, 7u);
  EXPECT_EQ(a.bytes(into)[99], 0xab);
}

TEST_F(DriverTags, AFalseDoorbellGivesWhatTheRingHolds) {  // R9
  create();
  for (std::uint32_t n = 0; n < kSlots; ++n) write_sync();
  ring_tags(0x7000'0000);
  lab.run(20'000);
  EXPECT_EQ(operations(), kSlots);
  ring_tags(0x7000'0000);  // nothing new
  lab.run(20'000);
  EXPECT_EQ(operations(), kSlots);
}

TEST_F(DriverTags, AnOperationOfAnUnknownKindDoesNothing) {  // R9
  create();
  TagWrite w;
  w.kind = static_cast<TagWriteKind>(9);
  w.flags = 0xff;
  write(w);
  write_sync();
  ring_tags(written);
  const Cqe cqe = a.wait_for(cq);
  EXPECT_EQ(cqe.wqe_index, 1u);
  EXPECT_EQ(operations(), 2u);
  EXPECT_EQ(lab.nics[0]->tag_match_cam.counters().failed_operations, 0u);
}

TEST_F(DriverTags, OperationsOfAFreedSrqAreNotGiven) {  // driver.h R6
  create();
  for (std::uint32_t n = 0; n < kSlots; ++n) write_sync();
  ring_tags(written);
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  ring_tags(written + 1);
  lab.run(20'000);
  EXPECT_LE(operations(), kSlots);
  EXPECT_EQ(lab.bridge->driver(0).doorbells(), 0u);
}

}  // namespace
}  // namespace rxnic::driver_tags_test
