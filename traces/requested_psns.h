// SPDX-License-Identifier: Apache-2.0
// The PSNs that the captured requests of one QP have asked for (R2, R5 of answer_compare.h).
//
//   R1  A PSN is requested when a captured request has it, in whatever order the requests were captured. A READ has the
//       PSNs of all its responses.
//   R2  A READ or an atomic that begins before the end of what was requested asks again for its PSNs.
//   R3  Memory is bounded. PSNs far behind the newest request are forgotten and count as requested. What came late, and
//       what was asked for again, is known of the newest kLateKept requests of either kind.
#pragma once

#include <cstdint>
#include <deque>

#include "model/types/ids.h"

namespace rxnic {

class RequestedPsns {
 public:
  static constexpr std::size_t kLateKept = 256;
  // Where a request begins: at the end of those before it, behind requests that are missing, or before that end.
  enum class Place : std::uint8_t { kNext, kBehindGap, kEarlier };

  Place place(Psn first) const;
  // A captured request and the number of its PSNs. `saved`: its answer is one that a responder keeps.
  Place add(Psn first, std::uint32_t psns, bool saved);
  bool contains(Psn psn) const;     // (R1)
  bool asked_again(Psn psn) const;  // (R2)

 private:
  struct Range {
    Psn first, end;  // end: one past the last
    bool contains(Psn psn) const { return psn - first >= 0 && psn - end < 0; }
  };
  static bool any_contains(const std::deque<Range>& ranges, Psn psn);
  static void keep(std::deque<Range>& ranges, const Range& range);

  std::deque<Range> ranges_;       // each behind the one before
  std::deque<Range> late_;         // that came after later ones
  std::deque<Range> asked_again_;  // READs and atomics
  bool forgot_ = false;            // what was before the first of ranges_
};

}  // namespace rxnic
