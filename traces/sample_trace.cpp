// SPDX-License-Identifier: Apache-2.0
#include "traces/sample_trace.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/types/send_opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {
namespace {

constexpr std::uint32_t kPeer = 0x0a000001;      // 10.0.0.1
constexpr std::uint32_t kReceiver = 0x0a000002;  // 10.0.0.2
constexpr std::uint32_t kMtu = 1024;
constexpr std::uint64_t kGapPs = 1'500'000;
constexpr std::uint8_t kRnr640us = rnr_nak(12);
constexpr std::uint64_t kRnrPs = 900'000'000;  // above the timer's 640 us
constexpr Key kDataKey{0x1234};
constexpr std::uint64_t kDataVa = 0x7f00'0001'0000;
constexpr Key kCounterKey{0x1301};
constexpr std::uint64_t kCounterVa = 0x7f00'0002'0040;

struct End {
  Transport transport = Transport::kRc;
  Qpn peer_qpn{}, own_qpn{};  // of 10.0.0.1 and of 10.0.0.2
  std::uint16_t port = 0;
  Psn to_receiver, to_peer;
  std::uint32_t msn = 0;  // of 10.0.0.2 as responder
};

class Scene {
 public:
  explicit Scene(SealFrame seal) : seal_(seal) {}

  Headers headers(const End& e, bool to_receiver, Operation op, Psn psn) const {
    Headers h;
    h.encapsulation = Encapsulation::kRoceV2Ipv4;
    h.source_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(to_receiver ? 1 : 2)};
    h.destination_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(to_receiver ? 2 : 1)};
    h.source = Address::ipv4(to_receiver ? kPeer : kReceiver);
    h.destination = Address::ipv4(to_receiver ? kReceiver : kPeer);
    h.traffic_class = 0x02;  // ECN capable
    h.hop_limit = kDefaultHopLimit;
    h.udp_source_port = e.port;
    h.opcode = op == Operation::kCnp ? kOpcodeCnp : opcode_of(e.transport, op);
    h.migrated = true;
    h.pkey = kDefaultPkey;
    h.destination_qp = to_receiver ? e.own_qpn : e.peer_qpn;
    h.source_qp = e.transport == Transport::kUd ? e.peer_qpn : Qpn{};
    h.psn = psn;
    return h;
  }

  void add(Headers h, std::uint32_t payload_bytes, bool bad_icrc = false) {
    std::vector<std::uint8_t> payload(payload_bytes);
    for (std::uint8_t& b : payload) b = static_cast<std::uint8_t>(next_byte_ += 7);
    std::array<std::uint8_t, kMaxFrameBytes> frame;
    const std::size_t bytes = build(h, payload, frame);
    seal_(std::span(frame).first(bytes), h);
    if (bad_icrc) frame[bytes - 1] ^= 0x10;
    time_ps_ += kGapPs;
    frames_.push_back({time_ps_, {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes)}});
  }

  // A message from 10.0.0.1 in as many packets as it takes; the last one asks for an ACK.
  void message(End& e, SendOpcode opcode, std::uint32_t bytes, std::uint32_t immediate = 0) {
    const bool imm = has(opcode, kHasImm);
    for (std::uint32_t at = 0; at < bytes || at == 0; at += kMtu) {
      const bool is_first = at == 0;
      const bool is_last = at + kMtu >= bytes;
      Headers h = headers(e, true, operation_of(opcode, is_first, is_last), e.to_receiver);
      h.ack_request = is_last && e.transport != Transport::kUd;
      h.solicited = is_last && imm;
      if (is_first && has(opcode, kWrite)) {
        h.va = kDataVa + 64;
        h.rkey = kDataKey;
        h.length = bytes;
      }
      if (imm && is_last) h.immediate = immediate;
      if (e.transport == Transport::kUd) h.qkey = 0x11111111;
      if (e.transport == Transport::kXrc) h.xrc_srq = Srqn{5};
      add(h, std::min(kMtu, bytes - at));
      e.to_receiver = e.to_receiver + 1;
    }
  }

  void acknowledge(End& e, bool new_message = true) {
    if (new_message) ++e.msn;
    answer(e, Operation::kAck, e.to_receiver.previous(), kAckUnlimited, 0);
  }

  void answer(const End& e, Operation op, Psn psn, std::uint8_t syndrome, std::uint32_t bytes,
              std::uint64_t original = 0) {
    Headers h = headers(e, false, op, psn);
    h.syndrome = syndrome;
    h.msn = e.msn;
    h.original = original;
    add(h, bytes);
  }

  void atomic(End& e, Operation op, std::uint64_t swap_add, std::uint64_t compare, std::uint64_t original) {
    Headers h = headers(e, true, op, e.to_receiver);
    h.ack_request = true;
    h.va = kCounterVa;
    h.rkey = kCounterKey;
    h.swap_add = swap_add;
    h.compare = compare;
    add(h, 0);
    ++e.msn;
    answer(e, Operation::kAtomicAck, e.to_receiver, kAckUnlimited, 0, original);
    e.to_receiver = e.to_receiver + 1;
  }

  void arp_request() {
    std::vector<std::uint8_t> f = {255, 255, 255, 255, 255, 255, 2, 0,  0, 0, 0, 1, 8, 6, 0, 1, 8, 0,  6, 4, 0,
                                   1,   2,   0,   0,   0,   0,   1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2};
    f.resize(60);
    frames_.push_back({time_ps_, std::move(f)});
  }

  void wait(std::uint64_t ps) { time_ps_ += ps; }
  std::vector<SampleFrame> take() { return std::move(frames_); }

 private:
  SealFrame seal_;
  std::vector<SampleFrame> frames_;
  std::uint64_t time_ps_ = 0;
  std::uint32_t next_byte_ = 0;
};

}  // namespace

