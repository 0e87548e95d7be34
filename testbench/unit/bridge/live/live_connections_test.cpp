// SPDX-License-Identifier: Apache-2.0
// live_programs.h: which programs are accepted (R1, R2), how a client ends (R5), how LivePrograms ends (R8).
#include "bridge/live/live_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>

#include "testbench/unit/bridge/live/lingering_socket.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_connections_test {
namespace {

using channel::EventKind;
using channel::Message;
using channel::Request;
using channel::Waiting;
using testing::HasSubstr;
using Kind = ProgramEvent::Kind;

class LiveConnectionsTest : public LiveProgramsTest {};

TEST_F(LiveConnectionsTest, HelloNamesNicsAndProcess) {  // R2
  LiveProgram program;
  program.connect(options.address);
  program.send(message_of(Request::kHello, 9));
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(reply.sequence, 9u);
  EXPECT_EQ(reply.body.hello.nics, 3u);
  EXPECT_EQ(reply.body.hello.simulator_pid, static_cast<std::uint32_t>(getpid()));
}

TEST_F(LiveConnectionsTest, AnotherVersionIsRefusedAndBothAreNamed) {  // R2
  LiveProgram program;
  program.connect(options.address);
  Message hello = message_of(Request::kHello);
  hello.version = 99;
  program.send(hello);
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, EPROTO);
  EXPECT_EQ(reply.version, channel::kVersion);
  EXPECT_THAT(log, HasSubstr("version 99"));
  EXPECT_THAT(log, HasSubstr("version " + std::to_string(channel::kVersion)));
}

TEST_F(LiveConnectionsTest, OpenIsAnsweredWithWhatTheDeviceSays) {
  LiveProgram program;
  program.make();
  program.connect(options.address);
  Message hello = message_of(Request::kHello);
  hello.body.hello = {};
  std::strcpy(hello.body.hello.program, "pro\ngram");
  program.send(hello);
  program.send_open(2);
  const ProgramEvent event = take_one();
  ASSERT_EQ(event.kind, Kind::kOpen);
  EXPECT_EQ(event.nic, 2u);
  EXPECT_EQ(event.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(event.program, "pro?gram");
  channel::DeviceAttributes attributes;
  attributes.max_qps = 12345;
  programs->opened(event.client, 0, attributes);
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);  // of kHello
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.type, Request::kOpen);
  EXPECT_EQ(reply.body.open.attributes.max_qps, 12345u);
  EXPECT_EQ(reply.body.open.client, raw(event.client));
  EXPECT_EQ(programs->clients(), 1u);
}

TEST_F(LiveConnectionsTest, ADeviceThatRefusesLeavesNoClient) {
  LiveProgram program;
  program.make();
  program.connect(options.address);
  program.send_open(7);
  const ProgramEvent event = take_one();
  programs->opened(event.client, ENODEV, {});
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, ENODEV);
  EXPECT_EQ(programs->clients(), 0u);
  EXPECT_EQ(programs->find(event.client), nullptr);
  program.socket.reset();
  EXPECT_TRUE(take().empty());
}

// R2; live_mapping.h R1, live_client.h R1.
TEST_F(LiveConnectionsTest, DescriptorsThatAreNotWhatTheyShouldBeAreRefused) {
  struct Case {
    const char* name;
    int status;
    std::function<void(LiveProgram&)> spoil;
  };
  const std::uint64_t bytes = LiveProgram::kBytes;
  const std::vector<Case> cases = {
      {"no seal", EINVAL, [&](LiveProgram& p) { p.make(bytes, 0); }},
      {"may shrink", EINVAL, [&](LiveProgram& p) { p.make(bytes, F_SEAL_GROW); }},
      {"may grow", EINVAL, [&](LiveProgram& p) { p.make(bytes, F_SEAL_SHRINK); }},
      {"short", EINVAL, [&](LiveProgram& p) { p.make(channel::kHeapOffset - 1); }},
      {"other version", EPROTO, [](LiveProgram& p) { p.make(), p.header().version = 98; }},
      {"no magic", EINVAL, [](LiveProgram& p) { p.make(), p.header().magic = 1; }},
      {"wrong size stated", EINVAL, [](LiveProgram& p) { p.make(), p.header().mapping_bytes += 4096; }},
      {"wrong header stated", EINVAL, [](LiveProgram& p) { p.make(), p.header().header_bytes = 8; }},
      {"mapping is a pipe", EINVAL, [](LiveProgram& p) { p.make(), p.memory_file.reset(dup(p.events.get())); }},
      {"eventfd is a pipe", EINVAL, [](LiveProgram& p) { p.make(), p.wake.reset(dup(p.events.get())); }},
      {"pipe is a memfd", EINVAL, [](LiveProgram& p) { p.make(), p.events_write.reset(dup(p.memory_file.get())); }},
  };
  for (const Case& c : cases) {
    LiveProgram program;
    c.spoil(program);
    program.connect(options.address);
    program.send_open();
    EXPECT_TRUE(take().empty()) << c.name;
    Message reply;
    ASSERT_EQ(program.receive(reply), 0) << c.name;
    EXPECT_EQ(reply.status, c.status) << c.name;
  }
  EXPECT_THAT(log, HasSubstr("of version 98"));
  LiveProgram program;
  program.make();
  program.connect(options.address);
  program.send(message_of(Request::kOpen), {program.memory_file.get(), program.wake.get()});
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, EINVAL);
  EXPECT_EQ(programs->counters().refused, cases.size() + 1);
}

