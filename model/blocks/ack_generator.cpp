// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/ack_generator.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rxnic {

namespace {

constexpr std::uint8_t kRnrNakBit = 0x20;
constexpr std::uint8_t kNakBits = 0x60;
constexpr std::uint32_t kAtomicBytes = 8;
constexpr std::uint8_t kSyndromeRemoteAccess = 0x62;

// What an atomic asks of memory. (R5)
DmaRequest atomic_request(const Packet& p) {
  DmaRequest r;
  r.address = p.segments[0].bus;
  r.bytes = kAtomicBytes;
  if (p.has(kAtomicWrite)) {
    r.kind = DmaKind::kSwap;
    std::memcpy(&r.operand, p.payload().data(), kAtomicBytes);
    return r;
  }
  r.kind = p.op().operation == Operation::kFetchAdd ? DmaKind::kFetchAdd : DmaKind::kCompareSwap;
  r.operand = p.h.swap_add;
  r.compare = p.h.compare;
  return r;
}

}  // namespace

AckGenerator::AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, NicShared& shared,
                           std::uint32_t clock_period_ps)
    : Block(name),
      params_(params),
      shared_(shared),
      hold_cycles_((std::uint64_t{params.coalesce_timer_ps} + clock_period_ps - 1) / clock_period_ps),
      jobs_(params.queue_depth),
      flows_(std::size_t{params.queue_depth} * 2),
      buckets_(std::bit_ceil(params.queue_depth) * 2, kNone),
      issuing_(params.queue_depth * 2),
      atomics_(params.queue_depth),
      ready_(params.queue_depth),
      on_their_way_(params.read_responses_in_flight),
      line_(params.latency_cycles) {
  for (auto i = static_cast<Index>(jobs_.size()); i-- > 0;) free_jobs_.push_back(i);
  for (auto i = static_cast<Index>(flows_.size()); i-- > 0;) free_flows_.push_back(i);
  held_.reserve(flows_.size());
}

Cycle AckGenerator::step(Cycle now) {
  // (1) a built answer leaves
  const bool refused = line_.ready(now) && !tx.can_push(now);
  if (line_.ready(now) && !refused) tx.push(now, line_.pop());
  // (2) an atomic was carried out
  if (dma_done.can_pop(now)) finish_atomic(now);
  // (3) ACKs that were held long enough
  while (!held_.empty() && flows_[held_.front()].held_until <= now) unhold(held_.front());
  // (4) a packet retires
  const bool stalled = take(now);
  // (5) READ data and atomics are asked for
  issue(now);
  // (6) the builder
  start_build(now);
  // (7) a QP that failed
  refused_.report(refusals, now);
  if (!failed_.empty() && failures.can_push(now)) {
    failures.push(now, failed_.front());
    failed_.erase(failed_.begin());
  }
  // (8) rest
  return rest(now, activity_now(now, refused, stalled), next_step(now, refused, stalled));
}

Activity AckGenerator::activity_now(Cycle now, bool refused, bool stalled) const {
  if (refused) return Activity::kBlocked;
  if (stalled || wants_buffer_) return Activity::kWaitResponse;
  if (!line_.empty() || !ready_.empty() || now < next_start_) return Activity::kBusy;
  return pending_ > held_.size() ? Activity::kWaitDmaData : Activity::kStarved;
}

Cycle AckGenerator::next_step(Cycle now, bool refused, bool stalled) const {
  Cycle next = kNever;
  const auto at = [&](Cycle c) { next = earliest(next, latest(c, now + 1)); };
  if (!refused) at(line_.next_ready());
  if (now < next_start_ && line_.empty() && ready_.empty()) at(next_start_);  // busy till then
  if (!line_.full() && (!ready_.empty() || !gathered.empty())) at(next_start_);
  if (!held_.empty()) at(flows_[held_.front()].held_until);
  if (!dma_done.empty()) at(now);
  if (!atomics_.empty() && dma.can_push(now)) at(now);
  if (!issuing_.empty() && !on_their_way_.full() && gather.can_push(now)) at(now);
  if (!failed_.empty() && failures.can_push(now)) at(now);
  if (!in.empty() && !(stalled && pending_ >= params_.queue_depth)) at(now);
  return next;
}

