// SPDX-License-Identifier: Apache-2.0
// Receiving from a program that is not trusted: no descriptor of its packets is closed here, because to close one can
// take as long as the program pleases.
#pragma once

#include <cstdint>
#include <span>

#include "bridge/channel/socket.h"

namespace rxnic::channel {

// Takes descriptors that nobody keeps.
class DescriptorSink {
 public:
  virtual ~DescriptorSink() = default;
  virtual void take(Descriptor descriptor) = 0;
};

struct Packet {
  std::size_t bytes = 0;        // of `to`
  std::size_t descriptors = 0;  // of `kept`, at most kMaxDescriptors
};
// The next packet, whatever it is. 0 or a positive errno as of receive_message(); EBADMSG: it does not fit. One with
// too many descriptors stays where it is, and the connection is to be ended: the sink has at most kMaxDescriptors + 1
// of them. An empty packet without descriptors is EPIPE: the end of a connection looks the same.
int receive_packet(int socket, std::span<std::uint8_t> to, std::span<Descriptor> kept, Packet& packet, Waiting waiting,
                   DescriptorSink& sink);
// As in socket.h, except that the sink gets all the descriptors that socket.h would close. Those of `received` are the
// caller's.
int receive_message(int socket, Received& received, Waiting waiting, DescriptorSink& sink);
// Whether the next packet comes with descriptors, or with credentials that were asked for; receives nothing.
bool has_descriptors(int socket);

// Which file it is, device and number. Asks no file system that might let it wait. False: errno says why not.
bool identify(int descriptor, std::uint64_t& device, std::uint64_t& number);

}  // namespace rxnic::channel