TEST_F(LiveConnectionsTest, AMessageOutOfPlaceIsEinval) {  // R2
  LiveProgram program;
  program.connect(options.address);
  Message reply;
  program.send(message_of(Request::kAllocatePd));
  EXPECT_TRUE(take().empty());
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, EINVAL);

  LiveProgram opened;
  open_program(opened);
  for (const auto type : {Request{0}, Request{200}, Request{0xffff}}) {
    opened.send(message_of(type));
    EXPECT_TRUE(take().empty());
    ASSERT_EQ(opened.receive(reply), 0);
    EXPECT_EQ(reply.status, EINVAL);
  }
  opened.send(message_of(Request::kOpen));
  EXPECT_TRUE(take().empty());
  ASSERT_EQ(opened.receive(reply), 0);
  EXPECT_EQ(reply.status, EBUSY);
}

TEST_F(LiveConnectionsTest, APacketThatIsNoMessageEndsItsConnectionOnly) {  // R2
  LiveProgram good, bad;
  const ClientId client = open_program(good);
  open_program(bad);
  ASSERT_EQ(::send(bad.socket.get(), "garbage", 7, 0), 7);
  const ProgramEvent event = take_one();
  EXPECT_EQ(event.kind, Kind::kClose);
  EXPECT_NE(event.client, client);
  Message reply;
  EXPECT_EQ(bad.receive(reply), 0);
  EXPECT_EQ(reply.status, EPROTO);
  EXPECT_EQ(bad.receive(reply), EPIPE);
  carry_out(good, Request::kAllocatePd);
}

TEST_F(LiveConnectionsTest, AnotherUserIsDisconnected) {  // R1
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const channel::Descriptor ours(ends[0]);
  channel::Descriptor theirs(ends[1]);
  char byte = 0;
  ChildProgram child([&] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return 2;
    LiveProgram program;
    std::string error;
    program.socket = channel::connect_to(options.address, error);
    if (!program.socket) return 3;
    LingeringSocket given(8);
    program.send(message_of(Request::kCreateChannel), {given.socket.get()});
    given.socket.reset();
    (void)!write(theirs.get(), &byte, 1);
    Message reply;
    const int result = program.receive(reply, Waiting::kYes);
    (void)!read(theirs.get(), &byte, 1);  // what lingers has its peer until then
    return result == EPIPE ? 0 : 4;
  });
  theirs.reset();
  ASSERT_EQ(read(ours.get(), &byte, 1), 1) << "status " << WEXITSTATUS(child.status());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(take().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{3})
      << "whatever it has sent (acceptor.h R3)";
  EXPECT_EQ(programs->counters().refused, 1u);
  ASSERT_EQ(write(ours.get(), &byte, 1), 1);
  EXPECT_EQ(child.status(), 0);
  EXPECT_THAT(log, HasSubstr("user 65534"));
}

TEST_F(LiveConnectionsTest, TooManyDevicesAreRefused) {  // R2
  options.most_clients = 2;
  start();
  LiveProgram a, b, c;
  open_program(a);
  open_program(b);
  c.ask_to_open(options.address);
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(c.receive(reply), 0);
  EXPECT_EQ(reply.status, EMFILE);
}

