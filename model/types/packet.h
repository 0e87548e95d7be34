// SPDX-License-Identifier: Apache-2.0
// A packet on its way through the receive path: its bytes, its headers, and what each block decided about it.
// Links carry PacketHandles; the blocks find the packet in the pool.
//
//   R1  Every packet that enters leaves exactly once: accepted or dropped for one reason (model/blocks/ledger.h).
//   R2  Within a queue pair packets never overtake each other; drops leave at once.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/types/completion.h"
#include "model/types/context.h"
#include "model/types/drop_reason.h"
#include "model/types/ids.h"
#include "model/types/station.h"
#include "model/types/wire.h"
#include "model/types/work_queue.h"

namespace rxnic {

inline constexpr std::size_t kStations = static_cast<std::size_t>(Station::kCount);
inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);

// What the packet stands for inside the path.
enum class PacketRole : std::uint8_t {
  kReceived,        // from the wire
  kSendCompletion,  // internal: a request of ours was answered, a send CQE is due
  kFlush,           // internal: a posted receive WQE is flushed
  kLastWqe,         // internal: raise LAST_WQE_REACHED when everything before it has completed
  kTagOperation,    // internal: the completion of a tag list operation
  kTruncated,       // internal: completes a message whose end was never seen (resynchronised captures)
  kResponse,        // internal: a READ or atomic response being made
  kRequest,         // a request of ours on its way out
};

// What the transport checker decided (and a later block may change through fail()).
enum class Outcome : std::uint8_t {
  kUndecided,
  kExecute,   // carry out and, when `acknowledge`, ACK
  kAckAgain,  // duplicate SEND or WRITE: ACK, do nothing
  kReplay,    // duplicate READ or atomic: answer from the saved resource
  kNak,       // `syndrome`; completes in error when `status` is not kSuccess
  kAnswer,    // answers a request of ours
  kDrop,      // carried on only to keep order or to complete in error
};

// One contiguous piece of a packet's data within one page of one memory region.
struct Segment {
  std::uint64_t va = 0;
  BusAddress bus{};                    // set by the address translator
  const std::uint8_t* data = nullptr;  // into the packet: what is written (or where what is read goes)
  Key key{};
  std::uint32_t bytes = 0;
};
inline constexpr std::size_t kMaxSegments = 2 * 32 + 4;  // every SGE of a WQE split once, and the GRH's

// What the responder's part of a QP context was before a packet was checked: an RNR NAK takes the packet back.
struct ResponderUndo {
  Psn expected_psn;
  std::uint32_t msn = 0;
  MessageKind message = MessageKind::kNone;
  Key write_rkey{};
  std::uint32_t write_left = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t write_va = 0;
  std::uint64_t message_start = 0;
};

// Who allocates a buffer: one block each.
enum class PacketClass : std::uint8_t {
  kReceive,  // the wire
  kTransportChecker,
  kTagMatchCam,
  kSrqWqeFetcher,
  kCqeGenerator,
  kResponse,  // the ACK generator, for the responses of READs
  kRequest,   // the requester
};
inline constexpr std::size_t kPacketClasses = 7;

struct alignas(64) Packet {
  // On arrival.
  Headers h;
  std::uint32_t frame_bytes = 0;  // in `frame`, link header to ICRC
  std::uint32_t wire_bytes = 0;   // on the wire, with what is not in `frame` (FCS, preamble and gap excluded)
  PacketRole role = PacketRole::kReceived;
  bool icrc_ok = false;
  std::uint64_t id = 0;  // number of arrival, counts from 0
  Cycle posted{};        // in which its sender's doorbell was rung; 0: not known (it is not on the wire)

  // The QP and the decision.
  QpContext* qp = nullptr;  // pinned line of the context cache; nullptr when not found
  Outcome outcome = Outcome::kUndecided;
  DropReason drop_reason = DropReason::kNone;
  std::uint16_t epoch = 0;             // of its QP when it was checked (core/responder/refusal.h)
  std::uint32_t message_sequence = 0;  // number of its message within its QP; of an answer: of the WQE of ours
  ResponderUndo undo;
  std::uint8_t syndrome = 0;  // of the answer (rules 6.8)
  bool acknowledge = false;   // an answer is due
  bool takes_wqe = false;
  bool ends_message = false;
  bool completes = false;       // a CQE is due
  bool releases_wqe = false;    // nobody behind it uses `wqe_slot`
  bool fails_qp = false;        // its failure moves the QP to the error state
  bool resynchronised = false;  // its PSN was ahead and taken as it is
  bool bad_length = false;      // fails with 0x61 once its WQE is there (rules 6.2: WQE before length)
  WcStatus status = WcStatus::kSuccess;
  CqeOpcode cqe_opcode = CqeOpcode::kReceive;
  Cqn cq{};  // where its CQE goes
  Pdn pd{};  // that its memory must be in: of the QP, or of the SRQ
  Psn answer_psn;
  std::uint32_t answer_msn = 0;

