// SPDX-License-Identifier: Apache-2.0
// What --events is to keep.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rxnic {

inline constexpr const char* kEventsFile = "events.rxev";  // in the folder of a run

struct EventRange {
  std::uint64_t from = 0, to = std::numeric_limits<std::uint64_t>::max();  // both are in it
  bool has(std::uint64_t n) const { return from <= n && n <= to; }
};

struct EventRequest {
  std::string path;         // "": none
  std::uint64_t limit = 0;  // bytes of the file, 0: any
  EventRange time_ps;
  std::vector<EventRange> packets;  // empty: all
  std::vector<std::uint32_t> qps;   // empty: all
  bool wanted() const { return !path.empty(); }
};

}  // namespace rxnic
