// SPDX-License-Identifier: Apache-2.0
// CQEs and sessions on their way to the DMA engine (R1, R5, R21 of cqe_generator.h).
#include <algorithm>
#include <cstring>

#include "model/blocks/cqe_generator.h"

namespace rxnic {

MessageTimes CqeGenerator::times_of(const CompletionRequest& p) const {
  MessageTimes times{p.posted, Cycle{p.message_start}, {}};
  times.qpn = p.qpn;
  if (p.buffer != kNoPacket) {
    times.passed = stamps_.of(p.buffer);
    times.packet = stamps_.number(p.buffer);
    times.ended = p.outcome == Outcome::kExecute && p.ends_message;
    times.opcode = p.opcode;
    times.bytes = p.message_bytes;
  }
  return times;
}

void CqeGenerator::notify_written(const Cq& cq, const Cqe& cqe, MessageTimes times, Cycle now) {
  times.leaves(Station::kCqeGenerator, now + params_.latency_cycles);
  observer_->on_written(cq.queue.context().number, cqe, times, now);
}

void CqeGenerator::write_cqe(Cq& cq, const Cqe& cqe, const CompletionRequest& p, Cycle now) {
  if (observer_ != nullptr) notify_written(cq, cqe, times_of(p), now);
  const std::uint32_t slot = stage(1);
  write_slot(cqe, cq.queue.producer(), cq.queue.context().slots, LeavingCqes::kCqeBytes, staged(slot));
  send(cq, slot, 1, 1, now);
  ++counters_.cqes;
  cq.queue.produce(1, 1, counts_as_solicited(cqe), now);
  check_event(cq, now);
}

void CqeGenerator::write_session(Cq& cq, Cycle now) {
  const CqState::Session& session = *cq.session;
  const std::uint32_t completions = session.block.count();
  const std::uint32_t slots = block_slots(completions);
  for (std::uint32_t n = 0; observer_ != nullptr && n < completions; ++n) {
    notify_written(cq, session.block.title(), session.times[n], now);
  }
  const std::uint32_t first = stage(slots);
  session.block.write(cq.queue.producer(), cq.queue.context().slots, LeavingCqes::kCqeBytes, staged(first));
  send(cq, first, slots, completions, now);
  counters_.cqes += completions;
  if (completions > 1) {
    ++counters_.sessions;
    counters_.compressed += completions;
  }
  cq.queue.produce(slots, completions, counts_as_solicited(session.block.title()), now);
  cqs_.end_session(cq);
  check_event(cq, now);
}

// The first of so many slots in a row.
std::uint32_t CqeGenerator::stage(std::uint32_t slots) {
  if ((std::size_t{next_staged_} + slots) * LeavingCqes::kCqeBytes > staged_.size()) next_staged_ = 0;
  const std::uint32_t first = next_staged_;
  next_staged_ += slots;
  return first;
}

// (R21)
DmaRequest CqeGenerator::leave(const CqeBlock& b, Cycle leaves) {
  const std::uint32_t place = next_place_;
  next_place_ = place + 1 == leaving_.places() ? 0 : place + 1;
  CqeWrite what;
  what.slot = static_cast<std::uint16_t>(place * leaving_.slots());
  for (std::uint32_t n = 0; n < b.slots; ++n, ++what.slot) {
    std::memcpy(what.cqe.data(), staged(b.first + n), what.cqe.size());
    written.write(leaves, what);
  }
  DmaRequest request = b.request;
  request.data = leaving_.place(place);
  return request;
}

void CqeGenerator::write(const CqeBlock& b, Cycle now) {
  const Cycle leaves = now + params_.latency_cycles;
  if (writes_in_step_ && writes_.empty() && last_write_ < leaves && dma.can_send(now, leaves)) {
    dma.send(now, leaves, leave(b, leaves), [](DmaRequest&) {});
    last_write_ = last_leaves_ = leaves;
  } else {
    writes_.push(b, leaves);
  }
}

// When a block wraps, its part at the ring's start is written first, so that the title is written last.
void CqeGenerator::send(Cq& cq, std::uint32_t first, std::uint32_t slots, std::uint32_t completions, Cycle now) {
  const CqContext& c = cq.queue.context();
  const std::uint32_t index = cq.queue.producer() & (c.slots - 1);
  const std::uint32_t run = std::min(slots, c.slots - index);
  const std::uint32_t stride = params_.cqe_bytes;
  CqeBlock b;
  b.request.kind = DmaKind::kWrite;
  if (run < slots) {
    b.request.address = c.base;
    b.request.bytes = (slots - run) * stride;
    b.first = first + run;
    b.slots = slots - run;
    write(b, now);
  }
  b.request.cqes = static_cast<std::uint16_t>(completions);
  b.request.notify = !c.polled_only;
  b.request.cookie = raw(c.number);
  b.request.address = c.base + std::uint64_t{index} * stride;
  b.request.bytes = run * stride;
  b.first = first;
  b.slots = run;
  write(b, now);
  counters_.slots += slots;
  writes_made_ += run < slots ? 2 : 1;
  blocks_made_ += b.request.notify;
}

// A request of RTL: its data was written in the same cycle (R21).
void CqeGenerator::complete(const sc_core::sc_object& port, void* value) {
  auto& request = *static_cast<DmaRequest*>(value);
  if (&port == &face_->context_dma) request.data = cqs_.cache().data(request.cookie);
  if (&port != &face_->dma) return;
  request.data = leaving_.last_place();
  request.bytes = std::min(request.bytes, leaving_.bytes_of_place());
  const Cqe first = leaving_.first_of_last();
  for (std::uint32_t n = 0; observer_ != nullptr && n < request.cqes; ++n) {
    MessageTimes times = times_of_taken(n == 0 ? &first : nullptr, Cqn{request.cookie});
    times.leaves(Station::kCqeGenerator, cycle());
    observer_->on_written(Cqn{request.cookie}, first, times, cycle());
  }
}

// Keeps the last kMost entries only: packets of a CQ that is closed for ever get no CQE, so their entries would stay.
void CqeGenerator::taken(const sc_core::sc_object& port, const void* value) {
  constexpr std::size_t kMost = 1 << 16;
  if (&port != &face_->in || observer_ == nullptr) return;
  const auto& p = *static_cast<const CompletionRequest*>(value);
  if (!p.completes && !(p.releases_wqe && p.wqe_slot != kNoWqeSlot)) return;
  taken_.push_back({p.cq, p.qpn, p.wqe_index, times_of(p)});
  if (taken_.size() > kMost) taken_.pop_front();
}

// Returns the times of the CQ's first packet that RTL has taken and that the CQE can belong to. Without a CQE: the
// times of the CQ's next packet. CQEs of a CQ have the order of their packets: packets before the found one have no
// CQE.
MessageTimes CqeGenerator::times_of_taken(const Cqe* cqe, Cqn cq) {
  const auto is_it = [&](const Taken& t) {
    return t.cq == cq && (cqe == nullptr || (raw(t.qpn) == cqe->qp_number && t.wqe_index == cqe->wqe_index));
  };
  const auto found = std::find_if(taken_.begin(), taken_.end(), is_it);
  if (found == taken_.end()) return {};
  const MessageTimes times = found->times;
  const auto end = std::remove_if(taken_.begin(), found + 1, [&](const Taken& t) { return t.cq == cq; });
  taken_.erase(end, found + 1);
  return times;
}

}  // namespace rxnic
