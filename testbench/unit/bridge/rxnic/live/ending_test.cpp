// SPDX-License-Identifier: Apache-2.0
// ending.h, process_tree.h and supervisor.h: how what a run has started is ended.
#include "bridge/rxnic/live/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridge/channel/doorkeeper.h"
#include "bridge/rxnic/live/child_process.h"
#include "bridge/rxnic/live/process_tree.h"
#include "bridge/rxnic/live/supervisor.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::ending_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using Clock = Ending::Clock;

class EndingTest : public testing::Test {
 protected:
  EndingTest() { adopt_orphans(); }
  ~EndingTest() override {
    kill_descendants([](pid_t, int) {});
  }

  // A shell that has done `script` when this returns, and sleeps then.
  static pid_t start(const std::string& script) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ready[1], 9);
      close(ready[1]);
      execl("/bin/sh", "sh", "-c", (script + "\necho >&9\nexec sleep 1000 9>&-").c_str(), nullptr);
      _exit(127);
    }
    close(ready[1]);
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
  }
  Ending ending(Ending::Grace grace) {
    return {grace, [this](const std::string& line) { said.push_back(line); },
            [this](pid_t pid, int status) {
              ended.push_back({pid, status});
            }};
  }
  // -1: it has not ended.
  static int status_of_one(pid_t pid, int flags = 0) {
    int status = 0;
    return waitpid(pid, &status, flags) == pid ? rxnic::status_of(status) : -1;
  }
  static bool wait_until(const std::function<bool()>& holds) {
    for (const auto end = Clock::now() + milliseconds(20'000); Clock::now() < end; usleep(1000)) {
      if (holds()) return true;
    }
    return false;
  }

  std::vector<std::string> said;
  std::vector<std::pair<pid_t, int>> ended;
};

TEST_F(EndingTest, SigtermAfterTheGraceNotBefore) {  // R1
  const pid_t child = start(":");
  Ending e = ending(milliseconds(200));
  e.advance();
  const auto begin = Clock::now();
  e.begin("it has died");
  EXPECT_THAT(said, ElementsAre("it has died; what else the run has started has 0.2 s to end (--grace)"));
  EXPECT_TRUE(wait_until([&] {
    e.advance();
    return said.size() > 1;
  }));
  EXPECT_GE(Clock::now() - begin, milliseconds(200));
  EXPECT_THAT(said.at(1),
              MatchesRegex("not ended after 0.2 s, sent SIGTERM: process " + std::to_string(child) + " .(sh|sleep).*"));
  EXPECT_EQ(status_of_one(child), 128 + SIGTERM);
  EXPECT_FALSE(e.finished());
}

TEST_F(EndingTest, WhatIgnoresSigtermIsKilledAfterTheSameTimeAgain) {  // R1
  const pid_t child = start("trap '' TERM");
  Ending e = ending(milliseconds(100));
  const auto begin = Clock::now();
  e.begin("");
  EXPECT_THAT(said, IsEmpty());
  EXPECT_TRUE(wait_until([&] {
    e.advance();
    return e.finished();
  }));
  EXPECT_GE(Clock::now() - begin, milliseconds(200));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], HasSubstr("not ended 0.1 s after SIGTERM, killed: process " + std::to_string(child)));
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended[0].first, child);
  EXPECT_EQ(status_of(ended[0].second), 128 + SIGKILL);
}

TEST_F(EndingTest, WithoutAGraceNothingIsSent) {  // R2
  const pid_t child = start(":");
  Ending e = ending(std::nullopt);
  e.begin("it has died");
  EXPECT_THAT(said, ElementsAre("it has died; what else the run has started is let be (--grace off)"));
  for (int i = 0; i < 100; ++i) e.advance();
  EXPECT_EQ(status_of_one(child, WNOHANG), -1);
  e.finish();
  EXPECT_THAT(said.back(), HasSubstr("killed: process " + std::to_string(child)));
}

