// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rxnic::channel {

namespace {

Descriptor spare_descriptor() { return Descriptor{open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

Acceptor::Acceptor() : spare_(spare_descriptor()) {}

// The spare one takes its place again when the caller has ended who was turned away: before anybody else is accepted.
Acceptor::Outcome Acceptor::accept(int listener, Descriptor& socket, Peer& peer) {
  if (!spare_) spare_ = spare_descriptor();
  socket = accept_from(listener);
  const bool full = !socket && (errno == EMFILE || errno == ENFILE) && spare_;
  if (full) {
    spare_.reset();
    socket = accept_from(listener);
  }
  if (!socket) return Outcome::kNone;
  const bool known = peer_of(socket.get(), peer);
  if (full) return Outcome::kNoDescriptor;
  return known && peer.uid == geteuid() ? Outcome::kAccepted : Outcome::kOtherUser;
}

void Acceptor::turn_all_away(int listener, Doorkeeper& doorkeeper) {
  Descriptor socket;
  Peer peer;
  while (accept(listener, socket, peer) != Outcome::kNone) {
    doorkeeper.end(static_cast<std::uint32_t>(peer.pid), std::move(socket));
  }
}

void Acceptor::close(Listener& listener, Doorkeeper& doorkeeper) {
  shutdown(listener.get(), SHUT_RDWR);  // who waits can still be accepted
  turn_all_away(listener.get(), doorkeeper);
  listener.close();
}

}  // namespace rxnic::channel
