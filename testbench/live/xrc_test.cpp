// SPDX-License-Identifier: Apache-2.0
// XRC: A's XRC_SEND QP names with each work request the SRQ of B that it is for.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "testbench/live/verbs_pair.h"
#include "testbench/live/xrc_objects.h"

namespace rxnic::live::xrc_test {
namespace {

class Xrc : public PairTest {
 protected:
  void SetUp() override {
    xrcd.reset(open_xrcd(b.world.context.get(), -1, O_CREAT));
    ASSERT_NE(xrcd, nullptr);
    for (int n = 0; n < 2; ++n) {
      cqs[n] = b.world.cq();
      srqs[n] = make_srq(b.world, xrcd.get(), cqs[n].get());
    }
    sender = make_sender(a.world, a.send_cq.get());
    receiver = make_receiver(b.world, xrcd.get());
    connect_both(sender.get(), a.world, receiver.get(), b.world);
  }
  void receive(int srq, std::size_t offset, std::size_t bytes, std::uint64_t id) {
    std::array<ibv_sge, 1> list{b.arena.sge(offset, bytes)};
    post_receive(srqs[srq].get(), list, id);
  }
  ibv_send_wr wr(ibv_wr_opcode opcode, ibv_sge& sge, std::uint32_t srqn) {
    ibv_send_wr w = send_wr(opcode, {&sge, 1}, 7);
    w.qp_type.xrc.remote_srqn = srqn;
    return w;
  }
  void expect_sent(ibv_wc_status status = IBV_WC_SUCCESS) {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, 7u);
    EXPECT_EQ(wc.qp_num, sender->qp_num);
  }

  OwnedXrcd xrcd;
  std::array<Owned<ibv_cq>, 2> cqs;
  std::array<Owned<ibv_srq>, 2> srqs;
  Owned<ibv_qp> sender, receiver;
};

TEST_P(Xrc, EachMessageGoesToTheSrqThatItNames) {
  const std::size_t sizes[] = {0, 1, 1024, 1025, 5000};
  for (std::size_t n = 0; n < std::size(sizes); ++n) {
    for (int to = 0; to < 2; ++to) receive(to, (2 * n + to) * 2 * kPage, 2 * kPage, 100 * to + n);
  }
  for (std::size_t n = 0; n < std::size(sizes); ++n) {
    for (const int to : {1, 0}) {
      const std::size_t from = (n + 8 * to) * kPage + 4;
      ibv_sge sge = a.arena.sge(from, sizes[n]);
      ibv_send_wr w = wr(to == 0 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, sge, number_of(srqs[to].get()));
      w.imm_data = htobe32(0x1234);
      post(sender.get(), w);
      expect_sent();
      const ibv_wc wc = take(cqs[to].get());
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_EQ(wc.opcode, IBV_WC_RECV);
      EXPECT_EQ(wc.wr_id, 100u * to + n);
      EXPECT_EQ(wc.qp_num, receiver->qp_num);
      EXPECT_EQ(wc.byte_len, sizes[n]);
      EXPECT_EQ(wc.wc_flags, to == 0 ? 0u : 0u + IBV_WC_WITH_IMM);
      b.arena.expect((2 * n + to) * 2 * kPage, a.arena.bytes(from, sizes[n]));
      EXPECT_TRUE(is_empty(cqs[1 - to].get()));
    }
  }
  expect_nothing_else_written();
}

TEST_P(Xrc, WritesReadsAndAtomicsReachTheMemoryOfTheSrqsPd) {
  const std::uint32_t srqn = number_of(srqs[0].get());
  ibv_sge sge = a.arena.sge(kPage, 3000);
  ibv_send_wr w = wr(IBV_WR_RDMA_WRITE, sge, srqn);
  w.wr.rdma.remote_addr = b.arena.address(0);
  w.wr.rdma.rkey = b.arena.region->rkey;
  post(sender.get(), w);
  expect_sent();
  b.arena.expect(0, a.arena.bytes(kPage, 3000));
  receive(0, 2 * kPage, 0, 5);
  w.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  w.wr.rdma.remote_addr = b.arena.address(4 * kPage);
  post(sender.get(), w);
  expect_sent();
  const ibv_wc wc = take(cqs[0].get());
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.wr_id, 5u);
  b.arena.expect(4 * kPage, a.arena.bytes(kPage, 3000));
  w.opcode = IBV_WR_RDMA_READ;
  sge = a.arena.sge(8 * kPage, 5000);
  w.wr.rdma.remote_addr = b.arena.address(20 * kPage);
  post(sender.get(), w);
  expect_sent();
  a.arena.expect(8 * kPage, b.arena.bytes(20 * kPage, 5000));
  w.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  sge = a.arena.sge(16 * kPage, 8);
  w.wr.atomic = {b.arena.address(30 * kPage), 3, 0, b.arena.region->rkey};
  std::uint64_t before = 0;
  std::memcpy(&before, b.arena.at(30 * kPage), 8);
  post(sender.get(), w);
  expect_sent();
  a.arena.expect(16 * kPage, {reinterpret_cast<const std::uint8_t*>(&before), 8});
  const std::uint64_t after = before + 3;
  b.arena.expect(30 * kPage, {reinterpret_cast<const std::uint8_t*>(&after), 8});
  expect_nothing_else_written();
}

