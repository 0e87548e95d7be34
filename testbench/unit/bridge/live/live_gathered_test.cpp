// SPDX-License-Identifier: Apache-2.0
// Writes that are kept and carried out together: live_memory.h R8, R9, R10, live_programs.h R18, kept_writes.h.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bridge/live/live_memory.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_gathered_test {
namespace {

constexpr std::uint64_t kPage = 4096, kPages = 8;
constexpr std::uint64_t kRing = ProgramMemory::kShared | channel::kHeapOffset;
using Bytes = std::vector<std::uint8_t>;

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

Bytes pattern(std::size_t bytes, std::uint8_t first) {
  Bytes data(bytes);
  std::iota(data.begin(), data.end(), first);
  return data;
}

class LiveGatheredTest : public LiveProgramsTest {
 protected:
  LiveGatheredTest() : client(open_program(program)) {
    // Below 2 GiB the kernel puts no mapping that names no place: an unmapped page stays so.
    static std::uint64_t next = 0x5000'0000;
    base = static_cast<std::uint8_t*>(mmap(reinterpret_cast<void*>(next), kPages * kPage, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    next += (kPages + 1) * kPage;
    std::memset(base, 0x11, kPages * kPage);
  }
  std::uint8_t* at(std::uint64_t page, std::uint64_t offset = 0) const { return base + page * kPage + offset; }
  bool write(const std::uint8_t* to, const Bytes& data) { return memory.write(client, address(to), data); }
  // The next write follows another one.
  void begin() { ASSERT_TRUE(write(at(kPages - 1), {1})); }
  bool holds(const std::uint8_t* there, const Bytes& data) const {
    return std::memcmp(there, data.data(), data.size()) == 0;
  }
  const LiveMemoryCounters& counters() const { return memory.counters(); }

  LiveProgram program;
  ClientId client;
  LiveMemory memory{*programs, {.gather = true}};
  std::uint8_t* base = nullptr;
};

TEST_F(LiveGatheredTest, TheWritesOfALookAreOneCall) {  // R8
  begin();
  constexpr std::size_t kWrites = 12;
  for (std::size_t n = 0; n < kWrites; ++n) {
    EXPECT_TRUE(write(at(n % 5, n * 256), pattern(64, static_cast<std::uint8_t>(n))));
    EXPECT_EQ(*at(n % 5, n * 256 + 1), 0x11) << "it is kept";
  }
  programs->show();
  for (std::size_t n = 0; n < kWrites; ++n) {
    EXPECT_TRUE(holds(at(n % 5, n * 256), pattern(64, static_cast<std::uint8_t>(n)))) << n;
  }
  EXPECT_EQ(counters().write_calls, 1u);
  EXPECT_EQ(counters().process_writes.transfers, kWrites);
  EXPECT_EQ(counters().process_writes.bytes, kWrites * 64);
  EXPECT_EQ(counters().descriptor_writes.transfers, 1u) << "the one that began";
}

TEST_F(LiveGatheredTest, AWriteThatComesAloneIsCarriedOutAtOnce) {  // R8
  const Bytes data = pattern(64, 7);
  const auto at_once = [&] {
    std::memset(at(0), 0x11, 64);
    EXPECT_TRUE(write(at(0), data));
    const bool seen = holds(at(0), data);
    programs->show();
    EXPECT_TRUE(holds(at(0), data));
    return seen;
  };
  EXPECT_TRUE(at_once()) << "the first one";
  EXPECT_FALSE(at_once());
  for (std::uint64_t look = 0; look < LiveMemory::kNear; ++look) take();
  EXPECT_FALSE(at_once()) << "so many looks are near";
  for (std::uint64_t look = 0; look <= LiveMemory::kNear; ++look) take();
  EXPECT_TRUE(at_once());
  EXPECT_FALSE(at_once());
  programs->wait(now, now + 1);
  EXPECT_TRUE(at_once()) << "the model has waited";
}

TEST_F(LiveGatheredTest, ItIsShownWhereLivePrograms_hR18SaysSo) {
  const Bytes data = pattern(64, 9);
  const auto keep = [&] {
    begin();
    std::memset(at(0), 0x11, 64);
    EXPECT_TRUE(write(at(0), data));
    EXPECT_FALSE(holds(at(0), data));
  };
  keep();
  take();
  EXPECT_FALSE(holds(at(0), data)) << "a look that finds nothing";
  program.ring(channel::Board::kReceive, 1, 1);
  take();
  EXPECT_TRUE(holds(at(0), data)) << "a doorbell";
  keep();
  program.send(message_of(channel::Request::kAllocatePd));
  take();
  EXPECT_TRUE(holds(at(0), data)) << "a request";
  keep();
  programs->reply(client, message_of(channel::Request::kAllocatePd));
  EXPECT_TRUE(holds(at(0), data)) << "a reply";
  keep();
  programs->notify(client, 0, {});
  EXPECT_TRUE(holds(at(0), data)) << "an event";
  keep();
  programs->wait(now, now + 1);
  EXPECT_TRUE(holds(at(0), data)) << "the model waits";
  keep();
  for (std::uint64_t look = 0; look < LiveMemory::kNear; ++look) take();
  EXPECT_FALSE(holds(at(0), data));
  take();
  EXPECT_TRUE(holds(at(0), data)) << "nothing follows any more";
  keep();
  for (std::uint64_t look = 1; look < LiveMemory::kLongest; ++look) {
    EXPECT_TRUE(write(at(1), data));
    take();
    EXPECT_FALSE(holds(at(0), data)) << "look " << look;
  }
  take();
  EXPECT_TRUE(holds(at(0), data)) << "it was kept for long enough";
  keep();
  for (std::size_t n = 0; n < KeptWrites::kMost; ++n) EXPECT_TRUE(write(at(1), data));
  EXPECT_TRUE(holds(at(0), data)) << "no more are kept";
}

TEST_F(LiveGatheredTest, ACompletionIsBehindItsPayload) {  // R8, live_programs.h R18
  const Bytes payload = pattern(64, 3), cqe = pattern(64, 5);
  EXPECT_TRUE(memory.write(client, kRing, cqe));
  EXPECT_TRUE(holds(program.heap(), cqe)) << "nothing is kept";
  begin();
  ASSERT_TRUE(write(at(0), payload));
  ASSERT_TRUE(memory.write(client, kRing + 64, cqe));
  programs->completed(client, Cqn{1}, 1);
  EXPECT_FALSE(holds(program.heap() + 64, cqe));
  EXPECT_EQ(program.header().completions.load(), 0u) << "a thread that polls and then waits would miss the CQE";
  take();
  EXPECT_TRUE(holds(at(0), payload));
  EXPECT_TRUE(holds(program.heap() + 64, cqe));
  EXPECT_EQ(program.header().completions.load(), 1u);
  EXPECT_EQ(counters().shared_writes.transfers, 2u);
}

// The simulator's view of the ring's page cannot be written. The first attempt looks at the payload, and makes the page
// writable.
struct CqeTrap {
  static void spring(int) {
    behind = *payload == 3 && std::memcmp(cqe, zeros, sizeof zeros) == 0;
    mprotect(page, kPage, PROT_READ | PROT_WRITE);
  }
  static constexpr std::uint8_t zeros[64] = {};
  static inline std::uint8_t* page = nullptr;
  static inline const std::uint8_t* cqe = nullptr;  // in the program's view
  static inline const std::uint8_t* payload = nullptr;
  static inline bool behind = false;
};

TEST_F(LiveGatheredTest, ACqeIsWrittenWhenItsPayloadIsThere) {  // R8
  begin();
  ASSERT_TRUE(write(at(0), pattern(64, 3)));
  ASSERT_TRUE(memory.write(client, kRing + 64, pattern(64, 5)));
  CqeTrap::page = static_cast<std::uint8_t*>(programs->find(client)->mapping().base()) + channel::kHeapOffset;
  CqeTrap::cqe = program.heap() + 64;
  CqeTrap::payload = at(0);
  struct sigaction trap = {}, old = {};
  trap.sa_handler = CqeTrap::spring;
  ASSERT_EQ(sigaction(SIGSEGV, &trap, &old), 0);
  ASSERT_EQ(mprotect(CqeTrap::page, kPage, PROT_READ), 0);
  programs->show();
  sigaction(SIGSEGV, &old, nullptr);
  EXPECT_TRUE(CqeTrap::behind);
  EXPECT_TRUE(holds(program.heap() + 64, pattern(64, 5)));
}

// With and without gathering: which of five writes fail, and what memory holds afterwards.
TEST_F(LiveGatheredTest, AFailureInTheMiddleIsThatOfItsMessage) {  // R9
  mprotect(at(3), kPage, PROT_READ);
  munmap(at(5), kPage);
  struct Case {
    const char* what;
    std::uint8_t* third;
  };
  begin();
  const Case cases[] = {{"a read-only page", at(3)},
                        {"a page that is not mapped", at(5)},
                        {"half on a read-only page", at(3) - 32},
                        {"half on no page", at(5) - 32}};
  for (const Case& c : cases) {
    std::vector<Bytes> contents;
    std::vector<std::vector<bool>> results;
    for (const bool gather : {false, true}) {
      for (const std::uint64_t page : {0, 1, 2, 4}) std::memset(at(page), 0x11, kPage);
      LiveMemory alone(*programs, {.gather = false});
      ProgramMemory& used = gather ? static_cast<ProgramMemory&>(memory) : alone;
      const std::uint64_t failed = counters().failures + alone.counters().failures;
      std::vector<bool> done;
      std::uint8_t first = 1;
      for (std::uint8_t* const to : {at(0), at(1), c.third, at(2), at(4)}) {
        done.push_back(used.write(client, address(to), pattern(64, first++)));
      }
      EXPECT_EQ(counters().failures + alone.counters().failures, failed + 1) << c.what;
      programs->show();
      results.push_back(done);
      Bytes all;
      for (const std::uint64_t page : {0, 1, 2, 3, 4}) all.insert(all.end(), at(page), at(page) + kPage);
      contents.push_back(all);
    }
    EXPECT_EQ(results[0], (std::vector<bool>{true, true, false, true, true})) << c.what;
    EXPECT_EQ(results[1], results[0]) << c.what;
    EXPECT_EQ(contents[1], contents[0]) << c.what;
  }
  EXPECT_EQ(counters().lost, 0u);
  EXPECT_EQ(counters().process_writes.transfers, 4u * std::size(cases));
}

TEST_F(LiveGatheredTest, WhatIsTakenAwayMeanwhileGoesNowhereAndTheOthersArrive) {  // R9
  const Bytes data = pattern(64, 1);
  begin();
  for (std::uint64_t page = 0; page < 5; ++page) ASSERT_TRUE(write(at(page), data));
  munmap(at(2), kPage);
  programs->show();
  for (const std::uint64_t page : {0, 1, 3, 4}) EXPECT_TRUE(holds(at(page), data)) << page;
  EXPECT_EQ(counters().lost, 1u);
  EXPECT_EQ(counters().process_writes.transfers, 4u);
  EXPECT_EQ(counters().write_calls, 2u);
}

TEST_F(LiveGatheredTest, RightsAreAskedForAnewBehindADoorbell) {  // R9
  const Bytes data = pattern(64, 1);
  begin();
  EXPECT_TRUE(write(at(0), data));
  mprotect(at(0), kPage, PROT_READ);
  program.ring(channel::Board::kReceive, 1, 1);
  take();
  EXPECT_FALSE(write(at(0), data));
}

// Its pages may be missing although the mapping is there: that cannot be foreseen.
TEST_F(LiveGatheredTest, AWriteToAFileIsCarriedOutAtOnce) {  // R9
  const channel::Descriptor file(memfd_create("rxnic-test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), kPage), 0);
  auto* const mapped =
      static_cast<std::uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  const Bytes data = pattern(64, 1);
  begin();
  EXPECT_TRUE(write(mapped, data));
  EXPECT_TRUE(holds(mapped, data));
  EXPECT_FALSE(write(mapped + kPage, data)) << "behind the end of the file";
  EXPECT_EQ(counters().failures, 1u);
  munmap(mapped, 2 * kPage);
}

TEST_F(LiveGatheredTest, ReadsSeeWhatIsKept) {  // R8
  const Bytes data = pattern(64, 1);
  Bytes found(64), again(64);
  begin();
  ASSERT_TRUE(write(at(0), data));
  ASSERT_TRUE(memory.read(client, address(at(1)), found));
  EXPECT_FALSE(holds(at(0), data)) << "read elsewhere";
  ASSERT_TRUE(memory.read(client, address(at(0)) - 1 + 64, std::span(found).first(1)));
  EXPECT_EQ(found[0], data[63]);
  ASSERT_TRUE(write(at(2), data));
  std::array<bool, 2> ok{};
  const ProgramMemory::Read reads[] = {{client, address(at(1)), found, &ok[0]},
                                       {client, address(at(2)), again, &ok[1]}};
  memory.read_all(reads);
  EXPECT_EQ(again, data);
  ASSERT_TRUE(write(at(3), data));
  ASSERT_TRUE(memory.write(client, kRing, data));
  ASSERT_TRUE(memory.read(client, kRing, found));
  EXPECT_EQ(found, data);
  EXPECT_TRUE(holds(at(3), data));
}

// The program has opened two devices: its memory is that of two clients.
TEST_F(LiveGatheredTest, TheLastOfWritesToOnePlaceStays) {
  LiveProgram other;
  const ClientId second = open_program(other);
  begin();
  for (std::uint8_t round = 0; round < 20; ++round) {
    ASSERT_TRUE(memory.write(round % 3 == 0 ? second : client, address(at(0, round)), Bytes(64, round)));
  }
  programs->show();
  for (std::uint8_t round = 0; round < 20; ++round) EXPECT_EQ(*at(0, round), round);
  EXPECT_TRUE(holds(at(0, 19), Bytes(64, 19)));
}

TEST_F(LiveGatheredTest, AnySequenceLeavesWhatItLeavesOneByOne) {
  std::mt19937_64 random(random_seed());
  Bytes expected(4 * kPage, 0x11);
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 5000 : 80);
    const std::uint64_t begin = random() % (4 * kPage - bytes);
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(begin);
    if (random() % 8 == 0) {
      Bytes found(bytes);
      ASSERT_TRUE(memory.read(client, address(base) + begin, found));
      ASSERT_TRUE(std::equal(found.begin(), found.end(), from));
    } else {
      const Bytes data = pattern(bytes, static_cast<std::uint8_t>(random()));
      std::copy(data.begin(), data.end(), from);
      ASSERT_TRUE(write(base + begin, data));
    }
    if (random() % 8 == 0) take();
  }
  programs->show();
  EXPECT_TRUE(holds(base, expected));
  EXPECT_GT(counters().process_writes.transfers, 1000u);
  EXPECT_EQ(counters().lost, 0u);
}

TEST_F(LiveGatheredTest, WithoutItsLeaveNothingIsKept) {
  LiveMemory by_descriptor(*programs, {.process_vm = false, .gather = true});
  const Bytes data = pattern(64, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(by_descriptor.write(client, address(at(0, 64 * static_cast<std::uint64_t>(i))), data));
    EXPECT_TRUE(holds(at(0, 64 * static_cast<std::uint64_t>(i)), data));
  }
  programs->set_later(nullptr);
}

// Two writes are kept for memory of a child, a copy of the test's, which is another one when they are shown.
class LiveGatheredChildTest : public LiveProgramsTest {
 protected:
  LiveGatheredChildTest() { target[1] = 2; }
  std::uint8_t* const target =
      static_cast<std::uint8_t*>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(LiveGatheredChildTest, OfAProgramThatDiesInBetweenNothingIsLeft) {  // R4
  ChildProgram child([&] { return ask_to_open_and_pause(options.address); });
  const ClientId client = open_next();
  LiveMemory memory(*programs, {.gather = true});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(memory.write(client, address(target), pattern(64, 1)));
  EXPECT_TRUE(memory.exists(client));
  kill(child.pid(), SIGKILL);
  child.status();
  programs->show();
  EXPECT_FALSE(memory.exists(client));
  EXPECT_EQ(memory.counters().lost, 0u);
  EXPECT_EQ(memory.counters().process_writes.transfers, 0u);
  EXPECT_FALSE(memory.write(client, address(target), pattern(64, 1)));
}

TEST_F(LiveGatheredChildTest, TheImageThatAProgramExecutesIsNotWritten) {  // R10
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  ChildProgram child([&] {
    LiveProgram program;
    program.ask_to_open(options.address);
    channel::Message reply;
    program.receive(reply, channel::Waiting::kYes);
    char byte = 0;
    (void)!read(go[0], &byte, 1);
    dup2(go[0], STDIN_FILENO);
    close(go[1]);
    execlp("cat", "cat", nullptr);
    return 1;
  });
  const ClientId client = open_next();
  LiveMemory memory(*programs, {.gather = true});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(memory.write(client, address(target), pattern(64, 1)));
  ASSERT_EQ(write(go[1], "g", 1), 1);
  const std::string maps = "/proc/" + std::to_string(child.pid()) + "/maps";
  for (bool executed = false; !executed; sched_yield()) {
    std::ifstream file(maps);
    for (std::string line; !executed && std::getline(file, line);) executed = line.ends_with("/cat");
  }
  programs->show();
  EXPECT_EQ(memory.counters().write_calls, 1u);
  EXPECT_EQ(memory.counters().process_writes.transfers, 0u);
  EXPECT_EQ(memory.counters().descriptor_writes.transfers, 1u) << "the first one, before";
  EXPECT_FALSE(memory.exists(client));
  for (const int end : go) close(end);
}

// A process with this number, which is free; -1: that is not permitted.
pid_t fork_as(pid_t wanted) {
  struct {  // clone3(2); the C library has no declaration of it
    std::uint64_t flags = 0, pidfd = 0, child_tid = 0, parent_tid = 0, exit_signal = SIGCHLD, stack = 0, stack_size = 0,
                  tls = 0, set_tid = 0, set_tid_size = 1, cgroup = 0;
  } arguments;
  arguments.set_tid = address(&wanted);
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

// It has memory in the same places, and the end of the program is not noticed yet.
TEST_F(LiveGatheredChildTest, AProcessThatGetsTheNumberOfAProgramIsNotWritten) {  // R10
  ChildProgram child([&] { return ask_to_open_and_pause(options.address); });
  const ClientId client = open_next();
  LiveMemory memory(*programs, {.gather = true});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(memory.write(client, address(target), pattern(64, 9)));
  const pid_t number = child.pid();
  kill(number, SIGKILL);
  child.status();
  const pid_t second = fork_as(number);  // a copy of this process, as the first one was
  if (second == 0) {
    for (;;) pause();
  }
  if (second < 0) GTEST_SKIP() << "no process may be made with a number that is wanted: " << strerror(errno);
  ASSERT_EQ(second, number);
  const channel::Descriptor look(open(("/proc/" + std::to_string(second) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(look);
  programs->show();
  Bytes found(3);
  ASSERT_EQ(pread(look.get(), found.data(), found.size(), static_cast<off_t>(address(target))), 3);
  EXPECT_EQ(found, (Bytes{0, 2, 0}));
  EXPECT_EQ(memory.counters().write_calls, 1u);
  EXPECT_EQ(memory.counters().process_writes.transfers, 0u);
  kill(second, SIGKILL);
  waitpid(second, nullptr, 0);
}

TEST(IdentityPage, IsAtAPlaceOfItsOwnAndNotAChilds) {  // verbs/identity.h R1, R2
  verbs::IdentityPage page, other;
  channel::Open open{}, second{};
  page.make(open);
  other.make(second);
  ASSERT_NE(open.identity_at, 0u);
  EXPECT_NE(open.identity_at, second.identity_at);
  EXPECT_NE(open.identity, second.identity);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(open.identity_at), open.identity.data(), open.identity.size()),
            0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto is_there = [&] { return ::write(ends[1], reinterpret_cast<const void*>(open.identity_at), 1) == 1; };
  EXPECT_TRUE(is_there());
  ChildProgram child([&] { return is_there() ? 1 : errno == EFAULT ? 0 : 2; });
  EXPECT_EQ(WEXITSTATUS(child.status()), 0);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace rxnic::live_gathered_test
