// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bridge/rtl/dpi_rtl.h"
#include "bridge/rtl/rtl_blocks.h"
#include "model/types/activity.h"

namespace rxnic {

namespace {

constexpr unsigned kByte = 8;
constexpr std::string_view kDpi = "dpi:";
constexpr const char* kActivity = "activity_o";

// A signal that a module has to have.
struct Expected {
  RxnicRtlDirection direction;
  unsigned bits;
  bool optional = false;
};

constexpr const char* name_of(std::uint32_t direction) {
  return direction == kRxnicRtlInput ? "an input" : "an output";
}

// (R1, R2)
std::map<std::string, Expected> signals_of(const BlockFacts& facts) {
  std::map<std::string, Expected> all{{"clk_i", {kRxnicRtlInput, 1}},
                                      {"rst_ni", {kRxnicRtlInput, 1}},
                                      {"quiescent_o", {kRxnicRtlOutput, 1}},
                                      {kActivity, {kRxnicRtlOutput, Enumeration<Activity>::kBits, true}}};
  if (facts.knows_time) all["now_i"] = {kRxnicRtlInput, 64};
  for (const PortFacts& p : facts.ports) {
    const std::string name(p.name);
    switch (p.kind) {
      case PortKind::kIn:
        all[name + "_valid_i"] = {kRxnicRtlInput, p.lanes};
        all[name + "_ready_o"] = {kRxnicRtlOutput, p.lanes};
        all[name + "_i"] = {kRxnicRtlInput, p.lanes * p.bits};
        break;
      case PortKind::kOut:
        all[name + "_valid_o"] = {kRxnicRtlOutput, p.lanes};
        if (p.has_ready) all[name + "_ready_i"] = {kRxnicRtlInput, p.lanes};
        all[name + "_o"] = {kRxnicRtlOutput, p.lanes * p.bits};
        break;
      case PortKind::kRead:
        all[name + "_valid_o"] = {kRxnicRtlOutput, 1};
        all[name + "_o"] = {kRxnicRtlOutput, p.bits};
        all[name + "_i"] = {kRxnicRtlInput, p.lanes * p.word_bits};
        break;
      case PortKind::kLookup:
        all[name + "_i"] = {kRxnicRtlInput, p.lanes * p.word_bits};
        break;
    }
  }
  return all;
}

void compare_parameters(const RxnicRtl& rtl, const BlockFacts& facts, std::vector<std::string>& out) {
  const std::span<const RxnicRtlParameter> found(rtl.parameters, rtl.parameter_count);
  for (const ParameterFacts& p : facts.parameters) {
    const auto at = std::find_if(found.begin(), found.end(), [&p](const auto& f) { return f.name == p.name; });
    const std::string expected = fmt::format("{}{}", p.value, p.or_more ? " or more" : "");
    if (at == found.end()) {
      out.push_back(fmt::format("parameter {}: found none; expected one of value {}", p.name, expected));
    } else if (p.or_more ? at->value < p.value : at->value != p.value) {
      out.push_back(fmt::format("parameter {}: found {}; expected {}", p.name, at->value, expected));
    }
  }
}

void compare_signals(const RxnicRtl& rtl, const BlockFacts& facts, std::vector<std::string>& out) {
  std::map<std::string, Expected> missing = signals_of(facts);
  for (const RxnicRtlSignal& s : std::span(rtl.signals, rtl.signal_count)) {
    const auto at = missing.find(s.name);
    if (at == missing.end()) {
      out.push_back(fmt::format("signal {}: found {} of {} bits; expected none of that name", s.name,
                                name_of(s.direction), s.bits));
      continue;
    }
    const Expected& e = at->second;
    if (s.direction != e.direction) {
      out.push_back(
          fmt::format("signal {}: found {}; expected {}", s.name, name_of(s.direction), name_of(e.direction)));
    } else if (s.bits != e.bits) {
      out.push_back(fmt::format("signal {}: found {} bits; expected {}", s.name, s.bits, e.bits));
    } else if (std::size_t{s.bytes} * kByte < s.bits) {
      out.push_back(fmt::format("signal {}: found {} bytes; expected room for {} bits", s.name, s.bytes, s.bits));
    }
    missing.erase(at);
  }
  for (const auto& [name, e] : missing) {
    if (e.optional) continue;
    out.push_back(fmt::format("signal {}: found none; expected {} of {} bits", name, name_of(e.direction), e.bits));
  }
}

class RtlTwin final : public Twin {
 public:
  RtlTwin(const RxnicRtl& rtl, const BlockFacts& facts, void* instance) : rtl_(rtl), instance_(instance) {
    if (instance_ == nullptr) throw std::runtime_error(fmt::format("{}: its RTL could not be made", rtl.block));
    requests_ = facts.requests;
    counters_ = facts.counters;
    for (const PortFacts& p : facts.ports) {
      const std::string name(p.name);
      const bool in = p.kind == PortKind::kIn, reads = p.kind == PortKind::kRead, lookup = p.kind == PortKind::kLookup;
      TwinPort& port = ports_.emplace_back(TwinPort{p});
      if (reads || lookup) port.words = signal(name + "_i");
      if (lookup) continue;
      port.valid = signal(name + (in ? "_valid_i" : "_valid_o"));
      port.data = signal(name + (in ? "_i" : "_o"));
      if (!reads && p.has_ready) port.ready = signal(name + (in ? "_ready_o" : "_ready_i"));
    }
    clock = static_cast<std::uint8_t*>(signal("clk_i").at);
    reset_n = static_cast<std::uint8_t*>(signal("rst_ni").at);
    now = static_cast<std::uint64_t*>(signal("now_i").at);
    quiescent = static_cast<std::uint8_t*>(signal("quiescent_o").at);
    activity = static_cast<std::uint8_t*>(signal(kActivity).at);
  }
  ~RtlTwin() override { rtl_.destroy(instance_); }
  RtlTwin(const RtlTwin&) = delete;
  RtlTwin& operator=(const RtlTwin&) = delete;

