// SPDX-License-Identifier: Apache-2.0
// A block in SystemVerilog, verilated: its ports by name, without the types that Verilator made. One of these exists
// for each configuration that was built (twin_builds).
//
//   R1  A port is named as the model's: `in` has in_valid_i, in_ready_o and in_i. Each lane of a port carries a
//       descriptor of its own (rxnic_link_pkg.sv); lane n transfers in a cycle when bit n of valid and of ready is set.
//       A port whose link always has room has no ready.
//   R2  A read port of a memory (model/engine/read_port.h) named `lists` has lists_valid_o, lists_o (the address) and
//       lists_i (the words of the address of the cycle before).
//   R3  The clock rises at the end of a cycle. While `quiescent_o` holds, a cycle in which no input is valid changes
//       nothing, so that it can be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/params/params.h"

namespace rxnic {

// Bits in memory, the least significant first.
struct TwinSignal {
  void* at = nullptr;  // nullptr: there is no such signal
  std::size_t bytes = 0;
};

enum class TwinPortKind : std::uint8_t { kIn, kOut, kRead };

struct TwinPort {
  std::string name;
  TwinPortKind kind = TwinPortKind::kIn;
  TwinSignal valid, ready, data, words;  // words: of a read port
};

struct CoverPoint {
  std::string name;
  std::uint64_t hits = 0;
};

class Twin {
 public:
  virtual ~Twin() = default;
  virtual void eval() = 0;
  // Why it cannot go on: an assertion has failed; "": it can.
  virtual std::string failure() const = 0;
  virtual std::vector<CoverPoint> cover_points() const = 0;

  const std::vector<TwinPort>& ports() const { return ports_; }
  std::uint8_t* clock = nullptr;
  std::uint8_t* reset_n = nullptr;
  const std::uint8_t* quiescent = nullptr;

 protected:
  std::vector<TwinPort> ports_;
};

struct TwinBuild {
  std::string_view block;
  std::string_view parameters;  // "LatencyCycles=4 SgesPerCycle=1"
  bool (*fits)(const Params& params) = nullptr;
  std::unique_ptr<Twin> (*make)() = nullptr;
};

// All that were built; empty without Verilator.
std::span<const TwinBuild* const> twin_builds();
// A twin of `block` for a NIC with these parameters. Throws std::invalid_argument when there is none; it names those
// that there are.
std::unique_ptr<Twin> make_twin(std::string_view block, const Params& params);

}  // namespace rxnic
