// SPDX-License-Identifier: Apache-2.0
// The responder's decisions on one request packet (rules 6): PSN, opcode sequence, opcode enabled, length; then the
// QP moves on. What needs memory (WQE, keys, data) is decided by the blocks behind, which report what they refuse
// (core/responder/refusal.h).
//
//   R1  RC, XRC. PSN ahead: one NAK 0x60 with the expected PSN, then silence until it comes. When the QP
//       resynchronises (captures) the packet is taken as it is and the gap counted, unless an RNR NAK of ours made
//       it.
//   R2  RC, XRC. PSN behind: SEND and WRITE are acknowledged again and not executed again. READ and atomics are
//       replayed from the saved resource, and dropped when they differ from what was saved. They differ in their
//       operation, or, for a READ, in address and length from those that its PSN implies.
//   R3  RC, XRC. Opcode out of sequence, not enabled, or of illegal length: NAK 0x61, QP to the error state.
//   R4  UC. PSN not the expected one: dropped until a FIRST or ONLY, which restarts. A FIRST or ONLY inside a
//       message: on an RQ the message is given up and its WQE used again. On an SRQ the message's WQE completes with
//       REM_INV_REQ and the new message is dropped. Other sequence or length errors drop the rest of the message; a
//       SEND's WQE completes so if it is an SRQ's.
//   R5  UD. SEND ONLY of at most the MTU; everything else is dropped.
//   R6  Lengths: FIRST and MIDDLE exactly the MTU, LAST 1..MTU, ONLY at most the MTU. A WRITE's packets add up to its
//       RETH length, which is at most 2^31. Atomics are 8-byte aligned; an ATOMIC WRITE's payload and RETH length are 8
//       bytes.
//   R7  A READ advances the PSN by its number of responses, at least one. MSN counts at the end of each message (24
//       bits).
//   R8  An answer is due when BTH.A is set, and for every READ and atomic.
//   R9  The length of a packet that takes a WQE is checked only after it has one (`bad_length`).
//   R10 XRC: the message's WQE comes from the SRQ that XRCETH names. An SRQ that does not exist, is in another XRC
//       domain or changes within a SEND: NAK 0x61. WRITEs, READs and atomics name an SRQ, too. The memory must belong
//       to the SRQ's PD, or to the QP's when there is no such SRQ in the domain.
//   R11 A MIDDLE or LAST may come without its FIRST to a QP that resynchronises. It may also be the first request of
//       the QP in a capture (`starts_inside`). A SEND then takes its WQE there and completes with what is left of the
//       message. A WRITE, whose address is not known, is acknowledged and counted, not written.
//   R12 A packet may be refused because no WQE was available. The QP's state from before the packet is restored, in a
//       new epoch, and the QP is silent until the packet's PSN comes. An error state that a packet behind it caused
//       here is taken back, and that packet is not counted. Other refusals move the QP to the error state for good.
//   R13 RC, XRC. A repeated READ or atomic of which nothing is saved is dropped (a class D error). It may be a copy
//       that the network held back, of a request that was answered long ago. When rd_atomic_over_limit is recycle, a
//       READ that was overwritten is carried out again instead. So is any READ of a QP that resynchronises, whose
//       capture need not hold the first request.
//   R14 RC, UC, XRC. The first request that is not dropped after software has moved the QP to RTR is marked
//       (`establishes`). The QP must still be in RTR (IBTA: Communication Established).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "model/core/responder/checked_packet.h"
#include "model/core/responder/refusal.h"
#include "model/core/responder/responder_resources.h"
#include "model/params/params.h"
#include "model/types/responder_counters.h"

namespace rxnic {

// The responder's data about an SRQ that packets name (XRC).
struct SrqEntry {
  WqId queue = kNoWq;
  Cqn cq{};
  Xrcdn xrcd{};
  Pdn pd{};
};
using SrqTable = std::unordered_map<std::uint32_t, SrqEntry>;  // by SRQN

class Responder {
 public:
  Responder(ResponderResources& resources, const SrqTable& srqs, RdAtomicOverLimit over_limit = {})
      : resources_(resources), srqs_(srqs), over_limit_(over_limit) {}

  // A capture lost the end of the message that the QP is in: it must be completed (PacketRole::kTruncated) before
  // check().
  bool abandons_message(const CheckedPacket& p) const;
  // Called for that; the QP is between messages afterwards.
  void abandon_message(ResponderContext& qp);

  // Decides on a request packet that passed check_headers(); p.qp is set. Outcome kDrop without `completes` may leave
  // at once.
  void check(CheckedPacket& p);
  // A block behind refused a packet (R12). `undo`: the QP before it (kNotReady).
  void apply(const Refusal& refusal, ResponderContext& qp, const ResponderUndo& undo);

  const ResponderCounters& counters() const { return counters_; }

 private:
  void check_reliable(CheckedPacket& p);
  void check_unreliable(CheckedPacket& p);
  void check_datagram(CheckedPacket& p);
  void duplicate(CheckedPacket& p);
  bool is_what_was_saved(const CheckedPacket& p) const;
  void repeat_unsaved(CheckedPacket& p);
  void replay(CheckedPacket& p);
  bool may_save(const ResponderContext& qp) const;
  void refuse_ahead(CheckedPacket& p);
  void resynchronise(CheckedPacket& p, std::uint32_t missing);
  void begin_in_the_middle(CheckedPacket& p);
  bool in_sequence(const CheckedPacket& p) const;
  bool length_is_legal(const CheckedPacket& p) const;
  const SrqEntry* named_srq(const CheckedPacket& p) const;
  Pdn memory_domain(const CheckedPacket& p) const;
  bool find_queue(CheckedPacket& p) const;
  void take(CheckedPacket& p);
  void take_read_or_atomic(CheckedPacket& p);
  void take_write(CheckedPacket& p, bool starts);
  void refuse(CheckedPacket& p);
  void give_up(CheckedPacket& p, DropReason reason);
  void drop(CheckedPacket& p, DropReason reason);

  ResponderResources& resources_;
  const SrqTable& srqs_;
  RdAtomicOverLimit over_limit_;
  ResponderCounters counters_;
};

// To the error state, and no RNR NAK takes that back.
inline void fail_for_good(ResponderContext& qp) {
  qp.state = QpState::kError;
  qp.own_error = false;
}

}  // namespace rxnic
