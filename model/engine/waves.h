// SPDX-License-Identifier: Apache-2.0
// Waveforms of a run in per-cycle mode: a VCD file for any wave viewer.
//
//   R1  <block>.activity is the block's Activity (its number, in the order of the enum), <link>.occupancy the number
//       of values in the link, both as they are at the end of a cycle; they change at the beginning of that cycle. So
//       does <link>.head.<field>, a field of the descriptor that will be popped next (descriptors.toml).
//   R2  Cycles in which nothing is due are not sampled: nothing changes in them.
//   R3  Everything that was added to the engine before is traced. The file is complete when this object is gone.
#pragma once

#include <string>
#include <systemc>
#include <vector>

#include "model/engine/engine.h"

namespace rxnic {

class Waves {
 public:
  // `path` ends in ".vcd". Throws std::invalid_argument when it does not or when the engine is not in per-cycle mode.
  // Before the simulation starts.
  Waves(Engine& engine, const std::string& path);
  ~Waves();
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

 private:
  void sample();

  Engine& engine_;
  sc_core::sc_trace_file* file_;
  std::vector<unsigned> activities_;   // by block
  std::vector<unsigned> occupancies_;  // by link
  std::vector<std::uint64_t> pushed_;  // by link: transfers so far
  std::vector<std::size_t> head_at_;   // by link: its first one in heads_
  std::vector<sc_dt::uint64> heads_;   // numbers of the descriptors at the heads
};

}  // namespace rxnic
