// SPDX-License-Identifier: Apache-2.0
// Counts of what the device gives to programs, and the cycles in which they rose: what a program of a what-if
// (what_if_plan.h) waits for.
//
//   R1  A source is the replies to control messages of the whole run (source kReplies). Among these are the replies to
//       an open and the release of a closed client. The other sources are of one program: the CQEs of one CQ that
//       became visible, or the program's events. Two more are bytes that the device wrote: into the program's own
//       memory, or as CQEs. The program may find bytes of CQEs before the CQEs are visible to the model.
//   R2  reached() is the first cycle in which a source's count was at least so much.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

enum class OutputKind : std::uint8_t { kReplies, kCqes, kEvents, kData, kRings };

struct OutputSource {
  OutputKind kind = OutputKind::kReplies;
  std::uint32_t program = 0;
  std::uint32_t nic = 0, cqn = 0;  // kCqes
  auto operator<=>(const OutputSource&) const = default;
};
// "CQEs of CQ 3 of NIC 1"
std::string name_of(const OutputSource& source);

class DeviceOutputs {
 public:
  static constexpr std::uint32_t kReplies = 0;
  DeviceOutputs() { number_of({}); }
  // All sources, with their numbers and nothing counted.
  DeviceOutputs without_counts() const;

  std::uint32_t number_of(const OutputSource& source);  // a new one for a new source
  const OutputSource& source(std::uint32_t number) const { return sources_[number].source; }
  void add(std::uint32_t number, std::uint64_t count, Cycle now);  // cycles never decrease
  std::uint64_t count(std::uint32_t number) const {
    const Steps& steps = sources_[number].steps;
    return steps.empty() ? 0 : steps.back().count;
  }
  std::optional<Cycle> reached(std::uint32_t number, std::uint64_t count) const;  // (R2)
  std::size_t size() const { return sources_.size(); }

 private:
  struct Step {
    std::uint64_t count = 0;  // from `at` on
    Cycle at{};
  };
  using Steps = std::vector<Step>;
  struct Counted {
    OutputSource source;
    Steps steps;
  };
  std::vector<Counted> sources_;
  std::map<OutputSource, std::uint32_t> numbers_;
};

}  // namespace rxnic
