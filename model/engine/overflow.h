// SPDX-License-Identifier: Apache-2.0
// A push into a link or a delay line without room is a fault of the model, never of its input. So it ends the program
// in every build, by abort(), with the message below on stderr. No exception is thrown: the check is one branch on the
// fast path.
#pragma once

#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

// "rxnic: link nic0.headers overflows in cycle 17: all of its 4 entries are in use"
[[noreturn, gnu::cold]] void link_overflows(const char* name, std::uint32_t capacity, Cycle now);
// "rxnic: a delay line overflows: all of its 4 entries are in use; pushed at rx_parser.cpp:57"
[[noreturn, gnu::cold]] void delay_line_overflows(std::uint32_t capacity, const char* file, int line);

}  // namespace rxnic
