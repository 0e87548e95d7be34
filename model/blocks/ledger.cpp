// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/ledger.h"

#include <numeric>

namespace rxnic {

std::uint64_t LedgerCounters::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

void Ledger::retire(const AckRequest& p, Cycle now) {
  if (p.line != kNoLine) contexts_.unpin(p.line, now);
  if (p.buffer == kNoPacket) return;
  if (p.drop_reason == DropReason::kNone) {
    ++counters_.accepted;
    counters_.messages += p.outcome == Outcome::kExecute && p.ends_message;
  } else {
    ++counters_.dropped[static_cast<std::size_t>(p.drop_reason)];
  }
  if (observer_ != nullptr) observer_->on_retire(p, pool_[p.buffer], now);
  pool_.release(p.buffer);
}

void Ledger::drop(PacketHandle buffer, DropReason reason, Cycle now, std::uint32_t line) {
  AckRequest p;
  p.buffer = buffer;
  p.line = line;
  p.outcome = Outcome::kDrop;
  p.drop_reason = reason;
  retire(p, now);
}

void Ledger::drop_not_rdma(PacketHandle buffer, Cycle now) {
  ++counters_.not_rdma;
  if (observer_ != nullptr) observer_->on_not_rdma(pool_[buffer], now);
  pool_.release(buffer);
}

void Ledger::hash(StateHash& h) const {
  h.mix(counters_.seen);
  h.mix(counters_.accepted);
  h.mix(counters_.not_rdma);
  h.mix(counters_.messages);
  for (const std::uint64_t n : counters_.dropped) h.mix(n);
}

}  // namespace rxnic
