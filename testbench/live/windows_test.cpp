// SPDX-License-Identifier: Apache-2.0
// Memory windows: B binds them and A reaches B's memory through them. Zero-based regions.
#include <algorithm>
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::windows_test {
namespace {

constexpr int kReadWrite = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

using OwnedMw = Owned<ibv_mw>;

class Windows : public PairTest {
 protected:
  void SetUp() override { reconnect({.all_signaled = true}); }

  OwnedMw window(ibv_mw_type type) {
    ibv_mw* const mw = ibv_alloc_mw(b.world.pd.get(), type);
    must(mw == nullptr ? errno : 0, "ibv_alloc_mw");
    return OwnedMw(mw);
  }
  ibv_mw_bind_info info(std::size_t offset, std::size_t length, int access = kReadWrite) {
    return {memory.region.get(), memory.address(offset), length, static_cast<unsigned>(access)};
  }
  // B binds a type 1 window, and waits for it.
  void bind(ibv_mw* mw, const ibv_mw_bind_info& to) {
    ibv_mw_bind request{};
    request.wr_id = 21;
    request.bind_info = to;
    must(ibv_bind_mw(b.qp.get(), mw, &request), "ibv_bind_mw");
    expect_bound();
  }
  // Binds a window of type 2, with a key of its own; returns the key.
  std::uint32_t bind_2(ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& to,
                       ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_send_wr wr{};
    wr.wr_id = 21;
    wr.opcode = IBV_WR_BIND_MW;
    wr.bind_mw = {mw, rkey, to};
    post(b.qp.get(), wr);
    expect_bound(status);
    return rkey;
  }
  void expect_bound(ibv_wc_status status = IBV_WC_SUCCESS) {
    const ibv_wc wc = take(b.send_cq.get());
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, 21u);
    if (status == IBV_WC_SUCCESS) {
      EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
    }
  }
  void invalidate(std::uint32_t rkey, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.invalidate_rkey = rkey;
    post(b.qp.get(), wr);
    const ibv_wc wc = take(b.send_cq.get());
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status);
    if (status == IBV_WC_SUCCESS) {
      EXPECT_EQ(wc.opcode, IBV_WC_LOCAL_INV);
    }
  }
  ibv_wc_status carry_out(ibv_wr_opcode opcode, std::uint64_t va, std::uint32_t rkey, std::size_t from,
                          std::size_t bytes) {
    return PairTest::carry_out(opcode, a.arena.sge(from, bytes), va, rkey);
  }
  // A writes bytes of its own to offset `to` of `memory`, which has that address, or another one of the window.
  void expect_written(std::uint32_t rkey, std::size_t to, std::size_t bytes, std::uint64_t va = 0) {
    EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, va == 0 ? memory.address(to) : va, rkey, 100, bytes), IBV_WC_SUCCESS);
    memory.expect(to, a.arena.bytes(100, bytes));
    expect_nothing_else();
  }
  // The request fails; QPs that work again are made.
  void expect_refused(std::uint32_t rkey, std::uint64_t va, std::size_t bytes = 64,
                      ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE) {
    EXPECT_EQ(carry_out(opcode, va, rkey, 100, bytes), IBV_WC_REM_ACCESS_ERR);
    expect_nothing_else();
    SetUp();
  }
  void expect_nothing_else() {
    expect_nothing_else_written();
    EXPECT_EQ(memory.differs(), "");
  }

  static constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;  // not remote
  Arena memory{b.world, 8 * kPage, kAccess};
  const Patience patience_{std::chrono::seconds{10}};
};

TEST_P(Windows, Type1OpensItsPartOfTheRegionUntilItIsBoundElsewhere) {
  const OwnedMw mw = window(IBV_MW_TYPE_1);
  expect_refused(mw->rkey, memory.address(kPage));
  bind(mw.get(), info(1000, 2 * kPage));
  const std::uint32_t first = mw->rkey;
  expect_written(first, 1000, 2 * kPage);
  expect_written(first, 5000, 77);
  expect_refused(first, memory.address(999), 10);
  expect_refused(first, memory.address(1000), 2 * kPage + 1);
  bind(mw.get(), info(5 * kPage, kPage));
  EXPECT_NE(mw->rkey, first);
  expect_written(mw->rkey, 5 * kPage, kPage);
  expect_refused(first, memory.address(2000));
  expect_refused(mw->rkey, memory.address(2000));
  bind(mw.get(), info(0, 0));
  expect_refused(mw->rkey, memory.address(5 * kPage));
}

TEST_P(Windows, RightsAreTheWindowsOwn) {
  const OwnedMw mw = window(IBV_MW_TYPE_1);
  bind(mw.get(), info(0, kPage, IBV_ACCESS_REMOTE_READ));
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, memory.address(16), mw->rkey, 0, 1000), IBV_WC_SUCCESS);
  a.arena.expect(0, memory.bytes(16, 1000));
  expect_nothing_else();
  expect_refused(mw->rkey, memory.address(16));
  bind(mw.get(), info(0, kPage, IBV_ACCESS_REMOTE_WRITE));
  expect_refused(mw->rkey, memory.address(16), 64, IBV_WR_RDMA_READ);
  expect_written(mw->rkey, 16, 64);
}

