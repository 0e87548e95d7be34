// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/channel/descriptor_closer.h and acceptor.h. A file whose close does not end is played by a function.
#include "bridge/channel/descriptor_closer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "bridge/channel/acceptor.h"
#include "testbench/unit/bridge/live/lingering_socket.h"

namespace rxnic::channel::descriptor_closer_test {
namespace {

using Clock = std::chrono::steady_clock;
using State = DescriptorCloser::State;
using std::chrono::seconds;

constexpr seconds kLong{30};  // that something which happens may take

Descriptor file() { return Descriptor{open("/proc/self/status", O_RDONLY | O_CLOEXEC)}; }

bool until(const std::function<bool()>& holds) {
  for (const auto end = Clock::now() + kLong; !holds(); usleep(1000)) {
    if (Clock::now() > end) return false;
  }
  return true;
}

// Closes that do not end before open() is called, of the descriptors that are named. Outlives the closer's threads.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<int> stuck;
  void close(Descriptor descriptor) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !stuck.contains(descriptor.get()); });
  }
  void open() {
    const std::lock_guard guard(mutex);
    stuck.clear();
    changed.notify_all();
  }
};

class DescriptorCloserTest : public testing::Test {
 protected:
  DescriptorCloserTest()
      : closer(std::make_unique<DescriptorCloser>([closes = gate](Descriptor d) { closes->close(std::move(d)); })) {}
  ~DescriptorCloserTest() override { gate->open(); }

  void take_stuck(std::uint64_t owner) {
    Descriptor one = file();
    {
      const std::lock_guard guard(gate->mutex);
      gate->stuck.insert(one.get());
    }
    closer->take(owner, std::move(one));
  }
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::unique_ptr<DescriptorCloser> closer;
};

TEST_F(DescriptorCloserTest, ACloseThatDoesNotEndHoldsUpItsOwnerAlone) {  // R2
  for (int n = 0; n < 3; ++n) take_stuck(1);
  for (std::uint64_t owner = 2; owner < 50; ++owner) closer->take(owner, file());
  EXPECT_TRUE(until([&] { return closer->held() == 3; })) << closer->held();
  gate->open();
  EXPECT_TRUE(until([&] { return closer->held() == 0; }));
}

TEST_F(DescriptorCloserTest, AnOwnerIsFullThenStuckThenHasRoom) {  // R3
  for (std::size_t n = 0; n + 1 < DescriptorCloser::kMostOfOwner; ++n) take_stuck(1);
  EXPECT_EQ(closer->state(1), State::kRoom);
  const auto begin = Clock::now();
  take_stuck(1);
  const State now = closer->state(1);
  if (Clock::now() - begin < DescriptorCloser::kPatience / 2) {
    EXPECT_EQ(now, State::kFull);
  }
  EXPECT_EQ(closer->state(2), State::kRoom);
  EXPECT_TRUE(until([&] { return closer->state(1) == State::kStuck; }));
  EXPECT_EQ(closer->state(2), State::kRoom);
  gate->open();
  EXPECT_TRUE(until([&] { return closer->state(1) == State::kRoom; }));
}

TEST_F(DescriptorCloserTest, AllTogetherHaveABound) {  // R3
  for (std::size_t n = 0; n < DescriptorCloser::kMost; ++n) {
    EXPECT_EQ(closer->state(1000), State::kRoom) << n;
    take_stuck(n / DescriptorCloser::kMostOfOwner);
  }
  EXPECT_EQ(closer->held(), DescriptorCloser::kMost);
  EXPECT_NE(closer->state(1000), State::kRoom) << "of whom nothing is held";
  EXPECT_TRUE(until([&] { return closer->state(1000) == State::kStuck; }));
  gate->open();
  EXPECT_TRUE(until([&] { return closer->state(1000) == State::kRoom; }));
}

std::size_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(DescriptorCloserTest, EveryThreadIsThereFromTheBeginning) {  // R5
  const std::size_t before = threads();
  EXPECT_GT(before, DescriptorCloser::kMostThreads);
  for (std::uint64_t owner = 0; owner < DescriptorCloser::kMostThreads + 4; ++owner) take_stuck(owner);
  EXPECT_LE(threads(), before) << "those of another one may still be ending";
}

