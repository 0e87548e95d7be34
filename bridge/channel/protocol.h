// SPDX-License-Identifier: Apache-2.0
// Control messages between a program (bridge/verbs) and the simulator (bridge/live): one fixed size, over a
// SOCK_SEQPACKET socket, a reply for each request, in order. The data path does not use them (shared_mapping.h).
//
//   R1  A connection that opens a NIC is one device context of a program; its objects are freed with it.
//   R2  The first request is kHello. Other versions are refused with EPROTO; the reply's `version` is the simulator's.
//       A simulator that takes no further connection replies unasked (EUSERS, or EMFILE or another errno when it is
//       short of what it needs; sequence 1) and disconnects.
//   R3  Reply: type, sequence and body of the request, results filled in; status is 0 or a positive errno, and then
//       nothing was changed.
//   R4  Numbers with "as verbs" have the values of the enum of that name in <infiniband/verbs.h>. The simulator checks
//       every one of them: EINVAL.
//   R5  Handles are the numbers that the device knows: QPN, CQN, SRQN, PDN, lkey. A handle of another connection is
//       refused (EINVAL).
//   R6  The simulator gets the write end of the pipe of kOpen, so that the pipe ends when the simulator does.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "bridge/channel/shared_mapping.h"
#include "model/types/flow.h"
#include "model/types/send_work_queue.h"

