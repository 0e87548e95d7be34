// SPDX-License-Identifier: Apache-2.0
#include "model/system/wire_source.h"

#include <algorithm>
#include <cstring>

namespace rxnic {

WireSource::WireSource(const sc_core::sc_module_name& name, const Params& params, const Pace& pace, PacketPool& packets,
                       HostMemory& memory, StimulusStream& stream)
    : Block(name),
      pace_(pace),
      period_ps_(params.nic.clock_period_ps),
      fixed_bytes_(kFcsBytes + params.wire.preamble_gap_bytes),
      ps_per_byte_(8000.0 / (pace.kind == Pace::Kind::kRate ? pace.gbps : params.nic.link_gbps)),
      packets_(packets),
      stream_(stream),
      driver_(memory) {}

inline void WireSource::fetch(Cycle now) {
  have_item_ = stream_.next(item_);
  done_ = !have_item_;
  if (have_item_ && item_.kind == Stimulus::Kind::kWait) {
    have_item_ = false;
    due_ = latest(Cycle{(item_.time_ps + period_ps_ - 1) / period_ps_}, now + 1);
    return;
  }
  if (!have_item_ || item_.kind != Stimulus::Kind::kFrame) {
    begins_ = due_ = now;
    return;
  }
  double start_ps = line_free_ps_;
  const double wire_ps = static_cast<double>(item_.wire_bytes + fixed_bytes_) * ps_per_byte_;
  if (pace_.kind == Pace::Kind::kCaptured) {
    const auto time_ps = static_cast<double>(item_.time_ps);
    start_ps = std::max(start_ps, time_ps);
    carried_ps_ = std::max(carried_ps_, time_ps) + wire_ps;
    const double late_ps = carried_ps_ - wire_ps - time_ps;
    most_late_ps_ = std::max(most_late_ps_, late_ps);
    late_frames_ += late_ps > kLatePs;
  }
  line_free_ps_ = start_ps + wire_ps;
  begins_ = at_or_after(start_ps);
  due_ = at_or_after(line_free_ps_);
}

// (1) commands and their replies, (2) fetch the next item, (3) send it when it is due
Cycle WireSource::step(Cycle now) {
  driver_.take(replies, now);
  for (;;) {
    if (driver_.in_progress() > 0) {  // (R3)
      driver_.deliver(commands, now);
      return rest(now, Activity::kBlocked, kNever);
    }
    if (done_) return rest(now, Activity::kStarved, kNever);
    if (!have_item_) fetch(now);
    if (done_) continue;
    if (!have_item_) return rest(now, Activity::kStarved, due_);  // kWait
    if (begins_ > now) return rest(now, Activity::kStarved, begins_, Activity::kBusy, due_);
    if (due_ > now) return rest(now, Activity::kBusy, due_);
    if (item_.kind == Stimulus::Kind::kControl) {  // (R3)
      if (emitted_ == now || !packets_.was_empty()) return rest(now, Activity::kBlocked, now + 1);
      stream_.control(item_, driver_);
      have_item_ = false;
      continue;
    }
    if (item_.kind == Stimulus::Kind::kRequest) {  // (R4)
      if (!requests.can_push(now)) return rest(now, Activity::kBlocked, now + 1);
      requests.push(now, item_.request);
      have_item_ = false;
      continue;
    }
    if (!begun_ && host_ready.bound() && !host_ready.can_pop(now))
      return rest(now, Activity::kBlocked, kNever);  // (R5)
    begun_ = true;
    if (!wire.can_push(now)) return rest(now, Activity::kBlocked, kNever);  // (R2)
    if (!packets_.available(PacketClass::kReceive)) return rest(now, Activity::kBlocked, now + 1);
    emit(now);
    have_item_ = false;
  }
}

inline void WireSource::emit(Cycle now) {
  const std::size_t kept = std::min(item_.bytes.size(), kMaxFrameBytes);
  const PacketHandle h = packets_.allocate(PacketClass::kReceive, kept);
  Packet& p = packets_[h];
  std::memcpy(p.frame.data(), item_.bytes.data(), kept);
  p.frame_bytes = static_cast<std::uint32_t>(kept);
  p.link = item_.link;
  p.decoded = item_.headers != nullptr;
  if (p.decoded) p.h = *item_.headers;
  p.id = item_.id;
  WireFrame frame{h, static_cast<std::uint16_t>(kept), item_.link, false, false};
  frame.too_long = item_.bytes.size() > kMaxFrameBytes;
  frame.cut_short = item_.wire_bytes > item_.bytes.size();
  p.stamp(Station::kWire, now);
  // A frame that was held up holds up the line.
  line_free_ps_ = std::max(line_free_ps_,
                           static_cast<double>(now.count - (now.count == 0 ? 0 : 1)) * static_cast<double>(period_ps_));
  wire.push(now, frame);
  emitted_ = now;
  ++frames_;
}

}  // namespace rxnic
