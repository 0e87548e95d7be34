// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/live_memory.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bridge/live/live_programs.h"
#include "model/types/completion.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_memory_test {
namespace {

constexpr std::uint64_t kPage = 4096;

// Pages of the program: readable and writable, then read-only, then without any right, then not mapped, then writable.
// They are not unmapped at the end: those that are free by then may have become another's, a sanitizer's for example.
struct Pages {
  static constexpr std::uint64_t kCount = 6;
  Pages() : base(static_cast<std::uint8_t*>(map(kCount * kPage))) {
    std::memset(base, 0x11, kCount * kPage);
    mprotect(at(2), kPage, PROT_READ);
    mprotect(at(3), kPage, PROT_NONE);
    munmap(at(4), kPage);
  }
  // Where the kernel puts no mapping that names no place: the page that is unmapped stays so. (Below 2 GiB a program
  // has memory under every sanitizer.)
  static void* map(std::uint64_t bytes) {
    static std::uint64_t next = 0x3000'0000;
    void* const place = reinterpret_cast<void*>(next);
    next += bytes + kPage;
    return mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  std::uint8_t* at(std::uint64_t page, std::uint64_t offset = 0) const { return base + page * kPage + offset; }
  std::uint8_t* base;
};

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint8_t first = 1) {
  std::vector<std::uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), first);
  return data;
}

class LiveMemoryTest : public LiveProgramsTest {
 protected:
  LiveMemoryTest() : client(open_program(program)) {}
  LiveProgram program;
  ClientId client;
};

TEST_F(LiveMemoryTest, TheMappingIsReadAndWritten) {  // R1
  LiveMemory memory(*programs);
  for (const std::uint64_t offset : {channel::kHeapOffset, channel::kHeapOffset + 61, LiveProgram::kBytes - 300}) {
    for (const std::size_t bytes : {1u, 2u, 3u, 63u, 64u, 65u, 128u, 300u}) {
      const auto data = pattern(bytes, static_cast<std::uint8_t>(bytes + offset));
      ASSERT_TRUE(memory.write(client, ProgramMemory::kShared | offset, data));
      EXPECT_EQ(std::memcmp(static_cast<std::uint8_t*>(program.mapping) + offset, data.data(), bytes), 0);
      std::vector<std::uint8_t> read(bytes);
      ASSERT_TRUE(memory.read(client, ProgramMemory::kShared | offset, read));
      EXPECT_EQ(read, data);
    }
  }
  EXPECT_EQ(memory.counters().shared_writes.transfers, 24u);
  EXPECT_EQ(memory.counters().descriptor_writes.transfers, 0u);
}

TEST_F(LiveMemoryTest, NotOneByteBehindTheMappingIsTouched) {  // R1
  LiveMemory memory(*programs);
  auto data = pattern(64);
  for (const std::uint64_t offset :
       {LiveProgram::kBytes - 63, LiveProgram::kBytes, LiveProgram::kBytes + 4096, (std::uint64_t{1} << 47) - 1}) {
    EXPECT_FALSE(memory.write(client, ProgramMemory::kShared | offset, data));
    EXPECT_FALSE(memory.read(client, ProgramMemory::kShared | offset, data));
  }
  EXPECT_FALSE(memory.read(client, ~std::uint64_t{0} - 10, data));
  EXPECT_TRUE(memory.write(client, ProgramMemory::kShared | (LiveProgram::kBytes - 64), data));
  EXPECT_EQ(memory.counters().failures, 9u);
}

// The simulator's view of one page cannot be written. The first attempt checks the page behind it and
// makes the page writable.
struct Trap {
  static void spring(int) {
    whole = std::all_of(behind, behind + kPage, [](std::uint8_t byte) { return byte == 7; });
    mprotect(page, kPage, PROT_READ | PROT_WRITE);
  }
  static inline std::uint8_t* page = nullptr;
  static inline const std::uint8_t* behind = nullptr;  // in the program's view
  static inline bool whole = false;
};

// completion.h R2 and R4: a program that sees the owner byte of the first slot sees the slots behind it.
TEST_F(LiveMemoryTest, SlotsAreWrittenFromTheLastToTheFirst) {  // R1
  LiveMemory memory(*programs);
  constexpr std::uint64_t kPages = channel::kHeapOffset / kPage;
  Trap::page = static_cast<std::uint8_t*>(programs->find(client)->mapping().base()) + kPages * kPage;
  Trap::behind = program.heap() + kPage;
  struct sigaction trap = {}, old = {};
  trap.sa_handler = Trap::spring;
  ASSERT_EQ(sigaction(SIGSEGV, &trap, &old), 0);
  ASSERT_EQ(mprotect(Trap::page, kPage, PROT_READ), 0);
  const std::vector<std::uint8_t> slots(2 * kPage, 7);
  EXPECT_TRUE(memory.write(client, ProgramMemory::kShared | channel::kHeapOffset, slots));
  sigaction(SIGSEGV, &old, nullptr);
  EXPECT_TRUE(Trap::whole);
}

