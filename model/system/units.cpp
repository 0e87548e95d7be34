// SPDX-License-Identifier: Apache-2.0
#include "model/system/units.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>

namespace rxnic {

std::string with_prefix(double value) {
  static constexpr const char* kPrefix[] = {"", "k", "M", "G", "T"};
  std::size_t p = 0;
  while (value >= 1000 && p + 1 < std::size(kPrefix)) {
    value /= 1000;
    ++p;
  }
  if (p == 0 && value == std::floor(value)) return fmt::format("{} ", value);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kPrefix[p]);
}

std::string time_text(std::uint64_t ps) {
  const auto t = static_cast<double>(ps);
  if (t < 1e6) return fmt::format("{:.1f} ns", t / 1e3);
  if (t < 1e9) return fmt::format("{:.2f} us", t / 1e6);
  if (t < 1e12) return fmt::format("{:.2f} ms", t / 1e9);
  return fmt::format("{:.3f} s", t / 1e12);
}

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), " ");
  return digits;
}

std::string clause(std::string_view sentence) {
  std::string words(sentence);
  if (words.ends_with('.')) words.pop_back();
  const auto capital = [&](std::size_t n) { return n < words.size() && words[n] >= 'A' && words[n] <= 'Z'; };
  if (capital(0) && !capital(1)) words[0] = static_cast<char>(words[0] - 'A' + 'a');  // RC, MPT: names
  return words;
}

}  // namespace rxnic
