// SPDX-License-Identifier: Apache-2.0
// Receive parser: parses frames and drops at once those that are malformed or not for this device (rules 6).
//
//   R1  A frame accepted in cycle n takes max(1, ceil(frame_bytes / beat_bytes)) cycles, one a beat. The next frame is
//       accepted no earlier than in the cycle after the last beat. Its packet leaves header_cycles after the last beat.
//   R2  A frame that is not RDMA is no error: it is counted as not RDMA, whatever else is wrong with it. A flow may
//       take such a frame (core/wire/flow_table.h). Then the frame goes to the flow's QP as one SEND ONLY of the
//       transport RAW, all of it payload. No flow takes a frame that is too long or cut short, or a frame on
//       InfiniBand. Looking up the flow is a part of header_cycles.
//   R3  A packet is dropped for its first fault in the order of this list. First come: longer than any legal packet;
//       cut short by the capture; lengths; VCRC; IPv4 header checksum. Then come UDP checksum (core/wire/icrc.h, R6);
//       destination address; opcode, headers and pad (types/wire.h, R2); TVER not 0; QPN 0. Last comes a multicast QPN
//       without a QP attached to the group. Each fault has its counter in the ledger.
//   R4  Destination address: one of the device's own, any when it has none (promiscuous), or a multicast address with
//       the multicast QPN.
//   R5  A multicast packet goes to every QP attached to its group, in the order in which they were attached. The copies
//       are made one after the other before the next frame, each in a packet buffer of its own and for its beats (R1).
//       The last QP gets the frame that arrived. Who was attached when the frame was taken gets it.
//   R6  A wrong ICRC is found here; the transport checker drops the packet, in the order of rules 6.
//   R7  Drops take their beats and leave in the cycle in which the packet would have left; they need no room
//       downstream.
//   R8  Addresses and attached QPs together: own_addresses at most; one more is refused. To attach a QP again changes
//       nothing. Flows and contexts of RSS: flows, rss_contexts. A flow counts its frames until it is removed.
//   R9  The checksums of IPv4 and of TCP or UDP are looked at as the bytes go by (core/wire/ip_offload.h, R4). This
//       applies to a frame for a RAW_PACKET QP and to a datagram of IPoIB for a UD QP.
//   R10 A command (`commands` of the command processor) is taken before a frame and answered in the same cycle.
//   R11 The frame of a packet that comes decoded (Packet::decoded) is not read again. Whoever made the packet has found
//       its lengths, opcode, headers, TVER, ICRC and checksums of IPv4 and UDP right, and no VCRC behind the ICRC.
//       Nothing else changes.
#pragma once

#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/wire/flow_table.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/rx_parser_ports.h"
#include "model/types/command.h"
#include "model/types/packet_stamps.h"
#include "model/types/parsed_packet.h"

namespace rxnic {

class RxParser final : public RxParserPorts {
 public:
  RxParser(const sc_core::sc_module_name& name, const RxParserParams& params, PacketPool& packets, Ledger& ledger);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RxParserCounters& counters() const override { return counters_; }

  // Before the simulation starts. False: there is no room for one more (R8).
  bool add_address(const Address& own) override;
  void remove_address(const Address& own) { std::erase(own_, own); }
  bool attach_multicast(const Address& group, Qpn qpn);

 private:
  struct Member {
    Address group;
    Qpn qpn{};
    bool operator==(const Member&) const = default;
  };
  struct Parsed {
    ParsedPacket packet;
    bool foreign = false;  // not RDMA, and no flow takes it
    DropReason reason = DropReason::kNone;
    bool passes() const { return !foreign && reason == DropReason::kNone; }
  };
  void carry_out_command(Cycle now);
  void detach_multicast(const Address& group, Qpn qpn);
  void set_counts(SteeringReply& reply, std::uint32_t flow) const;
  bool add_flow(const SteeringCommand& command);
  bool add_rss(const SteeringCommand& command);
  bool steer(const WireFrame& frame, ParsedPacket& p);
  void take(Cycle now);
  void take_copy(Cycle now);
  void enter(Cycle now, const Parsed& parsed, std::uint32_t bytes);
  void leave(Cycle now, const Parsed& parsed);
  void count(const ParsedPacket& p, Cycle leaves);
  DropReason judge(const WireFrame& frame, ParseStatus status, ParsedPacket& p);
  bool is_own(const Address& destination) const;
  bool has_room() const { return own_.size() + members_.size() < params_.own_addresses; }

  RxParserParams params_;
  PacketPool& packets_;
  Ledger& ledger_;
  PacketStamps stamps_;
  std::vector<Address> own_;
  std::vector<Member> members_;
  FlowTable flows_;
  DelayLine<Parsed> pipeline_;  // at most one frame enters a cycle, so header_cycles of them are inside
  Cycle last_leaves_{};         // of packets that were sent at once
  Cycle next_accept_{};
  Headers parsed_;               // what parse() has made of a frame
  const Headers* h_ = &parsed_;  // of the frame at hand
  ParsedPacket copied_;          // while members_left_ has any: for the first of them (R5)
  std::vector<Qpn> members_left_;
  RxParserCounters counters_;
};

}  // namespace rxnic
