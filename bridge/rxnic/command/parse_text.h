// SPDX-License-Identifier: Apache-2.0
// What options are given as text. Each throws std::invalid_argument that names the option, the text and what was
// expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rxnic/events/event_request.h"

namespace rxnic {

// "1.5us" in ps.
std::uint64_t parse_time(const char* option, const std::string& text);
// The whole of the text, decimal or with 0x; false: it is none.
bool parse_number(std::string_view text, std::uint64_t& number);
// "3,10-20": numbers and ranges.
std::vector<EventRange> parse_ranges(const char* option, const std::string& text);

}  // namespace rxnic