TEST_F(LiveConnectionsTest, AClientEndsWithItsConnection) {  // R5
  LiveProgram program;
  const ClientId client = open_program(program);
  carry_out(program, Request::kCreateQp);
  program.socket.reset();
  const ProgramEvent event = take_one();
  EXPECT_EQ(event.kind, Kind::kClose);
  EXPECT_EQ(event.client, client);
  EXPECT_EQ(programs->find(client), nullptr);
  EXPECT_EQ(programs->clients(), 0u);
  programs->completed(client, Cqn{1}, 1);
  programs->notify(client, 0, {});
}

TEST_F(LiveConnectionsTest, OneThatHasNotLeftHasDied) {  // R5
  LiveProgram leaves, dies;
  open_program(leaves);
  open_program(dies);
  carry_out(leaves, Request::kCreateQp);
  leaves.header().left.store(1);
  leaves.socket.reset();
  EXPECT_EQ(take_one().kind, Kind::kClose);
  EXPECT_THAT(deaths, testing::IsEmpty());
  dies.socket.reset();
  EXPECT_EQ(take_one().kind, Kind::kClose);
  EXPECT_THAT(deaths, testing::ElementsAre("process " + std::to_string(getpid())));
}

TEST_F(LiveConnectionsTest, CloseFollowsTheReply) {  // R5
  LiveProgram program;
  const ClientId client = open_program(program);
  program.send(message_of(Request::kCreateQp));
  const ProgramEvent event = take_one();
  program.socket.reset();
  EXPECT_TRUE(take().empty());
  programs->reply(client, event.message);
  EXPECT_EQ(take_one().kind, Kind::kClose);
}

TEST_F(LiveConnectionsTest, CloseOfAKilledProgramFollowsTheReplyAsWell) {  // R5
  ChildProgram child([&] {
    LiveProgram program;
    program.ask_to_open(options.address);
    Message reply;
    program.receive(reply, Waiting::kYes);
    program.send(message_of(Request::kCreateQp));
    return pause();
  });
  ProgramEvent event = wait_for_one();
  programs->opened(event.client, 0, {});
  event = wait_for_one();
  ASSERT_EQ(event.kind, Kind::kRequest);
  kill(child.pid(), SIGKILL);
  child.status();
  EXPECT_TRUE(take().empty());
  programs->reply(event.client, event.message);
  EXPECT_EQ(take_one().kind, Kind::kClose);
}

TEST_F(LiveConnectionsTest, AProgramThatGoesWhileItIsOpenedIsClosed) {  // R5
  LiveProgram program;
  program.ask_to_open(options.address);
  program.socket.reset();
  const ProgramEvent event = take_one();
  ASSERT_EQ(event.kind, Kind::kOpen);
  programs->opened(event.client, 0, {});
  EXPECT_EQ(take_one().kind, Kind::kClose);
}

TEST_F(LiveConnectionsTest, DeathIsSeenThoughAForkedChildHoldsTheSocket) {  // R5
  int hold[2];
  ASSERT_EQ(pipe2(hold, O_CLOEXEC), 0);
  ChildProgram child([&] {
    LiveProgram program;
    program.ask_to_open(options.address);
    close(hold[1]);
    if (fork() == 0) {  // has the socket, too, until the test closes the pipe
      char byte;
      _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
    }
    Message reply;
    program.receive(reply, Waiting::kYes);
    return pause();
  });
  close(hold[0]);
  const ProgramEvent event = wait_for_one();
  ASSERT_EQ(event.kind, Kind::kOpen);
  EXPECT_EQ(event.pid, static_cast<std::uint32_t>(child.pid()));
  programs->opened(event.client, 0, {});
  kill(child.pid(), SIGKILL);
  EXPECT_EQ(wait_for_one().kind, Kind::kClose);
  close(hold[1]);
}

// A process that shares its descriptors with another one connects and ends: nobody would be killed for it.
TEST_F(LiveConnectionsTest, OneWhoseProcessHasEndedIsRefused) {  // R1
  LiveProgram program;
  alignas(16) static std::array<std::byte, 1 << 16> stack;
  const auto connects = [](void* to) {
    std::string error;
    return channel::connect_to(*static_cast<std::string*>(to), error).release();
  };
  const pid_t child = clone(connects, &stack.back() - 15, CLONE_FILES | SIGCHLD, &options.address);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  program.socket.reset(WEXITSTATUS(status));
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(programs->counters().refused, 1u);
  EXPECT_THAT(log, HasSubstr("No such process"));
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, ESRCH);
}

