// SPDX-License-Identifier: Apache-2.0
// The program's own address space, as a driver asks the kernel about it.
#pragma once

#include <cstdint>

namespace rxnic::verbs {

// Every byte of the range is mapped, readable, and writable if `write`. True for an empty range, and where
// /proc/self/maps cannot be read: then the simulator finds out when it accesses the memory.
bool is_mapped(std::uint64_t begin, std::uint64_t bytes, bool write);

// Pages of 1 << page_shift() bytes: the smallest with which the kernel maps any part of the range (KernelPageSize of
// /proc/self/smaps). Pages of hugetlbfs are larger there than ordinary ones, transparent huge pages are not. The
// ordinary page size where that cannot be read. Only a range in a mapping of a file or of shared memory can have huge
// pages; for any other smaps is not read.
unsigned page_shift(std::uint64_t begin, std::uint64_t bytes);
// As page_shift(), from text in the form of smaps that is read from `descriptor` to its end.
unsigned page_shift_in(int descriptor, std::uint64_t begin, std::uint64_t bytes, unsigned ordinary);

}  // namespace rxnic::verbs
