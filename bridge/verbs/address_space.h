// SPDX-License-Identifier: Apache-2.0
// The program's own address space, as a driver asks the kernel about it.
#pragma once

#include <cstdint>

namespace rxnic::verbs {

// Every byte of the range is mapped, readable, and writable if `write`. True for an empty range, and where
// /proc/self/maps cannot be read: then the simulator finds out when it accesses the memory.
bool is_mapped(std::uint64_t begin, std::uint64_t bytes, bool write);

}  // namespace rxnic::verbs
