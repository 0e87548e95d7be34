// SPDX-License-Identifier: Apache-2.0
// Who may connect, for everybody who listens: the simulator, the agent of rdma_cm, the testbench with RTL.
//
//   R1  Only processes of this one's user, by the kernel's credentials.
//   R2  Without a descriptor left, the connection that waits is accepted with one that is kept spare, and turned away.
//       A listener that stays readable would keep its owner awake.
//   R3  To close what nobody has received may take as long as a program pleases. A doorkeeper ends who is turned away,
//       and who still waits when its listener is closed (doorkeeper.h R5).
#pragma once

#include "bridge/channel/doorkeeper.h"
#include "bridge/channel/socket.h"

namespace rxnic::channel {

class Acceptor {
 public:
  enum class Outcome {
    kNone,          // nobody waits, or nothing can be done
    kAccepted,      // `socket`, non-blocking
    kOtherUser,     // R1: the caller ends `socket` (R3)
    kNoDescriptor,  // R2: the same
  };
  Acceptor();
  // The next connection of a socket that listens, non-blocking.
  Outcome accept(int listener, Descriptor& socket, Peer& peer);
  // Ends all who wait. (R3)
  void turn_all_away(int listener, Doorkeeper& doorkeeper);
  // Ends all who wait and closes the listener; nobody can connect meanwhile. (R3)
  void close(Listener& listener, Doorkeeper& doorkeeper);

 private:
  Descriptor spare_;
};

}  // namespace rxnic::channel
