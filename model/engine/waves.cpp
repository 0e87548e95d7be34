// SPDX-License-Identifier: Apache-2.0
#include "model/engine/waves.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "model/engine/link.h"

namespace rxnic {

namespace {

constexpr std::string_view kSuffix = ".vcd";
constexpr int kActivityBits = std::bit_width(kActivities - 1);

// SystemC adds the suffix itself.
std::string stem_of(const Engine& engine, const std::string& path) {
  if (engine.mode() != EngineMode::kPerCycle)
    throw std::invalid_argument("waves: the engine must be in per-cycle mode");
  if (!path.ends_with(kSuffix)) throw std::invalid_argument("waves: " + path + ": expected a name that ends in .vcd");
  return path.substr(0, path.size() - kSuffix.size());
}

// Elements of arrays in parentheses: viewers read square brackets as bits of a vector.
std::string wave_name(const FieldPath& where) {
  std::string name = text_of(where);
  std::replace(name.begin(), name.end(), '[', '(');
  std::replace(name.begin(), name.end(), ']', ')');
  return name;
}

}  // namespace

Waves::Waves(Engine& engine, const std::string& path)
    : engine_(engine),
      file_(sc_core::sc_create_vcd_trace_file(stem_of(engine, path).c_str())),
      activities_(engine.blocks().size()),
      occupancies_(engine.links().size()),
      pushed_(engine.links().size()) {
  file_->set_time_unit(1, sc_core::SC_PS);
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    sc_core::sc_trace(file_, activities_[i], std::string(engine.blocks()[i]->name()) + ".activity", kActivityBits);
  }
  for (std::size_t i = 0; i < occupancies_.size(); ++i) {
    const LinkBase& link = *engine.links()[i];
    sc_core::sc_trace(file_, occupancies_[i], std::string(link.name()) + ".occupancy",
                      static_cast<int>(std::bit_width(link.capacity())));
    head_at_.push_back(heads_.size());
    link.for_each_head_number([&](const FieldPath&, std::uint64_t number) { heads_.push_back(number); });
  }
  for (std::size_t i = 0; i < occupancies_.size(); ++i) {
    const LinkBase& link = *engine.links()[i];
    std::size_t at = head_at_[i];
    link.for_each_head_number([&](const FieldPath& where, std::uint64_t) {
      sc_core::sc_trace(file_, heads_[at++], std::string(link.name()) + ".head." + wave_name(where),
                        static_cast<int>(where.field.bits));
    });
  }
  engine.add_probe([this](Cycle) { sample(); });
}

Waves::~Waves() { sc_core::sc_close_vcd_trace_file(file_); }

void Waves::sample() {
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    activities_[i] = static_cast<unsigned>(engine_.blocks()[i]->activity());
  }
  for (std::size_t i = 0; i < occupancies_.size(); ++i) {
    const LinkBase& link = *engine_.links()[i];
    if (link.size() == occupancies_[i] && link.transfers() == pushed_[i]) continue;
    occupancies_[i] = link.size();
    pushed_[i] = link.transfers();
    std::size_t at = head_at_[i];
    link.for_each_head_number([&](const FieldPath&, std::uint64_t number) { heads_[at++] = number; });
  }
}

}  // namespace rxnic
