// SPDX-License-Identifier: Apache-2.0
#include "model/types/opcode.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace rxnic {
namespace {

constexpr std::uint32_t kRequestData = kRequest | kHasPayload;
constexpr std::uint32_t kResponseData = kResponse | kHasPayload;

struct OperationRow {
  Operation operation;
  std::string_view name;
  std::uint32_t traits;
};

// IBTA volume 1, table 38, for a transport without headers of its own (RC).
constexpr std::array kOperations{
    OperationRow{Operation::kSendFirst, "SEND_FIRST", kSend | kFirst | kRequestData | kTakesWqe},
    OperationRow{Operation::kSendMiddle, "SEND_MIDDLE", kSend | kMiddle | kRequestData},
    OperationRow{Operation::kSendLast, "SEND_LAST", kSend | kLast | kRequestData},
    OperationRow{Operation::kSendLastImm, "SEND_LAST_WITH_IMMEDIATE", kSend | kLast | kRequestData | kHasImm},
    OperationRow{Operation::kSendOnly, "SEND_ONLY", kSend | kOnly | kRequestData | kTakesWqe},
    OperationRow{Operation::kSendOnlyImm, "SEND_ONLY_WITH_IMMEDIATE",
                 kSend | kOnly | kRequestData | kHasImm | kTakesWqe},
    OperationRow{Operation::kWriteFirst, "RDMA_WRITE_FIRST", kWrite | kFirst | kRequestData | kHasReth},
    OperationRow{Operation::kWriteMiddle, "RDMA_WRITE_MIDDLE", kWrite | kMiddle | kRequestData},
    OperationRow{Operation::kWriteLast, "RDMA_WRITE_LAST", kWrite | kLast | kRequestData},
    OperationRow{Operation::kWriteLastImm, "RDMA_WRITE_LAST_WITH_IMMEDIATE",
                 kWrite | kLast | kRequestData | kHasImm | kTakesWqe},
    OperationRow{Operation::kWriteOnly, "RDMA_WRITE_ONLY", kWrite | kOnly | kRequestData | kHasReth},
    OperationRow{Operation::kWriteOnlyImm, "RDMA_WRITE_ONLY_WITH_IMMEDIATE",
                 kWrite | kOnly | kRequestData | kHasReth | kHasImm | kTakesWqe},
    OperationRow{Operation::kReadRequest, "RDMA_READ_REQUEST", kRead | kOnly | kRequest | kHasReth},
    OperationRow{Operation::kReadResponseFirst, "RDMA_READ_RESPONSE_FIRST",
                 kReadResponse | kFirst | kResponseData | kHasAeth},
    OperationRow{Operation::kReadResponseMiddle, "RDMA_READ_RESPONSE_MIDDLE", kReadResponse | kMiddle | kResponseData},
    OperationRow{Operation::kReadResponseLast, "RDMA_READ_RESPONSE_LAST",
                 kReadResponse | kLast | kResponseData | kHasAeth},
    OperationRow{Operation::kReadResponseOnly, "RDMA_READ_RESPONSE_ONLY",
                 kReadResponse | kOnly | kResponseData | kHasAeth},
    OperationRow{Operation::kAck, "ACKNOWLEDGE", kAckKind | kOnly | kResponse | kHasAeth},
    OperationRow{Operation::kAtomicAck, "ATOMIC_ACKNOWLEDGE",
                 kAckKind | kOnly | kResponse | kHasAeth | kHasAtomicAckEth},
    OperationRow{Operation::kCompareSwap, "COMPARE_SWAP", kAtomic | kOnly | kRequest | kHasAtomicEth},
    OperationRow{Operation::kFetchAdd, "FETCH_ADD", kAtomic | kOnly | kRequest | kHasAtomicEth},
    OperationRow{Operation::kSendLastInv, "SEND_LAST_WITH_INVALIDATE", kSend | kLast | kRequestData | kHasIeth},
    OperationRow{Operation::kSendOnlyInv, "SEND_ONLY_WITH_INVALIDATE",
                 kSend | kOnly | kRequestData | kHasIeth | kTakesWqe},
    OperationRow{Operation::kAtomicWrite, "ATOMIC_WRITE", kAtomic | kAtomicWrite | kOnly | kRequestData | kHasReth},
};

constexpr std::uint8_t kCnpReservedBytes = 16;

constexpr std::uint8_t bytes_of(std::uint32_t traits) {
  unsigned bytes = 0;
  if (traits & kHasXrceth) bytes += 4;
  if (traits & kHasDeth) bytes += 8;
  if (traits & kHasReth) bytes += 16;
  if (traits & kHasAtomicEth) bytes += 28;
  if (traits & kHasAeth) bytes += 4;
  if (traits & kHasAtomicAckEth) bytes += 8;
  if (traits & kHasImm) bytes += 4;
  if (traits & kHasIeth) bytes += 4;
  return static_cast<std::uint8_t>(bytes);
}

constexpr bool allowed(Transport transport, const OperationRow& row) {
  switch (transport) {
    case Transport::kRc:
      return true;
    case Transport::kXrc:
      return row.operation != Operation::kAtomicWrite;
    case Transport::kUc:
      return (row.traits & (kSend | kWrite)) != 0 && (row.traits & kHasIeth) == 0;
    case Transport::kUd:
      return row.operation == Operation::kSendOnly || row.operation == Operation::kSendOnlyImm;
    default:
      return false;
  }
}

// Headers that the transport adds to an operation: XRCETH stands on requests only (annex A14).
constexpr std::uint32_t added_by(Transport transport, std::uint32_t traits) {
  if (transport == Transport::kUd) return kHasDeth;
  if (transport == Transport::kXrc && (traits & kRequest)) return kHasXrceth;
  return 0;
}

constexpr std::array kTransports{Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc};

constexpr auto kInfo = [] {
  std::array<OpcodeInfo, 256> table{};
  for (const Transport transport : kTransports) {
    for (const OperationRow& row : kOperations) {
      if (!allowed(transport, row)) continue;
      const std::uint32_t traits = row.traits | kKnown | added_by(transport, row.traits);
      table[opcode_of(transport, row.operation)] = {traits, transport, row.operation, bytes_of(traits)};
    }
  }
  table[kOpcodeCnp] = {kKnown | kIsCnp, Transport::kCnp, Operation::kCnp, kCnpReservedBytes};
  return table;
}();

constexpr std::size_t kNameBytes = 40;

constexpr auto kNames = [] {
  std::array<std::array<char, kNameBytes>, 256> table{};
  const auto append = [](std::array<char, kNameBytes>& to, std::size_t& at, std::string_view text) {
    for (const char c : text) to[at++] = c;
  };
  for (std::size_t opcode = 0; opcode < table.size(); ++opcode) {
    const OpcodeInfo& info = kInfo[opcode];
    std::size_t at = 0;
    if (info.traits & kIsCnp) {
      append(table[opcode], at, "CNP");
    } else if (info.traits & kKnown) {
      switch (info.transport) {
        case Transport::kUc:
          append(table[opcode], at, "UC ");
          break;
        case Transport::kUd:
          append(table[opcode], at, "UD ");
          break;
        case Transport::kXrc:
          append(table[opcode], at, "XRC ");
          break;
        default:
          append(table[opcode], at, "RC ");
          break;
      }
      for (const OperationRow& row : kOperations) {
        if (row.operation == info.operation) append(table[opcode], at, row.name);
      }
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      append(table[opcode], at, "unknown 0x");
      append(table[opcode], at, kDigits.substr(opcode >> 4, 1));
      append(table[opcode], at, kDigits.substr(opcode & 15, 1));
    }
  }
  return table;
}();

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodeTable = kInfo;
const char* opcode_name(std::uint8_t opcode) { return kNames[opcode].data(); }

}  // namespace rxnic
