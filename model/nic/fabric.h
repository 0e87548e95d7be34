// SPDX-License-Identifier: Apache-2.0
// N NICs joined by a switch.
//
//   R1  A frame first takes its sender's line for its length at link_gbps (FCS, preamble and gap counted), then
//       switch_latency and both cables' delay. Then it takes the receiver's line, which is free after the frame before.
//       Cut-through: the receiver's line starts as the first byte comes. A frame to an idle receiver arrives, last
//       byte, switch_latency + 2 * cable_delay after its last byte left.
//   R2  Requests and responses of a NIC take turns on its line.
//   R3  A frame goes to the NIC that has its destination address, and nowhere (counted) when the address is unknown. A
//       multicast frame goes to every other NIC and back to its sender. A frame without such an address (RAW_PACKET)
//       goes by its MAC address. A MAC address that no NIC has is everybody's: the frame goes as a multicast frame.
//   R4  A frame to an address of the sender's own NIC does not leave it: it takes loopback_latency instead of the
//       switch and the cables. The port's rate holds for it as well.
//   R5  With switch_full = pause no frame is lost: one that a NIC cannot take waits on its line. While
//       switch_buffer_bytes of a sender's frames wait for one NIC, that sender's requests to it are paused, and with
//       them all requests behind them. Responses are never paused: two NICs that could not respond to each other would
//       deadlock.
//   R6  Frames for one NIC are delivered in the order in which their first bytes arrive. When several arrive at the
//       same time, the frame from the NIC with the lowest number is first.
//   R7  A sender's buffer is released in the cycle in which the last byte leaves; on the wires frames have buffers of
//       their own.
//   R8  With switch_full = drop nobody is paused. A frame, request or response, that comes to the switch needs room in
//       switch_buffer_bytes. It is dropped when the frames of its sender that wait there for the same NIC leave no room
//       for it. Frames to the sender's own NIC do not pass the switch: R5 holds for them.
//   R9  A frame that is ECN capable (core/wire/ecn.h) is marked when it comes to the switch behind too many bytes. Too
//       many: frames of ecn_threshold_bytes or more wait there for the same NIC's line. The frames of all senders
//       count; 0 marks none. What observers get is the frame as it left its sender.
//   R10 Frames wait at the switch (R8, R9) from when their first byte could go on the receiver's line until it does.
//       Frames that come in a cycle come before a frame of that cycle leaves, in the order of R6.
//   R11 A packet's number (Packet::id) is that of its frame, from 1, in the order in which the frames' last bytes
//       leave. An observer of all frames counts them alike. All copies of a multicast frame have the same. A packet
//       that is given to its receiver before its last byte has left gets its number then; one that was dropped before
//       has none.
//   R12 A NIC is given a frame when cut_through_bytes of it (FCS, preamble and gap counted) have come over its line. A
//       shorter frame is given when all of it has come. The NIC knows when the rest will have come (Packet::complete).
//       While it does not take the frame its line stands still.
//   R13 What the network does to a frame between two NICs (core/wire/impairments.h) follows from both, and from the
//       frame's number. A NIC's frames to others are counted for it. A lost one has used its sender's line. One that is
//       reordered comes reorder_delay later. A duplicate is as the frame left, without its delay and its wrong bit.
//       Frames to the sender's own NIC come to no harm.
//   R14 A pause begins with the end of its frame and holds requests and responses. It does not lengthen another one.
//   R15 An observer of QPs hears, once the frame has left, what came over it, and of those that R8 drops. An event is
//       that of the NIC to which the frame went. A mark or a pause is no harm.
//   R16 The receiver of a frame does not compute the ICRC again that the sending NIC has computed (Packet::sealed). No
//       cycle, counter or drop depends on that. A frame that is corrupted on its way is checked, and so is one whose
//       bytes a program has made (RAW_PACKET). With check_own_icrc all are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/core/wire/impairments.h"
#include "model/core/wire/link_time.h"
#include "model/nic/fabric_routes.h"
#include "model/nic/nic.h"
#include "model/types/fabric_counters.h"
#include "model/types/qp_event.h"

