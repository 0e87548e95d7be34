// SPDX-License-Identifier: Apache-2.0
#include "model/system/wire_sink.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/core/wire/link_time.h"

namespace rxnic {

WireSink::WireSink(const sc_core::sc_module_name& name, const Params& params, PacketPool& packets,
                   FrameObserver* observer)
    : Block(name),
      period_ps_(params.nic.clock_period_ps),
      fixed_bytes_(kFcsBytes + params.wire.preamble_gap_bytes),
      ps_per_byte_(8000.0 / params.nic.link_gbps),
      packets_(packets),
      observer_(observer) {}

Cycle WireSink::step(Cycle now) {
  const double now_ps = static_cast<double>(now.count * period_ps_);
  bool sent = false;
  while (line_free_ps_ <= now_ps && wire.can_pop(now)) {
    const PacketHandle h = wire.peek(now)->buffer;
    wire.drop(now);
    const Packet& p = packets_[h];
    line_free_ps_ = std::max(line_free_ps_, now_ps) + static_cast<double>(p.frame_bytes + fixed_bytes_) * ps_per_byte_;
    free_ = cycle_at_or_after(line_free_ps_, period_ps_);
    if (observer_ != nullptr) observer_->on_frame(p, static_cast<std::uint64_t>(std::llround(line_free_ps_)));
    digest_.mix(now.count);
    digest_.mix(p.frame_bytes);
    // The frame ends with its ICRC, which stands for the rest of it.
    std::uint64_t end = 0;
    std::memcpy(&end, p.frame.data() + p.frame_bytes - sizeof end, sizeof end);
    digest_.mix(end);
    packets_.release(h);
    ++frames_;
    sent = true;
  }
  if (free_ > now) return rest(now, Activity::kBusy, free_, Activity::kStarved, wire.empty() ? kNever : free_);
  return rest(now, sent ? Activity::kBusy : Activity::kStarved, sent ? now + 1 : kNever);
}

void WireSink::hash(StateHash& h) const {
  h.mix(frames_);
  h.mix(digest_.value());
}

}  // namespace rxnic
