// SPDX-License-Identifier: Apache-2.0
// Memory of the device: copied to and from, sent from, received into, and reached by a peer.
#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::device_memory_test {
namespace {

using OwnedDm = Owned<ibv_dm>;
using ByteList = std::vector<std::uint8_t>;

constexpr std::size_t kBytes = 10'000;
constexpr int kAll = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                     IBV_ACCESS_REMOTE_ATOMIC;

class DeviceMemory : public PairTest {
 protected:
  // Memory of a side's NIC, registered from `kBegin` on, with what its bytes must be.
  struct Memory {
    static constexpr std::size_t kBegin = 72;
    explicit Memory(const World& world) : expected(kBytes) {
      ibv_alloc_dm_attr attributes{kBytes, 3, 0};
      dm.reset(ibv_alloc_dm(world.context.get(), &attributes));
      must(dm == nullptr ? errno : 0, "ibv_alloc_dm");
      region = own(ibv_reg_dm_mr(world.pd.get(), dm.get(), kBegin, kBytes - kBegin, kAll), "ibv_reg_dm_mr");
      for (std::size_t n = 0; n < kBytes; ++n) expected[n] = static_cast<std::uint8_t>(n * 31 + world.nic);
      must(ibv_memcpy_to_dm(dm.get(), 0, expected.data(), kBytes), "ibv_memcpy_to_dm");
    }
    ibv_sge sge(std::size_t offset, std::size_t length) const {
      return {offset, static_cast<std::uint32_t>(length), region->lkey};
    }
    void expect(std::size_t offset, std::span<const std::uint8_t> bytes) {
      std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(kBegin + offset));
    }
    std::span<const std::uint8_t> bytes(std::size_t offset, std::size_t length) const {
      return std::span(expected).subspan(kBegin + offset, length);
    }
    void check() const {
      ByteList now(kBytes);
      must(ibv_memcpy_from_dm(now.data(), dm.get(), 0, kBytes), "ibv_memcpy_from_dm");
      EXPECT_TRUE(now == expected);
    }
    OwnedDm dm;
    Owned<ibv_mr> region;
    ByteList expected;
  };

  void SetUp() override { reconnect({.all_signaled = true}); }
  void check() {
    expect_nothing_else_written();
    here.check();
    there.check();
  }

  Memory here{a.world}, there{b.world};
};

TEST_P(DeviceMemory, MessagesGoFromOneToTheOther) {
  std::array<ibv_sge, 2> sink{there.sge(100, 3000), b.arena.sge(40, 3000)};
  post_receive(b.qp.get(), sink);
  EXPECT_EQ(carry_out(IBV_WR_SEND, here.sge(77, 5000), 0, 0), IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).byte_len, 5000u);
  there.expect(100, here.bytes(77, 3000));
  b.arena.expect(40, here.bytes(77 + 3000, 2000));
  check();
}

TEST_P(DeviceMemory, APeerWritesReadsAndAdds) {
  const std::uint32_t rkey = there.region->rkey;
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(9, 4000), 501, rkey), IBV_WC_SUCCESS);
  there.expect(501, a.arena.bytes(9, 4000));
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, here.sge(0, 2500), 333, rkey), IBV_WC_SUCCESS);
  here.expect(0, there.bytes(333, 2500));
  std::array<ibv_sge, 1> list{a.arena.sge(8000, 8)};
  ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
  wr.wr.atomic = {1024, 5, 0, rkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  std::uint64_t original = 0;
  std::copy_n(there.bytes(1024, 8).begin(), 8, reinterpret_cast<std::uint8_t*>(&original));
  a.arena.expect(8000, there.bytes(1024, 8));
  original += 5;
  there.expect(1024, {reinterpret_cast<const std::uint8_t*>(&original), 8});
  check();
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(9, 8), kBytes - Memory::kBegin - 7, rkey), IBV_WC_REM_ACCESS_ERR);
  check();
}

TEST_P(DeviceMemory, WhatIsWrongIsRefused) {
  EXPECT_EQ(ibv_memcpy_to_dm(here.dm.get(), 2, here.expected.data(), 4), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(here.dm.get(), 0, here.expected.data(), kBytes + 4), EFAULT);
  EXPECT_EQ(ibv_free_dm(here.dm.get()), EBUSY) << "it has a region";
  EXPECT_EQ(ibv_reg_dm_mr(a.world.pd.get(), here.dm.get(), 0, kBytes, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_dm_mr(a.world.pd.get(), here.dm.get(), 4, kBytes, kAll), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_rereg_mr(here.region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_device_attr_ex attributes{};
  must(ibv_query_device_ex(a.world.context.get(), nullptr, &attributes), "ibv_query_device_ex");
  ibv_alloc_dm_attr wanted{attributes.max_dm_size + 1, 0, 0};
  EXPECT_EQ(ibv_alloc_dm(a.world.context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EINVAL);
  wanted.length = attributes.max_dm_size;
  EXPECT_EQ(ibv_alloc_dm(a.world.context.get(), &wanted), nullptr);
  EXPECT_EQ(errno, ENOMEM) << "a part is taken";
  check();
}

RXNIC_ON_ONE_AND_TWO_NICS(DeviceMemory);

}  // namespace
}  // namespace rxnic::live::device_memory_test
