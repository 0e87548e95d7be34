// SPDX-License-Identifier: Apache-2.0
// What `rxnic params --cost` prints: what a NIC would cost. SRAM bits with ports, CAM bits and flip-flops are listed by
// block (model/nic/memory_ports.h). What yosys made of the RTL stands beside them, where it was measured
// (rtl/measured_area.json).
//
//   R1  Bits are exact: entries times bits of each, as `--memory` has them. What a memory is made of, and its ports,
//       are estimated by the rule that stands beside it.
//   R2  Gates, levels and flip-flops of a block's RTL are measured or absent. A measurement counts only for a NIC in
//       which each parameter that the RTL reads has the value that it was measured with.
//   R3  total_bits is the sum of all bits of whatever kind: the price that `rxnic why` and `rxnic pareto` use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/nic/memory_ports.h"

namespace rxnic {

struct MemoryCost {
  OnChipMemory memory;
  MemoryPorts ports;
};

// What yosys made of the RTL of a block, or of a part of it.
struct MeasuredArea {
  std::string block;
  std::string part_of;                          // the block that it is a part of; empty: it is the whole of one
  std::string tool;                             // "yosys 0.23"
  std::map<std::string, std::uint64_t> values;  // parameters that the RTL reads: "section.key", value or index
  std::uint64_t gates = 0, levels = 0, flip_flops = 0, memory_bits = 0;
};

// All that is kept in rtl/measured_area.json.
std::vector<MeasuredArea> measured_areas();

struct CostTable {
  std::vector<MemoryCost> memories;
  std::vector<MeasuredArea> measured;        // those of this NIC (R2)
  std::map<std::string, std::string> apart;  // RTL that is not: how the nearest measured NIC differs
};

// A NIC with these parameters and a requester.
CostTable cost_of(const Params& params);

std::string cost_text(const CostTable& cost);

// {"total_bits", "sram_bits", "cam_bits", "flip_flop_bits", "blocks": {block: {those, "measured"}}, "memories": [...],
// "rtl": [...]}. "rtl" has a row for each block with RTL; its figures are null where it is not measured.
std::string cost_json(const CostTable& cost);

// A row a memory, then a row for each block with RTL.
std::string cost_csv(const CostTable& cost);

}  // namespace rxnic
