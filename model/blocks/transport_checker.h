// SPDX-License-Identifier: Apache-2.0
// Transport checker: checks that a packet is for its QP and is the one that the QP expects. The decisions are
// model/core/responder/header_check, responder and request_table.
//
//   R1  A packet taken in cycle n is decided in cycle n and leaves in cycle n + latency_cycles.
//   R2  Packets are taken cycles_per_packet apart at least.
//   R3  A packet that fails silently is dropped here; one that is to be answered or completed in error goes on in
//       order.
//   R4  Packets of QPs on a tag-matching SRQ leave through `to_cam`, those that begin a message with its tag-matching
//       headers (core/tag_matching/tag_headers.h); all others through `to_fetcher`.
//   R5  A response to a request of ours completes the requests before it by internal packets, one a cycle, ahead of
//       itself. So does a packet in front of which a capture lost the end of a SEND (R11 of
//       core/responder/responder.h).
//   R6  Notices of requests of ours are taken in the cycle in which they come. Places that requests leave free are
//       given back (`places`) in the same cycle, as far as the link has room.
//   R7  A CNP ends here. It is counted, and the requester is notified of it (`answers`) in the cycle in which it is
//       taken.
//   R8  The requester is notified of the consequence of a response (`answers`) in the cycle in which it is decided.
//   R9  A completion that the requester sent (`is_completion`) goes on in its order, unless its
//       WQE has been completed. A completion in error, not merely flushed, moves a QP of RC or XRC to the error state;
//       others receive on.
//   R10 Refusals of packets by later blocks (`refusals`) are taken in the cycle in which they come, before anything
//       else.
//   R11 The saved READs and atomics of a QP, for replays, use the entries that were reserved for the QP. A reservation
//       by which all QPs would have more than responder_resources is refused. So is one SRQ more than `srqs`.
//   R12 `commands` of the command processor come on a line that the context cache keeps for it. A command is taken
//       after the refusals, before a packet, and answered in the same cycle. For a QP that software moves to the error
//       state the block sends an internal packet (kFailure). It goes behind the QP's packets, in a cycle of its own.
//       The command waits while there is no room for this packet. A QP has the entries of R11 from when it is ready to
//       receive until its reset. A change for which there are not enough is refused and changes nothing.
//   R13 With hazard = stall a packet is not taken within latency_cycles of a packet of the same QP. The reason: the QP
//       context has been written back only then. What is behind it waits, too (wait_hazard). With forward it is decided
//       on what the one before it leaves. Internal packets are not counted.
#pragma once

#include <array>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/requester/request_table.h"
#include "model/core/responder/responder.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/transport_checker_ports.h"
#include "model/types/bits.h"
#include "model/types/command.h"
#include "model/types/packet_stamps.h"

namespace rxnic {

// Numbers of QPs and SRQs that the block can keep state of.
struct TransportCheckerSizes {
  std::uint32_t qps = RequesterParams{}.send_queues;
  std::uint32_t srqs = DeviceParams{}.max_srqs;
};

class TransportChecker final : public TransportCheckerPorts {
 public:
  TransportChecker(const sc_core::sc_module_name& name, const TransportCheckerParams& params, PacketPool& packets,
                   Ledger& ledger, QpContextPort<ResponderContext> contexts, const TransportCheckerSizes& sizes = {});
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;

  // Before the simulation starts: adds an SRQ that packets name (XRC). QPs on a tag-matching SRQ have its CQ as their
  // receive_cq. False: there are `srqs` SRQs already.
  bool add_srq(Srqn srqn, const SrqEntry& entry) override;
  // Reserves entries for the READs and atomics of a QP; false: there are not enough, and nothing has changed. (R11)
  bool reserve(Qpn qpn, std::uint32_t entries) { return resources_.reserve(qpn, entries); }
  bool reserve(const ResponderContext& qp) override;  // as many as the QP needs in its state
  std::uint32_t resources_left() const override { return resources_.left(); }

  const TransportCheckerCounters& counters() const override { return counters_; }
  const ResponderCounters& responder_counters() const override { return responder_.counters(); }
  const RequestCounters& request_counters() const override { return requests_table_.counters(); }

 private:
  Out<WqeRequest>& way_out(const WqeRequest& p) {  // (R4)
    return contexts_.attributes(p.line).tag_matching ? to_cam : to_fetcher;
  }
  void give_back_places(Cycle now);
  void carry_out_command(Cycle now);
  bool fail(const QpCommand& command, Cycle now);
  void change_srqs(Cycle now);
  void accept(Cycle now);
  bool stalls(std::uint32_t line, Cycle now);
  void taken(std::uint32_t line, Cycle now);
  void take_completion(CheckedPacket& p, const SendCompletion& completion, Cycle now);
  bool goes_first(CheckedPacket& p, Cycle now);
  bool complete_requests(CheckedPacket& p, Cycle now);
  bool complete_truncated(CheckedPacket& p, Cycle now);
  WqeRequest internal_packet(const CheckedPacket& cause, PacketRole role);
  void decide(CheckedPacket& p, Cycle now);
  void send(WqeRequest& p, Cycle now);

  // Bits of inputs_: a refusal's is that of its link, from 0 on.
  static constexpr std::uint64_t kRefusals = bit_of(kRefusers) - 1, kRequests = bit_of(kRefusers),
                                 kSrqs = kRequests << 1, kCommands = kRequests << 2;
  static constexpr std::uint64_t kNotices = kRefusals | kRequests | kSrqs;

  void take_notices(Cycle now);

  TransportCheckerParams params_;
  std::uint32_t most_srqs_;
  PacketPool& packets_;
  Ledger& ledger_;
  PacketStamps stamps_;
  QpContextPort<ResponderContext> contexts_;
  SrqTable srqs_;
  ResponderResources resources_;
  std::vector<ResponderUndo> undo_;  // by packet buffer
  Responder responder_;
  RequestTable requests_table_;
  std::uint64_t inputs_ = 0;        // bit by input whose link is not empty
  std::uint32_t places_freed_ = 0;  // not given back yet
  DelayLine<WqeRequest> pipeline_;
  Cycle last_leaves_{};  // of packets that were sent at once
  Cycle next_accept_{};
  DelayLine<std::uint32_t>
      recent_;  // lines of the packets that were taken; ready when the context is written back (R13)
  Cycle stalled_until_{};
  bool no_room_for_notice_ = false;
  TransportCheckerCounters counters_;
};

}  // namespace rxnic
