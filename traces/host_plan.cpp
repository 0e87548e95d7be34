// SPDX-License-Identifier: Apache-2.0
#include "traces/host_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "traces/cm_message.h"
#include "traces/region_planner.h"

namespace rxnic {
namespace {

// Bus addresses: nothing of them overlaps, and the tables of context.h are above.
constexpr std::uint64_t kRingsBase = 0x100'0000'0000;
constexpr std::uint64_t kCqsBase = 0x200'0000'0000;
// Virtual addresses of buffers, where no program has any.
constexpr std::uint64_t kBuffersVa = 0x0100'0000'0000'0000;
constexpr unsigned kLargeShift = 21;
constexpr std::uint32_t kCqSlots = 65536, kFewCqSlots = 256;  // of a CQ, by default
constexpr std::uint32_t kCqSlotsInAll = 1u << 20;             // of more than 16 CQs
constexpr std::uint64_t kMostCqeBytes = 128;
constexpr std::uint32_t kRqDepth = 256;
constexpr std::uint32_t kRqWqes = 65536;  // of all RQs together, by default
constexpr std::uint32_t kSrqDepth = 1024;
constexpr std::uint32_t kBufferStep = 64;
constexpr std::uint32_t kMinBuffer = 256;
constexpr std::uint32_t kMaxIndex = 1u << 24;

std::string size_text(unsigned shift) {
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  return std::to_string(1u << shift % 10) + " " + kUnits[std::min<std::size_t>(shift / 10, kUnits.size() - 1)];
}

class Planner {
 public:
  Planner(const ReceiverSurvey& survey, const HostOptions& options)
      : survey_(survey), options_(options), regions_(options.page_shift) {
    plan_.refill_batch = options.refill_batch;
    plan_.application = options.application;
    plan_.wqe_order = options.wqe_order;
    plan_.seed = options.seed;
  }

  HostPlan make() {
    add_cqs();
    add_regions();
    add_queues();
    add_tags();
    for (std::size_t i = 0; i < survey_.qps.size(); ++i) add_qp(survey_.qps[i], queue_of_[i], cq_of(i));
    share_responder_resources();
    add_answer_buffers();
    add_notes();
    if (regions_.reuses_atomics() && !plan_.seeds.empty()) plan_.atomics_comparable = false;
    if (survey_.atomics_unanswered != 0) {
      plan_.atomics_comparable = false;
      plan_.notes.push_back(std::to_string(survey_.atomics_unanswered) +
                            " addresses of atomics start at zero: their first result is not in the capture");
    }
    return std::move(plan_);
  }

 private:
  // R11
  void add_cqs() {
    const std::size_t qps = std::max<std::size_t>(survey_.qps.size(), 1);
    const std::size_t each = options_.qps_per_cq == 0 ? qps : options_.qps_per_cq;
    const std::size_t cqs = (qps + each - 1) / each;
    CqContext cq;
    cq.slots = options_.cq_slots;
    if (cq.slots == 0) {
      cq.slots = std::clamp(std::bit_floor(kCqSlotsInAll / static_cast<std::uint32_t>(cqs)), kFewCqSlots, kCqSlots);
    }
    cq.polled_only = !options_.completions.events;
    cq.moderation_count = options_.completions.moderation_count;
    cq.moderation_period_us = options_.completions.moderation_period_us;
    cq.compress = options_.cq_compression == CqCompression::kOn ||
                  (options_.cq_compression == CqCompression::kByParameter && options_.compress_by_default);
    for (std::uint32_t n = 0; n < cqs; ++n) {
      cq.base = BusAddress{kCqsBase + n * std::uint64_t{cq.slots} * kMostCqeBytes};
      cq.number = Cqn{n};
      plan_.cqs.push_back(cq);
    }
  }

  Cqn cq_of(std::size_t qp) const {
    return Cqn{options_.qps_per_cq == 0 ? 0 : static_cast<std::uint32_t>(qp / options_.qps_per_cq)};
  }

