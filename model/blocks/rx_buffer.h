// SPDX-License-Identifier: Apache-2.0
// Packet buffer of the port: packets that have arrived and that the parser has not taken yet.
//
//   R1  A packet that arrives in cycle n can leave from cycle n + 1 on; one leaves a cycle, in order.
//   R2  The buffer holds at most rx_buffer_bytes of frames. A packet that does not fit waits on the wire (kPause:
//       link-level flow control) or is dropped and counted (kDrop).
#pragma once

#include "model/blocks/ledger.h"
#include "model/engine/growing_queue.h"
#include "model/params/params.h"
#include "model/ports/rx_buffer_ports.h"

namespace rxnic {

class RxBuffer final : public RxBufferPorts {
 public:
  RxBuffer(const sc_core::sc_module_name& name, const WireParams& params, Ledger& ledger)
      : RxBufferPorts(name), params_(params), ledger_(ledger) {}
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RxBufferCounters& counters() const override { return counters_; }

 private:
  struct Held {
    WireFrame frame;
    Cycle ready{};
  };
  WireParams params_;
  Ledger& ledger_;
  GrowingQueue<Held> held_;
  std::uint64_t bytes_ = 0;
  Cycle ahead_until_{};            // the frame that was sent ahead of its cycle has left (link.h, R8)
  std::uint32_t ahead_bytes_ = 0;  // of that frame, until then
  RxBufferCounters counters_;
};

}  // namespace rxnic
