// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/time_charts.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "model/types/receive_path.h"
#include "model/types/station.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kMostParts = 500;
constexpr std::uint64_t kSampleCycles = 4096;                  // of counters (R4)
constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 50;  // a report may say anything

struct CacheCounters {
  const char* name;
  const char* hits;
  const char* misses;
};
constexpr CacheCounters kCaches[] = {
    {"QP contexts", "qp_context_cache.hits", "qp_context_cache.misses"},
    {"memory regions (MPT)", "address_translator.mpt_hits", "address_translator.mpt_misses"},
    {"pages (MTT)", "address_translator.mtt_hits", "address_translator.mtt_misses"},
    {"receive queues", "srq_wqe_fetcher.context_hits", "srq_wqe_fetcher.context_misses"},
    {"CQs", "cqe_generator.context_hits", "cqe_generator.context_misses"},
};

struct TagCounter {
  const char* name;
  const char* counter;
};
constexpr TagCounter kTagCounters[] = {
    {"matched", "tag_match_cam.matches"},
    {"unexpected", "tag_match_cam.unexpected"},
    {"searched on in memory", "tag_match_cam.walks"},
    {"appended in memory", "tag_match_cam.overflow_appends"},
    {"moved into the CAM", "tag_match_cam.promotions"},
};

// The first packet's arrival, as far as the first packets say.
std::uint64_t first_arrival(RunEvents& events) {
  EventReader& reader = events.reader();
  reader.rewind();
  std::uint64_t first = ~std::uint64_t{0};
  while (first == ~std::uint64_t{0} && reader.next()) {
    if (reader.table() != EventTable::kPackets) continue;
    for (std::size_t n = 0; n < reader.rows(); ++n) first = std::min(first, reader.row<PacketRow>(n).arrived);
  }
  return first == ~std::uint64_t{0} ? 0 : first;
}

// (R1)
TimeGrid grid_of(RunEvents& events, std::uint64_t cycles, std::uint64_t multiple) {
  const std::uint64_t to = std::min({events.kept().to, cycles, kMostCycles});
  return TimeGrid::over(std::min(std::max(first_arrival(events), events.kept().from), to), to, kMostParts, multiple);
}

constexpr std::uint64_t kNoDrop = static_cast<std::uint64_t>(DropReason::kNone);

}  // namespace

struct TimeCharts::OfNic {
  OfNic(const TimeGrid& grid, const TimeGrid& slow_grid)
      : arrived(grid), sent(grid), packets(grid), naks(grid), rnr_naks(grid), repeats(grid), marked(grid) {
    for (std::size_t s = 0; s < kStations; ++s) {
      waits.emplace_back(grid);
      inside.emplace_back(grid);
    }
    for (std::size_t n = 0; n < 2 * std::size(kCaches); ++n) caches.emplace_back(slow_grid);
    for (std::size_t n = 0; n < std::size(kTagCounters); ++n) tags.emplace_back(slow_grid);
  }
  TimeBins arrived, sent;  // bytes
  TimeBins packets, naks, rnr_naks, repeats, marked;
  std::map<std::uint64_t, TimeBins> drops;  // by reason
  std::vector<TimeBins> waits, inside;      // by station
  std::vector<TimeBins> caches;             // hits and misses of each
  std::vector<TimeBins> tags;
};

struct TimeCharts::OfBlock {
  OfBlock(std::uint32_t of, std::string name, const TimeGrid& grid)
      : nic(of), stem(std::move(name)), busy(grid), held(grid) {}
  void until(std::uint64_t cycle) {
    const auto a = static_cast<Activity>(activity);
    if (a == Activity::kBusy) busy.add_time(from, cycle);
    if (a > Activity::kBusy) held.add_time(from, cycle);
  }
  std::uint32_t nic;
  std::string stem;
  TimeBins busy, held;
  std::uint64_t from = 0, activity = 0;
};

