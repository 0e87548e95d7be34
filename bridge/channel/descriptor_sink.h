// SPDX-License-Identifier: Apache-2.0
// Receiving from a program that is not trusted: no descriptor of its packets is closed here, because to close one can
// take as long as the program pleases.
#pragma once

#include "bridge/channel/socket.h"

namespace rxnic::channel {

// Takes descriptors that nobody keeps.
class DescriptorSink {
 public:
  virtual ~DescriptorSink() = default;
  virtual void take(Descriptor descriptor) = 0;
};

// As in socket.h, except that the sink gets all the descriptors that socket.h would close. Those of `received` are the
// caller's.
int receive_message(int socket, Received& received, Waiting waiting, DescriptorSink& sink);
// Shuts the connection down, and gives the descriptors of packets that were not received to the sink: to close the
// socket does not close them.
void drain(int socket, DescriptorSink& sink);

}  // namespace rxnic::channel
