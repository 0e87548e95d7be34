// SPDX-License-Identifier: Apache-2.0
// opcode_table.h laid out by opcode byte, by WQE opcode and by CQE opcode, and checked.
#include "model/types/opcode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

#include "model/types/opcode_table.h"
#include "model/types/send_opcode.h"

namespace rxnic {
namespace {

using namespace opcode_table;

constexpr std::uint8_t bytes_of(std::uint32_t traits) {
  std::size_t bytes = 0;
  if (traits & kHasXrceth) bytes += kXrcethBytes;
  if (traits & kHasDeth) bytes += kDethBytes;
  if (traits & kHasFeth) bytes += kFethBytes;
  if (traits & kHasReth) bytes += kRethBytes;
  if (traits & kHasAtomicEth) bytes += kAtomicEthBytes;
  if (traits & kHasAeth) bytes += kAethBytes;
  if (traits & kHasAtomicAckEth) bytes += kAtomicAckEthBytes;
  if (traits & kHasImm) bytes += kImmDtBytes;
  if (traits & kHasIeth) bytes += kIethBytes;
  return static_cast<std::uint8_t>(bytes);
}

// Headers that the transport adds to an operation: XRCETH stands on requests only (annex A14).
constexpr std::uint32_t added_by(Transport transport, std::uint32_t traits) {
  if (transport == Transport::kUd) return kHasDeth;
  if (transport == Transport::kXrc && (traits & kRequest)) return kHasXrceth;
  return 0;
}

constexpr bool asks_for(const SendRow& row, Operation o) {
  return o != Op::kUnknown && (row.only == o || row.first == o || row.middle == o || row.last == o);
}
// Rows by their places: GCC compares no addresses in a constant expression with -fsanitize=undefined (its bug 71962).
constexpr std::size_t place_of(Operation o) {
  std::size_t n = 0;
  while (n < kOperations.size() && kOperations[n].operation != o) ++n;
  return n;
}
constexpr bool has_row(Operation o) { return place_of(o) < kOperations.size(); }
constexpr bool has_row(CqeOpcode o) {
  return std::any_of(kCompletions.begin(), kCompletions.end(), [o](const CompletionRow& r) { return r.opcode == o; });
}
constexpr bool is_asked_for(Operation o) {
  return std::any_of(kSends.begin(), kSends.end(), [o](const SendRow& r) { return asks_for(r, o); });
}

// The conditions that every row has to meet. A row that does not meet them does not compile.
constexpr bool is_sound(std::size_t place) {
  const OperationRow& row = kOperations[place];
  const auto count = [&row](std::uint32_t traits) { return std::popcount(row.traits & traits); };
  const bool request = (row.traits & kRequest) != 0;
  const bool flushes = (row.traits & kFlushes) != 0;  // sent by others only
  const bool names_memory = (row.traits & (kHasReth | kHasAtomicEth | kWrite)) != 0;
  const bool answered = has_row(row.answer);
  const std::uint32_t answer = answered ? kOperations[place_of(row.answer)].traits : 0;
  return count(kFirst | kMiddle | kLast | kOnly) == 1 && count(kRequest | kResponse) == 1 && row.transports != 0 &&
         count(kSend | kWrite | kRead | kReadResponse | kAtomic | kFlushes | kAckKind) == 1 && has_row(row.received) &&
         place_of(row.operation) == place && (request && !flushes) == is_asked_for(row.operation) &&
         names_memory == (row.access != 0) && request == answered &&
         (!request || ((answer & kResponse) != 0 && ((row.traits & kSaved) != 0) == (row.answer != Op::kAck))) &&
         (!request || ((row.traits & kHasPayload) != 0) == (row.length != LengthRule::kNone));
}
constexpr bool is_sound_send(std::size_t place) {
  const SendRow& row = kSends[place];
  const auto has = [](Operation o, std::uint32_t traits) {
    return o == Op::kUnknown || (has_row(o) && (kOperations[place_of(o)].traits & traits) == traits);
  };
  const bool divisible = row.first != Op::kUnknown;
  return has_row(row.completion) && (row.local == 0) == (row.only != Op::kUnknown) &&
         place == static_cast<std::size_t>(row.opcode) && has(row.only, kOnly | kRequest) &&
         has(row.first, kFirst | kRequest) && has(row.middle, kMiddle | kRequest) && has(row.last, kLast | kRequest) &&
         divisible == (row.middle != Op::kUnknown) && divisible == (row.last != Op::kUnknown);
}
constexpr bool all_places(std::size_t rows, bool (*is)(std::size_t)) {
  std::size_t n = 0;
  while (n < rows && is(n)) ++n;
  return n == rows;
}
static_assert(all_places(kOperations.size(), is_sound));
static_assert(all_places(kSends.size(), is_sound_send));
static_assert(kSends.size() == static_cast<std::size_t>(SendOpcode::kCount), "every SendOpcode has a row, in order");

constexpr std::array kTransports{Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc, Transport::kRaw};

constexpr auto kInfo = [] {
  std::array<OpcodeInfo, 256> table{};
  for (const Transport transport : kTransports) {
    for (const OperationRow& row : kOperations) {
      if ((row.transports & bit(transport)) == 0) continue;
      const std::uint32_t traits = row.traits | kKnown | added_by(transport, row.traits);
      OpcodeInfo& info = table[opcode_of(transport, row.operation)];
      info = {traits,     transport,  row.operation,    bytes_of(traits), row.length,
              row.access, row.answer, CqeOpcode::kSend, row.received};
      for (const SendRow& send : kSends) {
        if (!asks_for(send, row.operation)) continue;
        info.completion = send.completion;
        break;
      }
    }
  }
  OpcodeInfo& cnp = table[kOpcodeCnp];
  cnp.traits = kKnown | kIsCnp;
  cnp.transport = Transport::kCnp;
  cnp.operation = Operation::kCnp;
  cnp.extension_bytes = kCnpReservedBytes;
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
        case Transport::kRaw:
          append(table[opcode], at, "RAW ");
          break;
        default:
          append(table[opcode], at, "RC ");
          break;
      }
      append(table[opcode], at, kOperations[place_of(info.operation)].name);
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      append(table[opcode], at, "unknown 0x");
      append(table[opcode], at, kDigits.substr(opcode >> 4, 1));
      append(table[opcode], at, kDigits.substr(opcode & 15, 1));
    }
  }
  return table;
}();