TimeCharts::TimeCharts(RunEvents& events, std::uint64_t cycles, std::vector<std::uint32_t> nics)
    : events_(events),
      chosen_(std::move(nics)),
      grid_(grid_of(events, cycles, 1)),
      slow_grid_(grid_of(events, cycles, kSampleCycles)),
      nics_(events.nics()),
      blocks_(events.blocks()) {
  const nlohmann::json& description = events.reader().description();
  std::map<std::string, TimeBins*> wanted;
  for (const std::uint32_t n : chosen_) {
    if (n >= nics_.size()) continue;
    nics_[n] = std::make_unique<OfNic>(grid_, slow_grid_);
    for (std::size_t c = 0; c < std::size(kCaches); ++c) {
      wanted[fmt::format("nic{}.{}", n, kCaches[c].hits)] = &nics_[n]->caches[2 * c];
      wanted[fmt::format("nic{}.{}", n, kCaches[c].misses)] = &nics_[n]->caches[2 * c + 1];
    }
    for (std::size_t t = 0; t < std::size(kTagCounters); ++t) {
      wanted[fmt::format("nic{}.{}", n, kTagCounters[t].counter)] = &nics_[n]->tags[t];
    }
    const std::string of = fmt::format("nic{}.", n);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const nlohmann::json& name = description["block"][b];
      if (!name.is_string() || !name.get_ref<const std::string&>().starts_with(of)) continue;
      blocks_[b] = std::make_unique<OfBlock>(n, name.get<std::string>().substr(of.size()), grid_);
    }
  }
  if (const auto names = description.find("counter"); names != description.end() && names->is_array()) {
    for (const nlohmann::json& name : *names) {
      const auto found = name.is_string() ? wanted.find(name.get<std::string>()) : wanted.end();
      counters_.push_back(found == wanted.end() ? nullptr : found->second);
    }
  }
  counter_values_.resize(counters_.size());
}

TimeCharts::~TimeCharts() = default;

TimeCharts::OfNic* TimeCharts::nic(std::uint64_t n) { return n < nics_.size() ? nics_[n].get() : nullptr; }

void TimeCharts::add(const PacketRow& p, const std::vector<StationStay>& stays) {
  OfNic* const of = nic(p.nic);
  if (of == nullptr || p.left < p.arrived) return;
  const auto outcome = static_cast<Outcome>(p.outcome);
  if (p.reason != kNoDrop) {
    of->drops.try_emplace(p.reason, grid_).first->second.add(p.left, 1);
  } else if (outcome == Outcome::kExecute || outcome == Outcome::kAnswer) {
    of->arrived.add(p.arrived, p.payload_bytes);
    of->packets.add(p.arrived, 1);
  }
  if (outcome == Outcome::kNak && p.has(kPacketAcknowledges)) {
    const bool rnr = ack_kind(static_cast<std::uint8_t>(p.syndrome)) == AckKind::kRnrNak;
    (rnr ? of->rnr_naks : of->naks).add(p.left, 1);
  }
  if (outcome == Outcome::kAckAgain || outcome == Outcome::kReplay) of->repeats.add(p.left, 1);
  if (p.has(kPacketCongested)) of->marked.add(p.arrived, 1);
  for (const StationStay& s : stays) {
    const auto station = static_cast<std::size_t>(s.station);
    of->waits[station].add_time(s.from, s.from + s.wait);
    of->inside[station].add_time(s.from + s.wait, s.from + s.wait + s.block);
  }
}

void TimeCharts::add(const FrameRow& f) {
  if (OfNic* const of = nic(f.nic)) of->sent.add(f.left_ps / events_.period_ps(), f.payload_bytes);
}

void TimeCharts::add(const ActivityRow& a) {
  if (a.block >= blocks_.size() || blocks_[a.block] == nullptr) return;
  OfBlock& block = *blocks_[a.block];
  if (a.from < block.from) return;  // no order: not of a run
  block.until(a.from);
  block.from = a.from;
  block.activity = a.activity;
}

void TimeCharts::add(const CounterRow& c) {
  if (c.counter >= counters_.size() || counters_[c.counter] == nullptr) return;
  std::uint64_t& before = counter_values_[c.counter];
  if (c.value > before && c.at > 0) counters_[c.counter]->add(c.at - 1, c.value - before);
  before = c.value;
}

std::vector<double> TimeCharts::times(const TimeGrid& grid) const {
  std::vector<double> all;
  for (std::size_t n = 0; n < grid.parts(); ++n) {
    all.push_back(static_cast<double>((grid.from + n * grid.width) * events_.period_ps()) * 1e-6);
  }
  return all;
}

Chart TimeCharts::chart(const char* id, const char* title, const char* about, Axis y, const TimeGrid& grid) const {
  Chart c;
  c.id = id, c.title = title, c.about = about;
  c.section = "time", c.kind = "time";
  c.x = {"time", "us"}, c.y = std::move(y);
  c.places = times(grid);
  return c;
}

std::vector<Chart> TimeCharts::charts() {
  std::uint64_t known = grid_.to;
  if (!events_.has_all_activities()) {
    known = 0;
    for (const auto& block : blocks_) known = std::max(known, block != nullptr ? block->from : 0);
  }
  for (const auto& block : blocks_) {
    if (block != nullptr) block->until(std::max(known, block->from));
  }
  Chart in = chart("throughput", "Throughput",
                   "Payload of packets that were carried out, when they arrived, and of frames that were sent.",
                   {"payload", "Gb/s"}, grid_);
  Chart packets = chart("packets", "Packets", "Packets that were carried out, when they arrived.",
                        {"packets", "millions a second"}, grid_);
  const double per_ps = 1.0 / static_cast<double>(events_.period_ps());
  for (const std::uint32_t n : chosen_) {
    OfNic* const of = nic(n);
    if (of == nullptr) continue;
    const std::string prefix = events_.nics() == 1 ? "" : fmt::format("nic{} ", n);
    in.series.push_back({prefix + "in", of->arrived.rates(8e3 * per_ps)});
    in.series.push_back({prefix + "out", of->sent.rates(8e3 * per_ps)});
    packets.series.push_back({prefix + "packets", of->packets.rates(1e6 * per_ps)});
  }
  std::vector<Chart> all{std::move(in), std::move(packets)};
  for (const std::uint32_t n : chosen_) {
    if (nic(n) != nullptr) add_charts(all, n, *nic(n));
  }
  return all;
}

