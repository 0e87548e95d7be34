// SPDX-License-Identifier: Apache-2.0
// R12 of bridge/driver/driver.h: pages of on-demand regions. What programs see of it: live.verbs.paging.
#include <gtest/gtest.h>

#include <cerrno>

#include "model/core/memory/translation.h"
#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_paging_test {
namespace {

using channel::Request;

constexpr std::uint64_t kPageBytes = 4096, kTableSpan = kPageBytes * kTableEntries;
constexpr std::uint32_t kAccess = kAccessOnDemand | kLocalWrite;

class DriverPaging : public testing::Test {
 protected:
  DriverPaging() : lab(1), a(lab, 0), pd(a.create_pd()) {}
  MptEntry entry(std::uint32_t lkey) { return lab.memories[0]->load<MptEntry>(mpt_address(Key{lkey})); }
  // What the tables say of a page: where it is, or kAbsentPage.
  std::uint64_t page(std::uint32_t lkey, std::uint64_t va) {
    const MptEntry e = entry(lkey);
    for (PageStep step = first_step(e);;) {
      const auto value = lab.memories[0]->load<std::uint64_t>(BusAddress{entry_address(e, step, va)});
      if (is_last(e, step) || value == kAbsentPage) return value;
      step = {value, static_cast<std::uint8_t>(step.level + 1)};
    }
  }
  bool present(std::uint32_t lkey, std::uint64_t va) {
    const std::uint64_t value = page(lkey, va);
    if (value == kAbsentPage) return false;
    EXPECT_EQ(value, raw(program_address(a.id, va / kPageBytes * kPageBytes)));
    return true;
  }
  std::int32_t advise(std::uint32_t lkey, std::uint64_t va, std::uint64_t length, std::uint32_t flags = kAdviceFlush,
                      std::uint32_t advice = kAdvicePrefetchWrite) {
    return a.call(Request::kAdviseMemory, [&](auto& b) { b.advice = {pd, lkey, advice, flags, va, length, 0}; }).status;
  }
  std::uint32_t whole() { return a.create_mr(pd, 0, ~std::uint64_t{0}, kAccess); }

  Lab lab;
  Program a;
  std::uint32_t pd;
};

TEST_F(DriverPaging, PagesAreAbsentUntilTheyAreAdvised) {
  const std::uint64_t memory = a.local(40 * kPageBytes);
  const std::uint32_t mr = a.create_mr(pd, memory, 40 * kPageBytes, kAccess);
  EXPECT_EQ(entry(mr).on_demand, 1);
  EXPECT_EQ(entry(mr).levels, 0);
  for (std::uint64_t n = 0; n < 40; ++n) EXPECT_FALSE(present(mr, memory + n * kPageBytes)) << n;
  EXPECT_EQ(advise(mr, memory + 2 * kPageBytes - 1, 18 * kPageBytes + 2), 0);
  for (std::uint64_t n = 0; n < 40; ++n) EXPECT_EQ(present(mr, memory + n * kPageBytes), n >= 1 && n <= 20) << n;
}

// host.page_fault_pages at a time, host.page_fault_ps each.
TEST_F(DriverPaging, AdviceTakesTheTimeOfItsFaults) {
  const std::uint64_t memory = a.local(40 * kPageBytes);
  const std::uint32_t mr = a.create_mr(pd, memory, 40 * kPageBytes, kAccess);
  const std::uint64_t fault = lab.params.host.page_fault_ps / lab.params.nic.clock_period_ps;
  channel::Message m;
  m.type = Request::kAdviseMemory;
  m.body.advice = {pd, mr, kAdvicePrefetchWrite, 0, memory, 20 * kPageBytes, 0};
  EXPECT_EQ(a.call(m).status, 0);
  EXPECT_FALSE(present(mr, memory)) << "without FLUSH the reply comes at once";
  lab.run(fault + 200);
  EXPECT_TRUE(present(mr, memory + 15 * kPageBytes));
  EXPECT_FALSE(present(mr, memory + 16 * kPageBytes));
  lab.run(fault);
  EXPECT_TRUE(present(mr, memory + 19 * kPageBytes));
  EXPECT_FALSE(present(mr, memory + 20 * kPageBytes));
}

TEST_F(DriverPaging, AWholeAddressSpaceHasTheTablesThatItsPagesNeed) {
  const std::uint64_t memory = a.local(2 * kTableSpan + kPageBytes);
  const std::uint64_t border = (memory / kTableSpan + 1) * kTableSpan;
  const std::uint32_t mr = whole();
  EXPECT_EQ(entry(mr).levels, kTreeLevels);
  EXPECT_EQ(entry(mr).length, ProgramMemory::kShared);
  EXPECT_EQ(advise(mr, border - 1, 2), 0);
  EXPECT_TRUE(present(mr, border - 1));
  EXPECT_TRUE(present(mr, border));
  EXPECT_FALSE(present(mr, border + kPageBytes));
  EXPECT_FALSE(present(mr, border - kPageBytes - 1));
  EXPECT_FALSE(present(mr, 0x1000));
}

// They come from where they went: nothing is lost, and a new tree is empty.
TEST_F(DriverPaging, TablesAreGivenBack) {
  const std::uint64_t memory = a.local(kPageBytes);
  std::uint64_t root = 0;
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t mr = whole();
    if (round == 0) root = entry(mr).mtt_base;
    EXPECT_EQ(entry(mr).mtt_base, root);
    EXPECT_FALSE(present(mr, memory));
    EXPECT_EQ(advise(mr, memory, 1), 0);
    EXPECT_TRUE(present(mr, memory));
    EXPECT_EQ(a.free(Request::kFreeMemory, mr), 0);
  }
}

