// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/rx_buffer.h"

#include <algorithm>
#include <utility>

namespace rxnic {

Cycle RxBuffer::step(Cycle now) {
  bool moved = false;
  bool paused = false;
  // (1) the oldest packet leaves
  if (ahead_bytes_ != 0 && ahead_until_ <= now + 1) bytes_ -= std::exchange(ahead_bytes_, 0);
  const bool ready = !held_.empty() && held_.front().ready <= now;
  const bool blocked = ready && !out.can_push(now);
  if (ready && !blocked) {
    out.push(now, held_.front().frame);
    bytes_ -= held_.front().frame.bytes;
    held_.pop_front();
    moved = true;
  }
  // (2) packets arrive
  while (in.can_pop(now)) {
    const WireFrame& frame = *in.peek(now);
    const std::uint32_t bytes = frame.bytes;
    if (bytes_ + bytes > params_.rx_buffer_bytes) {  // (R2)
      if (params_.rx_full == RxFullPolicy::kPause) {
        paused = true;
        break;
      }
      ++counters_.packets;
      ++counters_.dropped;
      ledger_.arrived();
      ledger_.drop(frame.buffer, DropReason::kRxBufferFull, now);
      in.drop(now);
      continue;
    }
    ++counters_.packets;
    if (held_.empty() && ahead_until_ <= now + 1 && out.can_send(now, now + 1)) {
      out.send(now, now + 1, frame, [](WireFrame&) {});
      ahead_until_ = now + 2;
      ahead_bytes_ = bytes;
    } else {
      held_.push_back({frame, latest(now + 1, ahead_until_)});
    }
    in.drop(now);
    bytes_ += bytes;
    counters_.high_water_bytes = std::max(counters_.high_water_bytes, bytes_);
  }
  in.listen(!paused);
  // (3) rest
  if (blocked || paused) return rest(now, Activity::kBlocked, blocked ? kNever : now + 1);
  const Cycle until = latest(moved ? now + 1 : now, ahead_until_);
  if (held_.empty()) {
    return until > now ? rest(now, Activity::kBusy, until, Activity::kStarved, kNever)
                       : rest(now, Activity::kStarved, kNever);
  }
  if (out.full()) return rest(now, Activity::kBusy, latest(now + 1, until), Activity::kBlocked, kNever);
  return rest(now, Activity::kBusy, now + 1);
}

void RxBuffer::hash(StateHash& h) const { h.mix(counters_); }

}  // namespace rxnic
