// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/channel/doorkeeper.h and acceptor.h.
#include "bridge/channel/doorkeeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/door_process.h"
#include "testbench/unit/bridge/live/endless_file.h"
#include "testbench/unit/bridge/live/lingering_socket.h"

namespace rxnic::channel::doorkeeper_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kLong{30};  // that something which happens may take
constexpr seconds kSoon{2};   // that something which is not waited for may take
constexpr int kLingerSeconds = 8;

Descriptor file() { return Descriptor{open("/proc/self/status", O_RDONLY | O_CLOEXEC)}; }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool until(const std::function<bool()>& holds) {
  for (const auto end = Clock::now() + kLong; !holds(); usleep(1000)) {
    if (Clock::now() > end) return false;
  }
  return true;
}

// The doorkeepers below this process, without their children.
std::vector<pid_t> doors() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid = 0; children >> pid;) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
      if (name == Doorkeeper::kName) found.push_back(pid);
    }
  }
  return found;
}

// A connection of a program, whose end is `theirs`.
struct Connection {
  Connection() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  bool send(std::initializer_list<int> descriptors, std::span<const std::uint8_t> packet = kPacket) const {
    return send_packet(theirs.get(), packet, {descriptors.begin(), descriptors.size()}, Waiting::kYes) == 0;
  }
  static constexpr std::array<std::uint8_t, 3> kPacket{'a', 'b', 'c'};
  Descriptor ours, theirs;
};

class DoorkeeperTest : public testing::Test {
 protected:
  int receive(std::uint64_t owner, const Connection& from, std::size_t most = kMaxDescriptors) {
    return doorkeeper.receive(owner, from.ours.get(), to, most, packet, passed);
  }
  Doorkeeper doorkeeper;
  std::array<std::uint8_t, 8> to{};
  Packet packet;
  Passed passed;
};

TEST_F(DoorkeeperTest, WhatIsClosedAtOnceIsPassedOn) {  // R1
  Connection from;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reads(ends[0]), writes(ends[1]);
  const Descriptor memory{memfd_create("rxnic-test", MFD_CLOEXEC)}, event{eventfd(0, EFD_CLOEXEC)};
  const Descriptor own{open("/proc/self/mem", O_RDWR | O_CLOEXEC)};
  ASSERT_TRUE(from.send({memory.get(), event.get(), writes.get(), own.get()}));
  ASSERT_EQ(receive(1, from), 0);
  EXPECT_EQ(packet.bytes, 3u);
  EXPECT_EQ(to[2], 'c');
  ASSERT_EQ(passed.count, 4u);
  std::size_t n = 0;
  for (const int sent : {memory.get(), event.get(), writes.get(), own.get()}) {
    FileIdentity there, here;
    ASSERT_TRUE(passed.descriptors[n]) << n;
    EXPECT_TRUE(identify(sent, there) && identify(passed.descriptors[n].get(), here));
    EXPECT_TRUE(here.number == there.number && passed.files[n].number == there.number) << n;
    EXPECT_NE(fcntl(passed.descriptors[n].get(), F_GETFD) & FD_CLOEXEC, 0);
    ++n;
  }
}

