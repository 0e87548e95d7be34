// SPDX-License-Identifier: Apache-2.0
// Packets for tests of decisions: header fields set directly, no frame around them.
//
//   QpContext qp = make_qp(Transport::kRc);
//   auto p = make_packet(qp, {.operation = Operation::kSendOnly, .psn = kFirstPsn, .payload = 64});
#pragma once

#include <cstdint>
#include <memory>

#include "model/types/packet.h"

namespace rxnic {

inline constexpr std::uint32_t kFirstPsn = 100;
inline constexpr std::uint16_t kTestMtu = 256;
inline constexpr Qpn kTestQpn{0x11};
inline constexpr Pdn kTestPd{7};
inline constexpr Cqn kTestReceiveCq{3};
inline constexpr Cqn kTestSendCq{4};
inline constexpr WqId kTestQueue{5};

// A QP that is ready for everything; its peer is 10.0.0.2.
inline QpContext make_qp(Transport transport) {
  QpContext qp;
  qp.valid = 1;
  qp.state = QpState::kRts;
  qp.transport = transport;
  qp.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  qp.qpn = kTestQpn;
  qp.remote_qpn = Qpn{0x22};
  qp.pd = kTestPd;
  qp.mtu = kTestMtu;
  qp.receive_cq = kTestReceiveCq;
  qp.send_cq = kTestSendCq;
  qp.receive_queue = kTestQueue;
  qp.expected_psn = Psn{kFirstPsn};
  qp.qkey = 0x1234;
  if (transport != Transport::kUd) {
    qp.local = Address::ipv4(0x0a000001);
    qp.remote = Address::ipv4(0x0a000002);
  }
  return qp;
}

struct PacketSpec {
  Operation operation = Operation::kSendOnly;
  std::uint32_t psn = kFirstPsn;
  std::uint32_t payload = 0;  // bytes
  std::uint32_t length = 0;   // RETH
  std::uint64_t va = 0x10000;
  std::uint32_t rkey = 0x4200;
  std::uint8_t syndrome = 0;  // AETH
  std::uint32_t msn = 0;      // AETH
  std::uint64_t original = 0;
  std::uint32_t srq = 0;  // XRCETH
  bool ack_request = false;
  bool solicited = false;
  std::uint64_t arrived = 0;  // cycle
};

// Fills a packet that the QP's peer sends it; its ICRC is good. `p` is as it was after reset().
inline void fill_packet(Packet& p, QpContext& qp, const PacketSpec& spec) {
  p.qp = &qp;
  p.icrc_ok = true;
  p.h.opcode = spec.operation == Operation::kCnp ? kOpcodeCnp : opcode_of(qp.transport, spec.operation);
  p.h.destination_qp = qp.qpn;
  p.h.source = Address::ipv4(0x0a000002);
  p.h.destination = Address::ipv4(0x0a000001);
  p.h.pkey = 0xffff;
  p.h.psn = Psn{spec.psn};
  p.h.payload_bytes = static_cast<std::uint16_t>(spec.payload);
  p.h.ack_request = spec.ack_request;
  p.h.solicited = spec.solicited;
  if (p.has(kHasReth | kHasAtomicEth)) {
    p.h.va = spec.va;
    p.h.rkey = Key{spec.rkey};
    p.h.length = spec.length;
  }
  if (p.has(kHasDeth)) p.h.qkey = qp.qkey;
  p.h.syndrome = spec.syndrome;
  p.h.msn = spec.msn;
  p.h.original = spec.original;
  p.h.xrc_srq = Srqn{spec.srq};
  p.stamp(Station::kWire, Cycle{spec.arrived});
}

inline std::unique_ptr<Packet> make_packet(QpContext& qp, const PacketSpec& spec) {
  auto p = std::make_unique<Packet>();
  fill_packet(*p, qp, spec);
  return p;
}

}  // namespace rxnic
