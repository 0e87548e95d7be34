// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/dma_engine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "model/types/bits.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kCreditUnit = 16;  // bytes: PCI Express's unit of posted data credit

std::uint64_t credit_of(const DmaEngineParams& p, std::uint32_t bytes) {  // (R6)
  const std::uint64_t units = std::max(1u, (bytes + kCreditUnit - 1) / kCreditUnit);
  return std::min<std::uint64_t>(units * kCreditUnit, p.posted_credit_bytes);
}

// As many lines as there are indices, each of the same depth.
template <class Line, std::size_t... I>
std::array<Line, sizeof...(I)> lines_of(std::uint32_t depth, std::index_sequence<I...>) {
  return {((void)I, Line(depth))...};
}

}  // namespace

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const DmaEngineParams& params, std::uint32_t clock_period_ps,
                     NicShared& shared, HostMemory& memory)
    : Block(name),
      params_(params),
      shared_(shared),
      memory_(memory),
      time_(params.tlp_rate_mbps, clock_period_ps),
      up_(time_),
      down_(time_),
      read_latency_(time_.after_ps({}, params.read_latency_ps)),
      write_latency_(time_.after_ps({}, params.write_latency_ps)),
      tags_left_(params.tags),
      credit_left_(params.posted_credit_bytes),
      leaving_(params.leaving_depth),
      sent_(params.leaving_depth),
      pending_(lines_of<DelayLine<PendingCompletion>>(params.tags, std::make_index_sequence<kDmaClients + 1>())),
      unlanded_(params.posted_credit_bytes / kCreditUnit),
      landings_(params.posted_credit_bytes / kCreditUnit) {
  for (std::size_t c = 0; c < kDmaClients; ++c) requests[c].show_in(asking_, bit_of(c));
}

Cycle DmaEngine::step(Cycle now) {
  // (1) read completions, landed writes and packets that have left are passed on
  if (due_ <= now) give_back(now);
  bool worked = false;
  if (link_free(now)) {
    // (2) the next segments are taken
    worked = take_payload(now);
    worked |= take_gather(now);
    // (3) one request is started
    worked |= start_one(now);
  }
  // (4) a fence
  if (fences.can_pop(now)) carry_out_fence(now);
  const Cycle next = next_step(now, worked);
  if (up_.free() > Instant{now.count, 0}) {
    return rest(now, Activity::kBusy, up_.free().ceiling(), activity_of_idle_link(), next);
  }
  return rest(now, worked ? Activity::kBusy : activity_of_idle_link(), next);
}

void DmaEngine::give_back(Cycle now) {
  output_blocked_ = false;
  for (std::uint32_t bits = awaiting_; bits != 0; bits &= bits - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(bits));
    if (c == kDmaClients) break;
    auto& pending = pending_[c];
    for (; pending.ready(now); pending.pop()) {
      const PendingCompletion& a = pending.front();
      if (a.last && !completions[c].can_push(now)) {
        output_blocked_ = true;
        break;
      }
      if (a.last) completions[c].push(now, {a.id, a.ok});
      tags_left_ += a.takes_tag;
    }
    if (pending.empty()) awaiting_ &= ~(1u << c);
  }
  for (auto& pending = pending_[kDmaClients]; pending.ready(now); pending.pop()) {
    const PendingCompletion& a = pending.front();
    if (a.last) {
      if (!gathered.can_push(now)) {
        output_blocked_ = true;
        break;
      }
      ++counters_.packets_gathered;
      gathered.push(now, {PacketHandle{a.id}, a.syndrome});
    }
    gathered_segments_ += a.ends_segment;
    tags_left_ += a.takes_tag;
  }
  if (pending_[kDmaClients].empty()) awaiting_ &= ~(1u << kDmaClients);
  more_leaving_ = false;
  if (leaving_.ready(now)) {  // (R3)
    if (payload_done.can_push(now)) {
      const CompletionRequest& p = leaving_.front();
      shared_.stamp(p.buffer, Station::kDmaEngine, now);
      ++counters_.packets_written;
      payload_done.push(now, p);
      last_leaves_ = now;
      leaving_.drop();
      more_leaving_ = leaving_.ready(now);
    } else {
      output_blocked_ = true;
    }
  }
  for (; landings_.ready(now); landings_.pop()) {  // (R4)
    const Landing& l = landings_.front();
    const bool shows = l.notice.completions > 0 && landed.bound();
    if ((shows && !landed.can_push(now)) || (l.notify && !completions[l.client].can_push(now))) {
      output_blocked_ = true;
      break;
    }
    if (shows) landed.push(now, l.notice);
    if (l.notify) completions[l.client].push(now, {l.notice.number, true});
  }
}