TEST_F(DoorkeeperTest, OfOthersTheFileIsTold) {  // R1
  Connection from, other;
  const Descriptor given = file();
  const std::string path = std::filesystem::temp_directory_path() / ("rxnic-test-" + std::to_string(getpid())) / "mem";
  std::filesystem::create_directory(std::filesystem::path(path).parent_path());
  const Descriptor named{open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  const bool quick = fcntl(named.get(), F_GET_SEALS) >= 0;  // in a tmpfs, whose files are closed at once as memfds are
  const std::size_t before = open_descriptors();
  ASSERT_TRUE(from.send({given.get(), other.theirs.get(), named.get()}));
  ASSERT_EQ(receive(1, from), 0);
  ASSERT_EQ(passed.count, 3u);
  EXPECT_EQ(open_descriptors(), before + (quick ? 1 : 0));
  FileIdentity there;
  ASSERT_TRUE(identify(given.get(), there));
  EXPECT_TRUE(passed.files[0].device == there.device && passed.files[0].number == there.number);
  EXPECT_EQ(passed.files[0].cookie, 0u);
  EXPECT_EQ(passed.files[1].cookie, socket_cookie(other.theirs.get()));
  EXPECT_EQ(static_cast<bool>(passed.descriptors[2]), quick) << "a file whose name is mem";
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TEST_F(DoorkeeperTest, PacketsWithoutDescriptorsAndTheEnd) {  // R1
  Connection from;
  EXPECT_EQ(receive(1, from), EAGAIN);
  ASSERT_TRUE(from.send({}));
  ASSERT_EQ(receive(1, from), 0);
  EXPECT_EQ(packet.bytes, 3u);
  EXPECT_EQ(passed.count, 0u);
  ASSERT_TRUE(from.send({}, std::array<std::uint8_t, 9>{}));
  EXPECT_EQ(receive(1, from), EBADMSG) << "more bytes than there is room for";
  from.theirs.reset();
  EXPECT_EQ(receive(1, from), EPIPE);
}

TEST_F(DoorkeeperTest, TooManyDescriptorsAreRefused) {
  const Descriptor given = file();
  for (const std::size_t most : {0, 1, 3}) {
    Connection from;
    const std::size_t before = open_descriptors();
    ASSERT_TRUE(from.send({given.get(), given.get(), given.get(), given.get()}));
    EXPECT_EQ(receive(1, from, most), EBADMSG) << most;
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST_F(DoorkeeperTest, OwnersWhoseClosesDoNotEnd) {  // R3, R4
  EndlessFile endless;
  if (endless.path().empty()) GTEST_SKIP() << "no file system in user space";
  Connection bad, good;
  const Descriptor given = file();
  const std::size_t before = open_descriptors();
  const pid_t child = endless.in_child([&](int descriptor) {
    for (std::size_t n = 0; n < Doorkeeper::kMostOfOwner + 1; ++n) bad.send({descriptor});
  });
  ASSERT_TRUE(until([&] { return has_descriptors(bad.ours.get()); }));
  const auto begin = Clock::now();
  for (std::size_t n = 0; n < Doorkeeper::kMostOfOwner; ++n) {
    int status = EAGAIN;
    ASSERT_TRUE(until([&] { return (status = receive(1, bad)) != EAGAIN; }));
    EXPECT_EQ(status, 0) << n;
    EXPECT_FALSE(passed.descriptors[0]);
    ASSERT_TRUE(good.send({given.get()}));
    EXPECT_EQ(receive(2, good), 0) << "another";
  }
  const int ninth = receive(1, bad);
  if (Clock::now() - begin < Doorkeeper::kPatience) {
    EXPECT_EQ(ninth, EBUSY);
  }
  EXPECT_TRUE(until([&] { return receive(1, bad) == EDQUOT; }));
  EXPECT_GE(Clock::now() - begin, Doorkeeper::kPatience);
  ASSERT_TRUE(good.send({given.get()}));
  EXPECT_EQ(receive(2, good), 0) << "another";
  EXPECT_EQ(open_descriptors(), before);
  endless.release();
  waitpid(child, nullptr, 0);
  int status = EDQUOT;
  EXPECT_TRUE(until([&] { return (status = receive(1, bad)) != EDQUOT && status != EBUSY; }));
  EXPECT_EQ(status, 0) << "room again";
}

TEST_F(DoorkeeperTest, ItsEndDoesNotWait) {  // R6
  EndlessFile endless;
  if (endless.path().empty()) GTEST_SKIP() << "no file system in user space";
  Connection from;
  const pid_t child = endless.in_child([&](int descriptor) { from.send({descriptor}); });
  const auto begin = Clock::now();
  {
    Doorkeeper another;
    int status = EAGAIN;
    ASSERT_TRUE(until(
        [&] { return (status = another.receive(1, from.ours.get(), to, kMaxDescriptors, packet, passed)) != EAGAIN; }));
    EXPECT_EQ(status, 0);
  }
  EXPECT_LT(Clock::now() - begin, kSoon);
  EXPECT_TRUE(until([] { return doors().size() == 1; }));
  endless.release();
  waitpid(child, nullptr, 0);
}

TEST_F(DoorkeeperTest, AFileSystemThatDoesNotSayWhatItIsDelaysNobody) {  // R2
  EndlessFile endless("mem", "17");                                      // STATFS
  if (endless.path().empty()) GTEST_SKIP() << "no file system in user space";
  Connection from;
  const pid_t child = endless.in_child([&](int descriptor) { from.send({descriptor}); });
  ASSERT_TRUE(until([&] { return has_descriptors(from.ours.get()); }));
  const auto begin = Clock::now();
  EXPECT_EQ(receive(1, from), 0);
  EXPECT_LT(Clock::now() - begin, kSoon);
  EXPECT_FALSE(passed.descriptors[0]);
  endless.release();
  waitpid(child, nullptr, 0);
}

TEST_F(DoorkeeperTest, OneThatWasKilledIsReplaced) {  // R6
  Connection from;
  const Descriptor given = file();
  std::vector<pid_t> before;
  ASSERT_TRUE(until([&] { return (before = doors()).size() == 1; }));  // it has taken its name
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, before[0], 0)));
  ASSERT_EQ(kill(before[0], SIGKILL), 0);
  pollfd ends{process.get(), POLLIN, 0};  // with all of its threads: the thread sanitizer has one in each process
  ASSERT_EQ(poll(&ends, 1, -1), 1);
  ASSERT_TRUE(from.send({given.get()}));
  EXPECT_EQ(receive(1, from), 0);
  EXPECT_TRUE(until([] { return doors().size() == 1; }));
}

TEST_F(DoorkeeperTest, ItsDescriptorsAreAConnectionAndTwoThatLeadNowhere) {  // R6
  ASSERT_TRUE(until([] { return doors().size() == 1; }));
  const std::filesystem::path folder = "/proc/" + std::to_string(doors().at(0)) + "/fd";
  EXPECT_TRUE(until([&] {
    const std::filesystem::directory_iterator all(folder);
    return std::distance(begin(all), end(all)) == 3;
  }));
  EXPECT_TRUE(std::filesystem::read_symlink(folder / "0").native().starts_with("socket:["));
  EXPECT_TRUE(std::filesystem::read_symlink(folder / "1").native().starts_with("pipe:["));
  EXPECT_EQ(std::filesystem::read_symlink(folder / "1"), std::filesystem::read_symlink(folder / "2"));
}

// Its owner's SIGCHLD may have been inherited as ignored.
TEST(Doorkeeper, ItTakesNoticeOfEndsThoughItsOwnerIgnoresSigchld) {  // R4
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    Doorkeeper doorkeeper;
    Connection from;
    const Descriptor given = file();
    std::array<std::uint8_t, 8> to{};
    Packet packet;
    Passed passed;
    for (std::size_t n = 0; n < 3 * Doorkeeper::kMostOfOwner; ++n) {
      ASSERT_TRUE(from.send({given.get()}));
      int status = 0;
      EXPECT_TRUE(until([&] {
        return (status = doorkeeper.receive(1, from.ours.get(), to, kMaxDescriptors, packet, passed)) != EBUSY;
      }));
      ASSERT_EQ(status, 0) << n;
    }
  }
  std::signal(SIGCHLD, before);
}