// completion.h R2: a program that sees the owner byte of a slot sees the whole slot.
TEST_F(LiveMemoryTest, TheOwnerByteIsWrittenLast) {  // R1
  LiveMemory memory(*programs);
  constexpr std::uint32_t kRounds = 5000;
  const auto value_of = [](std::uint32_t round) { return static_cast<std::uint8_t>(round % 255 + 1); };
  std::atomic<std::uint32_t> seen{0};
  std::uint32_t torn = 0;
  std::thread poller([&] {
    std::atomic_ref<std::uint8_t> owner(program.heap()[63]);
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      for (int polls = 0; owner.load(std::memory_order_acquire) != value_of(i);) {
        if (++polls % 256 == 0) sched_yield();
      }
      for (std::uint64_t k = 0; k < 64; ++k) torn += program.heap()[k] != value_of(i) ? 1u : 0u;
      seen = i;
    }
  });
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    const std::vector<std::uint8_t> slot(64, value_of(i));
    memory.write(client, ProgramMemory::kShared | channel::kHeapOffset, slot);
    while (seen != i) sched_yield();
  }
  poller.join();
  EXPECT_EQ(torn, 0u);
}

TEST_F(LiveMemoryTest, OfAClientThatIsGoneTheMappingLastsUntilItIsReleased) {  // R4
  LiveMemory memory(*programs);
  std::vector<std::uint8_t> data(64, 0x5a), read(64);
  const std::uint64_t ring = ProgramMemory::kShared | channel::kHeapOffset;
  EXPECT_FALSE(memory.read(ClientId{9}, ring, read));
  program.socket.reset();
  EXPECT_EQ(take_one().kind, ProgramEvent::Kind::kClose);
  EXPECT_TRUE(memory.write(client, ring, data));
  EXPECT_TRUE(memory.read(client, ring, read));
  EXPECT_EQ(read, data);
  EXPECT_FALSE(memory.exists(client));
  EXPECT_FALSE(memory.write(client, address(data.data()), data));
  programs->released(client);
  EXPECT_FALSE(memory.read(client, ring, read));
}

// All ways to access a process have to give the same results.
struct Ways {
  bool process_vm, map_queries;
};
constexpr Ways kWays[] = {{true, true}, {false, true}, {true, false}, {false, false}};
class LiveProcessMemoryTest : public LiveMemoryTest, public testing::WithParamInterface<Ways> {
 protected:
  LiveMemory memory{*programs, {.process_vm = GetParam().process_vm, .map_queries = GetParam().map_queries}};
  Pages pages;
};
INSTANTIATE_TEST_SUITE_P(Way, LiveProcessMemoryTest, testing::ValuesIn(kWays), [](const auto& way) {
  return std::string(way.param.process_vm ? "ProcessVm" : "Descriptor") + (way.param.map_queries ? "" : "OldKernel");
});

TEST_P(LiveProcessMemoryTest, MovesAnyNumberOfBytes) {
  for (const std::size_t bytes : {1u, 64u, 4096u, 5000u, 8192u}) {
    const auto data = pattern(bytes, static_cast<std::uint8_t>(bytes));
    ASSERT_TRUE(memory.write(client, address(pages.at(0)), data));
    EXPECT_EQ(std::memcmp(pages.base, data.data(), bytes), 0);
    std::vector<std::uint8_t> read(bytes);
    ASSERT_TRUE(memory.read(client, address(pages.at(0)), read));
    EXPECT_EQ(read, data);
  }
  EXPECT_TRUE(memory.read(client, 0, {})) << "no bytes can be read at any address";
  const LiveMemoryCounters& c = memory.counters();
  EXPECT_EQ(c.descriptor_writes.transfers, 5u);
  const bool alone = GetParam().process_vm && !GetParam().map_queries;  // R7
  EXPECT_EQ((alone ? c.process_reads : c.descriptor_reads).bytes, 1u + 64 + 4096 + 5000 + 8192);
  EXPECT_EQ(c.together, 0u);
}

