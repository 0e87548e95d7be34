// SPDX-License-Identifier: Apache-2.0
// Sealed RoCEv2 frames between two hosts, and other frames put around them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/types/syndrome.h"
#include "testbench/unit/traces/capture_bytes.h"

namespace rxnic {

inline const Address kSender = Address::ipv4(0x0a000001);
inline const Address kTarget = Address::ipv4(0x0a000002);

// RC, to QP 0x11 of kTarget, or of kSender's QP 0x21.
inline Headers roce_headers(bool to_target, Operation op, std::uint32_t psn) {
  Headers h;
  h.encapsulation = Encapsulation::kRoceV2Ipv4;
  h.source = to_target ? kSender : kTarget;
  h.destination = to_target ? kTarget : kSender;
  h.source_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(to_target ? 1 : 2)};
  h.destination_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(to_target ? 2 : 1)};
  h.hop_limit = 64;
  h.udp_source_port = 0xc000;
  h.opcode = opcode_of(Transport::kRc, op);
  h.ack_request = to_target;
  h.pkey = 0xffff;
  h.destination_qp = Qpn{to_target ? 0x11u : 0x21u};
  h.psn = Psn{psn};
  return h;
}

inline Blob roce_frame(Headers h, std::size_t payload = 64) {
  const Blob data(payload, 0x5a);
  Blob frame(payload + 200);
  frame.resize(build(h, data, frame));
  seal(frame, h);
  return frame;
}
inline Blob send_frame(std::uint32_t psn, std::size_t payload = 64) {
  return roce_frame(roce_headers(true, Operation::kSendOnly, psn), payload);
}
inline Blob ack_frame(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = kAckUnlimited) {
  Headers h = roce_headers(false, Operation::kAck, psn);
  h.msn = msn;
  h.syndrome = syndrome;
  return roce_frame(h, 0);
}

constexpr std::size_t kUdpAt = 34, kBthAt = 42;  // of a RoCEv2 frame over IPv4 without VLAN tags

inline void put_ip_checksum(Blob& frame, std::size_t at) {
  store_be16(&frame[at + 10], 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < std::size_t{frame[at] & 15u} * 4; i += 2) sum += load_be16(&frame[at + i]);
  sum = (sum & 0xffff) + (sum >> 16);
  store_be16(&frame[at + 10], static_cast<std::uint16_t>(~(sum + (sum >> 16))));
}

inline Blob ethernet(std::uint16_t type, const Blob& rest) {
  Blob b(12, 0x0a);
  put(b, type, 2, true);
  append(b, rest);
  return b;
}
inline constexpr std::uint32_t kOuterSource = 0xc0000201, kOuterDestination = 0xc0000202;
inline Blob ipv4_packet(std::uint8_t protocol, const Blob& rest) {
  Blob b{0x45, 0};
  put(b, 20 + rest.size(), 2, true);
  put(b, 0x4000, 4, true);
  b[4] = 0;
  b[6] = 0x40, b[7] = 0;
  put(b, 64, 1);
  put(b, protocol, 1);
  put(b, 0, 2);
  put(b, kOuterSource, 4, true);
  put(b, kOuterDestination, 4, true);
  put_ip_checksum(b, 0);
  append(b, rest);
  return b;
}
inline Blob ipv6_packet(std::uint8_t next, const Blob& rest) {
  Blob b;
  put(b, 6u << 28, 4, true);
  put(b, rest.size(), 2, true);
  put(b, next, 1);
  put(b, 64, 1);
  for (const std::uint8_t last : {1, 2}) {
    put(b, 0x20010db8, 4, true);
    put(b, 0, 8);
    put(b, last, 4, true);
  }
  append(b, rest);
  return b;
}
inline Blob udp_datagram(std::uint16_t port, const Blob& rest) {
  Blob b;
  put(b, 0xabcd, 2, true);
  put(b, port, 2, true);
  put(b, 8 + rest.size(), 2, true);
  put(b, 0, 2);
  append(b, rest);
  return b;
}
inline Blob joined(const Blob& head, const Blob& rest) {
  Blob b = head;
  append(b, rest);
  return b;
}
inline Blob without_ethernet(const Blob& frame) { return {frame.begin() + 14, frame.end()}; }

}  // namespace rxnic