std::vector<SampleFrame> sample_frames(SealFrame seal) {
  Scene s(seal);
  End rc{Transport::kRc, Qpn{0x11}, Qpn{0x21}, 49152, Psn{0x100}, Psn{0xfffffe}, 0};
  End xrc{Transport::kXrc, Qpn{0x12}, Qpn{0x22}, 49153, Psn{0x9000}, Psn{0}, 0};
  End ud{Transport::kUd, Qpn{0x13}, Qpn{0x23}, 49154, Psn{7}, Psn{0}, 0};

  s.arp_request();
  s.message(rc, SendOpcode::kSendImm, 64, 0xcafe);
  s.acknowledge(rc);
  s.message(rc, SendOpcode::kSend, 3000);
  s.acknowledge(rc);
  s.message(rc, SendOpcode::kWrite, 2500);
  s.acknowledge(rc);
  s.message(ud, SendOpcode::kSend, 200);
  s.message(rc, SendOpcode::kWriteImm, 255, 0xbeef);
  s.acknowledge(rc);

  // A READ of two responses.
  Headers read = s.headers(rc, true, Operation::kReadRequest, rc.to_receiver);
  read.ack_request = true;
  read.va = kDataVa;
  read.rkey = kDataKey;
  read.length = 1500;
  s.add(read, 0);
  ++rc.msn;
  s.answer(rc, Operation::kReadResponseFirst, rc.to_receiver, kAckUnlimited, kMtu);
  s.answer(rc, Operation::kReadResponseLast, rc.to_receiver + 1, kAckUnlimited, 1500 - kMtu);
  rc.to_receiver = rc.to_receiver + 2;

  s.atomic(rc, Operation::kFetchAdd, 5, 0, 41);
  s.atomic(rc, Operation::kCompareSwap, 1000, 46, 46);
  s.message(ud, SendOpcode::kSendImm, 1024, 0x1234);

  // The ACK comes late: the SEND is repeated and acknowledged again.
  s.message(rc, SendOpcode::kSend, 512);
  s.acknowledge(rc);
  s.wait(kRnrPs);
  rc.to_receiver = rc.to_receiver.previous();
  s.message(rc, SendOpcode::kSend, 512);
  s.acknowledge(rc, false);

  // No receive WQE: RNR NAK, and the SEND again.
  s.message(rc, SendOpcode::kSend, 100);
  rc.to_receiver = rc.to_receiver.previous();
  s.answer(rc, Operation::kAck, rc.to_receiver, kRnr640us, 0);
  s.wait(kRnrPs);
  s.message(rc, SendOpcode::kSend, 100);
  s.acknowledge(rc);

  s.message(xrc, SendOpcode::kSend, 777);
  s.acknowledge(xrc);
  Headers cnp = s.headers(rc, true, Operation::kCnp, Psn{0});
  cnp.becn = true;
  s.add(cnp, 0);
  Headers damaged = s.headers(ud, true, Operation::kSendOnly, ud.to_receiver);
  damaged.qkey = 0x11111111;
  s.add(damaged, 300, true);
  ud.to_receiver = ud.to_receiver + 1;
  s.message(ud, SendOpcode::kSend, 33);

  // Requests of 10.0.0.2 itself, across the end of the PSNs, and their answers.
  Headers own = s.headers(rc, false, Operation::kSendOnly, rc.to_peer);
  own.ack_request = true;
  s.add(own, 48);
  Headers ack = s.headers(rc, true, Operation::kAck, rc.to_peer);
  ack.syndrome = kAckUnlimited;
  ack.msn = 1;
  s.add(ack, 0);
  Headers own_read = s.headers(rc, false, Operation::kReadRequest, rc.to_peer + 1);
  own_read.ack_request = true;
  own_read.va = 0x5500'0000'1000;
  own_read.rkey = Key{0x4500};
  own_read.length = 1400;
  s.add(own_read, 0);
  for (const bool last : {false, true}) {
    const Operation op = last ? Operation::kReadResponseLast : Operation::kReadResponseFirst;
    Headers response = s.headers(rc, true, op, rc.to_peer + (last ? 2 : 1));
    response.syndrome = kAckUnlimited;
    response.msn = 2;
    s.add(response, last ? 1400 - kMtu : kMtu);
  }
  return s.take();
}

}  // namespace rxnic
