// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of model/core/memory/translation.h.
#include "model/core/memory/translation.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

constexpr Key kKey{0x1234'56};
constexpr Pdn kPd{7};

MptEntry region() {
  MptEntry e;
  e.key = raw(kKey);
  e.valid = 1;
  e.access = kLocalWrite | kRemoteRead;
  e.page_shift = 12;
  e.pd = raw(kPd);
  e.va = 0x10f00;
  e.length = 0x2000;
  e.mtt_base = 0x9000;
  return e;
}
RegionCheck check(const MptEntry& e, std::uint64_t va, std::uint64_t bytes, std::uint8_t access = kLocalWrite) {
  return check_region(e, kKey, kPd, access, va, bytes);
}

TEST(Translation, WholeRegionIsInside) {  // R2
  EXPECT_EQ(check(region(), 0x10f00, 0x2000), RegionCheck::kOk);
  EXPECT_EQ(check(region(), 0x12eff, 1), RegionCheck::kOk);
}

TEST(Translation, OneByteOutsideIsOutOfBounds) {  // R2
  EXPECT_EQ(check(region(), 0x10eff, 1), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check(region(), 0x12eff, 2), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check(region(), 0x12f00, 1), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check(region(), 0x10f00, 0x2001), RegionCheck::kOutOfBounds);
}

TEST(Translation, SumsDoNotWrapAround) {  // R2
  EXPECT_EQ(check(region(), 0x10f01, ~std::uint64_t{0}), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check(region(), ~std::uint64_t{0}, 2), RegionCheck::kOutOfBounds);
  MptEntry top = region();
  top.va = ~std::uint64_t{0} - 0xfff;
  top.length = 0x1000;
  EXPECT_EQ(check(top, ~std::uint64_t{0}, 1), RegionCheck::kOk);
  EXPECT_EQ(check(top, ~std::uint64_t{0}, 2), RegionCheck::kOutOfBounds);
  EXPECT_EQ(mtt_entries(top), 1u);
}

TEST(Translation, KeyMustBeThatOfAValidEntry) {  // R1
  MptEntry e = region();
  e.key ^= 1;
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kBadKey);
  e = region();
  e.valid = 0;
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kBadKey);
  e = region();
  e.page_shift = 11;
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kBadKey);
}

TEST(Translation, ProtectionDomainMustAgree) {  // R1
  EXPECT_EQ(check_region(region(), kKey, Pdn{8}, kLocalWrite, 0x10f00, 1), RegionCheck::kWrongPd);
}

TEST(Translation, EveryRightAskedForMustBeGranted) {  // R1
  EXPECT_EQ(check(region(), 0x10f00, 1, kLocalWrite | kRemoteRead), RegionCheck::kOk);
  EXPECT_EQ(check(region(), 0x10f00, 1, kRemoteWrite), RegionCheck::kNoRight);
  EXPECT_EQ(check(region(), 0x10f00, 1, kLocalWrite | kRemoteWrite), RegionCheck::kNoRight);
}

TEST(Translation, FirstFailureIsReported) {  // R1
  EXPECT_EQ(check_region(region(), Key{1}, Pdn{8}, kRemoteWrite, 0, 1), RegionCheck::kBadKey);
  EXPECT_EQ(check_region(region(), kKey, Pdn{8}, kRemoteWrite, 0, 1), RegionCheck::kWrongPd);
  EXPECT_EQ(check_region(region(), kKey, kPd, kRemoteWrite, 0, 1), RegionCheck::kNoRight);
}

TEST(Translation, WhatMayBeInvalidated) {  // R4
  constexpr Qpn kQp{9};
  MptEntry e = region();
  EXPECT_FALSE(may_invalidate(e, kKey, kPd, kQp)) << "a region of ibv_reg_mr";
  e.kind = MemoryKind::kFastRegistered;
  EXPECT_TRUE(may_invalidate(e, kKey, kPd, kQp));
  EXPECT_FALSE(may_invalidate(e, Key{0x1234'57}, kPd, kQp));
  EXPECT_FALSE(may_invalidate(e, kKey, Pdn{8}, kQp));
  e.kind = MemoryKind::kWindow2;
  EXPECT_FALSE(may_invalidate(e, kKey, kPd, kQp)) << "bound on another QP";
  e.window_qp = kQp;
  EXPECT_TRUE(may_invalidate(e, kKey, kPd, kQp));
  e.invalidated = 1;
  EXPECT_FALSE(may_invalidate(e, kKey, kPd, kQp));
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kBadKey);
  e.invalidated = 0;
  e.valid = 0;
  EXPECT_FALSE(may_invalidate(e, kKey, kPd, kQp));
}

TEST(Translation, PagesCountFromTheOneWithTheFirstByte) {  // R3
  EXPECT_EQ(mtt_entry_address(region(), 0x10f00), 0x9000u);
  EXPECT_EQ(mtt_entry_address(region(), 0x10fff), 0x9000u);
  EXPECT_EQ(mtt_entry_address(region(), 0x11000), 0x9008u);
  EXPECT_EQ(mtt_entry_address(region(), 0x12eff), 0x9010u);
  EXPECT_EQ(mtt_entries(region()), 3u);
  EXPECT_EQ(bus_address_in_page(region(), 0xabc000, 0x11234), BusAddress{0xabc234});
}

TEST(Translation, LargePagesKeepMoreOfTheAddress) {  // R3
  MptEntry e = region();
  e.page_shift = 21;
  e.va = 0x200000;
  e.length = 0x400000;
  EXPECT_EQ(mtt_entry_address(e, 0x3fffff), 0x9000u);
  EXPECT_EQ(mtt_entry_address(e, 0x400000), 0x9008u);
  EXPECT_EQ(mtt_entries(e), 2u);
  EXPECT_EQ(bus_address_in_page(e, 0x8000000, 0x3fffff), BusAddress{0x81fffff});
}

}  // namespace
}  // namespace rxnic
