// SPDX-License-Identifier: Apache-2.0
// Writes to the memory of programs that were decided and are not carried out yet (live_memory.h R8).
//
//   R1  In the order in which they were added, with a copy of their bytes. kMost writes and kMostBytes bytes at most.
//   R2  Ranges of memory in which a program may write, each with what the kernel has said of it. They are forgotten
//       with the writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bridge/driver/programs.h"

namespace rxnic {

class KeptWrites {
 public:
  static constexpr std::size_t kMost = 64, kMostBytes = std::size_t{256} << 10;
  struct Write {
    ClientId client{};
    std::uint64_t address = 0;  // as of ProgramMemory
    std::size_t at = 0;         // of its bytes
    std::size_t bytes = 0;
    std::uint64_t end() const { return address + bytes; }
  };
  KeptWrites() {
    writes_.reserve(kMost);
    bytes_.reserve(kMostBytes);
  }

  bool empty() const { return writes_.empty(); }
  std::span<const Write> all() const { return writes_; }
  std::span<const std::uint8_t> bytes_of(const Write& w) const { return std::span(bytes_).subspan(w.at, w.bytes); }
  bool has_room(std::size_t bytes) const { return writes_.size() < kMost && bytes <= kMostBytes - bytes_.size(); }
  // Precondition: has_room().
  void add(ClientId client, std::uint64_t address, std::span<const std::uint8_t> from) {
    writes_.push_back({client, address, bytes_.size(), from.size()});
    bytes_.insert(bytes_.end(), from.begin(), from.end());
    lowest_ = std::min(lowest_, address);
    highest_ = std::max(highest_, address + from.size());
  }
  // Whether one that `other` holds for touches a byte of these.
  template <class Other>
  bool overlaps(std::uint64_t address, std::size_t bytes, Other other) const {
    if (address >= highest_ || address + bytes <= lowest_) return false;
    return std::any_of(writes_.begin(), writes_.end(),
                       [&](const Write& w) { return address < w.end() && w.address < address + bytes && other(w); });
  }

  void allow(ClientId client, std::uint64_t begin, std::uint64_t end) { allowed_.push_back({client, begin, end}); }
  bool is_allowed(ClientId client, std::uint64_t address, std::size_t bytes) const {  // (R2)
    return std::any_of(allowed_.begin(), allowed_.end(), [&](const Range& r) {
      return r.client == client && r.begin <= address && address < r.end && bytes <= r.end - address;
    });
  }

  void clear() {
    writes_.clear();
    bytes_.clear();
    allowed_.clear();
    lowest_ = ~std::uint64_t{0};
    highest_ = 0;
  }

 private:
  struct Range {
    ClientId client{};
    std::uint64_t begin = 0, end = 0;
  };
  std::vector<Write> writes_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Range> allowed_;
  std::uint64_t lowest_ = ~std::uint64_t{0}, highest_ = 0;  // of all writes
};

}  // namespace rxnic
