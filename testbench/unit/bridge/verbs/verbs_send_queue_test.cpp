// SPDX-License-Identifier: Apache-2.0
// Send queues of bridge/verbs: rules R1..R3 of send_queue.h, the WQEs as the device parses them.
#include "bridge/verbs/send_queue.h"

#include <endian.h>
#include <poll.h>

#include <cerrno>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_send_queue_test {
namespace {

class VerbsSendQueue : public VerbsTest {
 protected:
  Cq& cq = make_cq(64);
  Qp& rc = make_qp(IBV_QPT_RC, cq, cq);

  // Posts one WR; bad_wr is checked.
  int post(Qp& qp, ibv_send_wr wr) {
    wr.next = nullptr;
    ibv_send_wr* bad = nullptr;
    const int error = post_send(&qp.qp.qp_base, &wr, &bad);
    EXPECT_EQ(bad, error == 0 ? nullptr : &wr);
    return error;
  }
  ibv_send_wr make_wr(ibv_wr_opcode opcode, int sges = 1) {
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = sge;
    wr.num_sge = sges;
    return wr;
  }

  ibv_sge sge[4] = {{0x10000, 100, 0x11}, {0x20000, 200, 0x22}, {0x30000, 300, 0x33}, {0x40000, 400, 0x44}};
};

TEST_F(VerbsSendQueue, SendHasTheLayoutOfTheAbi) {
  ibv_send_wr wr = make_wr(IBV_WR_SEND_WITH_IMM, 2);
  wr.imm_data = htobe32(0x01020304);
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE;
  ASSERT_EQ(post(rc, wr), 0);
  const auto bytes = wqe(rc.send, 0);
  EXPECT_EQ(bytes[0], 1);  // SendOpcode::kSendImm
  EXPECT_EQ(bytes[1], 7);  // signaled, solicited, fence
  EXPECT_EQ(bytes[2] | bytes[3] << 8, 2);
  EXPECT_EQ(bytes[4] | bytes[5] | bytes[6] | bytes[7], 0);
  EXPECT_EQ(std::memcmp(&bytes[8], "\x04\x03\x02\x01", 4), 0);  // host byte order
  DataSegment segments[2];
  std::memcpy(segments, &bytes[64], sizeof segments);
  EXPECT_EQ(segments[0].address, 0x10000u);
  EXPECT_EQ(segments[0].length, 100u);
  EXPECT_EQ(segments[0].lkey, 0x11u);
  EXPECT_EQ(segments[1].address, 0x20000u);
  EXPECT_EQ(rung(channel::Board::kSend), std::vector<std::uint64_t>{1 | 96ull << channel::kWqeBytesShift});
}

TEST_F(VerbsSendQueue, DeviceReadsEveryOpcodeOfRc) {
  struct Case {
    ibv_wr_opcode opcode;
    SendOpcode wqe;
    ibv_wc_opcode completion;
  };
  const Case cases[] = {{IBV_WR_SEND, SendOpcode::kSend, IBV_WC_SEND},
                        {IBV_WR_SEND_WITH_IMM, SendOpcode::kSendImm, IBV_WC_SEND},
                        {IBV_WR_SEND_WITH_INV, SendOpcode::kSendInvalidate, IBV_WC_SEND},
                        {IBV_WR_RDMA_WRITE, SendOpcode::kWrite, IBV_WC_RDMA_WRITE},
                        {IBV_WR_RDMA_WRITE_WITH_IMM, SendOpcode::kWriteImm, IBV_WC_RDMA_WRITE},
                        {IBV_WR_RDMA_READ, SendOpcode::kRead, IBV_WC_RDMA_READ},
                        {IBV_WR_ATOMIC_CMP_AND_SWP, SendOpcode::kCompareSwap, IBV_WC_COMP_SWAP},
                        {IBV_WR_ATOMIC_FETCH_AND_ADD, SendOpcode::kFetchAdd, IBV_WC_FETCH_ADD},
                        {IBV_WR_ATOMIC_WRITE, SendOpcode::kAtomicWrite, IBV_WC_ATOMIC_WRITE}};
  std::uint32_t index = 0;
  for (const Case& c : cases) {
    ibv_send_wr wr = make_wr(c.opcode);
    wr.wr_id = 1000 + index;
    wr.imm_data = htobe32(0xabcd);
    const bool atomic = c.wqe == SendOpcode::kCompareSwap || c.wqe == SendOpcode::kFetchAdd;
    if (c.wqe == SendOpcode::kSendInvalidate) wr.invalidate_rkey = 0xabcd;
    if (atomic) {
      sge[0].length = 8;
      wr.wr.atomic.remote_addr = 0x5000;
      wr.wr.atomic.rkey = 0x99;
      wr.wr.atomic.compare_add = 17;
      wr.wr.atomic.swap = 18;
    } else {
      wr.wr.rdma.remote_addr = 0x5000;
      wr.wr.rdma.rkey = 0x99;
    }
    ASSERT_EQ(post(rc, wr), 0) << c.opcode;
    const SendWqe wqe = parsed(rc, index, Transport::kRc);
    EXPECT_EQ(wqe.opcode, c.wqe);
    EXPECT_EQ(wqe.sge_count, 1);
    EXPECT_EQ(wqe.sge[0].lkey, 0x11u);
    if (c.wqe >= SendOpcode::kWrite) {
      EXPECT_EQ(wqe.remote.va, 0x5000u);
      EXPECT_EQ(wqe.remote.rkey, 0x99u);
    }
    if (atomic) {
      EXPECT_EQ(wqe.remote.compare_add, 17u);
      EXPECT_EQ(wqe.remote.swap, 18u);
    }
    if (c.wqe == SendOpcode::kSendImm || c.wqe == SendOpcode::kWriteImm || c.wqe == SendOpcode::kSendInvalidate) {
      EXPECT_EQ(wqe.immediate, 0xabcdu);
    }
    write_cqe(cq, send_cqe(rc, index, completion_opcode(c.wqe)));
    const auto wcs = poll(cq);
    ASSERT_EQ(wcs.size(), 1u);
    EXPECT_EQ(wcs[0].wr_id, 1000 + index);
    EXPECT_EQ(wcs[0].opcode, c.completion);
    ++index;
  }
}

TEST_F(VerbsSendQueue, DatagramCarriesItsAddress) {
  Qp& ud = make_qp(IBV_QPT_UD, cq, cq);
  Ah ah;
  ah.path.destination_gid[15] = 9;
  ah.path.source_gid_index = 2;
  ah.path.traffic_class = 0x60;
  ibv_send_wr wr = make_wr(IBV_WR_SEND_WITH_IMM);
  wr.wr.ud.ah = &ah.ah;
  wr.wr.ud.remote_qpn = 0x123;
  wr.wr.ud.remote_qkey = 0x11111111;
  ASSERT_EQ(post(ud, wr), 0);
  const SendWqe wqe = parsed(ud, 0, Transport::kUd);
  EXPECT_EQ(wqe.remote_qpn, 0x123u);
  EXPECT_EQ(wqe.remote_qkey, 0x11111111u);
  EXPECT_EQ(std::memcmp(&wqe.address, &ah.path, sizeof ah.path), 0);
  wr.wr.ud.ah = nullptr;
  EXPECT_EQ(post(ud, wr), EINVAL);
}

TEST_F(VerbsSendQueue, InlineDataIsCopiedAtOnce) {
  char text[64] = "0123456789";
  ibv_sge pieces[2] = {{reinterpret_cast<std::uintptr_t>(text), 4, 0},
                       {reinterpret_cast<std::uintptr_t>(text + 4), 6, 0}};
  ibv_send_wr wr = make_wr(IBV_WR_SEND, 2);
  wr.sg_list = pieces;
  wr.send_flags = IBV_SEND_INLINE;
  ASSERT_EQ(post(rc, wr), 0);
  std::memset(text, 'x', sizeof text);
  const SendWqe wqe = parsed(rc, 0, Transport::kRc);
  ASSERT_EQ(wqe.bytes, 10u);
  EXPECT_EQ(std::memcmp(wqe.inline_data, "0123456789", 10), 0);
}

TEST_F(VerbsSendQueue, InlineHasALimitAndItsOpcodes) {
  char data[65] = {};
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(data), 64, 0};
  ibv_send_wr wr = make_wr(IBV_WR_RDMA_WRITE);
  wr.sg_list = &piece;
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(post(rc, wr), 0);
  piece.length = 65;
  EXPECT_EQ(post(rc, wr), EINVAL);
  piece.length = 8;
  wr.opcode = IBV_WR_ATOMIC_WRITE;
  EXPECT_EQ(post(rc, wr), 0);
  EXPECT_EQ(parsed(rc, 1, Transport::kRc).bytes, 8u);
  for (const auto opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    wr.opcode = opcode;
    EXPECT_EQ(post(rc, wr), EINVAL);
  }
  EXPECT_EQ(static_cast<std::uint32_t>(doorbell(channel::Board::kSend, rc.send.doorbell)), 2u);
}

