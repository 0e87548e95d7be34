// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/cnp_pacer.h"

namespace rxnic {

CnpVerdict CnpPacer::marked(Qpn qpn, const Address& peer, Cycle now, bool may_send) {
  const auto room = static_cast<std::uint32_t>(running_.size());
  while (count_ > 0 && running_[first_].until <= now) {
    first_ = (first_ + 1) % room;
    --count_;
  }
  Timer timer;  // (R1)
  if (scope_ == CnpScope::kQp) timer.qpn = qpn;
  if (scope_ == CnpScope::kAddress) timer.peer = peer;
  timer.until = now + interval_;
  for (std::uint32_t n = 0; n < count_; ++n) {
    if (running_[(first_ + n) % room].is_of(timer)) return CnpVerdict::kPaced;
  }
  if (!may_send || count_ == room) return CnpVerdict::kNoTimer;  // (R2)
  if (interval_ == 0) return CnpVerdict::kSend;                  // (R3)
  running_[(first_ + count_++) % room] = timer;
  return CnpVerdict::kSend;
}

}  // namespace rxnic
