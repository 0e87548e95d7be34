// SPDX-License-Identifier: Apache-2.0
// The syndrome of an AETH: the meaning of an ACKNOWLEDGE (rules 6; IBTA volume 1, 9.7.5.2).
//
//   R1  Its upper three bits are its kind: 000 an ACK, 001 an RNR NAK. Anything else counts as a NAK (011 in those that
//       the specification defines).
//   R2  ACK: the lower five bits are a credit code (9.7.7.2.2); 0x1f: credits are unlimited or not counted.
//   R3  RNR NAK: the lower five bits are the code of the time after which the request may be sent again.
//   R4  NAK: the kind of error. A PSN sequence error (0x60) is repaired by sending again; every other one ends the
//       request and its QP.
#pragma once

#include <array>
#include <cstdint>

namespace rxnic {

enum class AckKind : std::uint8_t { kAck, kRnrNak, kNak };
constexpr AckKind ack_kind(std::uint8_t syndrome) {  // (R1)
  return syndrome >> 5 == 0 ? AckKind::kAck : syndrome >> 5 == 1 ? AckKind::kRnrNak : AckKind::kNak;
}

inline constexpr std::uint8_t kAckUnlimited = 0x1f;  // (R2)

inline constexpr std::uint8_t kNakSequence = 0x60;  // (R4)
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccess = 0x62;
inline constexpr std::uint8_t kNakRemoteOperation = 0x63;
constexpr bool ends_qp(std::uint8_t syndrome) {
  return ack_kind(syndrome) == AckKind::kNak && syndrome != kNakSequence;
}

// (R3)
inline constexpr std::uint8_t kMaxRnrTimer = 31;
constexpr std::uint8_t rnr_nak(std::uint8_t timer) { return static_cast<std::uint8_t>(0x20 | timer); }
inline constexpr std::array<std::uint32_t, kMaxRnrTimer + 1> kRnrTimerUs = {
    655360, 10,   20,   30,   40,    60,    80,    120,   160,   240,   320,   480,    640,    960,    1280,   1920,
    2560,   3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
constexpr std::uint32_t rnr_timer_us(std::uint8_t syndrome) { return kRnrTimerUs[syndrome & kMaxRnrTimer]; }

}  // namespace rxnic
