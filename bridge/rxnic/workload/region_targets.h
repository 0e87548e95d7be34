// SPDX-License-Identifier: Apache-2.0
// Where in the memory of the NIC's host WRITEs, READs and atomics go: which region, and where in it. Without time.
//
//   R1  uniform: any region, any place. zipf: any place of a region that is drawn by Zipf's law.
//   R2  sequential: behind the target before. stride: `stride` behind its begin. When the message does not fit into the
//       region there, it goes to the begin of the next one; the first region follows the last.
//   R3  An atomic goes to the eight bytes that its target lies in: their address is a multiple of 8.
#pragma once

#include <cstdint>
#include <optional>

#include "bridge/rxnic/workload/samplers.h"

namespace rxnic {

struct RegionTarget {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;  // bytes
};

class RegionTargets {
 public:
  RegionTargets(const ReceiverPage& page, std::uint64_t region_bytes);
  // Precondition: `bytes` fit into a region.
  RegionTarget next(std::uint64_t bytes, RandomNumbers& random);

 private:
  RegionLocality locality_;
  std::uint64_t regions_, region_bytes_, stride_;
  std::optional<ZipfSampler> zipf_;
  RegionTarget at_;  // R2: the next one
};

}  // namespace rxnic
