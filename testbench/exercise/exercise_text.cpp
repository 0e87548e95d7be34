// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bridge/rxnic/output/exit_status.h"
#include "testbench/exercise/exercise.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

// What all runs together have.
struct Together {
  std::uint64_t cycles = 0, clocked = 0, transactions = 0, bits = 0;
  std::vector<std::pair<std::string, std::uint64_t>> ports;
  std::map<std::string, std::uint64_t> cover_points;  // hits, by name
  BoundaryCounts boundaries{};
  std::uint64_t differ = 0;
  const ExerciseRun* first = nullptr;  // that differs
};

Together together(const ExerciseResult& result) {
  Together all;
  for (const ExerciseRun& run : result.runs) {
    all.cycles += run.cycles;
    all.clocked += run.clocked;
    all.transactions += run.transactions;
    all.bits += run.bits;
    for (const auto& [name, count] : run.ports) {
      const auto at = std::ranges::find(all.ports, name, &std::pair<std::string, std::uint64_t>::first);
      if (at == all.ports.end()) {
        all.ports.emplace_back(name, count);
      } else {
        at->second += count;
      }
    }
    for (const CoverPoint& point : run.cover_points) all.cover_points[point.name] += point.hits;
    for (std::size_t n = 0; n < kBoundaries; ++n) all.boundaries[n] += run.boundaries[n];
    if (run.failure.empty()) continue;
    ++all.differ;
    if (all.first == nullptr) all.first = &run;
  }
  return all;
}

std::string number(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, " ");
  return text;
}

std::string plural(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", number(n), what, n == 1 ? "" : "s");
}

std::string name_of(const ExerciseRequest& request) {
  return request.rtl.block + (request.rtl.file.empty() ? "" : "=" + request.rtl.file) +
         (request.rtl.transactions ? ":transactions" : "");
}

std::string seeds_of(const ExerciseRequest& request) {
  if (request.seeds == 1) return fmt::format("seed {}", request.first_seed);
  return fmt::format("seeds {} to {}", request.first_seed, request.first_seed + request.seeds - 1);
}

// How a run is repeated.
std::string command_of(const ExerciseRequest& request, const ExerciseRun& run) {
  std::string in = " --configs " + run.configuration;
  if (!request.overrides.empty()) in = fmt::format(" --set {}", fmt::join(request.overrides, " --set "));
  return fmt::format("rxnic exercise {}{} --seed {} --cycles {}{}", name_of(request), in, run.seed, request.cycles,
                     request.random_init ? " --random-init" : "");
}

std::string line_of(std::string_view what, const std::string& text) { return fmt::format("  {:<14}{}\n", what, text); }

