// SPDX-License-Identifier: Apache-2.0
// Polling in bridge/verbs: rules R1..R5 of poll.h and resizing.
#include "bridge/verbs/poll.h"

#include <endian.h>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_poll_test {
namespace {

class VerbsPoll : public VerbsTest {
 protected:
  Cq& cq = make_cq(8);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, nullptr, 64);

  // A compressed block as the device writes it.
  void write_session(Cq& to, const std::vector<Cqe>& cqes) {
    CompressionSession session;
    for (const Cqe& cqe : cqes) {
      if (session.empty() || session.joins(cqe)) session.add(cqe);
    }
    ASSERT_EQ(session.count(), cqes.size());
    std::vector<std::uint8_t> block(block_slots(session.count()) * to.cqe_bytes);
    session.write(produced(to), to.slots, to.cqe_bytes, block.data());
    for (std::size_t at = 0; at < block.size(); at += to.cqe_bytes) {
      std::memcpy(to.ring + std::size_t{produced(to)++ % to.slots} * to.cqe_bytes, &block[at], to.cqe_bytes);
    }
  }
  std::vector<Cqe> receives(Qp& q, std::uint32_t first, std::uint32_t count, const Srq* srq = nullptr) {
    std::vector<Cqe> cqes;
    for (std::uint32_t i = 0; i < count; ++i) {
      cqes.push_back(receive_cqe(q, first + i, srq));
      cqes.back().byte_count = 100 + first + i;
    }
    return cqes;
  }
};

TEST_F(VerbsPoll, NothingInARingThatWasNeverWritten) {
  EXPECT_TRUE(poll(cq).empty());
  EXPECT_EQ(last_poll, 0);
  EXPECT_TRUE(rung(channel::Board::kConsumer).empty());
}

TEST_F(VerbsPoll, OwnerBitDistinguishesNewFromOldOnEveryLap) {
  for (const std::uint32_t stride : {64u, 128u}) {
    Cq& ring = make_cq(8, stride);
    Qp& q = make_qp(IBV_QPT_RC, ring, ring, nullptr, 64);
    for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ(receive(q, i), 0);
    std::uint64_t polled = 0;
    for (std::uint32_t burst : {1u, 8u, 3u, 5u, 7u, 8u, 8u, 2u, 8u}) {
      for (std::uint32_t i = 0; i < burst; ++i) write_cqe(ring, receive_cqe(q, static_cast<std::uint32_t>(polled) + i));
      const auto wcs = poll(ring);
      ASSERT_EQ(wcs.size(), burst);
      for (const ibv_wc& wc : wcs) EXPECT_EQ(wc.wr_id, polled++);
      EXPECT_TRUE(poll(ring).empty());
    }
  }
}

TEST_F(VerbsPoll, ConsumerIndexIsReportedOnceACall) {
  for (std::uint64_t i = 0; i < 8; ++i) send(qp, i);
  for (std::uint32_t i = 0; i < 5; ++i) write_cqe(cq, send_cqe(qp, i));
  EXPECT_EQ(poll(cq, 3).size(), 3u);
  EXPECT_EQ(rung(channel::Board::kConsumer), std::vector<std::uint64_t>{3});
  EXPECT_EQ(poll(cq, 3).size(), 2u);
  EXPECT_EQ(rung(channel::Board::kConsumer), std::vector<std::uint64_t>{5});
  EXPECT_TRUE(poll(cq, 3).empty());
  EXPECT_TRUE(rung(channel::Board::kConsumer).empty());
  EXPECT_TRUE(poll(cq, 0).empty());
}

TEST_F(VerbsPoll, FieldsOfASend) {
  send(qp, 0xdeadbeefcafe);
  Cqe cqe = send_cqe(qp, 0, CqeOpcode::kRdmaRead);
  cqe.byte_count = 4096;
  write_cqe(cq, cqe);
  const ibv_wc wc = poll(cq).at(0);
  EXPECT_EQ(wc.wr_id, 0xdeadbeefcafeu);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_SEND);  // the WR's
  EXPECT_EQ(wc.qp_num, qp.qp.qp_base.qp_num);
  EXPECT_EQ(wc.byte_len, 4096u);
  EXPECT_EQ(wc.wc_flags, 0u);
}

TEST_F(VerbsPoll, GoodChecksumsAreAFlag) {
  receive(qp, 1);
  Cqe cqe = receive_cqe(qp, 0);
  cqe.flags = kCqeChecksumsOk;
  write_cqe(cq, cqe);
  EXPECT_EQ(poll(cq).at(0).wc_flags, unsigned{IBV_WC_IP_CSUM_OK});
}

