// SPDX-License-Identifier: Apache-2.0
// The ports of the packet buffer of the port.
#pragma once

#include "model/engine/link.h"
#include "model/types/rx_buffer_counters.h"
#include "model/types/wire_frame.h"

namespace rxnic {

class RxBufferPorts : public Block {
 public:
  virtual const RxBufferCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }

  In<WireFrame> in{"in"};
  Out<WireFrame> out{"out"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
