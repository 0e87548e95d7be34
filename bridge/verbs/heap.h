// SPDX-License-Identifier: Apache-2.0
// Which parts of the shared mapping are in use: pages of its heap, and records of its doorbell boards.
//
//   R1  A ring is a run of whole pages: two queues never share one, and a freed ring's memory can be given back.
//   R2  First fit, lowest address first; a freed run is merged with its free neighbours.
//   R3  The lowest free doorbell record is taken, so that the simulator has few words of the boards to scan.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace rxnic::verbs {

inline constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Not thread-safe: the caller holds Connection's lock.
class PageHeap {
 public:
  // `begin`, `end`: multiples of a page.
  PageHeap(std::uint64_t begin, std::uint64_t end);
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;
  ~PageHeap();

  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  // What allocate(bytes) returned.
  void free(std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t free_bytes() const;

 private:
  struct Run {
    std::uint64_t begin, end;
    Run* next;
  };
  Run* first_ = nullptr;  // free runs, ascending
};

template <std::uint32_t kRecords>
class RecordPool {
 public:
  std::optional<std::uint32_t> allocate() {
    for (std::uint32_t w = first_; w < used_.size(); ++w) {
      if (~used_[w] == 0) continue;
      const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(~used_[w]));
      used_[w] |= std::uint64_t{1} << bit;
      first_ = w;
      return w * 64 + bit;
    }
    first_ = static_cast<std::uint32_t>(used_.size());
    return std::nullopt;
  }
  void free(std::uint32_t record) {
    used_[record / 64] &= ~(std::uint64_t{1} << (record % 64));
    if (record / 64 < first_) first_ = record / 64;
  }

 private:
  static_assert(kRecords % 64 == 0);
  std::array<std::uint64_t, kRecords / 64> used_{};
  std::uint32_t first_ = 0;  // no word before it has a free bit
};

}  // namespace rxnic::verbs