TEST_P(LiveProcessMemoryTest, AReadOnlyPageIsReadButNotWritten) {  // R2
  auto data = pattern(64);
  EXPECT_FALSE(memory.write(client, address(pages.at(2, 100)), data));
  EXPECT_EQ(*pages.at(2, 100), 0x11);
  EXPECT_TRUE(memory.read(client, address(pages.at(2, 100)), data));
  EXPECT_EQ(data, std::vector<std::uint8_t>(64, 0x11));
}

TEST_P(LiveProcessMemoryTest, APageWithoutRightsOrWithoutMappingIsNeither) {
  auto data = pattern(64);
  for (const std::uint64_t page : {3u, 4u}) {
    EXPECT_FALSE(memory.write(client, address(pages.at(page)), data));
    EXPECT_FALSE(memory.read(client, address(pages.at(page)), data));
  }
  EXPECT_FALSE(memory.read(client, 0, data));
  EXPECT_FALSE(memory.read(client, (std::uint64_t{1} << 47) - 64, data)) << "the last page of user space";
  EXPECT_EQ(memory.counters().failures, 6u);
}

TEST_P(LiveProcessMemoryTest, AcrossABoundaryEveryPageCounts) {  // R3
  const auto data = pattern(64);
  EXPECT_TRUE(memory.write(client, address(pages.at(1, kPage)) - kPage - 32, data)) << "two writable pages";
  EXPECT_FALSE(memory.write(client, address(pages.at(2)) - 32, data));
  EXPECT_EQ(*pages.at(2), 0x11) << "the read-only page is unchanged";
  EXPECT_FALSE(memory.write(client, address(pages.at(5)) - 32, data));
  EXPECT_EQ(*pages.at(5), 0x11) << "nothing is written behind a page that is not mapped";
  std::vector<std::uint8_t> read(64);
  EXPECT_TRUE(memory.read(client, address(pages.at(2)) - 32, read));
  EXPECT_FALSE(memory.read(client, address(pages.at(3)) - 32, read));
  EXPECT_TRUE(memory.write(client, address(pages.at(2)) - 64, data)) << "up to the last byte before it";
}

TEST_P(LiveProcessMemoryTest, RightsThatChangeAreSeen) {  // R2: nothing is remembered
  const auto data = pattern(64);
  EXPECT_TRUE(memory.write(client, address(pages.at(0)), data));
  mprotect(pages.at(0), kPage, PROT_READ);
  EXPECT_FALSE(memory.write(client, address(pages.at(0)), data));
  mprotect(pages.at(0), kPage, PROT_READ | PROT_WRITE);
  EXPECT_TRUE(memory.write(client, address(pages.at(0)), data));
  munmap(pages.at(1), kPage);
  EXPECT_FALSE(memory.write(client, address(pages.at(1)), data));
}

TEST_P(LiveProcessMemoryTest, EachOfSeveralReadsIsByItself) {  // R6
  LiveProgram other;
  const ClientId second = open_program(other);
  const auto data = pattern(64);
  std::memcpy(pages.at(0), data.data(), data.size());
  std::memcpy(other.heap(), data.data(), data.size());
  const std::uint64_t good = address(pages.at(0)), bad = address(pages.at(3));
  constexpr std::uint64_t kHeap = ProgramMemory::kShared | channel::kHeapOffset;
  const std::pair<ClientId, std::uint64_t> wanted[] = {
      {client, good},  {client, good + 1}, {client, bad},      {client, good},       {client, good}, {second, good},
      {second, kHeap}, {second, bad},      {client, bad - 32}, {ClientId{99}, good}, {client, good}};
  constexpr std::size_t kReads = std::size(wanted);
  std::vector<std::vector<std::uint8_t>> read(kReads, std::vector<std::uint8_t>(63));
  std::array<bool, kReads> ok{};
  std::vector<ProgramMemory::Read> reads;
  for (std::size_t n = 0; n < kReads; ++n) reads.push_back({wanted[n].first, wanted[n].second, read[n], &ok[n]});
  memory.read_all(reads);
  for (std::size_t n = 0; n < kReads; ++n) {
    const bool fails = wanted[n].second == bad || wanted[n].second == bad - 32 || wanted[n].first == ClientId{99};
    EXPECT_EQ(ok[n], !fails) << n;
    const auto shifted = n == 1 ? 1 : 0;
    if (!fails) {
      EXPECT_TRUE(std::equal(read[n].begin(), read[n].end(), data.begin() + shifted)) << n;
    }
  }
  EXPECT_EQ(memory.counters().together, GetParam().process_vm ? 4u : 0u) << "the first two, and two behind the failure";
  EXPECT_EQ(memory.counters().failures, 4u);
}

