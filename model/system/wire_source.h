// SPDX-License-Identifier: Apache-2.0
// Puts a stream of frames on the NIC's wire at its pace, and notifies the NIC of the requests that its host sends.
//
//   R1  A frame's last byte arrives when the line has carried the frame (link rate, preamble and gap counted). When the
//       pace is kCaptured, the byte does not arrive before its time in the capture.
//   R2  A frame that the NIC cannot accept yet waits on the line and delays the frames after it.
//   R3  A control item waits until everything before it has left the path; the next item waits until the commands that
//       it gave are done.
//   R4  Requests that the NIC's own host sends reach the NIC in the order of the stream, before any later frame.
//   R5  No frame arrives before the host is `ready`, when that is bound: programs post their first receives before they
//       connect.
//   R6  The source is busy while the line carries a frame. It is starved in between, whether it knows the next frame
//       already or not.
#pragma once

#include <cstdint>

#include "model/core/requester/request_table.h"
#include "model/core/wire/link_time.h"
#include "model/engine/engine.h"
#include "model/engine/link.h"
#include "model/nic/command_queue.h"
#include "model/params/params.h"
#include "model/types/packet.h"
#include "model/types/wire_frame.h"

namespace rxnic {

// One item of the stimulus.
struct Stimulus {
  enum class Kind : std::uint8_t { kFrame, kRequest, kControl, kWait } kind = Kind::kFrame;
  // kFrame: valid until the next call.
  Bytes bytes;
  std::uint32_t wire_bytes = 0;  // on the wire, without FCS; more than bytes.size(): the capture cut it short
  LinkLayer link = LinkLayer::kEthernet;
  // What the frame says, when whoever has read it has found no fault (model/blocks/rx_parser.h, R11); valid as `bytes`.
  const Headers* headers = nullptr;
  std::uint64_t time_ps = 0;
  std::uint64_t id = 0;  // number of the packet in its trace, counts from 1
  // kRequest
  RequestNotice request;
  // kControl: the stream's control() is called once the path is empty.
  // kWait: it has nothing yet, and is asked again at time_ps, or when look_again() is called.
};

class StimulusStream {
 public:
  virtual ~StimulusStream() = default;
  // False at the end.
  virtual bool next(Stimulus& item) = 0;
  // The driver gives commands between two packets; no packet is in flight.
  virtual void control(const Stimulus& item, CommandQueue& driver) {
    (void)item;
    (void)driver;
  }
};

struct Pace {
  enum class Kind : std::uint8_t { kCaptured, kLineRate, kRate } kind = Kind::kCaptured;
  double gbps = 0;  // kRate
};

class WireSource final : public Block {
 public:
  WireSource(const sc_core::sc_module_name& name, const Params& params, const Pace& pace, PacketPool& packets,
             HostMemory& memory, StimulusStream& stream);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override { h.mix(frames_); }
  std::uint64_t frames() const { return frames_; }
  // The stream has something earlier than it has said with kWait.
  void look_again() { wake(); }
  // How far a line that carries nothing but the frames falls behind the capture's clock at most. Also: how many frames
  // such a line carries later than kLatePs.
  static constexpr double kLatePs = 100e6;
  double most_late_ps() const { return most_late_ps_; }
  std::uint64_t late_frames() const { return late_frames_; }

  Out<WireFrame> wire{"wire"};
  Out<RequestNotice> requests{"requests"};
  Out<DriverCommand> commands{"commands"};
  In<CommandReply> replies{"replies"};
  In<StepDone> host_ready{"host_ready"};

 private:
  void fetch(Cycle now);
  Cycle at_or_after(double time_ps) const { return cycle_at_or_after(time_ps, period_ps_); }
  void emit(Cycle now);

  Pace pace_;
  std::uint64_t period_ps_;
  std::uint64_t fixed_bytes_;  // besides the frame: FCS, preamble, gap
  double ps_per_byte_;
  PacketPool& packets_;
  StimulusStream& stream_;
  CommandQueue driver_;
  Stimulus item_;
  bool begun_ = false;  // (R5)
  bool have_item_ = false;
  bool done_ = false;
  double carried_ps_ = 0;  // when that line has carried all frames so far
  double most_late_ps_ = 0;
  std::uint64_t late_frames_ = 0;
  double line_free_ps_ = 0;  // when the line has carried all frames so far
  Cycle begins_{}, due_{};   // the line carries the frame between them
  std::uint64_t frames_ = 0;
  Cycle emitted_ = kNever;  // the last of them
};

}  // namespace rxnic