TEST_F(VerbsPoll, FieldsOfAReceive) {
  for (std::uint64_t i = 0; i < 4; ++i) receive(qp, i);
  Cqe datagram = receive_cqe(qp, 0);
  datagram.byte_count = 104;
  datagram.source_qp = 0x123;
  datagram.source_lid = 7;
  datagram.service_level = 3;
  datagram.pkey_index = 1;
  datagram.immediate_or_rkey = 0x01020304;
  datagram.flags = kCqeGrh | kCqeImmediate | kCqeSolicited;
  write_cqe(cq, datagram);
  Cqe write_imm = receive_cqe(qp, 1);
  write_imm.opcode = CqeOpcode::kReceiveWriteImm;
  write_imm.flags = kCqeImmediate;
  write_cqe(cq, write_imm);
  Cqe invalidated = receive_cqe(qp, 2);
  invalidated.flags = kCqeInvalidated;
  invalidated.immediate_or_rkey = 0x01020304;
  write_cqe(cq, invalidated);
  write_cqe(cq, receive_cqe(qp, 3));
  const auto wcs = poll(cq);
  ASSERT_EQ(wcs.size(), 4u);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(wcs[0].byte_len, 104u);
  EXPECT_EQ(wcs[0].src_qp, 0x123u);
  EXPECT_EQ(wcs[0].slid, 7);
  EXPECT_EQ(wcs[0].sl, 3);
  EXPECT_EQ(wcs[0].pkey_index, 1);
  EXPECT_EQ(be32toh(wcs[0].imm_data), 0x01020304u);
  EXPECT_EQ(wcs[0].wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
  EXPECT_EQ(wcs[1].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wcs[1].wc_flags, unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(wcs[2].wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(wcs[2].invalidated_rkey, 0x01020304u);
  EXPECT_EQ(wcs[3].wc_flags, 0u);
}

TEST_F(VerbsPoll, OnlyFourFieldsOfAnError) {  // rules 3.1
  receive(qp, 55);
  Cqe cqe = receive_cqe(qp, 0);
  cqe.status = WcStatus::kLocalLength;
  cqe.vendor_error = 9;
  cqe.byte_count = 1;  // no device writes these
  cqe.immediate_or_rkey = 2;
  cqe.flags = kCqeImmediate;
  write_cqe(cq, cqe);
  const ibv_wc wc = poll(cq).at(0);
  EXPECT_EQ(wc.wr_id, 55u);
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(wc.qp_num, qp.qp.qp_base.qp_num);
  EXPECT_EQ(wc.vendor_err, 9u);
  EXPECT_EQ(wc.byte_len, 0u);
  EXPECT_EQ(wc.imm_data, 0u);
  EXPECT_EQ(wc.wc_flags, 0u);
}

TEST_F(VerbsPoll, StatusesAreThoseOfVerbs) {
  EXPECT_EQ(static_cast<int>(WcStatus::kLocalQpOperation), IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kLocalProtection), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kFlushed), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemoteInvalidRequest), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemoteAccess), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemoteOperation), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRetryExceeded), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRnrRetryExceeded), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kGeneral), IBV_WC_GENERAL_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kTagMatch), IBV_WC_TM_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRendezvousIncomplete), IBV_WC_TM_RNDV_INCOMPLETE);
}

TEST_F(VerbsPoll, CqesOfUnknownQpsArePassedOver) {
  send(qp, 1);
  Cqe stray = send_cqe(qp, 0);
  stray.qp_number = 0xbad;
  write_cqe(cq, stray);
  write_cqe(cq, send_cqe(qp, 0));
  write_cqe(cq, stray);
  EXPECT_EQ(poll(cq).size(), 1u);
  write_cqe(cq, stray);
  EXPECT_TRUE(poll(cq).empty());
  EXPECT_EQ(doorbell(channel::Board::kConsumer, cq.doorbell), 4u);  // their CQ slots are freed all the same
}

TEST_F(VerbsPoll, MiniCqesAreCompletionsOfTheirOwn) {
  for (std::uint64_t i = 0; i < 64; ++i) receive(qp, 1000 + i);
  std::uint32_t first = 0;
  for (const std::uint32_t count : {2u, 7u, 8u, 15u, 1u, 14u}) {  // four laps of the ring of eight
    write_session(cq, receives(qp, first, count));
    std::vector<ibv_wc> wcs;
    while (wcs.size() < count) {  // a call may end within a slot
      const auto some = poll(cq, 3);
      ASSERT_FALSE(some.empty());
      wcs.insert(wcs.end(), some.begin(), some.end());
    }
    for (const ibv_wc& wc : wcs) {
      EXPECT_EQ(wc.wr_id, 1000 + first);
      EXPECT_EQ(wc.byte_len, 100 + first);
      EXPECT_EQ(wc.opcode, IBV_WC_RECV);
      ++first;
    }
    EXPECT_TRUE(poll(cq).empty());
    EXPECT_EQ(doorbell(channel::Board::kConsumer, cq.doorbell), produced(cq));
  }
}

TEST_F(VerbsPoll, MiniCqesWaitForTheirSlot) {
  for (std::uint64_t i = 0; i < 64; ++i) receive(qp, i);
  Cq& other = make_cq(8);  // where the block is made
  write_session(other, receives(qp, 0, 10));
  const auto arrive = [&](std::uint32_t slot) { std::memcpy(cq.ring + 64 * slot, other.ring + 64 * slot, 64); };
  arrive(0);
  EXPECT_EQ(poll(cq).size(), 0u);
  arrive(1);
  EXPECT_EQ(poll(cq).size(), 7u);
  EXPECT_EQ(poll(cq).size(), 0u);
  arrive(2);
  EXPECT_EQ(poll(cq).size(), 3u);
}

