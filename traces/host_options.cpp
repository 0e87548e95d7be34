// SPDX-License-Identifier: Apache-2.0
#include "traces/host_options.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
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

std::uint64_t hexadecimal(std::string_view key, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || stop != digits.data() + digits.size()) {
    throw OptionError(std::string(key), std::string(text), "1 to 16 hexadecimal digits");
  }
  return value;
}

template <class T>
struct Choice {
  std::string_view word;
  T value;
};
// The value of the word. A refusal lists the words.
template <class T, std::size_t N>
T one_of(std::string_view key, std::string_view text, const Choice<T> (&choices)[N]) {
  std::string words;
  for (std::size_t i = 0; i < N; ++i) {
    if (choices[i].word == text) return choices[i].value;
    words += i == 0 ? "" : i + 1 == N ? " or " : ", ";
    words += choices[i].word;
  }
  throw OptionError(std::string(key), std::string(text), words);
}

constexpr Choice<ReceiveKind> kReceiveKinds[] = {
    {"rq", ReceiveKind::kRq}, {"srq", ReceiveKind::kSrq}, {"tm_srq", ReceiveKind::kTagMatchingSrq}};
constexpr Choice<WqLayout> kLayouts[] = {{"linked_list", WqLayout::kLinkedList}, {"cyclic", WqLayout::kCyclic}};
constexpr Choice<unsigned> kPages[] = {{"4K", 12}, {"2M", 21}, {"1G", 30}};
constexpr Choice<WqeOrder> kWqeOrders[] = {
    {"sequential", WqeOrder::kSequential}, {"shuffled", WqeOrder::kShuffled}, {"completion", WqeOrder::kCompletion}};
constexpr Choice<CqCompression> kCqCompressions[] = {{"on", CqCompression::kOn}, {"off", CqCompression::kOff}};
constexpr Choice<bool> kCompletionChoices[] = {{"polled", false}, {"events", true}};
constexpr Choice<ServiceTime> kServiceTimes[] = {{"fixed", ServiceTime::kFixed},
                                                 {"exponential", ServiceTime::kExponential}};
constexpr Choice<TagOrder> kTagOrders[] = {
    {"in_order", TagOrder::kInOrder}, {"reversed", TagOrder::kReversed}, {"shuffled", TagOrder::kShuffled}};

constexpr std::uint32_t kWholeMillion = 1'000'000;
constexpr std::uint32_t kMostSharing = 65536;  // QPs of one queue
constexpr std::uint32_t kMostTags = 1u << 20;

std::vector<std::uint32_t> lengths(std::string_view key, std::string_view text) {
  std::vector<std::uint32_t> all;
  while (true) {
    const std::size_t plus = text.find('+');
    all.push_back(number(key, text.substr(0, plus), 1, 1u << 30));
    if (plus == std::string_view::npos) break;
    text.remove_prefix(plus + 1);
  }
  const std::uint64_t sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  if (all.size() > kMaxSge || sum > 1u << 30) {
    throw OptionError(std::string(key), std::to_string(all.size()) + " SGEs of " + std::to_string(sum) + " bytes",
                      "1.." + std::to_string(kMaxSge) + " SGEs of up to 2^30 bytes in all");
  }
  return all;
}

