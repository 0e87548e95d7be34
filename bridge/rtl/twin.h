// SPDX-License-Identifier: Apache-2.0
// A block in SystemVerilog: its ports, as those of the block in the model, and where their signals are. A twin is made
// of what stands behind the interface of rxnic_rtl.h. This is the project's own RTL or a user's in a shared object, or
// RTL in a simulator of SystemVerilog.
//
//   R1  A port is named as the model's: `in` has in_valid_i, in_ready_o and in_i. Each lane of a port carries a
//       descriptor of its own (rxnic_link_pkg.sv). Lane n transfers in a cycle when bit n of valid and of ready is set.
//       A port whose link always has room has no ready.
//   R2  A read port of a memory (model/engine/read_port.h) named `lists` has lists_valid_o, lists_o (the address) and
//       lists_i (the words of the address of the cycle before).
//       A write port (model/engine/write_port.h) is an output. A lookup named `context` has context_i alone: the word
//       of the address that the value at an input names.
//   R3  The clock rises at the end of a cycle. While `quiescent_o` holds, a cycle in which no input is valid changes
//       nothing, so that it can be left out. With a fused twin next_cycle() lets the clock rise, and only then what
//       stands at the inputs takes effect (rxnic_rtl.h, R6).
//   R4  activity_o, which RTL may have, is what it does in the cycle: an Activity of the model. It is kStarved in a
//       cycle that may be left out.
//   R5  RTL that differs from the block's facts (model/ports/block_facts.h) is refused: all that differs is named, with
//       both values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/rxnic_rtl.h"
#include "model/params/params.h"
#include "model/ports/block_facts.h"

namespace rxnic {

// Bits in memory, the least significant first.
struct TwinSignal {
  void* at = nullptr;  // nullptr: there is no such signal
  std::size_t bytes = 0;
};

struct TwinPort : PortFacts {
  TwinSignal valid{}, ready{}, data{}, words{};  // words: of a read port, a lookup
};

struct CoverPoint {
  std::string name;
  std::uint64_t hits = 0;
};

// "; 3 of 4 cover points hit", "" of none.
std::string cover_text(const std::vector<CoverPoint>& points);

class Twin {
 public:
  virtual ~Twin() = default;
  virtual void eval() = 0;
  virtual bool fused() const { return false; }  // (R3)
  virtual void next_cycle() {}
  // Why it cannot go on, such as an assertion that has failed; "": it can.
  virtual std::string_view failure() const = 0;
  virtual std::vector<CoverPoint> cover_points() const = 0;

  const std::vector<TwinPort>& ports() const { return ports_; }
  std::string_view requests() const { return requests_; }                  // block_facts.h, R4
  const std::vector<CounterFacts>& counters() const { return counters_; }  // block_facts.h, R7
  std::uint8_t* clock = nullptr;
  std::uint8_t* reset_n = nullptr;
  std::uint64_t* now = nullptr;  // nullptr: it has none (block_facts.h, R5)
  const std::uint8_t* quiescent = nullptr;
  const std::uint8_t* activity = nullptr;  // (R4) nullptr: it does not say

 protected:
  std::vector<TwinPort> ports_;
  std::string_view requests_;
  std::vector<CounterFacts> counters_;
};

// What differs between RTL and what a block has to be like, a line for each, with both values. (R5)
std::vector<std::string> differences(const RxnicRtl& rtl, const BlockFacts& facts);
// A twin of `block` for a NIC with these parameters. `from`: a shared object, "dpi:ADDRESS" of a simulator that runs a
// testbench with bridge/dpi, or "" for the project's own (rtl_file.h). Throws std::invalid_argument when there
// is none; it says why, and what there is. `random_init`: rxnic_rtl.h, R5; refused for a simulator. `build`: which of
// the project's own is taken when there are both; otherwise it is the other one.
std::unique_ptr<Twin> make_twin(std::string_view block, const Params& params, const std::string& from = "",
                                std::uint64_t random_init = 0, RtlBuild build = RtlBuild::kChecked);
// The blocks that have RTL, by name (rtl_blocks.h).
std::vector<std::string_view> rtl_block_names();
// The block's counters that its ports show (block_facts.h, R7).
std::vector<std::string_view> counters_at_ports(std::string_view block, const Params& params);

}  // namespace rxnic