TEST_F(EndingTest, TheFirstBeginCounts) {  // R3
  Ending e = ending(milliseconds(0));
  e.begin("the first");
  e.begin("the second");
  EXPECT_EQ(said.size(), 1u);
  e.advance();
  e.advance();
  EXPECT_EQ(said.size(), 1u) << "nobody is left";
  EXPECT_TRUE(e.finished());
}

// A tree whose middle has ended: the orphan is found, and so is a child that was stopped.
TEST_F(EndingTest, SignalsReachOrphansAndTheStopped) {  // process_tree.h R1
  const pid_t child = start("(sleep 1000 & sleep 1000 & kill -STOP $!; :) & wait");
  EXPECT_EQ(signal_descendants(0).size(), 3u);
  const auto killed = kill_descendants([&](pid_t pid, int status) { ended.push_back({pid, status}); });
  EXPECT_EQ(killed.names.size(), 3u);
  EXPECT_THAT(killed.not_gone, IsEmpty());
  EXPECT_THAT(ended, testing::Contains(std::pair<pid_t, int>(child, SIGKILL)));
  EXPECT_THAT(signal_descendants(0), IsEmpty());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// A program of a user's may have the doorkeeper's name, and a script, too.
TEST_F(EndingTest, DoorkeepersArePassedOverAndNobodyElseOfTheirName) {  // process_tree.h R3
  channel::Doorkeeper doorkeeper;
  EXPECT_FALSE(has_descendants());
  const TemporaryFolder folder;
  const std::string named = folder.file(channel::Doorkeeper::kName);
  std::filesystem::create_symlink("/bin/sh", named);
  const pid_t other = start("exec " + named + " -c 'echo >&9; sleep 1000; true'");
  EXPECT_TRUE(has_descendants());
  const Killed killed = kill_descendants([](pid_t, int) {});
  kill(other, SIGKILL);  // if it has been passed over
  EXPECT_THAT(killed.names, testing::Contains(HasSubstr("(rxnic-door)")));
  EXPECT_FALSE(has_descendants());
}

// What `look` finds as an ordinary user, to whom the kernel does not show all that it shows to root.
bool as_ordinary_user(const std::function<bool()>& look) {
  constexpr uid_t kNobody = 65534;
  const pid_t observer = fork();
  if (observer == 0) {
    adopt_orphans();
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    prctl(PR_SET_DUMPABLE, 1);  // as a program that has always been that user's
    _exit(look() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(observer, &status, 0), observer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
  return WEXITSTATUS(status) == 1;
}

// A child that has the doorkeeper's name and has done `then` when this returns.
void start_named(const std::function<void()>& then) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, channel::Doorkeeper::kName);
    then();
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(EndingTest, WhoDoesNotShowItsProgramIsNoDoorkeeper) {  // process_tree.h R3
  EXPECT_FALSE(as_ordinary_user([] {
    const channel::Doorkeeper doorkeeper;
    return has_descendants();
  }));
  EXPECT_TRUE(as_ordinary_user([] {
    start_named([] { prctl(PR_SET_DUMPABLE, 0); });
    return has_descendants();
  }));
}

// The kernel shows it as a process that has ended and runs no program, as it does a doorkeeper that is about to end.
TEST_F(EndingTest, AProcessWhoseFirstThreadHasEndedIsReached) {  // process_tree.h R3, R4
  for (const char* const name : {"some", channel::Doorkeeper::kName}) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_NAME, name);
      std::thread([] {
        for (;;) pause();
      }).detach();
      syscall(SYS_exit, 0);
    }
    EXPECT_TRUE(wait_until([&] {
      std::ifstream file("/proc/" + std::to_string(child) + "/stat");
      std::string line;
      return std::getline(file, line) && line.find(") Z ") != std::string::npos;
    }));
    EXPECT_TRUE(has_descendants()) << name;
    kill_descendants([&](pid_t pid, int status) { ended.push_back({pid, status}); });
    EXPECT_THAT(ended, testing::Contains(std::pair<pid_t, int>(child, SIGKILL))) << name;
    kill(child, SIGKILL);  // if it has been passed over
    ended.clear();
  }
}

