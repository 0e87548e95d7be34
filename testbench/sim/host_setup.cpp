// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/host_setup.h"

#include <utility>

namespace rxnic {

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
