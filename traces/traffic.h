// SPDX-License-Identifier: Apache-2.0
// A generator of request packets for benchmarks and random tests: one receiver, any number of QPs, any mix.
//
//   R1  Equal configurations give equal frames. Nothing is allocated for a frame.
//   R2  Without errors every packet is one that a receiver accepts. PSNs are in sequence, messages are cut at the MTU,
//       and WRITEs, READs and atomics stay within the regions and rights that survey() returns.
//   R3  With errors, about errors_per_million of the packets have one of the causes in `causes`. A cause that moves an
//       RC QP to the error state (is_fatal) is only used while a spare QP is left. Up to three more packets go to the
//       failed QP, then a spare one takes its place.
//   R4  kPsnAhead on RC: one packet is left out, up to three follow, then all of them come once more, as after a NAK.
//   R5  Frames leave back to back at `gbps` and at `load` of its rate, 24 bytes (preamble, FCS, gap) between them.
//
// A frame is written without its ICRC: the caller seals it (model/core/wire/icrc.h) when `rdma`, then calls damage().
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/types/send_opcode.h"
#include "model/types/wire.h"
#include "traces/survey.h"

namespace rxnic {

enum class Injected : std::uint8_t {
  kNone,
  kCutInCapture,    // wire_bytes is larger than what was captured
  kTooShort,        // ends in the BTH
  kBadLength,       // UDP or GRH length
  kFragment,        // IPv4; otherwise as kVersion
  kForeignAddress,  // for another receiver
  kUnknownOpcode,
  kMissingHeaders,
  kVersion,
  kQpnZero,
  kMulticast,  // QPN 0xffffff
  kUnknownQpn,
  kOtherTransport,
  kOtherSource,  // RC, UC: not the peer
  kPkey,
  kQkey,  // UD; otherwise as kPkey
  kIcrc,
  kPsnAhead,
  kRepeat,  // the QP's last packet once more
  kOpcodeSequence,
  kLength,  // longer than the MTU, or a RETH length above 2^31
  kBadRkey,
  kOutOfBounds,
  kNoRight,
  kTooLarge,  // longer than the receive buffer
  kUnsolicitedAnswer,
  kCnp,
  kNotRdma,  // ARP
  kCount,
};
inline constexpr std::size_t kInjectedCauses = static_cast<std::size_t>(Injected::kCount);
const char* injected_name(Injected i);
bool is_fatal(Injected i);  // to an RC or XRC QP
inline constexpr std::uint64_t kAllCauses = (std::uint64_t{1} << kInjectedCauses) - 2;

// Weights of the kinds of message; a QP leaves out those that its transport does not have.
struct TrafficMix {
  std::uint32_t send = 1, send_imm = 0, send_inv = 0, write = 0, write_imm = 0, read = 0, swap = 0, add = 0,
                atomic_write = 0;
};

struct TrafficConfig {
  std::uint64_t seed = 1;
  Address sender = Address::ipv4(0x0a000001);
  Address receiver = Address::ipv4(0x0a000002);
  Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4;
  std::uint32_t rc_qps = 1, uc_qps = 0, ud_qps = 0, xrc_qps = 0;
  std::uint32_t spare_qps = 0;  // RC
  TrafficMix mix;
  std::uint32_t min_bytes = 64, max_bytes = 64;  // of a message: uniform; UD: at most the MTU
  std::uint16_t mtu = 1024;
  std::uint32_t receive_buffer = 0;  // of the host, for kTooLarge; 0: max_bytes
  bool tag_matching = false;         // SENDs begin with an eager TMH, their tag counts up from 0 modulo `tags`
  std::uint64_t tags = 1024;
  std::uint32_t errors_per_million = 0;
  std::uint64_t causes = kAllCauses;  // bit set by Injected
  double gbps = 100.0;
  double load = 1.0;
};

struct TrafficFrame {
  std::uint64_t time_ps = 0;     // of its last byte
  Headers h;                     // as build() left them
  std::uint32_t bytes = 0;       // written
  std::uint32_t wire_bytes = 0;  // more than `bytes` after damage() of kCutInCapture
  Injected injected = Injected::kNone;
  bool rdma = true;
};

class Traffic {
 public:
  explicit Traffic(const TrafficConfig& config);  // std::invalid_argument: no QP, or sizes that cannot be
  // The next frame, written to `out` (at least kMaxFrameBytes).
  TrafficFrame next(std::span<std::uint8_t> out);
  // What has to be done to the sealed frame: flips a bit of the ICRC or cuts it short.
  static void damage(std::span<std::uint8_t> frame, TrafficFrame& f);
  // The receiver's side for make_host_plan(): all QPs, spare ones too, and the regions.
  ReceiverSurvey survey() const;

 private:
  struct Stream {
    Qpn qpn{};
    Transport transport = Transport::kRc;
    Psn psn;
    SendOpcode message = SendOpcode::kSend;
    std::uint32_t bytes = 0;  // of the current message
    std::uint32_t sent = 0;
    bool in_message = false;
    Key invalidates{};              // SEND WITH INVALIDATE
    std::uint32_t ahead_left = 0;   // R4: packets until the QP goes back
    std::uint32_t doomed_left = 0;  // R3: packets until a spare one takes its place, plus one
    std::uint32_t replacement = 0;  // index of the spare one
    bool too_large = false;
    bool has_last = false;
  };
  struct Last {  // R4, and for kRepeat
    Headers h;
    std::uint32_t payload = 0;
    Stream checkpoint;
  };

  std::uint64_t random();
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((random() >> 32) * n >> 32); }
  void add_stream(Transport transport);
  void begin(Stream& s);
  Headers common() const;
  void base(const Stream& s, Headers& h) const;
  std::uint32_t advance(Stream& s, Headers& h);
  std::uint32_t advance_message(Stream& s, Headers& h, std::uint32_t traits, std::uint64_t room);
  Injected choose_cause(Stream& s);
  bool inject_before(std::size_t i, Injected cause, Headers& h, std::uint32_t& payload);
  static void inject_header(Injected cause, const Stream& s, Headers& h);
  void inject_frame(std::span<std::uint8_t> out, TrafficFrame& f) const;
  void after(std::size_t i, Injected cause);
  void put_payload(std::span<std::uint8_t> out, const Headers& h, std::uint32_t bytes);
  static void arp(std::span<std::uint8_t> out, TrafficFrame& f);
  std::uint32_t largest_message() const;
  std::uint32_t largest_buffer() const;

  TrafficConfig config_;
  Headers common_;
  std::array<std::uint32_t, static_cast<std::size_t>(SendOpcode::kCount)> weights_{};
  std::uint64_t state_;
  std::vector<Stream> streams_;
  std::vector<Last> last_;
  std::vector<SurveyedQp> qps_;
  std::uint32_t next_spare_ = 0;
  std::uint64_t next_tag_ = 0;
  std::uint32_t next_invalidated_ = 0;
  double time_ps_ = 0;
  std::array<std::uint8_t, 8192> pattern_;
};

}  // namespace rxnic
