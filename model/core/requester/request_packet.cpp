// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/request_packet.h"

#include <algorithm>

namespace rxnic {

namespace {

constexpr std::uint32_t kOwnQkey = 1u << 31;

// ::ffff:a.b.c.d, or a multicast GID that holds an IPv4 group likewise.
bool holds_ipv4(const std::array<std::uint8_t, 16>& gid) {
  return gid[10] == 0xff && gid[11] == 0xff && (gid[0] == 0 || gid[0] == 0xff);
}

}  // namespace

std::uint16_t flow_source_port(Qpn local, Qpn remote) {  // (R2)
  std::uint64_t mix = std::uint64_t{raw(local)} * raw(remote);
  mix ^= mix >> 20;
  mix ^= mix >> 40;
  const auto label = static_cast<std::uint32_t>(mix & 0xfffff);
  return static_cast<std::uint16_t>(0xc000u | ((label ^ label >> 14) & 0x3fff));
}

Headers path_headers(const AddressVector& path, const SourceGid& source, const MacAddress& mac, Qpn local, Qpn remote) {
  Headers h;
  const bool ipv4 = source.encapsulation == Encapsulation::kRoceV2Ipv4;
  if (ipv4 && !holds_ipv4(path.destination_gid)) return h;  // (R1)
  h.encapsulation = source.encapsulation;
  h.source_mac = mac;
  h.destination_mac = path.destination_mac;
  h.source = source.address;
  h.destination = Address::ipv6(path.destination_gid);
  if (ipv4) h.destination = Address::ipv4(load_be32(&path.destination_gid[12]));
  h.traffic_class = path.traffic_class;
  h.flow_label = path.flow_label & 0xfffff;
  h.hop_limit = path.hop_limit != 0 ? path.hop_limit : kDefaultHopLimit;
  if (source.encapsulation != Encapsulation::kRoceV1) {
    h.udp_source_port = path.udp_source_port != 0 ? path.udp_source_port : flow_source_port(local, remote);
  }
  return h;
}

void set_request_headers(Headers& h, const QpContext& qp, const SendRequest& r, const RequestPacket& p) {
  const OpcodeInfo& op = request_info(r.opcode);
  h.opcode = opcode_of(qp.transport, operation_of(r.opcode, p.first, p.last));              // (R3)
  h.solicited = p.last && (op.traits & kTakesWqe) != 0 && (r.flags & kSendSolicited) != 0;  // (R4)
  h.ack_request = p.ack_request;
  h.pkey = qp.pkey;
  h.psn = p.psn;
  if (qp.transport != Transport::kUd) h.destination_qp = qp.remote_qpn;
  if (p.last) h.immediate = r.immediate;
  h.xrc_srq = Srqn{r.remote_srqn};
  h.rkey = Key{r.remote.rkey};
  h.va = r.remote.va;
  h.length = r.bytes;
  if ((op.traits & kRead) != 0) {
    h.va += p.offset;
    h.length = p.bytes;
  } else if (op.operation == Operation::kCompareSwap) {
    h.compare = r.remote.compare_add;
    h.swap_add = r.remote.swap;
  } else if (op.operation == Operation::kFetchAdd) {
    h.swap_add = r.remote.compare_add;
  }
}

std::uint32_t qkey_of(const SendWqe& wqe, const QpContext& qp) {
  return (wqe.remote_qkey & kOwnQkey) != 0 ? qp.qkey : wqe.remote_qkey;
}

void set_datagram_headers(Headers& h, const QpContext& qp, const SendWqe& wqe) {  // (R5)
  h.destination_qp = Qpn{wqe.remote_qpn};
  h.source_qp = qp.qpn;
  h.qkey = qkey_of(wqe, qp);
}

}  // namespace rxnic
