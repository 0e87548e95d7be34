// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/ledger.h"

#include <numeric>

namespace rxnic {

std::uint64_t LedgerCounters::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

void Ledger::retire(Packet& p, Cycle now) {
  if (p.role == PacketRole::kReceived) {
    if (p.drop_reason == DropReason::kNone) {
      ++counters_.accepted;
    } else {
      ++counters_.dropped[static_cast<std::size_t>(p.drop_reason)];
    }
  }
  if (observer_ != nullptr) observer_->on_retire(p, now);
  if (p.qp != nullptr) {
    p.qp->pins.remove(now);
    p.qp = nullptr;
  }
}

void Ledger::drop(PacketHandle h, DropReason reason, Cycle now) {
  Packet& p = pool_[h];
  p.drop_reason = reason;
  p.outcome = Outcome::kDrop;
  retire(p, now);
  pool_.release(h);
}

void Ledger::drop_not_rdma(PacketHandle h) {
  ++counters_.not_rdma;
  pool_.release(h);
}

void Ledger::hash(StateHash& h) const {
  h.mix(counters_.seen);
  h.mix(counters_.accepted);
  h.mix(counters_.not_rdma);
  for (const std::uint64_t n : counters_.dropped) h.mix(n);
}

}  // namespace rxnic