  // Message, WQE, memory.
  std::uint64_t message_start = 0;  // cycle in which the first packet of its message arrived
  std::uint64_t message_bytes = 0;  // of the message up to and with this packet
  WqId queue = kNoWq;               // where it takes or took its WQE
  std::uint32_t wqe_slot = 0xffffffff;
  std::uint32_t wqe_index = 0;
  std::uint32_t posted_wqes = 0;  // in its QP's receive queue when it passed the WQE fetcher, for the credit field
  std::uint32_t byte_count = 0;   // for the CQE
  std::uint16_t cqe_flags = 0;
  std::uint16_t strip_bytes = 0;  // tag matching: TMH (and more) taken off the payload
  std::uint64_t tag = 0;
  std::uint32_t tag_context = 0;
  TagVerdict tag_verdict = TagVerdict::kNone;  // tag matching: of the message's first packet
  DataSegment tag_buffer{};                    // tag matching: the matched entry's buffer
  std::uint64_t local_va = 0;  // WRITE, READ, atomic: responder's memory; answers: the requester's buffer
  Key local_key{};
  std::uint32_t local_bytes = 0;  // bytes to check or move at local_va
  std::uint8_t access = 0;        // AccessFlag that the region must grant
  std::uint32_t resource = 0;     // READ, atomic: slot of the saved resources

  PacketClass pool_class = PacketClass::kReceive;
  std::uint16_t segment_count = 0;
  std::array<Cycle, kStations> stamps{};  // the cycle in which it left each station
  std::array<Segment, kMaxSegments> segments;
  alignas(64) std::array<std::uint8_t, kGrhBytes> grh_area;
  alignas(64) std::array<std::uint8_t, kMaxFrameBytes> frame;

  const OpcodeInfo& op() const { return opcode_info(h.opcode); }
  bool has(std::uint32_t traits) const { return (op().traits & traits) != 0; }
  Bytes frame_view() const { return {frame.data(), frame_bytes}; }
  Bytes payload() const { return {frame.data() + h.payload_offset, h.payload_bytes}; }
  void stamp(Station s, Cycle now) { stamps[static_cast<std::size_t>(s)] = now; }
  Cycle stamped(Station s) const { return stamps[static_cast<std::size_t>(s)]; }
  // A block found that it cannot be carried out.
  void fail(DropReason reason, Outcome now_is, std::uint8_t answer_syndrome, WcStatus completion) {
    drop_reason = reason;
    outcome = now_is;
    syndrome = answer_syndrome;
    status = completion;
    segment_count = 0;
  }
  // Everything but the bytes and the segments back to its initial value.
  void reset();
};

// Packets, with a quota for each class so that arrivals can never starve what must drain.
//   R1  A packet that is released in cycle n can be allocated from cycle n + 1 on.
//   R2  A class may be without a limit. So is kReceive in a NIC: what bounds it are the bytes of the packet buffer and
//       the places in the links and blocks behind it. The memory for packets grows with those that are in use.
class PacketPool {
 public:
  static constexpr std::uint32_t kNoLimit = 0xffffffff;
  struct Quotas {
    std::uint32_t receive = 512;
    std::uint32_t internal = 64;  // each of the blocks that make packets of their own
    std::uint32_t response = 64;
    std::uint32_t request = 0;
  };
  // `now`: the present cycle; nullptr: what is released can be allocated at once.
  explicit PacketPool(const Quotas& quotas, const Cycle* now = nullptr);
  Packet& operator[](PacketHandle h) { return chunks_[raw(h) / kChunk][raw(h) % kChunk]; }
  const Packet& operator[](PacketHandle h) const { return chunks_[raw(h) / kChunk][raw(h) % kChunk]; }
  bool available(PacketClass c) const {
    const Quota& q = quotas_[static_cast<std::size_t>(c)];
    return q.left > (now_ != nullptr && q.released_in == *now_ ? q.released : 0);
  }
  PacketHandle allocate(PacketClass c);  // precondition: available(c)
  void release(PacketHandle h);
  std::uint32_t in_use() const { return static_cast<std::uint32_t>(chunks_.size() * kChunk - free_.size()); }

 private:
  struct Quota {
    std::uint32_t left = 0;
    std::uint32_t released = 0;  // of them in cycle released_in
    Cycle released_in = kNever;
  };
  static constexpr std::uint32_t kChunk = 64;  // packets for which memory is got at once
  const Cycle* now_;
  std::array<Quota, kPacketClasses> quotas_;
  std::vector<std::unique_ptr<Packet[]>> chunks_;
  std::vector<PacketHandle> free_;
};

}  // namespace rxnic
