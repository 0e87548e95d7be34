// SPDX-License-Identifier: Apache-2.0
#include "traces/host_options.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

namespace rxnic {
namespace {

std::uint32_t number(std::string_view key, std::string_view text, std::uint32_t lowest, std::uint32_t highest) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < lowest || value > highest) {
    throw OptionError(std::string(key), std::string(text),
                      "a number, " + std::to_string(lowest) + ".." + std::to_string(highest));
  }
  return value;
}

void set(HostOptions& o, std::string_view key, std::string_view value) {
  const auto refuse = [&](const char* expected) { throw OptionError(std::string(key), std::string(value), expected); };
  if (key == "receive") {
    if (value == "rq") {
      o.receive = ReceiveKind::kRq;
    } else if (value == "srq") {
      o.receive = ReceiveKind::kSrq;
    } else if (value == "tm_srq") {
      o.receive = ReceiveKind::kTagMatchingSrq;
    } else {
      refuse("rq, srq or tm_srq");
    }
  } else if (key == "depth") {
    o.depth = number(key, value, 1, 32767);
  } else if (key == "buffer") {
    o.buffer = number(key, value, 1, 1u << 30);
  } else if (key == "sges") {
    o.sges = number(key, value, 1, kMaxSge);
  } else if (key == "layout") {
    if (value == "linked_list") {
      o.srq_layout = WqLayout::kLinkedList;
    } else if (value == "cyclic") {
      o.srq_layout = WqLayout::kCyclic;
    } else {
      refuse("linked_list or cyclic");
    }
  } else if (key == "refill") {
    if (value == "on_completion") {
      o.refill_batch = 1;
    } else if (value.starts_with("batch:")) {
      o.refill_batch = number(key, value.substr(6), 1, 32767);
    } else {
      refuse("on_completion or batch:N");
    }
  } else if (key == "cqes") {
    o.cq_slots = number(key, value, 16, 1u << 22);
    if (!std::has_single_bit(o.cq_slots)) refuse("a power of two");
  } else {
    throw OptionError(std::string(key), "an unknown key", "receive, depth, buffer, sges, layout, refill or cqes");
  }
}

}  // namespace

HostOptions parse_host_options(std::string_view text) {
  HostOptions options;
  std::vector<std::string_view> seen;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) throw OptionError(std::string(item), "no '='", "key=value");
    const std::string_view key = item.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw OptionError(std::string(key), "a second time", "once");
    }
    seen.push_back(key);
    set(options, key, item.substr(equals + 1));
    if (item.size() == text.size()) break;
    text.remove_prefix(item.size() + 1);
    if (text.empty()) throw OptionError("list", "a comma at its end", "key=value");
  }
  return options;
}

}  // namespace rxnic
