// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/dma_engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/types/bits.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

// As many lines as there are indices, each of the same depth.
template <class Line, std::size_t... I>
std::array<Line, sizeof...(I)> lines_of(std::uint32_t depth, std::index_sequence<I...>) {
  return {((void)I, Line(depth))...};
}

}  // namespace

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const DmaEngineParams& params, std::uint32_t clock_period_ps,
                     PacketPool& packets, HostMemory& memory, std::unique_ptr<DmaArbiter> arbiter)
    : DmaEnginePorts(name),
      params_(params),
      packets_(packets),
      stamps_(packets),
      memory_(memory),
      timed_(memory.has_latency()),
      time_(params.tlp_rate_mbps, clock_period_ps),
      up_(time_),
      down_(time_),
      latency_(params, time_),
      tags_left_(params.tags),
      posted_(params.posted_header_credits, params.posted_credit_bytes / CreditPool::kUnit),
      non_posted_(params.non_posted_header_credits, params.non_posted_data_credits),
      completion_(params.completion_credits, params.read_buffer_bytes / CreditPool::kUnit),
      arbiter_(std::move(arbiter)),
      leaving_(params.leaving_depth),
      sent_(params.leaving_depth),
      data_(lines_of<SortedLine<std::uint32_t>>(params.tags, std::make_index_sequence<kLines>())),
      unlanded_(params.posted_header_credits),
      held_(params.tags),
      in_host_(params.tags),
      landings_(params.posted_header_credits),
      raised_(params.posted_header_credits),
      replied_(params.posted_header_credits) {
  arrives_.fill(kNever);
  for (std::size_t c = 0; c < kDmaClients; ++c) requests[c].show_in(inputs_, bit_of(c));
  payload.show_in(inputs_, bit_of(kPayload));
  gather.show_in(inputs_, bit_of(kGather));
  fences.show_in(inputs_, bit_of(kFences));
  for (std::size_t s = 0; s < kReplies; ++s) events_[s]->show_in(inputs_, bit_of(kEventsFrom + s));
  replies.show_in(inputs_, bit_of(kEventsFrom + kReplies));
  send_doorbells.show_in(inputs_, bit_of(kHostWritesFrom + kSendDoorbells));
  receive_doorbells.show_in(inputs_, bit_of(kHostWritesFrom + kReceiveDoorbells));
  completion_doorbells.show_in(inputs_, bit_of(kHostWritesFrom + kCompletionDoorbells));
  tag_operations.show_in(inputs_, bit_of(kHostWritesFrom + kTagOperations));
  commands.show_in(inputs_, bit_of(kHostWritesFrom + kCommands));
  page_replies.show_in(inputs_, bit_of(kHostWritesFrom + kPageReplies));
}

void DmaEngine::end_of_elaboration() {
  if (payload.bound()) last_place_ = std::max(payload[0]->capacity(), 2u) - 2;
}

Cycle DmaEngine::step(Cycle now) { return only_link_is_awaited(now) ? earliest(due_, up_.free().floor()) : work(now); }

Cycle DmaEngine::work(Cycle now) {
  // (1) read completions, landed writes and packets that have left are passed on, and what the host writes
  if (due_ <= now) give_back(now);
  if ((inputs_ & kHostWriteBits) != 0) take_host_writes(now);
  bool worked = false;
  if (link_free(now)) {
    // (2) the next segments are taken
    if ((inputs_ & bit_of(kPayload)) != 0) worked = take_payload(now);
    if ((inputs_ & bit_of(kGather)) != 0) worked |= take_gather(now);
    // (3) one request is started
    worked |= start_one(now);
  }
  // (4) a fence
  if ((inputs_ & bit_of(kFences)) != 0 && fences.can_pop(now)) carry_out_fence(now);
  const Cycle next = next_step(now, worked);
  const Cycle busy = latest(up_.free().ceiling(), device_free_);
  if (busy > now) return rest(now, Activity::kBusy, busy, activity_of_idle_link(), next);
  return rest(now, worked ? Activity::kBusy : activity_of_idle_link(), next);
}

