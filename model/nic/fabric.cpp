// SPDX-License-Identifier: Apache-2.0
#include "model/nic/fabric.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "model/core/wire/ecn.h"
#include "model/nic/fabric_port.h"
#include "model/types/bits.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kMbpsPerGbps = 1000;
constexpr std::size_t kNoSender = ~std::size_t{0};

// The sender of the set whose first frame has the earliest first byte, of those that have come. (R6)
template <class FirstOf>
std::size_t first_sender(std::uint64_t senders, Cycle now, FirstOf&& first_of) {
  std::size_t sender = kNoSender;
  Instant earliest_byte;
  for_each_bit(senders, [&](std::size_t s) {
    const Instant first_byte = first_of(s)->first_byte;
    if (first_byte.floor() > now || (sender != kNoSender && first_byte >= earliest_byte)) return;
    sender = s;
    earliest_byte = first_byte;
  });
  return sender;
}

}  // namespace

Fabric::Fabric(const sc_core::sc_module_name& name, const Params& params, Engine& engine, std::uint32_t nics)
    : Block(name),
      params_(params.fabric),
      watches_queues_(params.fabric.ecn_threshold_bytes != 0 || params.fabric.switch_full == SwitchFullPolicy::kDrop),
      fixed_bytes_(kFcsBytes + params.wire.preamble_gap_bytes),
      time_(params.nic.link_gbps * kMbpsPerGbps, params.nic.clock_period_ps),
      cut_through_bytes_(params.wire.cut_through_bytes),
      across_(time_.after_ps({}, params.fabric.switch_latency_ps + 2 * params.fabric.cable_delay_ps)),
      loopback_(time_.after_ps({}, params.fabric.loopback_latency_ps)),
      network_(impairments_of(params.fabric)) {
  assert(nics <= kMaxPorts);
  for (std::uint32_t n = 0; n < nics; ++n) {
    Port& port = *ports_.emplace_back(std::make_unique<Port>(n, nics, time_));
    port.carried.reserve(nics);
    port.answers.show_in(answering_, bit_of(n));
    port.requests.show_in(requesting_, bit_of(n));
  }
  engine.add(*this);
}

Fabric::~Fabric() = default;

void Fabric::attach(Nic& nic, const PortAddress& address) {
  assert(attached_ < ports_.size());
  Port& port = *ports_[attached_];
  port.nic = &nic;
  port.answers.bind(nic.wire_out);
  port.requests.bind(nic.requests_out);
  port.wire.bind(nic.wire_in);
  routes_.add(address, attached_);
  for (const Address& a : address.addresses) {
    [[maybe_unused]] const bool added = nic.rx_parser.add_address(a);
    assert(added);  // own_addresses has room for those of a port
  }
  ++attached_;
}

Cycle Fabric::step(Cycle now) {
  room_made_ = false;
  // (1) each NIC's line: a frame leaves, the next one starts
  for_each_bit(senders(), [&](std::size_t n) { send(*ports_[n], now); });
  // (2) each line to a NIC: a frame arrives, the next one follows
  for_each_bit(receiving_, [&](std::size_t n) { receive(*ports_[n], now); });
  // (3) rest
  return rest(now, frames_in_flight_ == 0 ? Activity::kStarved : Activity::kBusy, next_step(now));
}

Cycle Fabric::next_step(Cycle now) const {
  Cycle next = kNever;
  for_each_bit(senders(), [&](std::size_t n) {
    const Port& p = *ports_[n];
    if (p.sending != kNoPacket) {
      next = earliest(next, Cycle{p.tx.free().ceiling().count - 1});
    } else if (p.resumes >= Instant{now.count + 1, 0}) {
      next = earliest(next, p.resumes.floor());
    } else if (room_made_ || p.tx.free() > Instant{now.count, 0}) {
      next = now + 1;
    }
  });
  for_each_bit(receiving_, [&](std::size_t n) {
    const Port& p = *ports_[n];
    if (p.arriving != nullptr) {
      const Cycle due = p.arrives.ceiling();
      if (due > now) next = earliest(next, due);
      if (p.refused) next = now + 1;
      return;
    }
    const auto at = [&](const Frame* first) { next = earliest(next, latest(first->first_byte.floor(), now + 1)); };
    for_each_bit(p.waiting, [&](std::size_t sender) { at(p.queues[sender].waiting.first); });
    for_each_bit(p.coming, [&](std::size_t sender) { at(p.queues[sender].coming.first); });
  });
  return next;
}

void Fabric::send(Port& from, Cycle now) {
  const Instant next_cycle{now.count + 1, 0};
  for (;;) {
    if (from.sending != kNoPacket) {
      if (from.tx.free() > next_cycle) return;
      leave(from, now);  // (R7)
    }
    if (from.tx.free() >= next_cycle || from.resumes >= next_cycle) return;
    In<WireFrame>* const input = next_input(from, now);
    if (input == nullptr) return;
    start(from, *input, now);
  }
}

