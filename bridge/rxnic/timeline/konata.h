// SPDX-License-Identifier: Apache-2.0
// The packets of a run for Konata, the pipeline viewer (Kanata log format 0004): a packet is a row.
//
//   R1  A packet's stages are its stays: "wPs" is the wait in front of the parser, "Ps" the time in it, and so on
//       (kStages). Stages of no cycle are left out.
//   R2  Beside a packet stand its opcode, QP and PSN; in its tooltip what became of it, and what it waited for.
//   R3  An arrow goes to a packet from the one that held it up for longest.
//   R4  A packet that was not carried out ends as a flushed instruction does.
#pragma once

#include <string>

#include "bridge/rxnic/explain/packet_life.h"

namespace rxnic {

struct KonataCounts {
  std::uint64_t packets = 0, left_out = 0;
};

// Throws std::runtime_error: the file cannot be written.
KonataCounts write_konata(RunEvents& events, const std::string& path, std::uint64_t most_packets);

}  // namespace rxnic
