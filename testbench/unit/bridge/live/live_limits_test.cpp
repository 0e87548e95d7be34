// SPDX-License-Identifier: Apache-2.0
// Programs that take more than their share, or hand over descriptors that make the simulator wait: live_programs.h R2,
// R11, R12, live_memory.h R5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "bridge/live/line_limiter.h"
#include "bridge/live/live_memory.h"
#include "testbench/unit/bridge/live/endless_file.h"
#include "testbench/unit/bridge/live/lingering_socket.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_limits_test {
namespace {

using channel::Message;
using channel::Request;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Kind = ProgramEvent::Kind;

constexpr milliseconds kSoon{3000};  // far less than the 8 s for which a hostile descriptor makes its owner wait

class LiveLimitsTest : public LiveProgramsTest {
 protected:
  // Asks for a NIC and is refused; the id that it had.
  ClientId open_in_vain(LiveProgram& program) {
    Message message = message_of(Request::kOpen);
    message.body.open = {};
    program.send(message,
                 {program.memory_file.get(), program.wake.get(), program.events_write.get(), program.own_memory.get()});
    const ProgramEvent event = take_one();
    programs->opened(event.client, ENODEV, {});
    Message reply;
    EXPECT_EQ(program.receive(reply), 0);
    EXPECT_EQ(reply.status, ENODEV);
    return event.client;
  }
  std::set<ClientId> open_all_in_vain(LiveProgram& program) {
    std::set<ClientId> seen;
    for (int i = 0; i < 0x3fff && !HasFailure(); ++i) seen.insert(open_in_vain(program));
    return seen;
  }
};

TEST_F(LiveLimitsTest, AnIdIsUsedAgainOnceItIsReleased) {  // R12
  LiveProgram held, program;
  const ClientId id = open_program(held);
  held.socket.reset();
  EXPECT_EQ(take_one().kind, Kind::kClose);
  program.make();
  program.connect(options.address);
  EXPECT_FALSE(open_all_in_vain(program).contains(id)) << "the device still holds its memory";
  programs->released(id);
  programs->released(ClientId{0x3fff});  // of nobody: it is free
  EXPECT_TRUE(open_all_in_vain(program).contains(id));
}

TEST_F(LiveLimitsTest, AMappingIsNoLargerThanWhatItMayHold) {  // live_mapping.h R1
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 36}) {
    LiveProgram program;
    program.make(channel::kMappingBytes + more);
    program.connect(options.address);
    program.send_open();
    EXPECT_EQ(take().size(), more == 0 ? 1u : 0u);
    Message reply;
    if (more == 0) continue;
    ASSERT_EQ(program.receive(reply), 0);
    EXPECT_EQ(reply.status, EINVAL);
    EXPECT_THAT(log, HasSubstr("the mapping has " + std::to_string(channel::kMappingBytes + more) +
                               " bytes, expected " + std::to_string(channel::kHeapOffset) + " to 1073741824"));
  }
}

std::size_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Whatever a program does: a thread that it makes the simulator need may not be had then.
TEST_F(LiveLimitsTest, EveryThreadStartsWithTheSimulator) {  // access_watch.h R3
  LiveMemory memory(*programs);
  const std::size_t before = threads();
  LiveProgram program;
  const ClientId client = open_program(program);
  LingeringSocket given(1);
  program.send(message_of(Request::kCreateChannel), {given.socket.get()});
  EXPECT_TRUE(take().empty());
  std::uint8_t byte = 1;
  EXPECT_TRUE(memory.read(client, reinterpret_cast<std::uint64_t>(&byte), {&byte, 1}));
  EXPECT_LE(threads(), before) << "those of another LivePrograms may still be ending";
}

// One descriptor is left for the connection, none for what it needs besides.
TEST_F(LiveLimitsTest, WhoCannotBeWaitedForIsRefused) {  // R15
  LiveProgram good, bad;
  open_program(good);
  bad.connect(options.address);
  rlimit before{}, less{};
  getrlimit(RLIMIT_NOFILE, &before);
  less = before;
  channel::Descriptor only(dup(0));  // every smaller number is taken
  less.rlim_cur = static_cast<rlim_t>(only.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &less), 0);
  only.reset();
  EXPECT_TRUE(take().empty());
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(log, HasSubstr("it cannot be waited for: Too many open files"));
  EXPECT_EQ(programs->counters().refused, 1u);
  Message reply;
  ASSERT_EQ(bad.receive(reply), 0);
  EXPECT_EQ(reply.status, EMFILE);
  carry_out(good, Request::kAllocatePd);
}

