// SPDX-License-Identifier: Apache-2.0
// Matches that the WQE fetcher may give back to the tag matcher. Such a match is on its way to the fetcher, from the
// search on, is held by the fetcher, or is returned just now.
#pragma once

#include <cstdint>

#include "model/params/params.h"

namespace rxnic {

inline std::uint32_t most_tag_returns(const Params& p) {
  return p.tag_match_cam.pipeline_depth + p.tag_match_cam.queue_depth + p.srq_wqe_fetcher.pipeline_depth +
         p.nic.notice_depth;
}

}  // namespace rxnic