TEST_F(DriverPaging, WhatTheProgramDoesNotHaveCannotBeAdvised) {
  const std::uint32_t mr = whole();
  EXPECT_EQ(advise(mr, 0x1000, 1), EFAULT);
  const std::uint64_t end = TestPrograms::kLocalBase + TestPrograms::kLocalBytes;
  EXPECT_EQ(advise(mr, end - 1, 1), 0);
  EXPECT_EQ(advise(mr, end - 1, 2), EFAULT) << "the second page";
  EXPECT_EQ(advise(mr, ProgramMemory::kShared - 1, 2), EFAULT) << "outside the region";
  EXPECT_EQ(advise(mr, 0x1000, 1, 0), 0) << "nobody waits for it";
  lab.run(100'000);
  EXPECT_FALSE(present(mr, 0x1000));
}

TEST_F(DriverPaging, AProgramThatHasEndedHasItsPagesUntilItsRegionsAreFreed) {
  const std::uint64_t memory = a.local(kPageBytes);
  const std::uint32_t mr = whole();
  a.lose_memory();
  EXPECT_EQ(advise(mr, memory, 1), 0);
  EXPECT_TRUE(present(mr, memory));
}

TEST_F(DriverPaging, AClientHasItsOwnShareOfAdvice) {
  Program other(lab, 0);
  constexpr std::uint64_t kBytes = 1600 * kPageBytes;  // a hundred page faults: 2 ms
  const std::uint64_t memory = a.local(kBytes);
  const std::uint32_t mr = a.create_mr(pd, memory, kBytes, kAccess);
  const std::uint32_t other_pd = other.create_pd();
  const std::uint64_t other_memory = other.local(kPageBytes);
  const std::uint32_t other_mr = other.create_mr(other_pd, other_memory, kPageBytes, kAccess);
  const std::uint64_t all = lab.bridge->driver(0).page_work();
  std::int32_t status = 0;
  for (std::uint32_t n = 0; n < 2000 && status == 0; ++n) status = advise(mr, memory, kBytes, 0);
  EXPECT_EQ(status, ENOMEM);
  EXPECT_LE(lab.bridge->driver(0).page_work() - all, 1024u);
  const auto advice = [&](auto& b) {
    b.advice = {other_pd, other_mr, kAdvicePrefetchWrite, 0, other_memory, kPageBytes, 0};
  };
  EXPECT_EQ(other.call(Request::kAdviseMemory, advice).status, 0);
}

// A region goes, and its client, while advice about it is carried out.
TEST_F(DriverPaging, AdviceEndsWithItsRegion) {
  const std::uint64_t memory = a.local(64 * kPageBytes);
  for (const bool dies : {false, true}) {
    const std::uint32_t mr = whole();
    EXPECT_EQ(advise(mr, memory, 64 * kPageBytes, 0), 0);
    if (dies) {
      a.close();
    } else {
      EXPECT_EQ(a.free(Request::kFreeMemory, mr), 0);
    }
    lab.run(200'000);
    EXPECT_EQ(lab.bridge->driver(0).page_work(), 0u);
  }
}

}  // namespace
}  // namespace rxnic::driver_paging_test
