// SPDX-License-Identifier: Apache-2.0
// rdma_create_srq of the system's librdmacm (rules 2.4): each rule by memory and completions, between two NICs.
//
// An ID that is bound to rxnic0 (198.18.0.1) has the SRQ, a QP on rxnic1 sends to it.
#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <numeric>

#include "testbench/live/verbs_world.h"

namespace rxnic::live {
namespace {

constexpr std::uint32_t kReceives = 16;
constexpr std::size_t kBytes = 100;

// Open files of this process: a completion channel is one.
auto open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

class CreateSrq : public testing::Test {
 protected:
  CreateSrq() : receiver_world(0), sender_world(1), send_cq(sender_world.cq()), out(sender_world, 4096) {}
  ~CreateSrq() override {
    receive_qp.reset();
    if (id == nullptr) return;
    if (id->srq != nullptr) rdma_destroy_srq(id);
    rdma_destroy_id(id);
  }

  void bind(ibv_qp_type type) {
    rdma_addrinfo hints{};
    hints.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST;
    hints.ai_qp_type = type;
    hints.ai_port_space = type == IBV_QPT_RC ? RDMA_PS_TCP : RDMA_PS_IB;
    rdma_addrinfo* at = nullptr;
    must(rdma_getaddrinfo("198.18.0.1", "0", &hints, &at) == 0 ? 0 : errno, "rdma_getaddrinfo");
    const int error = rdma_create_ep(&id, at, nullptr, nullptr) == 0 ? 0 : errno;
    rdma_freeaddrinfo(at);
    must(error, "rdma_create_ep");
    ASSERT_NE(id->verbs, nullptr);
    own_cq.reset(ibv_create_cq(id->verbs, kReceives, nullptr, nullptr, 0));
  }
  static ibv_srq_init_attr init(std::uint32_t sges = 1) { return {nullptr, {kReceives, sges, 0}}; }

  Owned<ibv_qp> make(ibv_context* context, ibv_qp_init_attr_ex init) {
    init.cap = {kReceives, 0, 1, 0, 0};
    ibv_qp* const qp = ibv_create_qp_ex(context, &init);
    must(qp == nullptr ? errno : 0, "ibv_create_qp_ex");
    return Owned<ibv_qp>(qp);
  }
  void connect_senders() {
    connect(send_qp.get(), receiver_world, receive_qp->qp_num);
    connect(receive_qp.get(), sender_world, send_qp->qp_num);
  }
  // A receive of the SRQ in `memory`, and a message for it; its completion.
  ibv_wc send_one(ibv_cq* receive_cq, ibv_mr* region, std::array<std::uint8_t, kBytes>& memory, unsigned srqn = 0) {
    std::iota(out.at(0), out.at(kBytes), std::uint8_t{7});
    std::array<ibv_sge, 1> in{{{reinterpret_cast<std::uint64_t>(memory.data()), kBytes, region->lkey}}};
    post_receive(id->srq, in, 42);
    std::array<ibv_sge, 1> from{out.sge(0, kBytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, from);
    wr.qp_type.xrc.remote_srqn = srqn;
    wr.send_flags = IBV_SEND_SIGNALED;
    post(send_qp.get(), wr);
    take(send_cq.get());
    return take(receive_cq);
  }
  // Through an RC QP on the SRQ of the ID.
  ibv_wc receive_by_rc(ibv_pd* pd, ibv_mr* region, std::array<std::uint8_t, kBytes>& memory) {
    ibv_qp_init_attr_ex rc{};
    rc.qp_type = IBV_QPT_RC;
    rc.comp_mask = IBV_QP_INIT_ATTR_PD;
    rc.send_cq = rc.recv_cq = own_cq.get();
    rc.srq = id->srq;
    rc.pd = pd;
    receive_qp = make(id->verbs, rc);
    send_qp = make_qp(sender_world, send_cq.get(), send_cq.get());
    connect_senders();
    return send_one(own_cq.get(), region, memory);
  }
  Owned<ibv_mr> registered(ibv_pd* pd, std::array<std::uint8_t, kBytes>& memory) {
    const int access = IBV_ACCESS_LOCAL_WRITE;
    return own(ibv_reg_mr(pd, memory.data(), memory.size(), access), "ibv_reg_mr");
  }
  void expect_message(const ibv_wc& wc, const std::array<std::uint8_t, kBytes>& memory) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, 42u);
    EXPECT_EQ(wc.byte_len, kBytes);
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), out.at(0)));
  }

  World receiver_world, sender_world;
  Owned<ibv_cq> send_cq, own_cq;
  Arena out;
  Owned<ibv_qp> send_qp, receive_qp;
  rdma_cm_id* id = nullptr;
};

