// SPDX-License-Identifier: Apache-2.0
// The cover properties of a verilated module and how often each was hit; and its lines, when it was built to count them
// (scripts/build_rtl --coverage). Toggles: verilated_toggles.h.
#pragma once

#include <cstdint>

#include <verilated.h>

namespace rxnic {

void for_each_cover_point(VerilatedContext& of, void (*found)(void* context, const char* name, std::uint64_t hits),
                          void* context);
// Writes all that was counted to a file of its own in the folder that the variable RXNIC_RTL_COVERAGE names, in
// Verilator's format; nothing without it.
void write_coverage(VerilatedContext& of);

}  // namespace rxnic
