// SPDX-License-Identifier: Apache-2.0
// READ data: asking for it, and building responses of it (R4, R7 of ack_generator.h).
#include <algorithm>
#include <utility>

#include "model/blocks/ack_generator.h"
#include "model/types/syndrome.h"

namespace rxnic {

// The READ of the QP whose data is to be asked for next: all data of the READs before it has been asked for.
AckGenerator::Index AckGenerator::readable(const AnswerTable::Flow& f) const {
  const auto is_read = [&](Index at) { return at != kNone && answers_[at].needs == AnswerNeeds::kRead; };
  Index at = f.first;
  while (is_read(at) && answers_[at].read.bytes_left == 0) at = answers_.next(at);
  return is_read(at) ? at : kNone;
}

void AckGenerator::issue(Cycle now) {
  if (may_do_atomic() && dma.can_push(now)) issue_atomic(now);
  const auto leave = [&] {  // the flow at the front has no data left to ask for
    const Index flow = served_.pop();
    answers_.flow(flow).listed = false;
    answers_.free_if_empty(flow);
    if (!unserved_.empty()) served_.push(unserved_.pop(), Cycle{});
  };
  // Flows whose READs have failed since they came here.
  while (!served_.empty() && readable(answers_.flow(served_.front())) == kNone) leave();
  if (!gather.can_push(now)) return;
  if (next_piece_ < pieces_.size()) {
    ask_piece(now);
    return;
  }
  if (served_.empty() || free_ways_.empty()) return;
  // (R8) Data must not hold all buffers while a response waits for one that leaves before the data (R3).
  const std::size_t on_their_way = on_their_way_.size() - free_ways_.size();
  const bool leaves_one = ready_.empty() || on_their_way + 1 < params_.packet_buffers;
  if (!leaves_one || !packets_.available(PacketClass::kResponse)) {
    wants_buffer_ = true;
    return;
  }
  if (scheduler_ != nullptr) schedule();
  const Index flow = served_.front();
  AnswerTable::Flow& f = answers_.flow(flow);
  issue_read(flow, readable(f), now);
  if (readable(f) == kNone) {
    leave();
  } else if (f.on_way >= params_.read_responses_per_qp) {
    ++counters_.read_limits;
    f.at_limit = true;
    f.turns = 0;
    served_.drop();
    ++at_limit_;
  } else if (++f.turns >= params_.responses_per_turn) {  // (R4)
    f.turns = 0;
    served_.push(served_.pop(), Cycle{});
  }
}

// Brings the flow that the policy chooses to the front, and leaves the order of the others: the longest waiting first.
// The one that is there has data to ask for; if it has been served it waits from now on.
void AckGenerator::schedule() {
  std::vector<ReadTurn> waiting;
  std::vector<std::uint32_t> places;
  for (std::uint32_t n = 0; n < served_.size(); ++n) {
    const AnswerTable::Flow& f = answers_.flow(served_.at(n));
    const Index at = readable(f);
    if (at == kNone) continue;  // failed meanwhile: it leaves when it comes to the front
    waiting.push_back({Qpn{f.qpn}, answers_[at].read.bytes_left, f.on_way, f.turns});
    places.push_back(n);
  }
  const std::size_t chosen = scheduler_->next(waiting);
  std::uint32_t place = chosen < places.size() ? places[chosen] : 0;
  if (place == 0) return;
  if (AnswerTable::Flow& before = answers_.flow(served_.front()); before.turns > 0) {
    before.turns = 0;
    served_.push(served_.pop(), Cycle{});
    --place;
  }
  for (; place > 0; --place) std::swap(served_.at(place), served_.at(place - 1));
}

// Asks for the next piece of the response at hand.
void AckGenerator::ask_piece(Cycle now) {
  const Piece& piece = pieces_[next_piece_++];
  asking_.last = next_piece_ == pieces_.size();
  asking_.offset = piece.offset;
  asking_.key = piece.key;
  asking_.va = piece.va;
  asking_.bytes = piece.bytes;
  gather.push(now, asking_);
}

// It may leave when it is the first of its QP. (R4)
void AckGenerator::take_data(Cycle now) {
  const GatheredData data = gathered.pop(now);
  const auto is_it = [&](const OnItsWay& w) { return w.buffer == data.buffer && w.came == kNever && w.flow != kNone; };
  const auto way = std::find_if(on_their_way_.begin(), on_their_way_.end(), is_it);
  way->came = now;
  way->data = data;
  const auto at = static_cast<std::uint32_t>(way - on_their_way_.begin());
  if (answers_.flow(way->flow).first_on_way == at) data_ready_.push(at, now);
}

void AckGenerator::build_read_response(Cycle now) {
  const std::uint32_t at = data_ready_.pop();
  const OnItsWay from = on_their_way_[at];
  const GatheredData& data = from.data;
  on_their_way_[at] = {};
  free_ways_.push_back(at);
  AnswerTable::Flow& flow = answers_.flow(from.flow);
  flow.first_on_way = from.next;
  --flow.on_way;
  if (flow.at_limit) {
    flow.at_limit = false;
    --at_limit_;
    served_.push(from.flow, Cycle{});
  }
  if (from.next == kNone) {
    flow.last_on_way = kNone;
  } else if (const Cycle came = on_their_way_[from.next].came; came != kNever) {
    data_ready_.push(from.next, came);
  }
  Packet& p = packets_[data.buffer];
  OwedAnswer& a = answers_[from.answer];
  --a.on_their_way;
  if (data.gone && !a.failed) fail_silently(from.answer);
  if (a.failed) {
    ++counters_.suppressed;
    packets_.release(data.buffer);
  } else if (data.syndrome != 0) {  // (R7)
    ++counters_.memory_errors;
    make_nak(a, data.syndrome);
    const Psn psn = p.h.psn;
    p.h = a.h;
    p.h.psn = psn;
    fail_behind(from.answer);
    build(data.buffer, 0, a.qpn, a.begun, now);
  } else {
    counters_.read_bytes += p.h.payload_bytes;
    build(data.buffer, p.h.payload_bytes, a.qpn, a.begun, now);
  }
  if (a.read.bytes_left == 0 && a.on_their_way == 0) advance(from.flow, now);
}

void AckGenerator::issue_read(Index flow, Index at, Cycle now) {  // (R4)
  OwedAnswer& a = answers_[at];
  const std::size_t bytes = std::min(a.read.bytes_left, a.read.mtu);
  const PacketHandle h = packets_.allocate(PacketClass::kResponse, kMostHeaderBytes + bytes);
  Packet& response = packets_[h];
  response.id = a.id;
  if (!a.read.begun) a.after = next_ticket_;
  next_read_response(response, a.h, a.read, pieces_);
  next_piece_ = 0;
  asking_ = {h, false, 0, a.qpn, a.pd, {}, 0, 0};
  ++a.on_their_way;
  const std::uint32_t way = free_ways_.back();
  free_ways_.pop_back();
  on_their_way_[way] = {flow, at, h, kNever, {}, kNone};
  AnswerTable::Flow& f = answers_.flow(flow);
  (f.first_on_way == kNone ? f.first_on_way : on_their_way_[f.last_on_way].next) = way;
  f.last_on_way = way;
  ++f.on_way;
  ask_piece(now);
}

}  // namespace rxnic
