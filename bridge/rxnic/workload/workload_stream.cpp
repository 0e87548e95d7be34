// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/workload_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/types/tag_matching.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kPatternPurpose = 2;
constexpr std::size_t kPatternBytes = 8192;
constexpr double kFrameGapBytes = 24;  // FCS, preamble, gap
constexpr double kPsPerByte = 8000;    // at 1 Gb/s
constexpr std::uint64_t kProgressPackets = 4096;

}  // namespace

WorkloadStream::WorkloadStream(const WorkloadPage& page, const WorkloadLayout& layout, std::uint64_t link_gbps,
                               Progress& progress, const MpiJob* job)
    : page_(page),
      layout_(layout),
      progress_(progress),
      delay_ps_(page.network.delay),
      turns_taken_(layout.qps()),
      failure_noted_(layout.qps()),
      alarms_(layout.qps()),
      links_(layout.peers()),
      network_(page.network, page.seed) {
  for (const SendersPage& s : page.senders) {
    limits_.push_back({transport_of(s.transport), static_cast<std::uint32_t>(s.mtu),
                       static_cast<std::uint32_t>(s.reads), s.timeout, static_cast<std::uint32_t>(s.retries)});
  }
  for (std::size_t g = 0; g < page.senders.size(); ++g) groups_.emplace_back(page, layout, g, link_gbps, job, tagged_);
  qps_.reserve(layout.qps());
  for (std::uint32_t qp = 0; qp < layout.qps(); ++qp) {
    qps_.emplace_back(&limits_[layout.place(qp).group], layout.first_psn(qp));
  }
  const std::uint64_t gbps = page.network.link_gbps != 0 ? page.network.link_gbps : link_gbps;
  for (Link& link : links_) link.ps_per_byte = kPsPerByte / static_cast<double>(gbps);
  RandomNumbers random(page.seed, kPatternPurpose);
  for (std::size_t i = 0; i < kPatternBytes + kMaxMtu; ++i) {
    pattern_.push_back(static_cast<std::uint8_t>(random.next() >> 56));
  }
}

void WorkloadStream::begin(Simulation& simulation) {
  simulation_ = &simulation;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    posts_.clear();
    groups_[g].begin(posts_);
    const std::uint64_t start = page_.senders[g].start;
    for (const std::uint32_t qp : posts_) at(start, EventKind::kPost, qp, qp);
    if (const auto arrival = groups_[g].next_arrival()) {
      at(*arrival, EventKind::kArrival, g, static_cast<std::uint32_t>(g));
    }
  }
}

void WorkloadStream::at(std::uint64_t time_ps, EventKind kind, std::uint64_t order, std::uint32_t index) {
  events_.push({time_ps, kind, order, index});
}

std::uint64_t WorkloadStream::now_ps() const {
  return simulation_->engine.now().count * simulation_->engine.clock_period_ps();
}

// (1) frames that the network has, (2) what the senders do until R3's horizon, (3) wait
bool WorkloadStream::next(Stimulus& item) {
  const std::uint64_t horizon_ps = now_ps() + delay_ps_;
  for (;;) {
    if (packets_ == page_.packets) return false;
    item.kind = Stimulus::Kind::kFrame;
    if (network_.next(item.bytes, item.time_ps)) break;
    const std::uint64_t release_ps = network_.release_ps();
    if (release_ps != 0 && (events_.empty() || events_.top().time_ps >= release_ps)) {
      network_.release();
      continue;
    }
    drop_old_alarms();
    if (events_.empty()) return false;
    const Event e = events_.top();
    if (e.time_ps > horizon_ps) {
      item.kind = Stimulus::Kind::kWait;
      item.time_ps = e.time_ps - delay_ps_;
      return true;
    }
    events_.pop();
    take(e);
  }
  item.wire_bytes = static_cast<std::uint32_t>(item.bytes.size());
  item.link = LinkLayer::kEthernet;
  item.id = ++packets_;
  if (packets_ % kProgressPackets == 0 && progress_.drawing()) {
    progress_.update(packets_, page_.packets, fmt::format("{} packets", packets_));
  }
  if (copy_) copy_(item.bytes, item.time_ps);
  return true;
}

