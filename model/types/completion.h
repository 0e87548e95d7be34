// SPDX-License-Identifier: Apache-2.0
// Device ABI, completion side: CQEs as the device writes them. Little-endian. Their codes and the events lie in
// descriptors.toml.
//
//   R1  A CQ is a ring of slots, a power of two of them. CQE k is in slot k mod slots. A slot has cqe_bytes, 64 or
//       128; of a 128-byte slot the CQE is the second half.
//   R2  The owner bit of CQE k is (k / slots) mod 2. Software that expects CQE k finds it valid when the bit is equal;
//       the ring starts filled with ones (bit 1 in slots never written). It is in the last byte, written last.
//   R3  On an error only wr_id's carrier (wqe_index and its queue), status, qp_number and vendor_error are valid
//       (rules 3.1). The carrier of a message on a TM SRQ is wqe_index. With kCqeTagMatch or kCqeTagDataValid it is the
//       handle of the entry that the message matched, otherwise the slot of a WQE. An error of a match has one of these
//       two flags.
//   R4  Compression: a title CQE (format kTitle, mini_count = n) is followed by ceil(n / 7) slots of mini CQEs (format
//       kMini). Each mini CQE stands for a CQE that equals the title except in byte_count and wqe_index. The block
//       takes 1 + ceil(n / 7) slots.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "model/types/completion_codes.h"
#include "model/types/event.h"
#include "model/types/ids.h"
#include "model/types/stored_cq.h"

namespace rxnic {

enum CqeFlag : std::uint16_t {
  kCqeGrh = 1u << 0,
  kCqeImmediate = 1u << 1,
  kCqeInvalidated = 1u << 2,
  kCqeTagMatch = 1u << 3,
  kCqeTagDataValid = 1u << 4,
  kCqeTagSyncRequest = 1u << 5,
  kCqeSolicited = 1u << 6,
  kCqeSrq = 1u << 7,          // wqe_index is of the SRQ `srq_number`
  kCqeChecksumsOk = 1u << 8,  // RAW and UD: an IPv4 packet whose header checksum and TCP or UDP checksum are correct
};

enum class CqeFormat : std::uint8_t { kPlain, kTitle, kMini };

struct Cqe {
  std::uint32_t qp_number = 0;
  std::uint32_t srq_number = 0;
  std::uint32_t wqe_index = 0;  // slot of the WQE; the driver keeps wr_id by slot
  std::uint32_t byte_count = 0;
  std::uint32_t immediate_or_rkey = 0;
  std::uint32_t source_qp = 0;  // UD
  std::uint16_t source_lid = 0;
  std::uint16_t pkey_index = 0;
  std::uint16_t flags = 0;         // CqeFlag
  std::uint8_t service_level = 0;  // UD; over RoCE the kind of packet (core/wire/parsed.cpp)
  CqeOpcode opcode = CqeOpcode::kReceive;
  WcStatus status = WcStatus::kSuccess;
  std::uint8_t vendor_error = 0;
  std::uint16_t mini_count = 0;  // kTitle
  std::uint8_t reserved_title[4] = {};
  std::uint64_t timestamp = 0;    // cycle in which it was built
  std::uint64_t tag = 0;          // TM: tm_info.tag
  std::uint32_t tag_context = 0;  // TM: tm_info.priv (app_ctx)
  std::uint8_t reserved[2] = {};
  CqeFormat format = CqeFormat::kPlain;
  std::uint8_t owner = 1;
};
static_assert(sizeof(Cqe) == 64);

struct MiniCqe {
  std::uint32_t byte_count = 0;
  std::uint32_t wqe_index = 0;
};
static_assert(sizeof(MiniCqe) == 8);
inline constexpr std::uint32_t kMiniCqesPerSlot = 7;
struct MiniCqeSlot {
  std::array<MiniCqe, kMiniCqesPerSlot> mini;
  std::uint8_t reserved[6] = {};
  CqeFormat format = CqeFormat::kMini;
  std::uint8_t owner = 1;
};
static_assert(sizeof(MiniCqeSlot) == 64);

// R5  A CQ's context as the device keeps it in host memory, at cq_context_address() (context.h). valid == 0: there is
//     no such CQ. No bytes lie between the members.
struct CqRecord : StoredCq {
  std::uint8_t reserved[4] = {};
};
inline constexpr std::size_t kCqContextBytes = 64;
static_assert(sizeof(CqRecord) == kCqContextBytes);
static_assert(std::has_unique_object_representations_v<CqRecord>);

}  // namespace rxnic