TEST_P(Windows, AtomicsThroughAWindow) {
  const OwnedMw mw = window(IBV_MW_TYPE_1);
  bind(mw.get(), info(64, 64, IBV_ACCESS_REMOTE_ATOMIC));
  std::uint64_t value = 40;
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), sizeof value, memory.at(72));
  std::array<ibv_sge, 1> list{a.arena.sge(0, 8)};
  ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
  wr.wr.atomic = {memory.address(72), 2, 0, mw->rkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  std::copy_n(memory.at(72), sizeof value, reinterpret_cast<std::uint8_t*>(&value));
  EXPECT_EQ(value, 42u);
  memory.accept(72, 8);
  a.arena.accept(0, 8);
  expect_nothing_else();
}

TEST_P(Windows, Type2IsBoundInOrderWithTheSendThatNamesIt) {
  const OwnedMw mw = window(IBV_MW_TYPE_2);
  std::array<ibv_sge, 1> note{b.arena.sge(0, 8)}, sink{a.arena.sge(kPage, 8)};
  post_receive(a.qp.get(), sink);
  ibv_send_wr bind{}, send = send_wr(IBV_WR_SEND, note);
  bind.wr_id = 21;
  bind.opcode = IBV_WR_BIND_MW;
  bind.bind_mw = {mw.get(), ibv_inc_rkey(mw->rkey), info(kPage, kPage)};
  bind.next = &send;
  post(b.qp.get(), bind);
  EXPECT_EQ(take(a.receive_cq.get()).status, IBV_WC_SUCCESS);
  a.arena.accept(kPage, 8);
  expect_written(ibv_inc_rkey(mw->rkey), kPage, kPage);
  expect_bound();
  EXPECT_EQ(take(b.send_cq.get()).opcode, IBV_WC_SEND);
}

TEST_P(Windows, Type2IsForItsQpAlone) {
  const OwnedMw mw = window(IBV_MW_TYPE_2);
  const std::uint32_t key = bind_2(mw.get(), ibv_inc_rkey(mw->rkey), info(0, kPage));
  expect_written(key, 0, kPage);
  const Owned<ibv_qp> first_a = std::move(a.qp), first_b = std::move(b.qp);
  SetUp();
  expect_refused(key, memory.address(0));
}

TEST_P(Windows, LocalInvalidateEndsType2) {
  const OwnedMw mw = window(IBV_MW_TYPE_2);
  std::uint32_t key = mw->rkey;
  for (int round = 0; round < 3; ++round) {
    key = bind_2(mw.get(), ibv_inc_rkey(key), info(0, kPage));
    expect_written(key, 8, 64);
    invalidate(key);
  }
  expect_refused(key, memory.address(8));
  invalidate(key, IBV_WC_MW_BIND_ERR);  // it is invalid, and of another QP
}

TEST_P(Windows, SendWithInvalidateEndsType2) {
  const OwnedMw mw = window(IBV_MW_TYPE_2);
  const std::uint32_t key = bind_2(mw.get(), ibv_inc_rkey(mw->rkey), info(0, kPage));
  std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)}, source{a.arena.sge(0, 8)};
  post_receive(b.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND_WITH_INV, source);
  wr.invalidate_rkey = key;
  post(a.qp.get(), wr);
  const ibv_wc wc = take(b.receive_cq.get());
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_INV, 0u);
  EXPECT_EQ(wc.invalidated_rkey, key);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  b.arena.expect(0, a.arena.bytes(0, 8));
  EXPECT_EQ(ibv_dereg_mr(memory.region.release()), 0) << "nothing is bound to it any more";
  memory.region = own(ibv_reg_mr(b.world.pd.get(), memory.at(0), memory.size(), kAccess), "ibv_reg_mr");
  const std::uint32_t next = bind_2(mw.get(), ibv_inc_rkey(key), info(0, kPage));
  expect_written(next, 0, 100);
  expect_refused(key, memory.address(0));
}

TEST_P(Windows, ARegionStaysWhileAWindowIsBoundToIt) {
  OwnedMw one = window(IBV_MW_TYPE_1), two = window(IBV_MW_TYPE_2);
  bind(one.get(), info(0, kPage));
  const std::uint32_t key = bind_2(two.get(), ibv_inc_rkey(two->rkey), info(kPage, kPage));
  EXPECT_EQ(ibv_dereg_mr(memory.region.get()), EBUSY);
  one.reset();
  EXPECT_EQ(ibv_dereg_mr(memory.region.get()), EBUSY);
  EXPECT_EQ(ibv_rereg_mr(memory.region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAccess),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EBUSY);
  expect_written(key, kPage, 64);
  EXPECT_EQ(ibv_dealloc_pd(b.world.pd.get()), EBUSY);
  two.reset();
  expect_refused(key, memory.address(kPage));
  EXPECT_EQ(ibv_dereg_mr(memory.region.release()), 0);
}

