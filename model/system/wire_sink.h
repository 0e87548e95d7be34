// SPDX-License-Identifier: Apache-2.0
// Takes the frames that the NIC sends, at the rate of the link, and passes each to an observer.
#pragma once

#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/packet.h"
#include "model/types/wire_frame.h"

namespace rxnic {

class FrameObserver {
 public:
  virtual ~FrameObserver() = default;
  // `time_ps`: when its last byte has left.
  virtual void on_frame(const Packet& p, std::uint64_t time_ps) = 0;
};

class WireSink final : public Block {
 public:
  WireSink(const sc_core::sc_module_name& name, const Params& params, PacketPool& packets, FrameObserver* observer);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  void set_observer(FrameObserver* observer) { observer_ = observer; }
  std::uint64_t frames() const { return frames_; }

  In<WireFrame> wire{"wire"};

 private:
  std::uint64_t period_ps_;
  std::uint64_t fixed_bytes_;
  double ps_per_byte_;
  PacketPool& packets_;
  FrameObserver* observer_;
  double line_free_ps_ = 0;  // when the line has carried all frames so far
  Cycle free_{};             // the first cycle that begins then or later
  std::uint64_t frames_ = 0;
  StateHash digest_;  // of all frames' ends (their ICRCs) and when they left
};

}  // namespace rxnic
