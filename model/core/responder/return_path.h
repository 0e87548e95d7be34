// SPDX-License-Identifier: Apache-2.0
// The way back of a QP's answers, remembered: its requests seldom differ in what an answer takes from them. A memory of
// the simulator, not of the NIC: the answers are those of core/responder/response.h, byte by byte.
//
//   R1  Kept of a request are the header bytes that decide about its answer (R1 of response.h). A request with others,
//       or of another peer, is parsed.
//   R2  RoCEv2 in untagged Ethernet frames, without IPv4 options. Other requests are parsed each time.
//   R3  The ACK is kept as a frame, and its ICRC up to where PSN and AETH begin.
#pragma once

#include <array>
#include <cstdint>

#include "model/types/packet.h"

namespace rxnic {

inline constexpr std::size_t kMostAckBytes = 88;  // MAC, IPv6, UDP, BTH, AETH, ICRC: 86

// An ACK, NAK or RNR NAK as it leaves.
struct AckFrame {
  std::array<std::uint8_t, kMostAckBytes> data;
  std::uint8_t bytes = 0;  // 0: none
};

class ReturnPath {
 public:
  // Whether the answer to `request`, the frame of a QP whose peer is `peer`, goes the way that is remembered.
  bool is_of(Bytes request, LinkLayer link, Qpn peer) const;
  // Remembers the way back of the request with these headers. Nothing is remembered when it is none of R2.
  void remember(Bytes request, const Headers& h, Qpn peer);
  bool knows_ack() const { return words_ != 0; }
  // With the opcode of an ACK.
  const Headers& headers() const { return headers_; }
  void write_ack(Psn psn, std::uint8_t syndrome, std::uint32_t msn, AckFrame& out) const;

 private:
  static constexpr std::size_t kWords = 9;  // of 8 bytes: Ethernet to P_Key, with IPv6
  std::uint32_t words_ = 0;                 // that are compared; 0: nothing is remembered
  std::uint32_t crc_ = 0;                   // of the ACK up to its PSN, with masked fields (core/wire/icrc.h)
  Qpn peer_{};
  bool ipv6_ = false;
  std::array<std::uint64_t, kWords> request_{};  // the bytes that decide, others 0
  AckFrame ack_;
  Headers headers_;
};

}  // namespace rxnic
