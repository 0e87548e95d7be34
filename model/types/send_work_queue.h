// SPDX-License-Identifier: Apache-2.0
// Device ABI, send side: what a driver writes into a send queue (SQ). Little-endian, naturally aligned.
//
//   R1  An SQ is a ring of slots, a power of two of them; WQE k is in slot k mod slots. A slot is `stride` bytes, a
//       power of two, at least 64 + 16 * max_sge and 64 + max_inline. Where there is kTso, 16 * max_sge is not all: the
//       header has its place, too.
//   R2  A slot starts with SendControl (32 bytes) and RemoteSegment, AddressVector or WindowSegment (32 bytes). Behind
//       these are `sge_count` data segments (work_queue.h), or with kSendInline `inline_bytes` bytes of payload. In a
//       WQE of kTso `header_bytes` bytes of header, filled up to 16, stand before the data segments.
//   R3  Doorbell: after the WQEs are visible the driver writes the SQ's producer index (a free-running count of WQEs
//       posted) once per post call. A WQE that is posted alone, and is short enough for the device, is written with it.
//   R4  A WQE's slot is free again when its completion, or that of a later WQE of the same queue, was polled.
#pragma once

#include <array>
#include <cstdint>

#include "model/types/ids.h"
#include "model/types/wire_constants.h"
#include "model/types/work_queue.h"

namespace rxnic {

enum class SendOpcode : std::uint8_t {
  kSend,
  kSendImm,
  kSendInvalidate,  // immediate: the rkey
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kLocalInvalidate,  // immediate: the key
  kBindWindow,       // immediate: the window's new rkey
  kAtomicWrite,
  kTso,  // one message, many packets: each the header and at most `mss` bytes of the data
  kCount
};

enum SendFlag : std::uint8_t {
  kSendSignaled = 1u << 0,
  kSendSolicited = 1u << 1,
  kSendFence = 1u << 2,  // starts after all earlier READs and atomics of the queue are complete
  kSendInline = 1u << 3,
  kSendChecksums = 1u << 4,  // UD, RAW: the device fills in the checksums of IPv4, and of TCP or UDP
};

struct SendControl {
  SendOpcode opcode = SendOpcode::kSend;
  std::uint8_t flags = 0;          // SendFlag
  std::uint16_t sge_count = 0;     // data segments
  std::uint32_t inline_bytes = 0;  // kSendInline: bytes of payload in the WQE
  std::uint32_t immediate = 0;     // native byte order (ImmDt), or the rkey to invalidate
  std::uint32_t remote_qpn = 0;    // UD
  std::uint32_t remote_qkey = 0;   // UD; the high bit set: the QP's own Q_Key is sent
  std::uint32_t remote_srqn = 0;   // XRC
  std::uint16_t mss = 0;           // kTso: bytes of data in a packet
  std::uint16_t header_bytes = 0;  // kTso
  std::uint8_t reserved[4] = {};
};
static_assert(sizeof(SendControl) == 32);

// RC, UC, XRC: WRITE, READ and atomics (ATOMIC WRITE is one; its data is the WQE's, 8 bytes).
struct RemoteSegment {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t reserved = 0;
  std::uint64_t compare_add = 0;  // CMP_SWAP: compared; FETCH_ADD: added
  std::uint64_t swap = 0;
};
static_assert(sizeof(RemoteSegment) == 32);

// RC, UC, XRC: BIND_MW. Length 0: the window (type 1) is bound to nothing.
struct WindowSegment {
  std::uint64_t va = 0;      // of its first byte in the region
  std::uint64_t length = 0;  // bytes
  std::uint32_t region = 0;  // lkey
  std::uint8_t access = 0;   // AccessFlag: kRemoteRights, kZeroBased
  std::uint8_t reserved[11] = {};
};
static_assert(sizeof(WindowSegment) == 32);

// UD: where the datagram goes. Also what an address handle holds, and the path of a connected QP.
struct AddressVector {
  std::array<std::uint8_t, 16> destination_gid{};
  std::array<std::uint8_t, 6> destination_mac{};
  std::uint8_t source_gid_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = kDefaultHopLimit;
  std::uint8_t service_level = 0;
  std::uint16_t udp_source_port = 0;  // 0: the device chooses
};
static_assert(sizeof(AddressVector) == 32);

// Longest message: a quarter of the PSNs at the smallest MTU, so that its PSNs differ from those of the next message.
inline constexpr std::uint32_t kMaxSendBytes = 1u << 30;
inline constexpr std::uint32_t kSendHeaderBytes = 64;  // SendControl and what follows it
inline constexpr std::uint32_t kMaxInlineBytes = 960;
inline constexpr std::uint32_t kMaxTsoHeaderBytes = 384;
inline constexpr std::uint32_t kMaxSendStride = 1024;

// Where in a slot the data begins: segments or inline data. (R2)
constexpr std::uint32_t send_data_offset(std::uint32_t header_bytes) {
  constexpr std::uint32_t kUnit = sizeof(DataSegment);
  return kSendHeaderBytes + (header_bytes + kUnit - 1) / kUnit * kUnit;
}
// Bytes of a slot that are in use. (R2)
constexpr std::uint64_t send_wqe_bytes(const SendControl& c) {
  const bool is_inline = (c.flags & kSendInline) != 0;
  const std::uint32_t header = c.opcode == SendOpcode::kTso ? c.header_bytes : 0;
  return send_data_offset(header) + (is_inline ? c.inline_bytes : c.sge_count * std::uint64_t{sizeof(DataSegment)});
}

// A send queue as software describes it to the device.
struct SendQueueContext {
  BusAddress base{};
  std::uint32_t slots = 0;    // power of two
  std::uint32_t stride = 0;   // bytes
  bool all_signaled = false;  // sq_sig_all
};

}  // namespace rxnic
