// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/responder_resources.h"

#include <algorithm>

namespace rxnic {

std::uint32_t ResponderResources::add(Qpn qp, std::uint32_t depth, const ResponderResource& r) {
  Ring& ring = rings_[raw(qp)];
  depth = std::max(depth, 1u);
  if (depth > ring.depth) {  // the QP was created again with more of them
    ring = {static_cast<std::uint32_t>(entries_.size()), depth, 0};
    entries_.resize(entries_.size() + depth);
  }
  for (std::uint32_t n = 0; n < ring.depth; ++n) {  // (R3)
    const std::uint32_t newest = (ring.next + ring.depth - 1) % ring.depth;
    ResponderResource& entry = entries_[ring.base + newest];
    if (!entry.valid || r.first_psn - entry.first_psn > 0) break;
    entry.valid = false;
    ring.next = newest;
  }
  const std::uint32_t handle = ring.base + ring.next;
  ring.next = (ring.next + 1) % ring.depth;  // (R1)
  entries_[handle] = r;
  entries_[handle].valid = true;
  return handle;
}

std::uint32_t ResponderResources::find(Qpn qp, Psn psn) const {
  const auto it = rings_.find(raw(qp));
  if (it == rings_.end()) return kNoResource;
  const Ring& ring = it->second;
  for (std::uint32_t age = 1; age <= ring.depth; ++age) {  // (R2)
    const std::uint32_t handle = ring.base + (ring.next + ring.depth - age) % ring.depth;
    const ResponderResource& r = entries_[handle];
    if (!r.valid) continue;
    const std::int32_t distance = psn - r.first_psn;
    if (distance >= 0 && distance < static_cast<std::int32_t>(r.psn_count)) return handle;
  }
  return kNoResource;
}

void ResponderResources::forget(Qpn qp) {
  const auto it = rings_.find(raw(qp));
  if (it == rings_.end()) return;
  for (std::uint32_t i = 0; i < it->second.depth; ++i) entries_[it->second.base + i].valid = false;
}

}  // namespace rxnic
