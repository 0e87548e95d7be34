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

constexpr std::uint32_t kCreditUnit = 16;  // bytes: what PCI Express counts posted data in

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
      answers_(lines_of<DelayLine<Answer>>(params.tags, std::make_index_sequence<kDmaClients + 1>())),
      unlanded_(params.posted_credit_bytes / kCreditUnit),
      landings_(params.posted_credit_bytes / kCreditUnit) {
  for (std::size_t c = 0; c < kDmaClients; ++c) requests[c].show_in(asking_, bit_of(c));
}

Cycle DmaEngine::step(Cycle now) {
  // (1) what has come or left by now goes to whom it belongs
  if (due_ <= now) give_back(now);
  bool worked = false;
  if (link_free(now)) {
    // (2) the next packets come to hand
    worked = take_packets(now);
    // (3) one request is started
    worked |= start_one(now);
  }
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
    auto& answers = answers_[c];
    for (; answers.ready(now); answers.pop()) {
      if (!completions[c].can_push(now)) {
        output_blocked_ = true;
        break;
      }
      const Answer& a = answers.front();
      completions[c].push(now, {a.id, a.ok});
      tags_left_ += a.tags;
    }
    if (answers.empty()) awaiting_ &= ~(1u << c);
  }
  for (auto& answers = answers_[kDmaClients]; answers.ready(now); answers.pop()) {
    const Answer& a = answers.front();
    if (a.last) {
      if (!gathered.can_push(now)) {
        output_blocked_ = true;
        break;
      }
      ++counters_.packets_gathered;
      gathered.push(now, PacketHandle{a.id});
    }
    tags_left_ += a.tags;
  }
  if (answers_[kDmaClients].empty()) awaiting_ &= ~(1u << kDmaClients);
  more_leaving_ = false;
  if (leaving_.ready(now)) {  // (R3)
    if (payload_done.can_push(now)) {
      const PacketHandle h = leaving_.pop();
      shared_.packets[h].stamp(Station::kDmaEngine, now);
      ++counters_.packets_written;
      payload_done.push(now, h);
      more_leaving_ = leaving_.ready(now);
    } else {
      output_blocked_ = true;
    }
  }
  for (; landings_.ready(now); landings_.pop()) {  // (R4)
    const Landing& l = landings_.front();
    const bool shows = l.notice.completions > 0 && landed.bound();
    if ((shows && !landed.can_push(now)) || (l.told && !completions[l.client].can_push(now))) {
      output_blocked_ = true;
      break;
    }
    if (shows) landed.push(now, l.notice);
    if (l.told) completions[l.client].push(now, {l.notice.number, true});
  }
}

// True when a packet passed that moves nothing.
bool DmaEngine::take_packets(Cycle now) {
  bool passed = false;
  if (writing_.packet == kNoPacket && payload.can_pop(now) && !leaving_.full()) {
    const PacketHandle h = payload.pop(now);
    Packet& p = shared_.packets[h];
    refused_.squash_when_behind(p);
    if (p.segment_count == 0) {
      leaving_.push(h, now + 1);
      passed = true;
    } else {
      writing_ = {h};
    }
  }
  auto& answers = answers_[kDmaClients];
  if (gathering_.packet == kNoPacket && gather.can_pop(now) && !answers.full()) {
    const PacketHandle h = gather.pop(now);
    if (shared_.packets[h].segment_count == 0) {
      answers.push({raw(h), 0, true, true}, now + 1);
      awaiting_ |= 1u << kDmaClients;
      passed = true;
    } else {
      gathering_ = {h};
    }
  }
  return passed;
}

