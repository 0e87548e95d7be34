// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_prefetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"

namespace rxnic::wqe_prefetch_test {
namespace {

using WqeRun = WqePrefetch::Run;
constexpr std::uint32_t kStride = 32;
constexpr std::uint32_t kNoLimit = 1000;  // of the window

// A queue in memory; WQE k is in slot order[k mod slots] and its segment's length is the low byte of k, plus one.
struct Memory {
  Memory(WqLayout layout, std::uint32_t slots) : bytes(slots * kStride), order(slots) {
    context.layout = layout;
    context.slots = slots;
    context.stride = kStride;
    std::iota(order.begin(), order.end(), 0u);
  }
  std::uint32_t slot(std::uint32_t k) const { return order[k % context.slots]; }
  void post(std::uint32_t k) {
    const DataSegment sge{(k & 0xff) + 1, 1, 0};
    write_wqe({bytes.data() + slot(k) * kStride, kStride}, context.layout, slot(k + 1), {&sge, 1});
  }
  const std::uint8_t* at(const WqeRun& r) const { return bytes.data() + r.slot * kStride; }
  WqContext context;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> order;
};

std::uint32_t length_of(const WqePrefetch::Wqe& wqe, WqLayout layout) {
  ReceiveWqe parsed;
  EXPECT_TRUE(parse_wqe(wqe.bytes, layout, wqe.slot, parsed));
  return parsed.sge[0].length;
}

TEST(WqePrefetch, ReadsNothingThatWasNotPosted) {  // R1
  Memory m(WqLayout::kCyclic, 16);
  WqePrefetch p(8);
  p.bind(m.context, 0, 0, kNoLimit);
  WqeRun r;
  EXPECT_FALSE(p.next_run(0, 0, 4, true, r));
  ASSERT_TRUE(p.next_run(3, 0, 4, true, r));
  EXPECT_EQ(r.count, 3u);
}

// A queue of which everything is posted, read with up to four WQEs a read.
struct Demanded {
  explicit Demanded(std::uint32_t ahead) : memory(WqLayout::kCyclic, 64), prefetch(16) {
    for (std::uint32_t k = 0; k < 64; ++k) memory.post(k);
    prefetch.bind(memory.context, 0, 0, ahead);
  }
  // Reads as much as there is to be read. Returns the number of WQEs.
  std::uint32_t read(std::uint32_t asked) {
    std::uint32_t total = 0;
    for (WqeRun r; prefetch.next_run(60, asked, 4, true, r); total += r.count) {
      prefetch.started(r);
      prefetch.arrived(r, true, memory.at(r));
    }
    return total;
  }
  Memory memory;
  WqePrefetch prefetch;
};

// Notes what it sees; the window is 2 at first, 5 after a wait, 3 after a take.
struct TestWindow final : PrefetchWindow {
  std::uint32_t at_begin(const PrefetchQueue& q) override { return seen.push_back(q), 2; }
  std::uint32_t at_wait(const PrefetchQueue& q) override { return seen.push_back(q), 5; }
  std::uint32_t at_take(const PrefetchQueue& q) override { return seen.push_back(q), 3; }
  bool follows_takes() const override { return takes; }
  std::vector<PrefetchQueue> seen;
  bool takes = false;
};

TEST(WqePrefetch, APolicyDecidesOfTheWindow) {  // prefetch_window.h
  for (const bool takes : {false, true}) {
    Memory m(WqLayout::kCyclic, 64);
    TestWindow window;
    window.takes = takes;
    WqePrefetch p(16, &window);
    m.context.number = 77;
    p.bind(m.context, 0, 0, 4);
    ASSERT_EQ(window.seen.size(), 1u);
    EXPECT_EQ(window.seen[0].number, 77u);
    EXPECT_EQ(window.seen[0].depth, 16u);
    EXPECT_EQ(window.seen[0].begin, 4u);
    const auto read = [&](std::uint32_t asked) {
      std::uint32_t total = 0;
      for (WqeRun r; p.next_run(60, asked, 4, true, r); total += r.count) {
        p.started(r);
        m.post(r.number);
        p.arrived(r, true, m.at(r));
      }
      return total;
    };
    EXPECT_EQ(read(0), 2u);
    p.waited();
    ASSERT_EQ(window.seen.size(), 2u);
    EXPECT_EQ(window.seen[1].held, 2u);
    EXPECT_EQ(window.seen[1].window, 2u);
    EXPECT_FALSE(window.seen[1].taken);
    EXPECT_EQ(read(0), 3u);
    p.pop();
    EXPECT_EQ(window.seen.size(), takes ? 3u : 2u);
    EXPECT_EQ(read(2), takes ? 1u : 3u) << "of 4 that are here, for 2 that are asked for and a window of 3 or 5";
  }
}

TEST(WqePrefetch, AWindowBeyondTheDepthIsTheDepth) {
  struct Much final : PrefetchWindow {
    std::uint32_t at_begin(const PrefetchQueue&) override { return ~0u; }
    std::uint32_t at_wait(const PrefetchQueue&) override { return ~0u; }
  } window;
  Memory m(WqLayout::kCyclic, 64);
  WqePrefetch p(8, &window);
  p.bind(m.context, 0, 0, 0);
  WqeRun r;
  ASSERT_TRUE(p.next_run(60, 3, 64, true, r));
  EXPECT_LE(r.count, 8u);
}

TEST(WqePrefetch, ReadsWhatIsAskedFor) {  // R1
  Demanded d(0);
  EXPECT_EQ(d.read(0), 0u);
  EXPECT_EQ(d.read(1), 1u);
  EXPECT_EQ(d.read(1), 0u);
  EXPECT_EQ(d.read(6), 5u);
  EXPECT_EQ(d.read(100), 10u) << "up to its depth";
}

TEST(WqePrefetch, TheWindowDoublesWhenAPacketWaits) {  // R1
  Demanded d(0);
  d.prefetch.waited();  // for the first WQE
  EXPECT_EQ(d.read(1), 1u);
  d.prefetch.pop();
  std::uint32_t here = 0;
  for (const std::uint32_t expected : {2u, 3u, 5u, 9u, 13u, 13u}) {  // one asked for and 1, 2, 4, 8, 16: whole reads
    d.prefetch.waited();
    here += d.read(1);
    EXPECT_EQ(here, expected);
  }
  EXPECT_EQ(d.prefetch.unbind(), here) << "in vain";
  d.prefetch.bind(d.memory.context, 20, 20, 0);
  EXPECT_EQ(d.read(1), 1u) << "it begins anew";
}

TEST(WqePrefetch, TheWindowIsWhatItWasBoundWithAtFirst) {  // R1
  Demanded d(3);
  EXPECT_EQ(d.read(0), 3u);
  d.prefetch.pop();
  EXPECT_EQ(d.read(0), 1u);
  EXPECT_EQ(d.read(2), 2u);
}

TEST(WqePrefetch, HoldsAtMostItsDepthAndWaitsForRoomForAWholeRead) {  // R1, R2
  Memory m(WqLayout::kCyclic, 16);
  WqePrefetch p(6);
  p.bind(m.context, 0, 0, kNoLimit);
  WqeRun r;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(p.next_run(16, 0, 3, true, r));
    EXPECT_EQ(r.count, 3u);
    p.started(r);
    for (std::uint32_t k = 0; k < 3; ++k) m.post(r.number + k);
    p.arrived(r, true, m.at(r));
  }
  EXPECT_FALSE(p.next_run(16, 0, 3, true, r));
  p.pop();
  p.pop();
  EXPECT_FALSE(p.next_run(16, 0, 3, true, r));
  p.pop();
  ASSERT_TRUE(p.next_run(16, 0, 3, true, r));
  EXPECT_EQ(r.number, 6u);
}

TEST(WqePrefetch, AReadNeverCrossesTheEndOfTheRing) {  // R2
  Memory m(WqLayout::kCyclic, 8);
  WqePrefetch p(16);
  p.bind(m.context, 6, 6, kNoLimit);
  WqeRun r;
  ASSERT_TRUE(p.next_run(14, 0, 4, true, r));
  EXPECT_EQ(r.count, 2u);
  p.started(r);
  ASSERT_TRUE(p.next_run(14, 0, 4, true, r));
  EXPECT_EQ(r.slot, 0u);
  EXPECT_EQ(r.count, 4u);
}

TEST(WqePrefetch, AListWithoutGuessingReadsOneWqeAfterTheOther) {  // R4
  Memory m(WqLayout::kLinkedList, 8);
  m.order = {0, 5, 3, 1, 2, 4, 6, 7};
  WqePrefetch p(8);
  p.bind(m.context, 0, 0, kNoLimit);
  for (std::uint32_t k = 0; k < 4; ++k) m.post(k);
  WqeRun r;
  for (std::uint32_t k = 0; k < 4; ++k) {
    ASSERT_TRUE(p.next_run(4, 0, 4, false, r));
    EXPECT_EQ(r.count, 1u);
    EXPECT_EQ(r.slot, m.slot(k));
    p.started(r);
    WqeRun other;
    EXPECT_FALSE(p.next_run(4, 0, 4, false, other));
    EXPECT_EQ(p.arrived(r, true, m.at(r)), 0u);
  }
}

TEST(WqePrefetch, AWrongGuessIsDiscardedAndReadAgain) {  // R5
  Memory m(WqLayout::kLinkedList, 8);
  m.order = {0, 1, 5, 6, 2, 3, 4, 7};
  WqePrefetch p(8);
  p.bind(m.context, 0, 0, kNoLimit);
  for (std::uint32_t k = 0; k < 6; ++k) m.post(k);
  WqeRun first, second, third;
  ASSERT_TRUE(p.next_run(6, 0, 3, true, first));
  p.started(first);
  ASSERT_TRUE(p.next_run(6, 0, 3, true, second));
  p.started(second);
  EXPECT_EQ(p.arrived(first, true, m.at(first)), 1u);    // slot 2 was guessed, but the next slot is 5
  EXPECT_EQ(p.arrived(second, true, m.at(second)), 3u);  // none of them is the next slot
  ASSERT_TRUE(p.next_run(6, 0, 3, true, third));
  EXPECT_EQ(third.number, 2u);
  EXPECT_EQ(third.slot, 5u);
}

TEST(WqePrefetch, NothingIsHandedOutBeforeItsPlaceIsConfirmed) {  // R6
  Memory m(WqLayout::kLinkedList, 8);
  WqePrefetch p(8);
  p.bind(m.context, 0, 0, kNoLimit);
  for (std::uint32_t k = 0; k < 6; ++k) m.post(k);
  WqeRun first, second;
  ASSERT_TRUE(p.next_run(6, 0, 2, true, first));
  p.started(first);
  ASSERT_TRUE(p.next_run(6, 0, 2, true, second));
  p.started(second);
  p.arrived(second, true, m.at(second));
  EXPECT_FALSE(p.ready());
  p.arrived(first, true, m.at(first));
  for (std::uint32_t k = 0; k < 4; ++k) {
    ASSERT_TRUE(p.ready());
    EXPECT_EQ(length_of(p.front(), m.context.layout), k + 1);
    EXPECT_EQ(p.pop(), k + 1);
  }
  EXPECT_FALSE(p.ready());
}

TEST(WqePrefetch, WhatCouldNotBeReadIsHandedOutAsUnreadable) {  // R7
  Memory m(WqLayout::kLinkedList, 8);
  WqePrefetch p(8);
  p.bind(m.context, 0, 7, kNoLimit);
  WqeRun r;
  ASSERT_TRUE(p.next_run(1, 0, 4, true, r));
  p.started(r);
  p.arrived(r, false, nullptr);
  ASSERT_TRUE(p.ready());
  EXPECT_FALSE(p.front().readable);
  EXPECT_EQ(p.pop(), 0u);
}

TEST(WqePrefetch, ABoundContextKnowsNothingOfTheQueueBefore) {
  Memory m(WqLayout::kCyclic, 8);
  WqePrefetch p(8);
  p.bind(m.context, 0, 0, kNoLimit);
  WqeRun r;
  ASSERT_TRUE(p.next_run(4, 0, 4, true, r));
  p.started(r);
  p.bind(m.context, 3, 3, kNoLimit);
  EXPECT_EQ(p.arrived(r, true, m.at(r)), 4u);
  EXPECT_FALSE(p.ready());
}

TEST(WqePrefetch, EveryWqeIsHandedOutOnceAndInOrderWhateverComesWhen) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? 5 : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const WqLayout layout = random() % 3 ? WqLayout::kLinkedList : WqLayout::kCyclic;
    Memory m(layout, 16);
    if (layout == WqLayout::kLinkedList && random() % 4) {
      for (std::size_t swaps = random() % 16; swaps > 0; --swaps)
        std::swap(m.order[random() % 16], m.order[random() % 16]);
    }
    const auto start = static_cast<std::uint32_t>(0u - 32u);  // the counters wrap on the way
    const bool sequential = random() % 2;
    const auto per_read = static_cast<std::uint32_t>(1 + random() % 5);
    WqePrefetch p(static_cast<std::uint32_t>(1 + random() % 12));
    p.bind(m.context, start, m.slot(start), kNoLimit);
    std::uint32_t posted = start, taken = start;
    std::uint64_t read = 0, in_vain = 0;
    std::vector<std::pair<WqeRun, std::vector<std::uint8_t>>> flights;
    while (taken - start < 300) {
      switch (random() % 4) {
        case 0:
          if (posted - taken < 15) m.post(posted), ++posted;
          break;
        case 1: {
          WqeRun r;
          if (flights.size() < 4 && p.next_run(posted, 0, per_read, sequential, r)) {
            p.started(r);
            read += r.count;
            flights.emplace_back(r, std::vector<std::uint8_t>(m.at(r), m.at(r) + r.count * kStride));
          }
          break;
        }
        case 2:
          if (!flights.empty()) {
            const auto it = flights.begin() + static_cast<std::ptrdiff_t>(random() % flights.size());
            in_vain += p.arrived(it->first, true, it->second.data());
            flights.erase(it);
          }
          break;
        default:
          if (p.ready()) {
            ASSERT_EQ(p.front().slot, m.slot(taken));
            ASSERT_EQ(length_of(p.front(), layout), (taken & 0xff) + 1);
            ASSERT_EQ(p.pop(), m.slot(taken + 1));
            ++taken;
          }
      }
    }
    EXPECT_LE(taken - start + in_vain, read);
    if (layout == WqLayout::kCyclic || !sequential) {
      EXPECT_EQ(in_vain, 0u);
    }
  }
}

}  // namespace
}  // namespace rxnic::wqe_prefetch_test