// The input that has its turn among those with a frame that may be sent. (R2)
In<WireFrame>* Fabric::next_input(Port& from, Cycle now) {
  const bool answer = from.answers.can_pop(now);
  bool request = from.requests.can_pop(now);
  if (request && is_paused(from, from.nic->shared.packets[from.requests.peek(now)->buffer])) {
    request = false;
    counters_.paused += !from.pause_counted;
    from.pause_counted = true;
  }
  if (!answer && !request) return nullptr;
  return request && (from.request_next || !answer) ? &from.requests : &from.answers;
}

bool Fabric::is_paused(const Port& from, const Packet& request) {  // (R5)
  const std::uint32_t to = routes_.of(request);
  if (to == FabricRoutes::kNobody) return false;
  const auto is_full = [&](const auto& port) {
    if (drops() && port->number != from.number) return false;  // (R8)
    return port->queues[from.number].bytes >= params_.switch_buffer_bytes;
  };
  return to == FabricRoutes::kEverybody ? std::any_of(ports_.begin(), ports_.end(), is_full) : is_full(ports_[to]);
}

void Fabric::start(Port& from, In<WireFrame>& input, Cycle now) {  // (R1)
  from.request_next = &input == &from.answers;
  if (!from.request_next) from.pause_counted = false;
  from.sending = input.pop(now).buffer;
  sending_ |= bit_of(from.number);
  const Packet& p = from.nic->shared.packets[from.sending];
  const Instant begin = std::max({from.tx.free(), from.resumes, Instant{now.count, 0}});
  from.tx.carry(begin, p.frame_bytes + fixed_bytes_);
  ++frames_in_flight_;
  const std::uint32_t to = from.sending_to = routes_.of(p);
  counters_.bytes += p.frame_bytes;
  if (to == FabricRoutes::kNobody) {  // (R3)
    ++counters_.unroutable;
    return;
  }
  counters_.loopback += to == from.number;
  counters_.frames += to != from.number;
  from.crossing += to != from.number;
  const auto carry_to = [&](Port& port) {
    const bool own = port.number == from.number;  // (R4)
    const Instant first_byte = time_.after_span(begin, own ? loopback_ : across_);
    if (own || !network_.any()) {
      carry(from, port, p, first_byte);
    } else {
      cross(from, port, p, first_byte);
    }
  };
  if (to == FabricRoutes::kEverybody) {
    for (const auto& port : ports_) carry_to(*port);
  } else {
    carry_to(*ports_[to]);
  }
}

Fabric::Frame& Fabric::carry(Port& from, Port& to, const Packet& p, Instant first_byte) {
  Frame* const frame = allocate();
  frame->first_byte = first_byte;
  frame->posted = p.posted;
  frame->bytes = p.frame_bytes;
  frame->link = p.link;
  frame->sealed = p.sealed && !params_.check_own_icrc;
  from.carried.push_back(frame);
  std::memcpy(frame->data.data(), p.frame.data(), p.frame_bytes);
  Queue& q = to.queues[from.number];
  q.bytes += frame->bytes;
  (watches_queues_ ? q.coming : q.waiting).insert(frame);
  (watches_queues_ ? to.coming : to.waiting) |= bit_of(from.number);
  receiving_ |= bit_of(to.number);
  return *frame;
}

void Fabric::leave(Port& from, Cycle now) {
  PacketPool& pool = from.nic->shared.packets;
  ++frames_left_;
  for (Frame* const copy : from.carried) {
    copy->number = frames_left_;
    if (copy->given_to != nullptr) number_given(*copy);
  }
  from.carried.clear();
  if (!from.harms.empty()) report_harms(from, now);
  if (observer_ != nullptr) {
    observer_->on_frame(from.number, from.sending_to, pool[from.sending].frame_view(), time_.to_ps(from.tx.free()));
  }
  pool.release(from.sending);
  from.sending = kNoPacket;
  sending_ &= ~bit_of(from.number);
  --frames_in_flight_;
}

// A frame whose receiver has it already. (R11)
void Fabric::number_given(Frame& frame) {
  Packet& p = frame.given_to->shared.packets[frame.given];
  if (p.id == 0 && p.complete == frame.complete) p.id = frame.number;  // otherwise it was dropped and its buffer freed
  frame.given_to = nullptr;
  free(&frame);
}