// False unless a packet must wait for a pending answer.
bool AckGenerator::take(Cycle now) {  // (R1)
  if (!in.can_pop(now)) return false;
  const PacketHandle h = *in.peek(now);
  Packet& p = shared_.packets[h];
  if (p.acknowledge && pending_ >= params_.queue_depth) return true;
  in.pop(now);
  ++counters_.packets;
  p.stamp(Station::kAckGenerator, now);
  if (refused_.refuses(p)) {  // (R7) what it did is done and completed: only its answer is not sent
    counters_.suppressed += p.acknowledge;
    p.acknowledge = false;
  }
  if (p.acknowledge && p.qp != nullptr && p.role == PacketRole::kReceived && p.has(kRequest)) {
    answer(h, now);
  } else {
    shared_.ledger.retire(p, now);
    shared_.packets.release(h);
  }
  return false;
}

void AckGenerator::answer(PacketHandle h, Cycle now) {
  Packet& p = shared_.packets[h];
  QpContext& qp = *p.qp;
  const bool nak = p.outcome == Outcome::kNak;
  const bool replay = p.outcome == Outcome::kReplay;
  const bool may_be_held = p.outcome == Outcome::kExecute && !p.has(kRead | kAtomic);
  Headers a = answer_headers(p.h, qp.remote_qpn);
  a.psn = p.answer_psn;
  a.msn = p.answer_msn;
  a.syndrome = nak ? p.syndrome : ack_syndrome(p);
  Job job;
  job.packet = h;
  if (p.has(kRead) && !nak) {
    ++counters_.reads;
    a.opcode = answer_opcode(p.h.opcode, Operation::kReadResponseOnly);
    if (p.h.length > 0) job.kind = Kind::kRead;
    job.read = {p.h.va, p.h.rkey, p.h.length, qp.mtu, p.answer_psn, false};
  } else if (p.has(kAtomic) && !nak) {
    const bool write = p.has(kAtomicWrite);
    a.opcode = answer_opcode(p.h.opcode, write ? Operation::kReadResponseOnly : Operation::kAtomicAck);
    job.kind = Kind::kAtomic;
    job.replay = replay;
    if (!replay) job.request = atomic_request(p);
    if (p.resource >= results_.size()) results_.resize(std::size_t{p.resource} + 1);
    job.region = p.h.rkey;
  }
  counters_.replays += replay;
  if (job.kind != Kind::kAnswer) {
    job.qp = &qp;
    qp.pins.add();
  }
  const std::uint32_t qpn = raw(qp.qpn);
  shared_.ledger.retire(p, now);
  p.h = a;
  p.role = PacketRole::kResponse;
  p.segment_count = 0;
  ++pending_;
  const Index flow = find_flow(qpn);
  const bool waits = flow != kNone && flows_[flow].first != kNone;
  if (may_be_held && !waits && params_.coalesce_packets > 1) {
    hold(h, flow, qpn, now);
    return;
  }
  if (flow != kNone && flows_[flow].held != kNoPacket) unhold(flow);  // (R6)
  if (job.kind == Kind::kAnswer && !waits) {
    make_ready(h);
  } else {
    append(qpn, job, now);
  }
}

void AckGenerator::hold(PacketHandle h, Index flow, std::uint32_t qpn, Cycle now) {  // (R6)
  if (flow == kNone || flows_[flow].held == kNoPacket) {
    if (held_.size() >= params_.queue_depth / 2) {
      make_ready(h);
      return;
    }
    if (flow == kNone) flow = make_flow(qpn);
    flows_[flow].held_requests = 0;
    flows_[flow].held_until = now + hold_cycles_;
    held_.push_back(flow);
  } else {
    ++counters_.coalesced;
    discard(flows_[flow].held);
  }
  flows_[flow].held = h;
  if (++flows_[flow].held_requests >= params_.coalesce_packets) unhold(flow);
}

void AckGenerator::unhold(Index flow) {
  make_ready(flows_[flow].held);
  flows_[flow].held = kNoPacket;
  held_.erase(std::find(held_.begin(), held_.end(), flow));
  free_if_empty(flow);
}

void AckGenerator::append(std::uint32_t qpn, const Job& job, Cycle now) {
  Index flow = find_flow(qpn);
  if (flow == kNone) flow = make_flow(qpn);
  const Index at = free_jobs_.back();
  free_jobs_.pop_back();
  jobs_[at] = job;
  Flow& f = flows_[flow];
  if (f.first == kNone) {
    f.first = at;
  } else {
    jobs_[f.last].next = at;
  }
  f.last = at;
  advance(flow, now);
}