// Parents get the signal first, and end at once: their children are then this process's, and get it all the same.
TEST_F(EndingTest, ChildrenOfThoseThatEndAtOnceAreReached) {  // process_tree.h R1
  for (int round = 0; round < 20; ++round) {
    (void)start("sleep 1000 &");
    EXPECT_EQ(signal_descendants(SIGTERM).size(), 2u);
    kill_descendants([](pid_t, int) {});
  }
}

TEST_F(EndingTest, AGraceIsSecondsOrOff) {
  EXPECT_EQ(parse_grace("2"), milliseconds(2000));
  EXPECT_EQ(parse_grace("0.25"), milliseconds(250));
  EXPECT_EQ(parse_grace("0"), milliseconds(0));
  EXPECT_EQ(parse_grace("off"), std::nullopt);
  for (const char* wrong : {"", "on", "-1", "2s", "nan", "inf", "1e9"}) {
    EXPECT_THROW(parse_grace(wrong), std::invalid_argument) << wrong;
  }
}

// What `simulator` does in its process, after `before` in the supervisor; the supervisor's status.
int status_supervised(
    const std::function<int()>& simulator, Ending::Grace grace = milliseconds(100),
    const std::function<void()>& before = [] {}) {
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    before();
    const auto status = supervise(grace);
    _exit(status ? *status : simulator());
  }
  int status = 0;
  waitpid(supervisor, &status, 0);
  return status_of(status);
}

TEST_F(EndingTest, ASimulatorThatEndsGivesItsStatus) {  // supervisor.h R2
  for (const int status : {0, 3, 137}) EXPECT_EQ(status_supervised([status] { return status; }), status);
}

TEST_F(EndingTest, AnInheritedSigchldThatIsIgnoredChangesNothing) {  // process_tree.h R1
  const auto ignore = [] {
    signal(SIGCHLD, SIG_IGN);
    alarm(60);  // of one that waits for ever
  };
  EXPECT_EQ(status_supervised([] { return 3; }, milliseconds(100), ignore), 3);
  const auto run_false = [] {
    SignalDescriptor signals;
    ChildProcess child({"false"}, {}, signals);
    wait_until([&] { return child.reap(), child.ended(); });
    return child.ended() ? 10 + child.status() : 99;
  };
  EXPECT_EQ(status_supervised(run_false, milliseconds(100), ignore), 11);
}

TEST_F(EndingTest, WhatAKilledSimulatorLeavesIsEnded) {  // supervisor.h R1, R2
  int open[2];
  ASSERT_EQ(pipe(open), 0);  // by all of them
  const auto begin = Clock::now();
  const int status = status_supervised([&] {
    close(open[0]);
    start("trap '' TERM; sh -c 'sleep 1000; true' &");
    return raise(SIGKILL);
  });
  EXPECT_EQ(status, 128 + SIGKILL);
  EXPECT_GE(Clock::now() - begin, milliseconds(200));
  close(open[1]);
  char byte;
  EXPECT_EQ(read(open[0], &byte, 1), 0) << "nobody is left who has it";
  close(open[0]);
}

TEST_F(EndingTest, ASupervisorThatDiesEndsTheSimulator) {  // supervisor.h R3
  int open[2];
  ASSERT_EQ(pipe(open), 0);
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    if (const auto status = supervise(milliseconds(100))) _exit(*status);
    const bool written = write(open[1], "x", 1) == 1;
    while (written) pause();
  }
  close(open[1]);
  char byte;
  EXPECT_EQ(read(open[0], &byte, 1), 1);
  kill(supervisor, SIGKILL);
  EXPECT_EQ(status_of_one(supervisor), 128 + SIGKILL);
  EXPECT_EQ(read(open[0], &byte, 1), 0) << "the simulator has ended";
  close(open[0]);
}

}  // namespace
}  // namespace rxnic::ending_test
