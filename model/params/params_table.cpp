// SPDX-License-Identifier: Apache-2.0
#include "model/params/params_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/params/config.h"
#include "model/params/descriptor.h"
#include "model/params/suggestion.h"

namespace rxnic {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTypeNames[] = {"u32", "u64", "bool", "enum"};
constexpr std::string_view kKindNames[] = {"width", "depth", "latency", "policy"};

template <typename Enum>
std::string_view name_of(std::span<const std::string_view> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

std::string value_text(const ParamDescriptor& d, std::uint64_t value) {
  if (d.type == ParamType::kBool) return value != 0 ? "true" : "false";
  if (d.type == ParamType::kEnum) return std::string(d.values[value]);
  return std::to_string(value);
}

std::string range_text(const ParamDescriptor& d) {
  if (d.type == ParamType::kBool) return "true|false";
  if (d.type == ParamType::kEnum) return fmt::format("{}", fmt::join(d.values, "|"));
  return fmt::format("{}..{}{}", d.least, d.greatest, d.power_of_two ? " 2^n" : "");
}

Json value_json(const ParamDescriptor& d, std::uint64_t value) {
  if (d.type == ParamType::kBool) return value != 0;
  if (d.type == ParamType::kEnum) return d.values[value];
  return value;
}

void require_section(std::string_view section) {
  if (section.empty()) return;
  const std::vector<std::string_view> names = section_names();
  if (std::ranges::find(names, section) != names.end()) return;
  std::string meant = suggest(section, names);
  if (meant.empty()) meant = suggest_section_of(section.substr(section.find('.') + 1));
  throw ConfigError("params", 0, "", fmt::format("'{}', which is no section of the configuration", section),
                    fmt::format("one of {}{}", fmt::join(names, ", "), meant));
}

}  // namespace

std::string params_text(const Params& params, const ParamsTableOptions& options) {
  require_section(options.section);
  using Row = std::array<std::string, 6>;
  const Row head = {"key", "value", "unit", "range", "kind", "evidence"};
  const auto cells = [&](const ParamDescriptor& d) {
    const std::uint64_t value = d.get(params);
    return Row{std::string(d.key),
               value_text(d, value) + (value != d.default_value ? "*" : " "),
               std::string(d.unit.empty() ? "-" : d.unit),
               range_text(d),
               std::string(name_of(kKindNames, d.kind)),
               std::string(name_of(kEvidenceNames, d.evidence))};
  };
  std::array<std::size_t, 6> widths{};
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(head);
  for (const ParamDescriptor& d : param_descriptors()) widen(cells(d));

  std::string out;
  const auto line = [&](const Row& row, std::string_view sentence) {
    out += fmt::format("  {:<{}}  {:>{}}  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1],
                       row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5], widths[5], sentence);
  };
  line(head, "meaning");
  for (const ParamSection& section : param_sections()) {
    if (!options.section.empty() && options.section != section.name) continue;
    out += fmt::format("\n{}: {}\n", section.name, section.about);
    for (const ParamDescriptor& d : param_descriptors()) {
      if (d.section != section.name) continue;
      line(cells(d), d.sentence);
      if (!options.evidence) continue;
      out += fmt::format("  {:<{}}  source: {}\n", "", widths[0], d.source);
      if (d.acts_in != RunFeature::kAny) {
        out += fmt::format("  {:<{}}  acts in: {}\n", "", widths[0], name_of(kRunFeatureNames, d.acts_in));
      }
      if (!d.needs.empty()) out += fmt::format("  {:<{}}  needs: {}\n", "", widths[0], d.needs);
    }
  }
  out += "\n* not the default\n";
  return out;
}

std::string params_json(const Params& params, const ParamsTableOptions& options) {
  require_section(options.section);
  Json out = Json::object();
  for (const ParamDescriptor& d : param_descriptors()) {
    if (!options.section.empty() && options.section != d.section) continue;
    Json range;
    if (d.type == ParamType::kEnum) {
      range = d.values;
    } else if (d.type == ParamType::kBool) {
      range = {false, true};
    } else {
      range = {d.least, d.greatest};
    }
    out[std::string(d.section)][std::string(d.key)] = {{"value", value_json(d, d.get(params))},
                                                       {"default", value_json(d, d.default_value)},
                                                       {"type", name_of(kTypeNames, d.type)},
                                                       {"unit", d.unit},
                                                       {"range", range},
                                                       {"power_of_two", d.power_of_two},
                                                       {"kind", name_of(kKindNames, d.kind)},
                                                       {"sentence", d.sentence},
                                                       {"evidence", name_of(kEvidenceNames, d.evidence)},
                                                       {"source", d.source},
                                                       {"acts_in", name_of(kRunFeatureNames, d.acts_in)},
                                                       {"otherwise", d.otherwise},
                                                       {"needs", d.needs}};
  }
  return out.dump(2) + "\n";
}

std::string params_values_json(const Params& params) {
  Json out = Json::object();
  for (const ParamDescriptor& d : param_descriptors()) {
    out[std::string(d.section)][std::string(d.key)] = value_json(d, d.get(params));
  }
  return out.dump(2) + "\n";
}

std::string params_toml(const Params& params) {
  std::string out = "about = \"Every parameter, as it was used.\"\n";
  std::string_view section;
  for (const ParamDescriptor& d : param_descriptors()) {
    if (d.section != section) out += fmt::format("\n[{}]\n", d.section);
    section = d.section;
    const char* quote = d.type == ParamType::kEnum ? "\"" : "";
    out += fmt::format("{} = {}{}{}\n", d.key, quote, value_text(d, d.get(params)), quote);
  }
  return out;
}

}  // namespace rxnic