TEST(Doorkeeper, WithoutADescriptorForItItThrows) {  // R6
  // A sanitizer looks at the first object of a class through a pipe.
  const std::system_error first(0, std::generic_category(), "");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  bool threw = false;
  try {
    const Doorkeeper another;
  } catch (const std::system_error&) {
    threw = true;
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(threw);
}

// What a child does first, on a machine that is held, or where it is killed.
void (*at_birth)() = [] {};

class DoorkeeperBirthTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pthread_atfork(nullptr, nullptr, [] { at_birth(); });
  }
  ~DoorkeeperBirthTest() override {
    at_birth = [] {};
  }
};

TEST_F(DoorkeeperBirthTest, HoweverLateItsNameComesItIsNoAnswer) {  // R6
  at_birth = [] { usleep(700'000); };
  Doorkeeper doorkeeper(std::chrono::milliseconds{500});
  at_birth = [] {};
  EXPECT_EQ(doors().size(), 1u);
  Connection from;
  const Descriptor given = file();
  ASSERT_TRUE(from.send({given.get()}));
  std::array<std::uint8_t, 8> to{};
  Packet packet;
  Passed passed;
  int status = EIO;
  EXPECT_TRUE(until([&] {
    status = doorkeeper.receive(1, from.ours.get(), to, kMaxDescriptors, packet, passed);
    return status != EAGAIN;
  }));
  EXPECT_EQ(status, 0);
}

TEST_F(DoorkeeperBirthTest, OneThatEndsBeforeItHasItsNameIsNotWaitedFor) {  // R6
  at_birth = [] { _exit(1); };
  const auto begin = Clock::now();
  EXPECT_THROW(Doorkeeper{}, std::system_error);
  EXPECT_LT(Clock::now() - begin, kSoon);
}

TEST_F(DoorkeeperTest, AConnectionWithSocketsThatLingerIsClosedElsewhere) {  // R5
  Connection from;
  LingeringSocket one(600), other(600);
  ASSERT_EQ(::send(from.theirs.get(), "", 0, 0), 0);  // looks like the end
  for (LingeringSocket* const socket : {&one, &other}) {
    ASSERT_TRUE(from.send({socket->socket.get()}));
    socket->socket.reset();
  }
  const std::size_t before = open_descriptors();
  const auto begin = Clock::now();
  doorkeeper.end(1, std::move(from.ours));
  EXPECT_LT(Clock::now() - begin, kSoon);
  EXPECT_EQ(open_descriptors(), before - 1);
  // And nothing is left: who passes descriptors has room.
  Connection next;
  const Descriptor given = file();
  for (std::size_t n = 0; n < 3 * Doorkeeper::kMostOfOwner; ++n) {
    ASSERT_TRUE(next.send({given.get()}));
    int status = 0;
    EXPECT_TRUE(until([&] { return (status = receive(1, next)) != EBUSY; }));
    EXPECT_EQ(status, 0) << n;
  }
}

TEST_F(DoorkeeperTest, AnEmptyConnectionIsClosedHere) {  // R5
  for (const bool unread : {false, true}) {
    Connection from;
    if (unread) {  // the close of its other end is an error here
      ASSERT_EQ(::send(from.ours.get(), "x", 1, 0), 1);
      from.theirs.reset();
    }
    const int number = from.ours.get();
    doorkeeper.end(1, std::move(from.ours));
    EXPECT_EQ(fcntl(number, F_GETFD), -1) << unread;
  }
}

std::string address() { return "@rxnic-acceptor-test-" + std::to_string(getpid()); }

// The packet has the only descriptor of it then.
void send_away(LingeringSocket& what, const Descriptor& connection) {
  const int number = what.socket.get();
  ASSERT_EQ(send_packet(connection.get(), Connection::kPacket, {&number, 1}, Waiting::kYes), 0);
  what.socket.reset();
}

// No descriptor is left until it ends.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest_.get()) + 1;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptorLeft() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  const Descriptor lowest_{dup(0)};  // nothing below it is free
  rlimit before_{};
};

TEST(Acceptor, WithoutADescriptorLeftItTurnsAway) {  // R2
  std::string error;
  Listener listener;
  ASSERT_TRUE(listener.open(address(), error)) << error;
  Acceptor acceptor;
  Doorkeeper doorkeeper;
  std::vector<Descriptor> waiting;
  for (int n = 0; n < 3; ++n) waiting.push_back(connect_to(address(), error));
  LingeringSocket given(kLingerSeconds);
  send_away(given, waiting[0]);
  Descriptor socket;
  Peer peer;
  std::vector<Acceptor::Outcome> full;
  {
    const NoDescriptorLeft none;
    const auto begin = Clock::now();
    for (int n = 0; n < 2; ++n) {
      full.push_back(acceptor.accept(listener.get(), socket, peer));
      doorkeeper.end(1, std::move(socket));
    }
    EXPECT_LT(Clock::now() - begin, kSoon) << "whatever it has sent (R3)";
  }
  EXPECT_EQ(full, std::vector(2, Acceptor::Outcome::kNoDescriptor)) << "the spare one is there again";
  char byte;
  for (const std::size_t n : {0u, 1u}) EXPECT_LE(recv(waiting[n].get(), &byte, 1, 0), 0) << "those who waited longest";
  EXPECT_EQ(acceptor.accept(listener.get(), socket, peer), Acceptor::Outcome::kAccepted);
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(acceptor.accept(listener.get(), socket, peer), Acceptor::Outcome::kNone);
}

TEST(Acceptor, WhatThoseWhoWaitHaveSentDelaysNoClose) {  // R3
  for (const bool full : {false, true}) {
    std::string error;
    Listener listener;
    ASSERT_TRUE(listener.open(address(), error)) << error;
    Acceptor acceptor;
    Doorkeeper doorkeeper;
    std::vector<Descriptor> waiting;
    LingeringSocket one(kLingerSeconds), other(kLingerSeconds);
    for (LingeringSocket* const socket : {&one, &other}) {
      waiting.push_back(connect_to(address(), error));
      send_away(*socket, waiting.back());
    }
    {
      std::optional<NoDescriptorLeft> none;
      if (full) none.emplace();
      const auto begin = Clock::now();
      acceptor.close(listener, doorkeeper);
      EXPECT_LT(Clock::now() - begin, kSoon) << full;
    }
    EXPECT_EQ(listener.get(), -1);
    char byte;
    for (const Descriptor& one_of_them : waiting) EXPECT_LE(recv(one_of_them.get(), &byte, 1, 0), 0);
  }
}

TEST(Acceptor, WhileWhoWaitsIsTurnedAwayNobodyConnects) {  // R3
  std::string error;
  Listener listener;
  ASSERT_TRUE(listener.open(address(), error)) << error;
  const Descriptor same{dup(listener.get())};  // is not closed
  Acceptor acceptor;
  Doorkeeper doorkeeper;
  acceptor.close(listener, doorkeeper);
  EXPECT_FALSE(connect_to(address(), error));
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
}  // namespace rxnic::channel::doorkeeper_test
