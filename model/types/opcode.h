// SPDX-License-Identifier: Apache-2.0
// BTH opcodes: three bits of transport, five of operation. The facts of each are in opcode_table.h; these are the
// functions that look them up.
#pragma once

#include <array>
#include <cstdint>

#include "model/types/access.h"
#include "model/types/completion.h"
#include "model/types/transport.h"

namespace rxnic {

// Its requests get responses, and are repeated until they do.
constexpr bool is_reliable(Transport t) { return t == Transport::kRc || t == Transport::kXrc; }

// Its messages are single packets, which anybody may send.
constexpr bool is_datagram(Transport t) { return t == Transport::kUd || t == Transport::kRaw; }

enum class Operation : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAck = 0x11,
  kAtomicAck = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInv = 0x16,
  kSendOnlyInv = 0x17,
  kFlush = 0x1c,
  kAtomicWrite = 0x1d,
  kCnp = 0x1f,      // not an opcode of the table: stands for 0x81
  kUnknown = 0x1e,  // undefined by the table
};

// What an opcode carries, its place in its message, and how it is handled. A bit set.
enum OpcodeTrait : std::uint32_t {
  kFirst = 1u << 0,
  kMiddle = 1u << 1,
  kLast = 1u << 2,
  kOnly = 1u << 3,
  kSend = 1u << 4,
  kWrite = 1u << 5,
  kRead = 1u << 6,  // READ request: uses the PSNs of its responses, as many as its RETH length takes packets
  kReadResponse = 1u << 7,
  kAtomic = 1u << 8,   // carried out on one aligned operand of kAtomicBytes: COMPARE_SWAP, FETCH_ADD, ATOMIC_WRITE
  kAckKind = 1u << 9,  // ACK or ATOMIC ACK
  kHasReth = 1u << 10,
  kHasAeth = 1u << 11,
  kHasAtomicEth = 1u << 12,
  kHasAtomicAckEth = 1u << 13,
  kHasImm = 1u << 14,
  kHasIeth = 1u << 15,
  kHasDeth = 1u << 16,
  kHasXrceth = 1u << 17,
  kHasPayload = 1u << 18,
  kKnown = 1u << 19,
  kRequest = 1u << 20,   // consumed by a responder
  kResponse = 1u << 21,  // consumed by a requester
  kTakesWqe = 1u << 22,  // takes a receive WQE at this packet: SEND FIRST/ONLY, WRITE LAST/ONLY with immediate
  kIsCnp = 1u << 23,
  // Answered by a response of its own, not by any ACK, in order with others of its kind. One of max_rd_atomic at the
  // requester and of max_dest_rd_atomic at the responder, which replays a duplicate from what it saved.
  kSaved = 1u << 24,
  kReturnsData = 1u << 25,  // that response carries data for a buffer of the requester
  kFlushes = 1u << 26,      // FLUSH: answered when the WRITEs before it to its range are where FETH asks for
  kHasFeth = 1u << 27,
};

// Which payload is legal (rules 6, lengths).
enum class LengthRule : std::uint8_t {
  kNone,     // none
  kPart,     // of a message: FIRST and MIDDLE the MTU, LAST 1..MTU, ONLY at most the MTU; all add up to the RETH length
  kOperand,  // kAtomicBytes, and so is the RETH length
};

struct OpcodeInfo {
  std::uint32_t traits = 0;
  Transport transport = Transport::kNone;
  Operation operation = Operation::kUnknown;
  std::uint8_t extension_bytes = 0;  // extension headers between BTH and payload
  LengthRule length = LengthRule::kNone;
  std::uint8_t access = 0;  // AccessFlag: of the QP and of the region that a request names; 0: it names none
  Operation answer = Operation::kUnknown;    // on a reliable transport, to a request that was carried out
  CqeOpcode completion = CqeOpcode::kSend;   // of a request, at the requester
  CqeOpcode received = CqeOpcode::kReceive;  // of the receive WQE that its message takes
};

inline constexpr std::uint8_t kOpcodeCnp = 0x81;
// 0xc0 to 0xff: each manufacturer's own (IBTA volume 1, table 38). On the wire none of them has a row.
constexpr bool is_vendor_opcode(std::uint8_t opcode) { return opcode >= 0xc0; }
constexpr std::uint8_t opcode_of(Transport t, Operation o) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(t) << 5 | static_cast<unsigned>(o));
}

extern const std::array<OpcodeInfo, 256> kOpcodeTable;
// Facts about a BTH opcode byte; traits without kKnown when the table does not define it.
inline const OpcodeInfo& opcode_info(std::uint8_t opcode) { return kOpcodeTable[opcode]; }
// "RC SEND_FIRST", "CNP", "unknown 0x5f".
const char* opcode_name(std::uint8_t opcode);

}  // namespace rxnic