TEST_F(VerbsSendQueue, OpcodesByTransport) {  // rules 4
  struct Row {
    ibv_wr_opcode opcode;
    int ud, uc, rc, xrc, raw;
  };
  const int no = EINVAL;
  const Row rows[] = {{IBV_WR_SEND, 0, 0, 0, 0, 0},
                      {IBV_WR_SEND_WITH_IMM, 0, 0, 0, 0, no},
                      {IBV_WR_RDMA_WRITE, no, 0, 0, 0, no},
                      {IBV_WR_RDMA_WRITE_WITH_IMM, no, 0, 0, 0, no},
                      {IBV_WR_RDMA_READ, no, no, 0, 0, no},
                      {IBV_WR_ATOMIC_CMP_AND_SWP, no, no, 0, 0, no},
                      {IBV_WR_ATOMIC_FETCH_AND_ADD, no, no, 0, 0, no},
                      {IBV_WR_LOCAL_INV, no, 0, 0, 0, no},
                      {IBV_WR_BIND_MW, no, 0, 0, 0, no},
                      {IBV_WR_SEND_WITH_INV, no, EOPNOTSUPP, 0, 0, no},
                      {IBV_WR_TSO, 0, no, no, no, 0},
                      {IBV_WR_ATOMIC_WRITE, no, no, 0, no, no},
                      // IBV_WR_FLUSH of later versions
                      {static_cast<ibv_wr_opcode>(14), EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP},
                      {IBV_WR_DRIVER1, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP}};
  for (const Row& row : rows) {
    EXPECT_EQ(check_opcode(IBV_QPT_UD, row.opcode), row.ud) << row.opcode;
    EXPECT_EQ(check_opcode(IBV_QPT_UC, row.opcode), row.uc) << row.opcode;
    EXPECT_EQ(check_opcode(IBV_QPT_RC, row.opcode), row.rc) << row.opcode;
    EXPECT_EQ(check_opcode(IBV_QPT_XRC_SEND, row.opcode), row.xrc) << row.opcode;
    EXPECT_EQ(check_opcode(IBV_QPT_RAW_PACKET, row.opcode), row.raw) << row.opcode;
    if (row.rc != EOPNOTSUPP) {
      EXPECT_EQ(check_opcode(IBV_QPT_XRC_RECV, row.opcode), EINVAL) << row.opcode;
    }
  }
  for (const ibv_qp_type type : {IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_RAW_PACKET}) {
    for (int gap = IBV_WR_DRIVER1 + 1; gap < 100; ++gap) {
      if (gap != IBV_WR_ATOMIC_WRITE && gap != 14) {
        EXPECT_EQ(check_opcode(type, static_cast<ibv_wr_opcode>(gap)), EINVAL) << gap;
      }
    }
  }
}

