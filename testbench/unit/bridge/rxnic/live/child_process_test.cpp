// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/child_process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "bridge/rxnic/live/library_folder.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::child_process_test {
namespace {

// Until the child has ended.
int status_of(ChildProcess& child, SignalDescriptor& signals) {
  while (!child.ended()) {
    pollfd waits{signals.descriptor(), POLLIN, 0};
    poll(&waits, 1, -1);
    while (signals.take()) {
    }
    child.reap();
  }
  return child.status();
}

int status_of(const std::vector<std::string>& command, const ChildProcess::Environment& environment = {}) {
  SignalDescriptor signals;
  ChildProcess child(command, environment, signals);
  EXPECT_EQ(child.start_error(), 0);
  return status_of(child, signals);
}

TEST(ChildProcess, StatusIsThatOfAShell) {
  EXPECT_EQ(status_of({"sh", "-c", "exit 0"}), 0);
  EXPECT_EQ(status_of({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(status_of({"sh", "-c", "kill -TERM $$"}), 128 + SIGTERM);
  EXPECT_EQ(status_of({"sh", "-c", "kill -PIPE $$"}), 128 + SIGPIPE);  // not ignored
}

TEST(ChildProcess, WhatCannotBeStartedSaysWhy) {
  SignalDescriptor signals;
  ChildProcess absent({"/nonexistent/program"}, {}, signals);
  EXPECT_EQ(absent.start_error(), ENOENT);
  EXPECT_TRUE(absent.ended());
  ChildProcess text({"/etc/passwd"}, {}, signals);
  EXPECT_EQ(text.start_error(), EACCES);
}

TEST(ChildProcess, TheEnvironmentIsPassedOn) {
  EXPECT_EQ(status_of({"sh", "-c", "test \"$RXNIC_TEST\" = 'a b'"}, {{"RXNIC_TEST", "a b"}}), 0);
}

TEST(ChildProcess, ASignalIsPassedOnAndTheMaskIsNot) {
  std::signal(SIGINT, SIG_DFL);  // a shell that runs the tests in the background has it ignored
  SignalDescriptor signals;
  ChildProcess child({"sleep", "1000"}, {}, signals);
  child.send(SIGINT);
  EXPECT_EQ(status_of(child, signals), 128 + SIGINT);
}

TEST(ChildProcess, TheMaskThatThereWasBeforeIsThePrograms) {  // R1
  sigset_t hangup, before;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  for (const bool blocked : {true, false}) {
    ASSERT_EQ(sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &hangup, blocked ? &before : nullptr), 0);
    EXPECT_EQ(status_of({"sh", "-c", "kill -HUP $$; exit 7"}), blocked ? 7 : 128 + SIGHUP);
  }
  ASSERT_EQ(sigprocmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(ChildProcess, SignalsComeThroughTheDescriptor) {
  SignalDescriptor signals;
  EXPECT_FALSE(signals.take().has_value());
  raise(SIGTERM);
  const auto signal = signals.take();
  ASSERT_TRUE(signal.has_value());
  EXPECT_EQ(signal->number, SIGTERM);
  EXPECT_FALSE(signal->from_terminal);
}

TEST(ChildProcess, ASignalThatEndedItIsKnown) {
  SignalDescriptor signals;
  ChildProcess killed({"sh", "-c", "kill -KILL $$"}, {}, signals);
  status_of(killed, signals);
  EXPECT_EQ(killed.signal(), SIGKILL);
  ChildProcess left({"sh", "-c", "exit 137"}, {}, signals);
  EXPECT_EQ(status_of(left, signals), 128 + SIGKILL);
  EXPECT_EQ(left.signal(), 0);
}

// What the child leaves behind dies with it.
TEST(ChildProcess, KillAllReachesGrandchildren) {
  const TemporaryFolder folder;
  const std::string file = folder.file("pid");
  SignalDescriptor signals;
  ChildProcess child({"sh", "-c", "sleep 1000 & echo $! > \"$0\"", file}, {}, signals);
  EXPECT_EQ(status_of(child, signals), 0);
  pid_t grandchild = 0;
  std::ifstream(file) >> grandchild;
  ASSERT_GT(grandchild, 0);
  EXPECT_EQ(kill(grandchild, 0), 0);
  child.kill_all();
  EXPECT_EQ(kill(grandchild, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(LibraryFolder, TheVariableWinsAndAnAbsentLibraryIsNamed) {
  const TemporaryFolder folder;
  setenv("RXNIC_LIBRARY_DIR", folder.file(".").c_str(), 1);
  try {
    library_folder();
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("libibverbs.so.1: found nothing"), std::string::npos) << e.what();
  }
  std::ofstream(folder.file("libibverbs.so.1")) << "";
  EXPECT_TRUE(std::filesystem::equivalent(library_folder(), folder.file(".")));
  setenv("RXNIC_LIBRARY_DIR", "", 1);  // as if it were not set
  try {
    std::ignore = library_folder();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("bridge/verbs/libibverbs.so.1: found nothing"), std::string::npos) << e.what();
  }
  unsetenv("RXNIC_LIBRARY_DIR");
  setenv("LD_LIBRARY_PATH", "/a:/b", 1);
  EXPECT_EQ(library_path("/c"), "/c:/a:/b");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(library_path("/c"), "/c");
}

}  // namespace
}  // namespace rxnic::child_process_test
