// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/traffic_stream.h"

#include "model/core/wire/icrc.h"

namespace rxnic {

bool TrafficStream::next(Stimulus& item) {
  if (left_ == 0) return false;
  --left_;
  TrafficFrame f = traffic_.next(frame_);
  if (f.rdma) seal({frame_.data(), f.bytes}, f.h);
  Traffic::damage({frame_.data(), f.bytes}, f);
  ++injected_[static_cast<std::size_t>(f.injected)];
  item.kind = Stimulus::Kind::kFrame;
  item.bytes = {frame_.data(), f.bytes};
  item.wire_bytes = f.wire_bytes;
  item.link = LinkLayer::kEthernet;
  item.time_ps = f.time_ps;
  item.id = ++sent_;
  return true;
}

}  // namespace rxnic
