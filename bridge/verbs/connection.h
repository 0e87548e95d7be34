// SPDX-License-Identifier: Apache-2.0
// The program's end of the socket: requests and their replies, one at a time.
//
//   R1  One Connection and one Mapping for each opened device. Listing devices takes a short connection of
//       its own.
//   R2  call() sends a request and waits for its reply. Any thread may call it; one request is in flight at a time.
//   R3  EIO: the simulator is gone (call(): simulator_gone is called), or this is a forked child. Every later call
//       fails in the same way.
//   R4  Another version of the channel is refused; the message names both.
#pragma once

#include <span>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"
#include "bridge/verbs/identity.h"
#include "bridge/verbs/lock.h"
#include "bridge/verbs/mapping.h"

namespace rxnic::verbs {

struct Context;

class Connection {
 public:
  // Connects to the simulator that RXNIC_SOCKET names and exchanges kHello. 0, ENODEV (the variable is not set) or
  // another positive errno. The reason is printed on stderr, once.
  int connect();
  const channel::Hello& hello() const { return hello_; }
  // Which NIC the context has opened whose socket `socket` is a descriptor of. 0 or a positive errno.
  int find_nic(int socket, std::uint32_t& nic);
  // kOpen of a NIC: makes the mapping and the pipe of events, and fills in `context`. 0 or a positive errno.
  int open(std::uint32_t nic, Context& context);

  // R2. `message` becomes the reply; its status is returned.
  int call(channel::Message& message, std::span<const int> descriptors = {});

  Mapping& mapping() { return mapping_; }
  void become_child();  // R3

 private:
  int exchange(channel::Message& message, std::span<const int> descriptors);

  Lock lock_;
  channel::Descriptor socket_;
  std::uint32_t sequence_ = 0;
  channel::Hello hello_;
  Context* context_ = nullptr;
  Mapping mapping_;
  IdentityPage identity_;
  channel::Descriptor wake_;  // eventfd
};

inline channel::Message request(channel::Request type) {
  channel::Message message;
  message.type = type;
  return message;
}
int call(Context& context, channel::Message& message, std::span<const int> descriptors = {});
// kFree... of an object. 0 also when the simulator is gone: the object went with it.
int free_object(Context& context, channel::Request type, std::uint32_t number);

// The write end goes to the simulator; the program keeps the read end. 0 or a positive errno.
int make_event_pipe(channel::Descriptor& read_end, channel::Descriptor& write_end);

}  // namespace rxnic::verbs
