// SPDX-License-Identifier: Apache-2.0
#include "model/params/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "model/params/descriptor.h"
#include "model/params/quantity.h"
#include "model/params/suggestion.h"
#include "model/params/text_file.h"
#include "model/params/toml_limits.h"

namespace rxnic {
namespace {

constexpr int kMaxBaseDepth = 8;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;  // a file with every key is 8 KB long

std::vector<std::string_view> config_names() {
  std::vector<std::string_view> names;
  for (const NamedConfig& config : named_configs()) names.push_back(config.name);
  return names;
}

std::vector<std::string_view> key_names(std::string_view section) {
  std::vector<std::string_view> names;
  for (const ParamDescriptor& d : param_descriptors()) {
    if (d.section == section) names.push_back(d.key);
  }
  return names;
}

std::string full_key(const ParamDescriptor& d) { return fmt::format("{}.{}", d.section, d.key); }

std::string expected_value(const ParamDescriptor& d) {
  switch (d.type) {
    case ParamType::kBool:
      return "true or false";
    case ParamType::kEnum:
      return fmt::format("\"{}\"", fmt::join(d.values, "\" or \""));
    default:
      return fmt::format("an integer from {} to {}{} ({})", d.least, d.greatest,
                         d.power_of_two ? ", a power of two" : "", d.unit);
  }
}

// Reads one TOML document over `params`. One per document, so that every refusal names the file.
class Reader {
 public:
  Reader(std::string file, int depth) : file_(std::move(file)), depth_(depth) {}

  void read(std::string_view text, Params& params);
  void set(const ParamDescriptor& d, const toml::node& node, Params& params) const;  // R2
  const ParamDescriptor& find(std::string_view section, std::string_view key, std::uint32_t line) const;

  [[noreturn]] void refuse(std::uint32_t line, std::string key, std::string found, std::string expected) const {
    throw ConfigError(file_, line, std::move(key), std::move(found), std::move(expected));
  }

 private:
  void read_base(const toml::node& node, Params& params) const;
  void refuse_missing(const toml::table& document, const std::set<const ParamDescriptor*>& seen) const;