TEST_P(Xrc, ExtendedInterfaceNamesTheSrq) {
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(sender.get());
  ASSERT_NE(ex, nullptr);
  receive(1, 0, kPage, 3);
  const ibv_sge sge = a.arena.sge(kPage, 900);
  ibv_wr_start(ex);
  ex->wr_id = 7;
  ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(ex);
  ibv_wr_set_xrc_srqn(ex, number_of(srqs[1].get()));
  ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  ibv_sge same = sge;
  post_log.add(sender.get(), wr(IBV_WR_SEND, same, number_of(srqs[1].get())));
  expect_sent();
  EXPECT_EQ(take(cqs[1].get()).wr_id, 3u);
  b.arena.expect(0, a.arena.bytes(kPage, 900));
  expect_nothing_else_written();
}

// An SRQ of another domain, a basic one, none.
TEST_P(Xrc, SrqOutsideOfTheDomainIsRefused) {
  const Patience patience(std::chrono::seconds(20));
  const OwnedXrcd other(open_xrcd(b.world.context.get(), -1, O_CREAT));
  ASSERT_NE(other, nullptr);
  const Owned<ibv_srq> foreign = make_srq(b.world, other.get(), cqs[0].get());
  ibv_srq_init_attr init{};
  init.attr = {4, 1, 0};
  const Owned<ibv_srq> basic = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  std::uint32_t basic_number = 0;
  must(ibv_get_srq_num(basic.get(), &basic_number), "ibv_get_srq_num");
  std::array<ibv_sge, 1> list{b.arena.sge(0, kPage)};
  post_receive(foreign.get(), list, 1);
  post_receive(basic.get(), list, 1);
  for (const std::uint32_t srqn : {number_of(foreign.get()), basic_number, 0x3fff0u}) {
    sender = make_sender(a.world, a.send_cq.get());
    receiver = make_receiver(b.world, xrcd.get());
    connect_both(sender.get(), a.world, receiver.get(), b.world);
    ibv_sge sge = a.arena.sge(kPage, 100);
    ibv_send_wr w = wr(IBV_WR_SEND, sge, srqn);
    post(sender.get(), w);
    expect_sent(IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_QP_REQ_ERR);
  }
  expect_nothing_else_written();
}