TEST_F(LiveConnectionsTest, AtTheEndEveryClientIsNotified) {  // R8
  LiveProgram program;
  open_program(program);
  programs.reset();
  const auto events = LiveProgram::read_events(program.events.get());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::kDeviceFatal);
  EXPECT_TRUE(LiveProgram::reaches_its_end(program.events));
  Message reply;
  EXPECT_EQ(program.receive(reply), EPIPE);
  std::string error;
  EXPECT_FALSE(channel::connect_to(options.address, error));
}

TEST_F(LiveConnectionsTest, StopClosesTheClients) {  // R8
  LiveProgram program;
  const ClientId client = open_program(program);
  carry_out(program, Request::kCreateQp);
  programs->stop();
  const ProgramEvent event = take_one();
  EXPECT_EQ(event.kind, Kind::kClose);
  EXPECT_EQ(event.client, client);
  EXPECT_THAT(deaths, testing::IsEmpty());
  EXPECT_EQ(LiveProgram::read_events(program.events.get()).at(0).kind, EventKind::kDeviceFatal);
  EXPECT_EQ(programs->wait(now, kNever), kNever);
}

TEST_F(LiveConnectionsTest, NothingIsLeftOfManyClients) {
  const auto descriptors = [] {
    std::size_t count = 0;
    for (int i = 0; i < 1024; ++i) count += fcntl(i, F_GETFD) >= 0 ? 1u : 0u;
    return count;
  };
  const std::size_t before = descriptors();
  for (int i = 0; i < 300; ++i) {
    LiveProgram program;
    open_program(program);
    channel::Descriptor read_end, write_end;
    LiveProgram::make_pipe(read_end, write_end);
    carry_out(program, Request::kCreateChannel, {write_end.get()});
    program.socket.reset();
    EXPECT_EQ(take_one().kind, Kind::kClose);
  }
  take();
  EXPECT_EQ(descriptors(), before);
}

TEST_F(LiveConnectionsTest, RandomMessagesAreAnsweredOrTheirSenderLeaves) {
  std::mt19937_64 random(random_seed());
  LiveProgram good;
  open_program(good);
  for (int i = 0; i < 3000; ++i) {
    LiveProgram bad;
    open_program(bad);
    Message m;
    auto* bytes = reinterpret_cast<std::uint8_t*>(&m);
    for (std::size_t k = 0; k < sizeof m; ++k) bytes[k] = static_cast<std::uint8_t>(random());
    if (random() % 4 != 0) m.version = channel::kVersion;
    if (random() % 4 != 0) m.type = static_cast<Request>(random() % 30);
    const std::size_t size = random() % 8 == 0 ? random() % sizeof m : sizeof m;
    std::vector<int> descriptors(random() % 5, bad.wake.get());
    if (size == sizeof m) {
      bad.send(m, descriptors);
    } else {
      ::send(bad.socket.get(), &m, size, MSG_NOSIGNAL);
    }
    bool closed = false;
    for (ProgramEvent event : take()) {
      closed |= event.kind == Kind::kClose;
      if (event.kind == Kind::kRequest) programs->reply(event.client, event.message);
    }
    Message reply;
    const int result = bad.receive(reply);
    ASSERT_TRUE(result == 0 || (closed && result == EPIPE)) << result;
    bad.socket.reset();
    take();
    ASSERT_EQ(programs->clients(), 1u);
  }
  carry_out(good, Request::kAllocatePd);
}

// Its program may have ended by then.
TEST_F(LiveConnectionsTest, ARequestThatFailsInTheSimulatorEndsItsProgramAlone) {  // R15
  LiveProgram other;
  open_program(other);
  for (const bool ended : {false, true}) {
    LiveProgram program;
    const ClientId client = open_program(program);
    program.send(message_of(Request::kAllocatePd));
    EXPECT_EQ(take_one().kind, ProgramEvent::Kind::kRequest);
    if (ended) program.socket.reset();
    EXPECT_TRUE(take().empty());
    log.clear();
    programs->failed(client, "no memory");
    EXPECT_NE(log.find("failed in the simulator: no memory"), std::string::npos) << log;
    if (!ended) {
      EXPECT_TRUE(program.receive_is_over());
    }
    const ProgramEvent event = take_one();
    EXPECT_EQ(event.kind, ProgramEvent::Kind::kClose);
    EXPECT_EQ(event.client, client);
    programs->failed(client, "still none");  // while its objects are freed
    EXPECT_TRUE(take().empty());
    EXPECT_EQ(programs->clients(), 1u);
  }
  carry_out(other, Request::kAllocatePd);
}

}  // namespace
}  // namespace rxnic::live_connections_test
