// SPDX-License-Identifier: Apache-2.0
// Completions of what is posted when the simulator is gone (poll.h R6).
#include <mutex>

#include "bridge/verbs/poll.h"
#include "bridge/verbs/receive_queue.h"
#include "bridge/verbs/send_queue.h"
#include "bridge/verbs/tag_list.h"

namespace rxnic::verbs {

namespace {

bool flush_send(Qp& qp, Completion& out) {
  const std::uint32_t consumer = qp.send.consumer.load(std::memory_order_relaxed);
  if (qp.send.slots == 0 || consumer == qp.send.producer.load(std::memory_order_acquire)) return false;
  const SentWr sent = complete_send(qp.send, consumer);
  out.wr_id = sent.wr_id;
  out.opcode = sent.opcode;
  return true;
}

bool flush_receive(Qp& qp, Completion& out) {
  const std::uint32_t consumer = qp.receive.consumer.load(std::memory_order_relaxed);
  if (qp.receive.slots == 0 || consumer == qp.receive.producer.load(std::memory_order_acquire)) return false;
  out.wr_id = complete_receive(qp.receive, consumer);
  out.opcode = IBV_WC_RECV;
  return true;
}

// Whether the completions of the QP's SRQ come in this CQ.
bool receives_on(const ibv_qp& qp, const Cq& cq) {
  const ibv_cq* const own = srq_of(qp.srq).cq;
  return (own != nullptr ? own : qp.recv_cq) == reinterpret_cast<const ibv_cq*>(&cq);
}

bool flush_srq(Srq& srq, Completion& out) {
  if (srq.tags != nullptr && flush_tag(srq, out.wr_id)) {
    out.cqe.opcode = CqeOpcode::kTagReceive;
    out.opcode = IBV_WC_TM_RECV;
    return true;
  }
  std::uint32_t slot = 0;
  {
    const std::lock_guard guard(srq.lock);
    if (srq.posted == 0) return false;
    while (slot < srq.slots && srq.busy[slot] == 0) ++slot;
    if (slot == srq.slots) return false;
  }
  out.wr_id = complete_receive(srq, slot);
  out.opcode = IBV_WC_RECV;
  return true;
}

}  // namespace

bool next_flushed(Context& context, Cq& cq, Completion& out) {
  bool found = false;
  context.qps.for_each([&](Qp& qp) {
    if (found) return;
    const ibv_qp& base = qp.qp.qp_base;
    out.cqe = {};
    if (base.send_cq == reinterpret_cast<ibv_cq*>(&cq)) found = flush_send(qp, out);
    if (!found && base.recv_cq == reinterpret_cast<ibv_cq*>(&cq)) {
      out.cqe.opcode = CqeOpcode::kReceive;
      found = flush_receive(qp, out);
    }
    if (!found && base.srq != nullptr && receives_on(base, cq)) {
      out.cqe.opcode = CqeOpcode::kReceive;
      found = flush_srq(srq_of(base.srq), out);
    }
    if (!found) return;
    out.cqe.qp_number = base.qp_num;
    out.cqe.status = WcStatus::kFlushed;
    // The model has no name for IBV_WC_FATAL_ERR: no device reports its own death.
    if (!qp.fatal_reported.exchange(true)) out.cqe.status = static_cast<WcStatus>(IBV_WC_FATAL_ERR);
  });
  if (found) return true;
  context.srqs.for_each([&](Srq& srq) {  // no QP refers to them
    if (found || srq.xrcd == nullptr || srq.cq != reinterpret_cast<ibv_cq*>(&cq)) return;
    out.cqe = {};
    out.cqe.opcode = CqeOpcode::kReceive;
    out.cqe.status = WcStatus::kFlushed;
    found = flush_srq(srq, out);
  });
  return found;
}

}  // namespace rxnic::verbs