// Frames whose first byte has come wait from now on, or are dropped. (R8, R9, R10)
void Fabric::admit(Port& to, Cycle now) {
  while (to.coming != 0) {
    const std::size_t sender = first_sender(to.coming, now, [&](std::size_t s) { return to.queues[s].coming.first; });
    if (sender == kNoSender) return;
    Queue& q = to.queues[sender];
    Frame* const frame = q.coming.pop();
    if (q.coming.empty()) to.coming &= ~bit_of(sender);
    const bool own = sender == to.number;
    if (drops() && !own && q.waiting_bytes + frame->bytes > params_.switch_buffer_bytes) {
      ++counters_.dropped;
      notify(to, NetworkHarm::kSwitchFull, {frame->data.data(), frame->bytes}, frame->number, now);
      q.bytes -= frame->bytes;
      std::erase(ports_[sender]->carried, frame);  // its last byte may not have left yet
      free(frame);
      if (to.waiting == 0 && to.coming == 0 && to.arriving == nullptr) receiving_ &= ~bit_of(to.number);
      continue;
    }
    const bool marks = params_.ecn_threshold_bytes != 0 && to.waiting_bytes >= params_.ecn_threshold_bytes && !own;
    if (marks && mark_congested({frame->data.data(), frame->bytes})) ++counters_.ecn_marked;
    q.waiting.push(frame);
    q.waiting_bytes += frame->bytes;
    if (!own) to.waiting_bytes += frame->bytes;
    to.waiting |= bit_of(sender);
  }
}

void Fabric::receive(Port& to, Cycle now) {
  admit(to, now);
  while (to.arriving != nullptr || begin_arrival(to, now)) {
    if (to.arrives.ceiling() > now || !deliver(to, now)) return;
  }
}

// The frame whose first byte arrives first takes the line. (R6)
bool Fabric::begin_arrival(Port& to, Cycle now) {
  const std::size_t sender = first_sender(to.waiting, now, [&](std::size_t s) { return to.queues[s].waiting.first; });
  if (sender == kNoSender) return false;
  Queue& q = to.queues[sender];
  to.arriving = q.waiting.pop();
  q.bytes -= to.arriving->bytes;
  if (watches_queues_) {
    q.waiting_bytes -= to.arriving->bytes;
    if (sender != to.number) to.waiting_bytes -= to.arriving->bytes;
  }
  if (q.waiting.empty()) to.waiting &= ~bit_of(sender);
  const std::uint32_t bytes = to.arriving->bytes + fixed_bytes_;
  to.arrives = time_.after_bytes(std::max(to.arriving->first_byte, to.rx.free()), std::min(bytes, cut_through_bytes_));
  to.rx.carry(to.arriving->first_byte, bytes);
  room_made_ = true;
  return true;
}

bool Fabric::deliver(Port& to, Cycle now) {  // (R5)
  PacketPool& pool = to.nic->shared.packets;
  to.refused = !pool.available(PacketClass::kReceive);
  if (to.refused || !to.wire.can_push(now)) return false;
  Frame* const frame = to.arriving;
  if (to.arrives.ceiling() < now) {  // (R12)
    const std::uint32_t bytes = frame->bytes + fixed_bytes_;
    to.rx.hold(time_.after_bytes({now.count, 0}, bytes - std::min(bytes, cut_through_bytes_)));
  }
  const PacketHandle h = pool.allocate(PacketClass::kReceive, frame->bytes);
  Packet& p = pool[h];
  std::memcpy(p.frame.data(), frame->data.data(), frame->bytes);
  p.frame_bytes = frame->bytes;
  p.link = frame->link;
  p.sealed = frame->sealed;
  p.id = frame->number;
  p.posted = frame->posted;
  p.complete = frame->complete = to.rx.free().ceiling();
  p.stamp(Station::kWire, now);
  to.wire.push(now, {h, static_cast<std::uint16_t>(frame->bytes), frame->link, false, false});
  std::uint64_t end = 0;
  std::memcpy(&end, p.frame.data() + p.frame_bytes - sizeof end, sizeof end);
  digest_.mix(now.count);
  digest_.mix(end);
  to.arriving = nullptr;
  if (to.waiting == 0 && to.coming == 0) receiving_ &= ~bit_of(to.number);
  if (frame->number == 0) {
    frame->given_to = to.nic;
    frame->given = h;
  } else {
    free(frame);
  }
  return true;
}

Fabric::Frame* Fabric::allocate() {
  ++frames_in_flight_;
  if (free_frames_ == nullptr) {
    frames_.push_back(std::make_unique<Frame>());
    free_frames_ = frames_.back().get();
  }
  Frame* const frame = free_frames_;
  free_frames_ = frame->next;
  frame->next = nullptr;
  frame->number = 0;
  return frame;
}

void Fabric::free(Frame* frame) {
  frame->next = free_frames_;
  free_frames_ = frame;
  --frames_in_flight_;
}

void Fabric::hash(StateHash& h) const {
  // What a perfect network counts comes first. The others are left out while they are 0.
  constexpr std::size_t kOfPerfect = 7;
  std::size_t n = 0;
  Counters<FabricCounters>::for_each(
      [&](const CounterInfo&, std::uint64_t count) {
        if (n++ < kOfPerfect || count != 0) h.mix(count);
      },
      counters_);
  h.mix(std::uint64_t{frames_in_flight_});
  h.mix(digest_.value());
}

}  // namespace rxnic
