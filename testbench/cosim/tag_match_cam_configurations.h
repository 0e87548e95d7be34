// SPDX-License-Identifier: Apache-2.0
// Configurations of the random tests of the tag matcher.
#pragma once

#include <string>
#include <vector>

#include "testbench/cosim/configuration.h"

namespace rxnic::tag_match_cam_scene {

inline Params params_of(const TagMatchCamParams& cam, std::uint32_t queue_depth = 16) {
  Params p;
  p.tag_match_cam = cam;
  p.dma_engine.queue_depth = queue_depth;
  return p;
}
// What the scene needs of a NIC.
inline Params surrounded(const Params& p) { return p; }

inline TagMatchCamParams cam(std::uint32_t entries, TagOrganisation organisation) {
  TagMatchCamParams p;
  p.entries = entries;
  p.organisation = organisation;
  p.lists = 4;
  return p;
}

// Those for which the project's RTL is built. The first one is of a NIC by default.
inline std::vector<Configuration> configurations() {
  TagMatchCamParams small = cam(16, TagOrganisation::kBanked);
  small.max_tags = 24;
  small.bank_entries = 4;
  small.banks_per_cycle = 3;
  small.search_cycles = 1;
  small.append_cycles = 3;
  small.overflow_entries_per_read = 5;
  small.refill_reads = 2;
  small.hazard = SearchHazard::kStall;
  small.pipeline_depth = 6;
  TagMatchCamParams hashed = cam(64, TagOrganisation::kHashed);
  hashed.max_tags = 100;
  hashed.wildcards_per_cycle = 3;
  hashed.search_cycles = 6;
  hashed.append_cycles = 1;
  hashed.overflow_entries_per_read = 1;
  hashed.unexpected_status = UnexpectedStatus::kRecv;
  hashed.refill_reads = 3;
  hashed.hazard = SearchHazard::kStall;
  TagMatchCamParams large = cam(1024, TagOrganisation::kParallel);
  large.max_tags = 1500;
  large.search_cycles = 2;
  large.append_cycles = 1;
  large.overflow_entries_per_read = 8;
  std::vector<Configuration> all;
  for (const Params& params : {params_of({}), params_of(small), params_of(hashed, 4), params_of(large)}) {
    const TagMatchCamParams& p = params.tag_match_cam;
    all.push_back({"Entries" + std::to_string(p.entries) + "Organisation" +
                       std::to_string(static_cast<int>(p.organisation)) + "Search" + std::to_string(p.search_cycles),
                   params});
  }
  return all;
}

}  // namespace rxnic::tag_match_cam_scene
