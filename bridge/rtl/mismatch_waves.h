// SPDX-License-Identifier: Apache-2.0
// The last cycles of a block and its twin, side by side, as a waveform: what a mismatch leaves behind.
//
//   R1  A port is a scope: `nic0.grh_scatter.out`. What stands at both is in it: `valid` and the fields of an input,
//       `ready` of an output. What each of the two says is in its scopes `model` and `rtl`. For an input these scopes
//       have `ready` (the model's: the model takes the value). For an output they have `valid` and the fields, for a
//       memory's read `valid` and `address`. An output of several lanes has a scope for each: `out.lane1.model`. Words
//       of lookups are not shown.
//   R2  Fields keep their values until the next ones come. `mismatch` is 1 in the cycle that was found to differ.
//   R3  The file begins kBefore cycles before that cycle, or with the first one that was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bridge/rtl/twin_ports.h"
#include "model/engine/wave_file.h"

namespace rxnic {

// A port, and what passed there.
struct LockstepPort : TwinJoint {
  using TwinJoint::TwinJoint;
  // Value n of those that the model passes at an output in this cycle: into `value` and `model`.
  void get_pushed(unsigned n) { get_value(write != nullptr ? n : pushed + n); }

  std::uint64_t pushed = 0, popped = 0;  // values of the link, after the cycle before
  std::uint64_t pushes = 0, pops = 0;    // in this cycle
  std::uint64_t transactions = 0;
};

class MismatchWaves {
 public:
  static constexpr std::uint64_t kBefore = 64, kAfter = 16;  // cycles

  // What stands at the ports in a cycle that is not over yet.
  void record(Cycle cycle, std::vector<LockstepPort>& ports);
  // Writes what was recorded, for a mismatch in cycle `mismatch`, and a save file of GTKWave beside it. Makes their
  // folder. `path` ends in ".vcd". Throws std::runtime_error when a file cannot be written.
  void write(const std::string& path, const std::string& block, std::uint32_t period_ps, Cycle mismatch,
             const std::vector<LockstepPort>& ports) const;

 private:
  // What one of the two says of a lane, or what stands at both.
  struct Side {
    bool valid = false, ready = false;
    std::vector<std::uint32_t> bits;  // of a value that is valid
    void set(const std::vector<std::uint32_t>& value) {
      valid = true;
      bits = value;
    }
  };
  struct PortState {
    Side both;
    std::vector<Side> model, rtl;  // by lane
  };
  struct Recorded {
    Cycle cycle;
    std::vector<PortState> ports;
  };
  class Writer;

  static void record_input(LockstepPort& port, PortState& state);
  static void record_output(LockstepPort& port, PortState& state);
  static void record_read(LockstepPort& port, Cycle cycle, PortState& state);

  std::vector<Recorded> ring_;  // of the latest cycles
  std::size_t oldest_ = 0;
};

}  // namespace rxnic