// One row more for bytes that are no opcode.
constexpr auto kSendInfo = [] {
  std::array<OpcodeInfo, kSends.size() + 1> table{};
  for (const SendRow& row : kSends) {
    if (row.only != Op::kUnknown)
      table[static_cast<std::size_t>(row.opcode)] = kInfo[opcode_of(Transport::kRc, row.only)];
  }
  return table;
}();
constexpr std::size_t index_of(SendOpcode o) { return std::min(static_cast<std::size_t>(o), kSends.size()); }

// Every CqeOpcode is below this.
constexpr std::size_t kCqeOpcodes = 32;
static_assert(std::all_of(kCompletions.begin(), kCompletions.end(),
                          [](const CompletionRow& r) { return static_cast<std::size_t>(r.opcode) < kCqeOpcodes - 1; }));
constexpr std::size_t index_of(CqeOpcode o) { return std::min(static_cast<std::size_t>(o), kCqeOpcodes - 1); }
constexpr auto kRequestInfo = [] {
  std::array<OpcodeInfo, kCqeOpcodes> table{};
  for (const SendRow& row : kSends) {
    OpcodeInfo& info = table[index_of(row.completion)];
    if (row.only != Op::kUnknown && info.traits == 0) info = kInfo[opcode_of(Transport::kRc, row.only)];
  }
  return table;
}();

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodeTable = kInfo;
const char* opcode_name(std::uint8_t opcode) { return kNames[opcode].data(); }

const OpcodeInfo& request_info(SendOpcode o) { return kSendInfo[index_of(o)]; }
const OpcodeInfo& request_info(CqeOpcode o) { return kRequestInfo[index_of(o)]; }

Operation operation_of(SendOpcode o, bool first, bool last) {
  if (index_of(o) == kSends.size()) return Operation::kUnknown;
  const SendRow& row = kSends[index_of(o)];
  if (row.first == Op::kUnknown) return row.only;  // a repeated READ may start in the middle of the first one
  if (first) return last ? row.only : row.first;
  return last ? row.last : row.middle;
}

bool is_local(SendOpcode o) { return index_of(o) < kSends.size() && kSends[index_of(o)].local != 0; }

bool is_legal(SendOpcode o, Transport transport) {
  if (is_local(o)) return (kSends[index_of(o)].local & bit(transport)) != 0;
  if (index_of(o) < kSends.size() && (kSends[index_of(o)].within & bit(transport)) == 0) return false;
  return (opcode_info(opcode_of(transport, operation_of(o, true, true))).traits & kKnown) != 0;
}

CqeOpcode completion_opcode(SendOpcode o) {
  return index_of(o) == kSends.size() ? CqeOpcode::kSend : kSends[index_of(o)].completion;
}

const char* cqe_opcode_name(CqeOpcode o) {
  const CompletionRow* row = row_of(o);
  return row == nullptr ? "?" : row->name.data();
}

}  // namespace rxnic
