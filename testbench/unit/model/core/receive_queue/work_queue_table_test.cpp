// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/work_queue_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "model/types/context.h"

namespace rxnic::work_queue_table_test {
namespace {

using Supply = WorkQueueTable::Supply;

WqContext queue(WqLayout layout, std::uint32_t slots, std::uint32_t stride = 64) {
  WqContext c;
  c.kind = layout == WqLayout::kLinkedList ? WqKind::kSrq : WqKind::kRq;
  c.layout = layout;
  c.slots = slots;
  c.stride = stride;
  return c;
}

// Carries out the table's reads, with data that is all zero.
std::uint32_t serve_reads(WorkQueueTable& t) {
  std::uint32_t n = 0;
  WorkQueueTable::Read r;
  while (t.may_want_read()) {
    if (!t.next_read(kNoWq, r)) continue;
    std::memset(r.data, 0, r.bytes);
    t.arrived(r.id, true);
    ++n;
  }
  return n;
}

TEST(WorkQueueTable, RefusesSizesThatTheLayoutDoesNotKnow) {
  LocalMemory memory;
  WorkQueueTable t({});
  EXPECT_THROW(t.create(queue(WqLayout::kCyclic, 12), memory), std::invalid_argument);
  EXPECT_THROW(t.create(queue(WqLayout::kCyclic, 0), memory), std::invalid_argument);
  EXPECT_THROW(t.create(queue(WqLayout::kLinkedList, 1), memory), std::invalid_argument);
  EXPECT_THROW(t.create(queue(WqLayout::kLinkedList, 1u << 17), memory), std::invalid_argument);
  EXPECT_THROW(t.create(queue(WqLayout::kCyclic, 16, 48), memory), std::invalid_argument);
  EXPECT_THROW(t.create(queue(WqLayout::kCyclic, 16, 16), memory), std::invalid_argument);
  EXPECT_NO_THROW(t.create(queue(WqLayout::kLinkedList, 1u << 16), memory));
}

TEST(WorkQueueTable, DoorbellsThatMakeNoSenseChangeNothing) {  // R1
  LocalMemory memory;
  WorkQueueTable t({});
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  const WqId list = t.create(queue(WqLayout::kLinkedList, 8), memory);
  EXPECT_TRUE(t.post(q, 8));
  EXPECT_FALSE(t.post(q, 9));
  EXPECT_FALSE(t.post(q, 7));
  EXPECT_TRUE(t.post(q, 8));  // posts no WQE
  EXPECT_FALSE(t.post(list, 8));
  EXPECT_TRUE(t.post(list, 7));
  EXPECT_FALSE(t.post(WqId{99}, 1));
  EXPECT_FALSE(t.arm_limit(WqId{99}, 1));
  EXPECT_EQ(t.counters().bad_doorbells, 5u);
  EXPECT_EQ(t.posted(q), 8u);
}

TEST(WorkQueueTable, OnDemandAQueueThatTakesAContextFromAnotherReadsWhatIsAskedFor) {  // R2
  WorkQueueTable::Sizes sizes;
  sizes.contexts = 1;
  sizes.depth = 16;
  sizes.wqes_per_read = 4;
  sizes.greedy = false;
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqId first = t.create(queue(WqLayout::kCyclic, 16), memory),
             other = t.create(queue(WqLayout::kCyclic, 16), memory);
  t.post(first, 16);
  t.post(other, 16);
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 4u) << "one read's worth: its doorbell found a free context";
  t.ask(other);
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 5u);
  EXPECT_EQ(t.counters().evictions, 1u);
  EXPECT_EQ(t.counters().wqes_evicted, 4u);
  t.ask(other);
  t.ask(other);
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 7u);
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(t.supply(other), Supply::kReady);
    t.take(other);
    t.served(other);
  }
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 7u);
  EXPECT_EQ(t.supply(other), Supply::kComing);
  t.waits(other);
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 8u) << "the window";
  EXPECT_EQ(t.supply(first), Supply::kComing);
  serve_reads(t);
  EXPECT_EQ(t.counters().wqes_read, 8u) << "nobody has asked";
  WorkQueueTable::Read r;
  ASSERT_TRUE(t.next_read(first, r)) << "but a packet that waits is served";
  EXPECT_EQ(r.bytes, 64u);
}

