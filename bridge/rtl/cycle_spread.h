// SPDX-License-Identifier: Apache-2.0
// How many cycles later one side makes a transaction than the other, over many transactions: in bounded memory. Less
// than 0: earlier.
//
//   R1  Differences of less than 512 cycles are kept as they are, larger ones within 0.4 % of their size. The least and
//       the greatest are exact.
//   R2  The histogram has a line for each difference when there are few, otherwise one for each power of two.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rxnic {

class CycleSpread {
 public:
  void add(std::int64_t cycles);
  std::uint64_t count() const { return count_; }
  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }
  // The least difference that at least `fraction` (0..1) of all are not above.
  std::int64_t percentile(double fraction) const;

  std::string text() const;                    // "min 1   median 1   p99 4   max 9"
  std::vector<std::string> histogram() const;  // (R2)

 private:
  std::map<std::int64_t, std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0, max_ = 0;
};

}  // namespace rxnic