namespace rxnic {

class FabricObserver {
 public:
  virtual ~FabricObserver() = default;
  // A frame has left a NIC: `time_ps` of its last byte. from, to: NIC numbers (to: kNobody, kEverybody). The calls come
  // in the order of their cycles.
  virtual void on_frame(std::uint32_t from, std::uint32_t to, Bytes frame, std::uint64_t time_ps) = 0;
  static constexpr std::uint32_t kNobody = FabricRoutes::kNobody, kEverybody = FabricRoutes::kEverybody;
};

class Fabric final : public Block {
 public:
  // nics: 1 to 64.
  Fabric(const sc_core::sc_module_name& name, const Params& params, Engine& engine, std::uint32_t nics);
  ~Fabric() override;
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;

  // Binds the ports to the links of NIC n, and gives its parser the addresses. Once for each NIC, in order, before the
  // simulation starts.
  void attach(Nic& nic, const PortAddress& address);
  void set_observer(FabricObserver* observer) { observer_ = observer; }
  void set_qp_observer(std::uint32_t nic, QpObserver* observer);  // (R15)
  // Nothing is on a line or in the switch, or waits for a line.
  bool idle() const { return frames_in_flight_ == 0 && senders() == 0; }
  std::uint32_t frames_in_flight() const { return frames_in_flight_; }
  const FabricCounters& counters() const { return counters_; }

 private:
  struct Frame;
  struct Queue;
  struct Port;
  struct Harm;

  void send(Port& from, Cycle now);
  In<WireFrame>* next_input(Port& from, Cycle now);
  bool is_paused(const Port& from, const Packet& request);
  void start(Port& from, In<WireFrame>& input, Cycle now);
  void leave(Port& from, Cycle now);
  void number_given(Frame& frame);
  Frame& carry(Port& from, Port& to, const Packet& p, Instant first_byte);
  void cross(Port& from, Port& to, const Packet& p, Instant first_byte);
  void report_harms(Port& from, Cycle now);
  void notify(const Port& to, NetworkHarm harm, Bytes frame, std::uint64_t number, Cycle now) const;
  static Impairments impairments_of(const FabricParams& params);
  void admit(Port& to, Cycle now);
  void receive(Port& to, Cycle now);
  bool begin_arrival(Port& to, Cycle now);
  bool deliver(Port& to, Cycle now);
  Cycle next_step(Cycle now) const;
  Frame* allocate();
  static constexpr std::uint32_t kMaxPorts = 64;
  // Ports that have something to send or to receive; the others are skipped.
  std::uint64_t senders() const { return answering_ | requesting_ | sending_; }

  void free(Frame* frame);
  bool drops() const { return params_.switch_full == SwitchFullPolicy::kDrop; }

  const FabricParams params_;
  const bool watches_queues_;        // R8 or R9 is in force
  const std::uint32_t fixed_bytes_;  // of a frame on a line, besides its link header to ICRC
  LinkTime time_;
  const std::uint32_t cut_through_bytes_;
  Instant across_;  // the switch and both cables
  Instant loopback_;
  const Impairments network_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::uint64_t answering_ = 0, requesting_ = 0;  // one bit per port: its link from the NIC is not empty
  std::uint64_t sending_ = 0;                     // one bit per port: its line from the NIC carries a frame
  std::uint64_t receiving_ = 0;                   // one bit per port: frames are on their way to it
  std::uint32_t attached_ = 0;
  FabricRoutes routes_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame* free_frames_ = nullptr;
  std::uint32_t frames_in_flight_ = 0;
  std::uint64_t frames_left_ = 0;
  bool room_made_ = false;  // in this step: paused senders may go on
  FabricObserver* observer_ = nullptr;
  FabricCounters counters_;
  StateHash digest_;  // of all frames' ends (their ICRCs) and when they arrived
};

}  // namespace rxnic