namespace rxnic::channel {

enum class Request : std::uint16_t {
  kHello = 1,
  kOpen,  // with 4 descriptors: mapping, eventfd, asynchronous events (R6), /proc/self/mem (or /dev/null)
  kAllocatePd,
  kFreePd,
  kRegisterMemory,
  kReregisterMemory,
  kFreeMemory,
  kCreateChannel,  // with 1 descriptor: the write end of the completion channel's pipe
  kFreeChannel,
  kCreateCq,
  kResizeCq,
  kModifyCq,
  kFreeCq,
  kCreateSrq,
  kModifySrq,
  kQuerySrq,
  kFreeSrq,
  kCreateQp,
  kModifyQp,
  kQueryQp,
  kFreeQp,
  kResolve,  // address handle: destination GID -> MAC
  kAttachMulticast,
  kDetachMulticast,
  kReadClock,
  kOpenXrcd,  // with the descriptor of the file that the XRC domain belongs to, or none: a domain of this client alone
  kCloseXrcd,
  kOpenQp,  // an XRC_RECV QP of another client, or once more
  kAllocateWindow,
  kFreeWindow,  // the number: the rkey that it was allocated with
  kAllocateDeviceMemory,
  kFreeDeviceMemory,
  kCopyToDevice,  // from the program's memory, and back
  kCopyFromDevice,
  kAdviseMemory,
  kCreateFlow,
  kFreeFlow,
  kCreateRss,  // a QP that spreads frames over others' receive queues, and has none itself
  kFreeRss,
  kCreateCounters,  // what flows count; the number
  kFreeCounters,
  kReadCounters,
  // With 1 descriptor: another client's socket, of whichever process (ibv_import_device(3)).
  kImportDevice,  // before kOpen: which NIC that client has opened
  kImportPd,
  kImportMemory,
  kImportDeviceMemory,
};
inline constexpr Request kLastRequest = Request::kImportDeviceMemory;

inline constexpr std::uint32_t kMaxNics = 64;
inline constexpr std::size_t kIdentityBytes = 16;
inline constexpr std::uint32_t kGids = 4;  // entries of a port's GID table; the last is empty
enum class GidType : std::uint8_t { kNone, kRoceV1, kRoceV2 };

struct Gid {
  std::array<std::uint8_t, 16> bytes{};
  GidType type = GidType::kNone;  // kNone: empty slot
  std::uint8_t reserved[7] = {};
};

// The attributes of a NIC that a program gets when it opens it.
struct DeviceAttributes {
  std::uint64_t node_guid = 0;        // as 8 bytes in memory
  std::array<std::uint8_t, 8> mac{};  // 6 used
  std::array<Gid, kGids> gids{};
  std::uint32_t link_mbps = 0;
  std::uint32_t max_qps = 0, max_qp_wrs = 0, max_sge = 0, max_cqs = 0, max_cqes = 0, max_mrs = 0, max_pds = 0;
  std::uint32_t max_srqs = 0, max_srq_wrs = 0, max_srq_sge = 0, max_ahs = 0, max_inline = 0;
  std::uint32_t max_rd_atomic = 0;            // of a QP
  std::uint32_t max_responder_resources = 0;  // of all QPs
  std::uint32_t max_multicast_groups = 0;
  std::uint32_t max_flows = 0, max_rss = 0;
  std::uint32_t max_tso = 0;             // bytes of a message
  std::uint32_t max_tags = 0;            // of a TM SRQ
  std::uint32_t max_tag_operations = 0;  // of a TM SRQ, outstanding
  std::uint32_t cqe_bytes = 64;          // stride of a CQ
  std::uint32_t active_mtu = 4096;       // bytes
  std::uint8_t srq_linked_list = 0;      // layout of SRQs (work_queue.h R2); 0: cyclic
  std::uint8_t data_in_order = 0;        // the payload of a message becomes visible in the order of its bytes
  std::uint8_t reserved[2] = {};
  std::uint64_t device_memory_bytes = 0;  // of all programs
  std::uint64_t core_clock_khz = 0;       // of completion timestamps
  std::uint64_t timestamp_period_ps = 0;  // Cqe::timestamp * this = model time
};

struct Hello {  // request: pid, socket, program; reply: the rest
  std::uint32_t pid = 0;
  std::uint64_t socket = 0;  // SO_COOKIE of the program's end, by which kImport... finds it
  std::uint32_t nics = 0;
  std::uint32_t simulator_pid = 0;
  char program[64] = {};                       // name, for messages and the log
  std::array<std::uint64_t, 16> node_guids{};  // of the first 16 NICs; NIC n's is that of NIC 0 + n
};
// Random bytes at an address of the program, of this process alone: no child has them. By them the simulator makes sure
// whose memory it has read (live_memory.h R6).
struct Open {  // request: nic, identity; reply: attributes
  std::uint32_t nic = 0;
  std::uint32_t client = 0;
  DeviceAttributes attributes;
  std::uint64_t identity_at = 0;  // 0: there are none
  std::array<std::uint8_t, kIdentityBytes> identity{};
};
struct Handle {  // kAllocatePd, every kFree..., kCreateChannel/kFreeChannel: the number
  std::uint32_t number = 0;
};
struct Memory {
  std::uint32_t pd = 0;
  std::uint32_t access = 0;   // as verbs: ibv_access_flags; flags of the optional range are ignored; zero-based: iova 0
  std::uint64_t address = 0;  // in the program; of device memory: the offset
  std::uint64_t length = 0;   // bytes, may be 0; on-demand, and address 0: ~0 is the whole address space
  std::uint64_t iova = 0;     // address that SGEs and remote requests use
  std::uint32_t rereg_flags = 0;    // as verbs: ibv_rereg_mr_flags
  std::uint32_t lkey = 0;           // reply; request of kReregisterMemory
  std::uint32_t rkey = 0;           // reply
  std::uint32_t page_shift = 12;    // pages of the mapping: 1 << page_shift bytes, the smallest in the range; 12..34
  std::uint32_t device_memory = 0;  // its number, 0: the program's memory; zero-based
  std::uint32_t null_region = 0;    // 1: without memory: address and iova 0, length ~0, local write; no rkey
};
struct Import {
  std::uint32_t number = 0;  // of the PD or device memory, the lkey; kImportDevice: reply: of the NIC
  std::uint32_t client = 0;  // set by the port: whose the socket is
  std::uint32_t pd = 0;      // kImportMemory: its PD, which has been imported
  std::uint32_t rkey = 0;    // kImportMemory: reply
  std::uint64_t length = 0;  // kImportMemory, kImportDeviceMemory: reply
};
struct DeviceMemory {  // kAllocateDeviceMemory: length, log_alignment; reply: number
  std::uint32_t number = 0;
  std::uint32_t log_alignment = 0;  // of its first byte in the device
  std::uint64_t offset = 0;         // copies: from its first byte
  std::uint64_t length = 0;         // bytes
  std::uint64_t address = 0;        // copies: in the program
};
struct Advice {  // about a part of an on-demand region
  std::uint32_t pd = 0;
  std::uint32_t lkey = 0;
  std::uint32_t advice = 0;  // as verbs: ibv_advise_mr_advice
  std::uint32_t flags = 0;   // as verbs: IBV_ADVISE_MR_FLAG_FLUSH: the reply comes when it is done
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t pages = 0;  // the simulator's: that are not present yet
};
struct Window {
  std::uint32_t pd = 0;
  std::uint32_t type = 0;  // as verbs: ibv_mw_type
  std::uint32_t rkey = 0;  // reply: until it is bound
};
struct CompletionQueue {
  std::uint32_t cqn = 0;       // reply; request of kResizeCq, kModifyCq
  std::uint32_t slots = 0;     // power of two
  std::uint64_t ring = 0;      // offset in the mapping, 64-byte aligned; filled with ones by the program
  std::uint32_t doorbell = 0;  // record of the boards kConsumer and kArm
  std::uint32_t channel = 0;   // number of a completion channel, 0: none
  std::uint32_t ignore_overrun = 0;
  std::uint16_t moderation_count = 0, moderation_period_us = 0;  // kModifyCq
  std::uint32_t consumer = 0;  // kResizeCq: index of the next CQE to poll; reply: CQEs in the new ring begin here
};
struct SharedReceiveQueue {
  std::uint32_t srqn = 0;  // reply; request of kModifySrq, kQuerySrq
  std::uint32_t pd = 0;
  std::uint32_t type = 0;      // as verbs: ibv_srq_type
  std::uint32_t doorbell = 0;  // record of the board kReceive
  std::uint64_t ring = 0;      // offset in the mapping
  std::uint32_t slots = 0, stride = 0;
  std::uint32_t limit = 0;                        // kModifySrq, kQuerySrq
  std::uint32_t cqn = 0;                          // TM, XRC: where its completions go
  std::uint64_t tag_ring = 0;                     // TM: offset in the mapping, of TagWrites (tag_ring.h)
  std::uint32_t tag_slots = 0, tag_doorbell = 0;  // power of two; record of the board kTags
  std::uint32_t xrcd = 0;                         // XRC: its domain, as kOpenXrcd numbered it; with cqn
};
struct QueuePair {
  std::uint32_t qpn = 0;   // reply
  std::uint32_t type = 0;  // as verbs: ibv_qp_type
  std::uint32_t pd = 0, send_cq = 0, receive_cq = 0;
  std::uint32_t srqn = 0, has_srq = 0;
  std::uint32_t all_signaled = 0;
  std::uint64_t send_ring = 0, receive_ring = 0;                              // offsets in the mapping
  std::uint32_t send_slots = 0, send_stride = 0, send_doorbell = 0;           // record of the board kSend
  std::uint32_t receive_slots = 0, receive_stride = 0, receive_doorbell = 0;  // of kReceive; slots 0: none
  std::uint32_t xrcd = 0;  // XRC_RECV, kOpenQp: its domain. XRC_RECV has neither PD nor CQs, XRC_SEND no receive_cq
  std::uint32_t management = 0;  // 1: QP 1, of the connection manager; UD, and one at a time
};
struct QpAttributes {  // kModifyQp, kQueryQp
  std::uint32_t qpn = 0;
  std::uint32_t mask = 0;                      // as verbs: ibv_qp_attr_mask
  std::uint32_t state = 0, current_state = 0;  // as verbs: ibv_qp_state
  std::uint32_t path_mtu = 0;                  // as verbs: ibv_mtu
  std::uint32_t qkey = 0, rq_psn = 0, sq_psn = 0, remote_qpn = 0;
  std::uint32_t access = 0;  // as verbs: ibv_access_flags
  std::uint32_t port = 0, pkey_index = 0, is_global = 0, remote_lid = 0;
  AddressVector path;
  std::uint32_t max_rd_atomic = 0, max_dest_rd_atomic = 0, min_rnr_timer = 0, timeout = 0, retry_count = 0,
                rnr_retry = 0, drained_notify = 0;
};
struct Resolve {
  AddressVector path;  // request: destination_gid, source_gid_index; reply: destination_mac
};
struct Multicast {
  std::uint32_t qpn = 0;
  std::array<std::uint8_t, 16> gid{};
};
struct Flow {
  std::uint32_t number = 0;    // reply
  std::uint32_t qpn = 0;       // a RAW_PACKET QP, or one of kCreateRss
  std::uint32_t counters = 0;  // the number of kCreateCounters, 0: none
  std::uint16_t priority = 0;
  std::uint8_t kind = 0;                                    // FlowKind
  std::array<std::uint8_t, kFlowKeyBytes> value{}, mask{};  // FlowKey
};
struct Counters {
  std::uint32_t number = 0;
  std::uint32_t last_flow = 0;           // the simulator's: that has been read
  std::uint64_t packets = 0, bytes = 0;  // reply
};
struct Rss {
  std::uint32_t qpn = 0;  // reply
  std::uint32_t pd = 0;
  std::uint8_t fields = 0;       // HashField
  std::uint8_t log_entries = 0;  // of the indirection table
  std::array<std::uint8_t, kHashKeyBytes> key{};
  std::array<std::uint32_t, kMostRssEntries> queues{};  // the table: RAW_PACKET QPs without a send queue
};
struct XrcDomain {
  std::uint32_t number = 0;                 // reply; request of kCloseXrcd. One for each kOpenXrcd
  std::uint32_t create = 0, exclusive = 0;  // O_CREAT, O_EXCL
  std::uint32_t has_file = 0;               // set by the port, as the next two: what the descriptor is of
  std::uint64_t file_device = 0, file_number = 0;
};
struct Clock {
  std::uint64_t model_time_ps = 0;
};

struct Message {
  std::uint32_t version = kVersion;
  Request type{};
  std::uint16_t reserved = 0;
  std::uint32_t sequence = 0;
  std::int32_t status = 0;
  union Body {
    Hello hello;
    Open open;
    Handle handle;
    Memory memory;
    Window window;
    Advice advice;
    DeviceMemory device_memory;
    CompletionQueue cq;
    SharedReceiveQueue srq;
    QueuePair qp;
    QpAttributes attributes;
    Resolve resolve;
    Multicast multicast;
    Clock clock;
    XrcDomain xrcd;
    Flow flow;
    Counters counters;
    Rss rss;
    Import import;
    std::array<std::uint8_t, 496> bytes;
    Body() : bytes{} {}
  } body;
};
static_assert(sizeof(Message) == 512);
static_assert(std::is_trivially_copyable_v<Message>);

// What comes through a completion channel or the pipe of asynchronous events.
enum class EventKind : std::uint32_t {
  kCompletion = 1,  // number: CQN
  kCqError,         // CQN
  kQpFatal,         // QPN, here and below
  kQpAccessError,
  kQpRequestError,
  kQpLastWqeReached,
  kQpSqDrained,
  kQpCommunicationEstablished,
  kSrqLimitReached,  // SRQN
  kSrqError,
  kDeviceFatal,  // the simulator ends
};
struct EventRecord {  // written in one piece
  EventKind kind{};
  std::uint32_t number = 0;
};
static_assert(sizeof(EventRecord) == 8);

// The request that frees the object which an event is about, and the event with it. kDeviceFatal is about none.
constexpr Request freed_by(EventKind kind) {
  switch (kind) {
    case EventKind::kCompletion:
    case EventKind::kCqError:
      return Request::kFreeCq;
    case EventKind::kSrqLimitReached:
    case EventKind::kSrqError:
      return Request::kFreeSrq;
    case EventKind::kDeviceFatal:
      return Request{};
    default:
      return Request::kFreeQp;
  }
}

inline constexpr const char* kSocketVariable = "RXNIC_SOCKET";  // path, or @name of the abstract name space
inline constexpr const char* kNicVariable = "RXNIC_NIC";        // number of the only NIC that a program shall see

}  // namespace rxnic::channel
