// SPDX-License-Identifier: Apache-2.0
// A packet of a SOCK_SEQPACKET socket, whatever is in it, and the descriptors that come with it.
#pragma once

#include <cstdint>
#include <span>

#include "bridge/channel/socket.h"

struct msghdr;

namespace rxnic::channel {

struct Packet {
  std::size_t bytes = 0;        // of `to`
  std::size_t descriptors = 0;  // that came
};
// Room for one more than may come.
using PacketDescriptors = std::array<Descriptor, kMaxDescriptors + 1>;

// Sends one packet and copies of `descriptors` (at most kMaxDescriptors). 0 or a positive errno as of send_message().
int send_packet(int socket, std::span<const std::uint8_t> packet, std::span<const int> descriptors, Waiting waiting);

// The next packet, with at most `most` descriptors. 0 or a positive errno as of receive_message(); EBADMSG: it does not
// fit. A packet with too many descriptors stays where it is, and the connection is to be ended. Whatever has come is in
// `into`, and with EBADMSG of no use. An empty packet without descriptors is EPIPE: the end of a connection looks the
// same.
int receive_packet(int socket, std::span<std::uint8_t> to, PacketDescriptors& into, std::size_t most, Packet& packet,
                   Waiting waiting);

// The descriptors that came with what recvmsg() has received; how many.
std::size_t take_descriptors(msghdr& header, std::span<Descriptor> into);

// Whether the next packet comes with descriptors, or with credentials that were asked for; receives nothing.
bool has_descriptors(int socket);

// Which file a descriptor is of. Asks no file system that might let it wait. False: errno says why not.
bool identify(int descriptor, FileIdentity& file);

}  // namespace rxnic::channel
