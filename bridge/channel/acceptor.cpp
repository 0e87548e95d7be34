// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/acceptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace rxnic::channel {

namespace {

Descriptor spare_descriptor() { return Descriptor{open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

Acceptor::Acceptor() : spare_(spare_descriptor()) {}

Acceptor::Outcome Acceptor::accept(int listener, Descriptor& socket, Peer& peer) {
  socket = accept_from(listener);
  if (socket) {
    const bool known = peer_of(socket.get(), peer);
    return known && peer.uid == geteuid() ? Outcome::kAccepted : Outcome::kOtherUser;
  }
  if (errno != EMFILE && errno != ENFILE) return Outcome::kNone;
  if (!spare_) spare_ = spare_descriptor();
  if (!spare_) return Outcome::kNone;
  spare_.reset();
  const bool turned_away = static_cast<bool>(accept_from(listener));
  spare_ = spare_descriptor();
  return turned_away ? Outcome::kNoDescriptor : Outcome::kNone;
}

}  // namespace rxnic::channel
