// SPDX-License-Identifier: Apache-2.0
// Lines of a summary: labels, broken texts, headings, bars.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "bridge/rxnic/report/report.h"

namespace rxnic {

// One part of a cycle stack: how it is drawn and called.
struct Part {
  const char* glyph;
  const char* color;
  const char* name;
};

class SummaryWriter {
 public:
  explicit SummaryWriter(const SummaryStyle& style) : style_(style) {}
  // The text is broken between its words, and between its items, which stand three spaces apart.
  void line(std::string_view label, const std::string& text) {
    const std::size_t room = style_.width - kLabelColumns - 2;
    std::string_view rest = text;
    for (bool first = true; first || !rest.empty(); first = false) {
      std::string_view part = rest;
      if (rest.size() > room && columns_of(rest) > room) {
        std::size_t at = rest.rfind("   ", room);
        if (at == rest.npos || at == 0) at = rest.rfind(' ', room);
        if (at == rest.npos || at == 0) at = rest.find(' ', room);  // a word that is longer
        part = rest.substr(0, at);
      }
      rest.remove_prefix(part.size());
      while (rest.starts_with(' ')) rest.remove_prefix(1);
      out_ += fmt::format("  {}{:<{}}{}{}\n", bold(), first ? label : "", kLabelColumns, plain(), part);
    }
  }
  void heading(const std::string& text) { out_ += fmt::format("\n{}{}{}\n", bold(), text, plain()); }
  void raw(const std::string& text) { out_ += text; }
  std::string paint(const Part& part, std::size_t columns) const {
    std::string bar;
    for (std::size_t i = 0; i < columns; ++i) bar += part.glyph;
    if (!style_.color || columns == 0) return bar;
    return part.color + bar + "\033[0m";
  }
  const char* bold() const { return style_.color ? "\033[1m" : ""; }
  const char* plain() const { return style_.color ? "\033[0m" : ""; }
  std::string text() const { return out_; }

 private:
  static constexpr unsigned kLabelColumns = 12;
  // How many columns a UTF-8 text takes.
  static std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  }

  SummaryStyle style_;
  std::string out_;
};

}  // namespace rxnic
