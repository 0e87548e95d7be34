// SPDX-License-Identifier: Apache-2.0
// The extended CQ of bridge/verbs (poll_ex.cpp).
#include <endian.h>

#include <cerrno>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_poll_ex_test {
namespace {

class VerbsPollEx : public VerbsTest {
 protected:
  Cq& cq = make_cq(8);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, nullptr, 64);
  ibv_cq_ex* ex = &cq.cq;
  ibv_poll_cq_attr attr{};
};

TEST_F(VerbsPollEx, EmptyIsNoEntryAndNeedsNoEnd) {
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
  EXPECT_TRUE(poll(cq).empty());
}

TEST_F(VerbsPollEx, UnknownMaskIsRefused) {
  attr.comp_mask = 1;
  EXPECT_EQ(ibv_start_poll(ex, &attr), EINVAL);
}

TEST_F(VerbsPollEx, ReadsWhatPollCqReturns) {
  receive(qp, 31);
  send(qp, 32);
  Cqe cqe = receive_cqe(qp, 0);
  cqe.byte_count = 104;
  cqe.source_qp = 0x123;
  cqe.source_lid = 7;
  cqe.service_level = 3;
  cqe.immediate_or_rkey = 0x01020304;
  cqe.flags = kCqeGrh | kCqeImmediate | kCqeTagMatch;
  cqe.timestamp = 1000;
  cqe.tag = 0x1122334455667788;
  cqe.tag_context = 99;
  write_cqe(cq, cqe);
  Cqe failed = send_cqe(qp, 0);
  failed.status = WcStatus::kRemoteAccess;
  failed.vendor_error = 5;
  write_cqe(cq, failed);

  ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
  EXPECT_EQ(ex->wr_id, 31u);
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_vendor_err(ex), 0u);
  EXPECT_EQ(ibv_wc_read_byte_len(ex), 104u);
  EXPECT_EQ(ibv_wc_read_imm_data(ex), htobe32(0x01020304));
  EXPECT_EQ(ibv_wc_read_qp_num(ex), qp.qp.qp_base.qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(ex), 0x123u);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_TM_MATCH});
  EXPECT_EQ(ibv_wc_read_slid(ex), 7u);
  EXPECT_EQ(ibv_wc_read_sl(ex), 3);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex), 0);
  EXPECT_EQ(ibv_wc_read_cvlan(ex), 0);
  EXPECT_EQ(ibv_wc_read_flow_tag(ex), 0u);
  ibv_wc_tm_info info{};
  ibv_wc_read_tm_info(ex, &info);
  EXPECT_EQ(info.tag, 0x1122334455667788u);
  EXPECT_EQ(info.priv, 99u);
  EXPECT_EQ(ibv_wc_read_completion_ts(ex), 2325u);  // 1000 cycles of 2325 ps in ticks of 1 ns
  EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), 2325u);
  EXPECT_TRUE(rung(channel::Board::kConsumer).empty());
  ASSERT_EQ(ibv_next_poll(ex), 0);
  EXPECT_EQ(ex->wr_id, 32u);
  EXPECT_EQ(ex->status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_wc_read_vendor_err(ex), 5u);
  EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_SEND);
  EXPECT_EQ(ibv_next_poll(ex), ENOENT);
  ibv_end_poll(ex);
  EXPECT_EQ(rung(channel::Board::kConsumer), std::vector<std::uint64_t>{2});  // once
}

TEST_F(VerbsPollEx, BothWaysToPollGoTogether) {
  for (std::uint64_t i = 0; i < 3; ++i) send(qp, i);
  for (std::uint32_t i = 0; i < 3; ++i) write_cqe(cq, send_cqe(qp, i));
  EXPECT_EQ(poll(cq, 1).at(0).wr_id, 0u);
  ASSERT_EQ(ibv_start_poll(ex, nullptr), 0);
  EXPECT_EQ(ex->wr_id, 1u);
  ibv_end_poll(ex);
  EXPECT_EQ(poll(cq, 1).at(0).wr_id, 2u);
}

TEST_F(VerbsPollEx, TimestampsAreInTicksOfTheCoreClock) {
  channel::DeviceAttributes attributes;
  attributes.core_clock_khz = 1'000'000;
  EXPECT_EQ(clock_ticks(attributes, 1999), 1u);
  attributes.core_clock_khz = 430'108;
  EXPECT_EQ(clock_ticks(attributes, 1'000'000'000), 430'108u);
  attributes.core_clock_khz = 1'000'000;
  EXPECT_EQ(clock_ticks(attributes, std::uint64_t{1} << 63), (std::uint64_t{1} << 63) / 1000);
}

TEST_F(VerbsPollEx, UnknownFlagsAreRefused) {
  cq.wc_flags = std::uint64_t{1} << 20;
  EXPECT_EQ(set_up_cq_ex(cq), EOPNOTSUPP);
}

TEST_F(VerbsPollEx, DeadSimulatorFlushes) {
  for (std::uint64_t i = 0; i < 3; ++i) send(qp, i);
  write_cqe(cq, send_cqe(qp, 0));
  simulator_gone(context);
  ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_next_poll(ex), ENOENT);  // the flush begins with the next start_poll
  ibv_end_poll(ex);
  ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
  EXPECT_EQ(ex->status, IBV_WC_FATAL_ERR);
  EXPECT_EQ(ex->wr_id, 1u);
  ASSERT_EQ(ibv_next_poll(ex), 0);
  EXPECT_EQ(ex->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_next_poll(ex), ENOENT);
  ibv_end_poll(ex);
  EXPECT_EQ(ibv_start_poll(ex, &attr), EIO);
  EXPECT_EQ(ibv_start_poll(ex, &attr), EIO);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_poll_ex_test
