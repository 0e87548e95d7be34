// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/counters_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "model/types/activity.h"
#include "model/types/all_counters.h"
#include "model/types/drop_reason.h"

namespace rxnic {

namespace {

struct Section {
  std::string_view name, sentence, report;
  std::vector<CounterInfo> counters;
};

// What an enumeration is counted by.
template <Enumerated E>
Section section_of(std::string_view name, std::string_view report, std::string_view unit) {
  Section section{name, Enumeration<E>::kSentence, report, {}};
  for (const EnumeratorInfo& e : Enumeration<E>::kValues) section.counters.push_back({e.name, unit, e.sentence});
  return section;
}

std::vector<Section> sections(std::string_view chosen) {
  std::vector<Section> all;
  for_each_counters([&]<class C>() {
    all.push_back({Counters<C>::kSection,
                   Counters<C>::kSentence,
                   Counters<C>::kReport,
                   {Counters<C>::kAll.begin(), Counters<C>::kAll.end()}});
  });
  all.push_back(section_of<DropReason>("dropped", "packets.dropped", "packets"));
  all.push_back(section_of<Activity>("activity", "blocks.*, and blocks.*.waiting", "cycles"));
  if (chosen.empty()) return all;
  const auto found = std::ranges::find(all, chosen, &Section::name);
  if (found != all.end()) return {*found};
  std::vector<std::string_view> names;
  for (const Section& section : all) names.push_back(section.name);
  throw std::invalid_argument(fmt::format("section: found {}, expected one of {}", chosen, fmt::join(names, ", ")));
}

}  // namespace

std::string counters_text(std::string_view section) {
  std::size_t key = 0, unit = 0;
  for (const Section& s : sections("")) {
    for (const CounterInfo& info : s.counters) {
      key = std::max(key, info.key.size());
      unit = std::max(unit, info.unit.size());
    }
  }
  std::string out = fmt::format("  {:<{}}  {:<{}}  meaning\n", "key", key, "unit", unit);
  for (const Section& s : sections(section)) {
    out += fmt::format("\n{}: {} In the report: {}\n", s.name, s.sentence, s.report);
    for (const CounterInfo& info : s.counters) {
      out += fmt::format("  {:<{}}  {:<{}}  {}\n", info.key, key, info.unit, unit, info.sentence);
    }
  }
  return out;
}

std::string counters_json(std::string_view section) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const Section& s : sections(section)) {
    auto& here = out[std::string(s.name)];
    here = {{"sentence", s.sentence}, {"report", s.report}};
    for (const CounterInfo& info : s.counters) {
      here["counters"][std::string(info.key)] = {
          {"unit", info.unit}, {"sentence", info.sentence}, {"high_water", info.high_water}};
    }
  }
  return out.dump(2) + "\n";
}

}  // namespace rxnic