TEST_F(VerbsPoll, ForgottenQpLeavesNoCompletions) {
  Srq& srq = make_srq(8, true);
  Qp& gone = make_qp(IBV_QPT_RC, cq, cq, &srq);
  for (std::uint64_t i = 0; i < 7; ++i) receive(srq, i);
  send(qp, 70);
  send(qp, 71);
  send(gone, 80);
  write_cqe(cq, receive_cqe(gone, 0, &srq));
  write_cqe(cq, send_cqe(qp, 0));
  write_cqe(cq, send_cqe(gone, 0));
  write_session(cq, receives(gone, 1, 3, &srq));
  write_cqe(cq, send_cqe(qp, 1));
  EXPECT_EQ(srq.posted, 7u);
  cq.lock.lock();
  forget_completions(cq, gone.qp.qp_base.qp_num, &srq);
  cq.lock.unlock();
  EXPECT_EQ(srq.posted, 3u);
  const auto wcs = poll(cq);
  ASSERT_EQ(wcs.size(), 2u);
  EXPECT_EQ(wcs[0].wr_id, 70u);
  EXPECT_EQ(wcs[1].wr_id, 71u);
  EXPECT_EQ(srq.posted, 3u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(receive(srq, i), 0);
  EXPECT_NE(receive(srq, 4), 0);
}

TEST_F(VerbsPoll, ForgottenWithinABlock) {
  Srq& srq = make_srq(16, true);
  Qp& gone = make_qp(IBV_QPT_RC, cq, cq, &srq);
  for (std::uint64_t i = 0; i < 15; ++i) receive(srq, i);
  write_session(cq, receives(gone, 0, 10, &srq));
  EXPECT_EQ(poll(cq, 8).size(), 8u);
  cq.lock.lock();
  forget_completions(cq, gone.qp.qp_base.qp_num, &srq);
  cq.lock.unlock();
  EXPECT_EQ(srq.posted, 5u);
  EXPECT_TRUE(poll(cq).empty());
  EXPECT_EQ(doorbell(channel::Board::kConsumer, cq.doorbell), 3u);
}

TEST_F(VerbsPoll, ArmingCarriesTheConsumerIndex) {
  for (std::uint64_t i = 0; i < 4; ++i) send(qp, i);
  write_cqe(cq, send_cqe(qp, 0));
  poll(cq);
  ibv_cq* public_cq = ibv_cq_ex_to_cq(&cq.cq);
  // The third part: how often it was armed for any, shared_mapping.h R4.
  const auto rung_with = [](std::uint64_t index, std::uint64_t solicited, std::uint64_t for_any) {
    return std::vector<std::uint64_t>{index | solicited | for_any << channel::kArmedForAnyShift};
  };
  EXPECT_EQ(req_notify_cq(public_cq, 0), 0);
  EXPECT_EQ(rung(channel::Board::kArm), rung_with(1, 0, 1));
  EXPECT_EQ(req_notify_cq(public_cq, 1), 0);
  EXPECT_EQ(rung(channel::Board::kArm), rung_with(1, channel::kArmSolicited, 1));
  write_cqe(cq, send_cqe(qp, 1));
  EXPECT_EQ(req_notify_cq(public_cq, 0), 0);
  EXPECT_EQ(rung(channel::Board::kArm), rung_with(1, 0, 2)) << "a completion in the CQ raises an event";
  cq.event_taken = true;
  EXPECT_EQ(req_notify_cq(public_cq, 0), 0);
  EXPECT_EQ(rung(channel::Board::kArm), rung_with(2, 0, 3)) << "its event was taken";
  EXPECT_EQ(poll(cq).size(), 1u);
  EXPECT_FALSE(cq.event_taken);
}

TEST_F(VerbsPoll, ResizedRingBeginsWithWhatWasNotPolled) {
  for (std::uint64_t i = 0; i < 20; ++i) send(qp, i);
  for (std::uint32_t i = 0; i < 3; ++i) write_cqe(cq, send_cqe(qp, i));
  EXPECT_EQ(poll(cq, 2).size(), 2u);
  cq.lock.lock();
  begin_resize(context, cq);
  EXPECT_EQ(doorbell(channel::Board::kConsumer, cq.doorbell), 0u);
  std::uint8_t* larger = ring(32 * 64, 0xff);
  write_slot(send_cqe(qp, 2), 0, 32, 64, larger);  // moved by the device
  produced(cq) = 1;
  finish_resize(cq, larger, 32, 0);
  cq.lock.unlock();
  for (std::uint32_t i = 3; i < 20; ++i) write_cqe(cq, send_cqe(qp, i));
  const auto wcs = poll(cq);
  ASSERT_EQ(wcs.size(), 18u);
  for (std::size_t i = 0; i < wcs.size(); ++i) EXPECT_EQ(wcs[i].wr_id, i + 2);
  EXPECT_EQ(doorbell(channel::Board::kConsumer, cq.doorbell), 18u);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_poll_test
