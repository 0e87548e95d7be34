// SPDX-License-Identifier: Apache-2.0
// Whose memory a program has: live_client.h R5, live_memory.h R2.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "bridge/live/live_memory.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_identity_test {
namespace {

class LiveIdentityTest : public LiveProgramsTest {};

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint8_t first = 1) {
  std::vector<std::uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), first);
  return data;
}

// In a mount namespace of its own. Where the test runs in a chroot, /proc is a mount point and / need not be.
bool mount_own_proc() {
  return mount(nullptr, "/proc", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", 0, nullptr) == 0;
}

// Root of a container often may not, and any other user.
bool may_make(int namespaces) {
  ChildProgram probe([namespaces] { return unshare(namespaces | CLONE_NEWNS) == 0 && mount_own_proc() ? 0 : 1; });
  return probe.status() == 0;
}

// The simulator would kill who has connected, and the access would go to the other one.
TEST_F(LiveIdentityTest, TheMemoryOfAnotherProcessIsNotTaken) {  // live_memory.h R2, live_client.h R5
  static std::uint8_t target[64] = {1, 2, 3};
  programs.reset();  // a child would hold its socket
  const ChildProgram other([] { return pause(); });
  const std::string path = "/proc/" + std::to_string(other.pid()) + "/mem";
  const channel::Descriptor look(open(path.c_str(), O_RDWR | O_CLOEXEC));
  for (const bool proven : {true, false}) {
    start();
    LiveProgram program;
    program.make();
    program.own_memory.reset(open(path.c_str(), O_RDWR | O_CLOEXEC));
    program.connect(options.address);
    if (proven) {
      program.send_open();
    } else {
      channel::Message message = message_of(channel::Request::kOpen);
      message.body.open = {};
      program.send(message, {program.memory_file.get(), program.wake.get(), program.events_write.get(),
                             program.own_memory.get()});
    }
    const ClientId client = take_one().client;
    programs->opened(client, 0, {});
    LiveMemory memory(*programs, {.process_vm = false});
    std::uint8_t found[64] = {};
    EXPECT_EQ(memory.write(client, address(target), pattern(64, 0x77)), proven) << "to its own memory, or nowhere";
    ASSERT_EQ(pread(look.get(), found, 64, static_cast<off_t>(address(target))), 64);
    EXPECT_EQ(found[2], 3);
    EXPECT_EQ(memory.read(client, address(target), found), proven);
  }
}

// As in a container: its /proc is not the simulator's.
TEST_F(LiveIdentityTest, OfAProgramWithAProcOfItsOwnTheMemoryIsReached) {  // live_client.h R5
  if (!may_make(CLONE_NEWNS)) GTEST_SKIP() << "no mount namespace can be made";
  static std::uint8_t target[64] = {1, 2, 3};
  ChildProgram child([&] {
    if (unshare(CLONE_NEWNS) != 0 || !mount_own_proc()) return 2;
    return ask_to_open_and_pause(options.address);
  });
  const ClientId client = open_next();
  LiveMemory memory(*programs, {.process_vm = false});
  std::uint8_t found[64] = {};
  EXPECT_TRUE(memory.read(client, address(target), found));
  EXPECT_EQ(found[2], 3);
  EXPECT_TRUE(memory.write(client, address(target), pattern(64)));
}

// In the program's own /proc another process may have the number that the program has in the simulator's.
TEST_F(LiveIdentityTest, OfAProgramWhoseNumberAnotherHasElsewhereItsOwnMemoryIsReached) {  // live_client.h R5
  if (!may_make(CLONE_NEWPID)) GTEST_SKIP() << "no PID namespace can be made";
  static std::uint8_t target[64] = {1, 2, 9};
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const channel::Descriptor ours(ends[0]);
  channel::Descriptor theirs(ends[1]);
  ChildProgram child([&] {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return 2;
    ChildProgram first([&] {
      char number[16] = {};  // of this process, where the simulator is
      if (readlink("/proc/self", number, sizeof number - 1) <= 0 || !mount_own_proc()) return 2;
      std::ofstream("/proc/sys/kernel/ns_last_pid") << std::stoi(number) - 1;
      const ChildProgram other([] { return pause(); });
      if (other.pid() != std::stoi(number)) return 3;
      target[2] = 3;
      LiveProgram program;
      program.make();
      program.own_memory.reset(open(("/proc/" + std::string(number) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
      program.connect(options.address);
      program.send_open();
      char byte = 0;
      (void)!write(theirs.get(), &byte, 1);
      return read(theirs.get(), &byte, 1) == 1 && target[2] == 77 ? 0 : 4;
    });
    theirs.reset();
    return WEXITSTATUS(first.status());
  });
  theirs.reset();
  char byte = 0;
  ASSERT_EQ(read(ours.get(), &byte, 1), 1) << "status " << WEXITSTATUS(child.status());
  const ClientId client = wait_for_one().client;
  programs->opened(client, 0, {});
  LiveMemory memory(*programs, {.process_vm = false});
  std::uint8_t found[64] = {};
  EXPECT_TRUE(memory.read(client, address(target), found));
  EXPECT_EQ(found[2], 3);
  found[2] = 77;
  EXPECT_TRUE(memory.write(client, address(target), found));
  ASSERT_EQ(write(ours.get(), &byte, 1), 1);
  EXPECT_EQ(WEXITSTATUS(child.status()), 0);
}

// The simulator is in a PID namespace in which its program has no number.
TEST_F(LiveIdentityTest, OfAProgramOfAnotherPidNamespaceOnlyTheMappingIsAccessed) {  // live_client.h R5
  if (!may_make(CLONE_NEWPID)) GTEST_SKIP() << "no PID namespace can be made";
  programs.reset();
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  ChildProgram namespace_of_simulator([&] {
    if (unshare(CLONE_NEWPID) != 0) return 2;
    ChildProgram simulator([&] {
      start();
      (void)!write(ready[1], "r", 1);
      const ProgramEvent event = wait_for_one();
      programs->opened(event.client, 0, {});
      LiveMemory memory(*programs);
      std::uint8_t found[64] = {};
      const std::uint64_t mapped = ProgramMemory::kShared | channel::kHeapOffset;
      const bool reached =
          memory.read(event.client, address(found), found) || memory.write(event.client, address(found), pattern(64));
      return event.pid != 0 ? 3 : reached ? 4 : !memory.read(event.client, mapped, found) ? 5 : 0;
    });
    return WEXITSTATUS(simulator.status());
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  LiveProgram program;
  program.ask_to_open(options.address);
  EXPECT_EQ(WEXITSTATUS(namespace_of_simulator.status()), 0);
  for (const int end : ready) close(end);
}

}  // namespace
}  // namespace rxnic::live_identity_test
