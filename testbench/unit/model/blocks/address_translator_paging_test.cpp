// SPDX-License-Identifier: Apache-2.0
// R11 of model/blocks/address_translator.h: absent pages.
#include <random>

#include "testbench/unit/model/blocks/address_translator_fixture.h"

namespace rxnic::address_translator_paging_test {
namespace {

using Fixture = AddressTranslatorFixture;
constexpr std::uint64_t kWalk = AddressTranslatorFixture::kWalk;
constexpr std::uint8_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

BusAddress entry_of(const MptEntry& e, std::uint64_t page) { return BusAddress{e.mtt_base + 8 * page}; }

// Region 1, whose pages are absent.
MptEntry on_demand(Fixture& f, std::uint8_t access = kAll) {
  MptEntry e = f.region(1, access);
  e.on_demand = 1;
  f.host.store(mpt_address(Fixture::key(1)), e);
  for (std::uint64_t page = 0; page < 16; ++page) f.host.store(entry_of(e, page), kAbsentPage);
  return e;
}
Doorbell reply(std::uint32_t number, std::uint32_t value = 0) {
  return {DoorbellKind::kPageReply, false, number, value, 0, {}};
}
void make_present(Fixture& f, const MptEntry& e, std::uint64_t page) {
  f.host.store(entry_of(e, page), raw(Fixture::bus(1, page)));
}

TEST(AddressTranslatorPaging, AnAbsentPageIsAskedForAndWaitedFor) {
  Bench bench;
  Fixture f(bench);
  const MptEntry e = on_demand(f);
  const Segments p = f.send(1, {9}), next = f.send(f.uc, 2, {});
  f.push(Cycle{9}, p);
  f.push(Cycle{9}, next);
  bench.at(Cycle{4999}, [&](Cycle) { make_present(f, e, 9); });
  f.page_replies.push(Cycle{4999}, reply(1));
  bench.run_to(Cycle{4999});
  EXPECT_EQ(f.dut.activity(), Activity::kWaitPage);
  EXPECT_EQ(f.out.size(), 0u) << "what is behind waits, too";
  bench.run();
  ASSERT_EQ(f.page_requests.size(), 1u);
  EXPECT_EQ(f.page_requests.cycle(0), Cycle{10 + 2 * kWalk});
  EXPECT_EQ(f.page_requests.value(0), (Event{EventType::kPageRequest, 1, Fixture::key(1), p[0].va}));
  ASSERT_EQ(f.out.size(), 2u);
  EXPECT_EQ(f.out.cycle(0), Cycle{5000 + kWalk + 2}) << "the entry is read again";
  EXPECT_EQ(f.only(p).address, Fixture::bus(1, 9, 16));
  EXPECT_EQ(f.only(p).outcome, Outcome::kExecute);
  EXPECT_EQ(f.dut.counters().page_requests, 1u);
  EXPECT_EQ(f.dut.counters().page_wait_cycles, 5000 - (10 + 2 * kWalk));
}

TEST(AddressTranslatorPaging, APageThatDoesNotExistIsAnError) {
  for (const bool received : {true, false}) {
    Bench bench;
    Fixture f(bench);
    const MptEntry e = on_demand(f);
    make_present(f, e, 8);
    const Segments p = received ? f.send(1, {0}) : f.write(f.rc, 1, 16, 64), next = f.send(f.uc, 1, {8});
    f.push(Cycle{9}, p);
    f.push(Cycle{9}, next);
    f.page_replies.push(Cycle{999}, reply(1, 1));
    bench.run();
    EXPECT_EQ(f.only(p).outcome, Outcome::kNak);
    EXPECT_EQ(f.only(p).syndrome, received ? 0x63 : 0x62);
    EXPECT_EQ(f.only(p).bytes, 0u);
    EXPECT_EQ(f.only(next).address, Fixture::bus(1, 8, 16)) << "the next one is not affected";
    EXPECT_EQ(f.page_requests.size(), 1u);
  }
}

// R5, R7: a response waits by itself; one whose page does not exist goes on as failed.
TEST(AddressTranslatorPaging, TheInputsAskAndWaitForThemselves) {
  Bench bench;
  Fixture f(bench);
  const MptEntry e = on_demand(f);
  f.region(2);
  const Segments p = f.send(1, {0}), other = f.send(2, {0});
  f.push(Cycle{9}, p);
  f.push(Cycle{9}, other);
  f.push(Cycle{9}, f.response(1, {8}));
  f.push(Cycle{9}, f.response(1, {9}));
  bench.at(Cycle{1000}, [&](Cycle) { make_present(f, e, 8); });
  f.page_replies.push(Cycle{1000}, reply(2));
  f.page_replies.push(Cycle{1500}, reply(3, 1));
  bench.at(Cycle{2000}, [&](Cycle) { make_present(f, e, 0); });
  f.page_replies.push(Cycle{2000}, reply(7)) /* of nobody */;
  f.page_replies.push(Cycle{2001}, reply(1));
  bench.run();
  ASSERT_EQ(f.gather_out.size(), 2u);
  EXPECT_FALSE(f.gather_out.value(0).failed);
  EXPECT_EQ(f.gather_out.value(0).address, Fixture::bus(1, 8, 16));
  EXPECT_LT(f.gather_out.cycle(0), Cycle{1200});
  EXPECT_TRUE(f.gather_out.value(1).failed);
  EXPECT_LT(f.gather_out.cycle(1), Cycle{1700});
  EXPECT_GT(f.out.cycle(0), Cycle{2002});
  EXPECT_EQ(f.only(p).address, Fixture::bus(1, 0, 16));
  EXPECT_EQ(f.only(other).address, Fixture::bus(2, 0, 16));
}

// Pages of one MTT line that come with the one that was asked for are not asked for; a line that was read before is.
TEST(AddressTranslatorPaging, ACachedEntryMayBeAbsentThoughThePageIsPresent) {
  Bench bench;
  Fixture f(bench);
  const MptEntry e = on_demand(f);
  make_present(f, e, 8);
  f.push(Cycle{9}, f.send(1, {8}));  // caches the line of 8 to 15
  f.push(Cycle{499}, f.send(1, {7}));
  bench.at(Cycle{1000}, [&](Cycle) {
    for (std::uint64_t page = 0; page < 16; ++page) make_present(f, e, page);
  });
  f.page_replies.push(Cycle{1000}, reply(1));
  f.push(Cycle{1999}, f.send(1, {6}));
  f.push(Cycle{2999}, f.send(1, {9}));
  f.page_replies.push(Cycle{3500}, reply(2));
  bench.run();
  ASSERT_EQ(f.page_requests.size(), 2u);
  EXPECT_EQ(f.page_requests.value(1).va, Fixture::va(1) + 9 * 4096 + 16);
  EXPECT_EQ(f.packets_out(), 4u);
}

// An atomic's operand and its data are looked up each for itself.
TEST(AddressTranslatorPaging, AnAtomicWaitsForThePageOfItsOperand) {
  Bench bench;
  Fixture f(bench);
  const MptEntry e = on_demand(f);
  const Segments p = f.with_range(f.rc, Operation::kFetchAdd, 1, 24, 8, kRemoteAtomic);
  f.push(Cycle{9}, p);
  bench.at(Cycle{1000}, [&](Cycle) { make_present(f, e, 0); });
  f.page_replies.push(Cycle{1000}, reply(1));
  bench.run();
  EXPECT_EQ(f.only(p).outcome, Outcome::kExecute);
  EXPECT_EQ(f.only(p).bus, Fixture::bus(1, 0, 24));
}

TEST(AddressTranslatorPaging, AWindowAsksForThePageOfItsRegion) {
  Bench bench;
  Fixture f(bench);
  MptEntry e = on_demand(f);
  e.kind = MemoryKind::kWindow1;
  e.bound_to = 0x7742;
  e.va = 0;
  e.length = 8192;
  e.paged_offset = Fixture::va(1) + 0x3000;
  f.host.store(mpt_address(Fixture::key(1)), e);
  Segments p = f.write(f.rc, 1, 0, 64);
  p[0].va = p[0].local_va = 0x20;
  f.push(Cycle{9}, p);
  f.page_replies.push(Cycle{999}, reply(1, 1));
  bench.run();
  ASSERT_EQ(f.page_requests.size(), 1u);
  EXPECT_EQ(f.page_requests.value(0), (Event{EventType::kPageRequest, 1, Key{0x7742}, Fixture::va(1) + 0x3020}));
}

// The command is answered at once; the segment fails when the reply has come.
TEST(AddressTranslatorPaging, ARegionIsFreedWhileAPageOfItIsAskedFor) {
  for (const std::uint32_t value : {0u, 1u}) {
    Bench bench;
    Fixture f(bench);
    const MptEntry e = on_demand(f);
    const Segments p = f.send(1, {0}), next = f.send(f.uc, 2, {1});
    f.region(2);
    f.push(Cycle{9}, p);
    f.push(Cycle{9}, next);
    bench.at(Cycle{600}, [&](Cycle) { f.host.store(mpt_address(Fixture::key(1)), MptEntry{}); });
    f.invalidate(Cycle{600}, e);
    f.page_replies.push(Cycle{1000}, reply(1, value));
    bench.run();
    ASSERT_EQ(f.command_replies.size(), 1u);
    EXPECT_LT(f.command_replies.cycle(0), Cycle{610});
    EXPECT_EQ(f.only(p).outcome, Outcome::kNak);
    EXPECT_EQ(f.only(next).address, Fixture::bus(2, 1, 16));
  }
}

// A tree of which only page 0x12345678 of the address space is there.
struct Tree {
  explicit Tree(Fixture& f, std::uint32_t number = 1) : fixture(f), key(Fixture::key(number)) {
    entry = f.region(number);
    entry.va = 0;
    entry.length = std::uint64_t{1} << 47;
    entry.on_demand = 1;
    entry.levels = kTreeLevels;
    entry.mtt_base = table(0);
    f.host.store(mpt_address(key), entry);
    for (std::uint8_t level = 0; level < kTreeLevels; ++level) {
      for (std::uint64_t n = 0; n < kTableEntries; ++n) f.host.store(BusAddress{table(level) + 8 * n}, kAbsentPage);
    }
    for (std::uint8_t level = 0; level < kTreeLevels; ++level) {
      const bool last = level + 1 == kTreeLevels;
      f.host.store(BusAddress{entry_address(entry, {table(level), level}, kVa)},
                   last ? raw(Fixture::bus(1, 3)) : table(static_cast<std::uint8_t>(level + 1)));
    }
  }
  static std::uint64_t table(std::uint8_t level) { return raw(icm::kMtt) + 0x100000 + 0x1000u * level; }
  Segments send(std::uint64_t va) {
    Segments p = fixture.packet(fixture.rc, Operation::kSendOnly);
    Fixture::add(p, key, va, 64);
    return p;
  }
  static constexpr std::uint64_t kVa = 0x1234'5678'9010;
  Fixture& fixture;
  const Key key;
  MptEntry entry;
};

TEST(AddressTranslatorPaging, ATreeIsLookedUpALevelACycle) {
  Bench bench;
  Fixture f(bench);
  Tree tree(f);
  const Segments p = tree.send(Tree::kVa), again = tree.send(Tree::kVa + 8);
  f.push(Cycle{9}, p);
  f.push(Cycle{1999}, again);
  bench.run();
  ASSERT_EQ(f.out.size(), 2u);
  EXPECT_EQ(f.only(p).address, Fixture::bus(1, 3, 0x10));
  EXPECT_EQ(f.only(again).address, Fixture::bus(1, 3, 0x18));
  EXPECT_EQ(f.out.cycle(0), Cycle{10 + 5 * kWalk + 3 + 2}) << "the region, and a table a level";
  EXPECT_EQ(f.out.cycle(1), Cycle{2000 + 3 + 2});
  EXPECT_EQ(f.dut.counters().mtt_misses, 4u);
  EXPECT_EQ(f.dut.counters().mtt_hits, 4u);
}

TEST(AddressTranslatorPaging, AMissingTableIsAskedForAsAPage) {
  Bench bench;
  Fixture f(bench);
  Tree tree(f);
  const Segments p = tree.send(0x1034'5678'9010);
  f.push(Cycle{9}, p);
  f.page_replies.push(Cycle{1000}, reply(1, 1));
  bench.run();
  ASSERT_EQ(f.page_requests.size(), 1u);
  EXPECT_EQ(f.page_requests.cycle(0), Cycle{10 + 2 * kWalk}) << "on the first level";
  EXPECT_EQ(f.page_requests.value(0).va, 0x1034'5678'9010u);
  EXPECT_EQ(f.only(p).outcome, Outcome::kNak);
}

// Its tables may be anywhere: all lines are forgotten with it.
TEST(AddressTranslatorPaging, TheTablesOfAFreedTreeAreForgotten) {
  Bench bench;
  Fixture f(bench);
  Tree tree(f);
  f.push(Cycle{9}, tree.send(Tree::kVa));
  RegionCommand freed{Key{tree.entry.key}, 12, 0, tree.entry.length, BusAddress{tree.entry.mtt_base}, kTreeLevels};
  f.commands.push(Cycle{1000}, freed);
  f.push(Cycle{1999}, tree.send(Tree::kVa));
  bench.run();
  EXPECT_EQ(f.dut.counters().walks, 10u);
}

// Replies come in the order of the requests, each at a time by which its request has been made.
TEST(AddressTranslatorPaging, AllModesAndOrdersAgree) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 5; ++round) {
    std::uint64_t asked = 0;
    expect_equal_in_all_orders([&](Bench& bench) {
      std::mt19937_64 random(seed + round);
      Fixture f(bench);
      const MptEntry e = on_demand(f);
      Tree tree(f, 2);
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t page = random() % 16;
        if (random() % 3 == 0) {
          f.push(Cycle{}, f.response(1, {page, random() % 16}));
        } else {
          f.push(Cycle{}, random() % 4 == 0 ? tree.send(Tree::kVa) : f.send(f.uc, 1, {page, random() % 16}));
        }
      }
      for (std::uint32_t number = 1; number <= 40; ++number) {
        const std::uint64_t at = 2000 * number + random() % 1000, page = random() % 16;
        const bool exists = random() % 5 != 0;
        bench.at(Cycle{at}, [&f, e, page, exists](Cycle) {
          if (exists) make_present(f, e, page);
        });
        f.page_replies.push(Cycle{at}, reply(number, exists ? 0 : 1));
      }
      bench.run();
      asked = f.page_requests.size();
      StateHash h;
      h.mix(bench.state_hash());
      for (const SegmentWrite& w : f.out.values()) h.mix(raw(w.address) + w.last);
      for (const GatherRead& r : f.gather_out.values()) h.mix(raw(r.address) << 1 | r.failed);
      return h.value();
    });
    EXPECT_GE(asked, 10u) << "seed " << seed + round;
  }
}

}  // namespace
}  // namespace rxnic::address_translator_paging_test
