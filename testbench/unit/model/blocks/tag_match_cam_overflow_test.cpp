// SPDX-License-Identifier: Apache-2.0
// The overflow of the tag matcher in memory: its bytes decide, and every access costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "testbench/unit/model/blocks/tag_match_cam_fixture.h"

namespace rxnic::tag_match_cam_overflow_test {
namespace {

using namespace tag_match_cam_test;

constexpr std::uint64_t kRead = kReadLatency + 2;  // from a request to its completion at the block

TEST(TagMatchCamOverflow, TheBytesInMemoryDecide) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{1}, i, 100 + i);
  bench.at(Cycle{100}, [&](Cycle) {
    auto e = fixture.host.load<TagOverflowEntry>(Fixture::overflow(1));
    e.tag = 555;
    e.buffer.address = 0x123456;
    fixture.host.store(Fixture::overflow(1), e);
  });
  fixture.send(Cycle{999}, 109);
  fixture.send(Cycle{1999}, 555);
  bench.run();
  EXPECT_EQ(fixture.at(0).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_EQ(fixture.at(1).tag_verdict, TagVerdict::kMatched);
  EXPECT_EQ(fixture.at(1).wqe_index, 9u);
  EXPECT_EQ(fixture.at(1).tag_buffer.address, 0x123456u);
}

TEST(TagMatchCamOverflow, ARefilledEntryIsWhatWasRead) {  // R6, R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 9; ++i) fixture.add(Cycle{1}, i, 100 + i);
  bench.at(Cycle{100}, [&](Cycle) {
    auto e = fixture.host.load<TagOverflowEntry>(Fixture::overflow(0));
    e.tag = 555;
    fixture.host.store(Fixture::overflow(0), e);
  });
  fixture.send(Cycle{499}, 103);
  fixture.send(Cycle{999}, 555);
  bench.run();
  EXPECT_EQ(fixture.at(1).wqe_index, 8u);
  EXPECT_EQ(fixture.dut.counters().walk_reads, 0u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1004});
}

TEST(TagMatchCamOverflow, AFailedReadIsAnError) {  // R9
  TagMatchCamParams params = defaults();
  params.refill_reads = 1;  // one buffer, which holds the right bytes from an earlier read
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{1}, i, 100 + i);
  fixture.send(Cycle{99}, 999);
  bench.at(Cycle{500}, [&](Cycle) { fixture.host.unmap_all(); });
  fixture.send(Cycle{999}, 108);
  fixture.send(Cycle{1999}, 103);
  fixture.send(Cycle{2999}, 109);
  fixture.operations.push(Cycle{3999}, fixture.operation(TagOpcode::kDelete, 9));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 5u);
  EXPECT_EQ(fixture.at(0).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_EQ(fixture.at(1).tag_verdict, TagVerdict::kFailed);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1004 + kRead + 1});
  EXPECT_EQ(fixture.at(2).tag_verdict, TagVerdict::kMatched) << "the CAM goes on";
  EXPECT_EQ(fixture.at(3).tag_verdict, TagVerdict::kFailed);
  EXPECT_EQ(fixture.at(4).status, WcStatus::kTagMatch);
  EXPECT_EQ(fixture.dut.counters().bad_reads, 1u) << "the list is read no more";
  EXPECT_EQ(fixture.list().unexpected(), 1u);
}

TEST(TagMatchCamOverflow, BytesThatContradictTheListAreAnError) {  // R9
  for (const std::uint32_t handle : {3u, 77u}) {
    Bench bench;
    Fixture fixture(bench);
    for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{1}, i, 100 + i);
    bench.at(Cycle{100}, [&](Cycle) {
      auto e = fixture.host.load<TagOverflowEntry>(Fixture::overflow(0));
      e.handle = handle;
      fixture.host.store(Fixture::overflow(0), e);
    });
    fixture.send(Cycle{999}, 108);
    bench.run();
    EXPECT_EQ(fixture.at(0).tag_verdict, TagVerdict::kFailed);
    EXPECT_EQ(fixture.dut.counters().bad_reads, 1u);
  }
}