// How the program behaves. False: it is no such key.
bool set_program(HostOptions& o, std::string_view key, std::string_view value) {
  if (key == "completions") {
    o.completions.events = one_of(key, value, kCompletionChoices);
  } else if (key == "moderation_count") {
    o.completions.moderation_count = static_cast<std::uint16_t>(number(key, value, 0, 65535));
  } else if (key == "moderation_period") {
    o.completions.moderation_period_us = static_cast<std::uint16_t>(number(key, value, 0, 65535));
  } else if (key == "service") {
    o.application.service_ps = std::uint64_t{number(key, value, 0, 1'000'000'000)} * 1000;
  } else if (key == "service_time") {
    o.application.distribution = one_of(key, value, kServiceTimes);
  } else if (key == "workers") {
    o.application.workers = number(key, value, 1, 65536);
  } else {
    return false;
  }
  return true;
}

bool set_tags(HostOptions& o, std::string_view key, std::string_view value) {
  struct Share {
    std::string_view key;
    std::uint32_t TagPolicy::*at;
  };
  constexpr Share kShares[] = {{"unexpected_ppm", &TagPolicy::unexpected_ppm},
                               {"any_source_ppm", &TagPolicy::any_source_ppm},
                               {"any_tag_ppm", &TagPolicy::any_tag_ppm},
                               {"delete_ppm", &TagPolicy::delete_ppm},
                               {"failing_ppm", &TagPolicy::failing_ppm}};
  for (const Share& share : kShares) {
    if (key != share.key) continue;
    o.tag_policy.*share.at = number(key, value, 0, kWholeMillion);
    return true;
  }
  if (key == "tags") {
    o.tags = number(key, value, 1, kMostTags);
  } else if (key == "mask") {
    o.tag_mask = hexadecimal(key, value);
  } else if (key == "tag_order") {
    o.tag_policy.order = one_of(key, value, kTagOrders);
  } else if (key == "tag_window") {
    o.tag_policy.window = number(key, value, 1, kMostTags);
  } else if (key == "unexpected_lag") {
    o.tag_policy.unexpected_lag = number(key, value, 0, kMostTags);
  } else if (key == "sync_lag") {
    o.tag_policy.sync_lag = number(key, value, 0, 32767);
  } else {
    return false;
  }
  return true;
}

// What a key needs, when that is missing.
const char* lacking(const HostOptions& o, std::string_view key) {
  constexpr std::string_view kOfTags[] = {"mask",           "tag_order",      "tag_window",  "unexpected_ppm",
                                          "unexpected_lag", "any_source_ppm", "any_tag_ppm", "delete_ppm",
                                          "sync_lag",       "failing_ppm"};
  if (std::find(std::begin(kOfTags), std::end(kOfTags), key) != std::end(kOfTags)) {
    if (o.tags == 0) return "tags=N with it";
    if (key == "unexpected_lag" && o.tag_policy.unexpected_ppm == 0) return "unexpected_ppm with it";
    if (key == "tag_window" && o.tag_policy.order == TagOrder::kInOrder)
      return "tag_order=reversed or shuffled with it";
    if (key == "tag_order" && o.tag_policy.order != TagOrder::kInOrder && o.tag_policy.window == 1) {
      return "tag_window with it";
    }
  }
  if (key == "tags" && o.receive != ReceiveKind::kTagMatchingSrq) return "receive=tm_srq with it";
  if (key == "tags" && o.qps_per_srq != 0) return "one SRQ, without qps_per_srq";
  if (key == "qps_per_srq" && o.receive == ReceiveKind::kRq) return "receive=srq or tm_srq with it";
  if ((key == "moderation_count" || key == "moderation_period") && !o.completions.events) {
    return "completions=events with it";
  }
  if ((key == "service_time" || key == "workers") && o.application.service_ps == 0) return "service with it";
  if ((key == "sges" || key == "buffer") && !o.sge_bytes.empty()) return "it or sge_bytes";
  return nullptr;
}

}  // namespace

void set_host_option(HostOptions& o, std::string_view key, std::string_view value) {
  const auto refuse = [&](const char* expected) { throw OptionError(std::string(key), std::string(value), expected); };
  if (key == "receive") {
    o.receive = one_of(key, value, kReceiveKinds);
  } else if (key == "depth") {
    o.depth = number(key, value, 1, 32767);
  } else if (key == "buffer") {
    o.buffer = number(key, value, 1, 1u << 30);
  } else if (key == "sges") {
    o.sges = number(key, value, 1, kMaxSge);
  } else if (key == "layout") {
    o.srq_layout = one_of(key, value, kLayouts);
    o.layout_chosen = true;
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
  } else if (key == "page") {
    o.page_shift = one_of(key, value, kPages);
  } else if (key == "wqe_order") {
    o.wqe_order = one_of(key, value, kWqeOrders);
  } else if (key == "cq_compression") {
    o.cq_compression = one_of(key, value, kCqCompressions);
  } else if (key == "sge_bytes") {
    o.sge_bytes = lengths(key, value);
    o.sges = static_cast<std::uint32_t>(o.sge_bytes.size());
    o.buffer = std::accumulate(o.sge_bytes.begin(), o.sge_bytes.end(), std::uint32_t{0});
  } else if (key == "qps_per_srq") {
    o.qps_per_srq = number(key, value, 1, kMostSharing);
  } else if (key == "qps_per_cq") {
    o.qps_per_cq = number(key, value, 1, kMostSharing);
  } else if (!set_program(o, key, value) && !set_tags(o, key, value)) {
    throw OptionError(std::string(key), "an unknown key",
                      "receive, qps_per_srq, qps_per_cq, depth, buffer, sges, sge_bytes, layout, refill, cqes, page, "
                      "wqe_order, cq_compression, completions, moderation_count, moderation_period, service, "
                      "service_time, workers, tags, mask, tag_order, tag_window, unexpected_ppm, unexpected_lag, "
                      "any_source_ppm, any_tag_ppm, delete_ppm, sync_lag or failing_ppm");
  }
}

void check_host_options(const HostOptions& options,
                        const std::vector<std::pair<std::string_view, std::string_view>>& set) {
  for (const auto& [key, value] : set) {
    if (const char* const expected = lacking(options, key)) {
      throw OptionError(std::string(key), std::string(value), expected);
    }
  }
}

HostOptions parse_host_options(std::string_view text) {
  HostOptions options;
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) throw OptionError(std::string(item), "no '='", "key=value");
    const std::string_view key = item.substr(0, equals);
    if (std::any_of(seen.begin(), seen.end(), [key](const auto& other) { return other.first == key; })) {
      throw OptionError(std::string(key), "a second time", "once");
    }
    seen.emplace_back(key, item.substr(equals + 1));
    set_host_option(options, key, item.substr(equals + 1));
    if (item.size() == text.size()) break;
    text.remove_prefix(item.size() + 1);
    if (text.empty()) throw OptionError("list", "a comma at its end", "key=value");
  }
  check_host_options(options, seen);
  return options;
}

}  // namespace rxnic
