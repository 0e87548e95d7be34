// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "bridge/driver/attributes.h"
#include "bridge/rxnic/fabric/fabric_simulation.h"
#include "bridge/rxnic/record/recorded_run.h"
#include "model/params/config.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

// (R2)
void refuse_other_layouts(const Params& recorded, const Params& params) {
  const channel::DeviceAttributes was = device_attributes(0, recorded), is = device_attributes(0, params);
  const auto refuse = [](const char* key, const std::string& found, const std::string& expected) {
    throw std::invalid_argument(
        fmt::format("{}: found {}; expected {}, as in the record: its programs have laid their queues out for that",
                    key, found, expected));
  };
  if (was.cqe_bytes != is.cqe_bytes) {
    refuse("cqe_generator.cqe_bytes", std::to_string(is.cqe_bytes), std::to_string(was.cqe_bytes));
  }
  const auto layout = [](const channel::DeviceAttributes& a) {
    return a.srq_linked_list != 0 ? "linked_list" : "cyclic";
  };
  if (was.srq_linked_list != is.srq_linked_list) refuse("srq_wqe_fetcher.srq_layout", layout(is), layout(was));
}

std::uint64_t counted(const std::vector<NamedCount>& counts, const char* name) {
  const auto it = std::find_if(counts.begin(), counts.end(), [name](const NamedCount& c) { return c.first == name; });
  return it == counts.end() ? 0 : it->second;
}

// The sum over all NICs of a block's counter.
double of_block(const RunResult& r, const std::string& stem, const char* name) {
  std::uint64_t sum = 0;
  for (const NicResult& nic : r.nics) {
    for (const BlockResult& block : nic.blocks) {
      if (block.stem == stem) sum += counted(block.counters, name);
    }
  }
  return static_cast<double>(sum);
}

void say_assumptions(const RunResult& recorded, RunResult& r) {
  const WhatIfResult& w = *r.what_if;
  if (w.loop == "open" && r.cqes < recorded.cqes) {
    r.warnings.push_back(
        fmt::format("{} of {} completions came: messages were lost, or posts found no room in their "
                    "queues, for which they do not wait in the open loop",
                    count_text(r.cqes), count_text(recorded.cqes)));
  }
  const auto say = [&r](std::uint64_t count, const char* what) {
    if (count != 0) r.warnings.push_back(count_text(count) + what);
  };
  say(w.unposted_bytes,
      " bytes of the programs' memory changed without a post that hands them to the device: they change with the last "
      "event before the recorded read");
  say(w.unknown_bytes,
      " bytes that the device read are not in the record, and were read as 0: the recorded device did not read them");
  say(w.different_bytes,
      " bytes of the programs' memory that the recorded device wrote or read differ from the record at the end");
  say(w.given_up,
      " control messages, opens and closes were given, or polls left out, although something that they follow in the "
      "record did not happen");
}

}  // namespace

std::vector<ComparedFigure> compared_figures(const RunResult& recorded, const RunResult& what_if) {
  std::vector<ComparedFigure> all;
  const auto add = [&](const std::string& name, const auto& figure) {
    all.push_back({name, static_cast<double>(figure(recorded)), static_cast<double>(figure(what_if))});
  };
  const auto add_latency = [&](const std::string& name, LatencyResult RunResult::*latency) {
    if ((recorded.*latency).count + (what_if.*latency).count == 0) return;
    add(name + ".count", [&](const RunResult& r) { return (r.*latency).count; });
    add(name + ".p50", [&](const RunResult& r) { return (r.*latency).p50; });
    add(name + ".p90", [&](const RunResult& r) { return (r.*latency).p90; });
    add(name + ".p99", [&](const RunResult& r) { return (r.*latency).p99; });
    add(name + ".p999", [&](const RunResult& r) { return (r.*latency).p999; });
    add(name + ".max", [&](const RunResult& r) { return (r.*latency).max; });
  };
  const auto seconds = [](const RunResult& r) { return std::max(1e-12, static_cast<double>(r.time_ps) * 1e-12); };
  add("time_ps", [](const RunResult& r) { return r.time_ps; });
  add("packets.seen", [](const RunResult& r) { return r.packets.seen; });
  add("packets.dropped.total", [](const RunResult& r) { return r.packets.dropped_total(); });
  add("messages", [](const RunResult& r) { return r.messages; });
  add("cqes", [](const RunResult& r) { return r.cqes; });
  add("error_cqes", [](const RunResult& r) { return r.error_cqes; });
  add("bytes", [](const RunResult& r) { return r.bytes; });
  add("rates.packets_per_s", [&](const RunResult& r) { return static_cast<double>(r.packets.accepted) / seconds(r); });
  add("rates.payload_gbps", [&](const RunResult& r) { return static_cast<double>(r.bytes) * 8e-9 / seconds(r); });
  add_latency("latency_ns", &RunResult::latency_ns);
  add_latency("handed_over_latency_ns", &RunResult::handed_over_ns);
  add_latency("write_latency_ns", &RunResult::write_ns);
  add_latency("read_latency_ns", &RunResult::read_ns);
  add_latency("one_way_latency_ns", &RunResult::one_way_ns);
  for (const char* name : {"requests_sent", "requests_repeated", "requests_completed", "rnr_naks"}) {
    add(std::string("transport.") + name, [name](const RunResult& r) { return counted(r.transport, name); });
  }
  for (const char* name : {"frames", "bytes", "dropped", "lost"}) {
    add(std::string("fabric.") + name, [name](const RunResult& r) { return counted(r.fabric, name); });
  }
  for (const char* name : {"reads", "writes", "link_bytes_up", "link_bytes_down"}) {
    add(std::string("blocks.dma_engine.counters.") + name,
        [name](const RunResult& r) { return of_block(r, "dma_engine", name); });
  }
  return all;
}

