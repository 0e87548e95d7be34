// SPDX-License-Identifier: Apache-2.0
// The memories at the ports of the WQE fetcher: what stands on them, and in which cycles (R9, R13, R17, R20, R21 of
// model/blocks/srq_wqe_fetcher.h).
#include <cstring>

#include "model/types/descriptor_bits.h"
#include "testbench/unit/model/blocks/srq_wqe_fetcher_fixture.h"

namespace rxnic::srq_wqe_fetcher_ports_test {
namespace {

using namespace srq_wqe_fetcher_test;

template <class T>
const T& on(const WritePort<T>& port) {
  return *static_cast<const T*>(port.value(0));
}

TEST(SrqWqeFetcherPorts, AListIsWrittenInTheCycleInWhichItsPacketLeaves) {  // R13
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  std::array<std::uint8_t, 64> wqe{};
  const std::array<DataSegment, 3> list{{{100, 1, 0x1000}, {0, 2, 0x2000}, {300, 3, 0x3000}}};
  ASSERT_TRUE(write_wqe(wqe, WqLayout::kCyclic, 0, list));
  fixture.host.write(wqe_address(q.context, 0), wqe);
  q.producer = 1;
  fixture.ring(q, Cycle{1}, 1);
  fixture.post(q, 1, Cycle{1});
  fixture.send(Cycle{999}, q);  // leaves in cycle 1002
  fixture.send(Cycle{1999}, q);
  bench.run_to(Cycle{1500});
  EXPECT_EQ(fixture.dut.lists.last_write(), Cycle{1002});
  ScatterListWrite expected;
  expected.wqe_slot = fixture.at(0).wqe_slot;
  expected.count = 2;
  expected.sge[0] = list[0];
  expected.sge[1] = list[2];
  EXPECT_EQ(on(fixture.dut.lists), expected);
  bench.run();
  EXPECT_EQ(fixture.dut.lists.last_write(), Cycle{2002});
  EXPECT_EQ(on(fixture.dut.lists).count, 1u);
  EXPECT_EQ(on(fixture.dut.lists).sge[1], DataSegment{}) << "behind the list";
  EXPECT_EQ(fixture.shared.wqes[fixture.at(1).wqe_slot].sge[0].address, 0x2000u);
}

TEST(SrqWqeFetcherPorts, ABadWqeHasNoListAndNoBytes) {  // R5
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 1, Cycle{1}, 4096, 0);
  fixture.send(Cycle{999}, q);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.at(0).wqe_bytes, 0u);
  EXPECT_EQ(fixture.dut.lists.last_write(), Cycle{1002});
  EXPECT_EQ(on(fixture.dut.lists).count, 0u);
}

// With a WQE that is longer than the device's longest.
TEST(SrqWqeFetcherPorts, AReadIsNoLongerThanItsBuffer) {
  for (const WqLayout layout : {WqLayout::kCyclic, WqLayout::kLinkedList}) {
    for (const std::uint32_t segments : {32u, 33u}) {
      Bench bench;
      SrqWqeFetcherParams params = defaults();
      params.wqes_per_read = 3;
      Fixture fixture(bench, params);
      Queue q = fixture.make(WqKind::kSrq, layout, 16);
      WqContext context = q.context;
      context.stride = 1024;
      context.base = BusAddress{0x7000000};
      const WqId id = fixture.dut.create(context, fixture.host);
      for (std::uint32_t k = 0; k < 8; ++k) {
        std::vector<std::uint8_t> wqe(1024);
        if (layout == WqLayout::kLinkedList) wqe[0] = static_cast<std::uint8_t>(k + 1);
        const DataSegment sge{10, 7, 0}, end{0, raw(kInvalidKey), 0};
        for (std::uint32_t n = 0; n <= segments; ++n) {
          const DataSegment& s = n < segments ? sge : end;
          std::memcpy(wqe.data() + wqe_header_bytes(layout) + 16 * n, &s, sizeof s);
        }
        fixture.host.write(wqe_address(context, k), wqe);
      }
      q.id = id;
      fixture.ring(q, Cycle{1}, 8);
      WqeRequest p = fixture.packet(q);
      fixture.in.push(Cycle{4999}, p);
      bench.run();
      ASSERT_EQ(fixture.out.size(), 1u);
      const bool good = segments == 32;
      EXPECT_EQ(fixture.at(0).wqe_bytes, good ? 320u : 0u);
      EXPECT_EQ(fixture.at(0).fails_qp, !good);
      const std::uint32_t buffer = 3 * 33 * 16;
      const std::uint32_t of_one = layout == WqLayout::kCyclic ? 33 * 16 : 34 * 16;
      for (const auto& r : fixture.wqes.log()) EXPECT_EQ(r.request.bytes, of_one) << "1024 bytes twice are more";
      EXPECT_GT(2 * 1024u, buffer);
      EXPECT_EQ(fixture.wqes.log().size(), 8u);
    }
  }
}

