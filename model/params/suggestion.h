// SPDX-License-Identifier: Apache-2.0
// What a misspelt name was perhaps meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rxnic {

std::vector<std::string_view> section_names();

// "; did you mean 'x'?" when one of `names` is near enough to be what was meant, else nothing.
std::string suggest(std::string_view word, std::span<const std::string_view> names);

// For the key of a parameter without its section, or with a wrong section: "; did you mean 'section.key'?". The
// sections are all that have the key; when there is none, the nearest key is named, or nothing.
std::string suggest_section_of(std::string_view key);

}  // namespace rxnic
