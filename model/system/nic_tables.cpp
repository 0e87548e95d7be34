// SPDX-License-Identifier: Apache-2.0
#include "model/system/nic_tables.h"

#include <algorithm>
#include <cstddef>

#include "model/types/completion_codes.h"
#include "model/types/event.h"
#include "model/types/opcode.h"
#include "model/types/wire.h"

namespace rxnic {

namespace {

// (R7)
bool is_incident(const QpEvent& e) {
  if (e.kind == QpEventKind::kErrorCqe) return e.detail != static_cast<std::uint32_t>(WcStatus::kFlushed);
  if (e.kind == QpEventKind::kAsync) {
    const auto type = static_cast<EventType>(e.detail);
    return type != EventType::kCompletion && type != EventType::kPageRequest;
  }
  return e.kind < QpEventKind::kAsync;
}

// A packet may be dropped before its last byte comes.
std::uint64_t arrival_of(const Packet& buffer, Cycle now) {
  return std::min(buffer.stamped(Station::kWire).count, now.count);
}

void add_packet(TableCounts& to, std::uint64_t arrived, std::uint64_t waits, Cycle now) {
  ++to.packets;
  to.first = std::min(to.first, arrived);
  to.last = std::max(to.last, now.count);
  to.cycles += now.count - arrived;
  to.wait_cycles += waits;
}

void note_pause(TableCounts& to, Cycle now) {
  if (to.last != 0 && now.count > to.last) to.longest_pause = std::max(to.longest_pause, now.count - to.last);
}

// Adds the waits in front of each block that it has left, and of the ACK generator; their sum. (R3)
std::uint64_t add_waits(StationWaits& to, const Packet& buffer, bool checked, std::uint64_t arrived, Cycle now) {
  constexpr auto kLast = static_cast<std::size_t>(Station::kAckGenerator);
  std::uint64_t from = arrived, sum = 0;
  for (std::size_t n = 1; n < kLast; ++n) {
    const Passage& at = buffer.stamps[n];
    if (at.left == Cycle{}) continue;
    const std::uint64_t wait = at.taken.count > from ? at.taken.count - from : 0;
    to[n] += wait;
    sum += wait;
    from = at.left.count;
  }
  if (!checked || now.count <= from) return sum;
  to[kLast] += now.count - from;
  return sum + (now.count - from);
}

void add_fate(TableCounts& to, const AckRequest& p) {
  to.not_carried_out += p.drop_reason != DropReason::kNone;
  to.psn_ahead += p.drop_reason == DropReason::kPsnAhead;
  to.repeats += p.outcome == Outcome::kAckAgain || p.outcome == Outcome::kReplay;
  to.marked += p.congested;
}

}  // namespace

void NicTables::on_retire(const AckRequest& p, const Packet& buffer, Cycle now) {
  if (p.transport == Transport::kNone) [[unlikely]]
    return add_unchecked(p, buffer, now);
  if (p.drop_reason != DropReason::kNone) [[unlikely]] {
    note({QpEventKind::kDrop, raw(p.qpn), static_cast<std::uint32_t>(p.drop_reason), buffer.id}, now);
  }
  if (!has(now)) return;
  const std::uint32_t at = place(raw(p.qpn));
  if (!knows_peer_[at]) [[unlikely]]
    note_peer(qps_[at], p, buffer);
  Retired& r = retired_[retired_count_++ % kLater];
  if (retired_count_ - applied_ > kLater) {
    apply(r);
    ++applied_;
  }
  r.qp = at;
  r.opcode = p.opcode;
  r.ends = p.outcome == Outcome::kExecute && p.ends_message && p.drop_reason == DropReason::kNone;
  r.dropped = p.drop_reason != DropReason::kNone;
  r.ahead = p.drop_reason == DropReason::kPsnAhead;
  r.again = p.outcome == Outcome::kAckAgain || p.outcome == Outcome::kReplay;
  r.marked = p.congested;
  r.payload_bytes = p.payload_bytes;
  r.bytes = r.ends ? p.message_bytes : p.payload_bytes;
  r.arrived = arrival_of(buffer, now);
  r.now = now;
  r.waits = {};
  r.wait_cycles = add_waits(r.waits, buffer, true, r.arrived, now);
  const auto* const line = reinterpret_cast<const std::byte*>(&qps_[at].counts);
  for (std::size_t n = 0; n < sizeof(TableCounts) + sizeof(StationWaits); n += 64) __builtin_prefetch(line + n, 1);
}

void NicTables::apply(const Retired& r) const {
  Qp& of = qps_[r.qp];
  Cell& in = cell(r.opcode, r.bytes);
  for (std::size_t n = 0; n < r.waits.size(); ++n) of.waits[n] += r.waits[n];
  note_pause(of.counts, r.now);
  for (TableCounts* to : {&of.counts, &in.counts}) {
    add_packet(*to, r.arrived, r.wait_cycles, r.now);
    to->messages += r.ends;
    to->payload_bytes += r.payload_bytes;
    to->not_carried_out += r.dropped;
    to->psn_ahead += r.ahead;
    to->repeats += r.again;
    to->marked += r.marked;
  }
}

void NicTables::settle() const {
  for (; applied_ < retired_count_; ++applied_) apply(retired_[applied_ % kLater]);
  for (; added_ < received_count_; ++added_) {
    const Received& r = received_[added_ % kLater];
    qps_[r.qp].latency_ns.add(r.ns);
  }
}

void NicTables::add_unchecked(const AckRequest& p, const Packet& buffer, Cycle now) {  // (R1)
  Headers h;
  std::uint32_t number = 0;
  std::uint8_t opcode = kNoOpcode;
  std::uint64_t payload = 0;
  if (parse(buffer.frame_view(), buffer.link, h) == ParseStatus::kOk) {
    number = raw(h.destination_qp);
    opcode = h.opcode;
    payload = h.payload_bytes;
  }
  if (p.drop_reason != DropReason::kNone) {
    note({QpEventKind::kDrop, number, static_cast<std::uint32_t>(p.drop_reason), buffer.id}, now);
  }
  if (!has(now)) return;
  settle();  // in the order of time
  Qp& of = qp(number);
  Cell& in = cell(opcode, payload);
  const bool cnp = p.drop_reason == DropReason::kNone && (opcode_info(opcode).traits & kIsCnp) != 0;
  const std::uint64_t arrived = arrival_of(buffer, now);
  const std::uint64_t waits = add_waits(of.waits, buffer, false, arrived, now);
  note_pause(of.counts, now);
  for (TableCounts* to : {&of.counts, &in.counts}) {
    add_packet(*to, arrived, waits, now);
    to->payload_bytes += payload;
    to->cnps_received += cnp;
    add_fate(*to, p);
  }
}

void NicTables::note_peer(Qp& qp, const AckRequest& p, const Packet& buffer) {
  knows_peer_[static_cast<std::size_t>(&qp - qps_.data())] = true;
  Headers h;
  if (is_datagram(p.transport) || parse(buffer.frame_view(), buffer.link, h) != ParseStatus::kOk) return;
  qp.peer = h.source;
  qp.peer_qp = raw(p.remote_qpn);
}

void NicTables::on_qp_event(const QpEvent& event, Cycle now) {
  note(event, now);
  const bool of_no_qp = event.kind == QpEventKind::kAsync || event.kind == QpEventKind::kNetwork;
  if (has(now) && !of_no_qp) qp(event.number).counts.count(event);
}

void NicTables::add_receive(const MessageTimes& times, std::uint64_t ns) {
  const std::uint32_t at = place(raw(times.qpn));
  Received& r = received_[received_count_++ % kLater];
  if (received_count_ - added_ > kLater) {
    qps_[r.qp].latency_ns.add(r.ns);
    ++added_;
  }
  r = {at, ns};
  __builtin_prefetch(&qps_[at].latency_ns, 1);
  const Received& older = received_[(received_count_ + kLater / 2) % kLater];  // its histogram is there by now
  if (received_count_ >= kLater) qps_[older.qp].latency_ns.prefetch(older.ns);
  if (times.ended) cell(times.opcode, times.bytes).latency_ns.add(ns);
}

void NicTables::note(const QpEvent& event, Cycle now) {
  if (!is_incident(event)) return;
  if (next_ != nullptr) next_->on_qp_event(event, now);
  if (!has(now)) return;
  ++incident_counts_[static_cast<std::size_t>(event.kind)];
  const Incident incident{now.count, 0, event};
  if (incidents_.size() == RunIncidents::kMost) {
    if (incident.order() >= incidents_.front().order()) return;
    std::ranges::pop_heap(incidents_, {}, &Incident::order);
    incidents_.pop_back();
  }
  incidents_.push_back(incident);
  std::ranges::push_heap(incidents_, {}, &Incident::order);
}

std::vector<Incident> NicTables::incidents() const {
  std::vector<Incident> all = incidents_;
  std::ranges::sort(all, {}, &Incident::order);
  return all;
}

std::uint32_t NicTables::make_qp(std::uint32_t number) {
  if (qps_.size() >= kMostQps) {  // (R6)
    number = kNoQp;
    const std::uint32_t at = index_.find(number);
    if (at != FlatIndex::kNone) return at;
  }
  const auto at = static_cast<std::uint32_t>(qps_.size());
  index_.insert(number, at);
  qps_.emplace_back().number = number;
  knows_peer_.push_back(number == kNoQp);
  return at;
}

NicTables::Cell& NicTables::make_cell(std::uint8_t opcode, std::size_t size) const {
  if (cell_index_ == nullptr) cell_index_ = std::make_unique<std::array<std::array<Cell*, kSizes>, 256>>();
  Cell& made = cells_.emplace_back();
  made.opcode = opcode;
  made.size = static_cast<std::uint8_t>(size);
  (*cell_index_)[opcode][size] = &made;
  return made;
}

}  // namespace rxnic
