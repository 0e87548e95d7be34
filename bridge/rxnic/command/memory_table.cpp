// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/memory_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/engine/engine.h"
#include "model/types/host_memory.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

// Blocks in order, each with its bits.
std::vector<std::pair<std::string, std::uint64_t>> sums(std::span<const OnChipMemory> memories) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (const OnChipMemory& m : memories) {
    auto it = all.begin();
    while (it != all.end() && it->first != m.block) ++it;
    if (it == all.end()) it = all.insert(it, {m.block, 0});
    it->second += m.bits();
  }
  return all;
}

std::string number(std::uint64_t n) { return n == 0 ? "?" : std::to_string(n); }
std::string kib(std::uint64_t bits) { return fmt::format("{:.2f}", static_cast<double>(bits) / 8192); }

}  // namespace

std::string memory_text(std::span<const OnChipMemory> memories) {
  std::string text = fmt::format("{:<42} {:>9} {:>9} {:>12} {:>10}\n", "memory", "entries", "bits each", "bits", "KiB");
  const auto line = [&](const std::string& name, const std::string& entries, const std::string& each,
                        std::uint64_t bits, const std::string& holds) {
    const bool known = bits != 0;
    text += fmt::format("{:<42} {:>9} {:>9} {:>12} {:>10}{}{}\n", name, entries, each, number(bits),
                        known ? kib(bits) : "?", holds.empty() ? "" : "  ", holds);
  };
  std::uint64_t total = 0;
  for (const auto& [block, bits] : sums(memories)) {
    line(block, "", "", bits, "");
    total += bits;
    for (const OnChipMemory& m : memories) {
      if (m.block == block) line("  " + m.name, number(m.entries), number(m.entry_bits), m.bits(), m.holds);
    }
  }
  line("in all", "", "", total, "?: not limited, or its width not described, yet");
  return text;
}

std::string memory_json(std::span<const OnChipMemory> memories) {
  const auto known = [](std::uint64_t n) { return n == 0 ? Json() : Json(n); };
  Json list = Json::array(), blocks = Json::object();
  for (const OnChipMemory& m : memories) {
    list.push_back({{"block", m.block},
                    {"name", m.name},
                    {"entries", known(m.entries)},
                    {"entry_bits", known(m.entry_bits)},
                    {"bits", known(m.bits())},
                    {"holds", m.holds}});
  }
  std::uint64_t total = 0;
  for (const auto& [block, bits] : sums(memories)) {
    blocks[block] = bits;
    total += bits;
  }
  return Json{{"memories", list}, {"blocks", blocks}, {"bits", total}}.dump(1);
}

std::vector<OnChipMemory> memories_of(const Params& params) {
  Engine engine("engine", {params.nic.clock_period_ps});
  LocalMemory memory;
  const Nic nic("nic", params, memory, engine, {.requester = true});
  return on_chip_memories(params, nic);
}

}  // namespace rxnic
