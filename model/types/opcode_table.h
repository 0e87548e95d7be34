// SPDX-License-Identifier: Apache-2.0
// The facts of every opcode, each stated once: on the wire, in a send WQE and in a CQE. On the wire: IBTA volume 1,
// table 38, and 9.4 to 9.7; annexes for XRC, ATOMIC WRITE and FLUSH. Code that decides by opcode uses these facts, most
// through opcode.h and send_opcode.h; bridge/verbs, which links no other library, includes these rows.
//
//   R1  A new operation is a row of kOperations. The WQE that asks for it is a row of kSends, the CQE that ends it one
//       of kCompletions. What it does at the responder is a rule of core/responder/responder.h and of the blocks behind
//       it.
//   R2  Numbers "as verbs" are those of <infiniband/verbs.h>, which this floor does not include.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "model/types/opcode.h"
#include "model/types/send_work_queue.h"
#include "model/types/wire_constants.h"

namespace rxnic::opcode_table {

constexpr unsigned bit(Transport t) { return 1u << static_cast<unsigned>(t); }
inline constexpr unsigned kOnRc = bit(Transport::kRc);
inline constexpr unsigned kReliable = kOnRc | bit(Transport::kXrc);
inline constexpr unsigned kConnected = kReliable | bit(Transport::kUc);
inline constexpr unsigned kEverywhere = kConnected | bit(Transport::kUd);
inline constexpr unsigned kOnRaw = bit(Transport::kRaw);  // one message, one frame

inline constexpr std::uint32_t kPart = kRequest | kHasPayload;      // of a SEND or a WRITE
inline constexpr std::uint32_t kAlone = kRequest | kOnly | kSaved;  // READ and atomics
inline constexpr std::uint32_t kReadData = kResponse | kReadResponse | kHasPayload;

struct OperationRow {
  Operation operation;
  std::string_view name;
  unsigned transports;   // on which it is legal
  std::uint32_t traits;  // its own headers among them; the transport adds its own
  LengthRule length = LengthRule::kNone;
  std::uint8_t access = 0;                   // AccessFlag that the QP and the region must grant at the responder
  Operation answer = Operation::kUnknown;    // on RC and XRC, when it was carried out
  CqeOpcode received = CqeOpcode::kReceive;  // of the receive WQE of its message
};

using Op = Operation;
inline constexpr std::array kOperations{
    OperationRow{Op::kSendFirst, "SEND_FIRST", kConnected, kSend | kFirst | kPart | kTakesWqe, LengthRule::kPart, 0,
                 Op::kAck},
    OperationRow{Op::kSendMiddle, "SEND_MIDDLE", kConnected, kSend | kMiddle | kPart, LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kSendLast, "SEND_LAST", kConnected, kSend | kLast | kPart, LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kSendLastImm, "SEND_LAST_WITH_IMMEDIATE", kConnected, kSend | kLast | kPart | kHasImm,
                 LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kSendOnly, "SEND_ONLY", kEverywhere | kOnRaw, kSend | kOnly | kPart | kTakesWqe, LengthRule::kPart,
                 0, Op::kAck},
    OperationRow{Op::kSendOnlyImm, "SEND_ONLY_WITH_IMMEDIATE", kEverywhere, kSend | kOnly | kPart | kHasImm | kTakesWqe,
                 LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kWriteFirst, "RDMA_WRITE_FIRST", kConnected, kWrite | kFirst | kPart | kHasReth, LengthRule::kPart,
                 kRemoteWrite, Op::kAck, CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kWriteMiddle, "RDMA_WRITE_MIDDLE", kConnected, kWrite | kMiddle | kPart, LengthRule::kPart,
                 kRemoteWrite, Op::kAck, CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kWriteLast, "RDMA_WRITE_LAST", kConnected, kWrite | kLast | kPart, LengthRule::kPart, kRemoteWrite,
                 Op::kAck, CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kWriteLastImm, "RDMA_WRITE_LAST_WITH_IMMEDIATE", kConnected,
                 kWrite | kLast | kPart | kHasImm | kTakesWqe, LengthRule::kPart, kRemoteWrite, Op::kAck,
                 CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kWriteOnly, "RDMA_WRITE_ONLY", kConnected, kWrite | kOnly | kPart | kHasReth, LengthRule::kPart,
                 kRemoteWrite, Op::kAck, CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kWriteOnlyImm, "RDMA_WRITE_ONLY_WITH_IMMEDIATE", kConnected,
                 kWrite | kOnly | kPart | kHasReth | kHasImm | kTakesWqe, LengthRule::kPart, kRemoteWrite, Op::kAck,
                 CqeOpcode::kReceiveWriteImm},
    OperationRow{Op::kReadRequest, "RDMA_READ_REQUEST", kReliable, kRead | kAlone | kReturnsData | kHasReth,
                 LengthRule::kNone, kRemoteRead, Op::kReadResponseOnly},
    OperationRow{Op::kReadResponseFirst, "RDMA_READ_RESPONSE_FIRST", kReliable, kReadData | kFirst | kHasAeth},
    OperationRow{Op::kReadResponseMiddle, "RDMA_READ_RESPONSE_MIDDLE", kReliable, kReadData | kMiddle},
    OperationRow{Op::kReadResponseLast, "RDMA_READ_RESPONSE_LAST", kReliable, kReadData | kLast | kHasAeth},
    OperationRow{Op::kReadResponseOnly, "RDMA_READ_RESPONSE_ONLY", kReliable, kReadData | kOnly | kHasAeth},
    OperationRow{Op::kAck, "ACKNOWLEDGE", kReliable, kAckKind | kOnly | kResponse | kHasAeth},
    OperationRow{Op::kAtomicAck, "ATOMIC_ACKNOWLEDGE", kReliable,
                 kAckKind | kOnly | kResponse | kHasAeth | kHasAtomicAckEth},
    OperationRow{Op::kCompareSwap, "COMPARE_SWAP", kReliable, kAtomic | kAlone | kReturnsData | kHasAtomicEth,
                 LengthRule::kNone, kRemoteAtomic, Op::kAtomicAck},
    OperationRow{Op::kFetchAdd, "FETCH_ADD", kReliable, kAtomic | kAlone | kReturnsData | kHasAtomicEth,
                 LengthRule::kNone, kRemoteAtomic, Op::kAtomicAck},
    OperationRow{Op::kSendLastInv, "SEND_LAST_WITH_INVALIDATE", kReliable, kSend | kLast | kPart | kHasIeth,
                 LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kSendOnlyInv, "SEND_ONLY_WITH_INVALIDATE", kReliable, kSend | kOnly | kPart | kHasIeth | kTakesWqe,
                 LengthRule::kPart, 0, Op::kAck},
    OperationRow{Op::kAtomicWrite, "ATOMIC_WRITE", kOnRc, kAtomic | kAlone | kHasPayload | kHasReth,
                 LengthRule::kOperand, kRemoteWrite, Op::kReadResponseOnly},
    OperationRow{Op::kFlush, "FLUSH", kOnRc, kFlushes | kAlone | kHasFeth | kHasReth, LengthRule::kNone, kRemoteFlush,
                 Op::kReadResponseOnly},
};

// The WQE of a driver that asks for operations: one ONLY packet, or FIRST, MIDDLEs and LAST where it may have several.
struct SendRow {
  SendOpcode opcode;
  unsigned wr;  // as verbs: ibv_wr_opcode
  CqeOpcode completion;
  Operation only = Op::kUnknown, first = Op::kUnknown, middle = Op::kUnknown, last = Op::kUnknown;
  unsigned local = 0;     // transports, of a WQE that the device carries out by itself: it sends nothing
  unsigned within = ~0u;  // transports, where not all that have the operation have the WQE
};
// FLUSH has none: the verbs of rdma-core 44 have no WR for it. It is answered, and never sent.
inline constexpr std::array kSends{
    SendRow{SendOpcode::kSend, 2, CqeOpcode::kSend, Op::kSendOnly, Op::kSendFirst, Op::kSendMiddle, Op::kSendLast},
    SendRow{SendOpcode::kSendImm, 3, CqeOpcode::kSend, Op::kSendOnlyImm, Op::kSendFirst, Op::kSendMiddle,
            Op::kSendLastImm},
    SendRow{SendOpcode::kSendInvalidate, 9, CqeOpcode::kSend, Op::kSendOnlyInv, Op::kSendFirst, Op::kSendMiddle,
            Op::kSendLastInv},
    SendRow{SendOpcode::kWrite, 0, CqeOpcode::kRdmaWrite, Op::kWriteOnly, Op::kWriteFirst, Op::kWriteMiddle,
            Op::kWriteLast},
    SendRow{SendOpcode::kWriteImm, 1, CqeOpcode::kRdmaWrite, Op::kWriteOnlyImm, Op::kWriteFirst, Op::kWriteMiddle,
            Op::kWriteLastImm},
    SendRow{SendOpcode::kRead, 4, CqeOpcode::kRdmaRead, Op::kReadRequest},
    SendRow{SendOpcode::kCompareSwap, 5, CqeOpcode::kCompareSwap, Op::kCompareSwap},
    SendRow{SendOpcode::kFetchAdd, 6, CqeOpcode::kFetchAdd, Op::kFetchAdd},
    SendRow{.opcode = SendOpcode::kLocalInvalidate,
            .wr = 7,
            .completion = CqeOpcode::kLocalInvalidate,
            .local = kConnected},
    SendRow{.opcode = SendOpcode::kBindWindow, .wr = 8, .completion = CqeOpcode::kBindWindow, .local = kConnected},
    SendRow{SendOpcode::kAtomicWrite, 15, CqeOpcode::kAtomicWrite, Op::kAtomicWrite},
    SendRow{.opcode = SendOpcode::kTso,
            .wr = 10,
            .completion = CqeOpcode::kTso,
            .only = Op::kSendOnly,
            .within = bit(Transport::kUd) | kOnRaw},
};

struct CompletionRow {
  CqeOpcode opcode;
  std::string_view name;
  unsigned wc;  // as verbs: ibv_wc_opcode
};
inline constexpr std::array kCompletions{
    CompletionRow{CqeOpcode::kSend, "SEND", 0},
    CompletionRow{CqeOpcode::kRdmaWrite, "RDMA_WRITE", 1},
    CompletionRow{CqeOpcode::kRdmaRead, "RDMA_READ", 2},
    CompletionRow{CqeOpcode::kCompareSwap, "COMP_SWAP", 3},
    CompletionRow{CqeOpcode::kFetchAdd, "FETCH_ADD", 4},
    CompletionRow{CqeOpcode::kBindWindow, "BIND_MW", 5},
    CompletionRow{CqeOpcode::kLocalInvalidate, "LOCAL_INV", 6},
    CompletionRow{CqeOpcode::kAtomicWrite, "ATOMIC_WRITE", 9},
    CompletionRow{CqeOpcode::kTso, "TSO", 7},
    CompletionRow{CqeOpcode::kReceive, "RECV", 128},
    CompletionRow{CqeOpcode::kReceiveWriteImm, "RECV_RDMA_WITH_IMM", 129},
    CompletionRow{CqeOpcode::kTagAdd, "TM_ADD", 130},
    CompletionRow{CqeOpcode::kTagDelete, "TM_DEL", 131},
    CompletionRow{CqeOpcode::kTagSync, "TM_SYNC", 132},
    CompletionRow{CqeOpcode::kTagReceive, "TM_RECV", 133},
    CompletionRow{CqeOpcode::kTagNoTag, "TM_NO_TAG", 134},
};

// The row of an operation, of a completion; nullptr when there is none.
constexpr const OperationRow* row_of(Operation operation) {
  for (const OperationRow& row : kOperations) {
    if (row.operation == operation) return &row;
  }
  return nullptr;
}
constexpr const CompletionRow* row_of(CqeOpcode opcode) {
  for (const CompletionRow& row : kCompletions) {
    if (row.opcode == opcode) return &row;
  }
  return nullptr;
}

}  // namespace rxnic::opcode_table
