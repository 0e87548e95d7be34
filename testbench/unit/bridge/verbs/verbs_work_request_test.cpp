// SPDX-License-Identifier: Apache-2.0
// ibv_qp_ex: rules R1..R4 of bridge/verbs/work_request.cpp.
#include <endian.h>

#include <cerrno>

#include "bridge/verbs/send_queue.h"
#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_work_request_test {
namespace {

class VerbsWorkRequest : public VerbsTest {
 protected:
  VerbsWorkRequest() {
    EXPECT_EQ(set_up_qp_ex(rc, IBV_QP_EX_WITH_SEND), 0);
    EXPECT_EQ(set_up_qp_ex(ud, IBV_QP_EX_WITH_SEND), 0);
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
  bool lock_is_free(Qp& q) {  // the public functions would wait for it
    q.send.lock.lock();
    q.send.lock.unlock();
    return true;
  }

  Cq& cq = make_cq(64);
  Qp& rc = make_qp(IBV_QPT_RC, cq, cq);
  Qp& ud = make_qp(IBV_QPT_UD, cq, cq);
  ibv_qp_ex* qp = &rc.qp;
};

TEST_F(VerbsWorkRequest, ListIsPostedWithOneDoorbellAtItsEnd) {
  ibv_wr_start(qp);
  qp->wr_id = 1;
  ibv_wr_send_imm(qp, htobe32(0x1234));
  const ibv_sge sges[2] = {{0x1000, 10, 5}, {0x2000, 20, 6}};
  ibv_wr_set_sge_list(qp, 2, sges);
  qp->wr_id = 2;
  ibv_wr_rdma_write(qp, 0x99, 0x5000);
  ibv_wr_set_sge(qp, 7, 0x3000, 30);
  qp->wr_id = 3;
  ibv_wr_atomic_cmp_swp(qp, 0x98, 0x6000, 11, 12);
  ibv_wr_set_sge(qp, 8, 0x4000, 8);
  EXPECT_TRUE(rung(channel::Board::kSend).empty());
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(rung(channel::Board::kSend), std::vector<std::uint64_t>{3});

  SendWqe wqe = parsed(rc, 0, Transport::kRc);
  EXPECT_EQ(wqe.opcode, SendOpcode::kSendImm);
  EXPECT_EQ(wqe.immediate, 0x1234u);
  EXPECT_EQ(wqe.flags, kSendSignaled);
  ASSERT_EQ(wqe.sge_count, 2);
  EXPECT_EQ(wqe.sge[1].address, 0x2000u);
  wqe = parsed(rc, 1, Transport::kRc);
  EXPECT_EQ(wqe.opcode, SendOpcode::kWrite);
  EXPECT_EQ(wqe.remote.va, 0x5000u);
  EXPECT_EQ(wqe.remote.rkey, 0x99u);
  EXPECT_EQ(wqe.bytes, 30u);
  wqe = parsed(rc, 2, Transport::kRc);
  EXPECT_EQ(wqe.remote.compare_add, 11u);
  EXPECT_EQ(wqe.remote.swap, 12u);
  write_cqe(cq, send_cqe(rc, 2, CqeOpcode::kCompareSwap));
  const ibv_wc wc = poll(cq).at(0);
  EXPECT_EQ(wc.wr_id, 3u);
  EXPECT_EQ(wc.opcode, IBV_WC_COMP_SWAP);
}

TEST_F(VerbsWorkRequest, OtherOperations) {
  ibv_wr_start(qp);
  ibv_wr_rdma_read(qp, 1, 0x100);
  ibv_wr_set_sge(qp, 7, 0x3000, 30);
  ibv_wr_rdma_write_imm(qp, 2, 0x200, htobe32(0x77));
  ibv_wr_atomic_fetch_add(qp, 3, 0x300, 44);
  ibv_wr_set_sge(qp, 7, 0x3000, 8);
  ibv_wr_send_inv(qp, 0x55);
  ibv_wr_send(qp);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(parsed(rc, 0, Transport::kRc).opcode, SendOpcode::kRead);
  EXPECT_EQ(parsed(rc, 1, Transport::kRc).immediate, 0x77u);
  EXPECT_EQ(parsed(rc, 1, Transport::kRc).remote.va, 0x200u);
  EXPECT_EQ(parsed(rc, 2, Transport::kRc).remote.compare_add, 44u);
  EXPECT_EQ(parsed(rc, 3, Transport::kRc).immediate, 0x55u);
  EXPECT_EQ(parsed(rc, 4, Transport::kRc).bytes, 0u);
}

TEST_F(VerbsWorkRequest, InlineDataIsCopiedAtOnce) {
  char text[] = "abcdef";
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_set_inline_data(qp, text, 6);
  ibv_wr_send(qp);
  const ibv_data_buf buffers[2] = {{text, 2}, {text + 4, 2}};
  ibv_wr_set_inline_data_list(qp, 2, buffers);
  std::memset(text, 'x', 6);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(std::memcmp(parsed(rc, 0, Transport::kRc).inline_data, "abcdef", 6), 0);
  const SendWqe list = parsed(rc, 1, Transport::kRc);
  EXPECT_EQ(list.bytes, 4u);
  EXPECT_EQ(std::memcmp(list.inline_data, "abef", 4), 0);
}

TEST_F(VerbsWorkRequest, AnAtomicWriteCopiesItsEightBytesAtOnce) {
  char value[] = "12345678";
  qp->wr_id = 5;
  ibv_wr_start(qp);
  ibv_wr_atomic_write(qp, 0x99, 0x5000, value);
  std::memset(value, 'x', 8);
  ibv_wr_atomic_write(qp, 0x99, 0x5008, value);
  ibv_wr_set_sge(qp, 7, 0x3000, 8);  // (R3)
  ibv_wr_atomic_write(qp, 0x99, 0x5010, value);
  ibv_wr_set_inline_data(qp, value + 1, 7);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  SendWqe wqe = parsed(rc, 0, Transport::kRc);
  EXPECT_EQ(wqe.opcode, SendOpcode::kAtomicWrite);
  EXPECT_EQ(wqe.flags, kSendSignaled | kSendInline);
  EXPECT_EQ(wqe.remote.va, 0x5000u);
  EXPECT_EQ(wqe.remote.rkey, 0x99u);
  ASSERT_EQ(wqe.bytes, 8u);
  EXPECT_EQ(std::memcmp(wqe.inline_data, "12345678", 8), 0);
  wqe = parsed(rc, 1, Transport::kRc);
  EXPECT_EQ(wqe.inline_data, nullptr);
  EXPECT_EQ(wqe.sge[0].address, 0x3000u);
  EXPECT_EQ(control_of(slot_of(rc.send, 2)).inline_bytes, 7u) << "the device refuses it";
  write_cqe(cq, send_cqe(rc, 0, CqeOpcode::kAtomicWrite));
  const ibv_wc wc = poll(cq).at(0);
  EXPECT_EQ(wc.wr_id, 5u);
  EXPECT_EQ(wc.opcode, IBV_WC_ATOMIC_WRITE);
}

TEST_F(VerbsWorkRequest, LastSetterCounts) {
  char text[] = "abcdef";
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_set_inline_data(qp, text, 6);
  ibv_wr_set_sge(qp, 7, 0x3000, 30);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const SendWqe wqe = parsed(rc, 0, Transport::kRc);
  EXPECT_EQ(wqe.bytes, 30u);
  EXPECT_EQ(wqe.flags & kSendInline, 0);
}

TEST_F(VerbsWorkRequest, DatagramCarriesItsAddress) {
  Ah ah;
  ah.path.destination_gid[0] = 0xfe;
  ibv_wr_start(&ud.qp);
  ibv_wr_send(&ud.qp);
  ibv_wr_set_ud_addr(&ud.qp, &ah.ah, 0x42, 0x43);
  ibv_wr_set_sge(&ud.qp, 7, 0x3000, 30);
  ASSERT_EQ(ibv_wr_complete(&ud.qp), 0);
  const SendWqe wqe = parsed(ud, 0, Transport::kUd);
  EXPECT_EQ(wqe.remote_qpn, 0x42u);
  EXPECT_EQ(wqe.remote_qkey, 0x43u);
  EXPECT_EQ(wqe.address.destination_gid[0], 0xfe);
  EXPECT_EQ(wqe.bytes, 30u);
}

TEST_F(VerbsWorkRequest, AbortPostsNothing) {
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_abort(qp);
  EXPECT_TRUE(lock_is_free(rc));
  EXPECT_TRUE(rung(channel::Board::kSend).empty());
  EXPECT_EQ(rc.send.producer.load(), 0u);
}

TEST_F(VerbsWorkRequest, FirstErrorSticksAndNothingIsPosted) {
  const ibv_sge sges[4] = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}};
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_set_sge_list(qp, 4, sges);  // three fit
  ibv_wr_local_inv(qp, 1);           // would be EOPNOTSUPP
  ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  EXPECT_TRUE(lock_is_free(rc));
  EXPECT_EQ(rc.send.producer.load(), 0u);
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
}

