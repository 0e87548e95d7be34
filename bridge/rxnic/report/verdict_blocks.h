// SPDX-License-Identifier: Apache-2.0
// What the blocks of a NIC did, as a verdict looks at it: cycles by activity, and counters by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/system/run_result.h"
#include "model/types/activity.h"

namespace rxnic {

// In the order of the path; the tag matcher has none behind it but the WQE fetcher.
inline constexpr std::string_view kVerdictPath[] = {
    "rx_buffer",   "rx_parser",          "qp_context_cache", "transport_checker", "tag_match_cam", "srq_wqe_fetcher",
    "grh_scatter", "address_translator", "dma_engine",       "cqe_generator",     "ack_generator"};

bool on_path(std::string_view stem);

double cycles_of(const BlockResult& b, Activity a);
double all_cycles(const BlockResult& b);
double with_work(const BlockResult& b);  // cycles in which it was not starved
// The share of the cycles in which the block itself is in the way. The DMA engine waits for data on behalf of others;
// the ACK generator is blocked by the line.
double own_share(const BlockResult& b);
// What a block did for longest. When its waits are longer together than its work, the longest of them.
Activity longest_activity(const BlockResult& b);
// Whether it is a wait for what the DMA engine reads from the host.
bool waits_for_read(Activity a);

// nullptr, and 0: there is none.
const BlockResult* find_block(const std::vector<BlockResult>& blocks, std::string_view stem);
std::uint64_t counter_of(const std::vector<BlockResult>& blocks, std::string_view stem, std::string_view name);

}  // namespace rxnic