  void add_regions() {
    std::map<std::uint32_t, std::uint32_t> index_to_key;
    std::set<std::uint32_t> with_atomics;
    for (const SurveyedAtomic& a : survey_.atomics) with_atomics.insert(raw(a.key));
    std::map<std::uint32_t, std::size_t> placed;             // by key: the first with it
    std::vector<std::size_t> plans(survey_.regions.size());  // of each surveyed region
    const auto add = [&](bool atomics) {
      for (std::size_t n = 0; n < plans.size(); ++n) {
        const SurveyedRegion& r = survey_.regions[n];
        if (with_atomics.contains(raw(r.key)) != atomics) continue;
        plans[n] = plan_.regions.size();
        placed.try_emplace(raw(r.key), plans[n]);
        plan_.regions.push_back(regions_.make(r.key, r.lowest, r.end - r.lowest, r.access));
        if (r.invalidated) plan_.regions.back().mpt.kind = MemoryKind::kFastRegistered;  // R8
      }
    };
    regions_.begin_atomics();
    add(true);
    regions_.end_atomics();
    add(false);
    for (std::size_t n = 0; n < plans.size(); ++n) {  // R6, in order of appearance
      const SurveyedRegion& r = survey_.regions[n];
      used_indices_.insert(raw(r.key) >> 8);
      const auto [at, fresh] = index_to_key.try_emplace(raw(r.key) >> 8, raw(r.key));
      if (fresh) continue;
      plan_.regions[plans[n]].install_before = r.first_packet;
      ++replaced_;
    }
    if (replaced_ != 0) {
      plan_.notes.push_back(std::to_string(replaced_) + " regions replace one with the same index when they are used");
    }
    for (const SurveyedAtomic& a : survey_.atomics) {
      const auto at = placed.find(raw(a.key));
      if (at == placed.end()) continue;
      const RegionPlan& r = plan_.regions[at->second];
      const unsigned shift = r.mpt.page_shift;
      const std::uint64_t page = (a.va >> shift) - (r.mpt.va >> shift);
      if (page >= r.pages.size()) continue;
      plan_.seeds.push_back({r.pages[page] + (a.va & ((std::uint64_t{1} << shift) - 1)), a.original});
      plan_.atomics_comparable &= !r.aliased;
    }
  }

  // A key for a buffer whose index no rkey of the capture uses.
  Key next_lkey() {
    do {
      next_index_ = (next_index_ + 1) % kMaxIndex;
    } while (next_index_ <= 1 || !used_indices_.insert(next_index_).second);
    return Key{next_index_ << 8};
  }

  std::uint32_t buffer_for(std::uint64_t largest, bool datagram) const {
    const std::uint64_t grh = datagram ? kGrhBytes : 0;
    if (options_.buffer != 0) return options_.buffer;
    const std::uint64_t bytes = round_up(std::max<std::uint64_t>(largest, kMinBuffer), kBufferStep) + grh;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(round_up(bytes, 8), 1u << 30));
  }

  std::uint32_t add_queue(WqKind kind, std::uint32_t number, std::uint32_t buffer_bytes) {
    const bool list = kind == WqKind::kSrq && options_.srq_layout == WqLayout::kLinkedList;
    QueuePlan q;
    const auto qps = static_cast<std::uint32_t>(survey_.qps.size());
    const std::uint32_t rq_depth = std::clamp(kRqWqes / std::max(qps, 1u), 16u, kRqDepth);
    q.depth = options_.depth != 0 ? options_.depth : kind == WqKind::kSrq ? kSrqDepth : rq_depth;
    q.sges = std::min(options_.sges, buffer_bytes);
    if (buffer_bytes == options_.buffer) q.sge_bytes = options_.sge_bytes;
    q.buffer_bytes = buffer_bytes;
    q.context.kind = kind;
    q.context.layout = list ? WqLayout::kLinkedList : WqLayout::kCyclic;
    q.context.number = number;
    q.context.slots = std::max(2u, std::bit_ceil(q.depth + (list ? 1 : 0)));
    q.context.stride = std::bit_ceil(std::max<std::uint32_t>(32, (q.sges + (list ? 1 : 0)) * sizeof(DataSegment)));
    q.context.pd = HostPlan::kPd;
    q.context.base = BusAddress{kRingsBase + ring_bytes_};
    ring_bytes_ += round_up(std::uint64_t{q.context.slots} * q.context.stride, 4096);
    q.lkey = next_lkey();
    q.buffers_va = kBuffersVa + buffers_bytes_;
    const std::uint64_t bytes = std::uint64_t{q.context.slots} * buffer_bytes;
    buffers_bytes_ += round_up(bytes, std::uint64_t{1} << kLargeShift);
    plan_.regions.push_back(regions_.make(q.lkey, q.buffers_va, bytes, kLocalWrite));
    plan_.queues.push_back(std::move(q));
    return static_cast<std::uint32_t>(plan_.queues.size() - 1);
  }

