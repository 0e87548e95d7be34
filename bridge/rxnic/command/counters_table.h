// SPDX-License-Identifier: Apache-2.0
// What `rxnic counters` prints: every counter of the model with its unit, its meaning and its place in report.json.
#pragma once

#include <string>
#include <string_view>

namespace rxnic {

// `section`: only this one of counters.toml; empty: all. Throws std::invalid_argument when there is none of that name.
std::string counters_text(std::string_view section = "");
std::string counters_json(std::string_view section = "");

}  // namespace rxnic
