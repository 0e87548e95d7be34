// SPDX-License-Identifier: Apache-2.0
// The requester: packets are made, wait for their payload and leave (R2, R3, R5, R17 of requester.h).
#include <algorithm>

#include "model/blocks/requester.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/ip_offload.h"

namespace rxnic {

namespace {

void fill_in_checksums(Packet& p) {  // (R17)
  if (p.h.encapsulation == Encapsulation::kNone) {
    fill_checksums(p.frame.first(p.frame_bytes), IpFraming::kEthernet);
  } else {
    fill_checksums(p.frame.subspan(p.h.payload_offset, p.h.payload_bytes), IpFraming::kIpoib);
  }
}

}  // namespace

Requester::Turn Requester::make_packet(Sq& q, Cycle now) {
  if (!notices.can_push(now) || !shared_.packets.available(PacketClass::kRequest)) return Turn::kRefused;
  if (ask_for_page(q, now)) return Turn::kSent;
  turn_ = q.next;
  const bool begins = !q.queue().unsent();
  counters_.wqes += begins;
  next_make_ = now + (begins ? std::max(params_.cycles_per_wqe, params_.cycles_per_packet) : params_.cycles_per_packet);
  RequestPacket packet;
  asked_pieces_ = 0;
  if (q.make_packet(packet, payload_)) {
    if (begins && q.reliable()) {  // (R3)
      notices.push(now, q.notice());
      places_taken_ += places.bound();
    }
    const PacketHandle h = shared_.packets.allocate(PacketClass::kRequest, kMostHeaderBytes + payload_.bytes);
    Packet& p = shared_.packets[h];
    payload_at_ = p.frame.data() + q.write_frame(packet, payload_, p);
    Made m;
    m.frame = {h, static_cast<std::uint16_t>(p.frame_bytes), p.link, false, false};
    m.qpn = q.qpn();
    m.number = q.number;
    m.wqe = q.queue().current().wqe;
    m.bytes = payload_.bytes;
    m.reliable = q.reliable();
    m.checksums = q.wants_checksums();
    if (q.rate.limited()) count_bytes(q, m.frame.bytes, now);
    ++counters_.packets;
    counters_.segments += q.queue().current().mss != 0;
    counters_.checksums += m.checksums;
    counters_.repeated += packet.repeated;
    counters_.payload_bytes += payload_.bytes;
    counters_.null_bytes += payload_.zeros;
    made_bytes_ += payload_.bytes;
    const SendRequest request = q.queue().current();
    const bool done = q.queue().sent();
    m.completes = done && !q.reliable() && q.signaled(request.flags);
    if (m.completes) m.completion = q.success(request);
    made_.push(m, payload_.pieces.empty() ? now + params_.latency_cycles : kNever);
    payload_place_ = made_.last();
    q.made += !m.reliable;
  }
  update(q);
  return Turn::kSent;
}

Requester::Turn Requester::send_made(Cycle now) {  // (R2)
  if (now < next_leave_ || !made_.ready(now)) return Turn::kNobody;
  const Made& m = made_.front();
  if (m.lost && !m.dropped) lose(made_.front());
  if (m.dropped) {
    shared_.packets.release(m.frame.buffer);
    made_bytes_ -= m.bytes;
    made_.drop();
    next_leave_ = now + 1;
    return Turn::kSent;
  }
  if (!tx.can_push(now) || (m.completes && successes_.full())) return Turn::kRefused;
  Packet& p = shared_.packets[m.frame.buffer];
  if (m.checksums) fill_in_checksums(p);
  if (p.h.encapsulation != Encapsulation::kNone) seal(p.frame.first(p.frame_bytes), p.h);
  tx.push(now, m.frame);
  made_bytes_ -= m.bytes;
  next_leave_ = now + params_.cycles_per_packet;
  if (m.completes) successes_.push(m.completion, now);  // (R3)
  if (Sq* const q = find(m.qpn, m.number)) {
    if (!m.reliable) {
      if (--q->made == 0) update(*q);
    } else if (!q->queue().waiting() && (q->deadline == kNever || q->rate.limited())) {
      restart_timer(*q, now);
    }
  }
  made_.drop();
  return Turn::kSent;
}

// The packets of the QP that have not left do not leave.
void Requester::drop_made(Sq& q) {
  q.made = 0;
  for (std::uint32_t n = 0; n < made_.size(); ++n) {
    Made& m = made_.at(n);
    m.dropped |= m.qpn == q.qpn() && m.number == q.number;
  }
}

// The payload of the packet could not be read. Packets of earlier WQEs, sent again, go on. (R5)
void Requester::lose(Made& first) {
  Sq& q = *find(first.qpn, first.number);
  if (q.completed(first.wqe)) {  // its first copy has arrived, and the program has taken its memory away
    first.dropped = true;
    return;
  }
  const std::uint32_t wqe = first.wqe;
  for (std::uint32_t n = 0; n < made_.size(); ++n) {
    Made& m = made_.at(n);
    m.dropped |= m.qpn == q.qpn() && m.number == q.number && static_cast<std::int32_t>(m.wqe - wqe) >= 0;
  }
  if (!q.reliable()) q.made = 0;
  q.lose(wqe);
  update(q);
}

}  // namespace rxnic