  void eval() override { rtl_.eval(instance_); }
  bool fused() const override { return rtl_.next_cycle != nullptr; }
  void next_cycle() override { rtl_.next_cycle(instance_); }
  std::string_view failure() const override {
    const char* const text = rtl_.failure(instance_);
    return text == nullptr ? std::string_view() : text;
  }
  std::vector<CoverPoint> cover_points() const override {
    std::vector<CoverPoint> points;
    const auto found = [](void* context, const char* name, std::uint64_t hits) {
      static_cast<std::vector<CoverPoint>*>(context)->push_back({name, hits});
    };
    rtl_.cover_points(instance_, found, &points);
    return points;
  }

 private:
  TwinSignal signal(const std::string& name) {  // it is there, or optional: differences() has found none
    for (std::uint32_t n = 0; n < rtl_.signal_count; ++n) {
      if (name == rtl_.signals[n].name) return {rtl_.at(instance_, n), rtl_.signals[n].bytes};
    }
    return {};
  }
  const RxnicRtl& rtl_;
  void* const instance_;
};

std::string parameters_text(const RxnicRtl& rtl) {
  std::string text;
  for (const RxnicRtlParameter& p : std::span(rtl.parameters, rtl.parameter_count)) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", p.name, p.value);
  }
  return text;
}

BlockFacts facts_of(std::string_view block, const Params& params) {
  BlockFacts facts;
  with_rtl_block(block, [&](const auto& of_block) { facts = of_block.facts(params); });
  return facts;
}

void refuse_differences(const RxnicRtl& rtl, const BlockFacts& facts, const std::string& from) {
  std::string text;
  for (const std::string& line : differences(rtl, facts)) text += "\n  " + line;
  if (!text.empty()) throw std::invalid_argument(fmt::format("{}: is no {} of this NIC:{}", from, rtl.block, text));
}

std::unique_ptr<Twin> twin_of_file(std::string_view block, const BlockFacts& facts, const std::string& file,
                                   std::uint64_t random_init) {
  const RxnicRtl& rtl = load_rtl(file);
  if (rtl.block != block) {
    throw std::invalid_argument(fmt::format("{}: block: found {}; expected {}", file, rtl.block, block));
  }
  refuse_differences(rtl, facts, file);
  return std::make_unique<RtlTwin>(rtl, facts, rtl.create(random_init));
}

// `from`: the address with kDpi in front of it.
std::unique_ptr<Twin> twin_of_simulator(std::string_view block, const BlockFacts& facts, const std::string& from) {
  std::unique_ptr<DpiRtl> rtl = DpiRtl::connect(std::string(block), from.substr(kDpi.size()));
  refuse_differences(rtl->description(), facts, from);
  const RxnicRtl& description = rtl->description();
  return std::make_unique<RtlTwin>(description, facts, rtl.release());  // which owns it from now on
}

}  // namespace

std::string cover_text(const std::vector<CoverPoint>& points) {
  if (points.empty()) return {};
  const auto hit = std::count_if(points.begin(), points.end(), [](const CoverPoint& p) { return p.hits > 0; });
  return fmt::format("; {} of {} cover points hit", hit, points.size());
}

std::vector<std::string> differences(const RxnicRtl& rtl, const BlockFacts& facts) {
  std::vector<std::string> out;
  compare_parameters(rtl, facts, out);
  compare_signals(rtl, facts, out);
  return out;
}

std::vector<std::string_view> rtl_block_names() {
  std::vector<std::string_view> names;
  for_each_rtl_block([&](const auto& entry) { names.push_back(entry.name); });
  return names;
}

std::vector<std::string_view> counters_at_ports(std::string_view block, const Params& params) {
  std::vector<std::string_view> names;
  for (const CounterFacts& c : facts_of(block, params).counters) names.push_back(c.name);
  return names;
}

std::unique_ptr<Twin> make_twin(std::string_view block, const Params& params, const std::string& from,
                                std::uint64_t random_init, RtlBuild build) {
  const BlockFacts facts = facts_of(block, params);
  if (from.starts_with(kDpi)) {
    if (random_init == 0) return twin_of_simulator(block, facts, from);
    throw std::invalid_argument(
        fmt::format("--random-init: found with {}, RTL in a simulator, which has options of its own for it", from));
  }
  if (!from.empty()) return twin_of_file(block, facts, from, random_init);
  std::string found;
  for (const RtlBuild one : {build, build == RtlBuild::kLean ? RtlBuild::kChecked : RtlBuild::kLean}) {
    for (const RxnicRtl* rtl : built_rtl(one, block)) {
      if (rtl->block != block) continue;
      if (differences(*rtl, facts).empty()) return std::make_unique<RtlTwin>(*rtl, facts, rtl->create(random_init));
      const std::string line = "\n  " + parameters_text(*rtl);
      if (found.find(line) == std::string::npos) found += line;
    }
  }
  if (found.empty()) {
    throw std::invalid_argument(
        fmt::format("{0}: found no RTL of the project for {1}; expected what the target rtl_{1} builds with Verilator "
                    "(scripts/rxnic does it)",
                    rtl_folder(), block));
  }
  throw std::invalid_argument(fmt::format(
      "{}: its RTL was not built with these parameters (scripts/build_rtl does it), but with:{}", block, found));
}

}  // namespace rxnic