TEST(WorkQueueTable, DoorbellsTakeFreeContextsOnlyAndPacketsTheLeastRecentlyUsed) {  // R2
  WorkQueueTable::Sizes sizes;
  sizes.contexts = 2;
  LocalMemory memory;
  WorkQueueTable t(sizes);
  WqId q[3];
  for (WqId& id : q) id = t.create(queue(WqLayout::kCyclic, 8), memory);
  for (const WqId id : q) t.post(id, 4);
  EXPECT_EQ(serve_reads(t), 2u);  // q[2] found no free context
  EXPECT_EQ(t.supply(q[0]), Supply::kReady);
  EXPECT_EQ(t.supply(q[1]), Supply::kReady);
  EXPECT_EQ(t.supply(q[0]), Supply::kReady);
  EXPECT_EQ(t.supply(q[2]), Supply::kComing);  // q[1]'s
  EXPECT_EQ(t.counters().evictions, 1u);
  EXPECT_EQ(serve_reads(t), 1u);
  EXPECT_EQ(t.supply(q[2]), Supply::kReady);
  EXPECT_EQ(t.supply(q[0]), Supply::kReady);
  EXPECT_EQ(t.supply(q[1]), Supply::kComing);
}

TEST(WorkQueueTable, QueuesTakeTurnsButWhatAPacketWaitsForGoesFirst) {  // R3
  WorkQueueTable::Sizes sizes;
  sizes.wqes_per_read = 1;
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqContext c = queue(WqLayout::kCyclic, 8);
  WqId q[3];
  for (std::uint32_t i = 0; i < 3; ++i) {
    WqContext own = c;
    own.base = BusAddress{0x1000 * i};
    q[i] = t.create(own, memory);
    t.post(q[i], 4);
  }
  WorkQueueTable::Read r;
  std::vector<std::uint64_t> order;
  for (const WqId wanted : {kNoWq, kNoWq, kNoWq, kNoWq, q[2], q[2], kNoWq}) {
    ASSERT_TRUE(t.next_read(wanted, r));
    order.push_back(raw(r.where) / 0x1000);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 1, 2, 0, 2, 2, 1}));
}

TEST(WorkQueueTable, ReadsAreLimited) {  // R3
  WorkQueueTable::Sizes sizes;
  sizes.reads = 2;
  sizes.wqes_per_read = 1;
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  t.post(q, 8);
  WorkQueueTable::Read a, b, c;
  EXPECT_TRUE(t.next_read(kNoWq, a));
  EXPECT_TRUE(t.next_read(kNoWq, b));
  EXPECT_FALSE(t.next_read(q, c));
  t.arrived(b.id, true);
  EXPECT_TRUE(t.next_read(kNoWq, c));
}

TEST(WorkQueueTable, TheLimitIsReachedOnceWhenFewerStayPosted) {  // R4
  LocalMemory memory;
  WorkQueueTable t({});
  WqContext c = queue(WqLayout::kCyclic, 16);
  c.limit = 7;
  const WqId q = t.create(c, memory);
  t.post(q, 10);
  serve_reads(t);
  for (const bool reached : {false, false, false, true, false, false}) {
    EXPECT_EQ(t.take_reaches_limit(q), reached);
    ASSERT_EQ(t.supply(q), Supply::kReady);
    t.take(q);
  }
  EXPECT_EQ(t.context(q).limit, 0u);
}

