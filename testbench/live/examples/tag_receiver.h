// SPDX-License-Identifier: Apache-2.0
// The receiver of tag_matching.cpp: an SRQ with tags on rxnic1, and a QP on it.
#pragma once

#include <infiniband/tm_types.h>

#include "testbench/live/examples/pair.h"

namespace example {

inline constexpr std::size_t kBytes = 4096;  // of a buffer; buffer n lies n * kBytes behind the memory's start

class TagReceiver {
 public:
  TagReceiver() : nic(1) {
    ibv_cq_init_attr_ex cq{};
    cq.cqe = 64;
    cq.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    cq_ = check(ibv_create_cq_ex(nic.context, &cq), "ibv_create_cq_ex");
    ibv_srq_init_attr_ex init{};
    init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    init.srq_type = IBV_SRQT_TM;
    init.pd = nic.pd;
    init.cq = ibv_cq_ex_to_cq(cq_);
    init.attr = {16, 1, 0};  // receives for what matches no tag
    init.tm_cap = {16, 64};  // tags, operations that are under way
    srq_ = check(ibv_create_srq_ex(nic.context, &init), "ibv_create_srq_ex");
    qp = make_qp(nic, ibv_cq_ex_to_cq(cq_), srq_, 0);
    post_receive(srq_, nic.sge(15 * kBytes, kBytes), 15);
  }
  ~TagReceiver() {
    must(ibv_destroy_qp(qp), "ibv_destroy_qp");
    must(ibv_destroy_srq(srq_), "ibv_destroy_srq");
    must(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_)), "ibv_destroy_cq");
  }

  // Buffer `id` waits for a message with (its tag & mask) == tag. Returns the handle by which it is taken back.
  std::uint32_t wait_for(std::uint64_t tag, std::uint64_t mask, std::uint64_t id) {
    ibv_sge sge = nic.sge(id * kBytes, kBytes);
    ibv_ops_wr wr = operation(IBV_WR_TAG_ADD);
    wr.tm.add = {id, &sge, 1, tag, mask};
    post(wr);
    print("wait for tag 0x%llx, mask 0x%llx: buffer %llu", tag, mask, id);
    return wr.tm.handle;
  }
  void take_back(std::uint32_t handle) {
    ibv_ops_wr wr = operation(IBV_WR_TAG_DEL);
    wr.tm.handle = handle;
    post(wr);
  }
  // The NIC lets buffers posted since an unexpected message match only when it knows that the program has seen that
  // message. Otherwise the buffers might overtake the message.
  void synchronize() {
    ibv_ops_wr wr = operation(IBV_WR_TAG_SYNC);
    wr.flags |= IBV_OPS_TM_SYNC;
    wr.tm.unexpected_cnt = unexpected_;
    post(wr);
  }
  void print_next() {
    ibv_poll_cq_attr attr{};
    while (ibv_start_poll(cq_, &attr) != 0) {
    }
    const ibv_wc_opcode opcode = ibv_wc_read_opcode(cq_);
    const unsigned int flags = ibv_wc_read_wc_flags(cq_);
    if (cq_->status != IBV_WC_SUCCESS) {
      std::printf("  %s\n", ibv_wc_status_str(cq_->status));
    } else if (opcode == IBV_WC_TM_RECV && flags == IBV_WC_TM_MATCH) {
      print("  buffer %llu: matched, the NIC reads the message", cq_->wr_id);
    } else if (opcode == IBV_WC_TM_RECV && flags == IBV_WC_TM_DATA_VALID) {
      print("  buffer %llu: %llu bytes", cq_->wr_id, ibv_wc_read_byte_len(cq_));
    } else if (opcode == IBV_WC_TM_RECV && (flags & IBV_WC_TM_MATCH) != 0) {
      ibv_wc_tm_info info{};
      ibv_wc_read_tm_info(cq_, &info);
      print("  buffer %llu: %llu bytes with tag 0x%llx", cq_->wr_id, ibv_wc_read_byte_len(cq_), info.tag);
    } else if (opcode == IBV_WC_TM_RECV) {
      ++unexpected_;
      print("  unexpected: %llu bytes in receive %llu, the header among them", ibv_wc_read_byte_len(cq_), cq_->wr_id);
    } else if (opcode == IBV_WC_TM_DEL) {
      std::puts("  taken back");
    } else if (opcode == IBV_WC_TM_SYNC) {
      print("  the NIC knows of %llu unexpected messages that were seen", unexpected_);
    }
    ibv_end_poll(cq_);
  }

  Nic nic;
  ibv_qp* qp = nullptr;

 private:
  template <class Value, class... Values>
  static void print(const char* format, Value value, Values... values) {
    std::printf(format, static_cast<unsigned long long>(value), static_cast<unsigned long long>(values)...);
    std::puts("");
  }
  static ibv_ops_wr operation(ibv_ops_wr_opcode opcode) {
    ibv_ops_wr wr{};
    wr.opcode = opcode;
    wr.flags = opcode == IBV_WR_TAG_ADD ? 0 : IBV_OPS_SIGNALED;
    return wr;
  }
  void post(ibv_ops_wr& wr) {
    ibv_ops_wr* bad = nullptr;
    must(ibv_post_srq_ops(srq_, &wr, &bad), "ibv_post_srq_ops");
  }

  ibv_cq_ex* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  std::uint32_t unexpected_ = 0;
};

}  // namespace example
