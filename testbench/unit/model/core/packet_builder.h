// SPDX-License-Identifier: Apache-2.0
// Packets for tests of decisions: header fields set directly, no frame around them.
//
//   QpContext qp = make_qp(Transport::kRc);
//   auto p = make_packet(qp, {.operation = Operation::kSendOnly, .psn = kFirstPsn, .payload = 64});
#pragma once

#include <cstdint>
#include <memory>

#include "model/core/responder/responder.h"

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
  std::uint32_t srq = 0;      // XRCETH
  bool ack_request = false;
  bool solicited = false;
  std::uint64_t arrived = 0;  // cycle
};

// A packet from the QP's peer, as the parser and the context cache pass it on; its ICRC is good.
inline ContextPacket arrived_packet(const QpContext& qp, const PacketSpec& spec) {
  ContextPacket p;
  p.line = qp.line;
  p.residence = qp.residence;
  p.icrc_ok = true;
  p.opcode = spec.operation == Operation::kCnp ? kOpcodeCnp : opcode_of(qp.transport, spec.operation);
  p.destination_qp = qp.qpn;
  p.source = Address::ipv4(0x0a000002);
  p.destination = Address::ipv4(0x0a000001);
  p.pkey = 0xffff;
  p.psn = Psn{spec.psn};
  p.payload_bytes = static_cast<std::uint16_t>(spec.payload);
  p.ack_request = spec.ack_request;
  p.solicited = spec.solicited;
  const std::uint32_t traits = opcode_info(p.opcode).traits;
  if ((traits & (kHasReth | kHasAtomicEth)) != 0) {
    p.va = spec.va;
    p.rkey = Key{spec.rkey};
    p.length = spec.length;
  }
  if ((traits & kHasDeth) != 0) p.qkey = qp.qkey;
  p.syndrome = spec.syndrome;
  p.xrc_srq = Srqn{spec.srq};
  p.arrived = Cycle{spec.arrived};
  return p;
}

// The packet above as the transport checker has it.
inline std::unique_ptr<CheckedPacket> make_packet(QpContext& qp, const PacketSpec& spec) {
  return std::make_unique<CheckedPacket>(examine(arrived_packet(qp, spec), qp));
}

}  // namespace rxnic
