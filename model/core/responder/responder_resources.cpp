// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/responder_resources.h"

#include <cassert>

namespace rxnic {

bool ResponderResources::reserve(Qpn qp, std::uint32_t n) {  // (R4)
  const std::uint32_t has = reserved(qp);
  if (n > has && n - has > left_) return false;
  if (n == has) return true;
  Ring& ring = rings_[raw(qp)];
  while (ring.depth < n) insert(ring);
  while (ring.depth > n) remove_oldest(ring);
  if (n == 0) rings_.erase(raw(qp));
  return true;
}

std::uint32_t ResponderResources::reserved(Qpn qp) const {
  const auto it = rings_.find(raw(qp));
  return it == rings_.end() ? 0 : it->second.depth;
}

std::uint32_t ResponderResources::take() {
  --left_;
  if (free_ == kNoResource) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t handle = free_;
  free_ = entries_[handle].newer;
  entries_[handle] = {};
  return handle;
}

// An empty entry, as the oldest.
void ResponderResources::insert(Ring& ring) {
  const std::uint32_t handle = take();
  Entry& entry = entries_[handle];
  entry.newer = ring.depth == 0 ? handle : ring.oldest;
  entry.older = ring.depth == 0 ? handle : entries_[ring.oldest].older;
  entries_[entry.older].newer = entries_[entry.newer].older = handle;
  ring.oldest = handle;
  ++ring.depth;
}

void ResponderResources::remove_oldest(Ring& ring) {
  const std::uint32_t handle = ring.oldest;
  Entry& entry = entries_[handle];
  entries_[entry.older].newer = entry.newer;
  entries_[entry.newer].older = entry.older;
  ring.oldest = entry.newer;
  --ring.depth;
  entry.request.valid = false;
  entry.newer = free_;
  free_ = handle;
  ++left_;
}

std::uint32_t ResponderResources::add(Qpn qp, const ResponderResource& r) {
  assert(reserved(qp) > 0);
  Ring& ring = rings_.find(raw(qp))->second;
  for (std::uint32_t n = 0; n < ring.depth; ++n) {  // (R3)
    const std::uint32_t newest = entries_[ring.oldest].older;
    ResponderResource& saved = entries_[newest].request;
    if (!saved.valid || r.first_psn - saved.first_psn > 0) break;
    saved.valid = false;
    ring.oldest = newest;
  }
  const std::uint32_t handle = ring.oldest;
  ring.oldest = entries_[handle].newer;  // (R1)
  ResponderResource& request = entries_[handle].request;
  if (request.valid) {  // (R5)
    ring.overwrote = true;
    ring.newest_overwritten = request.first_psn + (request.psn_count - 1);
  }
  request = r;
  request.valid = true;
  return handle;
}

bool ResponderResources::overwrote(Qpn qp, Psn psn) const {
  const auto it = rings_.find(raw(qp));
  return it != rings_.end() && it->second.overwrote && psn - it->second.newest_overwritten <= 0;
}

std::uint32_t ResponderResources::find(Qpn qp, Psn psn) const {
  const auto it = rings_.find(raw(qp));
  if (it == rings_.end()) return kNoResource;
  std::uint32_t handle = it->second.oldest;
  for (std::uint32_t age = 1; age <= it->second.depth; ++age) {  // (R2)
    handle = entries_[handle].older;
    const ResponderResource& r = entries_[handle].request;
    if (!r.valid) continue;
    const std::int32_t distance = psn - r.first_psn;
    if (distance >= 0 && distance < static_cast<std::int32_t>(r.psn_count)) return handle;
  }
  return kNoResource;
}

}  // namespace rxnic