// A request or a segment has come while the link is busy, and nothing else is to be done: the block rests as before.
bool DmaEngine::only_link_is_awaited(Cycle now) const {
  const bool elsewhere = (inputs_ & (kHostWriteBits | bit_of(kFences))) != 0 || due_ <= now || more_leaving_;
  return !link_free(now) && !elsewhere && !waits_for_device_ && lacks_to_write_ == kNobody && lacks_to_read_ == kNobody;
}

void DmaEngine::give_back(Cycle now) {
  output_blocked_ = false;
  while (in_host_.ready(now)) answer(in_host_.pop());  // (R5)
  for (std::uint32_t bits = awaiting_; bits != 0; bits &= bits - 1) {
    take_data(now, static_cast<std::size_t>(std::countr_zero(bits)));
  }
  for (; !in_order_.empty() && open_[in_order_.front()].is_complete(); in_order_.pop_front()) {  // (R9)
    if (!completions[kTagClient].can_push(now)) {
      output_blocked_ = true;
      break;
    }
    complete(kTagClient, in_order_.front(), now);
  }
  more_leaving_ = false;
  if (leaving_.ready(now)) {  // (R3)
    if (payload_done.can_push(now)) {
      const CompletionRequest& p = leaving_.front();
      stamps_.stamp(p.buffer, Station::kDmaEngine, now);
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
    if (l.notify) completions[l.client].push(now, {l.notice.number, l.ok});
  }
  for (; raised_.ready(now); raised_.drop()) {  // (R11)
    Out<Event>& to = *raised_ports_[raised_.front().source];
    if (!to.can_push(now)) {
      output_blocked_ = true;
      break;
    }
    to.push(now, raised_.front().event);
  }
  for (; replied_.ready(now); replied_.drop()) {
    if (!replied.can_push(now)) {
      output_blocked_ = true;
      break;
    }
    replied.push(now, replied_.front());
  }
  due_ = kNever;
  for_each_due([this](Cycle c) { due_ = earliest(due_, c); });
}

// Those of the first entry of each line that is not empty. A complete read of the tag CAM waits for room in a link.
template <class F>
void DmaEngine::for_each_due(F f) const {
  for (std::uint32_t bits = awaiting_; bits != 0; bits &= bits - 1) {
    f(data_[static_cast<std::size_t>(std::countr_zero(bits))].next_ready());
  }
  if (!in_order_.empty() && open_[in_order_.front()].is_complete()) f(Cycle{});
  f(in_host_.next_ready());
  f(leaving_.next_ready());
  f(landings_.next_ready());
  f(raised_.next_ready());
  f(replied_.next_ready());
}

// True when a segment was taken that moves no bytes; likewise take_gather().
inline bool DmaEngine::take_payload(Cycle now) {
  if (has_writing_ || !payload.can_pop(now)) return false;
  while (sent_.ready(now)) sent_.drop();
  if (leaving_.size() + sent_.size() >= params_.leaving_depth) return false;
  writing_ = *payload.peek(now);
  payload.drop(now);
  if (swallows_) {
    swallows_ = !writing_.last;
    return true;
  }
  stamps_.stamp_taken(writing_.buffer, Station::kDmaEngine, now);
  refused_.squash_when_behind(writing_);
  has_writing_ = writing_.bytes > 0 && writing_.outcome != Outcome::kDrop;
  if (!has_writing_ && writing_.last) {
    if (!writing_begun_) note_busy_link(now);
    leave(writing_, latest(payload_done_at_, now + 1), now);
    payload_lands_ = {};
    payload_done_at_ = {};
  }
  return !has_writing_;
}

// The last byte of the packet has left by cycle `due`. One packet leaves in a cycle. (R3, R15)
void DmaEngine::leave(CompletionRequest& p, Cycle due, Cycle now) {
  p.pressed = held_up_ && payload.peek(now, last_place_) != nullptr;
  held_up_ = writing_begun_ = false;
  const bool has_frame = p.buffer != kNoPacket;
  const Cycle leaves = latest(latest(due, last_leaves_ + 1), has_frame ? packets_[p.buffer].complete : Cycle{});
  if (!leaving_.empty() || !payload_done.can_send(now, leaves)) {
    keep(leaving_, static_cast<const CompletionRequest&>(p), leaves);
    return;
  }
  stamps_.stamp(p.buffer, Station::kDmaEngine, leaves);
  ++counters_.packets_written;
  payload_done.send(now, leaves, p, [](CompletionRequest&) {});
  sent_.push(true, leaves);
  last_leaves_ = leaves;
}

bool DmaEngine::take_gather(Cycle now) {
  if (has_gathering_ || !gather.can_pop(now) || is_full(kDmaClients)) return false;
  gathering_ = gather.pop(now);
  ++segments_taken_;
  if (gathering_.failed && gather_syndrome_ == 0) gather_syndrome_ = kNakRemoteAccess;
  has_gathering_ = gather_syndrome_ == 0;  // (R8)
  if (has_gathering_) return false;
  OpenRead& response = open_read(progress_[kGather], raw(gathering_.buffer));
  keep(data_[kDmaClients], add_part(kDmaClients, {progress_[kGather].read, false, {}, segments_taken_}), now + 1);
  end_segment(gathering_, response);
  return true;
}

inline bool DmaEngine::start_one(Cycle now) {  // (R1)
  waits_for_device_ = false;
  std::uint32_t all = requesters();
  if (arbiter_ != nullptr) {
    for (const std::size_t last = turn_ == 0 ? kRequesters - 1 : turn_ - 1; all != 0;) {
      std::size_t who = arbiter_->next(all, last);
      if (who >= kRequesters || (all >> who & 1) == 0) who = static_cast<std::size_t>(std::countr_zero(all));
      if (start(who, now)) return true;
      all &= ~(1u << who);
    }
    return false;
  }
  // First those from turn_ on, then the others.
  for (std::uint64_t bits = (std::uint64_t{all} << kRequesters | all) >> turn_ << turn_; bits != 0; bits &= bits - 1) {
    const std::size_t bit = static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t who = bit < kRequesters ? bit : bit - kRequesters;
    if (start(who, now)) return true;
  }
  return false;
}

inline bool DmaEngine::start(std::size_t who, Cycle now) {
  const bool started = who == kPayload  ? start_payload(now)
                       : who == kGather ? start_gather(now)
                       : who == kEvents ? start_event(now)
                                        : start_client(now, who);
  if (started) turn_ = who + 1 == kRequesters ? 0 : who + 1;
  return started;
}

inline bool DmaEngine::start_client(Cycle now, std::size_t client) {
  if (client == kResponseClient && !write_backs_.empty()) return start_write_back(now);
  const DmaRequest* const request = requests[client].peek(now);
  if (request == nullptr) return false;
  const DmaRequest& r = *request;
  if (icm::is_device_memory(r.address)) return start_device_request(now, client, r);
  Progress& done = progress_[client];
  const BusAddress at = r.address + done.bytes;
  std::uint32_t bytes = r.bytes - done.bytes;
  if (r.kind == DmaKind::kWrite) {
    bytes = std::min(bytes, write_tlp_room(params_, raw(at)));
    const bool lands = r.notify || (r.cqes > 0 && landed.bound());
    if (lands && landings_.full()) return false;
    if (!has_credit(now, client, bytes)) return false;
    if (done.bytes == 0) {
      done.ok = write_memory(now, r.address, {r.data, r.bytes}, done.latency);
      counters_.failed += !done.ok;
    }
    const Sent sent = send_write(now, bytes, false, done.latency);
    done.bytes += bytes;
    if (done.bytes < r.bytes) return true;
    ++counters_.writes;
    if (lands) {  // (R4)
      keep(landings_, Landing{{r.cookie, r.cqes, now}, static_cast<std::uint32_t>(client), r.notify, done.ok},
           sent.lands.ceiling());
    }
  } else {
    const bool reads = r.kind == DmaKind::kRead;
    const bool is_atomic_op =
        !reads && (r.kind == DmaKind::kSwap || params_.atomic_operations == AtomicOperations::kPcie);
    const std::uint32_t operand = !is_atomic_op ? 0 : r.kind == DmaKind::kCompareSwap ? 16 : 8;
    bytes = reads ? std::min(bytes, read_tlp_room(params_, raw(at))) : kAtomicBytes;
    const TlpCount down = is_atomic_op ? atomic_completion_tlp(params_) : completion_tlps(params_, raw(at), bytes);
    if (!may_read(now, client, operand, down, bytes)) return false;
    if (is_full(client)) return false;  // of device memory: those take no tags
    OpenRead& read = open_read(done, r.cookie);
    if (reads) {
      const bool relaxed = params_.relaxed_ordering && static_cast<DmaClient>(client) == DmaClient::kSendPayload;
      if (timed_ && done.bytes == 0) {
        read.ok = read_memory(now, r.address, buffer_of(r), done.latency);
        read.gone = !read.ok && memory_.gone(r.address);
        counters_.failed += !read.ok;
      }
      send_read(now, client, read_request_tlp(params_), down, {done.read}, relaxed, done.latency);
      counters_.read_bytes += bytes;
      done.bytes += bytes;
      read.all = done.bytes == r.bytes;
      if (!read.all) return true;
      if (r.data != nullptr && !timed_) read_late(r.address, {r.data, r.bytes}, read);
      ++counters_.reads;
    } else {
      read.ok = perform(now, r, done.latency, read.write_latency);
      read.gone = !read.ok && memory_.gone(r.address);
      read.writes_back = !is_atomic_op && read.ok && writes(r);
      read.all = !read.writes_back;
      counters_.failed += !read.ok;
      const TlpCount up = is_atomic_op ? atomic_request_tlp(params_, operand) : read_request_tlp(params_);
      if (is_atomic_op && read.write_latency) {
        done.latency = time_.after_span(done.latency.value_or(Instant{}), *read.write_latency);
      }
      send_read(now, client, up, down, {done.read}, false, done.latency);
      ++counters_.atomics;
    }
  }
  done = {};
  ++counters_.client_requests[client];
  requests[client].drop(now);
  return true;
}

// Bits by requester: set when it has a TLP to start, perhaps only in the next cycle.
std::uint32_t DmaEngine::requesters() const {
  auto bits = static_cast<std::uint32_t>(inputs_ & kClientBits);
  bits |= std::uint32_t{!write_backs_.empty()} << kResponseClient;
  bits |= std::uint32_t{has_writing_} << kPayload;
  bits |= std::uint32_t{has_gathering_} << kGather;
  return bits | std::uint32_t{(inputs_ & kEventBits) != 0} << kEvents;
}

Activity DmaEngine::activity_of_idle_link() const {
  if (output_blocked_) return Activity::kBlocked;
  if (lacks_to_write_ != kNobody) return Activity::kWaitDmaCredit;
  if (lacks_to_read_ != kNobody) return read_wait_;
  return tags_left_ < params_.tags ? Activity::kWaitDmaData : Activity::kStarved;
}

inline Cycle DmaEngine::next_step(Cycle now, bool worked) const {
  if ((worked && link_free(now)) || more_leaving_) return now + 1;
  Cycle next = kNever;
  const auto at = [&](Cycle c) {
    if (c > now && c < next) next = c;
  };
  if (due_ > now) {
    next = due_;
  } else {
    for_each_due(at);  // output that is due already waits for room in a link, which wakes this block
  }
  for (std::uint64_t bits = (inputs_ & kHostWriteBits) >> kHostWritesFrom; bits != 0; bits &= bits - 1) {
    at(arrives_[static_cast<std::size_t>(std::countr_zero(bits))]);
  }
  if (waits_for_device_) at(device_free_);
  if ((inputs_ & bit_of(kPayload)) != 0) at(sent_.next_ready());
  if (lacks_to_write_ != kNobody) at(unlanded_.next_ready());
  if (lacks_to_read_ != kNobody && read_wait_ == Activity::kWaitDmaCredit) at(held_.next_ready());
  if (!link_free(now) && ((inputs_ & kStreamBits) != 0 || requesters() != 0)) at(up_.free().floor());
  return next;
}

void DmaEngine::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(up_.free().cycle);
  h.mix(up_.free().fraction);
  h.mix(down_.free().cycle);
  h.mix(down_.free().fraction);
  h.mix(tags_left_);
  h.mix(device_free_.count);
}

}  // namespace rxnic
