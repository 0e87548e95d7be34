// SPDX-License-Identifier: Apache-2.0
// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace rxnic {

std::string with_prefix(double value);    // 1234567 -> "1.23 M", to be followed by a unit
std::string time_text(std::uint64_t ps);  // "12.30 us"
std::string count_text(std::uint64_t n);  // "12 345 678"

}  // namespace rxnic