TEST_F(CreateSrq, WithoutAPdItIsInThatOfTheId) {
  bind(IBV_QPT_RC);
  ibv_srq_init_attr attributes = init();
  ASSERT_EQ(rdma_create_srq(id, nullptr, &attributes), 0);
  EXPECT_EQ(id->srq->pd, id->pd);
  EXPECT_GE(attributes.attr.max_wr, kReceives);
  EXPECT_EQ(id->recv_cq, nullptr) << "a basic SRQ has no CQ";
  std::array<std::uint8_t, kBytes> memory{};
  const Owned<ibv_mr> region = registered(id->pd, memory);
  expect_message(receive_by_rc(id->pd, region.get(), memory), memory);
}

TEST_F(CreateSrq, APdThatIsGivenHoldsItsMemory) {
  bind(IBV_QPT_RC);
  const Owned<ibv_pd> pd = own(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
  ibv_srq_init_attr attributes = init();
  ASSERT_EQ(rdma_create_srq(id, pd.get(), &attributes), 0);
  EXPECT_EQ(id->srq->pd, pd.get());
  std::array<std::uint8_t, kBytes> memory{};
  {
    const Owned<ibv_mr> region = registered(pd.get(), memory);
    expect_message(receive_by_rc(pd.get(), region.get(), memory), memory);
  }
  const Owned<ibv_mr> others = registered(id->pd, memory);
  EXPECT_EQ(receive_by_rc(pd.get(), others.get(), memory).status, IBV_WC_LOC_PROT_ERR) << "a region of the ID's PD";
  receive_qp.reset();
  rdma_destroy_srq(id);
}

TEST_F(CreateSrq, AnXrcReceiveIdHasAnXrcSrqWithACqAndChannelOfItsOwn) {
  bind(IBV_QPT_XRC_RECV);
  ibv_srq_init_attr_ex attributes{};
  attributes.attr = {kReceives, 1, 0};
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  const auto files = open_files();
  ASSERT_EQ(rdma_create_srq_ex(id, &attributes), 0);
  ASSERT_NE(attributes.xrcd, nullptr) << "was opened";
  ASSERT_NE(id->recv_cq, nullptr);
  EXPECT_EQ(attributes.cq, id->recv_cq);
  EXPECT_EQ(id->recv_cq->channel, id->recv_cq_channel);
  EXPECT_GE(id->recv_cq->cqe, static_cast<int>(kReceives));
  EXPECT_EQ(open_files(), files + 1) << "the channel";
  unsigned srqn = 0;
  ASSERT_EQ(ibv_get_srq_num(id->srq, &srqn), 0);

  ibv_qp_init_attr_ex target{};
  target.qp_type = IBV_QPT_XRC_RECV;
  target.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  target.xrcd = attributes.xrcd;
  receive_qp = make(id->verbs, target);
  ibv_qp_init_attr_ex initiator{};
  initiator.qp_type = IBV_QPT_XRC_SEND;
  initiator.comp_mask = IBV_QP_INIT_ATTR_PD;
  initiator.send_cq = send_cq.get();
  initiator.pd = sender_world.pd.get();
  send_qp = make(sender_world.context.get(), initiator);
  connect_senders();
  std::array<std::uint8_t, kBytes> memory{};
  const Owned<ibv_mr> region = registered(id->pd, memory);
  must(ibv_req_notify_cq(id->recv_cq, 0), "ibv_req_notify_cq");
  expect_message(send_one(id->recv_cq, region.get(), memory, srqn), memory);
  ibv_cq* notified = nullptr;
  void* context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(id->recv_cq_channel, &notified, &context), 0);
  EXPECT_EQ(notified, id->recv_cq);
  EXPECT_EQ(context, id);
  ibv_ack_cq_events(notified, 1);
}

TEST_F(CreateSrq, TheIdsTypeChoosesTheSrqs) {
  bind(IBV_QPT_XRC_RECV);
  ibv_srq_init_attr attributes = init();
  ASSERT_EQ(rdma_create_srq(id, nullptr, &attributes), 0);
  unsigned srqn = 0;
  EXPECT_EQ(ibv_get_srq_num(id->srq, &srqn), 0) << "an XRC SRQ has a number";
  EXPECT_NE(id->recv_cq, nullptr);
  EXPECT_EQ(id->srq->pd, id->pd);
}

TEST_F(CreateSrq, WhereItFailsItsCqAndChannelAreGone) {
  bind(IBV_QPT_XRC_RECV);
  const auto files = open_files();
  ibv_srq_init_attr attributes = init(1 << 20);  // SGEs
  errno = 0;
  EXPECT_EQ(rdma_create_srq(id, nullptr, &attributes), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(id->srq, nullptr);
  EXPECT_EQ(id->recv_cq, nullptr);
  EXPECT_EQ(id->recv_cq_channel, nullptr);
  EXPECT_EQ(open_files(), files);
  attributes = init();
  EXPECT_EQ(rdma_create_srq(id, nullptr, &attributes), 0);
}

TEST_F(CreateSrq, AnIdWithoutADeviceHasNone) {
  ASSERT_EQ(rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), 0);
  ibv_srq_init_attr attributes = init();
  errno = 0;
  EXPECT_EQ(rdma_create_srq(id, nullptr, &attributes), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(id->srq, nullptr);
}

}  // namespace
}  // namespace rxnic::live
