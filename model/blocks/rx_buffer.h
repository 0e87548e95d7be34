// SPDX-License-Identifier: Apache-2.0
// Packet buffer of the port: packets that have arrived and that the parser has not taken yet.
//
//   R1  A packet that arrives in cycle n can leave from cycle n + 1 on; one leaves a cycle, in order.
//   R2  The buffer holds at most rx_buffer_bytes of frames. A packet that does not fit waits on the wire (kPause:
//       link-level flow control) or is dropped and counted (kDrop).
#pragma once

#include "model/blocks/ledger.h"
#include "model/engine/growing_queue.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/rx_buffer_counters.h"

namespace rxnic {

class RxBuffer final : public Block {
 public:
  RxBuffer(const sc_core::sc_module_name& name, const WireParams& params, NicShared& shared)
      : Block(name), params_(params), shared_(shared) {}
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RxBufferCounters& counters() const { return counters_; }

  In<WireFrame> in{"in"};
  Out<WireFrame> out{"out"};

 private:
  struct Held {
    WireFrame frame;
    Cycle ready{};
  };
  WireParams params_;
  NicShared& shared_;
  GrowingQueue<Held> held_;
  std::uint64_t bytes_ = 0;
  RxBufferCounters counters_;
};

}  // namespace rxnic
