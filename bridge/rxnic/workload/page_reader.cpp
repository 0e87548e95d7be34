// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "bridge/rxnic/workload/page_checks.h"
#include "bridge/rxnic/workload/page_keys.h"
#include "model/params/quantity.h"
#include "model/params/suggestion.h"
#include "model/params/text_file.h"
#include "model/params/toml_limits.h"

namespace rxnic {

namespace {

constexpr std::size_t kMostPageBytes = std::size_t{1} << 20;
constexpr std::string_view kPagePrefix = "workload.";  // (R5)
constexpr std::size_t kMostSenders = 256;              // tables

std::uint32_t line_of_node(const toml::node& node) { return node.source().begin.line; }

std::string printed_node(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (const auto* text = node.as_string()) return fmt::format("\"{}\"", text->get());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

std::vector<std::string_view> text_names(std::span<const NamedText> texts) {
  std::vector<std::string_view> names;
  for (const NamedText& t : texts) names.push_back(t.name);
  return names;
}

const NamedText* text_named(std::span<const NamedText> texts, std::string_view name) {
  const auto at = std::ranges::find_if(texts, [&](const NamedText& t) { return t.name == name; });
  return at == texts.end() ? nullptr : &*at;
}

class PageReader {
 public:
  PageReader(std::string file, std::string folder) : file_(std::move(file)), folder_(std::move(folder)) {}

  WorkloadPage read(std::string_view text, std::span<const std::string> overrides);

 private:
  [[noreturn]] void refuse(std::uint32_t line, std::string key, std::string found, std::string expected) const {
    throw ConfigError(file_, line, std::move(key), std::move(found), std::move(expected));
  }
  void table(std::string_view name, const toml::table& node, std::size_t group);
  void senders(const toml::node& node);
  const WorkloadKey& find(std::string_view table, std::string_view key, std::uint32_t line) const;
  KeyValue value(const WorkloadKey& key, const toml::node& node) const;
  std::optional<std::uint64_t> integer(const WorkloadKey& key, const toml::node& node) const;
  void override_key(std::string_view text);
  void check_needs() const;
  void read_mpi();
  void read_sizes();
  std::uint32_t line_of(std::string_view table, std::string_view key, std::size_t group) const;

  using Place = std::pair<std::string, std::size_t>;  // a full key, or a table, and its group
  std::string file_, folder_;
  std::map<Place, std::uint32_t> lines_;
  std::vector<std::pair<const WorkloadKey*, std::size_t>> set_;
  WorkloadPage page_;
};

// The line of the key, else of its table, else of the table that this one is in.
std::uint32_t PageReader::line_of(std::string_view table, std::string_view key, std::size_t group) const {
  const std::string full = table.empty() ? std::string(key) : fmt::format("{}.{}", table, key);
  for (const std::string& name : {full, std::string(table), std::string(table.substr(0, table.find('.')))}) {
    if (const auto at = lines_.find({name, group}); at != lines_.end()) return at->second;
  }
  return 1;
}

const WorkloadKey& PageReader::find(std::string_view table, std::string_view key, std::uint32_t line) const {
  std::vector<std::string_view> names;
  for (const WorkloadKey* k : workload_keys()) {
    if (k->table != table) continue;
    if (k->key == key) return *k;
    names.push_back(k->key);
  }
  std::string hint = suggest(key, names);
  for (const WorkloadKey* k : workload_keys()) {
    if (hint.empty() && k->key == key) {
      hint = k->table.empty() ? fmt::format("; '{}' stands before the first table", key)
                              : fmt::format("; '{}' stands in [{}]", key, k->table);
    }
  }
  refuse(line, table.empty() ? std::string(key) : fmt::format("{}.{}", table, key), "unknown key",
         fmt::format("one of {}{}", fmt::join(names, ", "), hint));
}

// R3. Nothing: it is no integer in the key's unit.
std::optional<std::uint64_t> PageReader::integer(const WorkloadKey& key, const toml::node& node) const {
  if (node.is_string()) return quantity(*node.value<std::string>(), key.unit);
  if (!node.is_integer() || *node.value<std::int64_t>() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*node.value<std::int64_t>());
}

KeyValue PageReader::value(const WorkloadKey& key, const toml::node& node) const {
  std::string hint;
  switch (key.type) {
    case KeyType::kChoice:
      if (const auto word = node.value<std::string>()) {
        const auto at = std::ranges::find(key.choices, *word);
        if (at != key.choices.end()) return static_cast<std::uint64_t>(at - key.choices.begin());
        hint = suggest(*word, key.choices);
      }
      break;
    case KeyType::kText:
      if (node.is_string()) return *node.value<std::string>();
      break;
    case KeyType::kPackets:
      if (node.is_string()) {
        std::vector<FrameRange> ranges;
        if (parse_packets(*node.value<std::string>(), ranges)) return *node.value<std::string>();
      }
      break;
    case KeyType::kNumber:
      if (node.is_number()) {
        const double number = *node.value<double>();
        if (number >= key.least && number <= key.greatest) return number;
      }
      break;
    case KeyType::kInteger:
      if (const auto number = integer(key, node)) {
        const auto real = static_cast<double>(*number);
        if (real >= key.least && real <= key.greatest && (!key.power_of_two || std::has_single_bit(*number))) {
          return *number;
        }
      }
      break;
  }
  refuse(line_of_node(node), full_key(key), printed_node(node), expected_value(key) + hint);
}

void PageReader::table(std::string_view name, const toml::table& node, std::size_t group) {
  lines_[{std::string(name), group}] = line_of_node(node);
  if (name == "senders.mix") page_.senders[group].mix = {.send = 0};  // what it does not name has no weight
  for (const auto& [key, inside] : node) {
    const std::string inner = name.empty() ? std::string(key.str()) : fmt::format("{}.{}", name, key.str());
    const auto tables = workload_tables();
    const bool is_table = std::ranges::any_of(tables, [&](const WorkloadTable& t) { return t.name == inner; });
    if (!is_table) {
      const WorkloadKey& k = find(name, key.str(), line_of_node(inside));
      k.set(page_, group, value(k, inside));
      lines_[{full_key(k), group}] = line_of_node(inside);
      set_.emplace_back(&k, group);
    } else if (inner == "senders") {
      senders(inside);
    } else if (inside.is_table()) {
      table(inner, *inside.as_table(), group);
    } else {
      refuse(line_of_node(inside), inner, printed_node(inside), fmt::format("a table [{}]", inner));
    }
  }
}

void PageReader::senders(const toml::node& node) {
  if (node.is_table()) {
    page_.senders.emplace_back();
    return table("senders", *node.as_table(), 0);
  }
  const toml::array* all = node.as_array();
  if (all == nullptr || all->empty() || all->size() > kMostSenders) {
    refuse(line_of_node(node), "senders", all == nullptr ? printed_node(node) : fmt::format("{} of them", all->size()),
           fmt::format("1 to {} tables [[senders]]", kMostSenders));
  }
  for (const toml::node& one : *all) {
    if (!one.is_table()) refuse(line_of_node(one), "senders", printed_node(one), "a table [[senders]]");
    page_.senders.emplace_back();
    table("senders", *one.as_table(), page_.senders.size() - 1);
  }
}

// A value that is no TOML by itself is a text.
toml::table value_table(std::string_view text) {
  try {
    return toml::parse(fmt::format("v = {}", text));
  } catch (const toml::parse_error&) {
    return toml::table{{"v", std::string(text)}};
  }
}

void PageReader::override_key(std::string_view text) {  // (R5)
  const PageReader said("--set", folder_);
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(kPagePrefix.size(), equals - kPagePrefix.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view of = dot == name.npos ? "" : name.substr(0, dot);
  std::vector<std::string_view> tables;
  for (const WorkloadTable& t : workload_tables()) tables.push_back(t.name);
  if (std::ranges::find(tables, of) == tables.end()) {
    said.refuse(0, std::string(name), fmt::format("unknown table '{}'", of),
                fmt::format("one of {}{}", fmt::join(std::span(tables).subspan(1), ", "), suggest(of, tables)));
  }
  const WorkloadKey& key = said.find(of, dot == name.npos ? name : name.substr(dot + 1), 0);
  if (equals == text.size()) said.refuse(0, full_key(key), "no value", expected_value(key));
  if (is_of_senders(of) && page_.senders.empty()) {
    said.refuse(0, full_key(key), "a page without [[senders]]", "a table that the page has");
  }
  const toml::table table = value_table(text.substr(equals + 1));
  const KeyValue value = said.value(key, *table.get("v"));
  for (std::size_t group = 0; group < (is_of_senders(of) ? page_.senders.size() : 1); ++group) {
    key.set(page_, group, value);
    set_.emplace_back(&key, group);
  }
}

void PageReader::check_needs() const {
  for (const auto& [key, group] : set_) {
    const std::string lacking = unmet_need(*key, page_, group);
    if (lacking.empty()) continue;
    refuse(line_of(key->table, key->key, group), full_key(*key), "a key that does not act here",
           fmt::format("{} beside it", lacking));
  }
}

void PageReader::read_sizes() {
  for (std::size_t i = 0; i < page_.senders.size(); ++i) {
    SendersPage& s = page_.senders[i];
    if (s.size != SizeKind::kCdf) continue;
    if (const NamedText* along = text_named(named_sizes(), s.cdf)) {
      s.cdf_points = parse_sizes(along->text, std::string(along->file));
      continue;
    }
    const std::filesystem::path path = std::filesystem::path(folder_) / s.cdf;
    std::string text;
    try {
      if (s.cdf.find('\0') != std::string::npos) throw std::runtime_error("a NUL in its name");
      text = read_text_file(path, kMostPageBytes);
    } catch (const std::runtime_error& e) {
      const auto names = text_names(named_sizes());
      refuse(line_of("senders", "cdf", i), "senders.cdf", fmt::format("\"{}\": {}", s.cdf, e.what()),
             fmt::format("a file that can be read, or one of {}{}", fmt::join(names, ", "), suggest(s.cdf, names)));
    }
    s.cdf_points = parse_sizes(text, path.string());
  }
}

// [mpi] makes the senders.
void PageReader::read_mpi() {
  const bool table = lines_.find({"mpi", 0}) != lines_.end();
  if (!table && std::ranges::none_of(set_, [](const auto& one) { return one.first->table == "mpi"; })) return;
  if (!page_.mpi.any()) {
    refuse(line_of("mpi", "", 0), "mpi.trace", "no trace", "a folder or a file of an MPI trace");
  }
  const std::uint32_t line = line_of("mpi", "trace", 0);
  if (!page_.senders.empty()) refuse(line_of("senders", "", 0), "senders", "senders beside [mpi]", "one of the two");
  if (!std::has_single_bit(page_.mpi.mtu)) {
    refuse(line_of("mpi", "mtu", 0), "mpi.mtu", std::to_string(page_.mpi.mtu), "a power of two");
  }
  try {
    if (page_.mpi.trace.find('\0') != std::string::npos) throw TraceError("trace", 0, "a NUL", "a name");
    add_mpi_senders(page_, folder_);
  } catch (const TraceError& e) {
    if (e.found().starts_with("rank ")) refuse(line_of("mpi", "rank", 0), "mpi.rank", e.found(), e.expected());
    refuse(line, "mpi.trace", e.what(), "a trace that can be read");
  }
}

WorkloadPage PageReader::read(std::string_view text, std::span<const std::string> overrides) {
  if (const std::uint32_t line = line_of_long_key(text); line != 0) {
    refuse(line, "", fmt::format("a key of more than {} parts", kMaxKeyParts), "table.key");
  }
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    refuse(error.source().begin.line, "", std::string(error.description()), "a TOML file");
  }
  for (const auto& [name, node] : document) {
    if (!node.is_table() && !node.is_array_of_tables()) continue;
    std::vector<std::string_view> names;
    for (const WorkloadTable& t : workload_tables()) {
      if (!t.name.empty() && t.name.find('.') == t.name.npos) names.push_back(t.name);
    }
    if (std::ranges::find(names, name.str()) != names.end()) continue;
    refuse(line_of_node(node), std::string(name.str()), "unknown table",
           fmt::format("one of {}{}", fmt::join(names, ", "), suggest(name.str(), names)));
  }
  table("", document, 0);
  for (const std::string& one : overrides) override_key(one);
  read_mpi();
  if (page_.senders.empty()) refuse(1, "senders", "no senders", "a table [[senders]] at least, or [mpi]");
  check_needs();
  read_sizes();
  if (const auto fault = page_fault(page_)) {
    const std::string key = fault->key.empty() ? fault->table : fmt::format("{}.{}", fault->table, fault->key);
    refuse(line_of(fault->table, fault->key, fault->group), key, fault->found, fault->expected);
  }
  return std::move(page_);
}

}  // namespace

bool is_workload(std::string_view name_or_file) {
  if (name_or_file.ends_with(".toml")) return true;
  std::error_code ignored;
  if (std::filesystem::exists(name_or_file, ignored)) return false;
  const bool is_name = name_or_file.find_first_of("./") == name_or_file.npos;
  return is_name && (text_named(named_workloads(), name_or_file) != nullptr ||
                     !suggest(name_or_file, text_names(named_workloads())).empty());
}

WorkloadPage load_workload(const std::string& name_or_file, std::span<const std::string> overrides) {
  if (const NamedText* along = text_named(named_workloads(), name_or_file)) {
    return parse_workload(along->text, std::string(along->file), "", overrides);
  }
  const std::filesystem::path path(name_or_file);
  std::string text;
  try {
    text = read_text_file(path, kMostPageBytes);
  } catch (const std::runtime_error& e) {
    const auto names = text_names(named_workloads());
    throw ConfigError(
        "workload", 0, "", fmt::format("'{}': {}", name_or_file, e.what()),
        fmt::format("a page that can be read, or one of {}{}", fmt::join(names, ", "), suggest(name_or_file, names)));
  }
  return parse_workload(text, name_or_file, path.parent_path().string(), overrides);
}

WorkloadPage parse_workload(std::string_view text, const std::string& file, const std::string& folder,
                            std::span<const std::string> overrides) {
  return PageReader(file, folder).read(text, overrides);
}

bool is_page_override(std::string_view text) { return text.starts_with(kPagePrefix); }

std::vector<CdfPoint> parse_sizes(std::string_view text, const std::string& file) {
  std::vector<CdfPoint> points;
  std::istringstream in{std::string(text)};
  std::uint32_t number = 0;
  const auto refuse = [&](const std::string& found, std::string expected) {
    throw ConfigError(file, number, "", fmt::format("'{}'", found), std::move(expected));
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    CdfPoint p;
    std::string more;
    if (!(words >> p.bytes >> p.share) || words >> more || !(p.bytes >= 0 && p.bytes <= 1073741824.0) ||
        !(p.share >= 0 && p.share <= 1)) {
      refuse(line, "bytes from 0 to 2^30 and a share from 0 to 1");
    }
    if (!points.empty() && (p.bytes < points.back().bytes || p.share < points.back().share)) {
      refuse(line, "no less than the point before");
    }
    points.push_back(p);
  }
  if (points.empty() || points.back().share != 1) {
    refuse(points.empty() ? "no point" : fmt::format("{}", points.back().share), "a last point with share 1");
  }
  return points;
}

}  // namespace rxnic
