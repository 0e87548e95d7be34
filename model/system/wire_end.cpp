// SPDX-License-Identifier: Apache-2.0
#include "model/system/wire_end.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "model/core/wire/link_time.h"

namespace rxnic {

WireEnd::WireEnd(const sc_core::sc_module_name& name, const Params& params, PacketPool& packets)
    : Block(name),
      period_ps_(params.nic.clock_period_ps),
      fixed_bytes_(kFcsBytes + params.wire.preamble_gap_bytes),
      ps_per_byte_(8000.0 / params.nic.link_gbps),
      packets_(packets) {}

void WireEnd::send(Bytes frame, LinkLayer link) {
  if (frame.empty() || frame.size() > kMaxFrameBytes) {
    throw std::invalid_argument("frame: found " + std::to_string(frame.size()) + " bytes; expected 1 to " +
                                std::to_string(kMaxFrameBytes));
  }
  if (link != LinkLayer::kEthernet && link != LinkLayer::kInfiniband) {
    throw std::invalid_argument("frame: found link layer " + std::to_string(static_cast<unsigned>(link)) +
                                "; expected one of LinkLayer");
  }
  frames_.push_back({{frame.begin(), frame.end()}, link, from_call()});
  ++sent_;
  wake();
}

Cycle WireEnd::cycle_of(double time_ps) const { return cycle_at_or_after(time_ps, period_ps_); }

// (1) what arrives at the NIC, (2) what leaves it
Cycle WireEnd::step(Cycle now) {
  const Cycle next = std::min(arrive(now), leave(now));
  const Activity activity = next == kNever ? Activity::kStarved : Activity::kBusy;
  const bool later = !frames_.empty() && frames_.front().known > now;  // (R3)
  return rest(now, activity, later ? earliest(next, frames_.front().known) : next);
}

Cycle WireEnd::arrive(Cycle now) {
  while (!frames_.empty()) {
    Frame& frame = frames_.front();
    if (frame.known > now) return kNever;
    if (!frame.on_the_line) {  // (R1)
      const double now_ps = static_cast<double>(now.count * period_ps_);
      in_free_ps_ = std::max(in_free_ps_, now_ps) + line_ps(frame.bytes.size());
      frame.on_the_line = true;
    }
    const Cycle due = cycle_of(in_free_ps_);
    if (due > now) return due;
    if (!to_nic.can_push(now)) return kNever;  // (R2), a pop wakes
    if (!packets_.available(PacketClass::kReceive)) return now + 1;
    const PacketHandle h = packets_.allocate(PacketClass::kReceive, frame.bytes.size());
    Packet& p = packets_[h];
    std::memcpy(p.frame.data(), frame.bytes.data(), frame.bytes.size());
    p.frame_bytes = static_cast<std::uint32_t>(frame.bytes.size());
    p.link = frame.link;
    p.id = sent_ - frames_.size() + 1;
    p.stamp(Station::kWire, now);
    to_nic.push(now, WireFrame{h, static_cast<std::uint16_t>(frame.bytes.size()), frame.link, false, false});
    in_free_ps_ = std::max(in_free_ps_, static_cast<double>(now.count * period_ps_) - static_cast<double>(period_ps_));
    frames_.pop_front();
    accepted_();
  }
  return kNever;
}

Cycle WireEnd::leave(Cycle now) {
  const double now_ps = static_cast<double>(now.count * period_ps_);
  for (;;) {
    In<WireFrame>* const from = responses.can_pop(now)                      ? &responses
                                : requests.bound() && requests.can_pop(now) ? &requests
                                                                            : nullptr;  // (R4)
    if (from == nullptr) return kNever;
    if (out_free_ps_ > now_ps) return cycle_of(out_free_ps_);
    const PacketHandle h = from->pop(now).buffer;
    const Packet& p = packets_[h];
    out_free_ps_ = std::max(out_free_ps_, now_ps) + line_ps(p.frame_bytes);
    ++received_;
    handler_(p.frame_view(), static_cast<std::uint64_t>(std::llround(out_free_ps_)));
    packets_.release(h);
  }
}

void WireEnd::hash(StateHash& h) const {
  h.mix(sent_);
  h.mix(received_);
}

}  // namespace rxnic
