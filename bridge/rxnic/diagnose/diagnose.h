// SPDX-License-Identifier: Apache-2.0
// rxnic diagnose: what a support engineer looks for in a capture, for each QP and direction, the worst first.
//
//   R1  The capture is looked at as `replay` does: without what the sniffer did to it (traces/sniffer.h). Packets that
//       it cut are taken by their headers. When most ICRCs are wrong, the capture keeps none: they are taken as right.
//   R2  A cause is told from packets alone (direction.h). The model is asked only how long a NIC takes to answer.
//   R3  A receiver is slow with a QP when its median answer takes kSlower times that of its other QPs, and that of the
//       model. kFewestAnswers are needed. One answer is late when it takes kLeastStallPs, and kStall times the median.
//   R4  A pause counts from the frame that begins it until its time is over or a frame ends it.
#pragma once

#include <string>
#include <vector>

#include "bridge/rxnic/diagnose/finding.h"

namespace rxnic {

struct DiagnoseOptions {
  std::string capture;
  std::string second;                    // of the same traffic elsewhere (both_ends.h); empty: none
  std::vector<std::uint16_t> udp_ports;  // as of ReplayOptions
  std::string config;                    // of the model that is asked (R2)
  std::vector<std::string> overrides;
  bool progress = false;
};

// Throws TraceError, ConfigError, std::invalid_argument.
Diagnosis diagnose(const DiagnoseOptions& options);

}  // namespace rxnic