TEST_F(LiveLimitsTest, WithoutADescriptorLeftAProgramIsTurnedAway) {  // acceptor.h R2, R3
  LiveProgram good, bad;
  open_program(good);
  bad.connect(options.address);
  LingeringSocket given(8);
  bad.send(message_of(Request::kCreateChannel), {given.socket.get()});
  given.socket.reset();
  rlimit before{}, none{};
  getrlimit(RLIMIT_NOFILE, &before);
  none = before;
  const channel::Descriptor lowest(dup(0));  // every smaller number is taken
  none.rlim_cur = static_cast<rlim_t>(lowest.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto begin = Clock::now();
  EXPECT_TRUE(take().empty());
  EXPECT_LT(Clock::now() - begin, kSoon);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(log, HasSubstr("refused a program: the simulator has no file descriptor left"));
  EXPECT_EQ(programs->counters().refused, 1u);
  EXPECT_TRUE(bad.receive_is_over());
  carry_out(good, Request::kAllocatePd);
}

TEST_F(LiveLimitsTest, AConnectionThatOpensNoNicIsClosed) {  // R2
  options.hello_ms = 50;
  start();
  LiveProgram silent, talks, opens;
  open_program(opens);
  silent.connect(options.address);
  talks.connect(options.address);
  talks.send(message_of(Request::kHello));
  const auto begin = Clock::now();
  Message reply;
  while (programs->counters().refused < 2) {
    ASSERT_LT(Clock::now() - begin, std::chrono::seconds{20});
    EXPECT_EQ(programs->wait(now, now + 1'000'000), now + 1'000'000);
  }
  EXPECT_GE(Clock::now() - begin, milliseconds{50});
  EXPECT_EQ(silent.receive(reply), EPIPE);
  EXPECT_EQ(talks.receive(reply), 0);
  EXPECT_EQ(talks.receive(reply), EPIPE);
  EXPECT_THAT(log, HasSubstr("opened no NIC for 50 ms"));
  carry_out(opens, Request::kAllocatePd);
}

TEST_F(LiveLimitsTest, AConnectionTooManyIsRefusedWithAReply) {  // R2, protocol.h R2
  options.most_clients = 1;
  start();
  std::vector<LiveProgram> attached(65);
  for (LiveProgram& program : attached) {
    program.connect(options.address);
    EXPECT_TRUE(take().empty());
  }
  LiveProgram refused;
  refused.connect(options.address);
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(refused.receive(reply), 0);
  EXPECT_EQ(reply.type, Request::kHello);
  EXPECT_EQ(reply.sequence, 1u);
  EXPECT_EQ(reply.status, EUSERS);
  EXPECT_EQ(refused.receive(reply), EPIPE);
}

TEST_F(LiveLimitsTest, LinesAboutRefusedProgramsAreLimited) {  // R11
  LiveProgram program;
  program.make();
  program.connect(options.address);
  for (int i = 0; i < 2000; ++i) open_in_vain(program);
  programs.reset();
  const auto lines = std::count(log.begin(), log.end(), '\n');
  EXPECT_GE(lines, 51);
  EXPECT_LT(lines, 1000);
  EXPECT_THAT(log, HasSubstr("further lines were left out"));
}

TEST(LineLimiter, LeavesOutWhatIsTooMuchAndSaysSo) {
  std::vector<std::string> said;
  LineLimiter limiter(2, 10, [&](const std::string& line) { said.push_back(line); });
  const auto begin = LineLimiter::Clock::now() + std::chrono::hours{1};
  for (const char* line : {"a", "b", "c", "d"}) limiter.say(line, begin);
  EXPECT_THAT(said, ElementsAre("a", "b"));
  limiter.report(begin + milliseconds{99});
  EXPECT_THAT(said, ElementsAre("a", "b"));
  limiter.say("e", begin + milliseconds{101});
  EXPECT_THAT(said, ElementsAre("a", "b", "2 further lines were left out", "e"));
  limiter.say("f", begin + milliseconds{102});
  limiter.report(begin + milliseconds{300});
  EXPECT_THAT(said.back(), "1 further lines were left out");
  limiter.report(begin + milliseconds{400});
  EXPECT_EQ(said.size(), 5u);
}

TEST_F(LiveLimitsTest, WhatNobodyHasAcceptedDelaysNoEnd) {  // acceptor.h R3
  LiveProgram program;
  program.connect(options.address);
  LingeringSocket given(8);
  program.send(message_of(Request::kCreateChannel), {given.socket.get()});
  given.socket.reset();
  const auto begin = Clock::now();
  programs.reset();
  EXPECT_LT(Clock::now() - begin, kSoon);
}

TEST_F(LiveLimitsTest, ASocketThatLingersDelaysNobody) {  // R11
  LiveProgram program;
  open_program(program);
  LingeringSocket given(8), surplus(8), unread(8);
  auto begin = Clock::now();

  program.send(message_of(Request::kCreateChannel), {given.socket.get()});
  given.socket.reset();
  EXPECT_TRUE(take().empty());
  Message reply;
  ASSERT_EQ(program.receive(reply), 0);
  EXPECT_EQ(reply.status, EINVAL);
  EXPECT_LT(Clock::now() - begin, kSoon) << "as a channel";

  // With an empty packet before it that looks like the end of the connection.
  begin = Clock::now();
  ASSERT_EQ(::send(program.socket.get(), "garbage", 7, 0), 7);
  ASSERT_EQ(::send(program.socket.get(), "", 0, 0), 0);
  program.send(message_of(Request::kCreateChannel), {unread.socket.get()});
  unread.socket.reset();
  EXPECT_EQ(take_one().kind, Kind::kClose);
  EXPECT_LT(Clock::now() - begin, kSoon) << "in a packet that is not received";

  begin = Clock::now();
  LiveProgram other;
  other.connect(options.address);
  const Message message = message_of(Request::kHello);
  const std::vector<int> numbers(9, surplus.socket.get());
  std::vector<std::uint8_t> control(CMSG_SPACE(numbers.size() * sizeof(int)));
  iovec data{const_cast<Message*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(numbers.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), numbers.data(), numbers.size() * sizeof(int));
  ASSERT_GT(sendmsg(other.socket.get(), &header, 0), 0);
  surplus.socket.reset();
  EXPECT_TRUE(take().empty());
  EXPECT_LT(Clock::now() - begin, kSoon) << "more than fit";
}

TEST_F(LiveLimitsTest, AProgramWhoseDescriptorsCannotBeClosedIsDisconnected) {  // R11
  EndlessFile endless;
  if (endless.path().empty()) GTEST_SKIP() << "no file system in user space";
  LiveProgram good, bad;
  const ClientId good_client = open_program(good);
  const ClientId bad_client = open_program(bad);
  const pid_t child = endless.in_child([&](int descriptor) {
    for (std::size_t n = 0; n < 2 * channel::Doorkeeper::kMostOfOwner; ++n) {
      channel::send_message(bad.socket.get(), message_of(Request::kCreateChannel), std::array{descriptor},
                            channel::Waiting::kNo);
    }
  });
  const auto until = Clock::now() + std::chrono::seconds{30};
  std::size_t refusals = 0;
  for (bool over = false; !over && Clock::now() < until;) {
    for (const ProgramEvent& event : take()) over |= event.kind == Kind::kClose && event.client == bad_client;
    Message reply;
    while (bad.receive(reply) == 0) ++refusals;
  }
  EXPECT_TRUE(bad.receive_is_over());
  EXPECT_EQ(refusals, channel::Doorkeeper::kMostOfOwner);
  EXPECT_THAT(log, HasSubstr("descriptors that it has passed cannot be closed"));
  // The others go on, and LivePrograms ends.
  good.send(message_of(Request::kAllocatePd));
  EXPECT_EQ(take_one().client, good_client);
  const auto begin = Clock::now();
  programs.reset();
  EXPECT_LT(Clock::now() - begin, kSoon);
  endless.release();
  waitpid(child, nullptr, 0);
}

TEST_F(LiveLimitsTest, EventsThatWaitHaveABoundForAProgram) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  std::vector<std::uint32_t> channels{0};
  std::vector<channel::Descriptor> ends;
  for (int n = 0; n < 3; ++n) {
    channel::Descriptor read_end, write_end;
    LiveProgram::make_pipe(read_end, write_end);
    program.send(message_of(Request::kCreateChannel), {write_end.get()});
    const ProgramEvent event = take_one();
    channels.push_back(event.message.body.handle.number);
    programs->reply(client, event.message);
    ends.push_back(std::move(read_end));
  }
  const auto of_pipe = static_cast<std::size_t>(fcntl(ends[0].get(), F_GETPIPE_SZ)) / sizeof(channel::EventRecord);
  const std::uint32_t each = 40'000;
  for (std::uint32_t n = 0; n < each; ++n) {
    for (const std::uint32_t channel : channels)
      programs->notify(client, channel, {channel::EventKind::kCompletion, n});
  }
  const std::uint64_t all = std::uint64_t{each} * channels.size();
  EXPECT_EQ(programs->counters().lost_events, all - of_pipe * channels.size() - EventBudget::kOfClient);
  // In order, and the same number at the end.
  std::uint64_t got = 0;
  for (int n = 0; n < 1000 && got < of_pipe + 1; ++n) {
    for (const channel::EventRecord& event : LiveProgram::read_events(ends[0].get())) EXPECT_EQ(event.number, got++);
    programs->wait(now, now + 2'000'000);
  }
  EXPECT_GT(got, of_pipe) << "what waited comes";
}

