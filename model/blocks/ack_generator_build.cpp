// SPDX-License-Identifier: Apache-2.0
// The builder: responses that are ready, and CNPs, become frames (R2, R8, R10 of ack_generator.h).
#include <cstring>

#include "model/blocks/ack_generator.h"
#include "model/types/syndrome.h"

namespace rxnic {

void AckGenerator::start_build(Cycle now) {  // (R2)
  if (now < next_start_ || line_.full()) return;
  if (!cnps_.empty()) {
    if (packets_.available(PacketClass::kResponse)) {
      build_cnp(now);
      return;
    }
    wants_buffer_ = true;  // (R8) READ data that has come has a buffer, and frees it
  }
  const bool data = !data_ready_.empty();
  // (R3) Responses that were ready when the data's READ began may be of its QP: they go before the data. (R8) Data has
  // its buffer: it goes when there is none for another response.
  const auto may_go_first = [&] {
    const bool its_turn = data_next_ || !packets_.available(PacketClass::kResponse);
    return its_turn && ready_.front().ticket >= answers_[on_their_way_[data_ready_.front()].answer].after;
  };
  if (data && (ready_.empty() || may_go_first())) {
    data_next_ = false;
    build_read_response(now);
  } else if (!ready_.empty()) {
    build_plain(now);
  }
}

// A packet is marked Congestion Experienced. (R10)
void AckGenerator::notify_congestion(const AckRequest& p, Cycle now) {
  if (p.role != PacketRole::kReceived || p.line == kNoLine || is_datagram(p.transport)) return;
  const bool by_address = params_.cnp_scope == CnpScope::kAddress;
  const Address peer = by_address ? return_path(p).headers().destination : Address{};
  const CnpVerdict verdict = cnp_pacer_.marked(p.qpn, peer, now, !cnps_.full());
  counters_.cnps_paced += verdict == CnpVerdict::kPaced;
  counters_.cnps_refused += verdict == CnpVerdict::kNoTimer;
  if (verdict == CnpVerdict::kSend) cnps_.push({cnp_headers(return_path(p).headers()), p.id, p.qpn}, now);
}

void AckGenerator::build_cnp(Cycle now) {
  const PacketHandle h = packets_.allocate(PacketClass::kResponse, kMostHeaderBytes);
  Packet& p = packets_[h];
  p.id = cnps_.front().id;
  p.h = cnps_.front().h;
  const Qpn qpn = cnps_.front().qpn;
  cnps_.drop();
  notify({QpEventKind::kCnp, raw(qpn), 0, p.id}, now);
  build(h, 0, qpn, now, now);
}

inline void AckGenerator::build_plain(Cycle now) {
  if (!packets_.available(PacketClass::kResponse)) {  // (R8)
    wants_buffer_ = true;
    return;
  }
  data_next_ = true;
  const Ready ready = ready_.pop();
  ready_plain_ -= ready.plain;
  const PacketHandle h = packets_.allocate(PacketClass::kResponse, kMostHeaderBytes);
  Packet& p = packets_[h];
  const OwedAnswer& a = answers_[ready.answer];
  p.id = a.id;
  answers_.remove(ready.answer);
  if (a.ack.bytes == 0) {
    p.h = a.h;
    build(h, 0, a.qpn, a.begun, now);
    return;
  }
  std::memcpy(p.frame.data(), a.ack.data.data(), a.ack.data.size());
  p.frame_bytes = a.ack.bytes;
  p.sealed = true;
  p.link = LinkLayer::kEthernet;
  p.destination = a.destination;
  count_ack(a.syndrome, a.qpn, a.id, now);
  leave({h, a.ack.bytes, p.link, false, false}, now);
}

void AckGenerator::build(PacketHandle h, std::uint32_t payload_bytes, Qpn qpn, Cycle begun, Cycle now) {
  Packet& p = packets_[h];
  const WireFrame frame = build_answer(h, p, payload_bytes);
  const std::uint32_t traits = opcode_info(p.h.opcode).traits;
  counters_.cnps += (traits & kIsCnp) != 0;
  counters_.read_responses += (traits & kReadResponse) != 0;
  counters_.atomic_responses += (traits & kHasAtomicAckEth) != 0;
  if ((traits & (kAckKind | kHasAtomicAckEth)) == kAckKind) count_ack(p.h.syndrome, qpn, p.id, now);
  const bool atomic = (traits & kHasAtomicAckEth) != 0;
  if (observer_ != nullptr && (atomic || (traits & kReadResponse) != 0)) {
    const bool last = atomic || (traits & (kLast | kOnly)) != 0;
    observer_->on_response(begun, now + params_.latency_cycles, payload_bytes, last);
  }
  leave(frame, now);
}

void AckGenerator::count_ack(std::uint8_t syndrome, Qpn qpn, std::uint64_t id, Cycle now) {
  const AckKind kind = ack_kind(syndrome);
  counters_.acks += kind == AckKind::kAck;
  counters_.rnr_naks += kind == AckKind::kRnrNak;
  counters_.naks += kind == AckKind::kNak;
  if (kind != AckKind::kAck) notify({QpEventKind::kNak, raw(qpn), syndrome, id}, now);
}

// A response whose build starts now leaves latency_cycles later.
void AckGenerator::leave(const WireFrame& frame, Cycle now) {
  const Cycle leaves = now + params_.latency_cycles;
  if (line_.empty() && tx.can_send(now, leaves)) {
    tx.send(now, leaves, frame, [](WireFrame&) {});
    last_leaves_ = leaves;
  } else {
    line_.push(frame, leaves);
  }
  next_start_ = now + params_.response_cycles;
}

}  // namespace rxnic
