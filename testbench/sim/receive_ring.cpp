// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/receive_ring.h"

#include <algorithm>

#include "model/core/receive_queue/wqe_format.h"

namespace rxnic {

ReceiveRing::ReceiveRing(const ReceiveRingParams& params) : params_(params) {
  const bool list = params.queue.layout == WqLayout::kLinkedList;
  const std::uint32_t usable = params.queue.slots - (list ? 1 : 0);  // the list's tail is never posted
  params_.wqes = std::min(params.wqes, usable);
  free_buffers_.resize(params_.wqes);
  for (std::uint32_t i = 0; i < params_.wqes; ++i) free_buffers_[i] = i;
  free_count_ = params_.wqes;
  sges_.resize(params_.sges);
  wqe_.resize(params_.queue.stride);
  buffer_of_.resize(params.queue.slots);
  busy_.resize(params.queue.slots);
  next_.resize(params.queue.slots);
  for (std::uint32_t i = 0; i < params.queue.slots; ++i) next_[i] = (i + 1) % params.queue.slots;
  head_ = params.queue.first_wqe;
  tail_ = (head_ + params.queue.slots - 1) % params.queue.slots;
}

void ReceiveRing::complete(std::uint32_t slot) {
  if (slot >= busy_.size() || busy_[slot] == 0) return;
  busy_[slot] = 0;
  --outstanding_;
  free_buffers_[(first_free_ + free_count_) % free_buffers_.size()] = buffer_of_[slot];
  ++free_count_;
  next_[tail_] = slot;  // (R2)
  tail_ = slot;
}

bool ReceiveRing::post(HostMemory& memory, bool all) {
  if (!all && free_count_ < std::min<std::size_t>(params_.refill_batch, params_.wqes)) return false;
  const bool list = params_.queue.layout == WqLayout::kLinkedList;
  const std::uint32_t before = producer_;
  while (free_count_ > 0 && producer_ < limit_) {
    const std::uint32_t slot = list ? head_ : producer_ & (params_.queue.slots - 1);
    if (list ? head_ == tail_ : busy_[slot] != 0) break;  // (R2) (R3)
    const std::uint32_t buffer = free_buffers_[first_free_];
    first_free_ = (first_free_ + 1) % free_buffers_.size();
    --free_count_;
    write(memory, slot, buffer, next_[slot]);
    buffer_of_[slot] = buffer;
    busy_[slot] = 1;
    if (list) head_ = next_[slot];
    ++producer_;
    ++outstanding_;
  }
  return producer_ != before;
}

void ReceiveRing::write(HostMemory& memory, std::uint32_t slot, std::uint32_t buffer, std::uint32_t next) {
  const std::uint32_t each = params_.buffer_bytes / params_.sges;
  std::uint64_t va = params_.buffer_base + buffer * params_.buffer_stride;
  for (std::uint32_t i = 0; i < params_.sges; ++i) {
    const std::uint32_t bytes = i + 1 == params_.sges ? params_.buffer_bytes - each * i : each;
    sges_[i] = {bytes, raw(params_.lkey), va};
    va += bytes;
  }
  const std::span<std::uint8_t> wqe(wqe_.data(), params_.queue.stride);
  write_wqe(wqe, params_.queue.layout, next, sges_);
  memory.write(wqe_address(params_.queue, slot), wqe);
}

}  // namespace rxnic