// Memory is the SRQ's PD's: a region of another PD may not be written.
TEST_P(Xrc, RegionOfAnotherPdIsRefused) {
  const Patience patience(std::chrono::seconds(20));
  const World other(b.world.nic);
  const Arena arena(other, kPage);
  ibv_sge sge = a.arena.sge(kPage, 100);
  ibv_send_wr w = wr(IBV_WR_RDMA_WRITE, sge, number_of(srqs[0].get()));
  w.wr.rdma.remote_addr = arena.address(0);
  w.wr.rdma.rkey = arena.region->rkey;
  post(sender.get(), w);
  expect_sent(IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(arena.differs(), "");
  expect_nothing_else_written();
}

// Two opened devices, as two processes have them. A QP of one device takes messages for the SRQ of the other, and lives
// as long as one device has it.
TEST_P(Xrc, DomainOfAFileIsShared) {
  const int fd = memfd_create("domain", 0);
  ASSERT_GE(fd, 0);
  World second(b.world.nic);
  EXPECT_EQ(open_xrcd(second.context.get(), fd, 0), nullptr);
  EXPECT_EQ(errno, EAGAIN) << "there is none yet";
  const OwnedXrcd first(open_xrcd(b.world.context.get(), fd, O_CREAT | O_EXCL));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(open_xrcd(second.context.get(), fd, O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EEXIST);
  const OwnedXrcd joined(open_xrcd(second.context.get(), fd, 0));
  ASSERT_NE(joined, nullptr);
  close(fd);

  const Owned<ibv_cq> cq = second.cq();
  Arena arena(second, 4 * kPage);
  const Owned<ibv_srq> srq = make_srq(second, joined.get(), cq.get());
  receiver = make_receiver(b.world, first.get());
  sender = make_sender(a.world, a.send_cq.get());
  connect_both(sender.get(), a.world, receiver.get(), b.world);
  ibv_qp_open_attr asked{};
  asked.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  asked.qp_num = receiver->qp_num;
  asked.xrcd = joined.get();
  asked.qp_type = IBV_QPT_XRC_RECV;
  const std::uint32_t number = receiver->qp_num;
  Owned<ibv_qp> opened = own(ibv_open_qp(second.context.get(), &asked), "ibv_open_qp");
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(opened.get(), &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  for (std::size_t n = 0; n < 2; ++n) {
    std::array<ibv_sge, 1> list{arena.sge(n * kPage, kPage)};
    post_receive(srq.get(), list, n);
    ibv_sge sge = a.arena.sge(n * kPage, 700);
    ibv_send_wr w = wr(IBV_WR_SEND, sge, number_of(srq.get()));
    post(sender.get(), w);
    expect_sent();
    const ibv_wc wc = take(cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, n);
    EXPECT_EQ(wc.qp_num, number);
    arena.expect(n * kPage, a.arena.bytes(n * kPage, 700));
    receiver.reset();  // the second one has it still
  }
  EXPECT_EQ(arena.differs(), "");
  const Patience patience(std::chrono::seconds(20));
  opened.reset();  // nobody has it
  EXPECT_EQ(ibv_open_qp(second.context.get(), &asked), nullptr);
  EXPECT_EQ(errno, EINVAL);
  expect_nothing_else_written();
}

TEST_P(Xrc, DomainInUseIsNotClosed) {
  EXPECT_EQ(ibv_close_xrcd(xrcd.get()), EBUSY);
  receiver.reset();
  EXPECT_EQ(ibv_close_xrcd(xrcd.get()), EBUSY);
  for (auto& srq : srqs) srq.reset();
  EXPECT_EQ(ibv_close_xrcd(xrcd.release()), 0);
}

TEST_P(Xrc, WhatIsNotPossibleIsRefused) {
  ibv_context* const context = b.world.context.get();
  EXPECT_EQ(open_xrcd(context, -1, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(open_xrcd(context, 12345, O_CREAT), nullptr);
  EXPECT_EQ(errno, EBADF);
  ibv_sge sge = a.arena.sge(0, 8);
  ibv_send_wr w = send_wr(IBV_WR_SEND, {&sge, 1});
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(receiver.get(), &w, &bad), EINVAL);
  EXPECT_EQ(bad, &w);
  ibv_recv_wr r{};
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_NE(ibv_post_recv(sender.get(), &r, &bad_receive), 0);
  EXPECT_NE(ibv_post_recv(receiver.get(), &r, &bad_receive), 0);
  ibv_qp_init_attr init{};  // an XRC SRQ is nobody's receive queue
  init.qp_type = IBV_QPT_RC;
  init.send_cq = init.recv_cq = cqs[0].get();
  init.srq = srqs[0].get();
  init.cap = {1, 0, 1, 0, 0};
  EXPECT_EQ(ibv_create_qp(b.world.pd.get(), &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_qp_init_attr_ex without{};
  without.qp_type = IBV_QPT_XRC_RECV;
  EXPECT_EQ(ibv_create_qp_ex(context, &without), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_srq_init_attr_ex incomplete{};
  incomplete.attr = {4, 1, 0};
  incomplete.srq_type = IBV_SRQT_XRC;
  incomplete.pd = b.world.pd.get();
  incomplete.xrcd = xrcd.get();
  incomplete.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD;
  EXPECT_EQ(ibv_create_srq_ex(context, &incomplete), nullptr) << "no CQ";
  EXPECT_EQ(errno, EINVAL);
}

RXNIC_ON_ONE_AND_TWO_NICS(Xrc);

}  // namespace
}  // namespace rxnic::live::xrc_test
