// SPDX-License-Identifier: Apache-2.0
// Two captures of the same traffic, at two places: what was lost between them, how long packets took, what was
// overtaken.
//
//   R1  A packet is in both captures when addresses, UDP source port, IP identification, length and BTH are equal. Bits
//       that a switch may set do not count. Where several are equal, such as a request and its repeats, those belong
//       together whose times differ as those of other packets do.
//   R2  The clocks differ by an unknown offset. A packet's difference is its time in the second capture less that in
//       the first. Between two addresses the direction with the larger median difference goes from the first capture to
//       the second. The offset makes the least delays of both directions equal. With packets in one direction only, the
//       first capture counts as the sender's, and the least delay as 0.
//   R3  A packet that only the capture near its sender holds was lost between the two. One that only the other one
//       holds was lost by the first sniffer. Before the later start and behind the earlier end of both nothing is told.
//   R4  A packet was overtaken when the far capture holds it behind a packet of its QP that the near one has after it.
#pragma once

#include "bridge/rxnic/diagnose/diagnose.h"

namespace rxnic {

// Adds to `d`, the diagnosis of o.capture, what the second capture shows. Throws TraceError.
void compare_ends(const DiagnoseOptions& o, const std::string& second, Diagnosis& d);

}  // namespace rxnic
