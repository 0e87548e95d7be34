// SPDX-License-Identifier: Apache-2.0
#include "model/engine/overflow.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace rxnic {

void link_overflows(const char* name, std::uint32_t capacity, Cycle now) {
  std::fprintf(stderr, "rxnic: link %s overflows in cycle %" PRIu64 ": all of its %" PRIu32 " entries are in use\n",
               name, now.count, capacity);
  std::abort();
}

void delay_line_overflows(std::uint32_t capacity, const char* file, int line) {
  std::fprintf(stderr, "rxnic: a delay line overflows: all of its %" PRIu32 " entries are in use; pushed at %s:%d\n",
               capacity, file, line);
  std::abort();
}

}  // namespace rxnic
