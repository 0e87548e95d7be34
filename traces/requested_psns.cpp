// SPDX-License-Identifier: Apache-2.0
#include "traces/requested_psns.h"

#include <algorithm>

namespace rxnic {
namespace {

constexpr std::int32_t kRangePsns = 1 << 20;   // longer ranges are split: PSNs are circular
constexpr std::int32_t kRangesSpan = 1 << 22;  // older ranges are forgotten
constexpr std::size_t kRangesKept = 4096;

}  // namespace

bool RequestedPsns::any_contains(const std::deque<Range>& ranges, Psn psn) {
  return std::any_of(ranges.begin(), ranges.end(), [psn](const Range& r) { return r.contains(psn); });
}

void RequestedPsns::keep(std::deque<Range>& ranges, const Range& range) {
  ranges.push_back(range);
  if (ranges.size() > kLateKept) ranges.pop_front();
}

bool RequestedPsns::contains(Psn psn) const {
  for (auto r = ranges_.rbegin(); r != ranges_.rend(); ++r) {
    if (r->contains(psn)) return true;
    if (psn - r->end >= 0) break;
  }
  if (any_contains(late_, psn)) return true;
  return forgot_ && psn - ranges_.front().first < 0;
}

bool RequestedPsns::asked_again(Psn psn) const { return any_contains(asked_again_, psn); }

RequestedPsns::Place RequestedPsns::place(Psn first) const {
  const std::int32_t ahead = ranges_.empty() ? 0 : first - ranges_.back().end;
  return ahead == 0 ? Place::kNext : ahead > 0 ? Place::kBehindGap : Place::kEarlier;
}

RequestedPsns::Place RequestedPsns::add(Psn first, std::uint32_t psns, bool saved) {
  const Range range{first, first + psns};
  const Place found = place(first);
  if (saved && found == Place::kEarlier) keep(asked_again_, range);
  if (ranges_.empty() || found == Place::kBehindGap) {
    ranges_.push_back(range);
  } else if (found == Place::kNext) {
    Range& last = ranges_.back();
    if (last.end - last.first < kRangePsns) {
      last.end = range.end;
    } else {
      ranges_.push_back(range);
    }
  } else if (!contains(first)) {
    keep(late_, range);
  }
  while (ranges_.size() > kRangesKept || range.end - ranges_.front().end > kRangesSpan) {  // (R3)
    ranges_.pop_front();
    forgot_ = true;
  }
  return found;
}

}  // namespace rxnic