TEST(TagMatchCamOverflow, ABurstReadsWholeEvenWhenItsFirstEntryMatches) {  // R7
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 18; ++i) fixture.add(Cycle{1}, i, 100 + i);
  fixture.send(Cycle{999}, 108);
  bench.run();
  const auto reads = fixture.requests(DmaKind::kRead);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].request.bytes, 4u * sizeof(TagOverflowEntry));
}

TEST(TagMatchCamOverflow, AMatchBehindOthersIsMarkedDeadAndReadOver) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 12; ++i) fixture.add(Cycle{1}, i, 100 + i);
  fixture.send(Cycle{999}, 110);
  fixture.send(Cycle{1999}, 110);
  bench.run();
  EXPECT_EQ(fixture.at(0).wqe_index, 10u);
  EXPECT_EQ(fixture.at(1).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_EQ(fixture.dut.counters().list_writes, 1u);
  const auto writes = fixture.requests(DmaKind::kWrite);
  ASSERT_EQ(writes.size(), 5u);
  EXPECT_EQ(writes[4].request.bytes, 4u);
  EXPECT_EQ(fixture.host.load<TagOverflowEntry>(Fixture::overflow(2)).live, 0u);
  EXPECT_EQ(fixture.host.load<TagOverflowEntry>(Fixture::overflow(1)).live, 1u);
}

TEST(TagMatchCamOverflow, RemovalWalksTheOverflow) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 18; ++i) fixture.add(Cycle{1}, i, 100 + i);
  TagOperation op = fixture.operation(TagOpcode::kDelete, 15, 0, true);  // in the second read
  fixture.operations.push(Cycle{999}, op);
  fixture.send(Cycle{1010}, 100);  // waits for it
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.at(0).status, WcStatus::kSuccess);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{1001 + 2 * kRead + 8 + 1});  // eight entries are looked at
  EXPECT_EQ(fixture.dut.counters().list_reads, 2u);
  EXPECT_EQ(fixture.dut.counters().list_writes, 1u);
  EXPECT_GT(fixture.out.cycle(1).count, fixture.out.cycle(0).count);
  EXPECT_EQ(fixture.list().size(), 16u);
}

TEST(TagMatchCamOverflow, ASparseOverflowIsCompacted) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 24; ++i) fixture.add(Cycle{1}, i, 100 + i);  // 16 in the overflow
  Cycle when{1000};
  for (std::uint32_t i = 9; i < 22; ++i, when += 2000) fixture.send(when, 100 + i);  // 13 dead, of which 1 first
  fixture.send(when, 122);
  bench.run();
  for (std::uint32_t i = 0; i < 14; ++i) EXPECT_EQ(fixture.at(i).tag_verdict, TagVerdict::kMatched) << i;
  const TagMatchCamCounters& c = fixture.dut.counters();
  EXPECT_GT(c.list_reads, 0u);
  EXPECT_GT(c.list_writes, 13u) << "copies besides the marks";
  EXPECT_EQ(fixture.list().in_overflow(), 2u);
  EXPECT_EQ(fixture.out.cycle(13), Cycle{when.count + 1 + 4 + kRead + 2}) << "the second entry of the first read";
}

// A match makes room in the CAM while a compaction is in flight. A refill read of that time would hold what a slot was
// before, here a dead entry where the compaction puts a live one.
TEST(TagMatchCamOverflow, NothingIsReadWhileTheRingIsCompacted) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 24; ++i) fixture.add(Cycle{1}, i, 100 + i);  // 8 to 23 in the overflow
  Cycle when{1000};
  for (const std::uint64_t i : {9, 11, 13, 15, 17, 19, 21, 23}) {
    fixture.send(when, 100 + i);
    when += 2000;
  }
  fixture.send(when, 100);  // refilled with 8: a dead entry is the first, and there are more dead than live
  fixture.send(when + kRead + 20, 101);  // while the compaction is read
  bench.at(when + kRead + 20, [&](Cycle) { EXPECT_EQ(fixture.dut.counters().list_reads, 1u); });
  for (std::uint64_t i = 8; i < 23; i += 2) {
    when += 2000;
    fixture.send(when, 100 + i);
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 18u);
  for (std::size_t n = 0; n < 18; ++n) EXPECT_EQ(fixture.at(n).tag_verdict, TagVerdict::kMatched) << n;
  EXPECT_EQ(fixture.dut.counters().bad_reads, 0u);
}

