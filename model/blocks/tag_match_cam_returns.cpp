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

// The oldest one is posted again.
void TagMatchCam::end_return() {
  if (observer_ != nullptr) observer_->on_put_back(returns_.front().srq, returns_.front().handle);
  drop_return();
}

bool TagMatchCam::put_back(Cycle now) {
  if (job_.kind == JobKind::kPutBack) return end_put_back(now);
  if (returns_.empty() || now < cam_free_) return false;
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
    end_return();
    return true;
  }
  if (list->failed) {  // (R9)
    drop_return();
    return true;
  }
  const bool idle = job_.kind == JobKind::kNone && bursts_used_ == 0 && !list->overflow.full();
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
  write(now, address(r.srq, *list, list->overflow.prepend()), tags.bytes_of(itself ? r.handle : youngest));
  if (itself) {
    tags.put_back(r.handle);
  } else {
    tags.spill(youngest);
    tags.restore(r.handle);
    occupy(now, 1);
  }
  note_spilled(r.srq, *list);
  end_return();
  return true;
}

// An entry that is older than the one to be put back goes one slot towards the head.
void TagMatchCam::put_back_between(List& list, const Burst& burst, const StoredTag& e, Cycle now) {
  if (e.sequence >= list.tags.sequence(job_.handle)) {
    job_.decided = true;
    return;
  }
  write(now, address(burst.list, list, job_.destination), e);
  job_.destination += 1;
  job_.position = list.overflow.after(burst.position + 1);
}

// It follows the older ones.
bool TagMatchCam::end_put_back(Cycle now) {
  if (!job_.decided || !can_ask(now)) return false;
  List& list = *find(job_.list);
  if (job_.destination + 1 == list.overflow.head()) {
    list.tags.settle(job_.handle);  // none is older: put_back() goes on
  } else {
    write(now, address(job_.list, list, job_.destination), list.tags.bytes_of(job_.handle));
    list.tags.put_back(job_.handle);
    list.overflow.inserted(job_.destination + 1, job_.position);
    end_return();
  }
  job_ = {};
  return true;
}

}  // namespace rxnic
