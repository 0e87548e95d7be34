// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "model/types/station.h"

namespace rxnic {

namespace {

constexpr const char* kFile = "events.rxev";
constexpr std::uint64_t kMostNics = 64;

std::string file_of(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return folder;
  const std::filesystem::path file = std::filesystem::path(folder) / kFile;
  if (!std::filesystem::exists(file, ignored)) {
    throw std::invalid_argument(fmt::format(
        "{}: found no {}; expected a run with --events: rxnic replay --events --out {} TRACE", folder, kFile, folder));
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
      throw std::invalid_argument(fmt::format(
          "{}: {}: found {}; expected {} to {}", path_, key,
          found == d.end() ? "nothing" : found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), least,
          most));
    }
    return found->get<std::uint64_t>();
  };
  period_ps_ = number("clock_period_ps", 1, 1'000'000'000);
  nics_ = static_cast<std::uint32_t>(number("nics", 1, kMostNics));
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

std::string RunEvents::peer_of(std::uint64_t nic, std::uint64_t qp) const {
  const nlohmann::json& end = reader_.end();
  const auto qps = end.find("qps");
  if (qps == end.end() || !qps->is_array()) return {};
  for (const nlohmann::json& q : *qps) {
    if (!q.is_object() || q.value("nic", nlohmann::json()) != nic || q.value("qp", nlohmann::json()) != qp) continue;
    const auto peer = q.find("peer"), peer_qp = q.find("peer_qp");
    if (peer == q.end() || !peer->is_string() || peer_qp == q.end() || !peer_qp->is_number_unsigned()) return {};
    return fmt::format("{} QP {:#x}", peer->get<std::string>(), peer_qp->get<std::uint64_t>());
  }
  return {};
}

ActivityTimes::ActivityTimes(RunEvents& events, const Intervals& intervals) : parts_(events.blocks()) {
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
    last[row.block] = {{row.from, 0}, static_cast<Activity>(row.activity)};
  });
  for (std::size_t b = 0; b < last.size(); ++b) keep(b, ~std::uint64_t{0});
}

std::vector<ActivityTimes::Part> ActivityTimes::of(std::uint64_t block, Interval time) const {
  if (time.to <= time.from) return {};
  if (block >= parts_.size()) return {{time, Activity::kStarved}};
  const std::vector<Part>& all = parts_[block];
  std::vector<Part> found;
  auto at = std::ranges::upper_bound(all, time.from, {}, [](const Part& p) { return p.time.to; });
  for (; at != all.end() && at->time.from < time.to; ++at) {
    found.push_back({{std::max(at->time.from, time.from), std::min(at->time.to, time.to)}, at->activity});
  }
  return found;
}

}  // namespace rxnic
