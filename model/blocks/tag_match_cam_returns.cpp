// SPDX-License-Identifier: Apache-2.0
// Decisions that are taken back: the entry of a match is posted again, where its age belongs (R14).
#include <algorithm>

#include "model/blocks/tag_match_cam.h"

namespace rxnic {

void TagMatchCam::take_back(const TagReturn& r) {
  ++counters_.returned;
  List* const list = find(r.srq);
  if (list == nullptr) return;
  if (r.handle == kNoTagEntry) {
    list->tags.discount_unexpected();
  } else {
    returns_.push_back(r);
  }
}

bool TagMatchCam::put_back(Cycle now) {
  if (returns_.empty() || now < cam_free_ || job_.kind == JobKind::kPutBack) return false;
  const TagReturn r = returns_.front();
  List* const list = find(r.srq);
  if (list == nullptr || !list->tags.consumed(r.handle)) {
    drop_return();
    return true;
  }
  TagMatchList& tags = list->tags;
  const bool settled = tags.settled(r.handle);
  if (settled && room() > 0) {
    tags.restore(r.handle);
    ++cam_used_;
    occupy(now, 1);
    drop_return();
    return true;
  }
  if (list->failed) {  // (R9)
    drop_return();
    return true;
  }
  const bool idle = job_.kind == JobKind::kNone && bursts_used_ == 0 && copies_.done() && !list->overflow.full();
  if (!idle) return false;
  if (!settled) {
    job_ = {};
    job_.kind = JobKind::kPutBack;
    job_.list = r.srq;
    job_.handle = r.handle;
    job_.reads = true;
    job_.position = list->overflow.head();
    job_.destination = job_.position - 1;
    return true;
  }
  if (!can_ask(now)) return false;
  const std::uint32_t youngest = tags.youngest();
  const bool itself = youngest == kNoTagEntry || tags.sequence(youngest) < tags.sequence(r.handle);
  const TagOverflowEntry bytes = tags.bytes_of(itself ? r.handle : youngest);
  write(now, address(r.srq, *list, list->overflow.prepend()), &bytes, sizeof bytes);
  ++counters_.list_writes;
  if (itself) {
    tags.put_back(r.handle);
  } else {
    tags.spill(youngest);
    tags.restore(r.handle);
    occupy(now, 1);
  }
  note_spilled(r.srq, *list);
  drop_return();
  return true;
}

// The entries of a burst that are older than the one to be put back go one slot towards the head; it follows them.
void TagMatchCam::put_back_between(List& list, const Burst& burst, const TagOverflowEntry* entries) {
  TagMatchList& tags = list.tags;
  TagOverflow& overflow = list.overflow;
  const std::uint64_t sequence = tags.sequence(job_.handle);
  copies_.list = burst.list;
  copies_.position = job_.destination;
  copies_.next = 0;
  copies_.entries.clear();
  std::uint32_t older = 0;
  while (older < burst.entries && entries[older].sequence < sequence) copies_.entries.push_back(entries[older++]);
  job_.destination += older;
  job_.position = overflow.after(burst.position + older);
  if (older == burst.entries && job_.position != overflow.tail()) return;  // reads on
  if (job_.destination + 1 == overflow.head()) {
    tags.settle(job_.handle);  // none is older: put_back() goes on
  } else {
    copies_.entries.push_back(tags.bytes_of(job_.handle));
    tags.put_back(job_.handle);
    overflow.inserted(job_.destination + 1, job_.position);
    drop_return();
  }
  job_ = {};
}

}  // namespace rxnic
