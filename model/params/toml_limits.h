// SPDX-License-Identifier: Apache-2.0
// What a TOML file may not hold, whoever wrote it. toml++ bounds how deep values are nested (TOML_MAX_NESTED_VALUES).
// Until its release 3.4 it does not bound how many parts a dotted key has, and takes stack for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rxnic {

inline constexpr std::size_t kMaxKeyParts = 8;

// The first line with a key of more than kMaxKeyParts parts, 0: there is none. To be asked before the text is parsed.
std::uint32_t line_of_long_key(std::string_view text);

}  // namespace rxnic
