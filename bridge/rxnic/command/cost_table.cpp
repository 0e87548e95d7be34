// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "bridge/rxnic/command/memory_table.h"
#include "bridge/rxnic/output/csv.h"
#include "model/params/descriptor.h"

namespace rxnic {

extern const char kMeasuredAreaText[];  // rtl/measured_area.json, which the build puts into the program

namespace {

using CostJson = nlohmann::ordered_json;

constexpr std::string_view kNotMeasured = "not measured with these parameters";

constexpr const char* kCostIntroduction =
    "Bits are exact: entries times bits of each. What a memory is made of and its ports (reads R and writes W in a\n"
    "cycle) are estimated, by the rule beside it. Gates, levels and flip-flops of RTL are measured, or 'not "
    "measured'.\n"
    "Counters and state machines are in no bits; they are in the flip-flops of RTL.\n\n";

struct KindBits {
  std::uint64_t by_kind[std::size(kStorageKindNames)] = {};
  void add(const MemoryCost& one) { by_kind[static_cast<std::size_t>(one.ports.kind)] += one.memory.bits(); }
  std::uint64_t total() const { return by_kind[0] + by_kind[1] + by_kind[2]; }
};

std::vector<std::pair<std::string, KindBits>> bits_by_block(const CostTable& cost) {
  std::vector<std::pair<std::string, KindBits>> all;
  for (const MemoryCost& one : cost.memories) {
    auto it = std::find_if(all.begin(), all.end(), [&one](const auto& b) { return b.first == one.memory.block; });
    if (it == all.end()) it = all.insert(it, {one.memory.block, {}});
    it->second.add(one);
  }
  return all;
}

std::string ports_text(const MemoryPorts& ports) { return fmt::format("{}R{}W", ports.reads, ports.writes); }

// The value of a parameter as `rxnic params` prints it.
std::string parameter_text(const ParamDescriptor& p, std::uint64_t value) {
  if (p.type == ParamType::kEnum) return std::string(p.values[value]);
  return p.type == ParamType::kBool ? (value != 0 ? "true" : "false") : std::to_string(value);
}

std::uint64_t parameter_value(const ParamDescriptor& p, const CostJson& written) {
  if (written.is_boolean()) return written.get<bool>() ? 1 : 0;
  if (!written.is_string()) return written.get<std::uint64_t>();
  const auto it = std::find(p.values.begin(), p.values.end(), written.get<std::string>());
  if (it == p.values.end()) throw std::runtime_error(fmt::format("{}.{}: {}", p.section, p.key, written.dump()));
  return static_cast<std::uint64_t>(it - p.values.begin());
}

const ParamDescriptor& parameter_named(const std::string& name) {
  for (const ParamDescriptor& p : param_descriptors()) {
    if (fmt::format("{}.{}", p.section, p.key) == name) return p;
  }
  throw std::runtime_error("rtl/measured_area.json: found " + name + ", expected a parameter of rxnic params");
}

// "section.key=measured (here value)" for each parameter in which the measured NIC is another one.
std::vector<std::string> differences(const MeasuredArea& area, const Params& params) {
  std::vector<std::string> found;
  for (const auto& [name, value] : area.values) {
    const ParamDescriptor& p = parameter_named(name);
    if (p.get(params) == value) continue;
    found.push_back(fmt::format("{}={} (here {})", name, parameter_text(p, value), parameter_text(p, p.get(params))));
  }
  return found;
}

std::string rtl_name(const MeasuredArea& area) {
  return area.block + (area.part_of.empty() ? "" : " (a part of " + area.part_of + ")");
}

CostJson rtl_row(const MeasuredArea& area) {
  return {{"rtl", area.block},
          {"part_of", area.part_of},
          {"basis", "measured"},
          {"tool", area.tool},
          {"gates", area.gates},
          {"levels", area.levels},
          {"flip_flops", area.flip_flops},
          {"memory_bits", area.memory_bits}};
}

void add_bits(CostJson& json, const KindBits& bits) {
  json["total_bits"] = bits.total();
  json["sram_bits"] = bits.by_kind[0];
  json["cam_bits"] = bits.by_kind[1];
  json["flip_flop_bits"] = bits.by_kind[2];
}

}  // namespace

std::vector<MeasuredArea> measured_areas() {
  std::vector<MeasuredArea> all;
  const CostJson json = CostJson::parse(kMeasuredAreaText);
  for (const CostJson& row : json["measured"]) {
    MeasuredArea& area = all.emplace_back();
    area.block = row["block"];
    area.part_of = row["part_of"];
    area.tool = row["tool"];
    for (const auto& [name, value] : row["parameters"].items()) {
      area.values[name] = parameter_value(parameter_named(name), value);
    }
    area.gates = row["gates"];
    area.levels = row["levels"];
    area.flip_flops = row["flip_flops"];
    area.memory_bits = row["memory_bits"];
  }
  return all;
}

CostTable cost_of(const Params& params) {
  CostTable cost;
  for (OnChipMemory& m : memories_of(params)) {
    const auto ports = memory_ports(m, params);
    if (!ports) throw std::runtime_error(fmt::format("{}.{}: no rule says what it is made of", m.block, m.name));
    cost.memories.push_back({std::move(m), *ports});
  }
  std::map<std::string, std::size_t> least;
  for (MeasuredArea& area : measured_areas()) {
    const std::vector<std::string> apart = differences(area, params);
    const std::string name = rtl_name(area);
    if (least.contains(name) && least[name] <= apart.size()) continue;
    least[name] = apart.size();
    cost.apart[name] = fmt::format("{}", fmt::join(apart, ", "));
    if (!apart.empty()) continue;
    cost.apart.erase(name);
    cost.measured.push_back(std::move(area));
  }
  return cost;
}

std::string cost_text(const CostTable& cost) {
  std::string text = kCostIntroduction;
  text += fmt::format("{:<20} {:>12} {:>10} {:>11} {:>12} {:>10}\n", "block", "SRAM bits", "CAM bits", "flip-flops",
                      "bits", "KiB");
  KindBits sum;
  const auto line = [&text](const std::string& name, const KindBits& bits) {
    text += fmt::format("{:<20} {:>12} {:>10} {:>11} {:>12} {:>10.2f}\n", name, bits.by_kind[0], bits.by_kind[1],
                        bits.by_kind[2], bits.total(), static_cast<double>(bits.total()) / 8192);
  };
  for (const auto& [block, bits] : bits_by_block(cost)) line(block, bits);
  for (const MemoryCost& one : cost.memories) sum.add(one);
  line("in all", sum);

  text += fmt::format("\n{:<44} {:>9} {:>7} {:>11} {:>12}\n", "RTL", "gates", "levels", "flip-flops", "memory bits");
  for (const MeasuredArea& area : cost.measured) {
    text += fmt::format("{:<44} {:>9} {:>7} {:>11} {:>12}  measured, {}\n", rtl_name(area), area.gates, area.levels,
                        area.flip_flops, area.memory_bits, area.tool);
  }
  for (const auto& [name, apart] : cost.apart) {
    text += fmt::format("{:<44} {}; the nearest NIC: {}\n", name, kNotMeasured, apart);
  }
  text += "all other blocks                             not measured: without RTL, or never tried\n";

  text += fmt::format("\n{:<38} {:<10} {:>6} {:>9} {:>9} {:>12}  {}\n", "memory", "made of", "ports", "entries",
                      "bits each", "bits", "estimated by");
  for (const MemoryCost& one : cost.memories) {
    const OnChipMemory& m = one.memory;
    const bool registers = one.ports.kind == StorageKind::kFlipFlops;
    text += fmt::format("{:<38} {:<10} {:>6} {:>9} {:>9} {:>12}  {}\n", m.block + "." + m.name,
                        kStorageKindNames[static_cast<std::size_t>(one.ports.kind)],
                        registers ? "" : ports_text(one.ports), m.entries, m.entry_bits, m.bits(), one.ports.rule);
  }
  return text;
}

std::string cost_json(const CostTable& cost) {
  KindBits sum;
  CostJson memories = CostJson::array(), blocks = CostJson::object(), rtl = CostJson::array();
  for (const MemoryCost& one : cost.memories) {
    const OnChipMemory& m = one.memory;
    const bool registers = one.ports.kind == StorageKind::kFlipFlops;
    sum.add(one);
    memories.push_back({{"block", m.block},
                        {"name", m.name},
                        {"kind", kStorageKindNames[static_cast<std::size_t>(one.ports.kind)]},
                        {"read_ports", registers ? CostJson() : CostJson(one.ports.reads)},
                        {"write_ports", registers ? CostJson() : CostJson(one.ports.writes)},
                        {"entries", m.entries},
                        {"entry_bits", m.entry_bits},
                        {"bits", m.bits()},
                        {"bits_basis", "exact"},
                        {"kind_basis", "estimated"},
                        {"rule", one.ports.rule}});
  }
  for (const auto& [block, bits] : bits_by_block(cost)) {
    add_bits(blocks[block], bits);
    blocks[block]["measured"] = nullptr;
  }
  for (const MeasuredArea& area : cost.measured) {
    rtl.push_back(rtl_row(area));
    if (area.part_of.empty()) blocks[area.block]["measured"] = rtl.back();
  }
  for (const auto& [name, apart] : cost.apart) {
    rtl.push_back({{"rtl", name}, {"basis", kNotMeasured}, {"nearest", apart}});
  }
  CostJson all;
  add_bits(all, sum);
  all["blocks"] = blocks;
  all["rtl"] = rtl;
  all["memories"] = memories;
  return all.dump(1);
}

std::string cost_csv(const CostTable& cost) {
  const CostJson json = CostJson::parse(cost_json(cost));
  CostJson rows = json["memories"];
  for (const CostJson& rtl : json["rtl"]) rows.push_back(rtl);
  return csv_of(rows);
}

}  // namespace rxnic
