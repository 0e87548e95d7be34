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
  need("tag_match_cam.lists", params.tag_match_cam.lists, static_cast<std::uint64_t>(lists), "TM SRQs");
  if (!lacking.empty()) throw std::invalid_argument(lacking);
  const auto qps = static_cast<std::uint32_t>(plan.qps.size());
  params.requester.send_queues = std::max(params.requester.send_queues, qps);
  return params;
}

std::vector<WqId> set_up(Simulation& sim, const HostPlan& plan) {
  for (const RegionPlan& region : plan.regions) {
    if (region.install_before == 0) sim.create_region(region.mpt, region.pages);
  }
  for (const SeedPlan& seed : plan.seeds) sim.memory.store(seed.address, seed.value);
  for (const CqContext& cq : plan.cqs) sim.create_cq(cq);
  std::vector<WqId> queues;
  for (const QueuePlan& q : plan.queues) {
    ReceiveRingParams ring;
    ring.queue = q.context;
    ring.wqes = q.depth;
    ring.sges = q.sges;
    ring.buffer_bytes = q.buffer_bytes;
    ring.buffer_base = q.buffers_va;
    ring.buffer_stride = q.buffer_bytes;
    ring.lkey = q.lkey;
    ring.refill_batch = plan.refill_batch;
    ring.order = plan.wqe_order;
    ring.seed = plan.seed;
    queues.push_back(sim.create_queue(ring, q.hold_after));
  }
  for (const TagPlan& t : plan.tag_lists) {
    TagListParams tags;
    tags.srq = queues[t.queue];
    tags.srq_number = plan.queues[t.queue].context.number;
    tags.entries = tags.buffers = t.entries;
    tags.mask = t.mask;
    tags.tags = t.tags;
    tags.buffer_bytes = t.buffer_bytes;
    tags.buffer_base = t.buffers_va;
    tags.lkey = t.lkey;
    sim.host.add_tag_list(std::move(tags));
  }
  for (const QpPlan& qp : plan.qps) {
    QpContext context = qp.context;
    context.receive_queue = qp.queue == kNoQueue ? kNoWq : queues[qp.queue];
    sim.create_qp(context);
  }
  return queues;
}

}  // namespace rxnic
