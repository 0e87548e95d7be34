// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/endless_kinds.h"

#include <infiniband/tm_types.h>

#include <cstring>

namespace rxnic::live {
namespace {

constexpr std::uint64_t kTags = 4, kReceives = 16;
constexpr std::size_t kMessage = 2 * kPage, kStride = 3 * kPage;  // of messages at most; from buffer to buffer

class TagServer {
 public:
  TagServer(const World& world, Meeting& meeting) : arena_(world, (kTags + kReceives) * kStride) {
    ibv_cq_init_attr_ex init{};
    init.cqe = 256;
    init.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    cq_ = ibv_create_cq_ex(world.context.get(), &init);
    must(cq_ == nullptr ? -1 : 0, "ibv_create_cq_ex");
    ibv_srq_init_attr_ex queue{};
    queue.attr = {kReceives, 1, 0};
    queue.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    queue.srq_type = IBV_SRQT_TM;
    queue.pd = world.pd.get();
    queue.cq = ibv_cq_ex_to_cq(cq_);
    queue.tm_cap = {2 * kTags, 64};
    srq_ = own(ibv_create_srq_ex(world.context.get(), &queue), "ibv_create_srq_ex");
    QpShape shape;
    shape.srq = srq_.get();
    shape.wrs = shape.inline_bytes = 0;
    qp_ = make_qp(world, ibv_cq_ex_to_cq(cq_), ibv_cq_ex_to_cq(cq_), shape);
    for (std::uint64_t n = 0; n < kReceives; ++n) receive(n);
    for (std::uint64_t tag = 0; tag < kTags; ++tag) add(tag);
    connect(qp_.get(), world, meeting);
    wait_until_ready(meeting);
  }
  void run() {
    for (;;) {
      ibv_poll_cq_attr attr{};
      while (ibv_start_poll(cq_, &attr) != 0) {
      }
      require(cq_->status);
      const ibv_wc_opcode opcode = ibv_wc_read_opcode(cq_);
      const unsigned flags = ibv_wc_read_wc_flags(cq_);
      const std::uint64_t id = cq_->wr_id;
      ibv_end_poll(cq_);
      if (opcode == IBV_WC_TM_NO_TAG) {
        receive(id);
      } else if (opcode == IBV_WC_TM_RECV && (flags & (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)) == 0) {
        ++unexpected_;
        receive(id);
        operate(IBV_WR_TAG_SYNC, {});
      } else if (opcode == IBV_WC_TM_RECV && (flags & IBV_WC_TM_DATA_VALID) != 0) {
        add(id);
      }
    }
  }

 private:
  void receive(std::uint64_t n) {
    Sges list{arena_.sge((kTags + n) * kStride, kStride)};
    post_receive(srq_.get(), list, n);
  }
  void add(std::uint64_t tag) {
    ibv_sge buffer = arena_.sge(tag * kStride, kMessage);
    operate(IBV_WR_TAG_ADD, {tag, &buffer, 1, tag, ~std::uint64_t{0}});
  }
  void operate(ibv_ops_wr_opcode opcode, decltype(ibv_ops_wr{}.tm.add) entry) {
    ibv_ops_wr wr{}, *bad = nullptr;
    wr.opcode = opcode;
    wr.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
    wr.tm.unexpected_cnt = unexpected_;
    wr.tm.add = entry;
    must(ibv_post_srq_ops(srq_.get(), &wr, &bad), "ibv_post_srq_ops");
  }

  Arena arena_;
  ibv_cq_ex* cq_ = nullptr;
  Owned<ibv_srq> srq_;
  Owned<ibv_qp> qp_;
  std::uint32_t unexpected_ = 0;  // messages that this has seen
};

class TagClient {
 public:
  TagClient(const World& world, Meeting& meeting) : arena_(world, (kMessages + kReceives) * kStride) {
    cq_ = world.cq(256);
    qp_ = make_qp(world, cq_.get(), cq_.get());
    connect(qp_.get(), world, meeting);
    for (std::uint64_t n = 0; n < kReceives; ++n) receive(n);
    wait_until_ready(meeting);
  }
  void run() {
    for (std::uint64_t n = 0; n < kMessages; ++n) send(n);
    for (std::uint64_t next = kMessages;;) {
      const ibv_wc wc = take_good(cq_.get());
      if (wc.opcode == IBV_WC_RECV) {
        receive(wc.wr_id);  // a FIN
      } else {
        send(next++);
      }
    }
  }

 private:
  static constexpr std::uint64_t kMessages = 8;  // under way

  void receive(std::uint64_t n) {
    Sges list{arena_.sge((kMessages + n) * kStride, kPage)};
    post_receive(qp_.get(), list, n);
  }
  void send(std::uint64_t n) {
    const std::size_t at = n % kMessages * kStride, sizes[] = {0, 100, 1024, kMessage};
    std::size_t bytes = sizes[n % std::size(sizes)];
    ibv_tmh tmh{};
    tmh.opcode = n % 7 == 0 ? IBV_TMH_NO_TAG : n % 3 == 0 ? IBV_TMH_RNDV : IBV_TMH_EAGER;
    tmh.tag = htobe64(n % (kTags + 2));
    std::memcpy(arena_.at(at), &tmh, sizeof tmh);
    if (tmh.opcode == IBV_TMH_RNDV) {
      const ibv_rvh rvh{htobe64(arena_.address(0)), htobe32(arena_.region->rkey),
                        htobe32(static_cast<std::uint32_t>(bytes))};
      std::memcpy(arena_.at(at + sizeof tmh), &rvh, sizeof rvh);
      bytes = sizeof rvh;
    }
    Sges list{arena_.sge(at, sizeof tmh + bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, n);
    post(qp_.get(), wr);
  }

  Arena arena_;
  Owned<ibv_cq> cq_;
  Owned<ibv_qp> qp_;
};

}  // namespace

void exchange_tags(const World& world, Meeting& meeting, bool is_server) {
  is_server ? TagServer(world, meeting).run() : TagClient(world, meeting).run();
}

}  // namespace rxnic::live
