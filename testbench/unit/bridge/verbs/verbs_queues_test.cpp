// SPDX-License-Identifier: Apache-2.0
// Creation, modification and destruction of CQs, SRQs and QPs: the requests that the simulator gets.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "bridge/verbs/data_path.h"
#include "testbench/unit/bridge/verbs/verbs_control_fixture.h"

namespace rxnic::verbs::verbs_queues_test {
namespace {

class VerbsQueues : public VerbsControlTest {
 protected:
  VerbsQueues() { cq = create_cq(context, 100, &cq, nullptr, 0); }
  ~VerbsQueues() override {
    if (cq != nullptr) destroy_cq(cq);
  }
  ibv_srq* make_srq(std::uint32_t max_wr, std::uint32_t max_sge) {
    ibv_srq_init_attr a{};
    a.attr = {max_wr, max_sge, 99};
    return create_srq(pd, &a);
  }
  ibv_cq* cq = nullptr;
};

TEST_F(VerbsQueues, CqIsAPowerOfTwoFilledWithOnes) {
  EXPECT_EQ(cq->cqe, 128);
  const channel::CompletionQueue q = asked(Request::kCreateCq).cq;
  EXPECT_EQ(q.slots, 128u);
  EXPECT_EQ(q.channel, 0u);
  const auto* ring = static_cast<const std::uint8_t*>(context_of(context).mapping) + q.ring;
  EXPECT_TRUE(std::all_of(ring, ring + 128 * 64, [](std::uint8_t b) { return b == 0xff; }));
}

TEST_F(VerbsQueues, CqRefusals) {
  const auto refused = [&](int cqes, int vector) {
    errno = 0;
    EXPECT_EQ(create_cq(context, cqes, nullptr, nullptr, vector), nullptr);
    return errno;
  };
  EXPECT_EQ(refused(0, 0), EINVAL);
  EXPECT_EQ(refused(-1, 0), EINVAL);
  EXPECT_EQ(refused((1 << 16) + 1, 0), EINVAL);
  EXPECT_EQ(refused(1, 1), EINVAL);
  EXPECT_EQ(refused(1, -1), EINVAL);
}

TEST_F(VerbsQueues, ExtendedCqChecksItsMasks) {
  ibv_cq_init_attr_ex a{};
  a.cqe = 10;
  a.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* ex = create_cq_ex(context, &a);
  ASSERT_NE(ex, nullptr);
  EXPECT_NE(ex->read_completion_ts, nullptr);
  EXPECT_EQ(destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
  a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  a.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  ex = create_cq_ex(context, &a);
  ASSERT_NE(ex, nullptr);
  EXPECT_EQ(asked(Request::kCreateCq).cq.ignore_overrun, 1u);
  EXPECT_EQ(destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
  a.flags = 1u << 20;
  EXPECT_EQ(create_cq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  a.comp_mask = 1u << 20;
  EXPECT_EQ(create_cq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(VerbsQueues, ChannelInUseIsBusy) {
  ibv_comp_channel* channel = create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  EXPECT_GE(fcntl(simulator.descriptor(channel::kMaxDescriptors), F_GETFL) & O_NONBLOCK, 1);
  ibv_cq* with = create_cq(context, 4, nullptr, channel, 0);
  EXPECT_EQ(asked(Request::kCreateCq).cq.channel, channel_of(channel).number);
  EXPECT_EQ(destroy_comp_channel(channel), EBUSY);
  EXPECT_EQ(destroy_cq(with), 0);
  EXPECT_EQ(destroy_comp_channel(channel), 0);
}

TEST_F(VerbsQueues, DestructionWaitsForAcknowledgedEvents) {
  ibv_comp_channel* channel = create_comp_channel(context);
  ibv_cq* with = create_cq(context, 4, nullptr, channel, 0);
  const channel::EventRecord record{channel::EventKind::kCompletion, cq_of(with).number};
  ASSERT_EQ(write(simulator.descriptor(channel::kMaxDescriptors), &record, sizeof record), ssize_t{sizeof record});
  ibv_cq* cq_of_event = nullptr;
  void* event_context = nullptr;
  ASSERT_EQ(get_cq_event(channel, &cq_of_event, &event_context), 0);
  EXPECT_EQ(cq_of_event, with);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    EXPECT_EQ(destroy_cq(with), 0);
    destroyed = true;
  });
  while (simulator.asked(Request::kFreeCq).empty()) std::this_thread::yield();
  EXPECT_FALSE(destroyed);
  ack_cq_events(with, 1);
  destroyer.join();
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(destroy_comp_channel(channel), 0);
}

TEST_F(VerbsQueues, ResizeMovesToARingFilledWithOnes) {
  const std::uint64_t before = asked(Request::kCreateCq).cq.ring;
  EXPECT_EQ(resize_cq(cq, 1000), 0);
  EXPECT_EQ(cq->cqe, 1024);
  const channel::CompletionQueue q = asked(Request::kResizeCq).cq;
  EXPECT_NE(q.ring, before);
  EXPECT_EQ(q.slots, 1024u);
  EXPECT_EQ(cq_of(cq).ring, static_cast<std::uint8_t*>(context_of(context).mapping) + q.ring);
  EXPECT_EQ(cq_of(cq).ring[1024 * 64 - 1], 0xff);
  refuse(Request::kResizeCq, EINVAL);
  EXPECT_EQ(resize_cq(cq, 1), EINVAL);
  EXPECT_EQ(cq->cqe, 1024) << "nothing has changed";
}

TEST_F(VerbsQueues, LinkedListSrqHoldsOneLessThanItsSlots) {  // srq_control.cpp R1, R2
  ibv_srq_init_attr a{};
  a.attr = {64, 3, 99};
  ibv_srq* srq = create_srq(pd, &a);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(a.attr.max_wr, 127u);
  EXPECT_EQ(a.attr.max_sge, 3u);
  const channel::SharedReceiveQueue q = asked(Request::kCreateSrq).srq;
  EXPECT_EQ(q.slots, 128u);
  EXPECT_EQ(q.stride, 64u) << "next segment and three data segments";
  EXPECT_EQ(q.limit, 0u) << "srq_limit is ignored at creation";
  EXPECT_EQ(destroy_srq(srq), 0);
}

TEST_F(VerbsQueues, CyclicSrqHoldsAsManyAsItsSlots) {  // srq_control.cpp R1, R2
  context_of(context).attributes.srq_linked_list = 0;
  for (const auto& [asked_wrs, slots] : {std::pair{1u, 2u}, {2u, 2u}, {3u, 4u}, {64u, 64u}}) {
    ibv_srq_init_attr a{};
    a.attr = {asked_wrs, 1, 0};
    ibv_srq* srq = create_srq(pd, &a);
    ASSERT_NE(srq, nullptr);
    EXPECT_EQ(a.attr.max_wr, slots);
    EXPECT_EQ(asked(Request::kCreateSrq).srq.slots, slots);
    ibv_srq_attr limit{0, 0, slots};
    EXPECT_EQ(modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
    limit.srq_limit = slots + 1;
    EXPECT_EQ(modify_srq(srq, &limit, IBV_SRQ_LIMIT), EINVAL);
    EXPECT_EQ(destroy_srq(srq), 0);
  }
}

TEST_F(VerbsQueues, NoQueueIsReportedLargerThanTheDeviceAllows) {
  channel::DeviceAttributes& device = context_of(context).attributes;
  device.max_qp_wrs = device.max_cqes = device.max_srq_wrs = device.max_tag_operations = 1000;  // no power of two
  device.max_tags = 1;
  ibv_cq* const large = create_cq(context, 1000, nullptr, nullptr, 0);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->cqe, 1000);
  EXPECT_EQ(asked(Request::kCreateCq).cq.slots, 1024u);
  EXPECT_EQ(resize_cq(cq, 1000), 0);
  EXPECT_EQ(cq->cqe, 1000);
  ibv_qp_init_attr q = qp_attributes(cq);
  q.cap.max_send_wr = q.cap.max_recv_wr = 1000;
  ibv_qp* const qp = create_qp(pd, &q);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(q.cap.max_send_wr, 1000u);
  EXPECT_EQ(q.cap.max_recv_wr, 1000u);
  ibv_srq_init_attr s{};
  s.attr = {1000, 1, 0};
  ibv_srq* const srq = create_srq(pd, &s);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(s.attr.max_wr, 1000u);
  ibv_srq_attr limit{0, 0, 1001};
  EXPECT_EQ(modify_srq(srq, &limit, IBV_SRQ_LIMIT), EINVAL);
  ibv_srq_init_attr_ex t{};
  t.attr = {10, 1, 0};
  t.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  t.srq_type = IBV_SRQT_TM;
  t.pd = pd;
  t.cq = cq;
  t.tm_cap = {1, 1000};
  ibv_srq* const tagged = create_srq_ex(context, &t);
  ASSERT_NE(tagged, nullptr);
  EXPECT_EQ(t.tm_cap.max_ops, 1000u);
  EXPECT_EQ(destroy_srq(tagged), 0);
  EXPECT_EQ(destroy_srq(srq), 0);
  EXPECT_EQ(destroy_qp(qp), 0);
  EXPECT_EQ(destroy_cq(large), 0);
}

TEST_F(VerbsQueues, SrqRefusals) {
  for (const auto& [wr, sge] : {std::pair{0u, 1u}, {16385u, 1u}, {1u, 33u}}) {
    errno = 0;
    EXPECT_EQ(make_srq(wr, sge), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  ibv_srq_init_attr_ex a{};
  a.attr = {8, 1, 0};
  a.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  EXPECT_EQ(create_srq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL) << "no PD";
  a.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
  a.pd = pd;
  a.srq_type = IBV_SRQT_XRC;
  EXPECT_EQ(create_srq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL) << "no CQ and no domain";
  a.srq_type = IBV_SRQT_TM;
  EXPECT_EQ(create_srq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL) << "no CQ and no size of its tag list";
  a.comp_mask |= 1u << 20;
  EXPECT_EQ(create_srq_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

// A file's number may be another's when nobody has the file open any more.
TEST_F(VerbsQueues, AnXrcDomainKeepsItsFileOpen) {
  const int fd = memfd_create("domain", 0);
  struct stat file {};
  ASSERT_EQ(fstat(fd, &file), 0);
  const auto descriptors = [&] {  // of it, in this process
    int count = 0;
    for (int n = 0; n < 1024; ++n) {
      struct stat other {};
      count += fstat(n, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino;
    }
    return count;
  };
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = fd;
  domain.oflags = O_CREAT;
  ibv_xrcd* const xrcd = open_xrcd(context, &domain);
  ASSERT_NE(xrcd, nullptr);
  close(fd);
  EXPECT_EQ(descriptors(), 2) << "the library's, and the one that the simulator was sent";
  EXPECT_EQ(close_xrcd(xrcd), 0);
  EXPECT_EQ(descriptors(), 1);
  domain.fd = fd;
  EXPECT_EQ(open_xrcd(context, &domain), nullptr);
  EXPECT_EQ(errno, EBADF);
}

// A QP without a send queue has no doorbell record: there are as many as ever afterwards.
TEST_F(VerbsQueues, QpsWithoutASendQueueTakeNoDoorbellRecord) {
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  ibv_xrcd* const xrcd = open_xrcd(context, &domain);
  ASSERT_NE(xrcd, nullptr);
  ibv_qp_init_attr_ex a{};
  a.qp_type = IBV_QPT_XRC_RECV;
  a.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  a.xrcd = xrcd;
  a.cap.max_inline_data = ~0u;  // nobody looks at it
  for (std::uint32_t n = 0; n < channel::kDoorbells + 1; ++n) {
    ibv_qp* const qp = create_qp_ex(context, &a);
    ASSERT_NE(qp, nullptr) << n;
    ASSERT_EQ(destroy_qp(qp), 0) << n;
  }
  EXPECT_EQ(close_xrcd(xrcd), 0);
}

// librdmacm takes an ID's PD from there. The QP does not hold it, and the device does not know of it.
TEST_F(VerbsQueues, AnXrcTargetShowsThePdThatItWasGiven) {  // qp_creation.cpp R3
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  ibv_xrcd* const xrcd = open_xrcd(context, &domain);
  ibv_pd* const other = alloc_pd(context);
  ASSERT_TRUE(xrcd != nullptr && other != nullptr);
  ibv_qp_init_attr_ex a{};
  a.qp_type = IBV_QPT_XRC_RECV;
  a.xrcd = xrcd;
  a.pd = other;
  for (const int mask : {int{IBV_QP_INIT_ATTR_XRCD}, IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD}) {
    a.comp_mask = static_cast<std::uint32_t>(mask);
    ibv_qp* const qp = create_qp_ex(context, &a);
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(qp->pd, (mask & IBV_QP_INIT_ATTR_PD) != 0 ? other : nullptr);
    EXPECT_EQ(asked(Request::kCreateQp).qp.pd, 0u);
    EXPECT_EQ(destroy_qp(qp), 0);
  }
  EXPECT_EQ(dealloc_pd(other), 0);
  EXPECT_EQ(close_xrcd(xrcd), 0);
}

TEST_F(VerbsQueues, SrqLimitIsArmedAndSizeIsNot) {  // srq_control.cpp R3
  ibv_srq* srq = make_srq(10, 1);
  ibv_srq_attr a{0, 0, 7};
  EXPECT_EQ(modify_srq(srq, &a, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(asked(Request::kModifySrq).srq.limit, 7u);
  a.max_wr = 20;
  EXPECT_EQ(modify_srq(srq, &a, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(simulator.asked(Request::kModifySrq).size(), 1u) << "all or nothing";
  a.srq_limit = 16;
  EXPECT_EQ(modify_srq(srq, &a, IBV_SRQ_LIMIT), EINVAL) << "more than it holds";
  EXPECT_EQ(query_srq(srq, &a), 0);
  EXPECT_EQ(a.max_wr, 15u);
  EXPECT_EQ(destroy_srq(srq), 0);
}

TEST_F(VerbsQueues, QpCapabilitiesComeBackAsTheyAre) {  // qp_creation.cpp R1
  ibv_qp_init_attr a = qp_attributes(cq);
  a.cap = {100, 50, 2, 5, 90};
  ibv_qp* qp = create_qp(pd, &a);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(a.cap.max_send_wr, 128u);
  EXPECT_EQ(a.cap.max_recv_wr, 64u);
  EXPECT_GE(a.cap.max_inline_data, 90u);
  const channel::QueuePair q = asked(Request::kCreateQp).qp;
  EXPECT_EQ(q.send_slots, 128u);
  EXPECT_EQ(q.send_stride, 256u) << "64 and 90 bytes";
  EXPECT_EQ(q.receive_slots, 64u);
  EXPECT_EQ(q.receive_stride, 128u) << "five data segments";
  EXPECT_EQ(q.send_cq, cq_of(cq).number);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(qp_to_qp_ex(qp), nullptr);
  EXPECT_EQ(destroy_cq(cq), EBUSY);
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, TheHeaderOfSegmentsHasItsPlace) {
  ibv_qp_init_attr_ex a{};
  a.qp_type = IBV_QPT_UD;
  a.send_cq = a.recv_cq = cq;
  a.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  a.pd = pd;
  for (const auto& [header, sges, stride] : {std::array{0u, 4u, 128u},
                                             {1u, 4u, 256u},
                                             {128u, 4u, 256u},
                                             {129u, 4u, 512u},
                                             {kMaxTsoHeaderBytes, 32u, 1024u}}) {
    a.cap.max_send_sge = sges;
    a.max_tso_header = static_cast<std::uint16_t>(header);
    ibv_qp* const qp = create_qp_ex(context, &a);
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(asked(Request::kCreateQp).qp.send_stride, stride) << header;
    EXPECT_EQ(qp_of(qp).send.max_tso_header, header);
    EXPECT_EQ(destroy_qp(qp), 0);
  }
  a.max_tso_header = kMaxTsoHeaderBytes + 1;
  EXPECT_EQ(create_qp_ex(context, &a), nullptr);
  EXPECT_EQ(errno, EINVAL);
  a.qp_type = IBV_QPT_RC;
  a.max_tso_header = 1;
  EXPECT_EQ(create_qp_ex(context, &a), nullptr) << "RC has no TSO";
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(VerbsQueues, QpWithAnSrqHasNoReceiveQueue) {
  ibv_srq* srq = make_srq(10, 1);
  ibv_qp_init_attr a = qp_attributes(cq, srq);
  a.cap.max_recv_wr = 1u << 30;  // ignored
  ibv_qp* qp = create_qp(pd, &a);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(a.cap.max_recv_wr, 0u);
  const channel::QueuePair q = asked(Request::kCreateQp).qp;
  EXPECT_EQ(q.has_srq, 1u);
  EXPECT_EQ(q.srqn, srq_of(srq).number);
  EXPECT_EQ(q.receive_slots, 0u);
  EXPECT_EQ(destroy_srq(srq), EBUSY);
  EXPECT_EQ(destroy_qp(qp), 0);
  EXPECT_EQ(destroy_srq(srq), 0);
}

TEST_F(VerbsQueues, QpRefusals) {
  const auto refused = [&](ibv_qp_init_attr a) {
    errno = 0;
    EXPECT_EQ(create_qp(pd, &a), nullptr);
    return errno;
  };
  ibv_qp_init_attr a = qp_attributes(cq);
  a.cap.max_send_wr = 16385;
  EXPECT_EQ(refused(a), EINVAL);
  a = qp_attributes(cq);
  a.cap.max_recv_sge = 33;
  EXPECT_EQ(refused(a), EINVAL);
  a = qp_attributes(cq);
  a.cap.max_inline_data = 961;
  EXPECT_EQ(refused(a), EINVAL);
  a = qp_attributes(cq);
  a.recv_cq = nullptr;
  EXPECT_EQ(refused(a), EINVAL);
  EXPECT_EQ(refused(qp_attributes(cq, nullptr, IBV_QPT_DRIVER)), EOPNOTSUPP);
  ibv_qp_init_attr_ex ex{};
  ex.qp_type = IBV_QPT_RC;
  ex.send_cq = ex.recv_cq = cq;
  ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  ex.pd = pd;
  ex.create_flags = IBV_QP_CREATE_SCATTER_FCS;
  EXPECT_EQ(create_qp_ex(context, &ex), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ex.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  EXPECT_EQ(create_qp_ex(context, &ex), nullptr);
  EXPECT_EQ(errno, EINVAL) << "no PD";
}

TEST_F(VerbsQueues, ExtendedQpHasItsFunctions) {
  ibv_qp_init_attr_ex ex{};
  ex.qp_type = IBV_QPT_RC;
  ex.send_cq = ex.recv_cq = cq;
  ex.cap = {4, 4, 1, 1, 0};
  ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  ex.pd = pd;
  ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* qp = create_qp_ex(context, &ex);
  ASSERT_NE(qp, nullptr);
  ASSERT_NE(qp_to_qp_ex(qp), nullptr);
  EXPECT_NE(qp_to_qp_ex(qp)->wr_send, nullptr);
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, ModifyPassesWhatTheMaskSelectsAndResolvesThePath) {  // qp_control.cpp R1
  ibv_qp_init_attr init = qp_attributes(cq);
  ibv_qp* qp = create_qp(pd, &init);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = 0x1234;
  a.rq_psn = 0x1abcdef;
  a.timeout = 14;  // not selected
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 1;
  EXPECT_EQ(modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_AV), 0);
  const channel::QpAttributes q = asked(Request::kModifyQp).attributes;
  EXPECT_EQ(q.qpn, qp->qp_num);
  EXPECT_EQ(q.state, static_cast<std::uint32_t>(IBV_QPS_RTR));
  EXPECT_EQ(q.remote_qpn, 0x1234u);
  EXPECT_EQ(q.rq_psn, 0xabcdefu) << "24 bits";
  EXPECT_EQ(q.timeout, 0u);
  EXPECT_EQ(q.path.destination_mac[5], 9);
  EXPECT_EQ(qp->state, IBV_QPS_RTR);
  a.ah_attr.is_global = 0;
  EXPECT_EQ(modify_qp(qp, &a, IBV_QP_AV), EINVAL);
  EXPECT_EQ(modify_qp(qp, &a, IBV_QP_ALT_PATH), EOPNOTSUPP);
  EXPECT_EQ(modify_qp(qp, &a, 1 << 30), EINVAL);
  refuse(Request::kModifyQp, EINVAL);
  a.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(modify_qp(qp, &a, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_RTR) << "nothing has changed";
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, ResetClearsTheDoorbellsBeforeTheDeviceHearsOfIt) {  // qp_control.cpp R2
  ibv_qp_init_attr init = qp_attributes(cq);
  ibv_qp* qp = create_qp(pd, &init);
  void* mapping = context_of(context).mapping;
  auto& send = channel::board(mapping, channel::Board::kSend).value[qp_of(qp).send.doorbell];
  auto& receive = channel::board(mapping, channel::Board::kReceive).value[qp_of(qp).receive.doorbell];
  send = receive = 5;
  std::uint64_t seen = 99;
  simulator.edit_reply = [&](channel::Message& m) {
    if (m.type == Request::kModifyQp) seen = send + receive;
  };
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RESET;
  EXPECT_EQ(modify_qp(qp, &a, IBV_QP_STATE), 0);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, QueryReturnsTheDevicesAttributes) {
  ibv_qp_init_attr init = qp_attributes(cq);
  ibv_qp* qp = create_qp(pd, &init);
  simulator.edit_reply = [](channel::Message& m) {
    if (m.type != Request::kQueryQp) return;
    m.body.attributes.state = IBV_QPS_ERR;
    m.body.attributes.sq_psn = 0x45;
    m.body.attributes.qkey = 0x123;
  };
  ibv_qp_attr a;
  EXPECT_EQ(query_qp(qp, &a, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(a.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(a.sq_psn, 0x45u);
  EXPECT_EQ(a.qkey, 0x123u);
  EXPECT_EQ(a.cap.max_send_wr, 16u);
  EXPECT_EQ(init.send_cq, cq);
  EXPECT_EQ(qp->state, IBV_QPS_ERR);
  simulator.edit_reply = nullptr;
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, FreedQueuesAreUsedAgain) {
  ibv_qp_init_attr init = qp_attributes(cq);
  std::uint64_t ring = 0, doorbell = 0;
  for (int i = 0; i < 3; ++i) {
    ibv_qp* qp = create_qp(pd, &init);
    ASSERT_NE(qp, nullptr);
    const channel::QueuePair q = asked(Request::kCreateQp).qp;
    if (i != 0) {
      EXPECT_EQ(q.send_ring, ring);
      EXPECT_EQ(q.send_doorbell, doorbell);
      EXPECT_EQ(qp_of(qp).send.ring[0], 0) << "its memory was given back";
    }
    ring = q.send_ring;
    doorbell = q.send_doorbell;
    qp_of(qp).send.ring[0] = 1;
    EXPECT_EQ(destroy_qp(qp), 0);
  }
}

TEST_F(VerbsQueues, AFailedCreationLeavesNothing) {
  refuse(Request::kCreateQp, ENOMEM);
  ibv_qp_init_attr init = qp_attributes(cq);
  EXPECT_EQ(create_qp(pd, &init), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  const std::uint64_t ring = asked(Request::kCreateQp).qp.send_ring;
  simulator.edit_reply = nullptr;
  ibv_qp* qp = create_qp(pd, &init);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(asked(Request::kCreateQp).qp.send_ring, ring);
  EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(VerbsQueues, MulticastIsForUd) {
  ibv_qp_init_attr init = qp_attributes(cq, nullptr, IBV_QPT_UD);
  ibv_qp* qp = create_qp(pd, &init);
  ibv_gid group{};
  EXPECT_EQ(attach_mcast(qp, &group, 0), EINVAL) << "no multicast GID";
  group.raw[0] = 0xff;
  EXPECT_EQ(attach_mcast(qp, &group, 0), 0);
  EXPECT_EQ(asked(Request::kAttachMulticast).multicast.gid[0], 0xff);
  EXPECT_EQ(detach_mcast(qp, &group, 0), 0);
  EXPECT_EQ(destroy_qp(qp), 0);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_queues_test