TEST(WorkQueueTable, AFailedRqHandsOutNothingAndFlushesInOrder) {  // R5
  LocalMemory memory;
  WorkQueueTable t({});
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  t.post(q, 6);
  serve_reads(t);
  ASSERT_EQ(t.supply(q), Supply::kReady);
  t.take(q);
  t.fail(q, Cqn{3});
  EXPECT_EQ(t.supply(q), Supply::kNone);
  EXPECT_EQ(t.posted(q), 5u);
  for (std::uint32_t slot = 1; slot < 6; ++slot) EXPECT_EQ(t.flush_one(q), slot);
  EXPECT_EQ(t.posted(q), 0u);
  EXPECT_TRUE(t.post(q, 9));
  EXPECT_EQ(serve_reads(t), 0u);
  EXPECT_EQ(t.flush_one(q), 6u);
  t.reset(q);
  EXPECT_FALSE(t.failed(q));
  EXPECT_TRUE(t.post(q, 1));
  EXPECT_EQ(serve_reads(t), 1u);
}

TEST(WorkQueueTable, WhatIsReadForAQueueThatIsGoneIsNotUsed) {
  LocalMemory memory;
  WorkQueueTable t({});
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  t.post(q, 4);
  WorkQueueTable::Read r;
  ASSERT_TRUE(t.next_read(kNoWq, r));
  t.destroy(q);
  EXPECT_FALSE(t.here(q));
  EXPECT_EQ(t.supply(q), Supply::kNone);
  const WqId other = t.create(queue(WqLayout::kCyclic, 8), memory);
  t.post(other, 4);
  t.arrived(r.id, true);
  EXPECT_EQ(t.supply(other), Supply::kComing);
  EXPECT_EQ(t.counters().wqes_discarded, 4u);
  EXPECT_EQ(t.reads_in_flight(), 0u);
}

TEST(WorkQueueTable, ANumberIsFreeWhenNothingIsReadForItAnyMore) {  // R6
  LocalMemory memory;
  WorkQueueTable t({});
  const WqId q = t.create(queue(WqLayout::kCyclic, 16), memory);
  ASSERT_TRUE(t.post(q, 16));
  WorkQueueTable::Read first, second;
  ASSERT_TRUE(t.next_read(kNoWq, first));
  ASSERT_TRUE(t.next_read(kNoWq, second));
  EXPECT_FALSE(t.destroy(q));
  EXPECT_FALSE(t.here(q));
  WorkQueueTable::Read none;
  EXPECT_FALSE(t.next_read(q, none)) << "nothing more is read";
  const WqId other = t.create(queue(WqLayout::kCyclic, 16), memory);
  EXPECT_NE(other, q);
  t.arrived(first.id, true);
  EXPECT_FALSE(t.destroy(q));
  t.arrived(second.id, true);
  EXPECT_TRUE(t.destroy(q));
  EXPECT_EQ(t.create(queue(WqLayout::kCyclic, 16), memory), q);
  EXPECT_TRUE(t.destroy(WqId{99})) << "no such queue";
}

// Carries out a request as the DMA engine does.
void carry_out(WorkQueueTable& t, LocalMemory& memory) {
  while (t.cache().has_request()) {
    const DmaRequest r = t.cache().take_request();
    if (r.kind == DmaKind::kRead) {
      memory.read(r.address, {r.data, r.bytes});
    } else {
      memory.write(r.address, {r.data, r.bytes});
    }
  }
}

WorkQueueTable::Cache::Fetch fetch(WorkQueueTable& t, WqId id) {
  const auto f = t.cache().fetch(raw(id), false, [&](std::uint32_t l) { return t.may_evict(l); });
  if (f.evicts) t.evicted(f.line);
  return f;
}

// Reads a context; the one that is evicted for it is written before.
bool bring(WorkQueueTable& t, WqId id, LocalMemory& memory) {
  const auto f = fetch(t, id);
  if (f.line == WorkQueueTable::Cache::kNone) return false;
  carry_out(t, memory);
  t.cache().arrived(f.line, true);
  return true;
}

