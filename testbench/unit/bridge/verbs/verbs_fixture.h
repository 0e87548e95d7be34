// SPDX-License-Identifier: Apache-2.0
// The data path of bridge/verbs without a simulator. There are a context whose mapping is the test's own memory,
// objects made by hand, and the device's side of their queues.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/wait.h"
#include "model/core/completion/cqe_format.h"
#include "model/core/receive_queue/wqe_format.h"
#include "model/core/requester/send_wqe_format.h"

namespace rxnic::verbs {

class VerbsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kHeapBytes = std::size_t{4} << 20;

  VerbsTest() {
    context.mapping = mmap(nullptr, channel::kHeapOffset + kHeapBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    heap_ = static_cast<std::uint8_t*>(context.mapping) + channel::kHeapOffset;
    std::strcpy(device.device.name, "rxnic0");
    context.device = &device;
    context.wake_fd = eventfd(0, EFD_NONBLOCK);
    EXPECT_EQ(pipe(async_events), 0);
    context.verbs.context.async_fd = async_events[0];
    context.verbs.context.cmd_fd = -1;
    context.attributes.timestamp_period_ps = 2325;
    context.attributes.core_clock_khz = 1'000'000;
    made_progress();
  }
  ~VerbsTest() override {
    munmap(context.mapping, channel::kHeapOffset + kHeapBytes);
    for (const int fd : {context.wake_fd, async_events[0], async_events[1]}) {
      if (fd >= 0) close(fd);
    }
  }

  Cq& make_cq(std::uint32_t slots, std::uint32_t cqe_bytes = 64) {
    Cq& cq = *cqs_.emplace_back(std::make_unique<Cq>());
    cq.cq.context = public_context();
    cq.number = static_cast<std::uint32_t>(cqs_.size());
    cq.doorbell = cq.number;
    cq.slots = slots;
    cq.cqe_bytes = cqe_bytes;
    cq.ring = ring(slots * cqe_bytes, 0xff);
    cq.wc_flags = IBV_CREATE_CQ_SUP_WC_FLAGS;
    EXPECT_EQ(set_up_cq_ex(cq), 0);
    context.cqs.set(cq.number, &cq);
    produced_.resize(cqs_.size() + 1);
    return cq;
  }

  Srq& make_srq(std::uint32_t slots, bool linked_list, std::uint32_t max_sge = 3) {
    Srq& srq = *srqs_.emplace_back(std::make_unique<Srq>());
    srq.srq.context = public_context();
    srq.number = 500 + static_cast<std::uint32_t>(srqs_.size());
    srq.doorbell = 50 + static_cast<std::uint32_t>(srqs_.size());
    srq.slots = slots;
    srq.max_wr = linked_list ? slots - 1 : slots;
    srq.max_sge = max_sge;
    srq.linked_list = linked_list;
    srq.stride = stride_for(linked_list ? WqLayout::kLinkedList : WqLayout::kCyclic, max_sge);
    srq.ring = ring(slots * srq.stride, 0);
    EXPECT_TRUE(allocate_bookkeeping(srq));
    context.srqs.set(srq.number, &srq);
    return srq;
  }

  Qp& make_qp(ibv_qp_type type, Cq& send_cq, Cq& receive_cq, Srq* srq = nullptr, std::uint32_t slots = 8) {
    Qp& qp = *qps_.emplace_back(std::make_unique<Qp>());
    ibv_qp& base = qp.qp.qp_base;
    base.context = public_context();
    base.qp_num = 0x100 + static_cast<std::uint32_t>(qps_.size());
    base.qp_type = type;
    base.state = IBV_QPS_RTS;
    base.send_cq = ibv_cq_ex_to_cq(&send_cq.cq);
    base.recv_cq = ibv_cq_ex_to_cq(&receive_cq.cq);
    base.srq = srq == nullptr ? nullptr : &srq->srq;
    qp.send.slots = slots;
    qp.send.max_sge = 3;
    qp.send.max_inline = 64;
    if (type == IBV_QPT_UD || type == IBV_QPT_RAW_PACKET) qp.send.max_tso_header = 100;
    qp.send.stride = 256;
    qp.send.doorbell = static_cast<std::uint32_t>(qps_.size());
    qp.send.ring = ring(slots * qp.send.stride, 0xa5);
    if (srq == nullptr) {
      qp.receive.slots = slots;
      qp.receive.max_sge = 3;
      qp.receive.stride = 64;
      qp.receive.doorbell = 100 + static_cast<std::uint32_t>(qps_.size());
      qp.receive.ring = ring(slots * qp.receive.stride, 0xa5);
    }
    EXPECT_TRUE(allocate_bookkeeping(qp));
    context.qps.set(base.qp_num, &qp);
    return qp;
  }

  // The device's side.
  void write_cqe(Cq& cq, const Cqe& cqe) {
    std::uint32_t& index = produced_[cq.number];
    write_slot(cqe, index, cq.slots, cq.cqe_bytes, cq.ring + std::size_t{index % cq.slots} * cq.cqe_bytes);
    ++index;
    header().completions.fetch_add(1);
  }
  std::uint32_t& produced(const Cq& cq) { return produced_[cq.number]; }
  std::span<std::uint8_t> wqe(const SendQueue& queue, std::uint32_t index) {
    return {queue.ring + std::size_t{index % queue.slots} * queue.stride, queue.stride};
  }
  SendWqe parsed(const Qp& qp, std::uint32_t index, Transport transport) {
    SendWqe out;
    EXPECT_EQ(parse_send_wqe(wqe(qp.send, index), transport, 4096, out), WcStatus::kSuccess);
    return out;
  }
  static ReceiveWqe parsed(const std::uint8_t* ring, std::uint32_t slot, std::uint32_t stride, WqLayout layout) {
    ReceiveWqe out;
    EXPECT_TRUE(parse_wqe({ring + std::size_t{slot} * stride, stride}, layout, slot, out));
    return out;
  }
  std::uint64_t doorbell(channel::Board board, std::uint32_t record) {
    return channel::board(context.mapping, board).value[record].load();
  }
  // Doorbells of a board that were rung since the last call.
  std::vector<std::uint64_t> rung(channel::Board board) {
    std::vector<std::uint64_t> values;
    channel::take_rung(channel::board(context.mapping, board), channel::kDoorbells,
                       [&](std::uint32_t, std::uint64_t value) { values.push_back(value); });
    return values;
  }
  channel::MappingHeader& header() { return *static_cast<channel::MappingHeader*>(context.mapping); }
  void kill_simulator() {
    close(async_events[1]);
    async_events[1] = -1;
  }

  static Cqe send_cqe(const Qp& qp, std::uint32_t slot, CqeOpcode opcode = CqeOpcode::kSend) {
    Cqe cqe;
    cqe.qp_number = qp.qp.qp_base.qp_num;
    cqe.wqe_index = slot;
    cqe.opcode = opcode;
    return cqe;
  }
  static Cqe receive_cqe(const Qp& qp, std::uint32_t slot, const Srq* srq = nullptr) {
    Cqe cqe = send_cqe(qp, slot, CqeOpcode::kReceive);
    if (srq != nullptr) {
      cqe.flags = kCqeSrq;
      cqe.srq_number = srq->number;
    }
    return cqe;
  }

  // The program's side.
  int send(Qp& qp, std::uint64_t wr_id, unsigned int flags = IBV_SEND_SIGNALED) {
    ibv_sge sge{0x1000, 64, 0x77};
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = flags;
    ibv_send_wr* bad = nullptr;
    return post_send(&qp.qp.qp_base, &wr, &bad);
  }
  static ibv_recv_wr receive_wr(std::uint64_t wr_id, ibv_sge* sge) {
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = sge;
    wr.num_sge = 1;
    return wr;
  }
  int receive(Qp& qp, std::uint64_t wr_id) {
    ibv_sge sge{wr_id * 0x1000, 64, 0x77};
    ibv_recv_wr wr = receive_wr(wr_id, &sge);
    ibv_recv_wr* bad = nullptr;
    return post_recv(&qp.qp.qp_base, &wr, &bad);
  }
  int receive(Srq& srq, std::uint64_t wr_id) {
    ibv_sge sge{wr_id * 0x1000, 64, 0x77};
    ibv_recv_wr wr = receive_wr(wr_id, &sge);
    ibv_recv_wr* bad = nullptr;
    return post_srq_recv(&srq.srq, &wr, &bad);
  }
  std::vector<ibv_wc> poll(Cq& cq, int entries = 64) {
    std::vector<ibv_wc> wcs(static_cast<std::size_t>(entries));
    const int found = poll_cq(ibv_cq_ex_to_cq(&cq.cq), entries, wcs.data());
    last_poll = found;
    wcs.resize(found < 0 ? 0 : static_cast<std::size_t>(found));
    return wcs;
  }

  ibv_context* public_context() { return &context.verbs.context; }
  std::uint8_t* ring(std::size_t bytes, int fill) {
    std::uint8_t* at = heap_ + used_;
    used_ += (bytes + 63) / 64 * 64;
    EXPECT_LE(used_, kHeapBytes);
    std::memset(at, fill, bytes);
    return at;
  }

  Device device;
  Context context;
  int async_events[2] = {-1, -1};
  int last_poll = 0;

 private:
  std::uint8_t* heap_ = nullptr;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<Cq>> cqs_;
  std::vector<std::unique_ptr<Srq>> srqs_;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::vector<std::uint32_t> produced_{0};
};

}  // namespace rxnic::verbs
