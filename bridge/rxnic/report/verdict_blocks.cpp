// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/verdict_blocks.h"

#include <algorithm>
#include <iterator>

namespace rxnic {

bool on_path(std::string_view stem) { return std::ranges::find(kVerdictPath, stem) != std::end(kVerdictPath); }

double cycles_of(const BlockResult& b, Activity a) {
  return static_cast<double>(b.account[static_cast<std::size_t>(a)]);
}

double all_cycles(const BlockResult& b) {
  double sum = 0;
  for (const std::uint64_t n : b.account) sum += static_cast<double>(n);
  return sum;
}

double with_work(const BlockResult& b) { return all_cycles(b) - cycles_of(b, Activity::kStarved); }

const BlockResult* find_block(const std::vector<BlockResult>& blocks, std::string_view stem) {
  const auto at = std::ranges::find(blocks, stem, &BlockResult::stem);
  return at == blocks.end() ? nullptr : &*at;
}

std::uint64_t counter_of(const std::vector<BlockResult>& blocks, std::string_view stem, std::string_view name) {
  const BlockResult* const b = find_block(blocks, stem);
  if (b == nullptr) return 0;
  for (const auto& [key, value] : b->counters) {
    if (key == name) return value;
  }
  return 0;
}

double own_share(const BlockResult& b) {
  double own = with_work(b);
  if (b.stem != kVerdictPath[std::size(kVerdictPath) - 1]) own -= cycles_of(b, Activity::kBlocked);
  if (b.stem == "dma_engine") own -= cycles_of(b, Activity::kWaitDmaData);
  return all_cycles(b) == 0 ? 0 : own / all_cycles(b);
}

Activity longest_activity(const BlockResult& b) {
  Activity wait = Activity::kWaitContext;
  double waited = 0;
  for (std::size_t a = static_cast<std::size_t>(wait); a < kActivities; ++a) {
    if (b.account[a] > b.account[static_cast<std::size_t>(wait)]) wait = static_cast<Activity>(a);
    waited += cycles_of(b, static_cast<Activity>(a));
  }
  return waited > cycles_of(b, Activity::kBusy) ? wait : Activity::kBusy;
}

bool waits_for_read(Activity a) {
  return a == Activity::kWaitDmaData || a == Activity::kWaitWqe || a == Activity::kWaitContext ||
         a == Activity::kWaitTranslation;
}

}  // namespace rxnic
