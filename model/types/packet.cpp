// SPDX-License-Identifier: Apache-2.0
#include "model/types/packet.h"

#include <algorithm>

namespace rxnic {

void Packet::reset() {
  frame_bytes = 0;
  sealed = false;
  decoded = false;
  id = 0;
  posted = Cycle{};
  complete = Cycle{};
  stamps = {};
}

void Packet::hold_long() {
  if (long_ == nullptr) long_ = std::make_unique<std::array<std::uint8_t, kMaxFrameBytes>>();
  frame = *long_;
}

void Packet::copy(const Packet& from) {
  hold(from.frame_bytes);
  std::copy_n(from.frame.begin(), from.frame_bytes, frame.begin());
  frame_bytes = from.frame_bytes;
  scratch = from.scratch;
  link = from.link;
  sealed = from.sealed;
  id = from.id;
  posted = from.posted;
  complete = from.complete;
  stamps = from.stamps;
}

PacketPool::PacketPool(const Quotas& q, const Cycle* now) : now_(now) {
  const std::array<std::uint32_t, kPacketClasses> sizes = {q.receive, q.response, q.request};
  for (std::size_t c = 0; c < kPacketClasses; ++c) quotas_[c].left = sizes[c];
}

PacketHandle PacketPool::allocate(PacketClass c, std::size_t bytes) {
  assert(available(c));
  --quotas_[static_cast<std::size_t>(c)].left;
  if (now_ != nullptr) allocated_in_ = *now_;
  if (free_count_ == 0) add_chunk();
  const PacketHandle h = free_[--free_count_];
  Packet& p = (*this)[h];
  p.reset();
  p.hold(bytes);
  p.pool_class = c;
  return h;
}

void PacketPool::release(PacketHandle h) {
  Quota& q = quotas_[static_cast<std::size_t>((*this)[h].pool_class)];
  ++q.left;
  if (now_ != nullptr) {  // (R1)
    if (q.released_in != *now_) {
      q.released_in = *now_;
      q.released = 0;
    }
    ++q.released;
  }
  free_[free_count_++] = h;
}

// When none is free.
void PacketPool::add_chunk() {
  const auto first = static_cast<std::uint32_t>(packets_.size());
  chunks_.push_back(std::make_unique<Packet[]>(kChunk));
  free_.resize(std::size_t{first} + kChunk);
  for (std::uint32_t i = 0; i < kChunk; ++i) packets_.push_back(&chunks_.back()[i]);
  for (std::uint32_t i = kChunk; i-- > 0;) free_[free_count_++] = PacketHandle{first + i};
}

}  // namespace rxnic