TEST_F(LiveLimitsTest, EventsThatGoWithTheirObjectLeaveRoom) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  const auto of_pipe =
      static_cast<std::size_t>(fcntl(program.events.get(), F_GETPIPE_SZ)) / sizeof(channel::EventRecord);
  const std::size_t all = of_pipe + EventBudget::kOfClient;
  for (const std::uint64_t lost : {1, 2}) {
    for (std::size_t n = 0; n < all; ++n) programs->notify(client, 0, {channel::EventKind::kCompletion, 7});
    EXPECT_EQ(programs->counters().lost_events, lost - 1);
    programs->notify(client, 0, {channel::EventKind::kCompletion, 7});
    EXPECT_EQ(programs->counters().lost_events, lost);
    programs->discard_events(client, Request::kFreeCq, 7);
  }
}

TEST_F(LiveLimitsTest, AnEventfdThatStaysReadableDoesNotKeepTheSimulatorAwake) {
  LiveProgram program;
  program.make();
  program.wake.reset(eventfd(1'000'000'000, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  program.connect(options.address);
  program.send_open();
  const ProgramEvent event = take_one();
  programs->opened(event.client, 0, {});
  const std::uint64_t before = programs->counters().polls;
  const Cycle due = now + 200'000'000;  // 200 ms
  EXPECT_EQ(programs->wait(now, due), due);
  EXPECT_LT(programs->counters().polls - before, 10u);
  // It still wakes.
  program.header().simulator_sleeps.store(1);
  program.ring(channel::Board::kSend, 3, 4);
  EXPECT_EQ(wait_for_one().kind, Kind::kDoorbell);
}

// R5 of live_memory.h: in another process, as it is killed.
TEST_F(LiveLimitsTest, AProgramThatSuppliesItsPagesLateIsKilled) {
  constexpr std::uint64_t kPage = 4096;
  if (channel::Descriptor{static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))}.get() < 0) {
    GTEST_SKIP() << "no userfaultfd for this user";
  }
  LiveProgram good;
  const ClientId good_client = open_program(good);
  void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fault = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uint64_t>(page), kPage};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (ioctl(fault, UFFDIO_API, &api) != 0 || ioctl(fault, UFFDIO_REGISTER, &range) != 0) _exit(2);
    _exit(ask_to_open_and_pause(options.address));
  }
  const ProgramEvent event = wait_for_one();
  programs->opened(event.client, 0, {});
  LiveMemory memory(*programs, {.watch = {.tick_ms = 20, .most_ticks = 5}});
  std::uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint8_t> own(data, data + 8);
  const auto begin = Clock::now();
  // Together: by the descriptor alone the kernel does not wait for such a page, the access fails.
  std::array<bool, 2> ok{};
  const ProgramMemory::Read read{event.client, reinterpret_cast<std::uint64_t>(page), data, &ok[0]};
  memory.read_all(std::vector{read, read});
  EXPECT_GE(Clock::now() - begin, milliseconds{80});
  EXPECT_LT(Clock::now() - begin, kSoon);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_THAT(log, HasSubstr("killed process " + std::to_string(child)));
  EXPECT_TRUE(memory.read(good_client, reinterpret_cast<std::uint64_t>(own.data()), data));
  munmap(page, kPage);
}

}  // namespace
}  // namespace rxnic::live_limits_test
