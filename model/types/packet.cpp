// SPDX-License-Identifier: Apache-2.0
#include "model/types/packet.h"

namespace rxnic {

void Packet::reset() {
  h = Headers{};
  frame_bytes = wire_bytes = 0;
  role = PacketRole::kReceived;
  icrc_ok = false;
  id = 0;
  posted = Cycle{};
  qp = nullptr;
  outcome = Outcome::kUndecided;
  drop_reason = DropReason::kNone;
  epoch = 0;
  message_sequence = 0;
  undo = ResponderUndo{};
  syndrome = access = 0;
  acknowledge = takes_wqe = ends_message = completes = releases_wqe = fails_qp = resynchronised = bad_length = false;
  status = WcStatus::kSuccess;
  cqe_opcode = CqeOpcode::kReceive;
  cq = Cqn{};
  pd = Pdn{};
  answer_psn = Psn{};
  answer_msn = 0;
  message_start = message_bytes = 0;
  queue = kNoWq;
  wqe_slot = 0xffffffff;
  wqe_index = posted_wqes = byte_count = 0;
  cqe_flags = strip_bytes = 0;
  tag = 0;
  tag_context = 0;
  tag_verdict = TagVerdict::kNone;
  tag_buffer = DataSegment{};
  local_va = 0;
  local_key = Key{};
  local_bytes = resource = 0;
  segment_count = 0;
  stamps = {};
}

PacketPool::PacketPool(const Quotas& q, const Cycle* now) : now_(now) {
  const std::array<std::uint32_t, kPacketClasses> sizes = {q.receive,  q.internal, q.internal, q.internal,
                                                           q.internal, q.response, q.request};
  for (std::size_t c = 0; c < kPacketClasses; ++c) quotas_[c].left = sizes[c];
}

PacketHandle PacketPool::allocate(PacketClass c) {
  assert(available(c));
  --quotas_[static_cast<std::size_t>(c)].left;
  if (free_.empty()) {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * kChunk;
    chunks_.push_back(std::make_unique<Packet[]>(kChunk));
    for (std::uint32_t i = kChunk; i-- > 0;) free_.push_back(PacketHandle{first + i});
  }
  const PacketHandle h = free_.back();
  free_.pop_back();
  Packet& p = (*this)[h];
  p.reset();
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
  free_.push_back(h);
}

}  // namespace rxnic
