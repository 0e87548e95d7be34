// SPDX-License-Identifier: Apache-2.0
// Who may connect, for everybody who listens: the simulator, the agent of rdma_cm, the testbench with RTL.
//
//   R1  Only processes of this one's user, by the kernel's credentials.
//   R2  When no descriptor is left, a spare one serves to close the connection that waits. Otherwise the listener would
//       stay readable and keep its owner awake.
#pragma once

#include "bridge/channel/socket.h"

namespace rxnic::channel {

class Acceptor {
 public:
  enum class Outcome {
    kNone,          // nobody waits, or nothing can be done
    kAccepted,      // `socket`, non-blocking
    kOtherUser,     // R1: the caller closes `socket`, which may have packets already
    kNoDescriptor,  // R2: one was turned away
  };
  Acceptor();
  // The next connection of a socket that listens, non-blocking.
  Outcome accept(int listener, Descriptor& socket, Peer& peer);

 private:
  Descriptor spare_;
};

}  // namespace rxnic::channel