TEST(SrqWqeFetcherPorts, TheOpenWqeIsWrittenByTheFirstAndTheLastPacket) {  // R20
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 2, Cycle{1});
  fixture.send(Cycle{999}, q, Operation::kSendFirst, 3);
  fixture.send(Cycle{1099}, q, Operation::kSendMiddle, 3);
  fixture.send(Cycle{1199}, q, Operation::kSendLast, 3);
  fixture.send(Cycle{1299}, q, Operation::kSendOnly, 3);
  const auto& port = fixture.dut.context_write;
  bench.run_to(Cycle{1001});
  EXPECT_EQ(port.last_write(), kNever);
  bench.run_to(Cycle{1050});
  const std::uint32_t slot = fixture.at(0).wqe_slot;
  EXPECT_EQ(port.last_write(), Cycle{1002});
  EXPECT_EQ(on(port), (OpenWqeWrite{3, {slot, q.id, Cqn{}, false}}));
  EXPECT_EQ(*fixture.dut.context.peek({3}), on(port).part);
  bench.run_to(Cycle{1150});
  EXPECT_EQ(port.last_write(), Cycle{1002}) << "it stays";
  bench.run();
  EXPECT_EQ(fixture.at(2).wqe_slot, slot);
  EXPECT_EQ(port.last_write(), Cycle{1202}) << "a message of one packet leaves nothing";
  EXPECT_EQ(on(port), (OpenWqeWrite{3, {}}));
  for (auto* const lookup :
       {&fixture.dut.context, &fixture.dut.tagged_context, &fixture.dut.flush_context, &fixture.dut.command_context}) {
    EXPECT_EQ(*lookup->peek({3}), OpenWqe{});
    EXPECT_EQ(lookup->peek({kNoLine}), nullptr);
  }
}

TEST(SrqWqeFetcherPorts, AResetReleasesTheSlotAndWritesNothing) {  // R17, R20
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 16);
  fixture.post(q, 1, Cycle{1});
  fixture.send(Cycle{999}, q, Operation::kSendFirst, 3);
  WqCommand reset;
  reset.operation = WqOperation::kReset;
  reset.line = 3;
  fixture.commands.push(Cycle{1999}, reset);
  bench.run_to(Cycle{1500});
  EXPECT_EQ(fixture.model.wqes_in_use(), 1u);
  bench.run();
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{2000});
  EXPECT_EQ(fixture.model.wqes_in_use(), 0u);
  EXPECT_EQ(fixture.dut.context_write.last_write(), Cycle{1002});
}

