// SPDX-License-Identifier: Apache-2.0
// access_watch.h R5: pages of a file system that another process serves. R1 to R4: live_limits_test.cpp.
#include "bridge/live/access_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bridge/live/live_memory.h"
#include "testbench/unit/bridge/live/endless_file.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::access_watch_test {
namespace {

using testing::HasSubstr;

class AccessWatchTest : public LiveProgramsTest {};

// A third process serves the file system. The simulator is a process of its own here, in whose mount namespace
// fusectl is mounted or not. When it is not, the file system's end is what helps.
TEST_F(AccessWatchTest, AFileSystemThatSuppliesNoPageIsAbortedWhereItCanBe) {  // access_watch.h R5
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount";
  constexpr std::uint64_t kPlace = 0x2f00'0000;
  for (const auto& [mounted, queries] : {std::pair{true, true}, std::pair{true, false}, std::pair{false, true}}) {
    EndlessFile endless("file", "15");  // READ
    if (endless.path().empty()) GTEST_SKIP() << "no file system in user space";
    programs.reset();
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const channel::Descriptor hears(ends[0]);
    channel::Descriptor says(ends[1]);
    ChildProgram simulator([&, with_control = mounted, by_query = queries] {
      dup2(says.get(), STDERR_FILENO);
      if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
      umount2(AccessWatch::kConnections, MNT_DETACH);
      if (with_control && mount("none", AccessWatch::kConnections, "fusectl", 0, nullptr) != 0) return 77;
      start();
      ChildProgram child([&] {
        const channel::Descriptor file(open(endless.path().c_str(), O_RDONLY | O_CLOEXEC));
        void* const place = reinterpret_cast<void*>(kPlace);
        if (mmap(place, 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file.get(), 0) != place) return 2;
        return ask_to_open_and_pause(options.address);
      });
      const ProgramEvent event = wait_for_one();
      programs->opened(event.client, 0, {});
      LiveMemory memory(*programs, {.map_queries = by_query, .watch = {.tick_ms = 20, .most_ticks = 5}});
      std::array<std::uint8_t, 8> data{};
      std::array<bool, 2> ok{};
      const ProgramMemory::Read read{event.client, kPlace, data, &ok[0]};
      memory.read_all(by_query ? std::vector{read, read} : std::vector{read});
      std::fputs(log.c_str(), stderr);
      return ok[0] ? 3 : WTERMSIG(child.status()) != SIGKILL ? 4 : 0;
    });
    says.reset();
    std::string said;
    pollfd ready{hears.get(), POLLIN, 0};
    for (char letter = 0; ::poll(&ready, 1, 20'000) == 1 && read(hears.get(), &letter, 1) == 1;) {
      said += letter;
      if (!mounted && said.ends_with("or end its process\n")) endless.release();
    }
    endless.release();  // whatever has happened, the access ends
    const int status = simulator.status();
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "fusectl cannot be mounted";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_THAT(said, HasSubstr("killed process"));
    EXPECT_THAT(said, HasSubstr(mounted ? "aborted the file system in user space (FUSE connection "
                                        : "run `mount -t fusectl none /sys/fs/fuse/connections`, or end its process"));
  }
}

}  // namespace
}  // namespace rxnic::access_watch_test