// "a 1, b 2", in lines of up to 100 columns.
std::string list_of(std::string_view what, const std::vector<std::string>& items) {
  constexpr std::size_t kMost = 84;
  std::string out, line;
  for (std::size_t n = 0; n < items.size(); ++n) {
    const std::string item = items[n] + (n + 1 < items.size() ? "," : "");
    if (!line.empty() && line.size() + 1 + item.size() > kMost) {
      out += line_of(out.empty() ? what : "", line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + item;
  }
  return out + line_of(out.empty() ? what : "", line);
}

std::string verdict(const ExerciseResult& result, const Together& all) {
  const ExerciseRequest& request = result.request;
  const std::string runs = fmt::format("{} in {}, {} cycles each", seeds_of(request),
                                       plural(result.configurations.size(), "configuration"), number(request.cycles));
  if (all.first != nullptr) {
    return fmt::format("{} differs from the model in {} of {}: {}.\n", name_of(request), number(all.differ),
                       plural(result.runs.size(), "run"), runs);
  }
  if (all.transactions == 0) {
    return fmt::format("{}: nothing was compared: in no run did anything pass a port: {}.\n", name_of(request), runs);
  }
  return fmt::format("{} is equal to the model in {}: {}.\n", name_of(request),
                     result.runs.size() == 1 ? "the run" : "all of " + plural(result.runs.size(), "run"), runs);
}

// The first line; of the others, which are the transactions before it, only where the waveform is.
std::string difference(const ExerciseRequest& request, const ExerciseRun& run) {
  const std::string first = run.failure.substr(0, run.failure.find('\n'));
  const std::size_t waves = run.failure.find("\n  waveform");
  return fmt::format("\n  {}, seed {}:\n  {}{}\n  again: {}\n\n", run.configuration, run.seed, first,
                     waves == std::string::npos ? "" : run.failure.substr(waves), command_of(request, run));
}

std::string others(const ExerciseResult& result, const Together& all) {
  constexpr int kMost = 10;
  std::string out;
  int shown = 0;
  for (const ExerciseRun& run : result.runs) {
    if (run.failure.empty() || &run == all.first) continue;
    if (++shown > kMost) break;
    out += line_of(out.empty() ? "also" : "", fmt::format("{}, seed {}: {}", run.configuration, run.seed,
                                                          run.failure.substr(0, run.failure.find('\n'))));
  }
  if (all.differ > kMost + 1) out += line_of("", fmt::format("and {} more", all.differ - kMost - 1));
  return out;
}

std::vector<std::string> unhit(const Together& all) {
  std::vector<std::string> names;
  for (const auto& [name, hits] : all.cover_points) {
    if (hits == 0) names.push_back(name);
  }
  return names;
}

Json json_of(const ExerciseRun& run, const ExerciseRequest& request) {
  Json json{{"configuration", run.configuration},
            {"seed", run.seed},
            {"equal", run.failure.empty()},
            {"cycles", run.cycles},
            {"clocked", run.clocked},
            {"transactions", run.transactions},
            {"bits", run.bits},
            {"ports", Json::object()}};
  for (const auto& [name, count] : run.ports) json["ports"][name] = count;
  if (!run.failure.empty()) {
    json["difference"] = run.failure;
    json["again"] = command_of(request, run);
  }
  return json;
}

}  // namespace

std::string exercise_text(const ExerciseResult& result) {
  const Together all = together(result);
  const ExerciseRequest& request = result.request;
  std::string out = verdict(result, all);
  if (all.first != nullptr) out += difference(request, *all.first) + others(result, all);
  out += line_of("compared", fmt::format("{} cycles ({} of the RTL), {} transactions{}", number(all.cycles),
                                         number(all.clocked), number(all.transactions),
                                         request.rtl.transactions ? "" : ", " + number(all.bits) + " bits"));
  std::vector<std::string> items;
  for (const auto& [name, count] : all.ports) items.push_back(fmt::format("{} {}", name, number(count)));
  if (!items.empty()) out += list_of("ports", items);
  items.clear();
  for (const auto& [name, count] : all.ports) {
    if (count == 0) items.push_back(name);
  }
  if (!items.empty()) out += list_of("not compared", items);
  if (all.cover_points.empty()) {
    out += line_of("cover points", "none: the RTL has no cover properties");
  } else {
    items = unhit(all);
    out += line_of("cover points",
                   fmt::format("{} of {} hit", all.cover_points.size() - items.size(), all.cover_points.size()));
    if (!items.empty()) out += list_of("not hit", items);
  }
  items.clear();
  for (std::size_t n = 0; n < kBoundaries; ++n) {
    if (all.boundaries[n] != 0) {
      items.push_back(fmt::format("{} {}", number(all.boundaries[n]), name_of(static_cast<Boundary>(n))));
    }
  }
  out += list_of("boundaries", items);
  for (const ExerciseRun& run : result.runs) {
    for (const auto& [port, later] : run.later) {
      out += line_of("cycles later", fmt::format("{}, seed {}: {}: {}", run.configuration, run.seed, port, later));
    }
  }
  return out;
}

std::string exercise_json(const ExerciseResult& result) {
  const Together all = together(result);
  const ExerciseRequest& request = result.request;
  const int status = exercise_status(result);
  Json json{{"schema", "rxnic.exercise/1"},
            {"block", request.rtl.block},
            {"rtl", request.rtl.file},
            {"transactions_only", request.rtl.transactions},
            {"result", status == kDone       ? "equal"
                       : status == kLockstep ? "differs"
                                             : "nothing compared"},
            {"runs_planned", result.planned},
            {"runs", Json::array()},
            {"cycles_per_run", request.cycles},
            {"cycles", all.cycles},
            {"transactions", all.transactions},
            {"bits", all.bits},
            {"ports", Json::object()},
            {"cover_points", all.cover_points.size()},
            {"cover_points_not_hit", unhit(all)},
            {"boundaries", Json::object()}};
  for (const auto& [name, count] : all.ports) json["ports"][name] = count;
  for (std::size_t n = 0; n < kBoundaries; ++n) {
    json["boundaries"][std::string(name_of(static_cast<Boundary>(n)))] = all.boundaries[n];
  }
  for (const ExerciseRun& run : result.runs) json["runs"].push_back(json_of(run, request));
  return json.dump(1) + '\n';
}

}  // namespace rxnic
