// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/connection.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

// A message that repeats the one before is not printed: a program that tries again must not fill the terminal.
void complain(const char* text) {
  static Lock lock;
  static char said[256];
  const std::lock_guard guard(lock);
  if (std::strncmp(said, text, sizeof said - 1) == 0) return;
  std::snprintf(said, sizeof said, "%s", text);
  std::fprintf(stderr, "rxnic: %s\n", text);
}

int refused_version(std::uint32_t theirs) {  // R4
  char text[160];
  std::snprintf(text, sizeof text,
                "this libibverbs speaks version %u of the channel, the simulator version %u: use both from one build",
                channel::kVersion, theirs);
  complain(text);
  return EPROTO;
}

}  // namespace

int Connection::connect() {
  const char* address = std::getenv(channel::kSocketVariable);
  if (address == nullptr || *address == '\0') return ENODEV;
  std::string error;
  socket_ = channel::connect_to(address, error);
  if (!socket_) {
    complain(error.c_str());
    return ENODEV;
  }
  channel::Message message = request(channel::Request::kHello);
  message.body.hello = {};
  message.body.hello.socket = channel::socket_cookie(socket_.get());
  message.body.hello.pid = static_cast<std::uint32_t>(getpid());
  std::snprintf(message.body.hello.program, sizeof message.body.hello.program, "%s", program_invocation_short_name);
  const int status = exchange(message, {});
  if (message.version != channel::kVersion) return refused_version(message.version);
  if (status != 0) {
    const std::string text =
        "the simulator at '" + std::string(address) + "' refuses this program: " +
        (status == EUSERS ? "it has as many connections as it takes, and closes those that open no NIC after a while"
                          : strerror(status));
    complain(text.c_str());
    return status;
  }
  hello_ = message.body.hello;
  return 0;
}

int Connection::find_nic(int socket, std::uint32_t& nic) {
  channel::Message message = request(channel::Request::kImportDevice);
  const int descriptors[] = {socket};
  const int status = exchange(message, descriptors);
  nic = message.body.import.number;
  return status;
}

int Connection::open(std::uint32_t nic, Context& context) {
  if (const int status = mapping_.create(); status != 0) return status;
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  channel::Descriptor events, events_write, own_memory;
  if (!wake_) return errno;
  if (const int status = make_event_pipe(events, events_write); status != 0) return status;
  // For the simulator's access to registered memory: by the descriptor, several reads together by process_vm_readv
  // where Yama allows it.
  prctl(PR_SET_PTRACER, hello_.simulator_pid, 0, 0, 0);
  own_memory.reset(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  if (!own_memory) own_memory.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!own_memory) return errno;

  channel::Message message = request(channel::Request::kOpen);
  message.body.open = {};
  message.body.open.nic = nic;
  identity_.make(message.body.open);
  const int descriptors[] = {mapping_.descriptor(), wake_.get(), events_write.get(), own_memory.get()};
  if (const int status = exchange(message, descriptors); status != 0) return status;
  context_ = &context;
  context.connection = this;
  context.mapping = mapping_.base();
  context.wake_fd = wake_.get();
  context.simulator_pid = hello_.simulator_pid;
  context.attributes = message.body.open.attributes;
  context.verbs.context.cmd_fd = socket_.get();
  context.verbs.context.async_fd = events.release();
  return 0;
}

int Connection::exchange(channel::Message& message, std::span<const int> descriptors) {
  message.sequence = ++sequence_;
  const channel::Request type = message.type;
  const int sent = channel::send_message(socket_.get(), message, descriptors, channel::Waiting::kYes);
  channel::Received received;
  // A simulator that refuses the connection has replied before, and is gone (protocol.h R2). The first EPIPE of receive
  // can mean that it did not read the request.
  int result = EPIPE;
  for (int tries = 0; result == EPIPE && tries < (type == channel::Request::kHello ? 2 : 1); ++tries) {
    if (sent != 0 && type != channel::Request::kHello) return EIO;
    result = channel::receive_message(socket_.get(), received, channel::Waiting::kYes);
  }
  if (result != 0) return EIO;
  message = received.message;
  if (message.version != channel::kVersion) return EPROTO;
  if (message.sequence != sequence_ || message.type != type) return EIO;
  return message.status;
}

int Connection::call(channel::Message& message, std::span<const int> descriptors) {
  const std::lock_guard guard(lock_);
  const int status = context_->dead.load(std::memory_order_acquire) ? EIO : exchange(message, descriptors);
  // The status of a reply is a positive errno, but never EIO: EIO means that the simulator is gone.
  if (status == EIO) simulator_gone(*context_);
  return status;
}

void Connection::become_child() {
  lock_.reset();
  socket_.reset();
  wake_.reset();
  mapping_.become_child();
  identity_.become_child();
  if (context_ != nullptr) {
    context_->wake_fd = context_->verbs.context.cmd_fd = -1;
    context_->dead.store(true, std::memory_order_release);
  }
}

int call(Context& context, channel::Message& message, std::span<const int> descriptors) {
  return context.connection->call(message, descriptors);
}

int free_object(Context& context, channel::Request type, std::uint32_t number) {
  channel::Message message = request(type);
  message.body.handle = {number};
  const int status = context.connection->call(message);
  return status == EIO ? 0 : status;
}

int make_event_pipe(channel::Descriptor& read_end, channel::Descriptor& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  // The simulator never waits for a program that does not read its events.
  return fcntl(write_end.get(), F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

void simulator_gone(Context& context) {
  if (context.dead.exchange(true, std::memory_order_acq_rel)) return;
  std::fprintf(stderr, "rxnic: the simulator (process %u) is gone; %s has failed\n", context.simulator_pid,
               context.device->device.name);
}

}  // namespace rxnic::verbs