// Moves on what its QP no longer holds up. (R3)
void AckGenerator::advance(Index flow, Cycle now) {
  Flow& f = flows_[flow];
  while (f.first != kNone) {
    Job& job = jobs_[f.first];
    if (job.kind == Kind::kRead) {
      if (job.read.bytes_left > 0 || job.on_their_way > 0) break;
      discard(job.packet);
    } else if (job.failed && !job.issued) {
      ++counters_.suppressed;
      discard(job.packet);
    } else if (job.kind == Kind::kAnswer || job.done) {
      make_ready(job.packet);
    } else if (job.issued) {
      break;
    } else if (job.replay) {  // (R5)
      Packet& p = shared_.packets[job.packet];
      const AtomicResult& saved = results_[p.resource];
      job.done = saved.done && saved.psn == p.h.psn;
      job.failed = !job.done;
      p.h.original = saved.original;
      continue;
    } else {
      job.issued = true;
      atomics_.push(f.first, Cycle{});
      break;
    }
    free_first(f, now);
  }
  if (!f.listed && readable(f) != kNone) {
    f.listed = true;
    issuing_.push(flow, Cycle{});
  }
  free_if_empty(flow);
}

// The READ of the QP whose data is to be asked for next: those before it are READs asked for to their end.
AckGenerator::Index AckGenerator::readable(const Flow& f) const {
  Index at = f.first;
  while (at != kNone && jobs_[at].kind == Kind::kRead && jobs_[at].read.bytes_left == 0) at = jobs_[at].next;
  return at != kNone && jobs_[at].kind == Kind::kRead ? at : kNone;
}

void AckGenerator::issue(Cycle now) {
  wants_buffer_ = false;
  if (!atomics_.empty() && dma.can_push(now)) {
    const Index at = atomics_.pop();
    jobs_[at].request.cookie = at;
    jobs_[at].request.data = reinterpret_cast<std::uint8_t*>(&jobs_[at].original);
    dma.push(now, jobs_[at].request);
    ++counters_.atomics;
  }
  while (!issuing_.empty() && readable(flows_[issuing_.front()]) == kNone) {  // what failed meanwhile
    const Index flow = issuing_.pop();
    flows_[flow].listed = false;
    free_if_empty(flow);
  }
  if (issuing_.empty() || on_their_way_.full() || !gather.can_push(now)) return;
  wants_buffer_ = !shared_.packets.available(PacketClass::kResponse);
  if (wants_buffer_) return;
  const Index flow = issuing_.pop();
  issue_read(flow, readable(flows_[flow]), now);
  flows_[flow].listed = readable(flows_[flow]) != kNone;
  if (flows_[flow].listed) issuing_.push(flow, Cycle{});
}

void AckGenerator::issue_read(Index flow, Index at, Cycle now) {  // (R4)
  const PacketHandle h = shared_.packets.allocate(PacketClass::kResponse);
  Packet& response = shared_.packets[h];
  Job& job = jobs_[at];
  const Packet& request = shared_.packets[job.packet];
  response.role = PacketRole::kResponse;
  response.outcome = Outcome::kExecute;
  response.qp = job.qp;  // pinned by the job
  response.pd = request.pd;
  response.access = kRemoteRead;
  response.id = request.id;
  next_read_response(response, request.h, job.read);
  ++job.on_their_way;
  on_their_way_.push({flow, at, next_ticket_++}, Cycle{});
  gather.push(now, h);
}

void AckGenerator::start_build(Cycle now) {  // (R2)
  if (now < next_start_ || line_.full()) return;
  const bool data = gathered.can_pop(now);
  if (data && (ready_.empty() || on_their_way_.front().ticket < ready_.front().ticket)) {
    build_read_response(now);
  } else if (!ready_.empty()) {
    --pending_;
    build(ready_.pop().packet, 0, now);
  }
}

void AckGenerator::build_read_response(Cycle now) {
  const PacketHandle h = gathered.pop(now);
  const OnItsWay from = on_their_way_.pop();
  Packet& p = shared_.packets[h];
  Job& job = jobs_[from.job];
  --job.on_their_way;
  p.qp = nullptr;
  if (job.failed) {
    ++counters_.suppressed;
    shared_.packets.release(h);
  } else if (p.outcome == Outcome::kNak || p.drop_reason != DropReason::kNone) {  // (R7)
    make_nak(p, job, p.syndrome != 0 ? p.syndrome : kSyndromeRemoteOperation);
    fail_behind(from.job);
    build(h, 0, now);
  } else {
    counters_.read_bytes += p.h.payload_bytes;
    build(h, p.h.payload_bytes, now);
  }
  if (job.read.bytes_left == 0 && job.on_their_way == 0) advance(from.flow, now);
}

void AckGenerator::finish_atomic(Cycle now) {  // (R5)
  const DmaCompletion done = dma_done.pop(now);
  Job& job = jobs_[done.cookie];
  Packet& p = shared_.packets[job.packet];
  const Index flow = find_flow(raw(job.qp->qpn));
  job.done = true;
  if (done.ok) {
    p.h.original = job.original;
    results_[p.resource] = {true, p.h.psn, job.original};
  } else {
    make_nak(p, job, kSyndromeRemoteOperation);
    fail_behind(done.cookie);
  }
  advance(flow, now);
}

