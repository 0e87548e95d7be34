// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/host_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rxnic {

Params params_for(const HostPlan& plan, Params params) {
  std::string lacking;
  const auto need = [&lacking](const char* parameter, std::uint64_t has, std::uint64_t needed, const char* what) {
    if (needed <= has) return;
    lacking += fmt::format("{}{}: found {}; expected at least {} for the {} of the capture",
                           lacking.empty() ? "" : ";\n", parameter, has, needed, what);
  };
  const auto srqs =
      std::ranges::count_if(plan.queues, [](const QueuePlan& q) { return q.context.kind == WqKind::kSrq; });
  const auto lists = std::ranges::count_if(plan.queues, [](const QueuePlan& q) { return q.context.tag_matching; });
  need("transport_checker.responder_resources", params.transport_checker.responder_resources, plan.responder_resources,
       "QPs with READs or atomics");
  need("device.max_srqs", params.device.max_srqs, static_cast<std::uint64_t>(srqs), "SRQs");
  need("device.max_cqs", params.device.max_cqs, plan.cqs.size(), "CQs");
  need("tag_match_cam.lists", params.tag_match_cam.lists, static_cast<std::uint64_t>(lists), "TM SRQs");
  if (!lacking.empty()) throw std::invalid_argument(lacking);
  const auto qps = static_cast<std::uint32_t>(plan.qps.size());
  params.requester.send_queues = std::max(params.requester.send_queues, qps);
  return params;
}

void complete_host_options(HostOptions& options, Params& params) {
  if (options.cq_compression == CqCompression::kOn) params.cqe_generator.compression = true;
  options.compress_by_default = params.cqe_generator.compression;
  if (options.layout_chosen) return;
  const bool cyclic = params.srq_wqe_fetcher.srq_layout == SrqLayout::kCyclic;
  options.srq_layout = cyclic ? WqLayout::kCyclic : WqLayout::kLinkedList;
}

RunFeatures features_of(const HostOptions& options, const HostPlan& plan) {
  RunFeatures run{RunFeature::kCapture};
  if (options.cq_compression != CqCompression::kOff) run.add(RunFeature::kCompression);
  if (options.completions.events) run.add(RunFeature::kArmed);
  if (plan.cqs.size() > 1) run.add(RunFeature::kSeveralCqs);
  for (const QueuePlan& q : plan.queues) {
    if (q.context.kind == WqKind::kSrq && !options.layout_chosen) run.add(RunFeature::kSrqLayout);
    run.add(q.context.layout == WqLayout::kLinkedList ? RunFeature::kLinkedList : RunFeature::kCyclic);
    if (q.context.tag_matching) run.add(RunFeature::kTagMatching);
  }
  if (std::ranges::any_of(plan.tag_lists, [](const TagPlan& list) {
        return !list.tags.empty() || list.counting_tags != 0 || !list.posts.empty();
      })) {
    run.add(RunFeature::kTags);
  }
  return run;
}

std::string host_text(const HostOptions& o, const HostPlan& plan) {
  std::uint32_t depth = 0;
  for (const QueuePlan& q : plan.queues) depth = std::max(depth, q.depth);
  std::string kind = o.receive == ReceiveKind::kRq ? "an RQ for each QP" : "one SRQ";
  if (o.qps_per_srq != 0) kind = fmt::format("an SRQ for {} QPs each", o.qps_per_srq);
  if (o.receive == ReceiveKind::kTagMatchingSrq) kind = "one tag-matching SRQ";
  std::string text = fmt::format("{}, {} WQEs deep", kind, depth);
  if (o.tags != 0) text += fmt::format(", {} tags", o.tags);
  return text;
}

std::vector<WqId> set_up(Simulation& sim, const HostPlan& plan) {
  for (const RegionPlan& region : plan.regions) {
    if (region.install_before == 0) sim.create_region(region.mpt, region.pages);
  }
  for (const SeedPlan& seed : plan.seeds) sim.memory.store(seed.address, seed.value);
  for (const CqContext& cq : plan.cqs) sim.create_cq(cq, !cq.polled_only);
  std::vector<WqId> queues;
  for (const QueuePlan& q : plan.queues) {
    ReceiveRingParams ring;
    ring.queue = q.context;
    ring.wqes = q.depth;
    ring.sges = q.sges;
    ring.sge_bytes = q.sge_bytes;
    ring.buffer_bytes = q.buffer_bytes;
    ring.buffer_base = q.buffers_va;
    ring.buffer_stride = q.buffer_bytes;
    ring.lkey = q.lkey;
    ring.refill_batch = plan.refill_batch;
    ring.order = plan.wqe_order;
    ring.seed = plan.seed;
    queues.push_back(sim.create_queue(ring, q.hold_after));
  }
  if (plan.application.service_ps != 0) sim.host.set_application(plan.application, plan.seed);
  for (const TagPlan& t : plan.tag_lists) {
    TagListParams tags;
    tags.srq = queues[t.queue];
    tags.srq_number = plan.queues[t.queue].context.number;
    tags.entries = tags.buffers = t.entries;
    tags.mask = t.mask;
    tags.buffer_bytes = t.buffer_bytes;
    tags.buffer_base = t.buffers_va;
    tags.lkey = t.lkey;
    tags.policy = t.policy;
    tags.seed = plan.seed;
    if (t.posts.empty()) {
      if (t.counting_tags == 0) tags.tags = t.tags;
      tags.counting_tags = t.counting_tags;
      sim.host.add_tag_list(std::move(tags));
    } else {
      sim.host.add_tag_list(tags, t.posts);
    }
  }
  for (const QpPlan& qp : plan.qps) {
    QpContext context = qp.context;
    context.receive_queue = qp.queue == kNoQueue ? kNoWq : queues[qp.queue];
    sim.create_qp(context);
  }
  return queues;
}

}  // namespace rxnic
