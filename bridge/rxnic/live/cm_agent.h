// SPDX-License-Identifier: Apache-2.0
// Starts the agent of the RDMA connection manager (bridge/cm) when the first program opens /dev/infiniband/rdma_cm, and
// again when it has ended since.
//
//   R1  It is started when a program waits for it and none runs.
//   R2  Where it cannot begin, who waits is sent away: that open() fails. So is who waits at the end. What they have
//       sent delays nobody (acceptor.h R3).
#pragma once

#include <string>

#include "bridge/channel/socket.h"

namespace rxnic {

class CmAgent {
 public:
  // Listens beside the simulator's socket (cm_channel.h). `folder`: of the agent's program. Where that cannot be there
  // is no rdma_cm, and error() says why.
  CmAgent(const std::string& folder, const std::string& simulator);
  CmAgent(const CmAgent&) = delete;
  ~CmAgent();

  const std::string& error() const { return error_; }
  // The file of the agent's program as the kernel names it (/proc/PID/exe); "": there is none.
  static std::string program();
  // Now and then. (R1)
  void tick();

 private:
  void turn_all_away();
  std::string program_, simulator_, error_;
  channel::Listener listener_;
  channel::Descriptor process_;  // pidfd of the agent that runs
};

}  // namespace rxnic
