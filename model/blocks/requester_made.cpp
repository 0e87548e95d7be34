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
  if (!notices.can_push(now) || !packets_.available(PacketClass::kRequest)) return Turn::kRefused;
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
    const PacketHandle h = packets_.allocate(PacketClass::kRequest, kMostHeaderBytes + payload_.bytes);
    Packet& p = packets_[h];
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
    if (packet.repeated) notify({QpEventKind::kSentAgain, raw(q.qpn())}, now);
    counters_.requests_repeated += packet.repeats_request;
    counters_.payload_bytes += payload_.bytes;
    counters_.null_bytes += payload_.zeros;
    made_bytes_ += payload_.bytes;
    const SendRequest request = q.queue().current();
    const bool done = q.queue().sent();
    m.completes = done && !q.reliable() && q.signaled(request.flags);
    if (m.completes) m.completion = q.success(request);
    m.waits = q.last_made != kNone;
    payload_place_ = free_made_.back();
    free_made_.pop_back();
    made_[payload_place_] = m;
    if (m.waits) made_[q.last_made].next = payload_place_;
    q.last_made = payload_place_;
    if (open_turn_ == kNone) {
      open_turn_ = payload_place_;
      turn_bytes_ = 0;
    }
    made_[payload_place_].turn = open_turn_;
    Made& first = made_[open_turn_];
    first.open = true;
    first.last = payload_place_;
    first.pieces += static_cast<std::uint32_t>(payload_.pieces.size());
    turn_bytes_ += payload_.bytes;
    if (done || turn_bytes_ >= params_.gather_bytes) end_turn(now);
    q.made += !m.reliable;
  }
  update(q);
  return Turn::kSent;
}

Requester::Turn Requester::send_made(Cycle now) {  // (R2)
  if (now < next_leave_ || !leaving_.ready(now)) return Turn::kNobody;
  const std::uint32_t place = leaving_.front();
  Made& m = made_[place];
  if (m.lost && !m.dropped) lose(m);
  if (m.dropped) {
    packets_.release(m.frame.buffer);
    remove_made(place);
    next_leave_ = now + 1;
    return Turn::kSent;
  }
  if (!tx.can_push(now) || (m.completes && successes_.full())) return Turn::kRefused;
  Packet& p = packets_[m.frame.buffer];
  if (m.checksums) fill_in_checksums(p);
  p.sealed = p.h.encapsulation != Encapsulation::kNone;
  if (p.sealed) seal(p.frame.first(p.frame_bytes), p.h);
  tx.push(now, m.frame);
  next_leave_ = now + params_.cycles_per_packet;
  if (m.completes) successes_.push(m.completion, now);  // (R3)
  if (Sq* const q = find(m.qpn, m.number)) {
    if (!m.reliable) {
      if (--q->made == 0) update(*q);
    } else if (!q->queue().waiting() && (q->deadline == kNever || q->rate.limited())) {
      restart_timer(*q, now);
    }
  }
  remove_made(place);
  return Turn::kSent;
}

void Requester::end_turn(Cycle now) {
  Made& first = made_[open_turn_];
  first.open = false;
  if (first.pieces == 0) be_ready(open_turn_, now + params_.latency_cycles);
  open_turn_ = kNone;
}

// All payload of the turn has come.
void Requester::be_ready(std::uint32_t turn, Cycle cycle) {
  if (!made_[turn].waits) leaving_.push(turn, cycle);
  for (std::uint32_t place = turn;; place = made_[place].next) {
    made_[place].ready = cycle;
    if (place == made_[turn].last) return;
  }
}

// The first of `leaving_`: the next packet of its QP takes its turn among them.
void Requester::remove_made(std::uint32_t place) {
  leaving_.pop();
  const Made& m = made_[place];
  made_bytes_ -= m.bytes;
  free_made_.push_back(place);
  if (m.next != kNone) {
    Made& next = made_[m.next];
    next.waits = false;
    if (next.ready != kNever) leaving_.push(m.next, next.ready);
  } else if (Sq* const q = find(m.qpn, m.number)) {
    q->last_made = kNone;
  }
}

// The packets of the QP that have not left do not leave.
void Requester::drop_made(Sq& q) {
  q.made = 0;
  for (Made& m : made_) {
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
  for (Made& m : made_) {
    m.dropped |= m.qpn == q.qpn() && m.number == q.number && static_cast<std::int32_t>(m.wqe - wqe) >= 0;
  }
  if (!q.reliable()) q.made = 0;
  q.lose(wqe);
  update(q);
}

}  // namespace rxnic
