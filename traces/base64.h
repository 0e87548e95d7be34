// SPDX-License-Identifier: Apache-2.0
// Base64 of RFC 4648 (section 4: with padding, no line breaks): bytes in a JSON string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

// Appends the text to anything that has resize() and data(), a std::string or a buffer of fmt.
template <class Text>
void append_base64(Text& to, Bytes from) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t at = to.size();
  to.resize(at + (from.size() + 2) / 3 * 4);
  char* out = to.data() + at;
  std::size_t i = 0;
  for (; i + 3 <= from.size(); i += 3) {
    const std::uint32_t three = std::uint32_t{from[i]} << 16 | std::uint32_t{from[i + 1]} << 8 | from[i + 2];
    *out++ = kDigits[three >> 18];
    *out++ = kDigits[three >> 12 & 63];
    *out++ = kDigits[three >> 6 & 63];
    *out++ = kDigits[three & 63];
  }
  if (i == from.size()) return;
  const bool two = i + 2 == from.size();
  const std::uint32_t rest = std::uint32_t{from[i]} << 16 | (two ? std::uint32_t{from[i + 1]} << 8 : 0);
  *out++ = kDigits[rest >> 18];
  *out++ = kDigits[rest >> 12 & 63];
  *out++ = two ? kDigits[rest >> 6 & 63] : '=';
  *out = '=';
}

// False when the text is no base64; then `to` is undefined. Bits that padding leaves unused have to be 0.
bool parse_base64(std::string_view text, std::vector<std::uint8_t>& to);

}  // namespace rxnic