TEST(SrqWqeFetcherPorts, AFlushPinsTheLineForEachCompletionAndReleasesItsOwn) {  // R9
  for (const WqKind kind : {WqKind::kRq, WqKind::kSrq}) {
    Bench bench;
    Fixture fixture(bench);
    Queue q = fixture.make(kind, WqLayout::kCyclic, 16);
    fixture.post(q, 2, Cycle{1});
    fixture.qp(3).receive_queue = q.id;
    fixture.qp(3).uses_srq = kind == WqKind::kSrq;
    fixture.ask_flush(Cycle{999}, 3);  // 1000, 1001: an RQ's WQEs; 1002: its end. 1000: the end of an SRQ's
    const std::uint32_t before = fixture.qp(3).pins.count();
    const auto& port = fixture.dut.pins;
    bench.run_to(Cycle{1001});
    EXPECT_EQ(port.last_write(), kind == WqKind::kRq ? Cycle{1001} : kNever);
    if (kind == WqKind::kRq) {
      EXPECT_EQ(on(port), (ContextPin{3, true}));
    }
    bench.run();
    EXPECT_EQ(fixture.out.size(), kind == WqKind::kRq ? 2u : 1u);
    EXPECT_EQ(fixture.qp(3).pins.count(), before - 1 + fixture.out.size()) << "a pin for each that has left";
    EXPECT_EQ(port.last_write(), kind == WqKind::kRq ? Cycle{1002} : kNever);
    if (kind == WqKind::kRq) {
      EXPECT_EQ(on(port), (ContextPin{3, false}));
    }
  }
}

TEST(SrqWqeFetcherPorts, WhatAReadHasFetchedStandsBesideItsCompletion) {  // R21
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 2, Cycle{9}, 777);  // its read starts in 10, is taken by memory in 11
  bool seen = false;
  bench.at(Cycle{11 + kReadLatency}, [&](Cycle) {  // it is completed in the next cycle
    seen = true;
    std::array<std::uint32_t, 4> word{};
    const std::uint32_t read = 0;
    for (const std::uint32_t wqe : {0u, 1u}) {
      fixture.dut.fetched_wqes.pack_word(&read, 4 * wqe, word.data());
      DataSegment sge;
      unpack(word.data(), sge);
      EXPECT_EQ(sge, (DataSegment{777, 0x777, 0x1000u * (wqe + 1)}));
    }
    EXPECT_EQ(fixture.model.posted(q.id), 2u);
  });
  bench.run();
  EXPECT_TRUE(seen);
  EXPECT_EQ(fixture.wqes.log().size(), 1u);
}

TEST(SrqWqeFetcherPorts, ContextsAreReadAndWrittenOverPorts) {  // R18, R21
  Bench bench;
  SrqWqeFetcherParams params = defaults();
  params.queue_contexts = params.queue_context_ways = 1;
  Fixture fixture(bench, params);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  Queue other = fixture.make(WqKind::kRq, WqLayout::kCyclic, 32);  // no line is free
  fixture.ring(q, Cycle{9}, 0);
  fixture.ring(q, Cycle{9}, 5);
  fixture.ring(other, Cycle{4999}, 7);  // evicts it: the write leaves in cycle 5000, the read in 5001
  WqRecord expected;
  ASSERT_TRUE(fixture.model.read(q.id, fixture.host, expected));
  expected.producer = 5;
  bench.run_to(Cycle{4999});
  EXPECT_EQ(fixture.dut.written_back.last_write(), kNever);
  bool seen = false;
  bench.at(Cycle{5002 + kReadLatency}, [&](Cycle) {  // the read is completed in the next cycle
    seen = true;
    EXPECT_FALSE(fixture.model.read(other.id, fixture.host, expected));
    EXPECT_EQ(fixture.dut.fetched.peek({0})->slots, 32u);
    EXPECT_EQ(fixture.dut.fetched.peek({1}), nullptr);
  });
  bench.at(Cycle{5003 + kReadLatency}, [&](Cycle) {  // the doorbell is taken in the same cycle
    EXPECT_EQ(fixture.model.posted(other.id), 7u);
    EXPECT_EQ(fixture.dut.fetched.peek({0})->producer, 0u) << "as it came";
  });
  bench.run();
  EXPECT_TRUE(seen);
  EXPECT_EQ(fixture.dut.written_back.last_write(), Cycle{5000});
  EXPECT_EQ(on(fixture.dut.written_back), (QueueWrite{0, expected}));
  EXPECT_EQ(fixture.host.load<WqRecord>(queue_context_address(q.id)).producer, 5u);
}

