// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/memory/translation.h.
#include "model/core/memory/translation.h"

#include <gtest/gtest.h>

namespace rxnic::translation_test {
namespace {

constexpr Key kKey{0x1234'56};
constexpr Pdn kPd{7};
constexpr Qpn kQp{9};
constexpr Accessor kBy{kPd, kQp};

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
  return check_region(e, kKey, {kPd, kQp}, access, va, bytes);
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
  EXPECT_EQ(check_region(region(), kKey, {Pdn{8}, kQp}, kLocalWrite, 0x10f00, 1), RegionCheck::kWrongPd);
}

TEST(Translation, EveryRightAskedForMustBeGranted) {  // R1
  EXPECT_EQ(check(region(), 0x10f00, 1, kLocalWrite | kRemoteRead), RegionCheck::kOk);
  EXPECT_EQ(check(region(), 0x10f00, 1, kRemoteWrite), RegionCheck::kNoRight);
  EXPECT_EQ(check(region(), 0x10f00, 1, kLocalWrite | kRemoteWrite), RegionCheck::kNoRight);
}

TEST(Translation, FirstFailureIsReported) {  // R1
  EXPECT_EQ(check_region(region(), Key{1}, {Pdn{8}, kQp}, kRemoteWrite, 0, 1), RegionCheck::kBadKey);
  EXPECT_EQ(check_region(region(), kKey, {Pdn{8}, kQp}, kRemoteWrite, 0, 1), RegionCheck::kWrongPd);
  EXPECT_EQ(check_region(region(), kKey, kBy, kRemoteWrite, 0, 1), RegionCheck::kNoRight);
}

TEST(Translation, WhatMayBeInvalidated) {  // R4
  MptEntry e = region();
  EXPECT_FALSE(may_invalidate(e, kKey, kBy)) << "a region of ibv_reg_mr";
  e.kind = MemoryKind::kFastRegistered;
  EXPECT_TRUE(may_invalidate(e, kKey, kBy));
  EXPECT_FALSE(may_invalidate(e, Key{0x1234'57}, kBy));
  EXPECT_FALSE(may_invalidate(e, kKey, {Pdn{8}, kQp}));
  e.kind = MemoryKind::kWindow2;
  EXPECT_FALSE(may_invalidate(e, kKey, kBy)) << "bound on another QP";
  e.window_qp = kQp;
  EXPECT_TRUE(may_invalidate(e, kKey, kBy));
  e.invalidated = 1;
  EXPECT_FALSE(may_invalidate(e, kKey, kBy));
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kBadKey);
  e.invalidated = 0;
  e.valid = 0;
  EXPECT_FALSE(may_invalidate(e, kKey, kBy));
}

TEST(Translation, AWindowOfType2IsThereForItsQpAlone) {  // R1
  MptEntry e = region();
  e.kind = MemoryKind::kWindow2;
  e.window_qp = kQp;
  EXPECT_EQ(check(e, 0x10f00, 1), RegionCheck::kOk);
  EXPECT_EQ(check_region(e, kKey, {kPd, Qpn{10}}, kLocalWrite, 0x10f00, 1), RegionCheck::kBadKey);
  e.kind = MemoryKind::kWindow1;
  EXPECT_EQ(check_region(e, kKey, {kPd, Qpn{10}}, kLocalWrite, 0x10f00, 1), RegionCheck::kOk);
}

MptEntry window(MemoryKind kind) {
  MptEntry e;
  e.key = 0x4400'07;
  e.valid = 1;
  e.kind = kind;
  e.pd = raw(kPd);
  e.invalidated = 1;
  return e;
}
MptEntry bindable() {
  MptEntry e = region();
  e.access = kLocalWrite | kBindWindow;
  return e;
}
constexpr Key kNewKey{0x4400'08};
constexpr WindowBinding kBinding{kNewKey, 0x11000, 0x1f00, kRemoteWrite | kRemoteRead};

TEST(Translation, WhichWindowsMayBeBound) {  // R5
  const MptEntry one = window(MemoryKind::kWindow1), two = window(MemoryKind::kWindow2);
  EXPECT_TRUE(may_bind(one, kBinding, kBy));
  EXPECT_TRUE(may_bind(two, kBinding, kBy));
  EXPECT_FALSE(may_bind(two, kBinding, {Pdn{8}, kQp}));
  EXPECT_FALSE(may_bind(region(), kBinding, kBy)) << "no window";
  MptEntry e = two;
  e.valid = 0;
  EXPECT_FALSE(may_bind(e, kBinding, kBy));
  const auto with = [](Key key, std::uint64_t length) { return WindowBinding{key, 0x11000, length, 0}; };
  EXPECT_FALSE(may_bind(two, with(Key{0x4500'08}, 1), kBy)) << "the key of another";
  EXPECT_FALSE(may_bind(two, with(Key{0x4400'07}, 1), kBy)) << "its last key";
  EXPECT_TRUE(may_bind(one, with(Key{0x4400'07}, 1), kBy));
  EXPECT_FALSE(may_bind(two, with(kNewKey, 0), kBy));
  EXPECT_TRUE(may_bind(one, with(kNewKey, 0), kBy)) << "bound to nothing";
  e = two;
  e.invalidated = 0;
  EXPECT_FALSE(may_bind(e, kBinding, kBy)) << "it is bound";
  e = one;
  e.invalidated = 0;
  EXPECT_TRUE(may_bind(e, kBinding, kBy));
}

TEST(Translation, WhatAWindowMayBeBoundTo) {  // R5
  const auto may = [](const MptEntry& to, const WindowBinding& b = kBinding) { return may_bind_to(to, kKey, b, kBy); };
  EXPECT_TRUE(may(bindable()));
  EXPECT_FALSE(may_bind_to(bindable(), Key{1}, kBinding, kBy));
  EXPECT_FALSE(may_bind_to(bindable(), kKey, kBinding, {Pdn{8}, kQp}));
  EXPECT_FALSE(may(region())) << "the region does not let windows be bound to it";
  MptEntry e = bindable();
  e.access = kBindWindow;
  EXPECT_FALSE(may(e)) << "nobody may write there";
  EXPECT_TRUE(may(e, {kNewKey, 0x11000, 1, kRemoteRead}));
  EXPECT_FALSE(may(e, {kNewKey, 0x11000, 1, kRemoteAtomic}));
  e = bindable();
  e.access |= kZeroBased;
  EXPECT_FALSE(may(e));
  e = bindable();
  e.kind = MemoryKind::kWindow1;
  EXPECT_FALSE(may(e)) << "a window";
  EXPECT_TRUE(may(bindable(), {kNewKey, 0x10f00, 0x2000, 0}));
  EXPECT_FALSE(may(bindable(), {kNewKey, 0x10f00, 0x2001, 0}));
  EXPECT_FALSE(may(bindable(), {kNewKey, 0x10eff, 1, 0}));
}

TEST(Translation, ABoundWindowHasThePagesOfItsPartOfTheRegion) {  // R3, R5
  const MptEntry b = bound(window(MemoryKind::kWindow2), kBinding, bindable(), kBy);
  EXPECT_EQ(b.bound_to, raw(kKey));
  EXPECT_EQ(b.window_qp, kQp);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteWrite, 0x11000, 0x1f00), RegionCheck::kOk);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteWrite, 0x10fff, 1), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteWrite, 0x11000, 0x1f01), RegionCheck::kOutOfBounds);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteAtomic, 0x11000, 8), RegionCheck::kNoRight);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kLocalWrite, 0x11000, 8), RegionCheck::kNoRight);
  EXPECT_EQ(mtt_entry_address(b, 0x11000), mtt_entry_address(bindable(), 0x11000));
  EXPECT_EQ(mtt_entry_address(b, 0x12eff), mtt_entry_address(bindable(), 0x12eff));
  const MptEntry none = bound(b, {kNewKey, 0, 0, 0}, {}, kBy);
  EXPECT_EQ(check_region(none, kNewKey, kBy, 0, 0, 0), RegionCheck::kBadKey);
  EXPECT_EQ(none.bound_to, 0u);
}

// The window begins 0x123 bytes behind a page of the region, which begins in the middle of a page.
TEST(Translation, AZeroBasedWindowCountsFromItsFirstByte) {  // R3, R5
  const WindowBinding binding{kNewKey, 0x11123, 0x1000, kRemoteWrite | kZeroBased};
  const MptEntry b = bound(window(MemoryKind::kWindow1), binding, bindable(), kBy);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteWrite, 0, 0x1000), RegionCheck::kOk);
  EXPECT_EQ(check_region(b, kNewKey, kBy, kRemoteWrite, 0, 0x1001), RegionCheck::kOutOfBounds);
  EXPECT_EQ(mtt_entry_address(b, 0), 0x9008u);
  EXPECT_EQ(mtt_entry_address(b, 0xedc), 0x9008u);
  EXPECT_EQ(mtt_entry_address(b, 0xedd), 0x9010u);
  EXPECT_EQ(bus_address_in_page(b, 0xabc000, 0), BusAddress{0xabc123});
  EXPECT_EQ(bus_address_in_page(b, 0xabc000, 0xedd), BusAddress{0xabc000});
  EXPECT_EQ(mtt_entries(b), 2u);
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

TEST(Translation, ANullRegionHasNoPages) {  // R8
  MptEntry e = region();
  e.kind = MemoryKind::kNull;
  e.access = kLocalWrite;
  e.va = 0;
  e.length = ~std::uint64_t{0};
  EXPECT_EQ(mtt_entries(e), 0u);
  EXPECT_EQ(check(e, 0, 1, kLocalWrite), RegionCheck::kOk);
  EXPECT_EQ(check(e, ~std::uint64_t{0} - 0x1000, 0x1000, kLocalWrite), RegionCheck::kOk);
  EXPECT_EQ(check(e, 0, 1, kRemoteRead), RegionCheck::kNoRight);
  EXPECT_FALSE(may_invalidate(e, kKey, kBy));
  EXPECT_FALSE(may_bind_to(e, kKey, kBinding, kBy));
}

}  // namespace
}  // namespace rxnic::translation_test