// Alarms of QPs that have got their answers: nothing waits for them.
void WorkloadStream::drop_old_alarms() {
  while (!events_.empty() && events_.top().kind == EventKind::kAlarm) {
    const std::uint32_t qp = events_.top().index;
    if (alarms_[qp] == events_.top().time_ps && qps_[qp].alarm_ps() != 0) return;
    if (alarms_[qp] == events_.top().time_ps) alarms_[qp] = 0;
    events_.pop();
  }
}

void WorkloadStream::take(const Event& e) {
  switch (e.kind) {
    case EventKind::kAnswer: {
      const Answer& answer = answers_[e.index];
      const std::uint32_t qp = answer.qp;
      free_answers_.push_back(e.index);
      const std::uint32_t messages = qps_[qp].on_answer(answer.h, e.time_ps);
      answered(qp, messages, e.time_ps);
      break;
    }
    case EventKind::kAlarm:
      if (alarms_[e.index] != e.time_ps) return;
      alarms_[e.index] = 0;
      qps_[e.index].on_alarm(e.time_ps);
      note_failure(e.index, e.time_ps);
      activate(e.index, e.time_ps);
      set_alarm(e.index);
      break;
    case EventKind::kArrival: {
      SenderGroup& group = groups_[e.index];
      if (const auto qp = group.arrive(qps_)) post(*qp, e.time_ps);
      if (const auto next = group.next_arrival()) at(*next, EventKind::kArrival, e.index, e.index);
      break;
    }
    case EventKind::kPost:
      post(e.index, e.time_ps);
      break;
    case EventKind::kLinkDone:
      link_done(e.index, e.time_ps);
      break;
  }
}

void WorkloadStream::post(std::uint32_t qp, std::uint64_t now_ps) {
  if (qps_[qp].failed()) return;
  qps_[qp].post(groups_[layout_.place(qp).group].message());
  activate(qp, now_ps);
}

// So many messages of the QP have ended.
void WorkloadStream::answered(std::uint32_t qp, std::uint32_t messages, std::uint64_t now_ps) {
  const std::size_t g = layout_.place(qp).group;
  answered_ += messages;
  posts_.clear();
  for (std::uint32_t n = 0; n < messages; ++n) groups_[g].answered(qp, posts_);
  post_later(g, now_ps);
  while (qps_[qp].under_way() < page_.senders[g].window && groups_[g].take_waiting(qp)) post(qp, now_ps);
  note_failure(qp, now_ps);
  activate(qp, now_ps);
  set_alarm(qp);
}

void WorkloadStream::post_later(std::size_t group, std::uint64_t now_ps) {
  const std::uint64_t time_ps = now_ps + page_.senders[group].think;
  for (const std::uint32_t qp : posts_) at(time_ps, EventKind::kPost, qp, qp);
  posts_.clear();
}

void WorkloadStream::note_failure(std::uint32_t qp, std::uint64_t now_ps) {
  if (!qps_[qp].failed() || std::exchange(failure_noted_[qp], 1) != 0) return;
  ++failed_;
  const std::size_t g = layout_.place(qp).group;
  posts_.clear();
  groups_[g].failed(qp, posts_);
  post_later(g, now_ps);
}

// One alarm of a QP is pending at a time, the earliest; an alarm that came too early asks again.
void WorkloadStream::set_alarm(std::uint32_t qp) {
  const std::uint64_t alarm = qps_[qp].alarm_ps();
  if (alarm == 0 || (alarms_[qp] != 0 && alarms_[qp] <= alarm)) return;
  alarms_[qp] = alarm;
  at(alarm, EventKind::kAlarm, qp, qp);
}

// The QP takes its turn on its peer's link when it has something to send.
void WorkloadStream::activate(std::uint32_t qp, std::uint64_t now_ps) {
  if (turns_taken_[qp] != 0 || !qps_[qp].can_send(now_ps)) return;
  turns_taken_[qp] = 1;
  const std::uint32_t peer = layout_.place(qp).peer;
  links_[peer].turns.push_back(qp);
  if (!links_[peer].busy) start_link(peer, now_ps);
}

