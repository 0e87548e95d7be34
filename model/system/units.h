// SPDX-License-Identifier: Apache-2.0
// Numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rxnic {

std::string with_prefix(double value);    // 1234567 -> "1.23 M", to be followed by a unit
std::string time_text(std::uint64_t ps);  // "12.30 us"
std::string count_text(std::uint64_t n);  // "12 345 678"
// A sentence as a part of another one: "The ICRC is wrong." -> "the ICRC is wrong". A name at its beginning stays.
std::string clause(std::string_view sentence);

}  // namespace rxnic