TEST(SrqWqeFetcherPorts, ARemovedQueueIsWrittenAsZeros) {  // R18, R21
  Bench bench;
  const SrqWqeFetcherParams params = defaults();
  Fixture fixture(bench, params);
  Queue first = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  Queue second = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  for (const Queue* q : {&first, &second}) {
    WqCommand destroy;
    destroy.operation = WqOperation::kDestroy;
    destroy.queue = q->id;
    fixture.commands.push(Cycle{99}, destroy);
  }
  bench.run();
  EXPECT_EQ(fixture.dut.written_back.last_write(), Cycle{101});
  EXPECT_EQ(on(fixture.dut.written_back), (QueueWrite{params.queue_contexts, {}})) << "of no line";
  EXPECT_EQ(fixture.host.load<WqRecord>(queue_context_address(first.id)).valid, 0);
  EXPECT_EQ(fixture.host.load<WqRecord>(queue_context_address(second.id)).valid, 0);
}

TEST(SrqWqeFetcherPorts, WhatWasCreatedBeforeTheFirstCycleIsRepeated) {
  Bench bench;
  Fixture fixture(bench);
  const Queue a = fixture.make(WqKind::kSrq, WqLayout::kLinkedList, 16, 3);
  const Queue b = fixture.make(WqKind::kRq, WqLayout::kCyclic, 32);
  std::vector<WqCommand> given;
  fixture.model.repeat_setup([&](const sc_core::sc_object& input, const DescriptorOperations& of, const void* value) {
    EXPECT_EQ(&input, &fixture.dut.commands);
    EXPECT_EQ(of.bytes, sizeof(WqCommand));
    given.push_back(*static_cast<const WqCommand*>(value));
  });
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].operation, WqOperation::kSetUp);
  EXPECT_TRUE(given[0].is_srq && given[0].linked_list && !given[1].is_srq && !given[1].linked_list);
  EXPECT_EQ(given[0].limit, 3u);
  EXPECT_EQ(given[0].base, a.context.base);
  EXPECT_EQ(given[1].base, b.context.base);
  EXPECT_EQ(given[1].slots, 32u);
}

// A doorbell in each cycle, of another queue.
TEST(SrqWqeFetcherPorts, ACommandWaitsForAsManyDoorbellsAsTheirLinkHolds) {  // R17
  Bench bench;
  Fixture fixture(bench);
  const Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 64);
  const Queue other = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 64);
  for (std::uint32_t n = 0; n < 40; ++n) fixture.ring(q, Cycle{100 + n}, n);
  WqCommand arm;
  arm.operation = WqOperation::kArmLimit;
  arm.queue = other.id;
  arm.limit = 1;
  fixture.commands.push(Cycle{109}, arm);  // seen in 110; the link has 8 places
  fixture.commands.push(Cycle{199}, arm);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{118});
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{200}) << "no doorbell comes";
}

TEST(SrqWqeFetcherPorts, WhatIsWrittenOfAContextShowsInTheNextCycle) {  // R20
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 1, Cycle{1});
  fixture.send(Cycle{999}, q, Operation::kSendFirst);  // leaves in cycle 1002
  std::vector<std::uint32_t> slots;
  for (const std::uint64_t cycle : {1002, 1003}) {
    bench.at(Cycle{cycle}, [&](Cycle) { slots.push_back(fixture.dut.context.peek({0})->wqe_slot); });
  }
  bench.run();
  EXPECT_EQ(fixture.dut.context_write.last_write(), Cycle{1002});
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{kNoWqeSlot, fixture.at(0).wqe_slot}));
}

}  // namespace
}  // namespace rxnic::srq_wqe_fetcher_ports_test
