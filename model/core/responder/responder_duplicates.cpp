// SPDX-License-Identifier: Apache-2.0
// Requests that come again (R2, R13 of responder.h).
#include "model/core/responder/responder.h"

namespace rxnic {

void Responder::duplicate(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  ++counters_.duplicates;
  p.message_start = p.h.arrived.count;  // of this repetition: the request's own arrival is not kept
  p.answer_msn = qp.msn;
  if (!p.has(kSaved)) {
    p.outcome = Outcome::kAckAgain;
    p.acknowledge = true;
    p.answer_psn = qp.expected_psn.previous();
    return;
  }
  p.resource = resources_.find(qp.qpn, p.h.psn);
  if (p.resource == kNoResource) return repeat_unsaved(p);
  if (!is_what_was_saved(p)) return drop(p, DropReason::kDuplicateUnsaved);
  replay(p);
}

// Whether the repeated READ or atomic is what was saved, or the end of it.
bool Responder::is_what_was_saved(const CheckedPacket& p) const {
  const ResponderResource& saved = resources_[p.resource];
  if (p.op().operation != saved.operation) return false;
  if (p.has(kAtomic | kFlushes)) return true;
  const std::uint64_t done = static_cast<std::uint64_t>(p.h.psn - saved.first_psn) * p.qp->mtu;
  return p.h.rkey == saved.rkey && p.h.va == saved.va + done && p.h.length == saved.bytes - done;
}

void Responder::repeat_unsaved(CheckedPacket& p) {  // (R13)
  const ResponderContext& qp = *p.qp;
  const bool overwritten = resources_.overwrote(qp.qpn, p.h.psn);
  counters_.overwritten += overwritten;
  const bool again = p.has(kRead) && (qp.resynchronise || over_limit_ == RdAtomicOverLimit::kRecycle);
  const bool may = again && (overwritten || qp.resynchronise);
  if (may && (p.op().access & ~qp.access) == 0 && length_is_legal(p)) return replay(p);
  drop(p, DropReason::kDuplicateUnsaved);
}

void Responder::replay(CheckedPacket& p) {
  p.outcome = Outcome::kReplay;
  p.acknowledge = true;
  p.answer_psn = p.h.psn;
  p.local_va = p.h.va;
  p.local_key = p.h.rkey;
  p.local_bytes = p.has(kAtomic) ? kAtomicBytes : p.h.length;
  p.access = p.op().access;
}

}  // namespace rxnic