// Turns a response whose memory failed into a NAK. (R7)
void AckGenerator::make_nak(Packet& p, const Job& job, std::uint8_t syndrome) {
  const Packet& request = shared_.packets[job.packet];
  ++counters_.memory_errors;
  p.h.opcode = answer_opcode(p.h.opcode, Operation::kAck);
  p.h.syndrome = syndrome;
  tell_failure(*job.qp, syndrome);
  p.h.msn = request.undo.msn;
  refused_.fail_requests(*job.qp);  // what is behind has passed the other blocks: only its answers are not sent
}

void AckGenerator::tell_failure(QpContext& qp, std::uint8_t syndrome) {
  if (!failures.bound()) return;
  qp.pins.add();
  failed_.push_back({&qp, syndrome == kSyndromeRemoteAccess ? EventType::kQpAccessError : EventType::kQpFatal});
}

bool AckGenerator::has_atomic_on(Key region) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.kind == Kind::kAtomic && !job.replay && !job.done && job.qp != nullptr && job.region == region;
  });
}

void AckGenerator::fail_behind(Index at) {
  for (; at != kNone; at = jobs_[at].next) {
    jobs_[at].failed = true;
    jobs_[at].read.bytes_left = 0;
  }
}

void AckGenerator::discard(PacketHandle h) {
  shared_.packets.release(h);
  --pending_;
}

void AckGenerator::build(PacketHandle h, std::uint32_t payload_bytes, Cycle now) {
  Packet& p = shared_.packets[h];
  build_answer(p, payload_bytes);
  const bool ack = (p.op().traits & (kAckKind | kHasAtomicAckEth)) == kAckKind;
  const std::uint8_t kind = p.h.syndrome & kNakBits;
  counters_.read_responses += p.has(kReadResponse);
  counters_.atomic_responses += p.has(kHasAtomicAckEth);
  counters_.acks += ack && kind == 0;
  counters_.rnr_naks += ack && kind == kRnrNakBit;
  counters_.naks += ack && kind == kNakBits;
  line_.push(h, now + params_.latency_cycles);
  next_start_ = now + params_.response_cycles;
}

void AckGenerator::free_first(Flow& f, Cycle now) {
  const Index at = f.first;
  if (jobs_[at].qp != nullptr) jobs_[at].qp->pins.remove(now);
  f.first = jobs_[at].next;
  jobs_[at].qp = nullptr;
  free_jobs_.push_back(at);
}

std::size_t AckGenerator::bucket(std::uint32_t qpn) const {
  return (std::size_t{qpn} * 0x9e3779b1u >> 8) & (buckets_.size() - 1);
}

AckGenerator::Index AckGenerator::find_flow(std::uint32_t qpn) const {
  Index at = buckets_[bucket(qpn)];
  while (at != kNone && flows_[at].qpn != qpn) at = flows_[at].next_in_bucket;
  return at;
}

AckGenerator::Index AckGenerator::make_flow(std::uint32_t qpn) {
  const Index at = free_flows_.back();
  free_flows_.pop_back();
  flows_[at] = {};
  flows_[at].qpn = qpn;
  Index& head = buckets_[bucket(qpn)];
  flows_[at].next_in_bucket = head;
  head = at;
  return at;
}

void AckGenerator::free_if_empty(Index flow) {
  const Flow& f = flows_[flow];
  if (f.first != kNone || f.held != kNoPacket || f.listed) return;
  Index* link = &buckets_[bucket(f.qpn)];
  while (*link != flow) link = &flows_[*link].next_in_bucket;
  *link = f.next_in_bucket;
  free_flows_.push_back(flow);
}

std::uint8_t AckGenerator::ack_syndrome(const Packet& p) const {
  const bool counted = params_.credits == AckCredits::kCounted && !p.qp->uses_srq;
  return counted ? credit_code(p.posted_wqes) : kCreditsUnlimited;
}

void AckGenerator::hash(StateHash& h) const {
  const auto& c = counters_;
  for (const std::uint64_t n :
       {c.packets, c.acks, c.naks, c.rnr_naks, c.coalesced, c.reads, c.read_responses, c.read_bytes, c.atomics,
        c.atomic_responses, c.replays, c.memory_errors, c.suppressed}) {
    h.mix(n);
  }
  h.mix(pending_);
  h.mix(next_ticket_);
  h.mix(next_start_.count);
}

}  // namespace rxnic
