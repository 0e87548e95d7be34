// SPDX-License-Identifier: Apache-2.0
// Request packets as the blocks behind the checker find them, for tests: a sealed frame, its headers, a QP, a decision.
#pragma once

#include <numeric>
#include <vector>

#include "model/core/responder/responder.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/nic/nic_shared.h"
#include "model/types/packet.h"
#include "model/types/segment.h"
#include "model/types/work_queue.h"
#include "testbench/unit/model/core/packet_builder.h"

namespace rxnic {

inline constexpr Qpn kTestPeer{0x2222};

inline Headers request_headers(Encapsulation encapsulation, Transport transport, Operation operation, Psn psn) {
  Headers h;
  h.encapsulation = encapsulation;
  h.source_mac = {2, 0, 0, 0, 0, 1};
  h.destination_mac = {2, 0, 0, 0, 0, 2};
  h.hop_limit = 17;
  h.traffic_class = 0x6a;  // DSCP 26, ECT(0)
  h.udp_source_port = 0xc123;
  if (encapsulation == Encapsulation::kRoceV2Ipv4) {
    h.source = Address::ipv4(0x0a000001);
    h.destination = Address::ipv4(0x0a000002);
  } else if (encapsulation == Encapsulation::kIbLocal) {
    h.source = Address::lid(5);
    h.destination = Address::lid(6);
    h.source_lid = 5;
    h.destination_lid = 6;
  } else {
    h.source = Address::parse("fe80::1");
    h.destination = Address::parse("fe80::2");
    h.flow_label = 0x12345;
    h.source_lid = 5;
    h.destination_lid = 6;
  }
  h.service_level = 3;
  h.opcode = opcode_of(transport, operation);
  h.pkey = 0xffff;
  h.destination_qp = kTestQpn;
  h.psn = psn;
  h.source_qp = Qpn{0x77};
  return h;
}

inline std::vector<std::uint8_t> counting_bytes(std::size_t n, unsigned first = 1) {
  std::vector<std::uint8_t> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(first + i * 7);
  return bytes;
}

// The frame of `h` in a buffer, sealed.
inline void set_frame(Packet& p, const Headers& h, Bytes payload) {
  p.h = h;
  const std::size_t n = build(p.h, payload, p.frame);
  seal({p.frame.data(), n}, p.h);
  p.frame_bytes = static_cast<std::uint32_t>(n);
  p.link = p.h.link;
  p.destination = h.destination;
}
inline PacketHandle place_frame(NicShared& shared, const Headers& h, Bytes payload) {
  const PacketHandle at = shared.packets.allocate(PacketClass::kReceive);
  set_frame(shared.packets[at], h, payload);
  make_scratch(shared.packets[at].h, shared.packets[at]);
  return at;
}

inline QpContext test_qp(Transport transport) {
  QpContext qp;
  qp.valid = 1;
  qp.state = QpState::kRts;
  qp.transport = transport;
  qp.qpn = kTestQpn;
  qp.remote_qpn = kTestPeer;
  qp.mtu = 1024;
  qp.pd = Pdn{3};
  qp.access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  qp.receive_cq = Cqn{4};
  return qp;
}

// A QP on the first line of the context memory that is free.
inline QpContext& place_qp(NicShared& shared, const QpContext& qp) {
  std::uint32_t line = 0;
  while (shared.contexts[line].valid != 0) ++line;
  static_cast<StoredQpContext&>(shared.contexts[line]) = qp;
  return shared.contexts[line];
}

// What the parser and the context cache say of the frame in a buffer.
inline ContextPacket context_packet(NicShared& shared, const QpContext& qp, PacketHandle at) {
  const Packet& buffer = shared.packets[at];
  Headers h;
  parse(buffer.frame_view(), buffer.link, h);
  ContextPacket p;
  describe(buffer.frame_view(), h, p);
  p.buffer = at;
  p.icrc_ok = true;
  p.line = qp.line;
  p.residence = qp.residence;
  return p;
}

// The checker's verdict on the next packet of `qp`, which is in the context memory: it is carried out.
inline WqeRequest accept_packet(NicShared& shared, QpContext& qp, PacketHandle at) {
  CheckedPacket p = examine(context_packet(shared, qp, at), qp);
  shared.contexts.pin(qp.line);
  admit(p);
  if (p.has(kFirst | kOnly | kRead | kAtomic)) {
    ++qp.messages;
    qp.message_bytes = 0;
  }
  p.message_sequence = qp.messages;
  qp.message_bytes += p.payload_bytes;
  p.message_bytes = qp.message_bytes;
  p.outcome = Outcome::kExecute;
  p.pd = qp.pd;
  p.cq = qp.receive_cq;
  p.msn_before = qp.msn;
  p.ends_message = p.has(kLast | kOnly | kRead | kAtomic);
  if (p.ends_message) ++qp.msn;
  p.takes_wqe = p.has(kTakesWqe);
  p.completes = p.ends_message && (p.has(kSend) || (p.has(kWrite) && p.has(kHasImm)));
  p.answer_psn = p.h.psn;
  p.answer_msn = qp.msn;
  p.access = p.op().access;
  if (p.access != 0) {
    p.local_va = p.h.va;
    p.local_key = p.h.rkey;
    p.local_bytes = p.has(kAtomic) ? kAtomicBytes : p.h.length;
  }
  return p;
}

// A WQE with elements of these lengths, 1 MiB apart from `va` on; the lkey of element i is (i + 1) << 8.
inline ReceiveWqe wqe_of(const std::vector<std::uint32_t>& lengths, std::uint64_t va = 0x100000) {
  ReceiveWqe wqe;
  wqe.valid = true;
  wqe.wqe_index = 9;
  wqe.sge_count = static_cast<std::uint16_t>(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    wqe.sge[i] = {lengths[i], static_cast<std::uint32_t>(i + 1) << 8, va + i * 0x100000};
    wqe.total_bytes += lengths[i];
  }
  return wqe;
}

// Where the bytes of a piece of a packet are.
inline const std::uint8_t* area_of(const Packet& buffer, BufferArea area) {
  return area == BufferArea::kFrame ? buffer.frame.data() : buffer.scratch.data();
}

}  // namespace rxnic
