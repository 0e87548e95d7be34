// SPDX-License-Identifier: Apache-2.0
#include "model/system/receive_ring.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "model/core/receive_queue/wqe_format.h"
#include "traces/host_plan.h"

namespace rxnic {

namespace {
// A slot with the most SGEs, a list's header and the end mark, rounded up to a power of two.
constexpr std::size_t kRingMaxStride = 1024;
}  // namespace

ReceiveRing::ReceiveRing(const ReceiveRingParams& params) : places_(params.queue.slots), params_(params) {
  const std::uint32_t slots = params.queue.slots;
  if (params.sges > kMaxSge || params.queue.stride > kRingMaxStride)
    throw std::invalid_argument("a WQE with too many SGEs");
  if (params.sges > 1) {
    for (std::uint32_t n = 0; n < params.sges; ++n) {
      pieces_.push_back({sge_length(params.sge_bytes, params.buffer_bytes, params.sges, n), raw(params.lkey), 0});
    }
  }
  const bool list = params.queue.layout == WqLayout::kLinkedList;
  const std::uint32_t usable = slots - (list ? 1 : 0);  // the list's tail is never posted
  params_.wqes = std::min(params.wqes, usable);
  free_count_ = params_.wqes;
  for (std::uint32_t i = 0; i < slots; ++i) places_[i] = {kNoBuffer, (i + 1) % slots, i};
  head_ = params.queue.first_wqe;
  tail_ = (head_ + slots - 1) % slots;
  if (list && params.order != WqeOrder::kCompletion) {
    order_ = std::make_unique<SlotOrder>(params.order, params.seed ^ params.queue.number, slots, head_);
  }
}

void ReceiveRing::complete(std::uint32_t slot) {
  if (slot >= places_.size() || places_[slot].buffer == kNoBuffer) return;
  std::uint32_t end = first_free_ + free_count_;
  if (end >= params_.wqes) end -= params_.wqes;
  places_[end].free = std::exchange(places_[slot].buffer, kNoBuffer);
  ++free_count_;
  --outstanding_;
  if (order_) {
    order_->give_back(slot);
    return;
  }
  places_[tail_].next = slot;  // (R2)
  tail_ = slot;
}

bool ReceiveRing::post(HostMemory& memory, bool all) {
  if (!all && free_count_ < std::min(params_.refill_batch, params_.wqes)) return false;
  const bool list = params_.queue.layout == WqLayout::kLinkedList;
  const std::uint32_t before = producer_;
  while (free_count_ > 0 && producer_ < limit_) {
    const std::uint32_t slot = list ? head_ : producer_ & (params_.queue.slots - 1);
    Place& place = places_[slot];
    const bool none = order_ ? order_->empty() : list ? head_ == tail_ : place.buffer != kNoBuffer;
    if (none) break;  // (R2) (R3)
    if (order_) place.next = order_->take(slot);
    place.buffer = places_[first_free_].free;
    if (++first_free_ == params_.wqes) first_free_ = 0;
    --free_count_;
    write(memory, slot, place.buffer, place.next);
    if (list) head_ = place.next;
    ++producer_;
    ++outstanding_;
  }
  return producer_ != before;
}

void ReceiveRing::write(HostMemory& memory, std::uint32_t slot, std::uint32_t buffer, std::uint32_t next) {
  std::uint64_t va = params_.buffer_base + buffer * params_.buffer_stride;
  if (pieces_.empty()) {
    const DataSegment whole{params_.buffer_bytes, raw(params_.lkey), va};
    return write(memory, slot, next, {&whole, 1});
  }
  for (DataSegment& piece : pieces_) {
    piece.address = va;
    va += piece.length;
  }
  write(memory, slot, next, pieces_);
}

void ReceiveRing::write(HostMemory& memory, std::uint32_t slot, std::uint32_t next, std::span<const DataSegment> sges) {
  std::array<std::uint8_t, kRingMaxStride> bytes;
  const std::span<std::uint8_t> wqe(bytes.data(), params_.queue.stride);
  std::fill(wqe.begin(), wqe.end(), std::uint8_t{0});  // behind the list's end
  write_wqe(wqe, params_.queue.layout, next, sges);
  memory.write(wqe_address(params_.queue, slot), wqe);
}

}  // namespace rxnic