bool DmaEngine::start_one(Cycle now) {  // (R1)
  const std::uint32_t all = requesters();
  // Those from the one whose turn it is on, then the others.
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

bool DmaEngine::has_tags(std::size_t who, std::uint32_t tags) {  // (R5, R7)
  if (lacks_tags_ != kNobody && lacks_tags_ != who) return false;
  lacks_tags_ = tags_left_ >= tags ? kNobody : who;
  return lacks_tags_ == kNobody;
}

Instant DmaEngine::send_write(Cycle now, BusAddress address, std::uint32_t bytes) {
  const TlpCount up = write_tlps(params_, raw(address), bytes);
  const Instant left = up_.carry({now.count, 0}, up.link_bytes);
  const std::uint64_t credit = credit_of(params_, bytes);
  credit_left_ -= credit;
  unlanded_.push(credit, time_.after_span(left, write_latency_).ceiling());
  ++counters_.writes;
  counters_.write_bytes += bytes;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  return left;
}

void DmaEngine::send_read(Cycle now, std::size_t to, const TlpCount& up, const TlpCount& down, Answer answer) {  // (R5)
  const std::uint64_t first_tlp = up.link_bytes / up.tlps;
  const Instant first_left = up_.carry({now.count, 0}, first_tlp);
  if (up.tlps > 1) up_.carry(first_left, up.link_bytes - first_tlp);
  const Instant done = down_.carry(time_.after_span(first_left, read_latency_), down.link_bytes);
  answer.tags = std::min(up.tlps, params_.tags);
  tags_left_ -= answer.tags;
  answers_[to].push(answer, done.ceiling());
  awaiting_ |= 1u << to;
  counters_.tlps_up += up.tlps;
  counters_.link_bytes_up += up.link_bytes;
  counters_.tlps_down += down.tlps;
  counters_.link_bytes_down += down.link_bytes;
}

// A read or an atomic, in memory. (R2)
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
  if (r.kind == DmaKind::kWrite) {
    const bool lands = r.told || (r.cqes > 0 && landed.bound());
    if (lands && landings_.full()) return false;
    if (!has_credit(now, client, r.bytes)) return false;
    const Instant left = send_write(now, r.address, r.bytes);
    if (!memory_.write(r.address, {r.data, r.bytes})) ++counters_.failed;
    if (lands) {  // (R4)
      landings_.push({{r.cookie, r.cqes}, static_cast<std::uint32_t>(client), r.told},
                     time_.after_span(left, write_latency_).ceiling());
    }
  } else {
    const bool is_read = r.kind == DmaKind::kRead;
    const TlpCount up = is_read ? read_request_tlps(params_, raw(r.address), r.bytes)
                                : atomic_request_tlp(params_, r.kind == DmaKind::kCompareSwap ? 16 : 8);
    if (!has_tags(client, std::min(up.tlps, params_.tags))) return false;
    const TlpCount down = is_read ? completion_tlps(params_, raw(r.address), r.bytes) : atomic_completion_tlp(params_);
    const bool ok = perform(r);
    counters_.failed += !ok;
    send_read(now, client, up, down, {r.cookie, 0, true, ok});
    if (is_read) {
      ++counters_.reads;
      counters_.read_bytes += r.bytes;
    } else {
      ++counters_.atomics;
    }
  }
  ++counters_.client_requests[client];
  requests[client].pop(now);
  return true;
}

// How many segments were written, one after the other. (R2)
std::uint32_t DmaEngine::write_segments(const Packet& p) {
  if (p.segment_count == 1) return memory_.write(p.segments[0].bus, {p.segments[0].data, p.segments[0].bytes}) ? 1 : 0;
  for (std::uint32_t i = 0; i < p.segment_count; ++i) {
    writes_[i] = {p.segments[i].bus, {p.segments[i].data, p.segments[i].bytes}};
  }
  return static_cast<std::uint32_t>(memory_.write_all({writes_.data(), p.segment_count}));
}

bool DmaEngine::start_payload(Cycle now) {
  if (writing_.packet == kNoPacket) return false;
  Packet& p = shared_.packets[writing_.packet];
  const Segment& s = p.segments[writing_.segment];
  if (!has_credit(now, kPayload, s.bytes)) return false;
  const Instant left = send_write(now, s.bus, s.bytes);
  if (writing_.segment == 0) writing_.written = write_segments(p);
  if (writing_.segment >= writing_.written) {  // (R8)
    ++counters_.failed;
    refused_.fail_qp(p, DropReason::kHostMemory, kNakRemoteOperation, WcStatus::kLocalProtection);
    refused_.report(refusals, now);
  }
  if (++writing_.segment >= p.segment_count) {
    leaving_.push(writing_.packet, latest(left.ceiling(), now + 1));
    writing_ = {};
  }
  return true;
}

bool DmaEngine::start_gather(Cycle now) {
  auto& answers = answers_[kDmaClients];
  if (gathering_.packet == kNoPacket || answers.full()) return false;
  Packet& p = shared_.packets[gathering_.packet];
  const Segment& s = p.segments[gathering_.segment];
  const TlpCount up = read_request_tlps(params_, raw(s.bus), s.bytes);
  if (!has_tags(kGather, std::min(up.tlps, params_.tags))) return false;
  // The packet owns what its segments point to; they are constant for the many that are written from.
  const bool ok = memory_.read(s.bus, {const_cast<std::uint8_t*>(s.data), s.bytes});
  if (!ok) {  // (R8)
    ++counters_.failed;
    p.fail(DropReason::kHostMemory, Outcome::kNak, kNakRemoteOperation, WcStatus::kLocalProtection);
  }
  const bool last = ++gathering_.segment >= p.segment_count;
  ++counters_.reads;
  counters_.read_bytes += s.bytes;
  send_read(now, kDmaClients, up, completion_tlps(params_, raw(s.bus), s.bytes), {raw(gathering_.packet), 0, last, ok});
  if (last) gathering_ = {};
  return true;
}

// Bit by requester: has something to start, perhaps only in the next cycle.
std::uint32_t DmaEngine::requesters() const {
  auto bits = static_cast<std::uint32_t>(asking_);
  bits |= std::uint32_t{writing_.packet != kNoPacket} << kPayload;
  return bits | std::uint32_t{gathering_.packet != kNoPacket} << kGather;
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
  const auto at = [&](Cycle c) {  // what is due already waits for room in a link, which wakes this block
    if (c > now && c < next) next = c;
  };
  const auto gives = [&](Cycle c) {
    if (c < due_) due_ = c;
    at(c);
  };
  for (std::uint32_t bits = awaiting_; bits != 0; bits &= bits - 1) {
    gives(answers_[static_cast<std::size_t>(std::countr_zero(bits))].next_ready());
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
