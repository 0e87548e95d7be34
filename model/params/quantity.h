// SPDX-License-Identifier: Apache-2.0
// A parameter's value with a unit of one's own: "900ns" for one in ps, "100G" for a rate, "64K" for bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rxnic {

// In the unit of a parameter: ps, b/s, Mb/s, Gb/s or bytes (K, M and G are powers of 1024). Nothing: the text is no
// number with a unit that can be converted, or not a whole number then.
std::optional<std::uint64_t> quantity(std::string_view text, std::string_view unit);

}  // namespace rxnic