void TimeCharts::add_charts(std::vector<Chart>& all, std::uint32_t n, OfNic& of) {
  const auto keep = [&](Chart c) {
    c.nic = static_cast<int>(n);
    all.push_back(std::move(c));
  };
  Chart trouble = chart("trouble", "Drops, NAKs, repeats, marks",
                        "Packets that were not carried out, by reason; NAKs that were sent; packets that came again; "
                        "packets marked Congestion Experienced.",
                        {"packets", ""}, grid_);
  trouble.stacked = true;
  for (const auto& [reason, bins] : of.drops) {
    trouble.series.push_back({std::string(name_of(static_cast<DropReason>(reason))), bins.sums()});
  }
  trouble.series.push_back({"NAKs sent", of.naks.sums()});
  trouble.series.push_back({"RNR NAKs sent", of.rnr_naks.sums()});
  trouble.series.push_back({"repeats", of.repeats.sums()});
  trouble.series.push_back({"marked CE", of.marked.sums()});
  if (trouble.empty()) trouble.absent = "nothing was dropped, refused, repeated or marked";
  keep(std::move(trouble));

  Chart waits = chart("waiting", "Packets that wait in front of blocks",
                      "Occupancy: the mean number of packets in front of each block; in front of rx_parser they are in "
                      "the packet buffer of the port.",
                      {"packets", ""}, grid_);
  Chart inside = chart("inside", "Packets in blocks", "Occupancy: the mean number of packets in each block.",
                       {"packets", ""}, grid_);
  waits.stacked = inside.stacked = true;
  for (std::size_t s = 0; s < kStations; ++s) {
    waits.series.push_back({std::string(name_of(static_cast<Station>(s))), of.waits[s].rates(1)});
    inside.series.push_back({std::string(name_of(static_cast<Station>(s))), of.inside[s].rates(1)});
  }
  keep(std::move(waits));
  keep(std::move(inside));

  Chart busy =
      chart("busy", "How busy blocks are", "Share of the cycles in which each block works.", {"cycles", "%"}, grid_);
  Chart held =
      chart("held", "How long blocks are held up",
            "Share of the cycles in which each block has work and waits for a resource, or for room behind it.",
            {"cycles", "%"}, grid_);
  for (const auto& block : blocks_) {
    if (block == nullptr || block->nic != n) continue;
    busy.series.push_back({block->stem, block->busy.rates(100)});
    held.series.push_back({block->stem, block->held.rates(100)});
  }
  keep(std::move(busy));
  keep(std::move(held));

  Chart caches = chart("caches", "Caches", "Share of the lookups that found what they looked for on the chip.",
                       {"hits", "%"}, slow_grid_);
  caches.section = "caches";
  bool looked_up = false;
  for (std::size_t c = 0; c < std::size(kCaches); ++c) {
    const std::vector<double> hits = of.caches[2 * c].sums(), misses = of.caches[2 * c + 1].sums();
    Series s{kCaches[c].name, {}};
    for (std::size_t i = 0; i < hits.size(); ++i) {
      const double lookups = hits[i] + misses[i];
      s.values.push_back(lookups > 0 ? 100 * hits[i] / lookups : kNoValue);
      looked_up = looked_up || lookups > 0;
    }
    caches.series.push_back(std::move(s));
  }
  if (!looked_up) caches.absent = "nothing was looked up in the 4096 cycles between two samples, or no sample was kept";
  keep(std::move(caches));

  Chart tags = chart("tags", "Tag matching",
                     "Searches that matched, or did not; those that went on behind the CAM, in the part of the list "
                     "that lies in memory, and entries that went there and back: how deep the list is.",
                     {"messages and entries", ""}, slow_grid_);
  tags.section = "caches";
  tags.stacked = true;
  for (std::size_t t = 0; t < std::size(kTagCounters); ++t) {
    tags.series.push_back({kTagCounters[t].name, of.tags[t].sums()});
  }
  if (tags.empty()) tags.absent = "no message was searched for in a tag list";
  keep(std::move(tags));
}

}  // namespace rxnic
