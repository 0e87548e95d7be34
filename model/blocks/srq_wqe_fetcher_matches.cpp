// SPDX-License-Identifier: Apache-2.0
// Messages that the tag matcher decided on: matches take the entry's buffer, and go back when they are refused (R10,
// R19 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"

namespace rxnic {

// The buffer of the matched tag becomes the WQE.
SrqWqeFetcher::Verdict SrqWqeFetcher::take_match(WqeRequest& p, Cycle now) {
  if (!slots_.available(p.queue)) return lack_slot(p, now);
  if (p.rendezvous && !rendezvous_places.bound()) {  // (R19)
    p.cqe_flags |= kCqeTagDataValid;
  } else if (p.rendezvous) {
    if (rendezvous_ == 0) return refuse(p, DropReason::kRendezvousFull, now);
    --rendezvous_;
  }
  p.wqe_slot = slots_.allocate(p.queue);
  slots_[p.wqe_slot].wqe_index = p.wqe_index;
  slots_[p.wqe_slot].bytes = p.tag_buffer.length;
  write_list(p.wqe_slot, &p.tag_buffer, p.tag_buffer.length > 0 ? 1 : 0, now);
  p.takes_wqe = true;
  return Verdict::kLeaves;
}

SrqWqeFetcher::Verdict SrqWqeFetcher::give_back(WqeRequest& p, Cycle now) {  // (R10)
  const bool match = p.tag_verdict == TagVerdict::kMatched;
  if (!match && p.tag_verdict != TagVerdict::kUnexpected) return Verdict::kLeaves;
  if (returned.bound()) {
    if (!returned.can_push(now)) return Verdict::kBlocked;
    returned.push(now, {p.queue, match ? p.wqe_index : kNoTagEntry});
  }
  return Verdict::kLeaves;
}

}  // namespace rxnic
