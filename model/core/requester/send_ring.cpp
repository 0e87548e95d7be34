// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_ring.h"

#include <algorithm>
#include <bit>

namespace rxnic {

SendRing::SendRing(const SendQueueContext& queue, std::uint32_t wqes_per_read)
    : queue_(queue),
      wqes_per_read_(wqes_per_read),
      doorbells_(std::bit_ceil(std::clamp(queue.slots, 1u, kMaxDoorbells))) {}

void SendRing::reset() {
  next_ = here_ = producer_ = 0;
  first_ = count_ = 0;
  read_count_ = 0;
}

bool SendRing::ring(std::uint32_t producer, std::uint32_t oldest, Cycle rung) {
  if (producer == producer_) return true;
  const std::uint32_t unfinished = producer - oldest;
  if (unfinished > queue_.slots || unfinished < producer_ - oldest) return false;  // (R3)
  producer_ = producer;
  if (count_ < doorbells_.size()) {
    doorbell(count_++) = {producer, rung};
  } else {  // (R2)
    doorbell(count_ - 1) = {producer, rung};
  }
  return true;
}

void SendRing::take() {
  ++next_;
  if (next_ != doorbells_[first_].producer) return;
  first_ = (first_ + 1) & static_cast<std::uint32_t>(doorbells_.size() - 1);
  --count_;
}

void SendRing::pass(std::uint32_t wqe) {
  while (next_ != wqe) take();
  here_ = next_;
}

std::uint32_t SendRing::contiguous(std::uint32_t wqe) const {
  return std::min({wqes_per_read_, queue_.slots - slot_index(wqe), producer_ - wqe});
}

std::span<const std::uint8_t> SendRing::slot(std::uint32_t wqe, HostMemory& memory) {
  if (wqe - read_first_ >= read_count_) {  // (R4)
    const std::uint32_t count = contiguous(wqe);
    read_.resize(std::size_t{wqes_per_read_} * queue_.stride);
    read_first_ = wqe;
    read_count_ = 0;
    const std::size_t bytes = std::size_t{count} * queue_.stride;
    if (!memory.read(queue_.base + std::uint64_t{slot_index(wqe)} * queue_.stride, {read_.data(), bytes})) return {};
    read_count_ = count;
  }
  return {read_.data() + std::size_t{wqe - read_first_} * queue_.stride, queue_.stride};
}

}  // namespace rxnic