TEST_P(LiveProcessMemoryTest, MoreReadsThanOneCallTakesAreAllCarriedOut) {  // R6
  constexpr std::size_t kReads = 2 * LiveMemory::kMostAtOnce + 1;
  std::vector<std::uint8_t> read(kReads);
  std::array<bool, kReads> ok{};
  std::vector<ProgramMemory::Read> reads;
  for (std::size_t n = 0; n < kReads; ++n) {
    *pages.at(0, n) = static_cast<std::uint8_t>(n);
    reads.push_back({client, address(pages.at(0, n)), std::span(read).subspan(n, 1), &ok[n]});
  }
  memory.read_all(reads);
  EXPECT_TRUE(std::all_of(ok.begin(), ok.end(), [](bool good) { return good; }));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), pages.at(0)));
  EXPECT_EQ(memory.counters().together, GetParam().process_vm ? 2 * LiveMemory::kMostAtOnce : 0u);
}

TEST_P(LiveProcessMemoryTest, NoByteOutsideIsTouched) {
  std::mt19937_64 random(random_seed());
  std::vector<std::uint8_t> expected(2 * kPage, 0x11);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t begin = random() % (2 * kPage), bytes = 1 + random() % (2 * kPage - begin);
    const auto data = pattern(bytes, static_cast<std::uint8_t>(random()));
    std::copy(data.begin(), data.end(), expected.begin() + static_cast<std::ptrdiff_t>(begin));
    ASSERT_TRUE(memory.write(client, address(pages.base) + begin, data));
    ASSERT_EQ(std::memcmp(pages.base, expected.data(), expected.size()), 0);
  }
}

// With thousands of ranges /proc/PID/maps is read in pieces, and lines are cut anywhere.
TEST_P(LiveProcessMemoryTest, APageAmongThousandsOfRangesIsFound) {
  constexpr std::uint64_t kRanges = 3000;
  auto* many = static_cast<std::uint8_t*>(Pages::map(kRanges * kPage));
  for (std::uint64_t i = 0; i < kRanges; i += 2) mprotect(many + i * kPage, kPage, PROT_READ);
  const auto data = pattern(16);
  for (std::uint64_t i = 0; i < kRanges; i += 7) {
    EXPECT_EQ(memory.write(client, address(many + i * kPage), data), i % 2 == 1) << i;
  }
  munmap(many, kRanges * kPage);
}

TEST_F(LiveProgramsTest, WithoutEitherWayNothingIsMoved) {  // live_memory.h R2
  LiveProgram program;
  program.make();
  program.own_memory.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  program.connect(options.address);
  program.send_open();
  const ClientId client = take_one().client;
  programs->opened(client, 0, {});
  LiveMemory memory(*programs, {.process_vm = false});
  auto data = pattern(64);
  EXPECT_FALSE(memory.read(client, address(data.data()), data));
  EXPECT_FALSE(memory.write(client, address(data.data()), data));
}

// Killed, and its death not noticed yet.
TEST_F(LiveProgramsTest, OfAProgramThatIsDeadNothingIsReadAndItDoesNotExist) {  // live_memory.h R4
  static std::uint8_t target[64] = {1, 2, 3};
  for (const Ways& way : kWays) {
    start();
    ChildProgram child([&] { return ask_to_open_and_pause(options.address); });
    const ClientId client = open_next();
    LiveMemory memory(*programs, {.process_vm = way.process_vm, .map_queries = way.map_queries});
    std::uint8_t data[64] = {};
    EXPECT_TRUE(memory.read(client, address(target), data));
    EXPECT_EQ(data[2], 3);
    EXPECT_TRUE(memory.exists(client));
    kill(child.pid(), SIGKILL);
    child.status();
    EXPECT_FALSE(memory.read(client, address(target), data));
    EXPECT_FALSE(memory.exists(client));
    EXPECT_FALSE(memory.write(client, address(target), data));
    EXPECT_FALSE(memory.exists(client));
  }
}

