// SPDX-License-Identifier: Apache-2.0
#include "model/params/toml_limits.h"

#include <algorithm>
#include <string>

namespace rxnic {

namespace {

// The end of the string of TOML that begins at `at`: where its closing quotation mark is, or what follows it.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char mark = text[at];
  const bool multi_line = text.substr(at + 1, 2) == std::string(2, mark);
  if (multi_line) at += 2;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && mark == '"') {
      ++at;
    } else if (multi_line ? text.substr(at, 3) == std::string(3, mark) : text[at] == mark || text[at] == '\n') {
      return multi_line ? at + 2 : text[at] == '\n' ? at - 1 : at;
    }
  }
  return text.size();
}

}  // namespace

std::uint32_t line_of_long_key(std::string_view text) {
  std::uint32_t line = 1;
  std::size_t parts = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t from = i;
    switch (text[i]) {
      case '.':
        if (++parts > kMaxKeyParts) return line;
        break;
      case '#':
        i = std::min(text.find('\n', i), text.size()) - 1;
        break;
      case '"':
      case '\'':
        i = std::min(end_of_string(text, i), text.size() - 1);
        line += static_cast<std::uint32_t>(std::ranges::count(text.substr(from, i - from + 1), '\n'));
        break;
      case '\n':
        ++line;
        [[fallthrough]];
      case '=':
      case ',':
        parts = 1;
        break;
      default:
        break;
    }
  }
  return 0;
}

}  // namespace rxnic
