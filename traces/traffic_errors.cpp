// SPDX-License-Identifier: Apache-2.0
// Traffic's errors: choosing a cause, and making a packet that has it.
#include <array>
#include <cstring>

#include "model/types/syndrome.h"
#include "traces/traffic.h"
#include "traces/traffic_layout.h"

namespace rxnic {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::size_t kRoomAfterBth = 8;

}  // namespace

const char* injected_name(Injected i) {
  constexpr std::array kNames{"none",
                              "cut_in_capture",
                              "too_short",
                              "bad_length",
                              "fragment",
                              "foreign_address",
                              "unknown_opcode",
                              "missing_headers",
                              "version",
                              "qpn_zero",
                              "multicast",
                              "unknown_qpn",
                              "other_transport",
                              "other_source",
                              "pkey",
                              "qkey",
                              "icrc",
                              "psn_ahead",
                              "repeat",
                              "opcode_sequence",
                              "length",
                              "bad_rkey",
                              "out_of_bounds",
                              "no_right",
                              "too_large",
                              "unsolicited_answer",
                              "cnp",
                              "not_rdma"};
  static_assert(kNames.size() == kInjectedCauses);
  return kNames[static_cast<std::size_t>(i)];
}

bool is_fatal(Injected i) {
  switch (i) {
    case Injected::kOpcodeSequence:
    case Injected::kLength:
    case Injected::kBadRkey:
    case Injected::kOutOfBounds:
    case Injected::kNoRight:
    case Injected::kTooLarge:
      return true;
    default:
      return false;
  }
}

Injected Traffic::choose_cause(Stream& s) {
  if (below(kMillion) >= config_.errors_per_million) return Injected::kNone;
  const auto cause = static_cast<Injected>(1 + below(static_cast<std::uint32_t>(kInjectedCauses) - 1));
  if (!(config_.causes >> static_cast<unsigned>(cause) & 1)) return Injected::kNone;
  const bool busy = s.ahead_left != 0 || s.doomed_left != 0 || s.too_large;
  switch (cause) {
    case Injected::kPsnAhead:
      return busy || s.transport == Transport::kUd ? Injected::kNone : cause;
    case Injected::kRepeat:
      return busy || !s.has_last || s.transport == Transport::kUd ? Injected::kNone : cause;
    case Injected::kTooLarge:
      if (s.in_message || s.transport == Transport::kUd) return Injected::kNone;
      break;
    case Injected::kOpcodeSequence:
    case Injected::kLength:
    case Injected::kBadRkey:
    case Injected::kOutOfBounds:
    case Injected::kNoRight:
      if (s.in_message || s.transport == Transport::kUd) return Injected::kNone;
      break;
    default:
      return cause;
  }
  if (busy) return Injected::kNone;
  if (is_reliable(s.transport)) {  // R3: the spare one is set aside now
    if (s.transport != Transport::kRc || next_spare_ == qps_.size()) return Injected::kNone;
    s.replacement = next_spare_++;
  }
  return cause;
}

// Packets that are not the stream's next one. False: the stream's next one it is.
bool Traffic::inject_before(std::size_t i, Injected cause, Headers& h, std::uint32_t& payload) {
  Stream& s = streams_[i];
  const auto make = [&](Operation op, std::uint32_t bytes) {
    base(s, h);
    h.opcode = opcode_of(s.transport, op);
    h.ack_request = is_reliable(s.transport);
    payload = bytes;
    s.psn = s.psn + 1;
    return true;
  };
  const auto make_write = [&](Key rkey, std::uint64_t va, std::uint32_t length) {
    make(Operation::kWriteOnly, std::min<std::uint32_t>(length, 64));
    h.rkey = rkey;
    h.va = va;
    h.length = length;
    return true;
  };
  switch (cause) {
    case Injected::kRepeat:
      h = last_[i].h;
      payload = last_[i].payload;
      return true;
    case Injected::kPsnAhead: {  // R4
      if (is_reliable(s.transport)) {
        last_[i].checkpoint = s;
        s.ahead_left = 1 + below(3);
      }
      advance(s, h);  // this one is not sent
      return false;
    }
    case Injected::kOpcodeSequence:
      return make(Operation::kSendMiddle, config_.mtu);
    case Injected::kLength:
      if (below(2) == 0 && config_.mtu < kMaxMtu) return make(Operation::kSendOnly, config_.mtu + 4);
      make_write(traffic::kDataKey, traffic::kDataVa, 64);
      h.length = kMaxMessageBytes + 1;
      return true;
    case Injected::kBadRkey:
      return make_write(traffic::kNoKey, traffic::kDataVa, 64);
    case Injected::kOutOfBounds:
      return make_write(traffic::kDataKey, traffic::kDataVa + traffic::region_bytes(largest_message()) - 63, 64);
    case Injected::kNoRight:
      return make_write(traffic::kReadOnlyKey, traffic::kReadOnlyVa, 64);
    case Injected::kTooLarge:
      begin(s);
      s.message = SendOpcode::kSend;
      s.bytes = largest_buffer() + 1 + below(config_.mtu);
      s.too_large = true;
      return false;
    case Injected::kMissingHeaders:  // its opcode is changed in the frame
      base(s, h);
      h.opcode = opcode_of(s.transport == Transport::kUd ? Transport::kUc : s.transport, Operation::kSendOnly);
      payload = 4;
      return true;
    case Injected::kUnsolicitedAnswer:
      base(s, h);
      h.opcode = opcode_of(Transport::kRc, Operation::kAck);
      h.psn = Psn{static_cast<std::uint32_t>(random() >> 40)};
      h.syndrome = kAckUnlimited;
      return true;
    case Injected::kCnp:
      base(s, h);
      h.opcode = kOpcodeCnp;
      h.becn = true;
      h.psn = Psn{0};
      return true;
    case Injected::kCutInCapture:
    case Injected::kTooShort:
    case Injected::kBadLength:
    case Injected::kFragment:
    case Injected::kForeignAddress:
    case Injected::kUnknownOpcode:
    case Injected::kVersion:
    case Injected::kQpnZero:
    case Injected::kMulticast:
    case Injected::kUnknownQpn:
    case Injected::kOtherTransport:
    case Injected::kOtherSource:
    case Injected::kPkey:
    case Injected::kQkey:
    case Injected::kIcrc:
      // An extra packet, so that what the receiver leaves out is not missed.
      base(s, h);
      h.opcode = opcode_of(s.transport, Operation::kSendOnly);
      payload = 64;
      return true;
    default:
      return false;
  }
}

