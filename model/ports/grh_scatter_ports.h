// SPDX-License-Identifier: Apache-2.0
// The ports of the scatter engine.
#pragma once

#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/types/data_segment.h"
#include "model/types/grh_scatter_counters.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/scatter_list.h"
#include "model/types/segment.h"

namespace rxnic {

struct BlockFacts;
struct Params;

class GrhScatterPorts : public Block {
 public:
  virtual const GrhScatterCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }

  In<ScatterJob> in{"in"};
  Out<ScatteredSegment> out{"out"};
  Out<Refusal> refusals{"refusals"};
  ReadPort<ScatterListRead, DataSegment> lists{"lists"};

  // What the RTL of the block has to be like in a NIC with these parameters (block_facts.h).
  static BlockFacts facts(const Params& params);

 protected:
  using Block::Block;
};

}  // namespace rxnic
