// SPDX-License-Identifier: Apache-2.0
// Waiting in bridge/verbs: rules R1, R2 and R4 of wait.h. A wait is a voluntary context switch of the thread; however
// busy the machine is, a thread that does not wait has none.
#include "bridge/verbs/wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace {
thread_local std::uint64_t yields = 0;
}

// In place of the C library's, also for bridge/verbs.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace rxnic::verbs::verbs_wait_test {
namespace {

class VerbsWait : public VerbsTest {
 protected:
  static long waits() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  }
  static std::uint64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
  }

  Cq& cq = make_cq(8);
};

TEST_F(VerbsWait, IdlePollingGivesItsCpuAway) {
  const long before = waits();
  int polls = 0;
  while (waits() - before < 20 && ++polls < 1'000'000) poll(cq, 1);
  EXPECT_LT(polls, 1'000'000);
  EXPECT_EQ(header().waiting.load(), 1u) << "only the waking side clears it: another thread may wait";
}

TEST_F(VerbsWait, ACompletionSinceTheLookIsNotWaitedFor) {
  const std::uint32_t seen = completions_seen(context);
  header().completions.fetch_add(1);
  const long before = waits();
  for (std::uint32_t i = 0; i < 1000 * kEmptyPolls; ++i) found_nothing(context, seen);
  EXPECT_LT(waits() - before, 20);
}

TEST_F(VerbsWait, ProgressStartsTheCountAgain) {
  const std::uint32_t seen = completions_seen(context);
  const long before = waits();
  for (int i = 0; i < 1000; ++i) {
    for (std::uint32_t k = 0; k + 1 < kEmptyPolls; ++k) found_nothing(context, seen);
    made_progress();
  }
  EXPECT_LT(waits() - before, 20);
}

TEST_F(VerbsWait, ThreadsThatDoOtherWorkAreNotHeldUp) {
  const std::uint32_t seen = completions_seen(context);
  const long before = waits();
  for (std::uint32_t i = 0; i < 100 * kEmptyPolls; ++i) {
    for (const std::uint64_t work = now_ns(); now_ns() - work < 2 * kPollNs;) {
    }
    found_nothing(context, seen);
  }
  EXPECT_LT(waits() - before, 20);
}

TEST_F(VerbsWait, ThreadsThatDoOtherWorkLeaveTheSimulatorItsShare) {  // R1
  const std::uint32_t seen = completions_seen(context);
  constexpr std::uint32_t kTimes = 20;
  const std::uint64_t before = yields;
  for (std::uint32_t i = 0; i < kTimes * kEmptyPolls; ++i) {
    for (const std::uint64_t work = now_ns(); now_ns() - work < 2 * kPollNs;) {
    }
    found_nothing(context, seen);
  }
  EXPECT_EQ(yields - before, kTimes);
  for (std::uint32_t i = 0; i < kTimes; ++i) {
    for (std::uint32_t k = 0; k + 1 < kEmptyPolls; ++k) found_nothing(context, seen);
    made_progress();
  }
  EXPECT_EQ(yields - before, kTimes) << "who finds completions keeps its CPU";
}

// Without it each wait would come with the poll that is kEmptyPolls-th.
TEST_F(VerbsWait, BeforeItWaitsAThreadYields) {  // R4
  const std::uint32_t seen = completions_seen(context);
  std::uint32_t most = 0;
  for (int trial = 0; trial < 1000 && most <= kEmptyPolls; ++trial) {
    made_progress();
    std::uint32_t polls = 0;
    for (const long before = waits(); waits() == before && polls < 100 * kEmptyPolls; ++polls) {
      found_nothing(context, seen);
    }
    most = std::max(most, polls);
  }
  EXPECT_GT(most, kEmptyPolls);
}

// A yield to a thread that needs this CPU lasts for its slice: without the rule this one would begin anew behind it.
TEST_F(VerbsWait, AThreadThatOthersWantTheCpuOfWaitsAtOnce) {  // R4
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> stop{false};
  std::thread other([&] {  // inherits the CPU
    while (!stop.load()) {
    }
  });
  const std::uint32_t seen = completions_seen(context);
  const long waited = waits();
  int polls = 0;
  while (waits() - waited < 5 && ++polls < 100'000) found_nothing(context, seen);
  stop = true;
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_LT(polls, 100'000);
}

TEST_F(VerbsWait, TheNextCompletionWakes) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  send(qp, 1);
  std::atomic<bool> stop{false};
  std::thread simulator([&] {
    while (header().waiting.load() == 0 && !stop.load()) std::this_thread::yield();
    write_cqe(cq, send_cqe(qp, 0));
    header().waiting.store(0);
    syscall(SYS_futex, &header().waiting, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
  });
  int polls = 0;
  while (poll(cq, 1).empty() && ++polls < 1'000'000) {
  }
  stop = true;
  simulator.join();
  EXPECT_LT(polls, 1'000'000);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_wait_test
