// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/rx_parser.h"

#include <algorithm>
#include <cstring>

#include "model/core/wire/ecn.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/ip_offload.h"
#include "model/core/wire/parsed.h"
#include "model/types/parse_reason.h"

namespace rxnic {

RxParser::RxParser(const sc_core::sc_module_name& name, const RxParserParams& params, PacketPool& packets,
                   Ledger& ledger)
    : RxParserPorts(name),
      params_(params),
      packets_(packets),
      ledger_(ledger),
      stamps_(packets),
      flows_(params.flows, params.rss_contexts),
      pipeline_(params.header_cycles) {}

Cycle RxParser::step(Cycle now) {
  // (1) the oldest parsed packet leaves
  bool blocked = false;
  if (pipeline_.ready(now)) {
    const Parsed& parsed = pipeline_.front();
    if (parsed.passes() && !out.can_push(now)) {
      blocked = true;
    } else {
      leave(now, pipeline_.pop());
    }
  }
  // (2) a command, the next frame's first beat
  if (commands.can_pop(now)) carry_out_command(now);
  if (now >= next_accept_ && !pipeline_.full()) {
    if (!members_left_.empty()) {
      take_copy(now);
    } else if (in.can_pop(now)) {
      take(now);
    }
  }
  in.listen(!pipeline_.full() && members_left_.empty());
  // (3) rest
  Cycle next = kNever;
  if (!pipeline_.full()) next = latest(next_accept_, members_left_.empty() ? in.next(now) : now + 1);
  if (blocked) return rest(now, Activity::kBlocked, next);
  if (pipeline_.empty()) {
    if (now < last_leaves_) return rest(now, Activity::kBusy, last_leaves_, Activity::kStarved, next);
    return rest(now, Activity::kStarved, next);
  }
  const Cycle due = latest(pipeline_.next_ready(), now + 1);
  if (pipeline_.front().passes() && out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
  return rest(now, Activity::kBusy, earliest(next, due));
}

inline void RxParser::take(Cycle now) {
  const WireFrame frame = in.pop(now);
  const Packet& buffer = packets_[frame.buffer];
  Parsed parsed;
  parsed.packet.buffer = frame.buffer;
  const ParseStatus status = buffer.decoded ? ParseStatus::kOk : parse(buffer.frame_view(), frame.link, parsed_);
  h_ = buffer.decoded ? &buffer.h : &parsed_;
  if (status == ParseStatus::kNotRdma) {  // (R2)
    parsed.foreign = !steer(frame, parsed.packet);
  } else {
    parsed.reason = judge(frame, status, parsed.packet);
  }
  if (!parsed.foreign) {
    parsed.packet.id = buffer.id;
    parsed.packet.posted = buffer.posted;
    parsed.packet.arrived = buffer.stamped(Station::kWire);
  }
  if (members_left_.empty()) return enter(now, parsed, frame.bytes);
  copied_ = parsed.packet;
  take_copy(now);
}

// The packet of the next QP of a group: a copy, or, of the last one, the frame that arrived (R5).
void RxParser::take_copy(Cycle now) {
  if (members_left_.size() > 1 && !packets_.available(PacketClass::kReceive)) return;
  Parsed parsed;
  parsed.packet = copied_;
  parsed.packet.destination_qp = members_left_.front();
  members_left_.erase(members_left_.begin());
  const std::uint32_t bytes = packets_[copied_.buffer].frame_bytes;
  if (!members_left_.empty()) {
    parsed.packet.buffer = packets_.allocate(PacketClass::kReceive, bytes);
    packets_[parsed.packet.buffer].copy(packets_[copied_.buffer]);
    ++counters_.copies;
  }
  enter(now, parsed, bytes);
}

// Its beats begin in cycle `now`.
void RxParser::enter(Cycle now, const Parsed& parsed, std::uint32_t bytes) {
  ledger_.arrived();
  stamps_.stamp_taken(parsed.packet.buffer, Station::kRxParser, now);
  const std::uint32_t beats = std::max(1u, (bytes + params_.beat_bytes - 1) / params_.beat_bytes);
  ++counters_.packets;
  counters_.beats += beats;
  counters_.bytes += bytes;
  next_accept_ = now + beats;
  const Cycle leaves = now + (beats - 1 + params_.header_cycles);  // (R1)
  if (parsed.passes() && pipeline_.empty() && out.can_send(now, leaves)) {
    count(parsed.packet, leaves);
    out.send(now, leaves, parsed.packet, [](ParsedPacket&) {});
    last_leaves_ = leaves;
  } else {
    pipeline_.push(parsed, leaves);
  }
}

inline DropReason RxParser::judge(const WireFrame& frame, ParseStatus status, ParsedPacket& p) {  // (R3)
  Packet& packet = packets_[frame.buffer];
  const Headers& h = *h_;
  const Bytes bytes = packet.frame_view();
  if (!packet.decoded) {  // (R11)
    if (frame.too_long) return DropReason::kTooLong;
    if (frame.cut_short) return DropReason::kTruncatedInCapture;
    if (!lengths_agree(status)) return reason_of(status);
    if (status == ParseStatus::kOk && !vcrc_matches(bytes, h)) return DropReason::kVcrc;
    if (!ipv4_checksum_matches(bytes, h)) return DropReason::kIpChecksum;
    if (!udp_checksum_matches(bytes, h)) return DropReason::kUdpChecksum;
  }
  const bool multicast = h.destination_qp == kMulticastQpn;
  if (!(multicast && h.destination.is_multicast()) && !is_own(h.destination)) {  // (R4)
    return DropReason::kDestinationAddress;
  }
  if (status != ParseStatus::kOk) return reason_of(status);
  if (h.version != 0) return DropReason::kVersion;
  if (h.destination_qp == Qpn{0}) return DropReason::kQpnZero;
  describe(bytes, h, p);
  make_scratch(h, packet);
  p.icrc_ok = packet.sealed || packet.decoded || icrc_matches(bytes, h);  // (R6)
  const bool datagram = opcode_info(h.opcode).transport == Transport::kUd;
  p.checksums_ok = datagram && checksums_ok(payload_of(bytes, h), IpFraming::kIpoib);  // (R9)
  const bool roce_v2 = h.encapsulation == Encapsulation::kRoceV2Ipv4 || h.encapsulation == Encapsulation::kRoceV2Ipv6;
  p.congested = roce_v2 && is_congested(h.traffic_class);
  if (!multicast) return DropReason::kNone;
  for (const Member& m : members_) {  // (R5)
    if (m.group == h.destination) members_left_.push_back(m.qpn);
  }
  return members_left_.empty() ? DropReason::kMulticastNotAttached : DropReason::kNone;
}

inline void RxParser::leave(Cycle now, const Parsed& parsed) {
  const ParsedPacket& p = parsed.packet;
  if (parsed.foreign) {
    ++counters_.not_rdma;
    ledger_.drop_not_rdma(p.buffer, now);
    return;
  }
  if (parsed.reason != DropReason::kNone) {  // (R7)
    ++counters_.dropped;
    ledger_.drop(p.buffer, parsed.reason, now);
    return;
  }
  count(p, now);
  out.push(now, p);
}

// Counts a packet that goes on in cycle `leaves`.
inline void RxParser::count(const ParsedPacket& p, Cycle leaves) {
  ++counters_.passed;
  counters_.steered += opcode_info(p.opcode).transport == Transport::kRaw;
  counters_.checksums_ok += p.checksums_ok;
  counters_.icrc_errors += !p.icrc_ok;
  counters_.ecn_marked += p.congested;
  stamps_.stamp(p.buffer, Station::kRxParser, leaves);
}

bool RxParser::is_own(const Address& destination) const {
  return own_.empty() || std::find(own_.begin(), own_.end(), destination) != own_.end();
}

bool RxParser::add_address(const Address& own) {  // (R8)
  if (!has_room()) return false;
  own_.push_back(own);
  return true;
}

void RxParser::carry_out_command(Cycle now) {  // (R10)
  if (!command_done.can_push(now)) return wake();
  const SteeringCommand command = commands.pop(now);
  SteeringReply done;
  switch (command.operation) {
    case SteeringOperation::kAttach:
      done.ok = attach_multicast(command.group, command.qpn);
      break;
    case SteeringOperation::kDetach:
      detach_multicast(command.group, command.qpn);
      break;
    case SteeringOperation::kAddFlow:
      done.ok = add_flow(command);
      break;
    case SteeringOperation::kRemoveFlow:
      set_counts(done, command.flow);
      flows_.remove(command.flow);
      break;
    case SteeringOperation::kReadFlow:
      set_counts(done, command.flow);
      break;
    case SteeringOperation::kAddRss:
      done.ok = add_rss(command);
      break;
    case SteeringOperation::kRemoveRss:
      flows_.clear_rss(command.qpn);
      break;
  }
  command_done.push(now, done);
}

void RxParser::set_counts(SteeringReply& reply, std::uint32_t flow) const {
  const FlowCounts counts = flows_.counts(flow);
  reply.packets = counts.packets;
  reply.bytes = counts.bytes;
}

bool RxParser::add_flow(const SteeringCommand& command) {
  FlowMailbox m;
  std::memcpy(&m, command.mailbox.data(), sizeof m);
  return flows_.add(command.flow, {m.value, m.mask, Qpn{m.qpn}, m.priority, m.kind, {}});
}

bool RxParser::add_rss(const SteeringCommand& command) {
  RssMailbox m;
  std::memcpy(&m, command.mailbox.data(), sizeof m);
  RssContext context{m.key, m.fields, {}};
  const std::size_t entries =
      std::min<std::size_t>(std::size_t{1} << std::min<unsigned>(m.log_entries, 31), m.qpns.size());
  for (std::size_t n = 0; n < entries; ++n) context.qpns.push_back(Qpn{m.qpns[n]});
  return flows_.set_rss(command.qpn, context);
}

// A frame that is not RDMA; false: no flow takes it. (R2)
bool RxParser::steer(const WireFrame& frame, ParsedPacket& p) {
  if (flows_.empty() || frame.too_long || frame.cut_short || frame.link != LinkLayer::kEthernet) return false;
  const Bytes bytes = packets_[frame.buffer].frame_view();
  FlowKey key;
  if (!read_flow_key(bytes, key)) return false;
  const std::optional<Qpn> qpn = flows_.find(key, bytes.size());
  if (!qpn) return false;
  p.opcode = opcode_of(Transport::kRaw, Operation::kSendOnly);
  p.destination_qp = *qpn;
  p.payload_bytes = static_cast<std::uint16_t>(bytes.size());
  p.icrc_ok = true;
  p.checksums_ok = checksums_ok(bytes, IpFraming::kEthernet);  // (R9)
  return true;
}

bool RxParser::attach_multicast(const Address& group, Qpn qpn) {
  const Member member{group, qpn};
  if (std::find(members_.begin(), members_.end(), member) != members_.end()) return true;
  if (!has_room()) return false;  // (R8)
  members_.push_back(member);
  return true;
}

void RxParser::detach_multicast(const Address& group, Qpn qpn) { std::erase(members_, Member{group, qpn}); }

void RxParser::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(pipeline_.size());
  h.mix(next_accept_.count);
  h.mix(members_left_.size());
}

}  // namespace rxnic
