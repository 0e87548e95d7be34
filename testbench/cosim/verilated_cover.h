// SPDX-License-Identifier: Apache-2.0
// The cover properties of a verilated module and how often each was hit.
#pragma once

#include <cstdint>

#include <verilated.h>

namespace rxnic {

void for_each_cover_point(VerilatedContext& of, void (*found)(void* context, const char* name, std::uint64_t hits),
                          void* context);

}  // namespace rxnic
