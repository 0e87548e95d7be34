// SPDX-License-Identifier: Apache-2.0
// The events of a run for Perfetto, in the Trace Event Format (JSON) that ui.perfetto.dev and chrome://tracing open.
//
//   R1  A NIC is a process, a block a thread. A slice is a packet in the block, from when the block took it until it
//       left. Slices of a thread never overlap: a block that holds several packets has further threads, "BLOCK 2" and
//       so on.
//   R2  A message is a flow through the slices of its last packet.
//   R3  What a block does, besides being busy and starved, is a slice of a thread of its own, "BLOCK waits".
//   R4  Counters: packets that wait in front of each block. Instants: packets that were not carried out, NAKs sent,
//       CQEs in error.
//   R5  Times are microseconds of the model, from its first cycle.
#pragma once

#include <cstdint>
#include <string>

#include "bridge/rxnic/explain/packet_life.h"

namespace rxnic {

struct TimelineCounts {
  std::uint64_t packets = 0, left_out = 0;  // beyond the most
  std::uint64_t slices = 0, flows = 0, drops = 0, naks = 0;
};

// Throws std::runtime_error: the file cannot be written.
TimelineCounts write_timeline(RunEvents& events, const std::string& path, std::uint64_t most_packets);

}  // namespace rxnic
