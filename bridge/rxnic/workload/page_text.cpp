// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bridge/rxnic/workload/page_keys.h"
#include "bridge/rxnic/workload/page_reader.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTypeWords[] = {"integer", "number", "choice", "text", "packets"};

WorkloadPage defaults() {
  WorkloadPage page;
  page.senders.emplace_back();
  return page;
}

std::string range_text(const WorkloadKey& key) {
  switch (key.type) {
    case KeyType::kChoice:
      return fmt::format("{}", fmt::join(key.choices, "|"));
    case KeyType::kText:
    case KeyType::kPackets:
      return std::string(kTypeWords[static_cast<std::size_t>(key.type)]);
    case KeyType::kNumber:
      return fmt::format("{}..{}", key.least, key.greatest);
    case KeyType::kInteger:
      break;
  }
  return fmt::format("{:.0f}..{:.0f}{}", key.least, key.greatest, key.power_of_two ? " (2^n)" : "");
}

Json json_value_of(const WorkloadKey& key, const KeyValue& value) {
  if (key.type == KeyType::kChoice) return key.choices[std::get<std::uint64_t>(value)];
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json range_of(const WorkloadKey& key) {
  if (key.type == KeyType::kChoice) return key.choices;
  if (key.type == KeyType::kNumber) return {key.least, key.greatest};
  if (key.type == KeyType::kInteger) {
    return {static_cast<std::uint64_t>(key.least), static_cast<std::uint64_t>(key.greatest)};
  }
  return nullptr;
}

void put_table(const WorkloadPage& page, std::string_view table, std::size_t group, std::string& out) {
  for (const WorkloadKey* key : workload_keys()) {
    if (key->table != table || !unmet_need(*key, page, group).empty()) continue;
    out += fmt::format("{} = {}\n", key->key, toml_text(*key, key->get(page, group)));
  }
}

}  // namespace

std::string named_workloads_text() {
  std::size_t width = 0;
  for (const NamedText& t : named_workloads()) width = std::max(width, t.name.size());
  std::string out = "Workloads that come along, for rxnic replay NAME:\n\n";
  for (const NamedText& t : named_workloads()) {
    out += fmt::format("  {:<{}}  {}\n", t.name, width, load_workload(std::string(t.name)).about);
  }
  return out + "\nrxnic workload NAME prints a page, rxnic workload --keys what one may hold.\n";
}

std::string named_workloads_json() {
  Json all = Json::array();
  for (const NamedText& t : named_workloads()) {
    all.push_back({{"name", t.name}, {"about", load_workload(std::string(t.name)).about}});
  }
  return all.dump(2) + "\n";
}

std::string workload_keys_text() {
  const WorkloadPage page = defaults();
  using Row = std::array<std::string, 4>;
  const auto cells = [&](const WorkloadKey& key) {
    return Row{std::string(key.key), toml_text(key, key.get(page, 0)), std::string(key.unit), range_text(key)};
  };
  Row head = {"key", "default", "unit", "range"};
  std::array<std::size_t, 4> widths{};
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(head);
  for (const WorkloadKey* key : workload_keys()) widen(cells(*key));
  std::string out;
  const auto line = [&](const Row& row, std::string_view sentence) {
    out += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
                       widths[2], row[3], widths[3], sentence);
  };
  line(head, "meaning");
  for (const WorkloadTable& table : workload_tables()) {
    bool first = true;
    for (const WorkloadKey* key : workload_keys()) {
      if (key->table != table.name) continue;
      if (first) {
        out += table.name.empty() ? fmt::format("\n{}\n", table.about)
                                  : fmt::format("\n[{}]: {}\n", table.name, table.about);
      }
      first = false;
      line(cells(*key),
           key->needs.empty() ? std::string(key->sentence) : fmt::format("{} Needs {}.", key->sentence, key->needs));
    }
  }
  return out;
}

std::string workload_keys_json() {
  const WorkloadPage page = defaults();
  Json out = Json::object();
  for (const WorkloadKey* key : workload_keys()) {
    out[std::string(key->table)][std::string(key->key)] = {{"default", json_value_of(*key, key->get(page, 0))},
                                                           {"type", kTypeWords[static_cast<std::size_t>(key->type)]},
                                                           {"unit", key->unit},
                                                           {"range", range_of(*key)},
                                                           {"power_of_two", key->power_of_two},
                                                           {"sentence", key->sentence},
                                                           {"needs", key->needs}};
  }
  return out.dump(2) + "\n";
}

std::string workload_toml(const WorkloadPage& page) {
  std::string out;
  put_table(page, "", 0, out);
  for (std::size_t group = 0; !page.mpi.any() && group < page.senders.size(); ++group) {
    out += "\n[[senders]]\n";
    put_table(page, "senders", group, out);
    out += "[senders.mix]\n";
    put_table(page, "senders.mix", group, out);
  }
  for (const WorkloadTable& table : workload_tables()) {
    if (table.name.empty() || is_of_senders(table.name)) continue;
    if (table.name == "mpi" && !page.mpi.any()) continue;
    std::string inside;
    put_table(page, table.name, 0, inside);
    if (!inside.empty()) out += fmt::format("\n[{}]\n{}", table.name, inside);
  }
  return out;
}

}  // namespace rxnic
