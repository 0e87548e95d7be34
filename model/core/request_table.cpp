// SPDX-License-Identifier: Apache-2.0
#include "model/core/request_table.h"

#include <algorithm>

namespace rxnic {

namespace {

Psn last_psn(const RequestNotice& r) { return r.first_psn + (r.psn_count - 1); }
bool holds(const RequestNotice& r, Psn psn) { return psn - r.first_psn >= 0 && psn - last_psn(r) <= 0; }
bool is_nak(std::uint8_t syndrome) { return (syndrome & 0x60) != 0; }

}  // namespace

void RequestTable::add(const RequestNotice& request) {
  Queue& q = queues_[raw(request.qpn)];
  ++counters_.requests;
  if (q.any && request.first_psn - q.newest <= 0) {  // (R6)
    ++counters_.repeated;
    return;
  }
  q.any = true;
  q.newest = last_psn(request);
  q.outstanding.push_back(request);
}

std::size_t RequestTable::outstanding(Qpn qpn) const {
  const auto it = queues_.find(raw(qpn));
  return it == queues_.end() ? 0 : it->second.outstanding.size();
}

bool RequestTable::take_completed(const Packet& answer, RequestNotice& completed) {
  const auto it = queues_.find(raw(answer.qp->qpn));
  if (it == queues_.end()) return false;
  auto& outstanding = it->second.outstanding;
  // (R4) a NAK acknowledges what is before it; an ACK or a response (R1) (R2) what is up to it.
  const bool nak = answer.has(kAckKind) && is_nak(answer.h.syndrome);
  const Psn limit = nak ? answer.h.psn.previous() : answer.h.psn;
  for (auto r = outstanding.begin(); r != outstanding.end(); ++r) {
    if (last_psn(*r) - limit > 0) return false;
    if (is_data(*r)) {
      // Its answer is this packet, or was lost: in a capture that loses packets it is done all the same.
      if (!answer.qp->resynchronise || holds(*r, answer.h.psn)) continue;
    }
    completed = *r;
    outstanding.erase(r);
    ++counters_.completed;
    return true;
  }
  return false;
}

void RequestTable::check_answer(Packet& p) {
  QpContext& qp = *p.qp;
  p.outcome = Outcome::kAnswer;
  p.pd = qp.pd;
  p.cq = qp.send_cq;
  p.acknowledge = false;
  Queue& q = queues_[raw(qp.qpn)];
  if (p.has(kAckKind) && !p.has(kHasAtomicAckEth)) {
    if (is_nak(p.h.syndrome)) ++counters_.naks;
    // An ACK for what has already been completed is a repetition, one for what was never sent explains nothing.
    const bool known = q.any && p.h.psn - q.newest <= 0;
    if (known) return;
  } else {
    const bool atomic = p.has(kHasAtomicAckEth);
    const auto r = std::find_if(q.outstanding.begin(), q.outstanding.end(), [&](const RequestNotice& n) {
      return is_data(n) && (n.opcode != CqeOpcode::kRdmaRead) == atomic && holds(n, p.h.psn);
    });
    if (r != q.outstanding.end()) {
      const std::uint64_t offset = std::uint64_t(p.h.psn - r->first_psn) * qp.mtu;
      if (!atomic && offset + p.h.payload_bytes > r->bytes) {
        p.fail(DropReason::kInvalidRequest, Outcome::kDrop, 0, WcStatus::kSuccess);
        return;
      }
      p.local_va = r->va + (atomic ? 0 : offset);  // (R2)
      p.local_key = r->lkey;
      p.local_bytes = atomic ? 8 : p.h.payload_bytes;  // (R3)
      p.access = kLocalWrite;
      p.message_bytes = r->bytes;
      p.ends_message = atomic || p.has(kLast | kOnly);
      p.wqe_index = r->wqe_index;
      p.byte_count = r->bytes;
      p.cqe_opcode = r->opcode;
      p.completes = p.ends_message && r->signaled;
      if (p.ends_message) {
        q.outstanding.erase(r);
        ++counters_.completed;
      }
      return;
    }
  }
  if (!qp.resynchronise) {  // (R5)
    p.fail(DropReason::kUnsolicitedAnswer, Outcome::kDrop, 0, WcStatus::kSuccess);
    return;
  }
  ++counters_.unexplained_answers;
  p.h.payload_bytes = 0;
}

}  // namespace rxnic
