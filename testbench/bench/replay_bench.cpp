// SPDX-License-Identifier: Apache-2.0
// The whole receive path under generated traffic, with the default configuration. Rates are per second of wall time:
// packets_per_s, and cycles_per_s of simulated cycles.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/traffic_stream.h"
#include "model/params/config.h"
#include "model/system/simulation.h"

namespace rxnic {
namespace {

// A stream of frames made beforehand, so that the time measured is the model's.
class PreparedStream final : public StimulusStream {
 public:
  PreparedStream(StimulusStream& from, std::uint64_t packets) {
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
  void rewind() { next_ = 0; }
  bool next(Stimulus& item) override {
    if (next_ == items_.size()) return false;
    item = items_[next_++];
    return true;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<Stimulus> items_;
  std::size_t next_ = 0;
};

struct Load {
  TrafficConfig traffic;
  HostOptions host;
  std::uint64_t packets = 1'000'000;
  Pace pace{Pace::Kind::kLineRate, 0};
};

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

void replay(benchmark::State& state, const Load& load) {
  std::uint64_t cycles = 0;
  std::uint64_t packets = 0;
  std::uint64_t steps = 0;
  std::uint64_t matches = 0;
  TrafficStream traffic(load.traffic, load.packets);
  PreparedStream stream(traffic, load.packets);
  for (auto _ : state) {
    state.PauseTiming();  // building a NIC and its host is not replay
    stream.rewind();
    Simulation::Options options;
    options.params = load_config();
    options.pace = load.pace;
    auto sim = std::make_unique<Simulation>(options, stream);
    const HostPlan plan = make_host_plan(traffic.survey(), load.host);
    const std::vector<WqId> queues = set_up(*sim, plan);
    if (load.traffic.tag_matching) sim->host.add_tag_list(tags_of(plan.queues.front(), queues.front(), load.traffic));
    state.ResumeTiming();
    sim->run();
    state.PauseTiming();
    const LedgerCounters& ledger = sim->nic.shared.ledger.counters();
    if (ledger.accepted != load.packets) throw std::logic_error("the benchmark's traffic was not accepted");
    packets += ledger.seen;
    cycles += sim->engine.now().count;
    steps += sim->engine.steps();
    matches += sim->nic.tag_match_cam.counters().matches;
    sim.reset();
    state.ResumeTiming();
  }
  using benchmark::Counter;
  state.counters["packets_per_s"] = Counter(static_cast<double>(packets), Counter::kIsRate);
  state.counters["cycles_per_s"] = Counter(static_cast<double>(cycles), Counter::kIsRate);
  state.counters["cycles_per_packet"] = static_cast<double>(cycles) / static_cast<double>(packets);
  state.counters["steps_per_packet"] = static_cast<double>(steps) / static_cast<double>(packets);
  if (matches != 0) state.counters["matched"] = static_cast<double>(matches) / static_cast<double>(packets);
}

Load sends(std::uint32_t qps) {
  Load l;
  l.traffic.rc_qps = qps;
  return l;
}

Load light(std::uint32_t qps) {  // 5 % of the line's rate
  Load l = sends(qps);
  l.pace = {Pace::Kind::kRate, 5.0};
  l.packets = 300'000;
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

BENCHMARK_CAPTURE(replay, send_64B_1qp, sends(1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, send_64B_256qp, sends(256))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, send_64B_4096qp, sends(4096))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, send_64B_1qp_5_percent, light(1))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, mixed_64B_4KiB, mixed())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, ud_64B, datagrams())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, srq_linked_list_64B, srq(WqLayout::kLinkedList))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, srq_cyclic_64B, srq(WqLayout::kCyclic))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, tag_matching_srq_64B, tag_matching())->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rxnic
