// SPDX-License-Identifier: Apache-2.0
// The life of a packet in a NIC, from the events of its run.
//
//   R1  Its time goes from the arrival of its last byte until it has retired, or was dropped. The stays at its stations
//       add up to that time. A stay is the wait in front of a block, and the time in the block.
//   R2  What it waited for is what the block did meanwhile. While the block was blocked, it is what the next block of
//       the path did, and so on. The last one may be blocked by the wire.
//   R3  Who held it up is the packet that left the block last, while this one waited for it. Nobody is named, and
//       messages have no numbers, when the events are not of all packets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bridge/rxnic/events/event_request.h"
#include "bridge/rxnic/explain/run_events.h"

namespace rxnic {

struct Cause {
  Station station{};  // whose block
  Activity activity{};
  std::uint64_t cycles = 0;
};

struct StationStay {
  Station station{};
  std::uint64_t from = 0, wait = 0, block = 0;  // cycles
  std::vector<Cause> waited_for;                // in front of the block (R2), the longest first
  std::vector<Cause> inside;                    // in the block
  std::uint64_t held_by = 0, holder_qp = 0;     // number of the packet (R3); 0: none
};

struct PacketLife {
  PacketRow row{};
  std::uint64_t message = 0;  // number of the message that it ends; 0: it ends none
  std::vector<StationStay> stays;
  std::optional<CompletionRow> completion;
  std::vector<FrameRow> answers;  // the first ones
  std::uint64_t cycles() const { return row.left - row.arrived; }
};

// The stays alone. (R1)
std::vector<StationStay> stays_of(const PacketRow& row);
// Which packets have ended a message that was carried out.
bool ends_message(const PacketRow& row);
// Whether a completion is that of a receive, not of the match of one whose data is still to come.
bool is_receive(const CompletionRow& row);
// From the first packet of a WRITE without immediate until its last byte can be seen; none: the packet ends no such.
std::optional<std::uint64_t> write_cycles(const PacketRow& row);

// Packets by what chooses them.
struct PacketQuery {
  std::vector<EventRange> packets;
  std::vector<std::uint64_t> numbers;  // sorted
  std::optional<std::uint64_t> message, nic, qp, psn;
  bool drops = false;
  std::size_t most = 1000;
  bool has(const PacketRow& row, std::uint64_t message_number) const;
};
// In the order in which they left. `found`: how many there are besides those beyond `most`.
std::vector<PacketLife> lives_of(RunEvents& events, const PacketQuery& query, std::uint64_t& found);

// Messages that took longest: a receive until its CQE could be seen, a WRITE until its last byte could.
struct SlowMessage {
  std::uint64_t cycles = 0, nic = 0, packet = 0, qp = 0;
  bool write = false;
};
std::vector<SlowMessage> slowest(RunEvents& events, const PacketQuery& query, std::size_t count);

}  // namespace rxnic