  std::string file_;
  int depth_;
};

std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

std::string printed(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (const auto* text = node.as_string()) return fmt::format("\"{}\"", text->get());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

// A configuration by name or path, over `params`; `from` is the folder that a relative path starts from.
void read_config(std::string_view name_or_file, const std::filesystem::path& from, const Reader& asker,
                 std::uint32_t line, const char* key, int depth, Params& params) {
  if (depth > kMaxBaseDepth) {
    asker.refuse(line, key, fmt::format("\"{}\"", name_or_file),
                 fmt::format("at most {} bases, one over the other", kMaxBaseDepth));
  }
  if (name_or_file.find('/') == std::string_view::npos && !name_or_file.ends_with(".toml")) {
    for (const NamedConfig& config : named_configs()) {
      if (config.name == name_or_file) return Reader(std::string(config.file), depth).read(config.text, params);
    }
    asker.refuse(
        line, key, fmt::format("\"{}\"", name_or_file),
        fmt::format("a file, or one of {}{}", fmt::join(config_names(), ", "), suggest(name_or_file, config_names())));
  }
  const std::filesystem::path path = from / name_or_file;
  std::string text;
  try {
    text = read_text_file(path, kMaxFileBytes);
  } catch (const std::runtime_error& error) {
    asker.refuse(line, key, fmt::format("\"{}\": {}", path.string(), error.what()), "a file that can be read");
  }
  Reader(path.string(), depth).read(text, params);
}

void Reader::read(std::string_view text, Params& params) {
  if (const std::uint32_t line = line_of_long_key(text); line != 0) {
    refuse(line, "", fmt::format("a key of more than {} parts", kMaxKeyParts), "section.key");
  }
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    refuse(error.source().begin.line, "", std::string(error.description()), "a TOML file");
  }
  const toml::node* base = document.get("base");
  if (base != nullptr) read_base(*base, params);

  std::set<const ParamDescriptor*> seen;
  for (const auto& [name, node] : document) {
    if (name == "base") continue;
    if (name == "about") {  // R5
      if (!node.is_string()) refuse(line_of(node), "about", printed(node), "a sentence");
      continue;
    }
    const std::string section(name.str());
    const auto names = section_names();
    if (std::ranges::find(names, section) == names.end()) {
      refuse(line_of(node), section, "unknown section",
             fmt::format("one of {}{}", fmt::join(names, ", "), suggest(section, names)));
    }
    if (!node.is_table()) refuse(line_of(node), section, printed(node), fmt::format("a section [{}]", section));
    for (const auto& [key, value] : *node.as_table()) {
      const ParamDescriptor& d = find(section, key.str(), line_of(value));
      set(d, value, params);
      seen.insert(&d);
    }
  }
  if (base == nullptr) refuse_missing(document, seen);
}

void Reader::read_base(const toml::node& node, Params& params) const {
  const auto name = node.value<std::string>();
  if (!name) refuse(line_of(node), "base", printed(node), "the name or file of a configuration");
  read_config(*name, std::filesystem::path(file_).parent_path(), *this, line_of(node), "base", depth_ + 1, params);
}

// R1: the line is that of the section in which the key should stand.
void Reader::refuse_missing(const toml::table& document, const std::set<const ParamDescriptor*>& seen) const {
  for (const ParamDescriptor& d : param_descriptors()) {
    if (seen.contains(&d)) continue;
    const toml::node* section = document.get(d.section);
    refuse(section != nullptr ? line_of(*section) : 1, full_key(d), "no such key",
           fmt::format("{}, as there is no base (params.toml's default: {})", expected_value(d),
                       d.type == ParamType::kEnum ? d.values[d.default_value] : std::to_string(d.default_value)));
  }
}

const ParamDescriptor& Reader::find(std::string_view section, std::string_view key, std::uint32_t line) const {
  for (const ParamDescriptor& d : param_descriptors()) {
    if (d.section == section && d.key == key) return d;
  }
  const auto names = key_names(section);
  std::string meant = suggest(key, names);
  if (meant.empty()) meant = suggest_section_of(key);
  refuse(line, fmt::format("{}.{}", section, key), "unknown key",
         fmt::format("one of {}{}", fmt::join(names, ", "), meant));
}

// The value of a number, or of a text with a unit. Nothing: it is neither.
std::optional<std::uint64_t> number_of(const ParamDescriptor& d, const toml::node& node) {
  if (node.is_string()) return quantity(*node.value<std::string>(), d.unit);
  if (!node.is_integer() || *node.value<std::int64_t>() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*node.value<std::int64_t>());
}

void Reader::set(const ParamDescriptor& d, const toml::node& node, Params& params) const {
  std::optional<std::uint64_t> value;
  std::string hint;
  if (d.type == ParamType::kBool) {
    if (node.is_boolean()) value = *node.value<bool>() ? 1 : 0;
  } else if (d.type == ParamType::kEnum) {
    if (node.is_string()) {
      const std::string word = *node.value<std::string>();
      const auto at = std::ranges::find(d.values, word);
      if (at != d.values.end()) value = static_cast<std::uint64_t>(at - d.values.begin());
      hint = suggest(word, d.values);
    }
  } else if (const std::optional<std::uint64_t> found = number_of(d, node)) {
    const std::uint64_t number = *found;
    if (number >= d.least && number <= d.greatest && (!d.power_of_two || std::has_single_bit(number))) value = number;
  }
  if (!value) refuse(line_of(node), full_key(d), printed(node), expected_value(d) + hint);
  d.set(params, *value);
}

// R4
void apply_override(std::string_view text, Params& params) {
  const Reader reader("--set", 0);
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos) {
    reader.refuse(0, std::string(text.substr(0, equals)), fmt::format("\"{}\"", text),
                  "section.key=value" +
                      (dot == std::string_view::npos ? suggest_section_of(text.substr(0, equals)) : std::string()));
  }
  const std::string_view section = text.substr(0, dot);
  const auto names = section_names();
  if (std::ranges::find(names, section) == names.end()) {
    reader.refuse(0, std::string(text.substr(0, equals)), fmt::format("unknown section '{}'", section),
                  fmt::format("one of {}{}", fmt::join(names, ", "), suggest(section, names)));
  }
  const ParamDescriptor& d = reader.find(section, text.substr(dot + 1, equals - dot - 1), 0);
  const std::string value(text.substr(equals + 1));
  // A shell eats the quotes of a string: an enum's value, and a number with a unit, may come without.
  const bool word = d.type == ParamType::kEnum || quantity(value, d.unit);
  const bool bare = word && !value.starts_with('"') && !value.starts_with('\'');
  if (line_of_long_key(value) != 0) reader.refuse(0, full_key(d), fmt::format("\"{}\"", value), expected_value(d));
  toml::table document;
  try {
    document = toml::parse(bare ? fmt::format("v = '{}'", value) : fmt::format("v = {}", value));
  } catch (const toml::parse_error&) {
    reader.refuse(0, full_key(d), fmt::format("\"{}\"", value), expected_value(d));
  }
  if (document.size() != 1 || !document.contains("v")) {
    reader.refuse(0, full_key(d), fmt::format("\"{}\"", value), expected_value(d));
  }
  try {
    reader.set(d, *document.get("v"), params);
  } catch (const ConfigError& error) {  // the line is one of our own making
    reader.refuse(0, error.key(), error.found(), error.expected());
  }
}

}  // namespace

ConfigError::ConfigError(std::string file, std::uint32_t line, std::string key, std::string found, std::string expected)
    : std::runtime_error(fmt::format("{}{}: {}{}found {}, expected {}", file, line != 0 ? fmt::format(":{}", line) : "",
                                     key, key.empty() ? "" : ": ", found, expected)),
      file_(std::move(file)),
      line_(line),
      key_(std::move(key)),
      found_(std::move(found)),
      expected_(std::move(expected)) {}

Params load_config(std::string_view name_or_file, std::span<const std::string> overrides) {
  Params params;
  read_config(name_or_file, "", Reader("--config", 0), 0, "", 0, params);
  for (const std::string& text : overrides) apply_override(text, params);
  return params;
}

void check_params(const Params& params) {
  for (const ParamDescriptor& d : param_descriptors()) {
    const std::uint64_t value = d.get(params);
    if (value >= d.least && value <= d.greatest && (!d.power_of_two || std::has_single_bit(value))) continue;
    throw std::invalid_argument(fmt::format("{}: found {}; expected {}", full_key(d), value, expected_value(d)));
  }
}

Params parse_config(std::string_view text, const std::string& file, std::span<const std::string> overrides) {
  Params params;
  Reader(file, 0).read(text, params);
  for (const std::string& o : overrides) apply_override(o, params);
  return params;
}

}  // namespace rxnic