TEST_P(Windows, WhatMayNotBeBoundFailsTheQp) {
  const Arena closed(b.world, kPage, IBV_ACCESS_LOCAL_WRITE), read_only(b.world, kPage, IBV_ACCESS_MW_BIND);
  const OwnedMw one = window(IBV_MW_TYPE_1), two = window(IBV_MW_TYPE_2);
  const std::uint32_t key = ibv_inc_rkey(two->rkey);
  const auto of = [](const Arena& m, int access, std::size_t length = 64) {
    return ibv_mw_bind_info{m.region.get(), m.address(0), length, static_cast<unsigned>(access)};
  };
  const std::pair<std::uint32_t, ibv_mw_bind_info> wrong[] = {
      {key, of(closed, kReadWrite)},                  // no windows there
      {key, of(read_only, IBV_ACCESS_REMOTE_WRITE)},  // not writable
      {key, info(0, 8 * kPage + 1)},                  // too long
      {key, info(0, 0)},                              // type 2, to nothing
      {two->rkey, info(0, kPage)},                    // the key that it has
  };
  for (const auto& [rkey, to] : wrong) {
    bind_2(two.get(), rkey, to, IBV_WC_MW_BIND_ERR);
    std::array<ibv_sge, 1> list{b.arena.sge(0, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    post(b.qp.get(), wr);
    EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
    SetUp();
  }
  ibv_send_wr others{};
  others.opcode = IBV_WR_BIND_MW;
  others.bind_mw = {two.get(), one->rkey + 1, info(0, kPage)};
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(b.qp.get(), &others, &bad), EINVAL) << "the key of another window";
  EXPECT_EQ(bad, &others);
  bind_2(two.get(), key, of(read_only, IBV_ACCESS_REMOTE_READ));
  bind_2(two.get(), ibv_inc_rkey(key), info(0, kPage), IBV_WC_MW_BIND_ERR);  // it is bound
}

TEST_P(Windows, ZeroBasedWindowsCountFromTheirFirstByte) {
  const OwnedMw mw = window(IBV_MW_TYPE_1);
  bind(mw.get(), info(777, 3 * kPage, kReadWrite | IBV_ACCESS_ZERO_BASED));
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, 0, mw->rkey, 100, 3 * kPage), IBV_WC_SUCCESS);
  memory.expect(777, a.arena.bytes(100, 3 * kPage));
  expect_nothing_else();
  expect_written(mw->rkey, 777 + 5, 64, 5);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, 3000, mw->rkey, 20 * kPage, 2 * kPage), IBV_WC_SUCCESS);
  a.arena.expect(20 * kPage, memory.bytes(777 + 3000, 2 * kPage));
  expect_nothing_else();
  expect_refused(mw->rkey, 1, 3 * kPage);
  expect_refused(mw->rkey, memory.address(777));
}

TEST_P(Windows, ZeroBasedRegionsCountFromTheirFirstByte) {
  constexpr unsigned kZero = Arena::kAllRights | IBV_ACCESS_ZERO_BASED;
  const Owned<ibv_mr> remote = own(ibv_reg_mr(b.world.pd.get(), b.arena.at(1234), 3 * kPage, kZero), "ibv_reg_mr");
  const Owned<ibv_mr> local = own(ibv_reg_mr(a.world.pd.get(), a.arena.at(99), 3 * kPage, kZero), "ibv_reg_mr");
  std::array<ibv_sge, 1> list{ibv_sge{3, 2 * kPage, local->lkey}};
  ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
  wr.wr.rdma = {10, remote->rkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  b.arena.expect(1234 + 10, a.arena.bytes(99 + 3, 2 * kPage));
  expect_nothing_else();
  std::array<ibv_sge, 1> sink{ibv_sge{4000, kPage, remote->lkey}};
  post_receive(b.qp.get(), sink);
  wr = send_wr(IBV_WR_SEND, list);
  list[0].length = kPage;
  post(a.qp.get(), wr);
  EXPECT_EQ(take(b.receive_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  b.arena.expect(1234 + 4000, a.arena.bytes(99 + 3, kPage));
  expect_nothing_else();
}

TEST_P(Windows, DevicesHaveBothTypesOfWindows) {
  ibv_device_attr d{};
  must(ibv_query_device(b.world.context.get(), &d), "ibv_query_device");
  EXPECT_NE(d.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0u);
  EXPECT_NE(d.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0u);
  EXPECT_GT(d.max_mw, 0);
  EXPECT_EQ(ibv_alloc_mw(b.world.pd.get(), static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

RXNIC_ON_ONE_AND_TWO_NICS(Windows);

}  // namespace
}  // namespace rxnic::live::windows_test
