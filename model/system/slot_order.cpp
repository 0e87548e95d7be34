// SPDX-License-Identifier: Apache-2.0
#include "model/system/slot_order.h"

#include <bit>
#include <utility>

namespace rxnic {

namespace {
constexpr std::uint32_t kWordSlots = 64;
}

SlotOrder::SlotOrder(WqeOrder order, std::uint64_t seed, std::uint32_t slots, std::uint32_t first)
    : order_(order), state_(seed) {
  if (order == WqeOrder::kSequential) bits_.resize((slots + kWordSlots - 1) / kWordSlots);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (slot != first) give_back(slot);
  }
}

void SlotOrder::give_back(std::uint32_t slot) {
  ++free_count_;
  if (order_ == WqeOrder::kSequential) {
    bits_[slot / kWordSlots] |= std::uint64_t{1} << slot % kWordSlots;
  } else {
    slots_.push_back(slot);
  }
}

std::uint32_t SlotOrder::take(std::uint32_t last) {
  --free_count_;
  if (order_ == WqeOrder::kSequential) return take_behind(last);  // (R1)
  const auto chosen = static_cast<std::size_t>((random() >> 32) * slots_.size() >> 32);
  std::swap(slots_[chosen], slots_.back());
  const std::uint32_t slot = slots_.back();
  slots_.pop_back();
  return slot;
}

std::uint32_t SlotOrder::take_behind(std::uint32_t last) {
  std::size_t word = last / kWordSlots;
  // First the slots above `last` in its word; that word as a whole once more when the search has come round.
  const std::uint64_t above = last % kWordSlots == kWordSlots - 1 ? 0 : ~std::uint64_t{0} << (last % kWordSlots + 1);
  for (std::uint64_t candidates = bits_[word] & above;; candidates = bits_[word]) {
    if (candidates != 0) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(candidates));
      bits_[word] &= ~(std::uint64_t{1} << bit);
      return static_cast<std::uint32_t>(word) * kWordSlots + bit;
    }
    word = (word + 1) % bits_.size();
  }
}

std::uint64_t SlotOrder::random() {  // splitmix64
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

}  // namespace rxnic
