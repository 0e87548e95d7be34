// SPDX-License-Identifier: Apache-2.0
// The depths of the searches of one NIC's tag lists, as a linear search would find them.
//
//   R1  The depth of a match: the entries of its list that were posted before the one that matched. The depth of a
//       message that is unexpected: all posted entries. Entries that are held (rules 5.5) count, too.
//   R2  A search that is taken back has been counted, as by the counter `searches` of tag_match_cam. A search that
//       failed (tag_match_cam.h R9) has no depth.
#pragma once

#include <map>

#include "model/core/tag_matching/tag_depth.h"
#include "model/ports/tag_match_cam_ports.h"
#include "model/system/histogram.h"

namespace rxnic {

class TagDepths final : public TagObserver {
 public:
  // Counts what is decided within these cycles alone (run_region.h, R3).
  void set_region(Cycle from, Cycle to) { from_ = from, to_ = to; }
  const Histogram& posted() const { return posted_; }
  void add(const TagDepths& other) { posted_.add(other.posted_); }

  void on_list(WqId srq, std::uint32_t max_tags) override { lists_.insert_or_assign(srq, TagDepth(max_tags)); }
  void on_append(WqId srq, std::uint32_t handle) override { lists_.at(srq).append(handle); }
  void on_remove(WqId srq, std::uint32_t handle) override { lists_.at(srq).remove(handle); }
  void on_match(WqId srq, std::uint32_t handle, Cycle now) override {
    TagDepth& list = lists_.at(srq);
    add(list.older(handle), now);
    list.remove(handle);
  }
  void on_unexpected(WqId srq, Cycle now) override { add(lists_.at(srq).size(), now); }
  void on_put_back(WqId srq, std::uint32_t handle) override { lists_.at(srq).restore(handle); }

 private:
  void add(std::uint32_t depth, Cycle now) {
    if (now >= from_ && now < to_) posted_.add(depth);
  }

  std::map<WqId, TagDepth> lists_;
  Cycle from_{}, to_ = kNever;
  Histogram posted_;
};

}  // namespace rxnic