// By all ways; nothing of what is there comes to `memory`'s caller, and the process is not written to.
void expect_not_touched(LiveMemory& memory, ClientId client, std::uint64_t at, pid_t process) {
  const channel::Descriptor look(open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(look);
  std::array<std::uint8_t, 64> mark{}, found{};
  mark.fill(0xa5);
  ASSERT_EQ(pwrite(look.get(), mark.data(), mark.size(), static_cast<off_t>(at)), 64);
  const auto data = pattern(64);
  std::vector<std::uint8_t> read(64), again(64);
  EXPECT_FALSE(memory.write(client, at, data));
  EXPECT_FALSE(memory.read(client, at, read));
  std::array<bool, 2> ok{};
  const ProgramMemory::Read reads[] = {{client, at, read, &ok[0]}, {client, at, again, &ok[1]}};
  memory.read_all(reads);
  EXPECT_FALSE(ok[0] || ok[1]);
  EXPECT_TRUE(std::none_of(read.begin(), read.end(), [](std::uint8_t byte) { return byte == 0xa5; }));
  EXPECT_TRUE(std::none_of(again.begin(), again.end(), [](std::uint8_t byte) { return byte == 0xa5; }));
  ASSERT_EQ(pread(look.get(), found.data(), found.size(), static_cast<off_t>(at)), 64);
  EXPECT_EQ(found, mark);
  EXPECT_FALSE(memory.exists(client));
}

// The lowest page of the stack of a process that executes this program, which works far above that page. The result is
// 0 while the process does not execute it.
std::uint64_t stack_of(pid_t process, const char* program) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::uint64_t stack = 0;
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    is_it = is_it || line.ends_with(program);
    if (line.ends_with("[stack]")) stack = std::stoull(line, nullptr, 16);
  }
  return is_it ? stack : 0;
}

TEST_F(LiveProgramsTest, TheImageThatAProgramExecutesIsNotTouched) {  // live_memory.h R2, R6
  for (const Ways& way : kWays) {
    start();
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    ChildProgram child([&] {
      LiveProgram program;
      program.ask_to_open(options.address);
      channel::Message reply;
      program.receive(reply, channel::Waiting::kYes);
      dup2(go[0], STDIN_FILENO);
      close(go[1]);
      execlp("cat", "cat", nullptr);
      return 1;
    });
    const ClientId client = wait_for_one().client;
    LiveMemory memory(*programs, {.process_vm = way.process_vm, .map_queries = way.map_queries});
    programs->opened(client, 0, {});
    std::uint64_t at = 0;
    while ((at = stack_of(child.pid(), "/cat")) == 0) sched_yield();
    expect_not_touched(memory, client, at, child.pid());
    close(go[0]);
    close(go[1]);
  }
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

// The end of the program is not noticed yet.
TEST_F(LiveProgramsTest, AProcessThatGetsTheNumberOfAProgramIsNotTouched) {  // live_memory.h R2, R6
  static std::uint8_t target[64] = {1, 2, 3};
  for (const Ways& way : kWays) {
    start();
    LiveProgram first;
    first.make();
    ChildProgram child([&] {
      first.connect(options.address);
      first.own_memory.reset(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
      first.send_open();
      return pause();
    });
    const ClientId client = open_next();
    LiveMemory memory(*programs, {.process_vm = way.process_vm, .map_queries = way.map_queries});
    std::vector<std::uint8_t> data(64);
    ASSERT_TRUE(memory.read(client, address(target), data));
    const pid_t number = child.pid();
    kill(number, SIGKILL);
    child.status();
    const pid_t second = fork_as(number);  // a copy of this process, as the first one was
    if (second == 0) {
      for (;;) pause();
    }
    if (second < 0) GTEST_SKIP() << "no process may be made with a number that is wanted: " << strerror(errno);
    ASSERT_EQ(second, number);
    expect_not_touched(memory, client, address(target), second);
    kill(second, SIGKILL);
    waitpid(second, nullptr, 0);
  }
}

// Another process, of an ordinary user, that cannot be traced: process_vm_* and /proc/PID/maps are refused.
TEST_F(LiveProgramsTest, AProgramThatCannotBeTracedIsReadByItsDescriptorAndNotWritten) {  // live_memory.h R2
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  programs.reset();
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    start();
    static std::uint8_t target[64] = {1, 2, 3};
    const pid_t tested = fork();
    if (tested == 0) {
      prctl(PR_SET_DUMPABLE, 1);  // as of a program that was executed
      LiveProgram program;
      program.make();
      prctl(PR_SET_DUMPABLE, 0);
      program.connect(options.address);
      program.send_open();
      channel::Message reply;
      program.receive(reply, channel::Waiting::kYes);
      program.receive(reply, channel::Waiting::kYes);  // the end of the simulator
      _exit(0);
    }
    const ProgramEvent event = wait_for_one();
    programs->opened(event.client, 0, {});
    LiveMemory memory(*programs);
    std::uint8_t data[64] = {};
    const bool read = memory.read(event.client, address(target), data) && data[2] == 3;
    const bool written = memory.write(event.client, address(target), data);
    const bool by_descriptor = memory.counters().descriptor_reads.transfers == 1;
    programs.reset();
    int status = -1;
    waitpid(tested, &status, 0);
    _exit(status != 0 ? 3 : !read ? 4 : written ? 5 : !by_descriptor ? 6 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rxnic::live_memory_test