WhatIfRun run_what_if(const std::string& folder, const WhatIfOptions& o) {
  const std::string log = host_log_file(folder);
  const HostLogHeader header = HostLogReader(log).header();
  const Params recorded = recorded_params(header, log);
  const Params params =
      o.config ? load_config(*o.config, o.overrides) : parse_config(recorded_config(header), log, o.overrides);
  refuse_other_layouts(recorded, params);

  WhatIfRun run;
  const bool single_cqes = !recorded.cqe_generator.compression && !params.cqe_generator.compression;
  const NicAddresses addresses = recorded_addresses(header, log);
  WhatIfPlanner planner(header.nics, addresses, device_attributes(0, recorded).srq_linked_list != 0,
                        o.loop == Loop::kOpen, single_cqes);
  RecordedRunOptions repeat{.mode = o.mode, .order = o.order};
  repeat.planner = &planner;
  repeat.region = o.region;
  const RecordedRun was = replay_recorded_run(folder, repeat);
  run.repeat_difference = was.difference;
  if (!was.difference.empty()) return run;
  const WhatIfPlan plan = planner.finish(Cycle{was.cycles - 1});

  RunResult& r = run.result;
  r.command = header.program;
  r.config = o.config ? *o.config : header.config;
  if (!o.config) r.overrides = header.overrides;
  r.overrides.insert(r.overrides.end(), o.overrides.begin(), o.overrides.end());
  r.params = params;
  r.seed = header.seed;
  r.mode = engine_mode_name(o.mode);

  ReplayState state;
  PlannedMemory memory(plan);
  WhatIfPrograms programs(plan, o.loop, {recorded.nic.clock_period_ps, params.nic.clock_period_ps}, memory, state);
  const std::unique_ptr<NicRtl> rtl = NicRtl::make(o.rtl, params);
  FabricSimulation simulation({params, o.mode, header.nics, addresses, nullptr, nullptr, o.order, rtl.get(), o.region},
                              programs, memory);
  const std::unique_ptr<NicWaves> waves = simulation.make_waves(o.waves);
  const std::unique_ptr<EventRecorder> events = simulation.record_events(o.events, r);
  state.connect([&simulation] { simulation.stop(); }, [&simulation] { return simulation.now(); });
  simulation.run();
  const std::string notice = waves ? waves->finish() : std::string();
  if (!notice.empty() && o.say) o.say(notice);
  const std::string left_out = events ? events->finish() : std::string();
  if (!left_out.empty() && o.say) o.say(left_out);
  if (rtl) r.rtl = rtl->finish();
  simulation.collect(r);
  if (rtl) rtl->leave_unknown_out(r);
  run.difference = state.difference();

  if (!was.cut.empty()) r.warnings.push_back("the record ends before the run did: " + was.cut);
  r.what_if.emplace();
  WhatIfResult& w = *r.what_if;
  w.loop = o.loop == Loop::kClosed ? "closed" : "open";
  w.config = header.config;
  w.overrides = header.overrides;
  w.inputs = programs.given();
  w.given_up = programs.given_up() + programs.left_out();
  w.unposted_bytes = plan.unposted_bytes;
  w.unknown_bytes = memory.unknown_bytes();
  w.different_bytes = planner.image().differences(memory.image(), is_own_memory);
  w.figures = compared_figures(was.result, r);
  say_assumptions(was.result, r);
  return run;
}

}  // namespace rxnic