TEST(WorkQueueTable, AContextStaysWhileItsWqesAreRead) {  // R7
  WorkQueueTable::Sizes sizes;
  sizes.queues = {1, 1, 1};
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqId q = t.create(queue(WqLayout::kLinkedList, 8), memory);
  const WqId other = t.create(queue(WqLayout::kCyclic, 8), memory);
  EXPECT_TRUE(t.here(q));
  EXPECT_FALSE(t.here(other)) << "no line is free";
  EXPECT_TRUE(t.post(q, 5));
  WorkQueueTable::Read r;
  ASSERT_TRUE(t.next_read(kNoWq, r));
  EXPECT_FALSE(bring(t, other, memory)) << "a read is in flight";
  std::memset(r.data, 0, r.bytes);
  for (std::uint32_t i = 0; i < r.bytes / 64; ++i) r.data[64 * i] = static_cast<std::uint8_t>(i + 1);
  t.arrived(r.id, true);
  EXPECT_EQ(t.supply(q), Supply::kReady);
  t.take(q);
  t.take(q);
  ASSERT_TRUE(bring(t, other, memory));
  EXPECT_FALSE(t.here(q));
  EXPECT_EQ(t.supply(q), Supply::kNone) << "it is not here";
  ASSERT_TRUE(bring(t, q, memory));
  EXPECT_EQ(t.posted(q), 3u);
  EXPECT_EQ(t.supply(q), Supply::kComing) << "its WQEs on the chip went with it";
  ASSERT_TRUE(t.next_read(kNoWq, r));
  EXPECT_EQ(r.where, BusAddress{2 * 64}) << "from the WQE that is next";
}

TEST(WorkQueueTable, ACommandOnAQueueThatIsHereReachesHostMemoryLater) {  // R9
  WorkQueueTable::Sizes sizes;
  sizes.queues = {1, 1, 1};
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  const WqContext context = queue(WqLayout::kCyclic, 16);
  const WqId other = t.new_number();
  EXPECT_FALSE(t.place(other, context)) << "no line is free";
  t.post(q, 3);
  WorkQueueTable::Read r;
  while (t.may_want_read()) {
    if (t.next_read(kNoWq, r)) t.arrived(r.id, true);
  }
  const auto f = fetch(t, other);
  ASSERT_TRUE(f.writes_back);
  EXPECT_FALSE(t.place(other, context)) << "it is on its way";
  EXPECT_FALSE(t.destroy(other));
  carry_out(t, memory);
  EXPECT_FALSE(t.cache().arrived(f.line, true)) << "there is none";
  ASSERT_TRUE(t.place(other, context));
  EXPECT_EQ(t.context(other).slots, 16u);
  WqRecord record;
  ASSERT_TRUE(t.read(q, memory, record));
  EXPECT_EQ(record.producer, 3u);
  ASSERT_TRUE(bring(t, q, memory));
  t.reset(q);
  ASSERT_TRUE(t.read(q, memory, record));
  EXPECT_EQ(record.producer, 0u);
  EXPECT_EQ(memory.load<WqRecord>(queue_context_address(q)).producer, 3u) << "reset on the chip";
  EXPECT_TRUE(t.destroy(q));
  EXPECT_FALSE(t.destroy(other)) << "the request for the first one waits";
  carry_out(t, memory);
  EXPECT_TRUE(t.destroy(other));
  carry_out(t, memory);
  EXPECT_EQ(memory.load<WqRecord>(queue_context_address(q)).valid, 0);
  EXPECT_EQ(memory.load<WqRecord>(queue_context_address(other)).valid, 0);
}

// It is evicted between two attempts to destroy it.
TEST(WorkQueueTable, ALineOfADestroyedQueueServesTheNextOne) {  // R6, R7
  WorkQueueTable::Sizes sizes;
  sizes.queues = {1, 1, 1};
  LocalMemory memory;
  WorkQueueTable t(sizes);
  const WqId q = t.create(queue(WqLayout::kCyclic, 8), memory);
  const WqId other = t.create(queue(WqLayout::kCyclic, 8), memory);
  t.post(q, 3);
  WorkQueueTable::Read r;
  ASSERT_TRUE(t.next_read(kNoWq, r));
  EXPECT_FALSE(t.destroy(q));
  t.arrived(r.id, true);
  ASSERT_TRUE(bring(t, other, memory));
  EXPECT_TRUE(t.here(other));
  EXPECT_TRUE(t.destroy(q));
  EXPECT_TRUE(t.here(other));
  EXPECT_TRUE(t.post(other, 2));
}

}  // namespace
}  // namespace rxnic::work_queue_table_test