  // R2, R3
  void add_queues() {
    const bool shared = options_.receive != ReceiveKind::kRq;
    std::uint64_t largest = 0;
    bool datagrams = false;
    std::uint64_t largest_xrc = 0;
    std::set<std::uint32_t> srqs;
    for (const SurveyedQp& qp : survey_.qps) {
      if (qp.transport == Transport::kXrc) {
        largest_xrc = std::max(largest_xrc, qp.largest_send);
        for (const Srqn n : qp.xrc_srqs) srqs.insert(raw(n));
      } else if (qp.qpn != kGsiQpn) {
        largest = std::max(largest, qp.largest_send);
        datagrams |= qp.transport == Transport::kUd;
      }
    }
    std::uint32_t srq = kNoQueue, sharing = 0;
    for (std::size_t i = 0; i < survey_.qps.size(); ++i) {
      const SurveyedQp& qp = survey_.qps[i];
      std::uint32_t queue = kNoQueue;
      if (qp.transport == Transport::kXrc) {
        // takes its WQEs from the SRQs that the packets name
      } else if (qp.qpn == kGsiQpn) {
        queue = add_queue(WqKind::kRq, raw(qp.qpn), kMadBytes + static_cast<std::uint32_t>(kGrhBytes));
      } else if (shared) {
        const bool full = options_.qps_per_srq != 0 && sharing == options_.qps_per_srq;
        if (srq == kNoQueue || full) {
          srq = add_srq(free_srqn(srqs), buffer_for(largest, datagrams), cq_of(i));
          sharing = 0;
        }
        ++sharing;
        queue = srq;
      } else {
        queue = add_queue(WqKind::kRq, raw(qp.qpn), buffer_for(qp.largest_send, qp.transport == Transport::kUd));
        plan_.queues[queue].hold_after = qp.rnr_after_receives;
      }
      queue_of_.push_back(queue);
    }
    for (const std::uint32_t n : srqs) {
      const std::uint32_t queue = add_queue(WqKind::kSrq, n, buffer_for(largest_xrc, false));
      plan_.queues[queue].context.xrcd = HostPlan::kXrcd;
      plan_.queues[queue].context.cq = Cqn{0};
    }
  }

  std::uint32_t add_srq(std::uint32_t number, std::uint32_t buffer_bytes, Cqn cq) {
    const std::uint32_t queue = add_queue(WqKind::kSrq, number, buffer_bytes);
    plan_.queues[queue].context.tag_matching = options_.receive == ReceiveKind::kTagMatchingSrq;
    plan_.queues[queue].context.cq = cq;
    return queue;
  }

  std::uint32_t free_srqn(const std::set<std::uint32_t>& used) {
    do {
      ++last_srqn_;
    } while (used.contains(last_srqn_));
    return last_srqn_;
  }

  void add_tags() {  // R9
    for (std::uint32_t n = 0; options_.tags != 0 && n < plan_.queues.size(); ++n) {
      if (!plan_.queues[n].context.tag_matching) continue;
      TagPlan& t = plan_.tag_lists.emplace_back();
      t.queue = n;
      t.entries = options_.tags;
      t.mask = options_.tag_mask;
      t.tags = survey_.tags;
      t.counting_tags = options_.counting_tags;
      t.policy = options_.tag_policy;
      t.buffer_bytes = plan_.queues[n].buffer_bytes;
      t.lkey = next_lkey();
      t.buffers_va = kBuffersVa + buffers_bytes_;
      const std::uint64_t bytes = std::uint64_t{t.entries} * t.buffer_bytes;
      buffers_bytes_ += round_up(bytes, std::uint64_t{1} << kLargeShift);
      plan_.regions.push_back(regions_.make(t.lkey, t.buffers_va, bytes, kLocalWrite));
    }
  }

  void add_notes() {
    const auto note = [this](std::string text) { plan_.notes.push_back(std::move(text)); };
    note("memory regions and buffers have pages of " + size_text(options_.page_shift));
    if (regions_.larger() != 0) {
      note(std::to_string(regions_.larger()) + " of " + std::to_string(plan_.regions.size()) +
           " regions have larger pages, of up to " + size_text(regions_.largest_shift()) +
           ": their lists of pages of " + size_text(options_.page_shift) + " would be too long");
    }
    if (regions_.wrapped()) note("data pages are shared: those of all regions and buffers are more than 64 MiB");
    if (options_.wqe_order != WqeOrder::kCompletion &&
        std::none_of(plan_.queues.begin(), plan_.queues.end(),
                     [](const QueuePlan& q) { return q.context.layout == WqLayout::kLinkedList; })) {
      note("wqe_order has no effect: no SRQ is a linked list");
    }
    if (options_.tags == 0) return;
    const std::string of = options_.counting_tags != 0 ? "the" : std::to_string(survey_.tags.size());
    note(std::to_string(options_.tags) + " tags are kept posted, those of " + of + " tagged messages in their order");
    if (survey_.tags_beyond != 0) {
      note(std::to_string(survey_.tags_beyond) + " tagged messages find no tag: too many to be remembered");
    }
  }

