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

void set(HostOptions& o, std::string_view key, std::string_view value) {
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
  } else if (key == "tags") {
    o.tags = number(key, value, 1, 1u << 20);
  } else if (key == "mask") {
    o.tag_mask = hexadecimal(key, value);
  } else {
    throw OptionError(std::string(key), "an unknown key",
                      "receive, depth, buffer, sges, layout, refill, cqes, page, wqe_order, cq_compression, tags or "
                      "mask");
  }
}

}  // namespace

HostOptions parse_host_options(std::string_view text) {
  HostOptions options;
  std::vector<std::string_view> seen;
  std::string_view mask;
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
    if (key == "mask") mask = item.substr(equals + 1);
    if (item.size() == text.size()) break;
    text.remove_prefix(item.size() + 1);
    if (text.empty()) throw OptionError("list", "a comma at its end", "key=value");
  }
  if (options.tags != 0 && options.receive != ReceiveKind::kTagMatchingSrq) {
    throw OptionError("tags", std::to_string(options.tags), "receive=tm_srq with it");
  }
  if (!mask.empty() && options.tags == 0) throw OptionError("mask", std::string(mask), "tags=N with it");
  return options;
}

}  // namespace rxnic
