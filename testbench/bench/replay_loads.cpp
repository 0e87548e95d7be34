// SPDX-License-Identifier: Apache-2.0
#include "testbench/bench/replay_loads.h"

#include <stdexcept>
#include <string>

#include "bridge/rxnic/capture/host_setup.h"
#include "model/params/config.h"

namespace rxnic {
namespace {

// Every tag of the traffic is posted once, with the buffers of the SRQ.
TagListParams tags_of(const QueuePlan& queue, WqId id, const TrafficConfig& traffic) {
  TagListParams tags;
  tags.srq = id;
  tags.srq_number = queue.context.number;
  tags.entries = static_cast<std::uint32_t>(traffic.tags);
  tags.buffers = queue.depth;
  tags.buffer_bytes = queue.buffer_bytes;
  tags.buffer_base = queue.buffers_va;
  tags.lkey = queue.lkey;
  return tags;
}

Load sends(std::uint32_t qps) {
  Load l;
  l.traffic.rc_qps = qps;
  return l;
}

Load among_idle_ones() {
  Load l = sends(1);
  l.idle_qps = 4095;
  l.host.depth = 256;  // as many as where it is alone: fewer would be used up
  return l;
}

Load light(std::uint32_t qps) {  // 5 % of the line's rate
  Load l = sends(qps);
  l.pace = {Pace::Kind::kRate, 5.0};
  l.packets = 300'000;
  return l;
}

// The line brings a packet each 5.0 cycles, PCI Express takes one each 5.4. So at the line's rate the receive buffer
// is full, and a packet waits in it until it is in no cache of the machine. At nine tenths of that rate hardly a packet
// waits. The DMA engine, which is meant to be the bottleneck, is busy nearly all the time.
Load full() {
  Load l = sends(1);
  l.pace = {Pace::Kind::kRate, 90.0};
  return l;
}

Load mixed() {
  Load l = sends(16);
  l.traffic.mix = {4, 1, 0, 3, 1, 1, 0, 1};
  l.traffic.max_bytes = 4096;
  l.traffic.mtu = 4096;
  l.packets = 100'000;
  return l;
}

Load datagrams() {
  Load l;
  l.traffic.rc_qps = 0;
  l.traffic.ud_qps = 16;
  return l;
}

Load srq(WqLayout layout) {
  Load l = sends(16);
  l.host.receive = ReceiveKind::kSrq;
  l.host.srq_layout = layout;
  l.packets = 300'000;
  return l;
}

Load tag_matching() {  // at the line's rate PCI Express would be full, and the tags would come back too late
  Load l = sends(16);
  l.pace = {Pace::Kind::kRate, 50.0};
  l.traffic.tag_matching = true;
  l.host.receive = ReceiveKind::kTagMatchingSrq;
  l.packets = 300'000;
  return l;
}

constexpr NamedLoad kLoads[] = {
    {"send_64B_1qp", [] { return sends(1); }},
    {"send_64B_256qp", [] { return sends(256); }},
    {"send_64B_4096qp", [] { return sends(4096); }},
    {"send_64B_1qp_of_4096", among_idle_ones},
    {"send_64B_1qp_90_percent", full},
    {"send_64B_1qp_5_percent", [] { return light(1); }},
    {"mixed_64B_4KiB", mixed},
    {"ud_64B", datagrams},
    {"srq_linked_list_64B", [] { return srq(WqLayout::kLinkedList); }},
    {"srq_cyclic_64B", [] { return srq(WqLayout::kCyclic); }},
    {"tag_matching_srq_64B", tag_matching},
};

}  // namespace

std::span<const NamedLoad> named_loads() { return kLoads; }

PreparedStream::PreparedStream(StimulusStream& from, std::uint64_t packets) {
  items_.reserve(packets);
  for (Stimulus item; from.next(item);) {
    bytes_.insert(bytes_.end(), item.bytes.begin(), item.bytes.end());
    items_.push_back(item);
  }
  const std::uint8_t* at = bytes_.data();
  for (Stimulus& item : items_) {
    item.bytes = {at, item.bytes.size()};
    at += item.bytes.size();
  }
}

bool PreparedStream::next(Stimulus& item) {
  if (next_ == items_.size()) return false;
  item = items_[next_++];
  return true;
}

std::unique_ptr<Simulation> make_simulation(const Load& load, const TrafficStream& traffic, PreparedStream& stream) {
  Simulation::Options options;
  options.params = load_config();
  options.pace = load.pace;
  auto sim = std::make_unique<Simulation>(options, stream);
  ReceiverSurvey survey = traffic.survey();
  if (load.idle_qps != 0) {
    TrafficConfig more = load.traffic;
    more.rc_qps += load.idle_qps;
    const ReceiverSurvey all = Traffic(more).survey();
    survey.qps.insert(survey.qps.end(), all.qps.begin() + load.traffic.rc_qps, all.qps.end());
  }
  const HostPlan plan = make_host_plan(survey, load.host);
  const std::vector<WqId> queues = set_up(*sim, plan);
  if (load.traffic.tag_matching) sim->host.add_tag_list(tags_of(plan.queues.front(), queues.front(), load.traffic));
  return sim;
}

// What is counted: not the making of the frames, nor that of the NIC.
[[gnu::noinline]] void run_counted(Simulation& simulation) { simulation.run(); }

void run_load(std::string_view name, std::uint64_t packets) {
  for (const NamedLoad& named : kLoads) {
    if (named.name != name) continue;
    const Load load = named.make();
    TrafficStream traffic(load.traffic, packets);
    PreparedStream stream(traffic, packets);
    const std::unique_ptr<Simulation> sim = make_simulation(load, traffic, stream);
    run_counted(*sim);
    if (sim->nic.shared.ledger.counters().accepted != packets) throw std::logic_error("the load was not accepted");
    return;
  }
  std::string known;
  for (const NamedLoad& named : kLoads) known += std::string(known.empty() ? "" : ", ") + named.name;
  throw std::invalid_argument("--load: found '" + std::string(name) + "'; expected one of " + known);
}

}  // namespace rxnic