void Traffic::inject_header(Injected cause, const Stream& s, Headers& h) {
  switch (cause) {
    case Injected::kForeignAddress:
      h.destination.bytes[15] ^= 0x80;
      break;
    case Injected::kOtherSource:
      h.source.bytes[15] ^= 0x80;
      break;
    case Injected::kFragment:
      if (h.encapsulation != Encapsulation::kRoceV2Ipv4) h.version = 1;
      break;
    case Injected::kVersion:
      h.version = 1;
      break;
    case Injected::kQpnZero:
      h.destination_qp = Qpn{0};
      break;
    case Injected::kMulticast:
      h.destination_qp = kMulticastQpn;
      break;
    case Injected::kUnknownQpn:
      h.destination_qp = Qpn{0xfffff0};
      break;
    case Injected::kOtherTransport: {
      const Transport other = s.transport == Transport::kUc ? Transport::kRc : Transport::kUc;
      h.opcode = opcode_of(other, Operation::kSendOnly);
      break;
    }
    case Injected::kPkey:
      h.pkey = 0x1234;
      break;
    case Injected::kQkey:
      if (s.transport == Transport::kUd) {
        h.qkey ^= 1;
      } else {
        h.pkey = 0x1234;
      }
      break;
    default:
      break;
  }
}

// What build() does not write: before the frame is sealed.
void Traffic::inject_frame(std::span<std::uint8_t> out, TrafficFrame& f) const {
  std::uint8_t* p = out.data();
  switch (f.injected) {
    case Injected::kUnknownOpcode:
      p[f.h.bth_offset] = opcode_of(Transport::kRd, Operation::kUnknown);
      break;
    case Injected::kMissingHeaders:
      p[f.h.bth_offset] = opcode_of(Transport::kRc, Operation::kWriteOnly);
      break;
    case Injected::kFragment:
      if (f.h.encapsulation == Encapsulation::kRoceV2Ipv4) p[f.h.network_offset + 6] = 0x20;  // more fragments
      break;
    case Injected::kBadLength: {
      const bool udp =
          f.h.encapsulation == Encapsulation::kRoceV2Ipv4 || f.h.encapsulation == Encapsulation::kRoceV2Ipv6;
      const std::size_t at = udp                                            ? f.h.bth_offset - 4u
                             : f.h.encapsulation == Encapsulation::kIbLocal ? 4u
                                                                            : f.h.network_offset + 4u;
      store_be16(p + at, static_cast<std::uint16_t>(load_be16(p + at) + 1));
      break;
    }
    default:
      break;
  }
}

void Traffic::damage(std::span<std::uint8_t> frame, TrafficFrame& f) {
  switch (f.injected) {
    case Injected::kIcrc:
      frame[f.h.icrc_offset] ^= 1;
      break;
    case Injected::kCutInCapture:
      f.bytes = f.h.payload_offset + 16u;
      break;
    case Injected::kTooShort:
      f.bytes = f.wire_bytes = static_cast<std::uint32_t>(f.h.bth_offset + kRoomAfterBth);
      break;
    default:
      break;
  }
}

// R3, R4: where the stream continues.
void Traffic::after(std::size_t i, Injected cause) {
  Stream& s = streams_[i];
  if (s.ahead_left != 0 && --s.ahead_left == 0) {
    s = last_[i].checkpoint;
    s.has_last = false;
    return;
  }
  const bool fatal = is_fatal(cause) && cause != Injected::kTooLarge;
  if (is_reliable(s.transport)) {
    const bool large_done = s.too_large && !s.in_message;
    if (fatal || large_done) s.doomed_left = 1 + below(4);
  }
  if (s.too_large && !s.in_message) s.too_large = false;
  if (s.doomed_left == 0 || --s.doomed_left != 0) return;
  const SurveyedQp& spare = qps_[s.replacement];
  s = Stream{};
  s.qpn = spare.qpn;
  s.transport = spare.transport;
  s.psn = spare.first_psn;
}

void Traffic::arp(std::span<std::uint8_t> out, TrafficFrame& f) {
  f.bytes = 60;
  f.rdma = false;
  f.injected = Injected::kNotRdma;
  std::memset(out.data(), 0, f.bytes);
  std::memset(out.data(), 0xff, 6);
  out[6] = 2;
  out[11] = 1;
  store_be16(out.data() + 12, 0x0806);
}

}  // namespace rxnic
