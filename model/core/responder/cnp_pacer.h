// SPDX-License-Identifier: Apache-2.0
// Which of the packets that are marked Congestion Experienced gives a congestion notification packet (CNP). This is the
// notification point of DCQCN (Zhu et al., SIGCOMM 2015, 3.1; RoCEv2 annex A17.9).
//
//   R1  The first marked packet gives a CNP, and so does each that comes `interval` or more after the last one that
//       gave one. Each QP, each peer's address, or the whole port counts for itself, as the scope says.
//   R2  One timer runs for each QP or address within its interval. Without a free one a packet gives no CNP.
//   R3  An interval of 0 needs no timer: each packet gives a CNP.
#pragma once

#include <cstdint>
#include <vector>

#include "model/params/params.h"
#include "model/types/address.h"
#include "model/types/ids.h"

namespace rxnic {

enum class CnpVerdict : std::uint8_t { kSend, kPaced, kNoTimer };

class CnpPacer {
 public:
  CnpPacer(CnpScope scope, std::uint32_t timers, std::uint64_t interval_cycles)
      : scope_(scope), interval_(interval_cycles), running_(timers) {}

  // A marked packet of `qpn` from `peer`. `now` never decreases. `may_send`: there is room for a CNP; without it none
  // is sent, and no timer is started.
  CnpVerdict marked(Qpn qpn, const Address& peer, Cycle now, bool may_send = true);
  std::uint32_t timers_running() const { return count_; }

 private:
  struct Timer {
    Qpn qpn{};
    Address peer;
    Cycle until{};
    bool is_of(const Timer& other) const { return qpn == other.qpn && peer == other.peer; }
  };

  CnpScope scope_;
  std::uint64_t interval_;
  std::vector<Timer> running_;  // a ring, in the order in which they end
  std::uint32_t first_ = 0, count_ = 0;
};

}  // namespace rxnic
