// SPDX-License-Identifier: Apache-2.0
// A policy: who of those that ask starts the next TLP on the PCIe link.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rxnic {

class DmaArbiter {
 public:
  virtual ~DmaArbiter() = default;
  // `asking`: a bit for each requester of the DMA engine that asks, at least one. The order: the clients as in
  // DmaClient, the payload of packets, the data that responses gather, events. `last`: who started the TLP before. The
  // number of the one that is to start; a number that does not ask is the lowest that does. One that lacks a tag or
  // credit cannot start: the arbiter is asked again, without it. How often it is asked before one starts depends on the
  // engine's mode: what it answers is to follow from the arguments alone.
  virtual std::size_t next(std::uint32_t asking, std::size_t last) const = 0;
};

}  // namespace rxnic
