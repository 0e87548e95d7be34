// SPDX-License-Identifier: Apache-2.0
#include "bridge/device/doorbell_line.h"

#include <algorithm>

namespace rxnic {

bool DoorbellLine::deliver(Out<Doorbell>& out, Cycle now) {
  bool any = false;
  while (!waiting_.empty() && waiting_.front().arrival <= now && out.can_push(now)) {
    out.push(now, waiting_.front().doorbell);
    waiting_.pop_front();
    any = true;
  }
  return any;
}

Cycle DoorbellLine::next(Cycle now) const {
  if (waiting_.empty()) return kNever;
  return waiting_.front().arrival <= now ? kNever : waiting_.front().arrival;
}

void DoorbellLine::drop(std::uint32_t number) {
  std::erase_if(waiting_, [number](const Waiting& w) { return w.doorbell.number == number; });
}

bool DoorbellLine::waits(std::uint32_t number) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [number](const Waiting& w) { return w.doorbell.number == number; });
}

}  // namespace rxnic
