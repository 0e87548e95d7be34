// SPDX-License-Identifier: Apache-2.0
#include "model/params/no_effect.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/params/config.h"

namespace rxnic {
namespace {

// Whether that is the parameter's name, "section.key".
bool is_name_of(std::string_view name, const ParamDescriptor& d) {
  return name.size() == d.section.size() + 1 + d.key.size() && name.starts_with(d.section) &&
         name[d.section.size()] == '.' && name.ends_with(d.key);
}

// Calls f with each part of `text` between `separator`s until it returns true; whether it did.
template <class F>
bool any_part(std::string_view text, std::string_view separator, F f) {
  for (;;) {
    const std::size_t end = text.find(separator);
    if (f(text.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + separator.size());
  }
}

bool has_value(const ParamDescriptor& d, std::uint64_t value, std::string_view text) {
  if (d.type == ParamType::kEnum) return d.values[value] == text;
  if (d.type == ParamType::kBool) return text == (value != 0 ? "true" : "false");
  return text == std::to_string(value);
}

// "section.key=value|value", "section.key!=value" or "run.has=feature"
bool holds(const Params& params, const RunFeatures& run, std::string_view need) {
  const std::size_t equals = need.find('=');
  if (need.starts_with("run.")) {
    const auto* const at = std::ranges::find(kRunFeatureNames, need.substr(equals + 1));
    return run.has(static_cast<RunFeature>(at - std::begin(kRunFeatureNames)));
  }
  const bool differs = need[equals - 1] == '!';
  const std::string_view name = need.substr(0, equals - (differs ? 1 : 0));
  for (const ParamDescriptor& d : param_descriptors()) {
    if (!is_name_of(name, d)) continue;
    const bool found = any_part(need.substr(equals + 1), "|",
                                [&](std::string_view value) { return has_value(d, d.get(params), value); });
    return found != differs;
  }
  return false;  // generate.py has checked that it exists
}

// The first need that does not hold; empty: all do.
std::string_view missing_need(const Params& params, const RunFeatures& run, std::string_view needs) {
  std::string_view missing;
  if (needs.empty()) return missing;
  any_part(needs, " and ", [&](std::string_view need) {
    const bool met = any_part(need, " or ", [&](std::string_view one) { return holds(params, run, one); });
    if (!met) missing = need;
    return !met;
  });
  return missing;
}

bool is_named(std::span<const std::string> overrides, const ParamDescriptor& d) {
  return std::ranges::any_of(overrides,
                             [&](std::string_view text) { return is_name_of(text.substr(0, text.find('=')), d); });
}

// (R2)
class SetParameters {
 public:
  SetParameters(const Params& params, std::string_view config, std::span<const std::string> overrides)
      : params_(params), overrides_(overrides) {
    for (const NamedConfig& named : named_configs()) {
      if (named.name == config) from_file_ = false;
    }
    for (const NamedConfig& named : named_configs()) {
      if (from_file_ || named.name == config) bases_.push_back(load_config(named.name));
    }
  }
  bool contains(const ParamDescriptor& d) const {
    if (from_file_ && is_named(overrides_, d)) return true;
    return std::ranges::none_of(bases_, [&](const Params& base) { return d.get(base) == d.get(params_); });
  }

 private:
  const Params& params_;
  std::span<const std::string> overrides_;
  bool from_file_ = true;
  std::vector<Params> bases_;
};

// A point of the times of reads that comes before `d`, is greater, and stands for it (R3).
const ParamDescriptor* greater_before(const Params& params, const ParamDescriptor& d) {
  constexpr std::string_view kPoints[] = {"read_latency_min_ps", "read_latency_p50_ps",  "read_latency_p90_ps",
                                          "read_latency_p99_ps", "read_latency_p999_ps", "read_latency_max_ps"};
  const ReadLatency shape = params.dma_engine.read_latency;
  const auto* const point = std::ranges::find(kPoints, d.key);
  if (d.section != "dma_engine" || point == std::end(kPoints) || shape == ReadLatency::kConstant) return nullptr;
  for (const ParamDescriptor& other : param_descriptors()) {
    const auto* const before = std::ranges::find(kPoints, other.key);
    const bool counts = before < point && (shape == ReadLatency::kTable || before == std::begin(kPoints));
    if (other.section == d.section && counts && other.get(params) > d.get(params)) return &other;
  }
  return nullptr;
}

}  // namespace

RunFeatures features_of_programs(const Params& params, std::uint32_t nics) {
  // Programs make QPs, SRQs and CQs, which all ask for compression, and may arm them.
  RunFeatures run{RunFeature::kPrograms,    RunFeature::kSrqLayout, RunFeature::kCyclic,
                  RunFeature::kCompression, RunFeature::kArmed,     RunFeature::kSeveralCqs};
  if (nics > 1) run.add(RunFeature::kSwitch);
  const bool marks = params.fabric.ecn_threshold_bytes != 0 || params.fabric.mark_ppm != 0;
  if (nics > 1 && marks && params.requester.dcqcn) run.add(RunFeature::kMarked);
  if (params.srq_wqe_fetcher.srq_layout == SrqLayout::kLinkedList) run.add(RunFeature::kLinkedList);
  return run;
}

std::vector<std::string> parameters_without_effect(const Params& params, std::string_view config,
                                                   std::span<const std::string> overrides, const RunFeatures& run) {
  const SetParameters set(params, config, overrides);
  std::vector<std::string> found;
  for (const ParamDescriptor& d : param_descriptors()) {
    const bool present = run.has(d.acts_in);
    const std::string_view missing = missing_need(params, run, d.needs);
    if (present && missing.empty()) {
      const ParamDescriptor* const before = greater_before(params, d);
      if (before != nullptr && (set.contains(d) || set.contains(*before))) {
        found.push_back(fmt::format("{}.{} cannot act in this run: it is less than {}, which stands for it", d.section,
                                    d.key, before->key));
      }
      continue;
    }
    if (!set.contains(d)) continue;
    const bool is_said = !present || (d.acts_in == RunFeature::kAny && !d.otherwise.empty());
    const std::string why = is_said ? std::string(d.otherwise) : fmt::format("it needs {}", missing);
    found.push_back(fmt::format("{}.{} cannot act in this run: {}", d.section, d.key, why));
  }
  return found;
}

}  // namespace rxnic
