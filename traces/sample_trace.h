// SPDX-License-Identifier: Apache-2.0
// The project's own sample capture: two hosts, and an example of each thing that a receiver can meet.
//
//   R1  Deterministic: the same frames on every machine.
//   R2  10.0.0.2 is the receiver to look at. It gets SENDs of one and several packets, with immediate and without,
//       WRITEs, a READ and atomics. It also gets a repeated SEND, a SEND that it first answers RNR, an XRC SEND, a CNP
//       and an ARP request. UD SENDs come, too, of which one has a wrong ICRC. It sends a SEND and a READ of its own.
//       All its answers are there.
#pragma once

#include <span>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

// Writes the ICRC: model/core/wire/icrc.h has one.
using SealFrame = void (*)(std::span<std::uint8_t> frame, const Headers& h);

struct SampleFrame {
  std::uint64_t time_ps = 0;
  std::vector<std::uint8_t> bytes;
};

std::vector<SampleFrame> sample_frames(SealFrame seal);

}  // namespace rxnic
