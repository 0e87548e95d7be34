// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/watcher.h"

#include <sys/wait.h>
#include <time.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "testbench/unit/plain/verbs_fixture.h"

namespace rxnic::verbs {
namespace {

class VerbsWatcher : public VerbsTest {
 protected:
  VerbsWatcher() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    notices.reset(ends[0]);
    simulator.reset(ends[1]);
  }

  // The status of a child whose simulator dies and that spins without a call of ours, for four times the grace; `told`:
  // it polls once before.
  int life_of_a_spinner(bool told) {
    static constexpr int kGraceMs = 100;
    const pid_t child = fork();
    if (child == 0) {
      if (watcher.start(context, std::move(notices), kGraceMs) != 0) _exit(1);
      simulator.reset();
      while (!context.dead.load()) {
      }
      if (told) tell_gone(context);
      timespec used{};
      while (used.tv_sec * 1000 + used.tv_nsec / 1'000'000 < 4 * kGraceMs) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
      }
      _exit(7);
    }
    simulator.reset();
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  channel::Descriptor notices, simulator;
  Watcher watcher;
};

TEST_F(VerbsWatcher, LinesAreShownAndTheEndIsTheSimulators) {  // R2, R3
  testing::internal::CaptureStderr();
  ASSERT_EQ(watcher.start(context, std::move(notices)), 0);
  const std::string lines = "somebody has died\nsomebody else, too\n";
  ASSERT_EQ(write(simulator.get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
  EXPECT_FALSE(context.dead.load());
  simulator.reset();
  while (!context.dead.load()) std::this_thread::yield();
  watcher.stop();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("rxnic: somebody has died\nrxnic: somebody else, too\nrxnic: the simulator"), 0u) << said;
  EXPECT_FALSE(context.told.load());
}

TEST_F(VerbsWatcher, StopDoesNotWaitForTheSimulator) {
  ASSERT_EQ(watcher.start(context, std::move(notices)), 0);
  watcher.stop();
  EXPECT_FALSE(context.dead.load());
}

TEST_F(VerbsWatcher, SignalsAreTheProgramsOwn) {  // R1
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  ASSERT_EQ(watcher.start(context, std::move(notices)), 0);
  kill(getpid(), SIGUSR1);  // ends the process when the thread takes it
  int taken = 0;
  EXPECT_EQ(sigwait(&one, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(VerbsWatcher, WhoSpinsWithoutAWordIsEnded) {  // R4
  const int status = life_of_a_spinner(false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST_F(VerbsWatcher, WhoWasToldDecidesItself) {  // R4
  const int status = life_of_a_spinner(true);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(VerbsWatcher, AWishToStayIsRespected) {  // R4
  setenv("RXNIC_ON_LOSS", "stay", 1);
  const int status = life_of_a_spinner(false);
  unsetenv("RXNIC_ON_LOSS");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace rxnic::verbs
