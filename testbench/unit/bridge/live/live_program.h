// SPDX-License-Identifier: Apache-2.0
// A program as LivePrograms sees it: its end of the socket, its mapping, its pipes. In the process of the test, or in
// a child of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bridge/channel/shared_mapping.h"
#include "bridge/channel/socket.h"
#include "bridge/live/live_programs.h"
#include "bridge/verbs/identity.h"

namespace rxnic {

// In the abstract name space: no file is left behind, however the test ends.
inline std::string unused_address() {
  static std::atomic<int> last{0};
  return "@rxnic-programs-test-" + std::to_string(getpid()) + "-" + std::to_string(++last);
}

// The seed of a random test: RXNIC_SEED or 1; printed, so that a failure can be repeated.
inline std::uint64_t random_seed() {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
  std::cout << "RXNIC_SEED=" << seed << '\n';
  return seed;
}

inline channel::Message message_of(channel::Request type, std::uint32_t sequence = 1) {
  channel::Message message;
  message.type = type;
  message.sequence = sequence;
  return message;
}

struct LiveProgram {
  static constexpr std::uint64_t kBytes = channel::kHeapOffset + (1u << 20);

  // Makes the descriptors of a kOpen; a test makes one of them invalid.
  void make(std::uint64_t bytes = kBytes, int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) {
    memory_file.reset(memfd_create("rxnic-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(memory_file.get(), static_cast<off_t>(bytes)), 0);
    if (seals != 0) {
      ASSERT_EQ(fcntl(memory_file.get(), F_ADD_SEALS, seals), 0);
    }
    mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file.get(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
    mapped = bytes;
    header().magic = channel::kMagic;
    header().version = channel::kVersion;
    header().header_bytes = sizeof(channel::MappingHeader);
    header().mapping_bytes = bytes;
    wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    make_pipe(events, events_write);
    own_memory.reset(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  }
  ~LiveProgram() {
    if (mapping != nullptr) munmap(mapping, mapped);
  }

  static void make_pipe(channel::Descriptor& read_end, channel::Descriptor& write_end) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }

  void connect(const std::string& address) {
    std::string error;
    socket = channel::connect_to(address, error);
    ASSERT_TRUE(socket) << error;
  }
  void send(const channel::Message& message, const std::vector<int>& descriptors = {}) {
    ASSERT_EQ(channel::send_message(socket.get(), message, descriptors, channel::Waiting::kYes), 0);
  }
  void send_open(std::uint32_t nic = 0) {
    channel::Message message = message_of(channel::Request::kOpen);
    message.body.open = {};
    message.body.open.nic = nic;
    identity_page.make(message.body.open);
    send(message, {memory_file.get(), wake.get(), events_write.get(), own_memory.get()});
    events_write.reset();  // the pipe ends only when no process holds its write end
  }
  void ask_to_open(const std::string& address) {
    make();
    connect(address);
    send_open();
  }
  // EAGAIN, EPIPE, ... or 0 and the message.
  int receive(channel::Message& message, channel::Waiting waiting = channel::Waiting::kNo) {
    channel::Received received;
    const int result = channel::receive_message(socket.get(), received, waiting);
    if (result == 0) message = received.message;
    return result;
  }
  // It has been disconnected it.
  bool receive_is_over() {
    channel::Message message;
    return receive(message) == EPIPE;
  }
  void ring(channel::Board board, std::uint32_t index, std::uint64_t value) {
    if (!channel::ring(mapping, board, index, value)) return;
    const std::uint64_t one = 1;
    ASSERT_EQ(write(wake.get(), &one, sizeof one), 8);
  }
  static std::vector<channel::EventRecord> read_events(int pipe) {
    std::vector<channel::EventRecord> records(1u << 17);
    const ssize_t bytes = read(pipe, records.data(), records.size() * sizeof records[0]);
    records.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof records[0]);
    return records;
  }
  // All other ends of the pipe are closed. The doorkeeper, another process, may take its time with what it has received
  // (doorkeeper.h R3).
  static bool reaches_its_end(const channel::Descriptor& pipe) {
    pollfd ended{pipe.get(), POLLIN, 0};
    char byte;
    return poll(&ended, 1, 20'000) == 1 && read(pipe.get(), &byte, 1) == 0;
  }

  channel::MappingHeader& header() const { return *static_cast<channel::MappingHeader*>(mapping); }
  std::uint8_t* heap() const { return static_cast<std::uint8_t*>(mapping) + channel::kHeapOffset; }

  verbs::IdentityPage identity_page;
  channel::Descriptor socket, memory_file, wake, events, events_write, own_memory;
  void* mapping = nullptr;
  std::uint64_t mapped = 0;
};

// A program in a process of its own; it ends with the test.
class ChildProgram {
 public:
  explicit ChildProgram(const std::function<int()>& program) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(program());
  }
  ~ChildProgram() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      status();
    }
  }
  int status() {
    int result = -1;
    waitpid(pid_, &result, 0);
    pid_ = -1;
    return result;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// What a program does that only has to be there: it asks for a NIC, and waits until it is killed.
inline int ask_to_open_and_pause(const std::string& address) {
  LiveProgram program;
  program.ask_to_open(address);
  for (;;) pause();
}

// LivePrograms and the device behind it, which replies to the requests that a test is not about.
class LiveProgramsTest : public testing::Test {
 protected:
  explicit LiveProgramsTest(LiveOptions o = {}) : options(std::move(o)) {
    if (options.address.empty()) options.address = unused_address();
    options.log = [this](const std::string& line) { log += line + "\n"; };
    options.on_death = [this](const std::string& who) { deaths.push_back(who); };
    options.looks_per_poll = 1;
    options.nics = 3;
    start();
  }
  void start() {
    programs.reset();
    programs = std::make_unique<LivePrograms>(options);
    std::string error;
    ASSERT_TRUE(programs->open(error)) << error;
  }

  // The events that are pending now.
  std::vector<ProgramEvent> take() {
    std::vector<ProgramEvent> events;
    now += options.look_cycles;
    for (ProgramEvent event; programs->take(now, event);) events.push_back(event);
    return events;
  }
  ProgramEvent take_one() {
    const std::vector<ProgramEvent> events = take();
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? ProgramEvent{} : events[0];
  }
  // Until one comes, from another process or thread.
  ProgramEvent wait_for_one() {
    for (ProgramEvent event;;) {
      if (programs->wait(now, kNever) == kNever) return {};
      if (programs->take(now, event)) return event;
    }
  }
  // The program of another process that asks next.
  ClientId open_next() {
    const ClientId client = wait_for_one().client;
    programs->opened(client, 0, {});
    return client;
  }
  ClientId open_program(LiveProgram& program) {
    program.ask_to_open(options.address);
    const ProgramEvent event = take_one();
    EXPECT_EQ(event.kind, ProgramEvent::Kind::kOpen);
    programs->opened(event.client, 0, {});
    channel::Message message;
    EXPECT_EQ(program.receive(message), 0);
    EXPECT_EQ(message.status, 0);
    return event.client;
  }
  // A request that is carried out.
  void carry_out(LiveProgram& program, channel::Request type, const std::vector<int>& descriptors = {}) {
    program.send(message_of(type), descriptors);
    const ProgramEvent event = take_one();
    ASSERT_EQ(event.kind, ProgramEvent::Kind::kRequest);
    programs->reply(event.client, event.message);
    channel::Message message;
    ASSERT_EQ(program.receive(message), 0);
  }

  LiveOptions options;
  std::string log;
  std::vector<std::string> deaths;
  std::unique_ptr<LivePrograms> programs;
  Cycle now{};
};

}  // namespace rxnic
