// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/page_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace rxnic {

namespace {

constexpr WorkloadTable kWorkloadTables[] = {
    {"", "the workload as a whole, before the first table"},
    {"senders", "hosts that send, all in the same way; [[senders]] stands as often as there are kinds of them"},
    {"senders.mix",
     "weights of the kinds of message; what the table does not name has none, without the table all are SENDs"},
    {"mpi", "a rank of an MPI job in the place of senders: its receives, and the messages of the other ranks to it"},
    {"network", "the way from the senders to the NIC, and back"},
    {"receiver", "the host of the NIC"},
    {"receiver.tags", "the tags that the host posts"},
};

bool packet_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

const WorkloadKey& workload_key_of(std::string_view table, std::string_view name) {
  const auto& keys = workload_keys();
  return **std::ranges::find_if(keys, [&](const WorkloadKey* k) { return k->table == table && k->key == name; });
}

// One need, "size=uniform|cdf".
std::string unmet(std::string_view table, std::string_view need, const WorkloadPage& page, std::size_t group) {
  const std::size_t equals = need.find('=');
  const WorkloadKey& other = workload_key_of(table, need.substr(0, equals));
  const std::string has = toml_text(other, other.get(page, group));
  std::string wanted;
  for (std::string_view rest = need.substr(equals + 1);;) {
    const std::size_t bar = rest.find('|');
    const std::string_view one = rest.substr(0, bar);
    const std::string text = other.type == KeyType::kChoice ? fmt::format("\"{}\"", one) : std::string(one);
    if (text == has) return {};
    wanted += fmt::format("{}{}", wanted.empty() ? "" : " or ", text);
    if (bar == rest.npos) break;
    rest.remove_prefix(bar + 1);
  }
  return fmt::format("{} = {}", other.key, wanted);
}

}  // namespace

const std::vector<const WorkloadKey*>& workload_keys() {
  static const std::vector<const WorkloadKey*> kAll = [] {
    std::vector<const WorkloadKey*> keys;
    for (const auto part : {head_keys(), senders_keys(), mpi_keys(), network_keys(), receiver_keys()}) {
      for (const WorkloadKey& key : part) keys.push_back(&key);
    }
    return keys;
  }();
  return kAll;
}

std::span<const WorkloadTable> workload_tables() { return kWorkloadTables; }

bool is_of_senders(std::string_view table) { return table.starts_with("senders"); }

std::string full_key(const WorkloadKey& key) {
  return key.table.empty() ? std::string(key.key) : fmt::format("{}.{}", key.table, key.key);
}

std::string expected_value(const WorkloadKey& key) {
  switch (key.type) {
    case KeyType::kChoice:
      return fmt::format("\"{}\"", fmt::join(key.choices, "\" or \""));
    case KeyType::kText:
      return "a text";
    case KeyType::kPackets:
      return "numbers of packets and ranges of them, from 1, as \"17,40-42\"";
    case KeyType::kNumber:
      return fmt::format("a number from {} to {} ({})", key.least, key.greatest, key.unit);
    case KeyType::kInteger:
      break;
  }
  return fmt::format("an integer from {:.0f} to {:.0f}{} ({})", key.least, key.greatest,
                     key.power_of_two ? ", a power of two" : "", key.unit);
}

std::string toml_text(const WorkloadKey& key, const KeyValue& value) {
  if (key.type == KeyType::kChoice) return fmt::format("\"{}\"", key.choices[std::get<std::uint64_t>(value)]);
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string text = "\"";
  for (const char c : std::get<std::string>(value)) {
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string unmet_need(const WorkloadKey& key, const WorkloadPage& page, std::size_t group) {
  for (std::string_view rest = key.needs; !rest.empty();) {
    const std::size_t end = std::min(rest.find(" and "), rest.size());
    std::string lacking = unmet(key.table, rest.substr(0, end), page, group);
    if (!lacking.empty()) return lacking;
    rest.remove_prefix(std::min(end + 5, rest.size()));
  }
  return {};
}

bool parse_packets(std::string_view text, std::vector<FrameRange>& out) {
  out.clear();
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    FrameRange range;
    if (!packet_number(part.substr(0, dash), range.first) ||
        !packet_number(dash == part.npos ? part : part.substr(dash + 1), range.last) || range.first == 0 ||
        range.first > range.last) {
      return false;
    }
    out.push_back(range);
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
    if (text.empty()) return false;
  }
  return true;
}

}  // namespace rxnic
