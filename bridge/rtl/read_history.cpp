// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/read_history.h"

namespace rxnic {

namespace {

std::uint64_t distance(Cycle from, Cycle first, Cycle last) {
  if (from < first) return first.count - from.count;
  return last < from ? from.count - last.count : 0;
}

}  // namespace

void ReadHistory::note(const Bits& address, const Bits& words, Cycle now, Cycle behind) {
  std::deque<Contents>& all = by_address_[address];
  if (all.empty() || all.back().words != words) {
    all.push_back({now, now, words});
  } else {
    all.back().last = now;
  }
  reads_.emplace_back(now, address);
  if (behind.count > kKept) forget(Cycle{behind.count - kKept});
}

const ReadHistory::Bits* ReadHistory::near(const Bits& address, Cycle when, Cycle now) const {
  const auto at = by_address_.find(address);
  if (at == by_address_.end()) return nullptr;
  const Bits* best = nullptr;
  std::uint64_t least = distance(when, now, now);
  for (const Contents& c : at->second) {
    const std::uint64_t d = distance(when, c.first, c.last);
    if (d >= least) continue;
    best = &c.words;
    least = d;
  }
  return best;
}

void ReadHistory::forget(Cycle before) {
  for (; !reads_.empty() && reads_.front().first < before; reads_.pop_front()) {
    const auto at = by_address_.find(reads_.front().second);
    if (at == by_address_.end()) continue;
    while (!at->second.empty() && at->second.front().last <= reads_.front().first) at->second.pop_front();
    if (at->second.empty()) by_address_.erase(at);
  }
}

}  // namespace rxnic
