// SPDX-License-Identifier: Apache-2.0
#include "bridge/dpi/pins.h"

#include <sys/socket.h>

#include <cerrno>

namespace rxnic::dpi {

bool send_packet(int socket, const void* data, std::size_t bytes) {
  ssize_t sent;
  do sent = send(socket, data, bytes, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

std::size_t receive_packet(int socket, void* data, std::size_t bytes) {
  ssize_t received;
  do received = recv(socket, data, bytes, MSG_TRUNC);
  while (received < 0 && errno == EINTR);
  return received < 0 ? 0 : static_cast<std::size_t>(received);
}

}  // namespace rxnic::dpi
