// SPDX-License-Identifier: Apache-2.0
// A sender's QP as responder: what the NIC asks of it. A NIC that matches tags reads the data of a rendezvous from its
// sender, and says at the end that it has done so (FIN).
//
//   R1  READs and SENDs are answered in the order in which they come, whatever their PSN: with data of any kind, and
//       with an ACK. Lost ones are repaired by the NIC, which sends them again.
#pragma once

#include <cstdint>
#include <deque>

#include "bridge/rxnic/workload/sender_qp.h"
#include "model/types/wire.h"

namespace rxnic {

class PeerResponder {
 public:
  void on_request(const Headers& h);
  bool pending() const { return !due_.empty(); }
  // The next response: fills opcode, PSN and AETH in.
  SenderPayload next(Headers& h, std::uint32_t mtu);

 private:
  struct Due {
    Psn psn;
    std::uint32_t bytes = 0, done = 0;  // of a READ
    bool read = false;
    std::uint32_t msn = 0;
  };
  std::deque<Due> due_;
  std::uint32_t msn_ = 0;
};

}  // namespace rxnic
