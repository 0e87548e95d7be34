// SPDX-License-Identifier: Apache-2.0
#include "model/system/simulation.h"

#include <fmt/format.h>

#include <stdexcept>

#include "model/system/explanations.h"
#include "model/system/nic_result.h"
#include "model/system/start_simulation.h"

namespace rxnic {

Simulation::Simulation(const Simulation::Options& o, StimulusStream& stimulus)
    : engine("engine", {o.params.nic.clock_period_ps, o.mode, o.order}),
      nic("nic0", o.params, memory, engine, {.blocks = o.blocks}),
      source("wire_source", o.params, o.pace, nic.shared.packets, memory, stimulus),
      sink("wire_sink", o.params, nic.shared.packets, o.frames),
      host("host", o.params, memory),
      ready_("ready", 1),
      setup_(nic, memory) {
  engine.add(ready_);
  engine.add(source);
  engine.add(sink);
  engine.add(host);
  source.wire.bind(nic.wire_in);
  source.requests.bind(nic.requests);
  source.commands.bind(nic.command_queue);
  source.replies.bind(nic.command_replies);
  sink.wire.bind(nic.wire_out);
  host.bind(nic);
  host.ready.bind(ready_);
  source.host_ready.bind(ready_);
  host.set_observer(o.cqes);
  if (o.region.wanted()) {
    if (o.latencies != nullptr) o.latencies->set_region(kNever, kNever);
    region_ = std::make_unique<RunRegion>(
        o.region, engine,
        [this](Cycle before) {
          engine.settle(before);
          return RegionCounts{{count()}, {}, nic.wire_in.transfers()};
        },
        [latencies = o.latencies](Cycle from, Cycle to) {
          if (latencies != nullptr) latencies->set_region(from, to);
        });
  }
  if (o.latencies == nullptr) return;
  nic.shared.ledger.set_observer(o.latencies);
  nic.ack_generator.set_observer(o.latencies);
  nic.cqe_generator.set_observer(&host.written());
  nic.tag_match_cam.set_observer(&o.latencies->tag_depths());
  host.set_latencies(o.latencies);
  observe_qps(nic, host.written(), o.latencies->tables());
}

void Simulation::create_cq(const CqContext& cq, bool armed) {
  setup_.create_cq(cq);
  host.add_cq(cq, armed);
}

void Simulation::create_qp(const QpContext& qp) {
  if (setup_.create_qp(qp)) return;
  const std::uint32_t left = nic.transport_checker.resources_left();
  if (left < qp.max_dest_rd_atomic) {
    throw std::invalid_argument(
        fmt::format("transport_checker.responder_resources: found {} that no QP has reserved; expected {} for QP {:#x}",
                    left, qp.max_dest_rd_atomic, raw(qp.qpn)));
  }
  throw std::invalid_argument(
      fmt::format("requester.send_queues: found {} QPs; expected room for QP {:#x}, too", nic.limits.qps, raw(qp.qpn)));
}

WqId Simulation::create_queue(ReceiveRingParams params, const std::vector<std::uint64_t>& hold_after) {
  params.id = setup_.create_queue(params.queue);
  if (params.id == kNoWq) {
    throw std::invalid_argument(fmt::format(
        "device.max_srqs, tag_match_cam.lists: found as many as there may be; expected room for {}SRQ {:#x}, too",
        params.queue.tag_matching ? "TM " : "", params.queue.number));
  }
  host.add_queue(params, hold_after);
  return params.id;
}

void Simulation::run() { start_simulation(); }

std::uint64_t Simulation::state_hash() {
  StateHash h;
  h.mix(engine.state_hash());
  h.mix(memory.digest());
  return h.value();
}

// What the NIC and its host have counted. The engine has settled.
NicResult Simulation::count() {
  NicResult r;
  r.packets = nic.shared.ledger.counters();
  r.messages = r.packets.messages;
  r.cqes = host.counters().cqes;
  r.error_cqes = host.counters().error_cqes;
  collect_blocks(nic, r);
  return r;
}

void Simulation::collect(RunResult& r) {
  collect_time(engine, r);
  NicResult counted = count();
  if (region_) counted = std::move(region_->finish({{std::move(counted)}, {}, 0}, r).nics.front());
  static_cast<NicResult&>(r) = std::move(counted);
  r.answers_sent = sink.frames();
  r.state_hash = state_hash();
  explain_tag_searches(r);
}

}  // namespace rxnic
