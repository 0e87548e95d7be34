// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "bridge/rxnic/events/event_request.h"
#include "model/types/station.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kMostNics = 64;

std::string file_of(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return folder;
  const std::filesystem::path file = std::filesystem::path(folder) / kEventsFile;
  if (!std::filesystem::exists(file, ignored)) {
    throw std::invalid_argument(
        fmt::format("{}: found no {}; expected a run with --events: rxnic replay --events --out {} TRACE", folder,
                    kEventsFile, folder));
  }
  return file;
}

}  // namespace

Intervals::Intervals(std::vector<Interval> all) {
  std::ranges::sort(all, {}, &Interval::from);
  for (const Interval& i : all) {
    if (i.to <= i.from) continue;
    if (!all_.empty() && i.from <= all_.back().to) {
      all_.back().to = std::max(all_.back().to, i.to);
    } else {
      all_.push_back(i);
    }
  }
}

bool Intervals::meets(std::uint64_t from, std::uint64_t to) const {
  const auto first = std::ranges::upper_bound(all_, from, {}, &Interval::to);  // the first one that ends after `from`
  return first != all_.end() && first->from < to;
}

RunEvents::RunEvents(const std::string& folder) : path_(file_of(folder)), reader_(path_) {
  const nlohmann::json& d = reader_.description();
  const auto number = [&](const char* key, std::uint64_t least, std::uint64_t most) {
    const auto found = d.find(key);
    if (found == d.end() || !found->is_number_unsigned() || *found < least || *found > most) {
      throw std::invalid_argument(fmt::format("{}: {}: found {}; expected {} to {}", path_, key,
                                              found == d.end() ? "nothing" : found->type_name(), least, most));
    }
    return found->get<std::uint64_t>();
  };
  period_ps_ = number("clock_period_ps", 1, 1'000'000'000);
  nics_ = static_cast<std::uint32_t>(number("nics", 1, kMostNics));
  if (const auto all = d.find("all_packets"); all != d.end() && all->is_boolean()) all_packets_ = all->get<bool>();
  if (d.contains("from_cycle")) kept_.from = number("from_cycle", 0, ~std::uint64_t{0});
  if (d.contains("to_cycle")) kept_.to = number("to_cycle", 0, ~std::uint64_t{0} - 1) + 1;
  places_.resize(nics_);
  for (auto& of : places_) of.fill(kNoBlock);
  const auto blocks = d.find("block");
  if (blocks == d.end() || !blocks->is_array()) {
    throw std::invalid_argument(fmt::format("{}: block: expected a list of names", path_));
  }
  blocks_ = blocks->size();
  for (std::size_t b = 0; b < blocks_; ++b) {
    if (!(*blocks)[b].is_string()) continue;
    const auto& name = (*blocks)[b].get_ref<const std::string&>();
    for (std::uint32_t n = 0; n < nics_; ++n) {
      for (std::size_t s = 0; s < kStations; ++s) {
        if (name == fmt::format("nic{}.{}", n, name_of(static_cast<Station>(s)))) places_[n][s] = b;
      }
    }
  }
}

std::uint64_t RunEvents::block_of(std::uint64_t nic, Station station) const {
  return nic < places_.size() ? places_[nic][static_cast<std::size_t>(station)] : kNoBlock;
}

namespace {

// Rows of a table that a limit has left out; 1 of a file without its end.
std::uint64_t left_out(const nlohmann::json& end, const char* table) {
  const auto rows = end.find("left_out");
  if (rows == end.end() || !rows->is_object()) return 1;
  const auto of = rows->find(table);
  return of == rows->end() || !of->is_number_unsigned() ? 1 : of->get<std::uint64_t>();
}

bool is_number(const nlohmann::json& object, const char* key, std::uint64_t value) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() && *found == value;
}

}  // namespace

bool RunEvents::has_all_packets() const { return all_packets_ && left_out(reader_.end(), "packets") == 0; }
bool RunEvents::has_all_activities() const { return left_out(reader_.end(), "activities") == 0; }

std::string RunEvents::peer_of(std::uint64_t nic, std::uint64_t qp) const {
  const nlohmann::json& end = reader_.end();
  const auto qps = end.find("qps");
  if (qps == end.end() || !qps->is_array()) return {};
  for (const nlohmann::json& q : *qps) {
    if (!q.is_object() || !is_number(q, "nic", nic) || !is_number(q, "qp", qp)) continue;
    const auto peer = q.find("peer"), peer_qp = q.find("peer_qp");
    if (peer == q.end() || !peer->is_string()) return {};
    std::string text = peer->get<std::string>();
    std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
    if (peer_qp == q.end() || !peer_qp->is_number_unsigned()) return text;
    return fmt::format("{} QP {:#x}", text, peer_qp->get<std::uint64_t>());
  }
  return {};
}

ActivityTimes::ActivityTimes(RunEvents& events, const Intervals& intervals)
    : parts_(events.blocks()), kept_(events.kept()) {
  std::uint64_t latest = 0;
  std::vector<Part> last(events.blocks());  // begins in cycle 0, starved
  const auto keep = [&](std::size_t block, std::uint64_t to) {
    Part& part = last[block];
    part.time.to = to;
    if (intervals.meets(part.time.from, to)) parts_[block].push_back(part);
  };
  events.for_each<ActivityRow>(EventTable::kActivityChanges, [&](const ActivityRow& row) {
    if (row.block >= last.size() || row.activity >= static_cast<std::uint64_t>(Activity::kCount)) return;
    if (row.from < last[row.block].time.from) return;  // no order: not of a run
    keep(row.block, row.from);
    latest = std::max(latest, row.from);
    last[row.block] = {{row.from, 0}, static_cast<Activity>(row.activity)};
  });
  for (std::size_t b = 0; b < last.size(); ++b) keep(b, ~std::uint64_t{0});
  if (!events.has_all_activities()) kept_.to = std::min(kept_.to, latest);
}

std::vector<ActivityTimes::Part> ActivityTimes::of(std::uint64_t block, Interval time) const {
  if (time.to <= time.from) return {};
  if (block >= parts_.size()) return {{time, Activity::kStarved}};
  std::vector<Part> found;
  const Interval known{std::clamp(kept_.from, time.from, time.to), std::clamp(kept_.to, time.from, time.to)};
  if (known.to <= known.from) return {{time, Activity::kCount}};
  if (time.from < known.from) found.push_back({{time.from, known.from}, Activity::kCount});
  const std::vector<Part>& all = parts_[block];
  auto at = std::ranges::upper_bound(all, known.from, {}, [](const Part& p) { return p.time.to; });
  for (; at != all.end() && at->time.from < known.to; ++at) {
    found.push_back({{std::max(at->time.from, known.from), std::min(at->time.to, known.to)}, at->activity});
  }
  if (known.to < time.to) found.push_back({{known.to, time.to}, Activity::kCount});
  return found;
}

}  // namespace rxnic