TEST(DescriptorCloser, WithoutRoomForItsThreadsItThrows) {  // R5
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends a process without memory";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit none = before;
  none.rlim_cur = std::size_t{1} << 20;  // less than there is: no thread gets a stack
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  bool threw = false;
  try {
    const DescriptorCloser another;
  } catch (const std::system_error&) {
    threw = true;
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(threw);
}

TEST_F(DescriptorCloserTest, ItsEndDoesNotWait) {  // R5
  take_stuck(1);
  take_stuck(1);
  closer.reset();
  EXPECT_FALSE(gate->stuck.empty()) << "the closes have not ended";
}

TEST_F(DescriptorCloserTest, PipesAreClosedAtOnce) {  // R1
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  closer->take(1, Descriptor{ends[0]});
  closer->take(1, Descriptor{ends[1]});
  EXPECT_EQ(closer->held(), 0u);
  EXPECT_EQ(fcntl(ends[0], F_GETFD), -1);
}

// A packet with descriptors, and one that looks like the end before it.
void send_descriptor(int socket, int descriptor) {
  ASSERT_EQ(::send(socket, "", 0, 0), 0);
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
}

TEST_F(DescriptorCloserTest, AConnectionWithSocketsThatLingerIsClosedSoon) {  // R4
  constexpr int kLinger = 600;
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  Descriptor theirs(pair[1]);
  LingeringSocket one(kLinger), other(kLinger);
  for (LingeringSocket* const socket : {&one, &other}) {
    send_descriptor(theirs.get(), socket->socket.get());
    socket->socket.reset();
  }
  // Behind one that does not end.
  take_stuck(1);
  closer->end(1, Descriptor{pair[0]});
  EXPECT_EQ(closer->held(), 2u) << "not closed here";
  EXPECT_TRUE(until([&] { return closer->held() == 1; }));
}

TEST_F(DescriptorCloserTest, AnEmptyConnectionIsClosedAtOnce) {  // R4
  for (const bool unread : {false, true}) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Descriptor theirs(pair[1]);
    if (unread) {  // the close of its other end is an error here
      ASSERT_EQ(::send(pair[0], "x", 1, 0), 1);
      theirs.reset();
    }
    closer->end(1, Descriptor{pair[0]});
    EXPECT_EQ(closer->held(), 0u) << unread;
  }
}

TEST(ReceivePacket, OfTooManyDescriptorsFewGetHere) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const Descriptor ours(pair[0]), theirs(pair[1]), given = file();
  std::array<int, 253> many;
  many.fill(given.get());
  std::array<std::uint8_t, CMSG_SPACE(sizeof many)> control{};
  char byte = 0;
  iovec piece{&byte, 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof many);
  std::memcpy(CMSG_DATA(header), many.data(), sizeof many);
  ASSERT_EQ(sendmsg(theirs.get(), &message, 0), 1);
  EXPECT_TRUE(has_descriptors(ours.get()));
  struct Counter final : DescriptorSink {
    void take(Descriptor) override { ++count; }
    std::size_t count = 0;
  } counter;
  std::array<std::uint8_t, 8> to;
  std::array<Descriptor, kMaxDescriptors> kept;
  Packet packet;
  EXPECT_EQ(receive_packet(ours.get(), to, kept, packet, Waiting::kNo, counter), EBADMSG);
  EXPECT_EQ(counter.count, kMaxDescriptors + 1);
  ASSERT_EQ(::send(theirs.get(), "ab", 2, 0), 2);
}

std::string address() { return "@rxnic-acceptor-test-" + std::to_string(getpid()); }

TEST(Acceptor, WithoutADescriptorLeftItTurnsAway) {  // R2
  std::string error;
  Listener listener;
  ASSERT_TRUE(listener.open(address(), error)) << error;
  Acceptor acceptor;
  Descriptor first = connect_to(address(), error), second = connect_to(address(), error), socket;
  Peer peer;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor lowest{dup(0)};  // nothing below it is free
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto full = acceptor.accept(listener.get(), socket, peer);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(full, Acceptor::Outcome::kNoDescriptor);
  char byte;
  EXPECT_EQ(recv(first.get(), &byte, 1, 0), 0) << "the one that waited longest is turned away";
  EXPECT_EQ(acceptor.accept(listener.get(), socket, peer), Acceptor::Outcome::kAccepted);
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(acceptor.accept(listener.get(), socket, peer), Acceptor::Outcome::kNone);
}

TEST(Acceptor, AnotherUserIsRefused) {  // R1
  if (geteuid() != 0) GTEST_SKIP() << "two users: we are not root";
  constexpr uid_t kNobody = 65534;
  const std::string where = address();
  std::string error;
  Listener listener;
  ASSERT_TRUE(listener.open(where, error)) << error;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    const Descriptor other = connect_to(where, error);
    _exit(other ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Acceptor acceptor;
  Descriptor socket;
  Peer peer;
  EXPECT_EQ(acceptor.accept(listener.get(), socket, peer), Acceptor::Outcome::kOtherUser);
  EXPECT_EQ(peer.uid, kNobody);
}

TEST(Socket, AListenerOfAnotherUserIsNotConnectedTo) {
  if (geteuid() != 0) GTEST_SKIP() << "two users: we are not root";
  constexpr uid_t kNobody = 65534;
  const std::string where = address();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::string error;
    Listener listener;
    const bool listens = setresuid(kNobody, kNobody, kNobody) == 0 && listener.open(where, error);
    (void)!write(ready[1], listens ? "y" : "n", 1);
    for (;;) pause();
  }
  char answer = 0;
  EXPECT_EQ(read(ready[0], &answer, 1), 1);
  std::string error;
  EXPECT_FALSE(connect_to(where, error));
  EXPECT_NE(error.find("who listens there is user 65534"), std::string::npos) << error;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace rxnic::channel::descriptor_closer_test