void WorkloadStream::start_link(std::uint32_t peer, std::uint64_t now_ps) {
  Link& link = links_[peer];
  while (!link.turns.empty()) {
    link.qp = link.turns.front();
    link.turns.pop_front();
    turns_taken_[link.qp] = 0;
    if (!qps_[link.qp].can_send(now_ps)) continue;
    link.h = layout_.headers(link.qp);
    link.payload = qps_[link.qp].next(link.h);
    const std::size_t padded = (link.payload.bytes + 3) / 4 * 4;
    const auto bytes = static_cast<double>(payload_offset_for(link.h) + padded + kIcrcBytes);
    link.free_ps = std::max(link.free_ps, static_cast<double>(now_ps)) + (bytes + kFrameGapBytes) * link.ps_per_byte;
    link.busy = true;
    at(static_cast<std::uint64_t>(std::ceil(link.free_ps)), EventKind::kLinkDone, peer, peer);
    activate(link.qp, now_ps);  // behind the others
    return;
  }
}

void WorkloadStream::link_done(std::uint32_t peer, std::uint64_t now_ps) {
  Link& link = links_[peer];
  network_.begin(link.h);
  network_.deliver(build_frame(link.h, link.payload), now_ps + delay_ps_);
  const std::uint32_t qp = link.qp;
  link.busy = false;
  qps_[qp].sent(std::max(now_ps, this->now_ps()));
  answered(qp, qps_[qp].take_sent(), now_ps);
  if (!link.busy) start_link(peer, now_ps);
}

std::span<std::uint8_t> WorkloadStream::build_frame(Headers& h, const SenderPayload& payload) {
  std::uint8_t* to = frame_.data() + payload_offset_for(h);
  if (payload.bytes != 0) {
    std::memcpy(to, pattern_.data() + h.psn.value * 61 % kPatternBytes, payload.bytes);
  }
  if (payload.tag != TagUse::kNone && payload.bytes >= kTmhBytes) {
    const bool eager = payload.tag == TagUse::kEager;
    const TmhOpcode opcode = eager ? TmhOpcode::kEager : TmhOpcode::kRendezvous;
    build_tmh({static_cast<std::uint8_t>(opcode), raw(h.destination_qp), payload.tag_value}, to);
    if (!eager) build_rvh({payload.va, payload.rkey, payload.announced}, to + kTmhBytes);
  }
  const std::size_t bytes = build_in_place(h, payload.bytes, frame_);
  const std::span<std::uint8_t> frame(frame_.data(), bytes);
  seal(frame, h);
  return frame;
}

void WorkloadStream::on_frame(const Packet& p, std::uint64_t time_ps) {
  if (!network_.answer_arrives()) return;
  std::uint32_t slot = static_cast<std::uint32_t>(answers_.size());
  if (free_answers_.empty()) {
    answers_.emplace_back();
  } else {
    slot = free_answers_.back();
    free_answers_.pop_back();
  }
  Answer& answer = answers_[slot];
  const bool good = parse(p.frame_view(), p.link, answer.h) == ParseStatus::kOk;
  const bool answers = good && (opcode_info(answer.h.opcode).traits & kResponse) != 0;  // no CNP
  answer.qp = answers ? layout_.qp_of_peer(answer.h.destination_qp) : layout_.qps();
  if (answer.qp == layout_.qps()) {
    free_answers_.push_back(slot);
    return;
  }
  at(time_ps + delay_ps_, EventKind::kAnswer, ++answers_seen_, slot);
  simulation_->source.look_again();
}

SenderCounts WorkloadStream::counts() const {
  SenderCounts c;
  for (const SenderGroup& group : groups_) c.messages += group.messages();
  for (const SenderQp& qp : qps_) c.repeated += qp.repeated(), c.timeouts += qp.timeouts();
  c.answered = answered_;
  c.failed_qps = failed_;
  return c;
}

}  // namespace rxnic