TEST(TagMatchCamOverflow, AnAppendWaitsForRoomInTheRing) {  // R8
  TagMatchCamParams params = defaults();
  params.entries = 1;
  params.max_tags = 4;
  params.overflow_entries_per_read = 64;  // would not be compacted before the ring is full
  Bench bench;
  Fixture fixture(bench, params);
  fixture.add(Cycle{1}, 0, 100);
  fixture.add(Cycle{1}, 1, 101);
  Cycle when{1000};
  for (std::uint32_t i = 0; i < 20; ++i, when += 1000) {  // the entry behind the first is appended and matched
    fixture.add(when, 2, 200 + i, true);
    fixture.send(when + 300, 200 + i);
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 40u);
  for (std::size_t i = 0; i < 40; i += 2) {
    EXPECT_EQ(fixture.at(i).status, WcStatus::kSuccess);
    EXPECT_EQ(fixture.at(i + 1).wqe_index, 2u);
  }
  EXPECT_GT(fixture.dut.counters().list_reads, 1u);
}

// The match made room, which was refilled; then the match comes back.
TEST(TagMatchCamOverflow, RestoreNeverHoldsMoreThanTheCamDoes) {  // R5, R14
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{1}, i, i < 9 ? 7 : 8);
  fixture.send(Cycle{499}, 7);
  fixture.returned.push(Cycle{1000}, {kSrq, 0});
  bench.at(Cycle{1500}, [&](Cycle) {
    EXPECT_EQ(fixture.list().in_cam(), 8u);
    EXPECT_EQ(fixture.list().in_overflow(), 2u);
    EXPECT_EQ(fixture.model.entries_used(), 8u);
  });
  for (std::uint64_t i = 0; i < 9; ++i) fixture.send(Cycle{2000 + 1000 * i}, 7);
  fixture.send(Cycle{20'000}, 8);
  bench.run();
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(fixture.at(i + 1).wqe_index, i) << "as old as they were";
}

TEST(TagMatchCamOverflow, AMatchOfTheOverflowGoesBackBetweenTheOthers) {  // R14
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 14; ++i) fixture.add(Cycle{1}, i, i < 8 ? 1 : i == 8 ? 20 : i == 11 ? 21 : 7);
  fixture.operations.push(Cycle{100}, fixture.operation(TagOpcode::kDelete, 12));
  fixture.send(Cycle{999}, 7);   // 9
  fixture.send(Cycle{1999}, 7);  // 10
  fixture.returned.push(Cycle{3000}, {kSrq, 10});
  fixture.returned.push(Cycle{3000}, {kSrq, 9});
  Cycle when{4000};
  for (const std::uint64_t tag : {7, 7, 7, 20, 21, 7}) {
    fixture.send(when, tag);
    when += 1000;
  }
  bench.run();
  const std::uint32_t expected[] = {9, 10, 9, 10, 13, 8, 11};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(fixture.at(i).wqe_index, expected[i]) << i;
  EXPECT_EQ(fixture.at(7).tag_verdict, TagVerdict::kUnexpected);
  EXPECT_EQ(fixture.list().in_cam(), 8u);
  EXPECT_GT(fixture.dut.counters().list_reads, 2u);
}