TEST_F(VerbsSendQueue, SegmentsHaveAHeaderAndAnMss) {
  context.attributes.max_tso = 5000;
  char header[101] = "a header";
  for (const ibv_qp_type type : {IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
    Qp& qp = make_qp(type, cq, cq);
    const bool raw = type == IBV_QPT_RAW_PACKET;
    Ah ah;
    ibv_send_wr wr = make_wr(IBV_WR_TSO);
    sge[0] = {0x10000, 5000, 0x11};
    wr.wr.ud.ah = &ah.ah;
    const auto with = [&](void* from, std::uint16_t bytes, std::uint16_t mss) {
      wr.tso.hdr = from;
      wr.tso.hdr_sz = bytes;
      wr.tso.mss = mss;
      return post(qp, wr);
    };
    EXPECT_EQ(with(header, 100, 1000), 0);
    const SendWqe wqe = parsed(qp, 0, raw ? Transport::kRaw : Transport::kUd);
    EXPECT_EQ(wqe.opcode, SendOpcode::kTso);
    EXPECT_EQ(wqe.mss, 1000);
    EXPECT_EQ(std::memcmp(wqe.header.data(), header, 100), 0);
    EXPECT_EQ(wqe.bytes, 5000u);
    write_cqe(cq, send_cqe(qp, 0, CqeOpcode::kTso));
    EXPECT_EQ(poll(cq).at(0).opcode, IBV_WC_TSO);
    const std::uint16_t most = raw ? 4096 + 22 - 100 : 4096 - 100;
    EXPECT_EQ(with(header, 101, 1000), EINVAL) << "max_tso_header";
    EXPECT_EQ(with(header, raw ? 13 : 0, 1000), EINVAL);
    EXPECT_EQ(with(nullptr, 100, 1000), EINVAL);
    EXPECT_EQ(with(header, 100, 0), EINVAL) << "no MSS";
    EXPECT_EQ(with(header, 100, most), 0);
    EXPECT_EQ(with(header, 100, static_cast<std::uint16_t>(most + 1)), EINVAL) << "beyond the MTU";
    sge[0].length = 5001;
    EXPECT_EQ(with(header, 100, 1000), EINVAL) << "max_tso";
    sge[0].length = 10;
    EXPECT_EQ(with(header, 100, 9000), 0) << "no packet is so long";
    wr.send_flags = IBV_SEND_INLINE;
    EXPECT_EQ(with(header, 100, 1000), EINVAL);
  }
}

TEST_F(VerbsSendQueue, BindsAndInvalidatesWithoutData) {
  ibv_mr mr{};
  mr.lkey = 0x1234'56;
  ibv_mw mw{};
  mw.type = IBV_MW_TYPE_2;
  mw.rkey = 0x4400'07;
  ibv_send_wr wr = make_wr(IBV_WR_BIND_MW);
  wr.bind_mw = {&mw, 0x4400'08, {&mr, 0x7000, 0x100000000, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE}};
  EXPECT_EQ(post(rc, wr), 0);
  SendWqe w = parsed(rc, 0, Transport::kRc);
  EXPECT_EQ(w.opcode, SendOpcode::kBindWindow);
  EXPECT_EQ(w.immediate, 0x4400'08u);
  EXPECT_EQ(w.window.va, 0x7000u);
  EXPECT_EQ(w.window.length, 0x100000000u);
  EXPECT_EQ(w.window.region, 0x1234'56u);
  EXPECT_EQ(w.window.access, kRemoteRead) << "the rights of a window are remote";
  EXPECT_EQ(mw.rkey, 0x4400'07u) << "the program's to change";
  wr = make_wr(IBV_WR_LOCAL_INV);
  wr.invalidate_rkey = 0x4400'08;
  EXPECT_EQ(post(rc, wr), 0);
  w = parsed(rc, 1, Transport::kRc);
  EXPECT_EQ(w.opcode, SendOpcode::kLocalInvalidate);
  EXPECT_EQ(w.immediate, 0x4400'08u);
}

TEST_F(VerbsSendQueue, WindowsThatCannotBeBoundAreRefused) {
  ibv_mw mw{};
  mw.type = IBV_MW_TYPE_1;
  mw.pd = rc.qp.qp_base.pd;
  ibv_send_wr wr = make_wr(IBV_WR_BIND_MW);
  wr.bind_mw = {&mw, 8, {}};
  EXPECT_EQ(post(rc, wr), EINVAL) << "type 1";
  wr.bind_mw.mw = nullptr;
  EXPECT_EQ(post(rc, wr), EINVAL);
  mw.type = IBV_MW_TYPE_2;
  wr.bind_mw.mw = &mw;
  wr.bind_mw.rkey = 0x108;
  EXPECT_EQ(post(rc, wr), EINVAL) << "the key of another";
  wr.bind_mw.rkey = 8;
  wr.bind_mw.bind_info.length = 1;
  EXPECT_EQ(post(rc, wr), EINVAL) << "of no region";
  wr.bind_mw.bind_info.length = 0;
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(post(rc, wr), EINVAL);
}

TEST_F(VerbsSendQueue, AType1WindowGetsItsNextKeyWhenItIsPosted) {
  ibv_mw mw{};
  mw.type = IBV_MW_TYPE_1;
  mw.pd = rc.qp.qp_base.pd;
  mw.rkey = 0x4400'ff;
  ibv_mw_bind bind{};
  bind.wr_id = 77;
  bind.send_flags = IBV_SEND_SIGNALED;
  EXPECT_EQ(bind_mw(&rc.qp.qp_base, &mw, &bind), 0);
  EXPECT_EQ(mw.rkey, 0x4400'00u);
  EXPECT_EQ(parsed(rc, 0, Transport::kRc).immediate, 0x4400'00u);
  EXPECT_EQ(rc.send.sent[0].wr_id, 77u);
  EXPECT_EQ(rung(channel::Board::kSend).size(), 1u);
  bind.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(bind_mw(&rc.qp.qp_base, &mw, &bind), EINVAL);
  bind.send_flags = 0;
  ibv_pd another{};
  mw.pd = &another;
  EXPECT_EQ(bind_mw(&rc.qp.qp_base, &mw, &bind), EPERM);
  mw.pd = rc.qp.qp_base.pd;
  rc.qp.qp_base.state = IBV_QPS_INIT;
  EXPECT_EQ(bind_mw(&rc.qp.qp_base, &mw, &bind), EINVAL);
  EXPECT_EQ(mw.rkey, 0x4400'00u);
}

TEST_F(VerbsSendQueue, StopsAtTheFirstFailureAndKeepsTheEarlierOnes) {
  ibv_send_wr wrs[4];
  for (int i = 0; i < 4; ++i) {
    wrs[i] = make_wr(IBV_WR_SEND);
    wrs[i].next = i == 3 ? nullptr : &wrs[i + 1];
  }
  wrs[2].num_sge = 4;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(post_send(&rc.qp.qp_base, wrs, &bad), EINVAL);
  EXPECT_EQ(bad, &wrs[2]);
  EXPECT_EQ(rung(channel::Board::kSend), std::vector<std::uint64_t>{2});  // one doorbell
}

TEST_F(VerbsSendQueue, RefusesUntilReadyToSend) {
  for (const auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    rc.qp.qp_base.state = state;
    EXPECT_EQ(send(rc, 1), EINVAL);
  }
  for (const auto state : {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
    rc.qp.qp_base.state = state;
    EXPECT_EQ(send(rc, 1), 0);
  }
}

TEST_F(VerbsSendQueue, SgesWithoutBytesAreLeftOut) {
  sge[1].length = 0;
  ASSERT_EQ(post(rc, make_wr(IBV_WR_SEND, 3)), 0);
  const SendWqe wqe = parsed(rc, 0, Transport::kRc);
  ASSERT_EQ(wqe.sge_count, 2);
  EXPECT_EQ(wqe.sge[1].lkey, 0x33u);
}

TEST_F(VerbsSendQueue, ChecksumsAreOfDatagramsAndFrames) {
  ibv_send_wr wr = make_wr(IBV_WR_SEND);
  wr.send_flags = IBV_SEND_IP_CSUM;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND}) {
    EXPECT_EQ(post(make_qp(type, cq, cq), wr), EINVAL) << type;
  }
  Qp& raw = make_qp(IBV_QPT_RAW_PACKET, cq, cq);
  EXPECT_EQ(post(raw, wr), 0);
  EXPECT_EQ(parsed(raw, 0, Transport::kRaw).flags, kSendChecksums);
  Ah ah;
  wr.wr.ud.ah = &ah.ah;
  Qp& ud = make_qp(IBV_QPT_UD, cq, cq);
  EXPECT_EQ(post(ud, wr), 0);
  EXPECT_EQ(parsed(ud, 0, Transport::kUd).flags, kSendChecksums);
}

TEST_F(VerbsSendQueue, IsFullUntilACompletionFreesEverythingUpToIt) {
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(send(rc, i, 0), 0);
  EXPECT_EQ(send(rc, 8), ENOMEM);
  write_cqe(cq, send_cqe(rc, 4));
  ASSERT_EQ(poll(cq).at(0).wr_id, 4u);
  for (std::uint64_t i = 8; i < 13; ++i) EXPECT_EQ(send(rc, i, 0), 0);
  EXPECT_EQ(send(rc, 13), ENOMEM);
  // Around the ring: the slots 5..7 are still those of before.
  write_cqe(cq, send_cqe(rc, 5));
  EXPECT_EQ(poll(cq).at(0).wr_id, 5u);
  write_cqe(cq, send_cqe(rc, 4));
  EXPECT_EQ(poll(cq).at(0).wr_id, 12u);
  for (std::uint64_t i = 13; i < 21; ++i) EXPECT_EQ(send(rc, i, 0), 0);
}

TEST_F(VerbsSendQueue, SimulatorIsWokenOnlyWhenItSleeps) {
  pollfd wake{context.wake_fd, POLLIN, 0};
  send(rc, 1);
  EXPECT_EQ(::poll(&wake, 1, 0), 0);
  EXPECT_EQ(header().rung.load(), 1u);
  header().simulator_sleeps = 1;
  send(rc, 2);
  EXPECT_EQ(::poll(&wake, 1, 0), 1);
}

TEST_F(VerbsSendQueue, ResetStartsAgainAtZero) {
  for (std::uint64_t i = 0; i < 5; ++i) send(rc, i);
  receive(rc, 1);
  reset_queues(rc);
  EXPECT_EQ(send(rc, 77), 0);
  EXPECT_EQ(static_cast<std::uint32_t>(doorbell(channel::Board::kSend, rc.send.doorbell)), 1u);
  write_cqe(cq, send_cqe(rc, 0));
  EXPECT_EQ(poll(cq).at(0).wr_id, 77u);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_send_queue_test
