// SPDX-License-Identifier: Apache-2.0
// The WQE that the message of a QP has in use (R6, R7, R11, R20 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"
#include "model/types/syndrome.h"

namespace rxnic {

// The packet has a WQE: remembers it for the message's later packets and checks the message against it.
void SrqWqeFetcher::hold(WqeRequest& p) {
  attach(p, p.wqe_slot);
  if (p.has(kSend)) {
    if (const WqRecord* const queue = table_.find_context(p.queue)) p.pd = queue->pd;
  }
  const bool matched = p.takes_wqe ? p.tag_verdict == TagVerdict::kMatched : open_wqe_.wqe_matched;
  const OpenWqe taken{p.wqe_slot, p.queue, p.cq, matched};
  open_wqe_ = taken;
  if (p.ends_message || p.bad_length) close(p);
  if (p.bad_length) {
    if (p.transport == Transport::kUc) {
      refused_.fail_message(p, DropReason::kInvalidRequest);
      p.completes = true;
      p.status = WcStatus::kRemoteInvalidRequest;
    } else {
      refused_.fail_qp(p, DropReason::kInvalidRequest, kNakInvalidRequest, WcStatus::kRemoteInvalidRequest);
    }
  } else if (p.transport == Transport::kUc && p.has(kSend)) {
    check_unreliable_length(p, taken);
  }
}

// Gives the packet the WQE in `slot`, which its completion then reports.
void SrqWqeFetcher::attach(WqeRequest& p, std::uint32_t slot) {
  p.wqe_slot = slot;
  p.wqe_index = slots_[slot].wqe_index;
}

// Marks the packet as the last that uses its WQE. (R11)
void SrqWqeFetcher::close(WqeRequest& p) {
  p.releases_wqe = true;
  open_wqe_ = {};
}

void SrqWqeFetcher::look_up_open_wqe(std::uint32_t line) {
  const OpenWqe* const found = context.peek({line});
  kept_ = open_wqe_ = found == nullptr ? OpenWqe{} : *found;
}

// (R20) What the packet or flush at hand leaves of its QP's context.
void SrqWqeFetcher::keep_open_wqe(std::uint32_t line, Cycle now) {
  if (open_wqe_ == kept_) return;
  open_ += open_wqe_.wqe_slot != kNoWqeSlot;
  open_ -= kept_.wqe_slot != kNoWqeSlot;
  context_write.write(now, {line, open_wqe_});
}

// `taken`: what the QP's context says before the message ends.
void SrqWqeFetcher::check_unreliable_length(WqeRequest& p, const OpenWqe& taken) {  // (R7)
  if (p.message_bytes <= slots_[p.wqe_slot].bytes) return;
  ++counters_.too_long;
  refused_.fail_message(p, DropReason::kMessageTooLong);
  if (p.uses_srq) {
    p.completes = true;
    p.status = WcStatus::kLocalLength;
    close(p);
  } else {
    p.wqe_slot = kNoWqeSlot;
    p.releases_wqe = false;
    open_wqe_ = taken;
  }
}

void SrqWqeFetcher::use_open_wqe(WqeRequest& p) {
  p.completes = open_wqe_.wqe_slot != kNoWqeSlot;
  if (!p.completes) return;
  end_open_wqe(p);
  if (p.fails_qp && p.status == WcStatus::kSuccess) p.status = WcStatus::kFlushed;
}

// The packet, of whichever operation, completes the WQE that its QP's message has in use.
void SrqWqeFetcher::end_open_wqe(WqeRequest& p) {
  attach(p, open_wqe_.wqe_slot);
  p.queue = open_wqe_.wqe_queue;
  p.cq = open_wqe_.wqe_cq;
  if (open_wqe_.wqe_matched) {
    p.cqe_opcode = CqeOpcode::kTagReceive;
    p.cqe_flags |= kCqeTagDataValid;  // (types/completion.h R3)
  }
  close(p);
}

}  // namespace rxnic
