// SPDX-License-Identifier: Apache-2.0
// What the file of --events holds: tables of whole numbers. README.md describes the file.
//
//   R1  A row is a struct of std::uint64_t members; column n is its n-th member.
//   R2  Times are cycles, counted from 0, unless the column says otherwise; kNoTime: it has not been.
//   R3  Rows of a chunk are in the order of their first column, then of the columns behind it: the order of stepping
//       does not matter. Activities are in the order of the blocks, and of a block in that of time, across chunks, too.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/types/packet.h"

namespace rxnic {

inline constexpr std::uint64_t kNoTime = 0;  // no packet comes in cycle 0

enum class EventTable : std::uint8_t {
  kPackets,
  kCompletions,
  kFrames,
  kActivityChanges,
  kCounters,
  kIncidents,
  kCount
};
inline constexpr std::size_t kEventTables = static_cast<std::size_t>(EventTable::kCount);

// Flags of a packet.
enum PacketFlag : std::uint64_t {
  kPacketEndsMessage = 1u << 0,
  kPacketCompletes = 1u << 1,     // a CQE is due
  kPacketAcknowledges = 1u << 2,  // a response is due
  kPacketCongested = 1u << 3,     // marked Congestion Experienced
  kPacketNotRdma = 1u << 4,
  kPacketChecked = 1u << 5,  // it has passed the transport checker: its QP is known
  kPacketUsesSrq = 1u << 6,
  kPacketFailsQp = 1u << 7,
};

// A packet that has left the NIC, for good or not.
struct PacketRow {
  std::uint64_t left, nic, number, arrived, flags, outcome, reason, status, syndrome;
  std::uint64_t qp, peer_qp, opcode, psn, answer_psn, payload_bytes, posted;
  std::uint64_t message, message_start, message_bytes;
  // By station from rx_parser on: taken from its input, left.
  struct Stay {
    std::uint64_t taken, left;
  };
  std::array<Stay, kStations - 1> stays;

  bool has(PacketFlag f) const { return (flags & f) != 0; }
  const Stay& at(Station s) const { return stays[static_cast<std::size_t>(s) - 1]; }
  std::uint64_t left_at(Station s) const { return s == Station::kWire ? arrived : at(s).left; }
};

// A CQE.
struct CompletionRow {
  std::uint64_t visible, nic, cq, packet, handed_over, started, qp, srq, wqe, opcode, status, bytes, flags, begun,
      posted;
};

// A frame that a NIC sent: `answered` is the number of the packet that it answers.
struct FrameRow {
  std::uint64_t left_ps, nic, number, answered, opcode, peer_qp, psn, syndrome, msn, payload_bytes;
};

// A block does this from that cycle on.
struct ActivityRow {
  std::uint64_t from, block, activity;
};

// A counter that has changed.
struct CounterRow {
  std::uint64_t at, counter, value;
};

// Something that went wrong, or an event of the device (model/system/nic_tables.h, R7).
struct IncidentEventRow {
  std::uint64_t at, nic, kind, number, packet, detail;
};

struct EventColumn {
  std::string_view name;
  std::string_view sentence;
  std::string_view names;  // the list in the description that says what a value means; "": a number
};
struct EventTableInfo {
  std::string_view name;
  std::string_view sentence;
  std::span<const EventColumn> columns;
};
const EventTableInfo& info_of(EventTable table);
inline std::size_t columns_of(EventTable table) { return info_of(table).columns.size(); }

}  // namespace rxnic
