// SPDX-License-Identifier: Apache-2.0
// Null regions (R8 of core/memory/translation.h): R12 of model/blocks/address_translator.h, and R6 of
// core/requester/payload_locator.h in the requester.
#include "testbench/unit/model/blocks/address_translator_fixture.h"
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::null_region_test {
namespace {

MptEntry null_region(Key key, Pdn pd) {
  MptEntry e;
  e.key = raw(key);
  e.valid = 1;
  e.kind = MemoryKind::kNull;
  e.access = kLocalWrite;
  e.pd = raw(pd);
  e.length = ~std::uint64_t{0};
  return e;
}

TEST(NullRegion, WhatIsWrittenToItGoesNowhereInTheCyclesOfALookup) {
  using Translator = AddressTranslatorFixture;
  Bench bench;
  Translator f(bench);
  f.region(1);
  f.host.store(mpt_address(Translator::key(2)), null_region(Translator::key(2), Translator::kPd));
  f.push(Cycle{0}, f.send(1, {0}));
  f.push(Cycle{0}, f.send(2, {0}));
  Segments p = f.send(2, {0}, 100);
  Translator::add(p, Translator::key(1), Translator::va(1) + 16, 60);
  Translator::add(p, Translator::key(2), ~std::uint64_t{0} - 4096, 40);
  f.push(Cycle{1999}, p);
  bench.run();
  const std::vector<SegmentWrite> left = f.left(p);
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].bytes, 0u);
  EXPECT_EQ(left[1].bytes, 60u);
  EXPECT_EQ(left[1].address, Translator::bus(1, 0, 16));
  EXPECT_EQ(left[2].bytes, 0u);
  for (const SegmentWrite& w : left) EXPECT_EQ(w.outcome, Outcome::kExecute);
  EXPECT_EQ(f.out.cycle(2), Cycle{2002});
  EXPECT_EQ(f.out.cycle(4), Cycle{2004}) << "one a cycle";
  EXPECT_EQ(f.dut.counters().null_bytes, 64u + 140u);
  EXPECT_EQ(f.dut.counters().walks, 3u) << "two regions, and a line of pages";
  EXPECT_EQ(f.dut.counters().mtt_misses, 1u);
}

TEST(NullRegion, ItIsLookedAheadWithoutPages) {
  using Translator = AddressTranslatorFixture;
  Bench bench;
  Translator f(bench);
  f.region(1);
  f.host.store(mpt_address(Translator::key(2)), null_region(Translator::key(2), Translator::kPd));
  f.push(Cycle{0}, f.send(2, {0}));
  f.push(Cycle{500}, f.send(1, {0}));  // waits for its walks, and what is behind it is looked at
  f.push(Cycle{500}, f.send(2, {5}));
  bench.run();
  EXPECT_EQ(f.packets_out(), 3u);
  EXPECT_EQ(f.dut.counters().walks, 3u);
}

TEST(NullRegion, APeerHasNoRightToIt) {
  using Translator = AddressTranslatorFixture;
  Bench bench;
  Translator f(bench);
  auto& refusals = bench.sink(f.dut.refusals);
  f.host.store(mpt_address(Translator::key(2)), null_region(Translator::key(2), Translator::kPd));
  const Segments p = f.write(f.rc, 2, 0, 100);
  f.push(Cycle{0}, p);
  bench.run();
  EXPECT_EQ(f.only(p).syndrome, 0x62);
  EXPECT_EQ(refusals.size(), 1u);
  EXPECT_EQ(f.dut.counters().null_bytes, 0u);
}

TEST(NullRegion, WhatIsSentFromItIsZerosThatNobodyReads) {
  using Sender = RequesterFixture;
  constexpr Key kNull{0x6600};
  Bench bench;
  Sender f(bench);
  f.memory.store(mpt_address(kNull), null_region(kNull, Sender::kPd));
  f.create(Sender::context());
  WqeSpec mixed, alone;
  mixed.sge = {{20, raw(kNull), 5}, Sender::segment(30), {10, raw(kNull), 0}};
  alone.sge = {{24, raw(kNull), 0}};
  f.post(10, {mixed, alone});
  bench.run();
  ASSERT_EQ(f.tx.size(), 2u);
  const auto payload = [&](std::size_t n, std::size_t bytes) {  // in front of the ICRC
    const Packet& p = f.sent(n);
    const auto end = p.frame.begin() + p.frame_bytes - 4;
    return std::vector<std::uint8_t>(end - static_cast<std::ptrdiff_t>(bytes), end);
  };
  std::vector<std::uint8_t> expected(60);
  for (std::uint32_t n = 0; n < 30; ++n) expected[20 + n] = Sender::byte_at(n);
  EXPECT_EQ(payload(0, 60), expected);
  EXPECT_EQ(payload(1, 24), std::vector<std::uint8_t>(24));
  ASSERT_EQ(f.payload_reads.log().size(), 1u);
  EXPECT_EQ(f.payload_reads.log()[0].request.bytes, 30u);
  EXPECT_EQ(f.dut.counters().null_bytes, 54u);
  EXPECT_EQ(f.dut.counters().payload_bytes, 84u);
}

}  // namespace
}  // namespace rxnic::null_region_test
