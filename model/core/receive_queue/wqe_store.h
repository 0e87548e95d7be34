// SPDX-License-Identifier: Apache-2.0
// Receive WQEs in use: on-chip memory that holds the buffer list of each message that is being received.
//
//   R1  A slot that is released in cycle n can be allocated from cycle n + 1 on.
//   R2  Each block that allocates has slots of its own; it gets the free one with the lowest number. So the numbers do
//       not depend on the order in which the blocks are stepped.
//   R3  The store grows when no slot is free; references stay valid.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/types/work_queue.h"

namespace rxnic {

inline constexpr std::uint32_t kNoWqeSlot = 0xffffffff;

enum class WqeUser : std::uint8_t { kSrqWqeFetcher, kTagMatchCam };

class WqeStore {
 public:
  // `now`: the present cycle; nullptr: what is released can be allocated at once.
  explicit WqeStore(const Cycle* now = nullptr) : now_(now) {}

  std::uint32_t allocate(WqeUser user = WqeUser::kSrqWqeFetcher) {
    Share& share = shares_[static_cast<std::size_t>(user)];
    if (now_ == nullptr || share.released_in != *now_) settle(share);
    ++in_use_;
    std::size_t word = 0;
    while (word < share.free.size() && share.free[word] == 0) ++word;
    if (word == share.free.size()) grow(share);
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(share.free[word]));
    share.free[word] &= share.free[word] - 1;
    return (static_cast<std::uint32_t>(word) * kWordBits + bit) * kUsers + static_cast<std::uint32_t>(user);
  }
  void release(std::uint32_t slot) {
    Share& share = shares_[slot % kUsers];
    if (now_ != nullptr && share.released_in != *now_) {
      settle(share);
      share.released_in = *now_;
    }
    --in_use_;
    share.released.push_back(slot / kUsers);  // (R1)
  }
  ReceiveWqe& operator[](std::uint32_t slot) { return shares_[slot % kUsers].wqes[slot / kUsers]; }
  std::uint32_t in_use() const { return in_use_; }

 private:
  static constexpr std::uint32_t kUsers = 2;
  static constexpr std::uint32_t kWordBits = 64;
  struct Share {
    std::deque<ReceiveWqe> wqes;
    std::vector<std::uint64_t> free;      // bit per WQE
    std::vector<std::uint32_t> released;  // in cycle released_in
    Cycle released_in = kNever;
  };
  static void settle(Share& share) {
    for (const std::uint32_t at : share.released) share.free[at / kWordBits] |= std::uint64_t{1} << at % kWordBits;
    share.released.clear();
  }
  static void grow(Share& share) {
    share.free.push_back(~std::uint64_t{0});
    share.wqes.resize(share.wqes.size() + kWordBits);
  }

  const Cycle* now_;
  std::array<Share, kUsers> shares_;
  std::uint32_t in_use_ = 0;
};

}  // namespace rxnic
