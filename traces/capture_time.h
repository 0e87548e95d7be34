// SPDX-License-Identifier: Apache-2.0
// A time on the clock of a capture: since 1970-01-01, UTC.
#pragma once

#include <cstdint>

namespace rxnic {

struct CaptureTime {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};

}  // namespace rxnic