  // R1
  void add_qp(const SurveyedQp& s, std::uint32_t queue, Cqn cq) {
    QpPlan q;
    QpContext& c = q.context;
    c.valid = 1;
    c.state = QpState::kRts;
    c.transport = s.transport;
    c.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kRemoteFlush;
    c.qpn = s.qpn;
    c.remote_qpn = s.peer_qpn;
    c.pd = HostPlan::kPd;
    c.xrcd = s.transport == Transport::kXrc ? HostPlan::kXrcd : Xrcdn{};
    c.local = survey_.receiver;
    if (s.transport != Transport::kUd) c.remote = s.peer;
    c.mtu = s.mtu;
    c.any_pkey = s.any_pkey;
    if ((s.pkey & kPkeyBase) != 0) c.pkey = s.pkey | static_cast<std::uint16_t>(~kPkeyBase);
    c.qkey = s.qkey;
    c.receive_cq = c.send_cq = cq;
    c.receive_queue = queue == kNoQueue ? kNoWq : WqId{queue};
    c.uses_srq = queue == kNoQueue || plan_.queues[queue].context.kind == WqKind::kSrq;
    c.tag_matching = queue != kNoQueue && plan_.queues[queue].context.tag_matching;
    c.resynchronise = options_.resynchronise && !s.strict;
    c.starts_inside = s.first_inside;
    c.max_dest_rd_atomic = s.responder_resources;
    c.expected_psn = s.first_psn;
    c.nak_sent = s.first_not_ready;
    c.msn = s.initial_msn;
    q.queue = queue;
    q.restarts = s.restarts;
    q.answer_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(s.largest_local_read, kMaxMessageBytes));
    plan_.qps.push_back(q);
  }

  // R10
  void share_responder_resources() {
    std::vector<QpContext*> with;
    std::uint64_t wanted = 0;
    for (QpPlan& q : plan_.qps) {
      if (!is_reliable(q.context.transport) || q.context.max_dest_rd_atomic == 0) continue;
      with.push_back(&q.context);
      wanted += q.context.max_dest_rd_atomic;
    }
    const std::uint64_t most = wanted <= options_.responder_resources
                                   ? 255u
                                   : std::max<std::uint64_t>(options_.responder_resources / with.size(), 1u);
    for (QpContext* qp : with) {
      qp->max_dest_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint64_t>(qp->max_dest_rd_atomic, most));
      plan_.responder_resources += qp->max_dest_rd_atomic;
    }
    if (wanted <= options_.responder_resources) return;
    plan_.notes.push_back(std::to_string(with.size()) + " QPs have at most " + std::to_string(most) +
                          " READs or atomics in flight: the NIC saves " + std::to_string(options_.responder_resources));
  }

  // R7
  void add_answer_buffers() {
    for (QpPlan& q : plan_.qps) {
      if (q.answer_bytes == 0) continue;
      q.answer_lkey = next_lkey();
      q.answer_va = kBuffersVa + buffers_bytes_;
      buffers_bytes_ += round_up(q.answer_bytes, std::uint64_t{1} << kLargeShift);
      plan_.regions.push_back(regions_.make(q.answer_lkey, q.answer_va, q.answer_bytes, kLocalWrite));
    }
  }

  const ReceiverSurvey& survey_;
  const HostOptions& options_;
  RegionPlanner regions_;
  HostPlan plan_;
  std::vector<std::uint32_t> queue_of_;  // by QP of the survey
  std::set<std::uint32_t> used_indices_;
  std::uint32_t next_index_ = 0;
  std::uint32_t last_srqn_ = 0;  // of an SRQ that the packets do not name
  std::uint64_t ring_bytes_ = 0;
  std::uint64_t buffers_bytes_ = 0;
  std::uint64_t replaced_ = 0;
};

}  // namespace

HostPlan make_host_plan(const ReceiverSurvey& survey, const HostOptions& options) {
  return Planner(survey, options).make();
}

std::uint32_t fill_data_segments(const QueuePlan& queue, std::uint32_t slot, std::span<DataSegment> out) {
  const std::uint64_t buffer = queue.buffers_va + std::uint64_t{slot} * queue.buffer_bytes;
  std::uint32_t at = 0;
  std::uint32_t filled = 0;
  for (; filled < queue.sges && filled < out.size(); ++filled) {
    const std::uint32_t bytes = sge_length(queue.sge_bytes, queue.buffer_bytes, queue.sges, filled);
    out[filled] = {bytes, raw(queue.lkey), buffer + at};
    at += bytes;
  }
  if (filled < out.size()) out[filled++] = {0, raw(kInvalidKey), 0};
  return filled;
}

}  // namespace rxnic
