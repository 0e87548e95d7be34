// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_prefetch.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/core/receive_queue/wqe_format.h"

namespace rxnic {

namespace {

DoublingWindow doubling_window;  // without state

}  // namespace

WqePrefetch::WqePrefetch(std::uint32_t depth, PrefetchWindow* policy)
    : policy_(policy == nullptr ? &doubling_window : policy),
      follows_takes_(policy_->follows_takes()),
      depth_(depth),
      mask_(std::bit_ceil(depth) - 1),
      entries_(std::bit_ceil(depth)) {}

PrefetchQueue WqePrefetch::seen() const { return {kind_, number_, depth_, fetch_ - first_, window_, begin_, taken_}; }

void WqePrefetch::bind(const WqContext& queue, std::uint32_t first, std::uint32_t slot, std::uint32_t ahead) {
  ++epoch_;
  begin_ = window_ = ahead;
  kind_ = queue.kind;
  number_ = queue.number;
  taken_ = false;
  layout_ = queue.layout;
  slots_ = queue.slots;
  stride_ = queue.stride;
  held_bytes_ = wqe_bytes_used(layout_, stride_);
  if (bytes_.size() < entries_.size() * held_bytes_) bytes_.resize(entries_.size() * held_bytes_);
  first_ = confirmed_ = fetch_ = first;
  fetch_slot_ = slot;
  set_window(policy_->at_begin(seen()));
}

std::uint32_t WqePrefetch::unbind() {
  const std::uint32_t in_vain = held_from(first_);
  ++epoch_;
  first_ = confirmed_ = fetch_;
  return in_vain;
}

std::uint32_t WqePrefetch::held_from(std::uint32_t number) const {
  std::uint32_t held = 0;
  for (std::uint32_t n = number; n != fetch_; ++n) held += entry(n).state != State::kReading;
  return held;
}

bool WqePrefetch::next_run(std::uint32_t producer, std::uint32_t asked, std::uint32_t wqes_per_read, bool sequential,
                           Run& run) const {
  const std::uint32_t posted = producer - fetch_;
  const std::uint32_t wanted = std::min(depth_, std::min(asked, depth_) + window_);  // (R1)
  const std::uint32_t here = fetch_ - first_;
  if (posted == 0 || here >= wanted) return false;
  std::uint32_t most = std::min(wqes_per_read, std::max(1u, depth_ / 2));
  if (layout_ == WqLayout::kLinkedList && !sequential) {  // (R4)
    if (fetch_ != confirmed_) return false;
    most = 1;
  }
  const std::uint32_t most_here = std::min({most, posted, slots_ - fetch_slot_});
  const std::uint32_t room = wanted - here;
  const std::uint32_t least = here < asked ? 1 : std::min(most_here, std::max(1u, window_ / 2));
  if (room < least) return false;  // (R2)
  const std::uint32_t count = std::min(most_here, room);
  run = {fetch_, fetch_slot_, count, epoch_};
  return true;
}

void WqePrefetch::started(const Run& run) {
  for (std::uint32_t i = 0; i < run.count; ++i) entry(run.number + i) = {run.slot + i, 0, State::kReading};
  fetch_ = run.number + run.count;
  fetch_slot_ = after(run.slot + run.count - 1);  // (R3) (R5)
}

std::uint32_t WqePrefetch::arrived(const Run& run, bool ok, const std::uint8_t* bytes) {
  if (run.epoch != epoch_) return run.count;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const std::uint32_t number = run.number + i;
    Entry& e = entry(number);
    e.state = ok ? State::kHeld : State::kUnreadable;
    e.next = after(e.slot);  // (R3) (R7)
    if (!ok) continue;
    std::uint8_t* to = bytes_.data() + std::size_t{number & mask_} * held_bytes_;
    std::memcpy(to, bytes + std::size_t{i} * stride_, held_bytes_);
    if (layout_ == WqLayout::kLinkedList) e.next = next_wqe_index({to, held_bytes_}, slots_);
  }
  return confirm();
}

std::uint32_t WqePrefetch::confirm() {
  while (confirmed_ != fetch_ && entry(confirmed_).state != State::kReading) {
    const std::uint32_t next = entry(confirmed_).next;
    ++confirmed_;
    if (confirmed_ == fetch_) {
      fetch_slot_ = next;
    } else if (entry(confirmed_).slot != next) {  // (R5)
      const std::uint32_t in_vain = held_from(confirmed_);
      ++epoch_;
      fetch_ = confirmed_;
      fetch_slot_ = next;
      return in_vain;
    }
  }
  return 0;
}

void WqePrefetch::waited() { set_window(policy_->at_wait(seen())); }  // (R1)

WqePrefetch::Wqe WqePrefetch::front() const {
  const Entry& e = entry(first_);
  return {{bytes_.data() + std::size_t{first_ & mask_} * held_bytes_, held_bytes_}, e.slot, e.state == State::kHeld};
}

std::uint32_t WqePrefetch::pop() {
  taken_ = true;
  const std::uint32_t next = entry(first_++).next;
  if (follows_takes_) set_window(policy_->at_take(seen()));
  return next;
}

}  // namespace rxnic
