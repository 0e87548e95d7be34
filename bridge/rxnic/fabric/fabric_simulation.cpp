// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/fabric/fabric_simulation.h"

#include <string>

#include "bridge/driver/attributes.h"
#include "model/system/explanations.h"
#include "model/system/nic_result.h"
#include "model/system/start_simulation.h"
#include "model/system/table_result.h"

namespace rxnic {

struct FabricSimulation::Station {
  Station(const Options& o, std::uint32_t number, Engine& engine, ProgramMemory& programs, ProgramObserver* observer)
      : memory(engine, programs, observer),
        nic(("nic" + std::to_string(number)).c_str(), o.params, memory, engine,
            NicOptions{.requester = true, .blocks = o.rtl != nullptr ? o.rtl->blocks() : NicBlocks{}}) {}
  NicMemory memory;
  Nic nic;
};

namespace {

// Frames of the fabric for the events, and for the observer that there is besides.
class EventFrames final : public FabricObserver {
 public:
  EventFrames(EventRecorder& events, FabricObserver* next) : events_(events), next_(next) {}
  void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) override {
    if (next_ != nullptr) next_->on_frame(from, to, frame, time_ps);
    events_.on_frame(from, frame, LinkLayer::kEthernet, 0, time_ps);
  }

 private:
  EventRecorder& events_;
  FabricObserver* next_;
};

constexpr const char* kNoProgram =
    "no program opened a NIC: none uses verbs, or none could load the model's libibverbs.so.1 (a program that is "
    "statically linked, is set-user-ID, or has an RPATH to another one)";

}  // namespace

FabricSimulation::FabricSimulation(const Options& o, Programs& programs, ProgramMemory& memory)
    : engine("engine", {o.params.nic.clock_period_ps, o.mode, o.order}),
      statistics_(o.nics, o.params.nic.clock_period_ps, o.host),
      memory_(memory),
      stations_([&] {
        std::vector<std::unique_ptr<Station>> made;
        for (std::uint32_t n = 0; n < o.nics; ++n) {
          made.push_back(std::make_unique<Station>(o, n, engine, memory_, &statistics_));
        }
        return made;
      }()),
      sent_(o.nics, o.frames),
      frames_(o.frames),
      fabric_("fabric", o.params, engine, o.nics),
      bridge_(
          "host_bridge", o.params, engine, fabric_,
          [&] {
            std::vector<ProgramsBridge::Attachment> attached;
            for (std::uint32_t n = 0; n < o.nics; ++n) {
              fabric_.attach(stations_[n]->nic, port_address(n, o.addresses));
              attached.push_back({stations_[n]->nic, stations_[n]->memory});
            }
            return attached;
          }(),
          programs, &statistics_, o.addresses) {
  for (std::uint32_t n = 0; n < o.nics; ++n) {
    stations_[n]->nic.shared.ledger.set_observer(&statistics_.latencies(n));
    stations_[n]->nic.ack_generator.set_observer(&statistics_.latencies(n));
    stations_[n]->nic.tag_match_cam.set_observer(&statistics_.latencies(n).tag_depths());
    observe_qps(stations_[n]->nic, bridge_.written(n), statistics_.latencies(n).tables());
    fabric_.set_qp_observer(n, &statistics_.latencies(n).tables());
    if (o.rtl != nullptr) o.rtl->add(stations_[n]->nic, engine);
  }
  fabric_.set_observer(o.frames);
  if (!o.region.wanted()) return;
  const auto set_region = [this](Cycle from, Cycle to) {
    for (std::uint32_t n = 0; n < stations_.size(); ++n) statistics_.latencies(n).set_region(from, to);
  };
  set_region(kNever, kNever);
  region_ = std::make_unique<RunRegion>(
      o.region, engine,
      [this](Cycle before) {
        engine.settle(before);
        return count();
      },
      set_region);
}

FabricSimulation::~FabricSimulation() = default;

std::unique_ptr<EventRecorder> FabricSimulation::record_events(const EventRequest& request, const RunResult& about) {
  if (!request.wanted()) return nullptr;
  auto events = std::make_unique<EventRecorder>(request, about, engine, static_cast<std::uint32_t>(stations_.size()));
  for (std::uint32_t n = 0; n < stations_.size(); ++n) {
    EventRecorder::OfNic& of = events->nic(n);
    of.pass_on_to(&statistics_.latencies(n), nullptr);
    statistics_.latencies(n).tables().pass_incidents_to(&of);
    stations_[n]->nic.shared.ledger.set_observer(&of);
    bridge_.written(n).set_observer(&of);
  }
  event_frames_ = std::make_unique<EventFrames>(*events, frames_);
  fabric_.set_observer(event_frames_.get());
  return events;
}

std::unique_ptr<NicWaves> FabricSimulation::make_waves(const WavesRequest& request) {
  std::unique_ptr<NicWaves> waves = NicWaves::make(request, engine);
  for (const auto& station : stations_) {
    if (waves) waves->add(station->nic);
  }
  return waves;
}

void FabricSimulation::show_counters(const std::filesystem::path& files) {
  memory_.watch(files / CountedMemory::kMark);
  frames_ = &sent_;
  fabric_.set_observer(frames_);
  for (std::uint32_t n = 0; n < stations_.size(); ++n) {
    const auto port = files / "sys" / "class" / "infiniband" / ("rxnic" + std::to_string(n)) / "ports" / "1";
    memory_.show(port, stations_[n]->nic, sent_.of(n));
  }
}

void FabricSimulation::run() { start_simulation(); }

LiveFigures FabricSimulation::figures() const {
  LiveFigures f;
  f.time_ps = engine.now().count * engine.clock_period_ps();
  for (std::uint32_t n = 0; n < stations_.size(); ++n) {
    f.packets += stations_[n]->nic.shared.ledger.counters().seen;
    f.bytes += statistics_.latencies(n).bytes();
  }
  f.clients = statistics_.clients();
  return f;
}

std::uint64_t FabricSimulation::cqes() const {
  std::uint64_t sum = 0;
  for (const auto& station : stations_) sum += station->nic.cqe_generator.counters().cqes;
  return sum;
}

RegionCounts FabricSimulation::count() {
  RegionCounts counts;
  for (const auto& station : stations_) {
    counts.nics.push_back(nic_result(station->nic));
    counts.arrived += station->nic.wire_in.transfers();
  }
  counts.fabric = named_counts(fabric_.counters());
  return counts;
}

void FabricSimulation::collect(RunResult& r) {
  collect_time(engine, r);
  memory_.publish();
  r.programs = statistics_.programs();
  if (r.programs.empty()) r.warnings.emplace_back(kNoProgram);
  RegionCounts counts = count();
  if (region_) counts = region_->finish(std::move(counts), r);
  r.nics = std::move(counts.nics);
  r.fabric = std::move(counts.fabric);
  Latencies latencies(engine.clock_period_ps());
  std::vector<const Latencies*> all;
  for (std::uint32_t n = 0; n < stations_.size(); ++n) {
    statistics_.latencies(n).collect(r.nics[n]);
    add_nic(r, r.nics[n]);
    latencies.add(statistics_.latencies(n));
    all.push_back(&statistics_.latencies(n));
  }
  latencies.collect(r);
  collect_tables(all, engine.clock_period_ps(), r);
  StateHash h;
  h.mix(engine.state_hash());
  for (const auto& station : stations_) h.mix(station->memory.tables_digest());
  r.state_hash = h.value();
  explain_tag_searches(r);
}

}  // namespace rxnic
