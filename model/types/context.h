// SPDX-License-Identifier: Apache-2.0
// Device ABI, contexts that the device keeps in host memory and caches. They are those of queue pairs (QPC), memory
// regions (MPT, MTT), completion queues (CQC, completion.h) and receive queues (work_queue.h).
//
//   R1  The QP context of QPN q is in the 256 bytes at icm::kQpContexts + 256 q. Its `valid` == 0 means that there is
//       no such QP.
//   R2  The MPT entry of key k is at icm::kMpt + (k >> 8) * sizeof(MptEntry) and is k's only when its `key` equals k.
//   R3  MTT: page n of a region is the 8-byte bus address at `mtt_base + 8 n`. Pages are 1 << page_shift bytes,
//       aligned.
//   R4  The CQ context of CQN c is in the 64 bytes at icm::kCqContexts + 64 c. The context of receive queue q (WqId) is
//       in the 64 bytes at icm::kQueueContexts + 64 q.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "model/types/access.h"
#include "model/types/completion.h"
#include "model/types/ids.h"
#include "model/types/opcode.h"
#include "model/types/receive_path.h"
#include "model/types/wire.h"
#include "model/types/work_queue.h"

namespace rxnic {

namespace icm {  // bus addresses of the tables; programs have no memory there
inline constexpr BusAddress kQpContexts{0x4000'0000'0000'0000u};
inline constexpr BusAddress kCqContexts{0x4800'0000'0000'0000u};
inline constexpr BusAddress kQueueContexts{0x4c00'0000'0000'0000u};
inline constexpr BusAddress kMpt{0x5000'0000'0000'0000u};
inline constexpr BusAddress kMtt{0x6000'0000'0000'0000u};
inline constexpr BusAddress kTagOverflow{0x7000'0000'0000'0000u};
inline constexpr BusAddress kFlowCounts{0x7400'0000'0000'0000u};  // by program: the answers to kReadFlow
inline constexpr BusAddress kMailboxes{0x7800'0000'0000'0000u};   // of the driver's commands (mailbox.h)
// From here on: memory of the device itself, which no TLP reaches.
inline constexpr BusAddress kDeviceMemory{0x7c00'0000'0000'0000u};
constexpr bool is_device_memory(BusAddress a) { return raw(a) >= raw(kDeviceMemory); }
}  // namespace icm

enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kError };

// Kind of the message that a responder has received in part.
enum class MessageKind : std::uint8_t { kNone, kSend, kWrite, kSkip /* the rest of a UC message that was given up */ };

// Counts what refers to a cached context: packets in flight and notices. The context cache evicts a context only when
// nothing refers to it.
//   R1  A pin released in cycle n still counts in cycle n. So all blocks see the same count in n, whatever the order in
//       which they are stepped.
//   R2  A pin is added by a block that holds one already, and by the context cache. The transport checker adds a pin on
//       a line that the cache keeps for a command. No other block adds pins.
class ContextPins {
 public:
  void add() { ++count_; }
  void remove(Cycle now) {
    --count_;
    removed_in_ = now;
  }
  bool held(Cycle now) const { return count_ > 0 || removed_in_ == now; }
  std::uint32_t count() const { return count_; }  // at the end of a cycle

 private:
  std::uint32_t count_ = 0;
  Cycle removed_in_ = kNever;
};

inline constexpr std::uint32_t kNoLine = 0xffffff;
inline constexpr std::uint32_t kNoWqeSlot = 0xffffffff;

// The attributes of a queue pair that software sets. No block changes them.
struct QpAttributes {
  std::uint8_t valid = 0;
  Transport transport = Transport::kNone;
  std::uint8_t access = 0;         // AccessFlag: what remote requests may do
  std::uint8_t min_rnr_timer = 0;  // code (rules 6.9)
  Qpn qpn{};
  Qpn remote_qpn{};  // RC, UC
  Pdn pd{};
  Xrcdn xrcd{};
  Address local, remote;     // RC, UC: packets from other addresses are dropped
  std::uint16_t mtu = 1024;  // bytes
  std::uint16_t pkey = kDefaultPkey;
  std::uint8_t reserved[2] = {};
  std::uint32_t qkey = 0;  // UD
  Cqn receive_cq{}, send_cq{};
  WqId receive_queue = kNoWq;  // an RQ, or the SRQ
  bool uses_srq = false;
  bool tag_matching = false;  // its SRQ is a TM SRQ
  // For captures: accept a PSN ahead of the expected one and count the gap; accept every P_Key. The QP may begin with
  // the MIDDLE or LAST of a message.
  bool resynchronise = false;
  bool starts_inside = false;
  bool any_pkey = false;
  std::uint8_t max_dest_rd_atomic = 16;
};

// The transport checker's part: the responder, and the failure of our own requests.
struct ResponderContext : QpAttributes {
  QpState state = QpState::kReset;
  bool own_error = false;   // the checker itself moved the QP to the error state, in this epoch
  std::uint16_t epoch = 0;  // of the packets that it checks (core/responder/refusal.h)
  QpState state_before_error = QpState::kReset;
  bool nak_sent = false;     // no further NAK until expected_psn comes
  bool established = false;  // a request has come since software moved the QP to RTR
  MessageKind message = MessageKind::kNone;
  bool request_failed = false;  // the data of a response could not be written
  std::uint8_t reserved2 = 0;
  Psn expected_psn;
  std::uint32_t msn = 0;             // 24 bits, messages completed
  std::uint32_t failed_request = 0;  // number of the WQE that this response belongs to
  std::uint32_t messages = 0;        // messages begun
  std::uint8_t reserved3[4] = {};
  std::uint64_t message_start = 0;  // cycle in which the first packet of the current message arrived
  std::uint64_t message_bytes = 0;  // received so far of the current message
  std::uint64_t write_va = 0;       // next byte of a WRITE
  Key write_rkey{};
  std::uint32_t write_left = 0;  // bytes of the RETH's length not received yet
  WqId message_queue = kNoWq;    // that the current SEND took its WQE from (XRC: the SRQ of its first packet)
  Cqn message_cq{};              // where it completes
};

static_assert(OpenWqe{}.wqe_slot == kNoWqeSlot);

// One queue pair's context: what software set, and a part for each block that keeps state of a QP. Only that block
// reads and writes its part (and, between cycles, the control plane). OpenWqe, TagContext and CompletionContext cross
// ports (descriptors.toml). The context is whole cache lines of the host.
struct alignas(64) StoredQpContext : ResponderContext, OpenWqe, TagContext, CompletionContext {
  std::uint8_t reserved4[6] = {};
};
// Padding would be written to host memory, with whatever a stack has held there.
static_assert(std::has_unique_object_representations_v<StoredQpContext>);
inline constexpr std::size_t kQpContextBytes = sizeof(StoredQpContext);  // in host memory

// The context on the chip.
struct QpContext : StoredQpContext {
  // The pins have a cache line of their own. The reason: a compiler may put members into the padding at the end of the
  // stored context, which is accessed as a whole.
  alignas(64) ContextPins pins;
  std::uint32_t line = 0;       // of the cache
  std::uint32_t residence = 0;  // number of its stay on that line: a new one after each read, and after a reset
  bool dirty = false;           // differs from the copy in host memory
};
static_assert(sizeof(QpContext) <= 256);

// What may be invalidated by its key: not a region of ibv_reg_mr or a type 1 window. kNull: a region without memory.
enum class MemoryKind : std::uint8_t { kRegion, kFastRegistered, kWindow1, kWindow2, kNull };
constexpr bool is_window(MemoryKind k) { return k == MemoryKind::kWindow1 || k == MemoryKind::kWindow2; }

struct MptEntry {
  std::uint32_t key = 0;  // 0: free
  std::uint8_t valid = 0;
  std::uint8_t access = 0;  // AccessFlag
  std::uint8_t page_shift = 12;
  MemoryKind kind = MemoryKind::kRegion;
  std::uint32_t pd = 0;
  Qpn window_qp{};               // kWindow2: that it is bound on
  std::uint8_t invalidated = 0;  // it exists, but allows nothing
  std::uint8_t on_demand = 0;    // pages may be absent
  std::uint8_t levels = 0;       // of its tree of pages, 0: a list of them
  std::uint8_t reserved = 0;
  std::uint32_t bound_to = 0;      // of a window: the key of the region that counts it, 0: none does
  std::uint64_t va = 0;            // first byte
  std::uint64_t length = 0;        // bytes
  std::uint64_t mtt_base = 0;      // bus address of the page list, or of the root of the tree
  std::uint64_t paged_offset = 0;  // va + this is the address whose pages the list has (zero-based ones)
  std::uint32_t windows = 0;       // of a region: that are bound to it
  std::uint8_t reserved2[4] = {};
};
static_assert(sizeof(MptEntry) == 64);
static_assert(std::has_unique_object_representations_v<MptEntry>);

constexpr BusAddress qp_context_address(Qpn q) { return icm::kQpContexts + std::uint64_t{raw(q)} * 256; }
constexpr BusAddress cq_context_address(Cqn c) { return icm::kCqContexts + std::uint64_t{raw(c)} * kCqContextBytes; }
constexpr BusAddress queue_context_address(WqId q) {
  return icm::kQueueContexts + std::uint64_t{raw(q)} * kWqContextBytes;
}
constexpr BusAddress mpt_address(Key k) { return icm::kMpt + std::uint64_t{raw(k) >> 8} * sizeof(MptEntry); }

}  // namespace rxnic