// True when a segment was taken that moves no bytes; likewise take_gather().
bool DmaEngine::take_payload(Cycle now) {
  if (has_writing_ || !payload.can_pop(now)) return false;
  while (sent_.ready(now)) sent_.drop();
  if (leaving_.size() + sent_.size() >= params_.leaving_depth) return false;
  writing_ = *payload.peek(now);
  payload.drop(now);
  if (swallows_) {
    swallows_ = !writing_.last;
    return true;
  }
  refused_.squash_when_behind(writing_);
  has_writing_ = writing_.bytes > 0 && writing_.outcome != Outcome::kDrop;
  if (!has_writing_ && writing_.last) leave(writing_, now + 1, now);
  return !has_writing_;
}

// The last byte of the packet has left by cycle `due`. One packet leaves in a cycle. (R3)
void DmaEngine::leave(const CompletionRequest& p, Cycle due, Cycle now) {
  const Cycle leaves = latest(due, last_leaves_ + 1);
  if (!leaving_.empty() || !payload_done.can_send(now, leaves)) {
    leaving_.push(p, leaves);
    return;
  }
  shared_.stamp(p.buffer, Station::kDmaEngine, leaves);
  ++counters_.packets_written;
  payload_done.send(now, leaves, p, [](CompletionRequest&) {});
  sent_.push(true, leaves);
  last_leaves_ = leaves;
}

bool DmaEngine::take_gather(Cycle now) {
  auto& pending = pending_[kDmaClients];
  if (has_gathering_ || !gather.can_pop(now) || pending.full()) return false;
  gathering_ = gather.pop(now);
  if (gathering_.failed && gather_syndrome_ == 0) gather_syndrome_ = kNakRemoteAccess;
  has_gathering_ = gather_syndrome_ == 0;  // (R8)
  if (has_gathering_) return false;
  pending.push({raw(gathering_.buffer), false, gathering_.last, true, gather_syndrome_, true}, now + 1);
  awaiting_ |= 1u << kDmaClients;
  if (gathering_.last) gather_syndrome_ = 0;
  return true;
}

bool DmaEngine::start_one(Cycle now) {  // (R1)
  const std::uint32_t all = requesters();
  // First those from turn_ on, then the others.
  for (std::uint64_t bits = (std::uint64_t{all} << kRequesters | all) >> turn_ << turn_; bits != 0; bits &= bits - 1) {
    const std::size_t bit = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t who = bit < kRequesters ? bit : bit - kRequesters;
    const bool started = who == kPayload  ? start_payload(now)
                         : who == kGather ? start_gather(now)
                                          : start_client(now, who);
    if (started) {
      turn_ = who + 1 == kRequesters ? 0 : who + 1;
      return true;
    }
  }
  return false;
}

bool DmaEngine::has_credit(Cycle now, std::size_t who, std::uint32_t bytes) {  // (R6, R7)
  if (lacks_credit_ != kNobody && lacks_credit_ != who) return false;
  while (unlanded_.ready(now)) credit_left_ += unlanded_.pop();
  lacks_credit_ = credit_left_ >= credit_of(params_, bytes) ? kNobody : who;
  return lacks_credit_ == kNobody;
}

bool DmaEngine::has_tag(std::size_t who) {  // (R5, R7)
  if (lacks_tags_ != kNobody && lacks_tags_ != who) return false;
  lacks_tags_ = tags_left_ > 0 ? kNobody : who;
  return lacks_tags_ == kNobody;
}

