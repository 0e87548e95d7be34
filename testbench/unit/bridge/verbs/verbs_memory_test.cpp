// SPDX-License-Identifier: Apache-2.0
#include <linux/mman.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <string>

#include "bridge/verbs/address_space.h"
#include "testbench/unit/bridge/verbs/verbs_control_fixture.h"

namespace rxnic::verbs::verbs_memory_test {
namespace {

using VerbsMemory = VerbsControlTest;

constexpr std::size_t kPage = 4096;

// Three pages: readable and writable, readable, nothing.
class Pages {
 public:
  Pages()
      : base_(
            static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(base_ + kPage, kPage, PROT_READ);
    mprotect(base_ + 2 * kPage, kPage, PROT_NONE);
    munmap(base_ + 3 * kPage, kPage);
  }
  ~Pages() { munmap(base_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  char* operator+(std::size_t n) const { return base_ + n; }
  std::uint64_t at(std::size_t n) const { return reinterpret_cast<std::uintptr_t>(base_ + n); }

 private:
  char* base_;
};

TEST(VerbsAddressSpace, EachPageCounts) {
  const Pages pages;
  EXPECT_TRUE(is_mapped(pages.at(0), 2 * kPage, false));
  EXPECT_TRUE(is_mapped(pages.at(0), kPage, true));
  EXPECT_FALSE(is_mapped(pages.at(0), kPage + 1, true)) << "one byte read-only";
  EXPECT_FALSE(is_mapped(pages.at(kPage), kPage + 1, false)) << "one byte inaccessible";
  EXPECT_FALSE(is_mapped(pages.at(3 * kPage), 1, false)) << "unmapped";
  EXPECT_TRUE(is_mapped(pages.at(3 * kPage), 0, true)) << "no byte";
}

// Text in the form of /proc/PID/smaps: ordinary pages, 2 MiB, 1 GiB, 64 KiB.
class Smaps {
 public:
  Smaps() : file_(memfd_create("smaps", 0)) {
    const std::string text =
        "00400000-00402000 r-xp 00000000 08:01 1234                     /usr/bin/prog with spaces\n"
        "Size:                  8 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
        "VmFlags: rd ex mr mw me sd \n"
        "40000000-40800000 rw-p 00000000 00:0f 77                       /anon_hugepage (deleted)\n"
        "Size:               8192 kB\nKernelPageSize:     2048 kB\nMMUPageSize:        2048 kB\n"
        "80000000-100000000 rw-s 00000000 00:0f 0                       /SYSV00000000 (deleted)\n"
        "Size:            2097152 kB\nKernelPageSize:  1048576 kB\nMMUPageSize:     1048576 kB\n"
        "100000000-100010000 rw-p 00000000 00:00 0 \n"
        "Size:                 64 kB\nKernelPageSize:       64 kB\nMMUPageSize:          64 kB\n";
    EXPECT_EQ(write(file_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  ~Smaps() { close(file_); }
  Smaps(const Smaps&) = delete;
  Smaps& operator=(const Smaps&) = delete;
  unsigned shift(std::uint64_t begin, std::uint64_t bytes) const {
    lseek(file_, 0, SEEK_SET);
    return page_shift_in(file_, begin, bytes, 13);
  }

 private:
  int file_;
};

TEST(VerbsAddressSpace, ARangeHasTheSmallestPagesOfItsMappings) {
  const Smaps smaps;
  EXPECT_EQ(smaps.shift(0x400000, 0x2000), 12u);
  EXPECT_EQ(smaps.shift(0x40000000, 0x800000), 21u);
  EXPECT_EQ(smaps.shift(0x40200005, 1), 21u);
  EXPECT_EQ(smaps.shift(0x80000000, 0x80000000), 30u);
  EXPECT_EQ(smaps.shift(0x100000000, 1), 16u);
  EXPECT_EQ(smaps.shift(0xfffffff0, 0x20), 16u) << "two mappings";
  EXPECT_EQ(smaps.shift(0x200000000, 1), 13u) << "not mapped: the ordinary size";
  EXPECT_EQ(smaps.shift(0x3ffff000, 0x1000), 13u) << "ends where a mapping begins";
}

TEST(VerbsAddressSpace, OrdinaryMemoryHasOrdinaryPages) {
  const Pages pages;
  const auto ordinary = static_cast<unsigned>(std::countr_zero(static_cast<unsigned long>(sysconf(_SC_PAGESIZE))));
  EXPECT_EQ(page_shift(pages.at(0), 2 * kPage), ordinary);
  EXPECT_EQ(page_shift(pages.at(0), 0), ordinary);
  const auto text = reinterpret_cast<std::uintptr_t>(&page_shift);  // of a file: smaps is read
  EXPECT_EQ(page_shift(text, 1), ordinary);
}

TEST_F(VerbsMemory, RegistrationSaysWhichPagesTheMappingHas) {
  const Pages pages;
  ibv_mr* mr = reg_mr(pd, pages + 0, kPage, 0, 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(asked(Request::kRegisterMemory).memory.page_shift, 12u);
  EXPECT_EQ(dereg_mr(mr), 0);
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  void* huge = mmap(nullptr, kHuge, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1, 0);
  if (huge == MAP_FAILED) GTEST_SKIP() << "no huge pages here";
  mr = reg_mr(pd, huge, kHuge, 0, 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(asked(Request::kRegisterMemory).memory.page_shift, 21u);
  EXPECT_EQ(rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, pages + 0, kPage, 0), 0);
  EXPECT_EQ(asked(Request::kReregisterMemory).memory.page_shift, 12u);
  EXPECT_EQ(dereg_mr(mr), 0);
  munmap(huge, kHuge);
}

TEST_F(VerbsMemory, RegistrationGivesRangeAndRights) {
  const Pages pages;
  ibv_mr* mr = reg_mr(pd, pages + 100, 200, 0x7000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
  ASSERT_NE(mr, nullptr);
  const channel::Memory m = asked(Request::kRegisterMemory).memory;
  EXPECT_EQ(m.address, pages.at(100));
  EXPECT_EQ(m.length, 200u);
  EXPECT_EQ(m.iova, 0x7000u);
  EXPECT_EQ(m.access, static_cast<std::uint32_t>(IBV_ACCESS_LOCAL_WRITE)) << "optional flags are dropped";
  EXPECT_EQ(m.pd, pd->handle);
  EXPECT_NE(mr->lkey, 0u);
  EXPECT_EQ(dealloc_pd(pd), EBUSY);
  const std::uint32_t lkey = mr->lkey;
  EXPECT_EQ(dereg_mr(mr), 0);
  EXPECT_EQ(asked(Request::kFreeMemory).handle.number, lkey);
}

TEST_F(VerbsMemory, WhatCannotBeReachedIsEfault) {
  const Pages pages;
  const auto refused = [&](std::size_t at, std::size_t bytes, unsigned access) {
    errno = 0;
    EXPECT_EQ(reg_mr(pd, pages + at, bytes, 0, access), nullptr);
    return errno;
  };
  EXPECT_EQ(refused(kPage - 1, 2, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  EXPECT_EQ(refused(2 * kPage - 1, 2, 0), EFAULT);
  EXPECT_EQ(refused(3 * kPage, 1, 0), EFAULT);
  ibv_mr* mr = reg_mr(pd, pages + kPage, kPage, 0, 0);
  EXPECT_NE(mr, nullptr) << "reading a read-only page is fine";
  if (mr != nullptr) dereg_mr(mr);
  EXPECT_EQ(simulator.asked(Request::kRegisterMemory).size(), 1u) << "the simulator was not asked";
}

TEST_F(VerbsMemory, NoByteAtTheBeginningOfAPageIsNoRegion) {  // rules 4.7
  const Pages pages;
  const auto refused = [&](char* at, unsigned access) {
    errno = 0;
    EXPECT_EQ(reg_mr(pd, at, 0, 0, access), nullptr);
    return errno;
  };
  EXPECT_EQ(refused(nullptr, 0), EINVAL);
  EXPECT_EQ(refused(pages + 0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
  EXPECT_EQ(refused(pages + 0, IBV_ACCESS_ON_DEMAND), EINVAL);
  EXPECT_EQ(refused(pages + (kPage + 1), IBV_ACCESS_LOCAL_WRITE), EFAULT) << "its page is read-only";
  EXPECT_TRUE(simulator.asked(Request::kRegisterMemory).empty());
  ibv_mr* const mr = reg_mr(pd, pages + 1, 0, 0, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(asked(Request::kRegisterMemory).memory.length, 0u);
  dereg_mr(mr);
}

TEST_F(VerbsMemory, RemoteWritesNeedLocalWrite) {
  char buffer[8];
  for (const unsigned access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
    errno = 0;
    EXPECT_EQ(reg_mr(pd, buffer, sizeof buffer, 0, access), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

// The whole address space is a region only on demand; nothing of it is looked up.
TEST_F(VerbsMemory, OnDemandRegions) {
  EXPECT_EQ(reg_mr(pd, nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_TRUE(simulator.asked(Request::kRegisterMemory).empty());
  ibv_mr* const mr = reg_mr(pd, nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->length, SIZE_MAX);
  const auto asked = simulator.asked(Request::kRegisterMemory);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].body.memory.length, SIZE_MAX);
  EXPECT_EQ(asked[0].body.memory.access, unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND});
  dereg_mr(mr);
}

TEST_F(VerbsMemory, RefusalOfTheDeviceIsPassedOn) {
  char buffer[8];
  refuse(Request::kRegisterMemory, ENOMEM);
  EXPECT_EQ(reg_mr(pd, buffer, sizeof buffer, 0, 0), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  simulator.edit_reply = nullptr;
  EXPECT_EQ(dealloc_pd(pd), 0) << "no object in it is left";
  pd = nullptr;
}

TEST_F(VerbsMemory, ReregistrationChangesOnlyWhatIsAskedFor) {
  char first[16], second[32];
  ibv_mr* mr = reg_mr(pd, first, sizeof first, 0, IBV_ACCESS_LOCAL_WRITE);
  ibv_pd* other = alloc_pd(context);
  EXPECT_EQ(rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second, sizeof second, 0), 0);
  EXPECT_EQ(mr->addr, second);
  EXPECT_EQ(asked(Request::kReregisterMemory).memory.access, static_cast<std::uint32_t>(IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
  EXPECT_EQ(mr->pd, other);
  EXPECT_EQ(dealloc_pd(other), EBUSY);
  EXPECT_EQ(rereg_mr(mr, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(dereg_mr(mr), 0);
  EXPECT_EQ(dealloc_pd(other), 0);
}

TEST_F(VerbsMemory, AddressHandlesStartAtAGid) {  // address.h R1, R2
  ibv_ah_attr a{};
  a.is_global = 1;
  a.port_num = 1;
  a.grh.sgid_index = 2;
  a.grh.dgid.raw[10] = a.grh.dgid.raw[11] = 0xff;
  ibv_ah* ah = create_ah(pd, &a);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ah_of(ah).path.destination_mac[5], 9);
  EXPECT_EQ(ah_of(ah).path.source_gid_index, 2);
  EXPECT_EQ(dealloc_pd(pd), EBUSY);
  EXPECT_EQ(destroy_ah(ah), 0);
  const auto refused = [&](ibv_ah_attr wrong) {
    errno = 0;
    EXPECT_EQ(create_ah(pd, &wrong), nullptr);
    EXPECT_EQ(errno, EINVAL);
  };
  ibv_ah_attr wrong = a;
  wrong.is_global = 0;
  refused(wrong);
  wrong = a;
  wrong.grh.sgid_index = 3;  // empty
  refused(wrong);
  wrong = a;
  wrong.port_num = 2;
  refused(wrong);
}

TEST_F(VerbsMemory, AnAddressHandleFromAReceiveAnswersIt) {
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ibv_grh grh{};
  grh.version_tclass_flow = 0x60;  // big-endian
  grh.next_hdr = 17;
  grh.sgid.raw[0] = 0xfe, grh.sgid.raw[15] = 2;
  std::copy_n(FakeSimulator::attributes(0).gids[1].bytes.begin(), 16, grh.dgid.raw);
  ibv_ah_attr a;
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), 0);
  EXPECT_EQ(a.grh.sgid_index, 1) << "the RoCEv2 one, not GID 0 with the same bytes";
  EXPECT_EQ(a.grh.dgid.raw[15], 2);
  EXPECT_EQ(a.is_global, 1);
  grh.next_hdr = 0x1b;
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), 0);
  EXPECT_EQ(a.grh.sgid_index, 0);
  grh.dgid.raw[15] = 0x77;
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), ENOENT) << "was not for us";
  wc.wc_flags = 0;
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), EINVAL);
}

TEST_F(VerbsMemory, TheAnswerToAGroupHasASourceOfTheSendersKind) {
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ibv_ah_attr a;
  ibv_grh grh{};
  grh.version_tclass_flow = 0x60;  // big-endian
  grh.next_hdr = 17;
  grh.sgid.raw[0] = 0xfe, grh.sgid.raw[15] = 2;
  grh.dgid.raw[0] = 0xff;
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), 0);
  EXPECT_EQ(a.grh.sgid_index, 1);
  // IPv4 in the last 20 bytes: version, length, protocol UDP, checksum, 10.0.0.2, 239.0.0.1
  grh = {};
  const std::uint8_t ipv4[20] = {0x45, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0xc1, 0xea, 10, 0, 0, 2, 239, 0, 0, 1};
  std::copy_n(ipv4, sizeof ipv4, reinterpret_cast<std::uint8_t*>(&grh) + 20);
  EXPECT_EQ(init_ah_from_wc(context, 1, &wc, &grh, &a), 0);
  EXPECT_EQ(a.grh.sgid_index, 2);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_memory_test
