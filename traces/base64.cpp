// SPDX-License-Identifier: Apache-2.0
#include "traces/base64.h"

#include <array>

namespace rxnic {

namespace {

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> values() {
  std::array<std::uint8_t, 256> table{};
  for (auto& value : table) value = kNoDigit;
  for (unsigned i = 0; i < 26; ++i) {
    table['A' + i] = static_cast<std::uint8_t>(i);
    table['a' + i] = static_cast<std::uint8_t>(26 + i);
  }
  for (unsigned i = 0; i < 10; ++i) table['0' + i] = static_cast<std::uint8_t>(52 + i);
  table['+'] = 62;
  table['/'] = 63;
  return table;
}
constexpr auto kValues = values();

}  // namespace

bool parse_base64(std::string_view text, std::vector<std::uint8_t>& to) {
  to.clear();
  if (text.size() % 4 != 0) return false;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  to.resize(text.size() / 4 * 3);
  std::uint8_t* out = to.data();
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::uint32_t three = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      const bool pad = last && d >= 4 - padding;
      const std::uint8_t value = pad ? 0 : kValues[static_cast<std::uint8_t>(text[i + d])];
      if (value == kNoDigit) return false;
      three = three << 6 | value;
    }
    if (last && padding != 0 && (three & ((1u << (8 * padding)) - 1)) != 0) return false;
    *out++ = static_cast<std::uint8_t>(three >> 16);
    *out++ = static_cast<std::uint8_t>(three >> 8);
    *out++ = static_cast<std::uint8_t>(three);
  }
  to.resize(to.size() - padding);
  return true;
}

}  // namespace rxnic
