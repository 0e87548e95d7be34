// SPDX-License-Identifier: Apache-2.0
// A TCP socket whose last close() waits for `seconds`: its peer does not take what was sent.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/channel/socket.h"

namespace rxnic {

struct LingeringSocket {
  explicit LingeringSocket(int seconds) {
    const channel::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), name, bytes) != 0 || listen(listener.get(), 1) != 0 ||
        getsockname(listener.get(), name, &bytes) != 0 || ::connect(socket.get(), name, bytes) != 0) {
      throw std::runtime_error("no TCP over the loopback interface: " + std::to_string(errno));
    }
    peer.reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::vector<char> data(1 << 16);
    while (send(socket.get(), data.data(), data.size(), MSG_DONTWAIT) > 0) {
    }
    const linger wait{1, seconds};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  }
  channel::Descriptor socket, peer;
};

}  // namespace rxnic
