// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/parse_text.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "model/params/quantity.h"

namespace rxnic {

namespace {
constexpr std::uint64_t kMostPs = 1'000'000'000'000'000'000;
}

std::uint64_t parse_time(const char* option, const std::string& text) {
  if (const auto ps = quantity(text, "ps"); ps && *ps <= kMostPs) return *ps;
  throw std::invalid_argument(fmt::format(
      "{}: found '{}'; expected a time of the model in ps, ns, us, ms or s, whole in ps, such as 1.5us", option, text));
}

bool parse_number(std::string_view text, std::uint64_t& number) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  return error == std::errc{} && end == text.data() + text.size();
}

std::vector<EventRange> parse_ranges(const char* option, const std::string& text) {
  std::vector<EventRange> ranges;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    EventRange range;
    const bool good = parse_number(part.substr(0, dash), range.from) &&
                      parse_number(dash == part.npos ? part : part.substr(dash + 1), range.to) &&
                      range.from <= range.to;
    if (!good) {
      throw std::invalid_argument(
          fmt::format("{}: found '{}'; expected numbers and ranges of them, such as 3,10-20", option, part));
    }
    ranges.push_back(range);
    if (comma == rest.npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace rxnic
