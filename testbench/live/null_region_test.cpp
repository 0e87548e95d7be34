// SPDX-License-Identifier: Apache-2.0
// ibv_alloc_null_mr(3): what is received into it is discarded, what is sent from it is zeros. Also what a device says
// about the order of data (ibv_query_qp_data_in_order(3)) and about ECE.
#include <array>
#include <cerrno>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::null_region_test {
namespace {

class NullRegion : public PairTest {
 protected:
  void SetUp() override {
    reconnect({.all_signaled = true});
    here = own(ibv_alloc_null_mr(a.world.pd.get()), "ibv_alloc_null_mr");
    there = own(ibv_alloc_null_mr(b.world.pd.get()), "ibv_alloc_null_mr");
  }
  static ibv_sge null(const Owned<ibv_mr>& region, std::uint32_t length, std::uint64_t address = 12345) {
    return {address, length, region->lkey};
  }
  Owned<ibv_mr> here, there;
};

TEST_P(NullRegion, WhatIsReceivedIntoItIsDiscarded) {
  std::array<ibv_sge, 4> sink{null(there, 700), b.arena.sge(100, 3000), null(there, 800, ~std::uint64_t{0} - 4096),
                              b.arena.sge(9000, 1000)};
  post_receive(b.qp.get(), sink);
  EXPECT_EQ(carry_out(IBV_WR_SEND, a.arena.sge(0, 5000), 0, 0), IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).byte_len, 5000u);
  b.arena.expect(100, a.arena.bytes(700, 3000));
  b.arena.expect(9000, a.arena.bytes(4500, 500));
  expect_nothing_else_written();
}

TEST_P(NullRegion, WhatIsSentFromItIsZeros) {
  std::array<ibv_sge, 3> source{a.arena.sge(50, 300), null(here, 3000), a.arena.sge(9000, 7)};
  std::array<ibv_sge, 1> sink{b.arena.sge(0, 4000)};
  post_receive(b.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).byte_len, 3307u);
  b.arena.expect(0, a.arena.bytes(50, 300));
  b.arena.expect(300, std::vector<std::uint8_t>(3000));
  b.arena.expect(3300, a.arena.bytes(9000, 7));
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, null(here, 2000), b.arena.address(20'000), b.arena.region->rkey),
            IBV_WC_SUCCESS);
  b.arena.expect(20'000, std::vector<std::uint8_t>(2000));
  expect_nothing_else_written();
}

TEST_P(NullRegion, WhatIsReadIntoItIsDiscarded) {
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, null(here, 5000), b.arena.address(1), b.arena.region->rkey), IBV_WC_SUCCESS);
  std::array<ibv_sge, 1> list{null(here, 8, 64)};
  ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
  wr.wr.atomic = {b.arena.address(4096), 0, 0, b.arena.region->rkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  expect_nothing_else_written();
}

TEST_P(NullRegion, APeerCannotNameIt) {
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 100), 0, there->lkey), IBV_WC_REM_ACCESS_ERR);
  reconnect({.all_signaled = true});
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, a.arena.sge(0, 100), 0, there->lkey), IBV_WC_REM_ACCESS_ERR);
  expect_nothing_else_written();
}

TEST_P(NullRegion, ItHasTheGreatestLengthAndIsNotReregistered) {
  EXPECT_EQ(here->length, SIZE_MAX);
  EXPECT_EQ(here->rkey, 0u);
  EXPECT_EQ(ibv_rereg_mr(here.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(a.world.pd.get()), EBUSY);
}

TEST_P(NullRegion, DataIsInOrderWhereTheQpMovesAny) {
  for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    EXPECT_EQ(ibv_query_qp_data_in_order(a.qp.get(), opcode, 0), 1) << opcode;
    EXPECT_EQ(ibv_query_qp_data_in_order(a.qp.get(), opcode, 1), 0) << "flags";
  }
  EXPECT_EQ(ibv_query_qp_data_in_order(a.qp.get(), IBV_WR_ATOMIC_CMP_AND_SWP, 0), 0);
  const auto ud = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.type = IBV_QPT_UD});
  EXPECT_EQ(ibv_query_qp_data_in_order(ud.get(), IBV_WR_SEND, 0), 1);
  EXPECT_EQ(ibv_query_qp_data_in_order(ud.get(), IBV_WR_RDMA_WRITE, 0), 0);
}

TEST_P(NullRegion, TheDeviceHasNoVendorsOptions) {
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(a.qp.get(), &ece), EOPNOTSUPP);
  EXPECT_EQ(ibv_set_ece(a.qp.get(), &ece), EOPNOTSUPP);
}

RXNIC_ON_ONE_AND_TWO_NICS(NullRegion);

}  // namespace
}  // namespace rxnic::live::null_region_test
