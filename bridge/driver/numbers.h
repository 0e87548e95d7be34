// SPDX-License-Identifier: Apache-2.0
// Allocation of object numbers, and of ranges of the table of pages.
//
//   R1  NumberPool hands out numbers in turn, from the beginning of its range up to the window's end. The window holds
//       kLeastWindow numbers, or twice those in use when these are more. A freed number is used again only after all
//       the others of the window. So what is kept by number (contexts in host memory) stays in proportion to what is in
//       use.
//   R2  RangePool hands out the lowest range that is free and long enough; of kLargeBytes or more, the highest. So
//       small ranges that stay do not move large ones elsewhere, and what was touched once is used again. Adjacent
//       free ranges are merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace rxnic {

class NumberPool {
 public:
  NumberPool(std::uint32_t first, std::uint32_t last) : first_(first), last_(last), next_(first) {}
  static constexpr std::uint64_t kLeastWindow = 4096;

  // A number for which used(number) does not hold; nothing when there is none. `in_use`: for how many it holds.
  template <class Used>
  std::optional<std::uint32_t> take(std::uint64_t in_use, Used used) {
    const std::uint64_t window = std::max(kLeastWindow, 2 * in_use);
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(last_, first_ + window - 1));
    for (std::uint64_t left = std::uint64_t{end} - first_ + 1; left > 0; --left) {
      const std::uint32_t number = next_ > end ? first_ : next_;
      next_ = number + 1;
      if (!used(number)) return number;
    }
    return std::nullopt;
  }

 private:
  std::uint32_t first_, last_, next_;
};

class RangePool {
 public:
  static constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;
  explicit RangePool(std::uint64_t bytes) { free_[0] = bytes; }
  std::optional<std::uint64_t> take(std::uint64_t bytes) {
    if (bytes >= kLargeBytes) return take_highest(bytes);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      const auto [at, length] = *it;
      free_.erase(it);
      if (length > bytes) free_[at + bytes] = length - bytes;
      return at;
    }
    return std::nullopt;
  }
  void give_back(std::uint64_t at, std::uint64_t bytes) {
    if (bytes == 0) return;
    auto it = free_.emplace(at, bytes).first;
    if (const auto next = std::next(it); next != free_.end() && at + bytes == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      const auto before = std::prev(it);
      if (before->first + before->second == at) {
        before->second += it->second;
        free_.erase(it);
      }
    }
  }

 private:
  std::optional<std::uint64_t> take_highest(std::uint64_t bytes) {
    for (auto it = free_.end(); it != free_.begin();) {
      --it;
      if (it->second < bytes) continue;
      const std::uint64_t at = it->first + (it->second -= bytes);
      if (it->second == 0) free_.erase(it);
      return at;
    }
    return std::nullopt;
  }

  std::map<std::uint64_t, std::uint64_t> free_;  // by start: bytes
};

}  // namespace rxnic
