// SPDX-License-Identifier: Apache-2.0
// The program's side of a send queue: how WRs become WQEs (model/types/send_work_queue.h).
//
//   R1  Refused with EINVAL: a QP that is not in RTS, SQD, SQE or ERR; more SGEs than max_sge; a UD WR without an
//       address handle. Also more inline bytes than max_inline, or inline data with an opcode that returns data (READ,
//       COMP_SWAP, FETCH_ADD). Also an opcode that the transport does not have (rules 4), and IP_CSUM on a QP that is
//       neither UD nor RAW_PACKET. Also BIND_MW without a type 2 window, with the key of another one, or with an
//       address and no region. Also TSO that is inline, or lacks an MSS or a header. Also TSO with a header longer than
//       max_tso_header, more data than max_tso, or a packet longer than the MTU. With EOPNOTSUPP: opcodes that this
//       device does not have, though the manual page gives them to the transport. With ENOMEM: a full queue. FENCE is
//       for RC and XRC, and SOLICITED for what takes a receive: elsewhere they mean nothing, as with hardware.
//   R2  SGEs of length 0 are left out.
//   R3  A slot is free again when its completion, or that of a later WQE of the queue, was polled.
//   R4  The doorbell of a WQE that is posted alone says how long the WQE is. A device that takes WQEs of that length
//       with their doorbells need not read the WQE.
#pragma once

#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

bool may_send(const Qp& qp);
// 0, EINVAL or EOPNOTSUPP.
int check_opcode(ibv_qp_type type, ibv_wr_opcode opcode);
// 0 or EINVAL.
int check_flags(ibv_qp_type type, unsigned int send_flags);
// About a WQE that was begun: whether it may have inline data; SGEs or inline data.
bool takes_inline(SendOpcode opcode);
bool takes_data(SendOpcode opcode);

inline bool has_room(const SendQueue& queue, std::uint32_t producer) {
  return producer - queue.consumer.load(std::memory_order_acquire) < queue.slots;
}
inline std::uint8_t* slot_of(const SendQueue& queue, std::uint32_t index) {
  return queue.ring + static_cast<std::size_t>(index & (queue.slots - 1)) * queue.stride;
}
// The parts of a WQE.
inline SendControl& control_of(std::uint8_t* wqe) { return *reinterpret_cast<SendControl*>(wqe); }
inline RemoteSegment& remote_of(std::uint8_t* wqe) {
  return *reinterpret_cast<RemoteSegment*>(wqe + sizeof(SendControl));
}
inline WindowSegment& window_of(std::uint8_t* wqe) {
  return *reinterpret_cast<WindowSegment*>(wqe + sizeof(SendControl));
}
inline AddressVector& address_of(std::uint8_t* wqe) {
  return *reinterpret_cast<AddressVector*>(wqe + sizeof(SendControl));
}

// Begins a WQE at `index`, which has room: clears it but for its data, writes opcode and flags, notes the WR for its
// completion. `opcode` was checked.
std::uint8_t* begin_wqe(SendQueue& queue, std::uint32_t index, ibv_wr_opcode opcode, unsigned int send_flags,
                        std::uint64_t wr_id);
// BIND_MW: what the window is bound to. 0 or EINVAL.
int set_window(std::uint8_t* wqe, std::uint32_t rkey, const ibv_mw_bind_info& to);
// As set_window(), for a type 2 window, whose keys differ in the low 8 bits alone.
int set_window_2(std::uint8_t* wqe, const ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& to);
// TSO: its header and MSS, before any data. 0 or EINVAL.
int set_tso(const Qp& qp, std::uint8_t* wqe, const void* header, std::uint16_t bytes, std::uint16_t mss);
// Adds data. 0 or EINVAL.
int add_sges(const Qp& qp, std::uint8_t* wqe, const ibv_sge* sges, std::size_t count);
int add_inline(const SendQueue& queue, std::uint8_t* wqe, const void* data, std::size_t bytes);

// WQEs up to `producer` are written: makes them visible and rings the doorbell. The queue's lock is held.
void publish(Context& context, SendQueue& queue, std::uint32_t producer);

// The WQE in `slot` was completed (R3).
SentWr complete_send(SendQueue& queue, std::uint32_t slot);

}  // namespace rxnic::verbs
