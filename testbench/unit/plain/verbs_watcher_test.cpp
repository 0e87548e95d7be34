// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/watcher.h"

#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "bridge/verbs/fork_guard.h"
#include "testbench/unit/plain/verbs_control_fixture.h"
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

  // The status of a child whose simulator dies and that spins without a call of ours, for four times the grace. `told`:
  // it is told before. `another`: it has another device.
  int life_of_a_spinner(bool told, bool another = false) {
    static constexpr int kGraceMs = 100;
    const pid_t child = fork();
    if (child == 0) {
      Context other;
      if (another) guard_fork(other);
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

TEST_F(VerbsWatcher, WhoSpinsWithoutAWordIsEnded) {  // R5
  const int status = life_of_a_spinner(false);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST_F(VerbsWatcher, WhoWasToldDecidesItself) {  // R5
  const int status = life_of_a_spinner(true);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(VerbsWatcher, WhoHasAnotherDeviceIsNotEnded) {  // R5
  const int status = life_of_a_spinner(false, true);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(VerbsWatcher, AWishToStayIsRespected) {  // R6
  setenv("RXNIC_ON_LOSS", "stay", 1);
  const int status = life_of_a_spinner(false);
  unsetenv("RXNIC_ON_LOSS");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

// A device of a simulator that answers kQueryPeers; its lines come from the test.
class VerbsLoss : public VerbsControlTest {
 protected:
  using Peers = channel::Peers;
  using Answers = std::vector<Peers>;
  static constexpr int kGraceMs = 20;

  VerbsLoss() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    notices_.reset(ends[0]);
    simulators_end.reset(ends[1]);
    testing::internal::CaptureStderr();
  }
  ~VerbsLoss() override {
    watcher_.stop();
    testing::internal::GetCapturedStderr();
  }

  // The simulator answers so from now on, the last one again and again, and tells of a death.
  void lose(Answers answers, bool warned = false) {
    asked = 0;
    simulator.edit_reply = [this, warned, answers = std::move(answers)](channel::Message& m) {
      if (m.type != Request::kQueryPeers) return;
      const std::size_t n = asked++;
      m.body.peers = answers[std::min(n, answers.size() - 1)];
      if (warned) ours().warned.store(true);
    };
    if (notices_) {
      EXPECT_EQ(watcher_.start(ours(), std::move(notices_), kGraceMs), 0);
    }
    announce();
  }
  void announce() {
    const std::string line = "somebody has died\n";
    ASSERT_EQ(write(simulators_end.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  std::string all_that_was_said() {
    watcher_.stop();
    const std::string said = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    return said;
  }
  bool given_up() { return ours().given_up.load(); }
  // For much longer than the grace; the watcher has asked so often before.
  bool given_up_in_the_end(std::size_t asks = 1) {
    while (asked < asks) std::this_thread::yield();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10 * kGraceMs);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return given_up();
  }
  Context& ours() { return context_of(context); }

  channel::Descriptor simulators_end;
  std::atomic<std::size_t> asked = 0;

 private:
  channel::Descriptor notices_;
  Watcher watcher_;
};

TEST_F(VerbsLoss, LinesAreShownAndTheEndIsTheSimulators) {  // R2, R3
  lose({Peers{}});
  announce();
  EXPECT_FALSE(ours().dead.load());
  simulators_end.reset();
  while (!ours().dead.load()) std::this_thread::yield();
  const std::string said = all_that_was_said();
  EXPECT_EQ(said.find("rxnic: somebody has died\nrxnic: somebody has died\nrxnic: the simulator"), 0u) << said;
  EXPECT_FALSE(ours().told.load());
}

TEST_F(VerbsLoss, WhoWaitsInVainLosesItsDevice) {  // R4
  const auto begin = std::chrono::steady_clock::now();
  lose({{.lost = 1, .living = 0, .activity = 7}});
  while (!given_up()) std::this_thread::yield();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kGraceMs));
  // The simulator sees the program's end; the program sees the simulator's.
  while (ibv_pd* extra = alloc_pd(context)) dealloc_pd(extra);
  EXPECT_EQ(errno, EIO);
  EXPECT_TRUE(ours().dead.load());
  const std::string said = all_that_was_said();
  EXPECT_EQ(asked, 2u);
  EXPECT_NE(said.find("rxnic: every program that this one exchanges messages with has ended: rxnic0 has failed"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("the simulator"), std::string::npos) << said;
}

TEST_F(VerbsLoss, AnotherDeathIsNoReasonToWaitLess) {  // R4
  lose({{.lost = 1, .living = 0, .activity = 7}});
  while (asked < 1) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  announce();
  while (!given_up()) std::this_thread::yield();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kGraceMs));
}

TEST_F(VerbsLoss, WhoHasLostNobodyKeepsIt) {  // R4
  lose({{.lost = 0, .living = 0, .activity = 7}});
  EXPECT_FALSE(given_up_in_the_end(kLooks));
  EXPECT_EQ(asked, std::size_t{kLooks});
}

TEST_F(VerbsLoss, WhoSpeaksToTheDeadLosesItsDevice) {  // R4
  lose({{}, {}, {.lost = 1, .living = 0, .activity = 7}});
  while (!given_up()) std::this_thread::yield();
  EXPECT_EQ(asked, 4u);
}

TEST_F(VerbsLoss, WhoHasAnotherPeerKeepsIt) {  // R4
  lose({{.lost = 1, .living = 1, .activity = 7}, {.lost = 1, .living = 0, .activity = 7}});
  EXPECT_FALSE(given_up_in_the_end());
  EXPECT_EQ(asked, 1u);
  lose({{.lost = 1, .living = 0, .activity = 7}});  // somebody else's death
  EXPECT_FALSE(given_up_in_the_end());
  lose({{.lost = 3, .living = 0, .activity = 7}});
  while (!given_up()) std::this_thread::yield();
}

TEST_F(VerbsLoss, WhoIsGivenAnErrorKeepsIt) {  // R4
  lose({{.lost = 1, .living = 0, .activity = 7}}, true);
  EXPECT_FALSE(given_up_in_the_end());
  EXPECT_EQ(asked, 1u);
  lose({{.lost = 2, .living = 0, .activity = 7}});  // the error was that of the last one
  while (!given_up()) std::this_thread::yield();
}

// A server frees the QP that has lost its peer, and waits for the next client.
TEST_F(VerbsLoss, WhoBeginsAnewKeepsIt) {  // R4
  lose({{.lost = 3, .living = 1, .activity = 7}});
  EXPECT_FALSE(given_up_in_the_end());
  lose({{.lost = 2, .living = 0, .activity = 7}});
  EXPECT_FALSE(given_up_in_the_end());
  EXPECT_EQ(simulator.asked(Request::kQueryPeers).back().body.peers.lost, 3u);
}

TEST_F(VerbsLoss, WhoIsAtWorkKeepsIt) {  // R4
  Answers answers;
  for (std::uint64_t n = 0; n < 4; ++n) answers.push_back({.lost = 1, .living = 0, .activity = n});
  lose(answers);
  while (!given_up()) std::this_thread::yield();
  EXPECT_EQ(asked, 5u);  // the last answer twice
}

TEST_F(VerbsLoss, AWishToStayIsRespected) {  // R6
  setenv("RXNIC_ON_LOSS", "stay", 1);
  lose({{.lost = 1, .living = 0, .activity = 7}});
  unsetenv("RXNIC_ON_LOSS");
  EXPECT_FALSE(given_up_in_the_end(0));
  EXPECT_EQ(asked, 0u);
}

}  // namespace
}  // namespace rxnic::verbs
