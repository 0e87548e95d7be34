// SPDX-License-Identifier: Apache-2.0
// The wire of a NIC as two sc_fifos of frames, for SystemC processes that read and write FIFOs.
//
//   R1  A frame is taken from `in` when the line to the NIC has carried the one before. A writer waits while the FIFO
//       is full, as long as the line needs. The frame arrives at the NIC when the line has carried all of it
//       (wire_end.h). While the NIC does not accept a frame, one more is taken, and no other.
//   R2  A frame of the NIC is written to `out` when the line has carried it. While `out` is full, frames wait here, in
//       order, and none is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <ostream>
#include <systemc>
#include <vector>

#include "model/system/system.h"

namespace rxnic {

// From the link header to the ICRC.
struct Frame {
  std::vector<std::uint8_t> bytes;
  LinkLayer link = LinkLayer::kEthernet;
  bool operator==(const Frame&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const Frame& f) { return to << f.bytes.size() << " bytes"; }
};

class FrameFifos final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(FrameFifos);
  // The wire of NIC `nic`. Nobody else may set its handlers (WireEnd::on_frame, on_accepted).
  FrameFifos(const sc_core::sc_module_name& name, System& system, std::uint32_t nic)
      : sc_module(name), engine_(system.engine), wire_(system.wire(nic)) {
    wire_.on_frame([this](Bytes frame, std::uint64_t time_ps) {
      waiting_.emplace_back(frame, sc_core::sc_time(static_cast<double>(time_ps), sc_core::SC_PS));
      engine_.notify(arrived_);
    });
    wire_.on_accepted([this] {
      if (stalled_) engine_.notify(accepted_);
    });
    SC_THREAD(put);
    SC_THREAD(get);
  }
  sc_core::sc_fifo_in<Frame> in{"in"};
  sc_core::sc_fifo_out<Frame> out{"out"};

 private:
  struct Leaving {
    Leaving(Bytes bytes, const sc_core::sc_time& at) : carried(at) { frame.bytes.assign(bytes.begin(), bytes.end()); }
    Frame frame;
    sc_core::sc_time carried;  // by the line, in the future: a frame is handed over when it begins to leave
  };
  void put() {  // (R1)
    for (;;) {
      const Frame frame = in.read();
      wire_.send(frame.bytes, frame.link);
      wait(sc_core::sc_time(wire_.line_ps(frame.bytes.size()), sc_core::SC_PS));
      for (stalled_ = true; wire_.waiting() > 1;) wait(accepted_);
      stalled_ = false;
    }
  }
  void get() {  // (R2)
    for (;;) {
      while (waiting_.empty()) wait(arrived_);
      const Leaving first = waiting_.front();
      waiting_.pop_front();
      if (first.carried > sc_core::sc_time_stamp()) wait(first.carried - sc_core::sc_time_stamp());
      out.write(first.frame);
    }
  }

  Engine& engine_;
  WireEnd& wire_;
  std::deque<Leaving> waiting_;
  bool stalled_ = false;  // put() waits for the NIC
  sc_core::sc_event arrived_, accepted_;
};

}  // namespace rxnic