TEST_F(VerbsWorkRequest, FullQueueAndWrongState) {
  ibv_wr_start(qp);
  for (int i = 0; i < 9; ++i) ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
  rc.qp.qp_base.state = IBV_QPS_INIT;
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
}

TEST_F(VerbsWorkRequest, BindsAndInvalidates) {
  ibv_mr mr{};
  mr.lkey = 0x1234'56;
  ibv_mw mw{};
  mw.type = IBV_MW_TYPE_2;
  mw.rkey = 0x4400'07;
  const ibv_mw_bind_info to{&mr, 0x7000, 64, IBV_ACCESS_REMOTE_WRITE};
  ibv_wr_start(qp);
  ibv_wr_bind_mw(qp, &mw, 0x4400'08, &to);
  ibv_wr_local_inv(qp, 0x4400'08);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(parsed(rc, 0, Transport::kRc).window.region, 0x1234'56u);
  EXPECT_EQ(parsed(rc, 1, Transport::kRc).immediate, 0x4400'08u);
  ibv_wr_start(qp);
  ibv_wr_local_inv(qp, 0x4400'08);
  ibv_wr_set_sge(qp, 1, 2, 3);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "it has no data";
  mw.type = IBV_MW_TYPE_1;
  ibv_wr_start(qp);
  ibv_wr_bind_mw(qp, &mw, 0x4400'08, &to);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
}

TEST_F(VerbsWorkRequest, WhatATransportDoesNotHaveIsRefused) {
  EXPECT_EQ(set_up_qp_ex(ud, IBV_QP_EX_WITH_RDMA_WRITE), EOPNOTSUPP);
  EXPECT_EQ(set_up_qp_ex(make_qp(IBV_QPT_UC, cq, cq), IBV_QP_EX_WITH_RDMA_READ), EOPNOTSUPP);
  EXPECT_EQ(set_up_qp_ex(make_qp(IBV_QPT_UC, cq, cq), IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
  EXPECT_EQ(set_up_qp_ex(make_qp(IBV_QPT_UC, cq, cq), IBV_QP_EX_WITH_SEND_WITH_INV), EOPNOTSUPP);
  EXPECT_EQ(set_up_qp_ex(ud, IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
  for (const std::uint64_t op : {std::uint64_t{IBV_QP_EX_WITH_TSO}, std::uint64_t{1} << 40}) {
    EXPECT_EQ(set_up_qp_ex(rc, IBV_QP_EX_WITH_SEND | op), EOPNOTSUPP);
  }
  EXPECT_EQ(
      set_up_qp_ex(rc, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
                           IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                           IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
                           IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_ATOMIC_WRITE),
      0);
  ibv_wr_start(&ud.qp);
  ibv_wr_rdma_write(&ud.qp, 1, 2);
  EXPECT_EQ(ibv_wr_complete(&ud.qp), EINVAL);
  ibv_wr_start(&ud.qp);
  ibv_wr_atomic_write(&ud.qp, 1, 8, "8 bytes");
  EXPECT_EQ(ibv_wr_complete(&ud.qp), EINVAL);
  ibv_wr_start(qp);
  ibv_wr_send_tso(qp, nullptr, 0, 0);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
}

TEST_F(VerbsWorkRequest, SegmentsAndChecksums) {
  context.attributes.max_tso = 5000;
  char header[101] = "a header";
  ud.qp.wr_flags = IBV_SEND_IP_CSUM;
  Ah ah;
  const auto build = [&](std::uint16_t bytes, std::uint16_t mss, std::uint32_t data) {
    ibv_wr_start(&ud.qp);
    ibv_wr_send_tso(&ud.qp, header, bytes, mss);
    ibv_wr_set_ud_addr(&ud.qp, &ah.ah, 0x123, 9);
    ibv_wr_set_sge(&ud.qp, 7, 0x1000, 4);
    ibv_wr_set_sge(&ud.qp, 7, 0x1000, data);
    return ibv_wr_complete(&ud.qp);
  };
  EXPECT_EQ(build(100, 1000, 5000), 0);
  header[0] = 'A';
  const SendWqe wqe = parsed(ud, 0, Transport::kUd);
  EXPECT_EQ(wqe.opcode, SendOpcode::kTso);
  EXPECT_EQ(wqe.flags, kSendChecksums);
  EXPECT_EQ(wqe.mss, 1000);
  EXPECT_EQ(wqe.header.size(), 100u);
  EXPECT_EQ(std::memcmp(wqe.header.data(), "a header", 9), 0) << "copied at once";
  EXPECT_EQ(wqe.remote_qpn, 0x123u);
  EXPECT_EQ(wqe.bytes, 5000u) << "of the last setter alone";
  EXPECT_EQ(build(101, 1000, 5000), EINVAL) << "max_tso_header";
  EXPECT_EQ(build(100, 0, 5000), EINVAL) << "no MSS";
  EXPECT_EQ(build(0, 1000, 5000), EINVAL) << "no header";
  EXPECT_EQ(build(100, 1000, 5001), EINVAL) << "max_tso";
  EXPECT_EQ(build(100, 3997, 5000), EINVAL) << "beyond the MTU";
  EXPECT_EQ(build(100, 3997, 3996), 0) << "no packet is so long";
  ibv_wr_start(&ud.qp);
  ibv_wr_send_tso(&ud.qp, header, 10, 10);
  ibv_wr_set_inline_data(&ud.qp, header, 10);
  EXPECT_EQ(ibv_wr_complete(&ud.qp), EINVAL);
  ibv_wr_start(&ud.qp);
  ibv_wr_send_tso(&ud.qp, nullptr, 10, 10);
  EXPECT_EQ(ibv_wr_complete(&ud.qp), EINVAL);
  qp->wr_flags = IBV_SEND_IP_CSUM;
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "RC";
}

}  // namespace
}  // namespace rxnic::verbs::verbs_work_request_test
