// SPDX-License-Identifier: Apache-2.0
// Attacks the agent of rdma_cm over its socket (bridge/cm/cm_channel.h). It sends commands with random bodies, in which
// small numbers and addresses are as frequent as random ones, and packets that are no commands.
//
//   R1  Answers are left unread now and then, so that the agent finds the socket full; a connection that it has ended
//       is made anew.
#pragma once

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"
#include "bridge/cm/cm_channel.h"

namespace rxnic::live {

class ManagerAttacker {
 public:
  void attack(std::mt19937_64& random) {
    if (!socket_ || random() % 500 == 0) connect();
    std::array<std::uint8_t, 2048> packet;
    for (std::uint8_t& byte : packet) byte = random() % 4 != 0 ? 0 : static_cast<std::uint8_t>(random());
    for (std::size_t at = 0; at < 512; at += 4) {
      const auto word = static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 10 : random());
      if (random() % 4 == 0) std::memcpy(packet.data() + at, &word, sizeof word);
    }
    cm::Call call;
    call.command = static_cast<std::uint32_t>(random() % (RDMA_USER_CM_CMD_JOIN_MCAST + 2));
    call.in = static_cast<std::uint32_t>(random() % 4 == 0 ? random() % 600 : 400);
    call.out = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : 600);
    if (random() % 2 == 0) {  // an address of this fabric, where many commands have theirs
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(random() % 8));
      address.sin_addr.s_addr = htonl(0xc6120000 + static_cast<std::uint32_t>(random() % 4));
      std::memcpy(packet.data() + sizeof call + random() % 5 * 4, &address, sizeof address);
    }
    std::memcpy(packet.data(), &call, sizeof call);
    const std::size_t bytes = random() % 200 == 0 ? random() % packet.size() : sizeof call + call.in;
    const ssize_t sent = send(socket_.get(), packet.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return socket_.reset();
    if (random() % 3 == 0) return;
    ssize_t got = 0;
    do got = recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    while (got > 0);
    if (got == 0) socket_.reset();
  }

 private:
  void connect() {
    const char* const simulator = std::getenv(channel::kSocketVariable);
    std::string error;
    socket_ = channel::connect_to(std::string(simulator == nullptr ? "" : simulator) + cm::kCmSuffix, error);
    if (!socket_) throw std::runtime_error(error);
    const cm::Hello hello;
    (void)send(socket_.get(), &hello, sizeof hello, MSG_NOSIGNAL);
  }

  channel::Descriptor socket_;
};

}  // namespace rxnic::live
