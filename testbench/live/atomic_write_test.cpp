// SPDX-License-Identifier: Apache-2.0
// ATOMIC WRITE by both ways to post it: eight bytes are written, and the receiver gets no completion.
#include <array>
#include <cstring>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::atomic_write_test {
namespace {

class AtomicWrite : public PairTest {
 protected:
  // ibv_wr_atomic_write works on A's QP. B has a receive posted, which no ATOMIC WRITE consumes.
  void connect_extended() {
    ibv_qp_init_attr_ex init{};
    init.send_cq = a.send_cq.get();
    init.recv_cq = a.receive_cq.get();
    init.qp_type = IBV_QPT_RC;
    init.cap = {16, 16, 1, 1, 8};
    init.pd = a.world.pd.get();
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_SEND;
    a.qp = own(ibv_create_qp_ex(a.world.context.get(), &init), "ibv_create_qp_ex");
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get());
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
    std::array<ibv_sge, 1> sink{b.arena.sge(kPage, 64)};
    post_receive(b.qp.get(), sink, 77);
  }
  int wr_atomic_write(std::uint64_t address, std::uint32_t rkey, const void* value, std::uint64_t id) {
    ibv_qp_ex* ex = ibv_qp_to_qp_ex(a.qp.get());
    ibv_wr_start(ex);
    ex->wr_id = id;
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_write(ex, rkey, address, value);
    return ibv_wr_complete(ex);
  }
  void expect_done(std::uint64_t id, std::size_t at, std::span<const std::uint8_t> bytes) {
    const ibv_wc wc = take(a.send_cq.get());
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(wc.wr_id, id);
    b.arena.expect(at, bytes);
    expect_nothing_else_written();
    EXPECT_TRUE(is_empty(b.receive_cq.get()));
  }
  void expect_refused(ibv_wc_status status) {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status);
    expect_nothing_else_written();
  }
};

TEST_P(AtomicWrite, BothWaysToPostStoreEightBytes) {
  connect_extended();
  const std::uint32_t rkey = b.arena.region->rkey;
  for (const unsigned int flags : {IBV_SEND_SIGNALED + 0u, 0u + (IBV_SEND_SIGNALED | IBV_SEND_INLINE)}) {
    std::array<ibv_sge, 1> source{a.arena.sge(100 + flags, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_WRITE, source, flags);
    wr.send_flags = flags;
    wr.wr.rdma = {b.arena.address(flags * 8), rkey};
    post(a.qp.get(), wr);
    expect_done(flags, flags * 8, a.arena.bytes(100 + flags, 8));
  }
  std::array<std::uint8_t, 8> value{9, 8, 7, 6, 5, 4, 3, 2};
  const std::array<std::uint8_t, 8> posted = value;
  ASSERT_EQ(wr_atomic_write(b.arena.address(kPage - 8), rkey, value.data(), 5), 0);
  value = {};
  expect_done(5, kPage - 8, posted);

  std::array<ibv_sge, 1> source{a.arena.sge(0, 64)};
  ibv_send_wr send = send_wr(IBV_WR_SEND, source, 6);
  post(a.qp.get(), send);
  EXPECT_EQ(take(a.send_cq.get()).opcode, IBV_WC_SEND);
  EXPECT_EQ(take(b.receive_cq.get()).wr_id, 77u) << "the receive was not consumed";
  b.arena.expect(kPage, a.arena.bytes(0, 64));
  expect_nothing_else_written();
}

TEST_P(AtomicWrite, WrongKeyAndMisalignmentAreRemoteErrors) {
  const std::uint64_t value = 1;
  connect_extended();
  ASSERT_EQ(wr_atomic_write(b.arena.address(8), b.arena.region->rkey ^ 0x5a5a00, &value, 1), 0);
  expect_refused(IBV_WC_REM_ACCESS_ERR);
  a.qp.reset();
  connect_extended();
  ASSERT_EQ(wr_atomic_write(b.arena.address(12), b.arena.region->rkey, &value, 2), 0);
  expect_refused(IBV_WC_REM_INV_REQ_ERR);
}

RXNIC_ON_ONE_AND_TWO_NICS(AtomicWrite);

}  // namespace
}  // namespace rxnic::live::atomic_write_test