// Sends one TLP; returns when its last byte has left.
Instant DmaEngine::send_write(Cycle now, std::uint32_t bytes) {
  const TlpCount up = write_tlp(params_, bytes);
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  const std::uint64_t credit = credit_of(params_, bytes);
  credit_left_ -= credit;
  unlanded_.push(credit, time_.after_span(left, write_latency_).ceiling());
  counters_.write_bytes += bytes;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  return left;
}

// Sends one read request or atomic, and schedules its completions.
void DmaEngine::send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down,
                          const PendingCompletion& completion) {  // (R5)
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  const Instant done = down_.carry(time_.after_span(left, read_latency_), down.link_bytes);
  --tags_left_;
  pending_[to].push(completion, done.ceiling());
  awaiting_ |= 1u << to;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  counters_.tlps_down += down.tlps;
  counters_.link_bytes_down += down.link_bytes;
}

// Carries out a read or an atomic in memory; false when it is not mapped. (R2)
bool DmaEngine::perform(const DmaRequest& r) {
  std::uint64_t result = r.operand;
  if (r.kind != DmaKind::kSwap) {
    if (!memory_.read(r.address, {r.data, r.bytes})) return false;
    if (r.kind == DmaKind::kRead) return true;
    std::uint64_t original = 0;
    std::memcpy(&original, r.data, sizeof original);
    if (r.kind == DmaKind::kCompareSwap && original != r.compare) return true;
    if (r.kind == DmaKind::kFetchAdd) result += original;
  }
  return memory_.write(r.address, {reinterpret_cast<const std::uint8_t*>(&result), sizeof result});
}

bool DmaEngine::start_client(Cycle now, std::size_t client) {
  const DmaRequest* const request = requests[client].peek(now);
  if (request == nullptr) return false;
  const DmaRequest& r = *request;
  Progress& done = progress_[client];
  const BusAddress at = r.address + done.bytes;
  std::uint32_t bytes = r.bytes - done.bytes;
  if (r.kind == DmaKind::kWrite) {
    bytes = std::min(bytes, write_tlp_room(params_, raw(at)));
    const bool lands = r.notify || (r.cqes > 0 && landed.bound());
    if (lands && landings_.full()) return false;
    if (!has_credit(now, client, bytes)) return false;
    const Instant left = send_write(now, bytes);
    if (done.bytes == 0 && !memory_.write(r.address, {r.data, r.bytes})) ++counters_.failed;
    done.bytes += bytes;
    if (done.bytes < r.bytes) return true;
    ++counters_.writes;
    if (lands) {  // (R4)
      landings_.push({{r.cookie, r.cqes}, static_cast<std::uint32_t>(client), r.notify},
                     time_.after_span(left, write_latency_).ceiling());
    }
  } else {
    if (!has_tag(client)) return false;
    if (done.bytes == 0) {
      done.ok = perform(r);
      counters_.failed += !done.ok;
    }
    if (r.kind == DmaKind::kRead) {
      bytes = std::min(bytes, read_tlp_room(params_, raw(at)));
      const bool last = done.bytes + bytes == r.bytes;
      send_read(now, client, read_request_tlp(params_), completion_tlps(params_, raw(at), bytes),
                {r.cookie, true, last, done.ok, 0});
      counters_.read_bytes += bytes;
      done.bytes += bytes;
      if (!last) return true;
      ++counters_.reads;
    } else {
      send_read(now, client, atomic_request_tlp(params_, r.kind == DmaKind::kCompareSwap ? 16 : 8),
                atomic_completion_tlp(params_), {r.cookie, true, true, done.ok, 0});
      ++counters_.atomics;
    }
  }
  done = {};
  ++counters_.client_requests[client];
  requests[client].drop(now);
  return true;
}

