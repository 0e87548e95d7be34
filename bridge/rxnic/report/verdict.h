// SPDX-License-Identifier: Apache-2.0
// What a run comes to, in words: what bound it and how one knows, and whether its latency is backlog. Then what to
// distrust, and what to try next.
//
//   R1  A run is idle when the busiest block of the path was without work in nine tenths of the cycles. Nothing binds
//       it.
//   R2  Otherwise what binds is found from the front of the path. A block that was blocked for a quarter of its time
//       with work was held up by the block behind it, and so on. The last one binds, by what it did for longest: it was
//       busy, or it waited for a resource. A block that was in the way for twice as long binds instead: what came early
//       may wait there alone. When no block was held up the NIC kept up with what came. But answers to READs wait in
//       the ACK generator: it binds when it was in the way in nine tenths of the cycles. What the WQE fetcher refuses
//       holds up no block. It binds when it waited for its WQE store for a quarter of its time with work. A block that
//       waits for a read leaves it to the DMA engine, when that was without a tag for a quarter of the cycles.
//   R3  When packets were refused since no receive WQE was posted, the host binds, whatever the path did. Packets that
//       came behind one in a hundred refused ones, and were dropped as ahead of their PSN, count as refused, too. The
//       WQE fetcher binds likewise when packets were refused since its WQE store was full.
//   R4  Latency is backlog when more than half of it, in the mean, are waits in front of blocks. It begins with the
//       first packet of a message, as in the report, so that the arrival of the others is a part of it.
//   R5  A NIC's verdict is that of its own blocks. A run of several NICs has that of the NIC with most packets.
//   R6  When frames between NICs were lost, corrupted, duplicated, reordered or dropped it says how many, and how often
//       requesters sent again.
//   R7  When a twentieth of the packets or more were dropped for a reason that is told nowhere else, it says so first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/system/run_result.h"

namespace rxnic {

struct VerdictParameter {
  std::string name;      // section.key
  std::string value;     // in the run, with its unit
  std::string evidence;  // what its default rests on
};

struct Verdict {
  std::string bound_by;                      // nothing, idle, sender, line, host, out_line, or a block
  std::string resource;                      // of a block: busy, or what it waits for (wqe, context...)
  double share = 0;                          // of the block's cycles, 0 to 1
  std::vector<VerdictParameter> parameters;  // that move it, the first one first
  bool backlog = false;
  std::vector<std::string> words;     // sentences, the reason first
  std::vector<std::string> distrust;  // what a reader should know before quoting a figure
  std::vector<std::string> next;      // what to try, in words
};

Verdict verdict_of(const RunResult& r);

}  // namespace rxnic
