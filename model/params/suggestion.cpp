// SPDX-License-Identifier: Apache-2.0
#include "model/params/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "model/params/descriptor.h"

namespace rxnic {

namespace {

constexpr std::size_t kLongestWord = 64;  // no name is longer; the distance takes time with the word's length

// Edits (insertions, deletions, replacements) between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Empty: none is near enough to be a misspelling.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  if (word.size() > kLongestWord) return best;
  std::size_t least = std::min(word.size(), 1 + std::max<std::size_t>(2, word.size() / 3));
  for (std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace

std::vector<std::string_view> section_names() {
  std::vector<std::string_view> names;
  for (const ParamSection& section : param_sections()) names.push_back(section.name);
  return names;
}

std::string suggest(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view best = nearest(word, names);
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

std::string suggest_section_of(std::string_view key) {
  std::vector<std::string_view> keys;
  for (const ParamDescriptor& d : param_descriptors()) keys.push_back(d.key);
  const std::string_view meant = nearest(key, keys);
  std::vector<std::string> full;
  for (const ParamDescriptor& d : param_descriptors()) {
    if (d.key == meant) full.push_back(fmt::format("{}.{}", d.section, d.key));
  }
  return full.empty() ? "" : fmt::format("; did you mean '{}'?", fmt::join(full, "' or '"));
}

}  // namespace rxnic