// What was in flight for a list does not reach its successor of the same number.
TEST(TagMatchCamOverflow, ANewListGetsNothingOfTheOldOne) {
  for (const std::uint64_t removed : {1010u, 1020u, 2010u, 3010u}) {  // during a refill, a walk, a removal
    Bench bench;
    Fixture fixture(bench);
    for (std::uint32_t i = 0; i < 12; ++i) fixture.add(Cycle{1}, i, 100 + i);
    fixture.send(Cycle{999}, 100);
    fixture.send(Cycle{1999}, 999);
    fixture.operations.push(Cycle{2999}, fixture.operation(TagOpcode::kDelete, 11));
    fixture.lists.push(Cycle{removed}, {false, kSrq, {}, {}});
    fixture.lists.push(Cycle{removed + 1}, {true, kSrq, {}, {}});
    for (std::uint32_t i = 0; i < 10; ++i) fixture.add(Cycle{3500}, i, 200 + i);
    fixture.send(Cycle{3999}, 108);
    bench.at(Cycle{4500}, [&](Cycle now) {
      TagOperation sync = fixture.operation(TagOpcode::kSync, 0);
      sync.tm_sync = true;
      sync.unexpected_count = fixture.list().unexpected();
      fixture.operations.push(now + 1, sync);
    });
    fixture.send(Cycle{4999}, 208);
    bench.run();
    EXPECT_EQ(fixture.list_done.size(), 2u);
    const std::size_t n = fixture.out.size();
    EXPECT_EQ(fixture.at(n - 2).tag_verdict, TagVerdict::kUnexpected);
    EXPECT_EQ(fixture.at(n - 1).wqe_index, 8u);
    EXPECT_EQ(fixture.list().in_cam(), 8u);
    EXPECT_EQ(fixture.model.entries_used(), 8u);
    EXPECT_EQ(fixture.dut.counters().bad_reads, 0u);
  }
}

// A plain list for the same rules.
struct PlainList {
  struct Entry {
    TagEntry entry;
    std::uint64_t sequence;
    bool held;
  };
  std::vector<Entry> entries;
  std::vector<Entry> matched;  // may come back
  std::uint64_t appended = 0;
  std::uint32_t max_tags = 0;
  bool in_phase = true;

  auto find(std::uint32_t handle) {
    return std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.entry.handle == handle; });
  }
  bool append(const TagEntry& e) {
    if (e.handle >= max_tags || find(e.handle) != entries.end() || entries.size() == max_tags) return false;
    std::erase_if(matched, [&](const Entry& m) { return m.entry.handle == e.handle; });
    entries.push_back({e, appended++, !in_phase});
    return true;
  }
  bool remove(std::uint32_t handle) {
    const auto it = find(handle);
    if (it == entries.end()) return false;
    entries.erase(it);
    return true;
  }
  std::uint32_t search(std::uint64_t tag) {
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      if (it->held || (tag & it->entry.mask) != it->entry.tag) continue;
      matched.push_back(*it);
      entries.erase(it);
      return matched.back().entry.handle;
    }
    in_phase = false;
    return kNoTagEntry;
  }
  std::uint32_t give_back(std::size_t n) {
    const Entry e = matched[n];
    matched.erase(matched.begin() + static_cast<std::ptrdiff_t>(n));
    const auto younger = [&](const Entry& other) { return other.sequence > e.sequence; };
    entries.insert(std::find_if(entries.begin(), entries.end(), younger), e);
    return e.entry.handle;
  }
  void acknowledge() {
    in_phase = true;
    for (Entry& e : entries) e.held = false;
  }
};