bool DmaEngine::start_payload(Cycle now) {
  if (!has_writing_) return false;
  SegmentWrite& s = writing_;
  Progress& done = progress_[kPayload];
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, write_tlp_room(params_, raw(at)));
  if (!has_credit(now, kPayload, bytes)) return false;
  const Instant left = send_write(now, bytes);
  if (done.bytes == 0 && !memory_.write(s.address, bytes_of(s))) {  // (R8)
    ++counters_.failed;
    refused_.fail_qp(s, DropReason::kHostMemory, kNakRemoteOperation, WcStatus::kLocalProtection);
    refused_.report(refusals, now);
    swallows_ = !s.last;
    s.last = true;
  }
  done.bytes += bytes;
  if (done.bytes < s.bytes) return true;
  ++counters_.writes;
  if (s.last) {
    shared_.stamp(s.buffer, Station::kHostMemory, time_.after_span(left, write_latency_).ceiling());
    leave(s, latest(left.ceiling(), now + 1), now);
  }
  done = {};
  has_writing_ = false;
  return true;
}

std::span<const std::uint8_t> DmaEngine::bytes_of(const SegmentWrite& s) const {
  const Packet& p = shared_.packets[s.buffer];
  return {(s.area == BufferArea::kFrame ? p.frame.data() : p.scratch.data()) + s.offset, s.bytes};
}

bool DmaEngine::start_gather(Cycle now) {
  auto& pending = pending_[kDmaClients];
  if (!has_gathering_ || pending.full()) return false;
  const GatherRead& s = gathering_;
  Progress& done = progress_[kGather];
  const BusAddress at = s.address + done.bytes;
  const std::uint32_t bytes = std::min(s.bytes - done.bytes, read_tlp_room(params_, raw(at)));
  if (!has_tag(kGather)) return false;
  if (done.bytes == 0 && !memory_.read(s.address, {shared_.packets[s.buffer].frame.data() + s.offset, s.bytes})) {
    ++counters_.failed;  // (R8)
    gather_syndrome_ = kNakRemoteOperation;
  }
  done.bytes += bytes;
  const bool all = done.bytes == s.bytes;
  const bool last = all && s.last;
  send_read(now, kDmaClients, read_request_tlp(params_), completion_tlps(params_, raw(at), bytes),
            {raw(s.buffer), true, last, true, gather_syndrome_, all});
  counters_.read_bytes += bytes;
  if (!all) return true;
  ++counters_.reads;
  done = {};
  has_gathering_ = false;
  if (last) gather_syndrome_ = 0;
  return true;
}

// Bits by requester: set when it has a TLP to start, perhaps only in the next cycle.
std::uint32_t DmaEngine::requesters() const {
  auto bits = static_cast<std::uint32_t>(asking_);
  bits |= std::uint32_t{has_writing_} << kPayload;
  return bits | std::uint32_t{has_gathering_} << kGather;
}

Activity DmaEngine::activity_of_idle_link() const {
  if (output_blocked_) return Activity::kBlocked;
  if (lacks_credit_ != kNobody) return Activity::kWaitDmaCredit;
  if (lacks_tags_ != kNobody) return Activity::kWaitDmaTag;
  return tags_left_ < params_.tags ? Activity::kWaitDmaData : Activity::kStarved;
}

Cycle DmaEngine::next_step(Cycle now, bool worked) {
  Cycle next = kNever;
  due_ = kNever;
  const auto at = [&](Cycle c) {  // output that is due already waits for room in a link, which wakes this block
    if (c > now && c < next) next = c;
  };
  const auto gives = [&](Cycle c) {
    if (c < due_) due_ = c;
    at(c);
  };
  for (std::uint32_t bits = awaiting_; bits != 0; bits &= bits - 1) {
    gives(pending_[static_cast<std::size_t>(std::countr_zero(bits))].next_ready());
  }
  gives(leaving_.next_ready());
  gives(landings_.next_ready());
  if ((worked && link_free(now)) || more_leaving_) return now + 1;
  if (lacks_credit_ != kNobody) at(unlanded_.next_ready());
  if (!link_free(now) && (!payload.empty() || !gather.empty() || requesters() != 0)) at(up_.free().floor());
  return next;
}

void DmaEngine::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(up_.free().cycle);
  h.mix(up_.free().fraction);
  h.mix(down_.free().cycle);
  h.mix(down_.free().fraction);
  h.mix(tags_left_);
}

}  // namespace rxnic
