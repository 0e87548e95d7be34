// SPDX-License-Identifier: Apache-2.0
#include "model/params/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rxnic {

namespace {

struct Suffix {
  std::string_view unit, text;
  double factor;
};
constexpr double kKibi = 1024;
constexpr Suffix kSuffixes[] = {{"b/s", "M", 1e6},
                                {"b/s", "Mb/s", 1e6},
                                {"b/s", "G", 1e9},
                                {"b/s", "Gb/s", 1e9},
                                {"b/s", "T", 1e12},
                                {"ps", "ps", 1},
                                {"ps", "ns", 1e3},
                                {"ps", "us", 1e6},
                                {"ps", "ms", 1e9},
                                {"ps", "s", 1e12},
                                {"Mb/s", "M", 1},
                                {"Mb/s", "Mb/s", 1},
                                {"Mb/s", "G", 1e3},
                                {"Mb/s", "Gb/s", 1e3},
                                {"Mb/s", "T", 1e6},
                                {"Mb/s", "Tb/s", 1e6},
                                {"Gb/s", "G", 1},
                                {"Gb/s", "Gb/s", 1},
                                {"Gb/s", "T", 1e3},
                                {"Gb/s", "Tb/s", 1e3},
                                {"bytes", "B", 1},
                                {"bytes", "K", kKibi},
                                {"bytes", "KiB", kKibi},
                                {"bytes", "M", kKibi* kKibi},
                                {"bytes", "MiB", kKibi* kKibi},
                                {"bytes", "G", kKibi* kKibi* kKibi},
                                {"bytes", "GiB", kKibi* kKibi* kKibi}};
constexpr double kMost = 9e18;

}  // namespace

std::optional<std::uint64_t> quantity(std::string_view text, std::string_view unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || text[0] < '0' || text[0] > '9') return std::nullopt;  // also a sign, inf, nan
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Suffix& s : kSuffixes) {
    if (s.unit != unit || s.text != rest) continue;
    const double value = number * s.factor;
    if (value > kMost || std::abs(value - std::round(value)) > 1e-6 * std::max(1.0, value * 1e-9)) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(value));
  }
  return std::nullopt;
}

}  // namespace rxnic