// One action after the other, each checked; what goes on in the background meanwhile must not change a result.
std::uint64_t one_by_one(Bench& bench, std::uint64_t seed, TagMatchCamCounters& total) {
  auto& random = bench.keep<std::mt19937_64>(seed);
  TagMatchCamParams params = defaults();
  params.entries = static_cast<std::uint32_t>(1 + random() % 6);
  params.overflow_entries_per_read = static_cast<std::uint32_t>(1 + random() % 5);
  params.refill_reads = static_cast<std::uint32_t>(1 + random() % 3);
  params.append_cycles = static_cast<std::uint32_t>(1 + random() % 3);
  params.organisation = static_cast<TagOrganisation>(random() % 3);
  Fixture& f = bench.keep<Fixture>(bench, params);
  f.memory.set_latency(5 + random() % 60);
  auto& list = bench.keep<PlainList>();
  list.max_tags = params.max_tags;
  struct Expected {
    std::optional<std::uint32_t> match;
    bool ok = true;
  };
  auto& expected = bench.keep<Expected>();
  auto& left = bench.keep<int>(3000);
  const bool few_tags = random() % 2 == 0;
  const auto act = [&f, &list, &expected, &left, &random, few_tags](Cycle when) {
    const auto handle = static_cast<std::uint32_t>(random() % 33);
    const std::uint64_t tag = random() % (few_tags ? 4 : 40);
    for (std::uint64_t n = random() % 8 == 0 ? random() % 3 : 0; n > 0 && !list.matched.empty(); --n) {
      f.returned.push(when, {kSrq, list.give_back(random() % list.matched.size())});
    }
    const std::uint64_t kind = random() % 16;
    if (kind < 6) {
      TagOperation op = f.operation(TagOpcode::kAdd, handle, tag, true);
      if (random() % 4 == 0) op.entry.mask = random() % 8;
      op.entry.tag &= op.entry.mask;
      expected = {{}, list.append(op.entry)};
      f.operations.push(when, op);
    } else if (kind < 8) {
      expected = {{}, list.remove(handle)};
      f.operations.push(when, f.operation(TagOpcode::kDelete, handle, 0, true));
    } else if (kind < 10) {
      TagOperation op = f.operation(TagOpcode::kSync, 0, 0, true);
      op.tm_sync = true;
      op.unexpected_count = f.list().unexpected();
      list.acknowledge();
      expected = {{}, true};
      f.operations.push(when, op);
    } else {
      expected = {list.search(tag), true};
      f.send(when, tag);
    }
    --left;
  };
  f.out.on_value([&f, &expected, &left, &random, act, entries = params.entries](Cycle now, const WqeRequest& p) {
    EXPECT_LE(f.model.entries_used(), entries);
    if (expected.match.has_value()) {
      EXPECT_EQ(p.tag_verdict == TagVerdict::kMatched ? p.wqe_index : kNoTagEntry, *expected.match) << "left " << left;
      f.shared.packets.release(p.buffer);
    } else {
      EXPECT_EQ(p.role, PacketRole::kTagOperation);
      EXPECT_EQ(p.status == WcStatus::kSuccess, expected.ok) << "left " << left;
    }
    if (left > 0 && !testing::Test::HasFailure()) act(now + 1 + (random() % 3 == 0 ? random() % 200 : 0));
  });
  act(Cycle{1});
  bench.run();
  EXPECT_EQ(f.list().size(), list.entries.size());
  const TagMatchCamCounters& c = f.dut.counters();
  EXPECT_EQ(c.bad_reads, 0u);
  total.walks += c.walks;
  total.refill_waits += c.refill_waits;
  total.promotions += c.promotions;
  total.list_reads += c.list_reads;
  total.list_writes += c.list_writes;
  total.returned += c.returned;
  StateHash h;
  h.mix(bench.state_hash());
  mix_all_of(h, f.out);
  return h.value();
}

TEST(TagMatchCamOverflow, RandomTrafficAgreesWithAPlainListInAllOrders) {
  const std::uint64_t seed = test_seed(5);
  TagMatchCamCounters total;
  for (std::uint64_t i = 0; i < 6; ++i) {
    expect_equal_in_all_orders([&](Bench& bench) { return one_by_one(bench, seed + i, total); });
  }
  EXPECT_GT(total.walks, 2000u);
  EXPECT_GT(total.refill_waits, 500u);
  EXPECT_GT(total.promotions, 5000u);
  EXPECT_GT(total.list_reads, 2000u);
  EXPECT_GT(total.list_writes, 2000u);
  EXPECT_GT(total.returned, 2000u);
}

}  // namespace
}  // namespace rxnic::tag_match_cam_overflow_test
