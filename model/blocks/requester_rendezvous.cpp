// SPDX-License-Identifier: Apache-2.0
// The requester: what the device sends of itself, for messages that matched a tag (R14 of requester.h).
#include "model/blocks/requester.h"

namespace rxnic {

void Requester::take_rendezvous(const RendezvousRequest& request, Cycle now) {
  Sq* const q = request.begins ? find(request.qpn) : nullptr;
  if (q == nullptr || !q->post_rendezvous(request, now)) {
    port_.rendezvous.refuse();
    return;
  }
  ++counters_.rendezvous;
  update(*q);
}

// True when some are kept for want of room in the link.
bool Requester::give_back_places(Cycle now) {
  places_freed_ += port_.rendezvous.take_freed();
  if (places_freed_ == 0 || !rendezvous_places.bound()) return false;
  if (!rendezvous_places.can_push(now)) return true;
  rendezvous_places.push(now, {places_freed_});
  places_freed_ = 0;
  return false;
}

}  // namespace rxnic
