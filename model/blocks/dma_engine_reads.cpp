// SPDX-License-Identifier: Apache-2.0
// The DMA engine: reads and atomics, and the data of responses.
#include <algorithm>
#include <cstring>

#include "model/blocks/dma_engine.h"
#include "model/types/syndrome.h"

namespace rxnic {

// Whether a read or an atomic of `bytes` that is answered by `down` may be sent. (R5, R7)
bool DmaEngine::may_read(Cycle now, std::size_t who, std::uint32_t operand_bytes, const TlpCount& down,
                         std::uint32_t bytes) {
  if (lacks_to_read_ != kNobody && lacks_to_read_ != who) return false;
  while (held_.ready(now)) non_posted_.give(held_.pop());
  request_credit_ = non_posted_.of(1, operand_bytes);
  answer_room_ = completion_.of(down.tlps, bytes);
  const bool may = tags_left_ > 0 && non_posted_.covers(request_credit_) && completion_.covers(answer_room_);
  lacks_to_read_ = may ? kNobody : who;
  if (!may) read_wait_ = tags_left_ == 0 ? Activity::kWaitDmaTag : Activity::kWaitDmaCredit;
  return may;
}

// Sends one read request or atomic that may_read() has allowed. (R5)
void DmaEngine::send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down,
                          PendingCompletion completion) {
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  --tags_left_;
  non_posted_.take(request_credit_);
  completion_.take(answer_room_);
  completion.room = answer_room_;
  pending_[to].push(completion, kNever);
  awaiting_ |= 1u << to;
  const Instant ready = time_.after_span(left, latency_.of_read());
  held_.push(request_credit_, ready.ceiling());
  const Answer a{static_cast<std::uint32_t>(to), pending_[to].last(), down, ready};
  if (latency_.constant_reads()) {
    answer(a);
  } else {
    in_host_.push(a, ready.floor());
  }
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
}

// Of the read request TLP that was sent last, by `of`. (R2)
void DmaEngine::read_late(BusAddress from, std::span<std::uint8_t> to, std::size_t of) {
  PendingCompletion& p = pending_[of].at_place(pending_[of].last());
  p.late = ++late_started_;
  p.from = from;
  memory_.read_later(from, to, p.ok);
}

void DmaEngine::settle_late_reads() {
  if (late_settled_ != late_started_) memory_.settle();
  late_settled_ = late_started_;
}

// Its data is complete: it is read, and with it all that were started. (R2)
void DmaEngine::finish_late_read(PendingCompletion& of) {
  if (of.late > late_settled_) settle_late_reads();
  if (of.ok) return;
  ++counters_.failed;  // (R8)
  of.syndrome = kNakRemoteOperation;
  of.gone = memory_.gone(of.from);
}

void DmaEngine::give_room(const PendingCompletion& done) {
  if (!done.takes_tag) return;
  ++tags_left_;
  completion_.give(done.room);
}

// The host sends the completions of a read. (R5)
void DmaEngine::answer(const Answer& a) {
  const Cycle done = down_.carry(a.ready, a.down.link_bytes).ceiling();
  pending_[a.to].be_ready(a.place, done);
  counters_.tlps_down += a.down.tlps;
  counters_.link_bytes_down += a.down.link_bytes;
}

// Carries out an atomic in memory, or a read of device memory; false when it is not mapped. (R2)
bool DmaEngine::perform(const DmaRequest& r) {
  std::uint64_t result = r.operand;
  if (r.kind != DmaKind::kSwap) {
    if (r.data == nullptr) return true;
    if (!memory_.read(r.address, {r.data, r.bytes})) return false;
    if (r.kind == DmaKind::kRead) return true;
    std::uint64_t original = 0;
    std::memcpy(&original, r.data, sizeof original);
    if (r.kind == DmaKind::kCompareSwap && original != r.compare) return true;
    if (r.kind == DmaKind::kFetchAdd) result += original;
  }
  return memory_.write(r.address, {reinterpret_cast<const std::uint8_t*>(&result), sizeof result});
}

// What is pending for a TLP of this segment, or for the segment. Behind the last of the response, its failure is over.
DmaEngine::PendingCompletion DmaEngine::gathered_part(const GatherRead& s, bool takes_tag, bool ends_segment) {
  const bool last = ends_segment && s.last;
  PendingCompletion p{raw(s.buffer), takes_tag, last, true, gather_gone_, gather_syndrome_, ends_segment};
  if (last) gather_syndrome_ = 0, gather_gone_ = false;
  return p;
}

bool DmaEngine::start_gather(Cycle now) {
  auto& pending = pending_[kDmaClients];
  if (!has_gathering_ || pending.full()) return false;
  const GatherRead& s = gathering_;
  Progress& done = progress_[kGather];
  if (icm::is_device_memory(s.address)) {  // (R13)
    const Cycle finished = access_device(now, s.bytes);
    if (finished == kNever) return false;
    memory_.read(s.address, {shared_.packets[s.buffer].frame.data() + s.offset, s.bytes});
    pending.push(gathered_part(s, false, true), finished);
    awaiting_ |= 1u << kDmaClients;
    has_gathering_ = false;
    return true;
  }
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, read_tlp_room(params_, raw(at)));
  const TlpCount down = completion_tlps(params_, raw(at), bytes);
  if (!may_read(now, kGather, 0, down, bytes)) return false;
  const std::span<std::uint8_t> to{shared_.packets[s.buffer].frame.data() + s.offset, s.bytes};
  if (done.bytes == 0 && !s.last && !memory_.read(s.address, to)) {
    ++counters_.failed;  // (R8)
    gather_syndrome_ = kNakRemoteOperation;
    gather_gone_ = memory_.gone(s.address);
  }
  done.bytes += bytes;
  const bool all = done.bytes == s.bytes;
  send_read(now, kDmaClients, read_request_tlp(params_), down, gathered_part(s, true, all));
  counters_.read_bytes += bytes;
  if (!all) return true;
  if (s.last) read_late(s.address, to, kDmaClients);
  ++counters_.reads;
  done = {};
  has_gathering_ = false;
  return true;
}

}  // namespace rxnic
