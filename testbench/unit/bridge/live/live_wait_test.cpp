// SPDX-License-Identifier: Apache-2.0
// live_programs.h R7: model time and wall time, sleeping and waking. Only wait() itself waits for time to pass.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "bridge/live/live_programs.h"
#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_wait_test {
namespace {

using channel::Board;
using channel::Request;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using Kind = ProgramEvent::Kind;

class LiveWaitTest : public LiveProgramsTest {
 protected:
  static std::uint64_t ns_since(steady_clock::time_point begin) {
    return static_cast<std::uint64_t>(nanoseconds{steady_clock::now() - begin}.count());
  }
};

TEST_F(LiveWaitTest, ModelTimeStandsStillWhenNothingIsDue) {
  LiveProgram program;
  open_program(program);
  std::thread thread([&] {
    while (program.header().simulator_sleeps == 0) sched_yield();
    program.ring(Board::kSend, 0, 1);
  });
  const Cycle before = now;
  EXPECT_EQ(programs->wait(now, kNever), before);
  thread.join();
  ProgramEvent event;
  ASSERT_TRUE(programs->take(now, event)) << "after wait() it is looked at once, whatever look_cycles says";
  EXPECT_EQ(event.kind, Kind::kDoorbell);
  EXPECT_EQ(program.header().simulator_sleeps, 0u);
}

TEST_F(LiveWaitTest, ATimerTakesItsTime) {
  LiveProgram program;
  open_program(program);
  for (const std::uint64_t us : {1u, 50u, 3000u}) {
    const auto begin = steady_clock::now();
    const Cycle due = now + us * 1000;  // a cycle is a nanosecond here
    EXPECT_EQ(programs->wait(now, due), due);
    EXPECT_GE(ns_since(begin), us * 1000);
    now = due;
  }
}

TEST_F(LiveWaitTest, ModelTimeIsNeverAheadOfWallTime) {
  options.cycle_ps = 2325;
  start();
  LiveProgram program;
  open_program(program);
  std::atomic<bool> done{false};
  std::thread thread([&] {
    for (std::uint64_t i = 1; !done; ++i) {
      while (program.header().simulator_sleeps == 0 && !done) sched_yield();
      program.ring(Board::kSend, 0, i);
    }
  });
  const auto begin = steady_clock::now();
  const Cycle first = now;
  for (int i = 0; i < 300; ++i) {
    const Cycle due = now + 1'000'000;
    const Cycle next = programs->wait(now, due);
    ASSERT_GE(next, now);
    ASSERT_LE(next, due);
    now = next;
    ASSERT_LE((now - first).count * 2325 / 1000, ns_since(begin));
    for (ProgramEvent event; programs->take(now, event);) continue;
  }
  done = true;
  thread.join();
}

TEST_F(LiveWaitTest, ItIsOverOnlyWhenAskedAndNobodyIsThere) {
  const Cycle due = now + 1000;
  EXPECT_EQ(programs->wait(now, due), due) << "a program may still connect";
  LiveProgram program;
  open_program(program);
  programs->end_when_idle();
  EXPECT_EQ(programs->wait(now, due), due) << "a program is connected";
  program.socket.reset();
  EXPECT_EQ(wait_for_one().kind, Kind::kClose);
  LiveProgram at_the_door;
  at_the_door.connect(options.address);
  EXPECT_EQ(programs->wait(now, due), due) << "another one has just connected";
  at_the_door.socket.reset();
  EXPECT_EQ(programs->wait(now, kNever), kNever);
}

TEST_F(LiveWaitTest, StopEndsASleep) {  // R8
  std::thread thread([&] { programs->stop(); });
  EXPECT_EQ(programs->wait(now, kNever), kNever);
  thread.join();
}

TEST_F(LiveWaitTest, StopEndsARunWhoseProgramsAreNotClosedInTime) {  // R8
  options.stop_ms = 50;
  start();
  LiveProgram program;
  open_program(program);
  program.send(message_of(channel::Request::kAllocatePd));
  EXPECT_EQ(take_one().kind, Kind::kRequest);  // the model never replies
  programs->stop();
  const auto begin = std::chrono::steady_clock::now();
  ProgramEvent event;
  while (programs->next_look(now) != kNever) {
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{30});
    now += options.look_cycles;
    EXPECT_FALSE(programs->take(now, event));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds{50});
  EXPECT_EQ(programs->wait(now, now + 1000), kNever);
}

TEST_F(LiveWaitTest, StopIsSeenThoughAProgramRingsAllTheTime) {  // R11
  LiveProgram program;
  open_program(program);
  const auto ring_everything = [&] {
    for (std::uint32_t index = 0; index < channel::kDoorbells; ++index) {
      channel::ring(program.mapping, channel::Board::kSend, index, 1);
    }
  };
  ring_everything();
  now += options.look_cycles;
  ProgramEvent event;
  std::uint64_t taken = 0, taken_before_stop = 0;
  for (; programs->take(now, event); ++taken) {
    if (event.kind == Kind::kClose) break;
    if (taken == 100) programs->stop();
    if (program.receive_is_over() && taken_before_stop == 0) taken_before_stop = taken;
  }
  EXPECT_GT(taken_before_stop, 0u);
  EXPECT_LE(taken_before_stop, 3 * 4096u);
  EXPECT_EQ(taken, channel::kDoorbells);
}

TEST_F(LiveWaitTest, TheExtraDescriptorAndTheTickAreServedInASleep) {
  const channel::Descriptor signal{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  int signals = 0, ticks = 0;
  options.extra = signal.get();
  options.on_extra = [&] {
    std::uint64_t count;
    ASSERT_EQ(read(signal.get(), &count, sizeof count), 8);
    ++signals;
  };
  options.tick_ms = 1;
  options.on_tick = [&] {
    const std::uint64_t one = 1;
    if (++ticks == 3) {
      ASSERT_EQ(write(signal.get(), &one, sizeof one), 8);
    }
    if (signals != 0) programs->stop();
  };
  start();
  EXPECT_EQ(programs->wait(now, kNever), kNever);
  EXPECT_EQ(signals, 1);
  EXPECT_GE(ticks, 3);
}

// Waits as a thread of the program does, but for ever: a lost wake-up hangs the test. LivePrograms gets time to act
// between any two steps.
void wait_for_change(LiveProgram& program, std::uint32_t seen) {
  for (std::uint32_t n = 0; program.header().completions == seen; ++n) {
    program.header().waiting = 1;
    if (n % 2 == 0) sched_yield();
    if (program.header().completions != seen) return;
    if (seen % 2 == 0) sched_yield();
    syscall(SYS_futex, &program.header().waiting, FUTEX_WAIT, 1, nullptr, nullptr, 0);
  }
}

// A program rings and waits for the completion, LivePrograms waits for the doorbell: neither may miss the other's
// wake-up. A lost wake-up hangs the test.
void wake_each_other(LivePrograms& programs, ClientId client, LiveProgram& program, std::uint32_t rounds) {
  std::thread thread([&] {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      const std::uint32_t seen = program.header().completions;
      program.ring(i % 2 == 0 ? Board::kReceive : Board::kArm, i % channel::kDoorbells, i);
      wait_for_change(program, seen);
    }
  });
  Cycle now{};
  for (std::uint32_t i = 1; i <= rounds;) {
    now = programs.wait(now, kNever);
    ProgramEvent event;
    while (programs.take(now, event)) {
      EXPECT_EQ(event.value, i);
      ++i;
      programs.completed(client, Cqn{1}, 1);
    }
  }
  programs.wait(now, now + 1);  // wakes for the last one (R10)
  thread.join();
}

TEST_F(LiveWaitTest, NoWakeUpIsLost) {
  options.spin_us = 0;
  start();
  // With many mappings it takes a while to set `simulator_sleeps` in all of them; the last program rings meanwhile.
  std::vector<LiveProgram> idle(60);
  for (LiveProgram& other : idle) open_program(other);
  LiveProgram program;
  const ClientId client = open_program(program);
  wake_each_other(*programs, client, program, 30'000);
  EXPECT_GT(programs->counters().sleeps, 0u);
}

TEST_F(LiveWaitTest, NoWakeUpIsLostAtTheEdgeOfASpin) {
  options.spin_us = 1;
  start();
  LiveProgram program;
  const ClientId client = open_program(program);
  wake_each_other(*programs, client, program, 30'000);
}

// The wake-up for a completion that the program has seen comes when it waits for the next one, and is not asleep yet.
TEST_F(LiveWaitTest, ALateWakeUpLetsNobodyFallAsleep) {  // shared_mapping.h R8
  LiveProgram program;
  const ClientId client = open_program(program);
  channel::MappingHeader& h = program.header();
  programs->completed(client, Cqn{1}, 1);
  const std::uint32_t seen = h.completions;
  h.waiting = 1;
  now = programs->wait(now, now + 1);
  EXPECT_EQ(h.completions, seen);
  const timespec timeout{1, 0};
  EXPECT_EQ(syscall(SYS_futex, &h.waiting, FUTEX_WAIT, 1, &timeout, nullptr, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(LiveWaitTest, OneWakeUpIsForAllCompletionsOfSeveralLooks) {  // R10
  options.look_cycles = 1;
  options.looks_per_wake = 16;
  start();
  LiveProgram program;
  const ClientId client = open_program(program);
  const auto look = [&] {
    ProgramEvent event;
    EXPECT_FALSE(programs->take(now, event));
    now += 1;
  };
  for (int i = 0; i < 20; ++i) look();
  EXPECT_EQ(programs->counters().wakes, 0u) << "there was no completion";
  program.header().waiting = 1;
  for (int i = 0; i < 5; ++i) programs->completed(client, Cqn{1}, 1);
  EXPECT_EQ(program.header().completions, 5u) << "visible at once";
  EXPECT_EQ(program.header().waiting, 1u);
  look();
  EXPECT_EQ(program.header().waiting, 0u) << "the first wake-up does not wait";
  for (int i = 0; i < 15; ++i) {
    program.header().waiting = 1;
    programs->completed(client, Cqn{1}, 1);
    look();
    EXPECT_EQ(program.header().waiting, 1u) << "look " << i;
  }
  look();
  EXPECT_EQ(program.header().waiting, 0u);
  EXPECT_EQ(programs->counters().wakes, 2u);
}

TEST_F(LiveWaitTest, TheProgramsAreWokenBeforeTheModelWaits) {  // R10
  LiveProgram program;
  const ClientId client = open_program(program);
  for (int i = 0; i < 3; ++i) {
    program.header().waiting = 1;
    programs->completed(client, Cqn{1}, 1);
    EXPECT_EQ(programs->wait(now, now + 1), now + 1);
    EXPECT_EQ(program.header().waiting, 0u);
    now += 1;
  }
}

TEST_F(LiveWaitTest, AWakeUpIsForEveryThreadThatWaits) {  // R10
  LiveProgram program;
  const ClientId client = open_program(program);
  constexpr std::uint32_t kThreads = 4, kRounds = 2000;
  std::atomic<std::uint32_t> ready{0}, rounds{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < kRounds; ++i) {
        const std::uint32_t seen = program.header().completions;
        ++ready;
        wait_for_change(program, seen);
        ++rounds;
        while (rounds < kThreads * (i + 1)) sched_yield();
      }
    });
  }
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    while (ready < kThreads * (i + 1)) sched_yield();
    programs->completed(client, Cqn{1}, 1);
    now = programs->wait(now, now + 1);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rounds, kThreads * kRounds);
}

TEST_F(LiveWaitTest, WhoWaitsForACompletionFindsOutThatTheSimulatorStops) {  // R8
  LiveProgram program;
  open_program(program);
  std::thread thread([&] { wait_for_change(program, program.header().completions); });
  while (program.header().waiting == 0) sched_yield();
  programs->stop();
  EXPECT_EQ(wait_for_one().kind, Kind::kClose);
  thread.join();
}

TEST_F(LiveWaitTest, AProgramThatHasEndedIsNotWoken) {  // R5, R10
  LiveProgram program, other;
  const ClientId gone = open_program(program);
  const ClientId stays = open_program(other);
  programs->completed(gone, Cqn{1}, 1);
  programs->completed(stays, Cqn{1}, 1);
  program.header().waiting = other.header().waiting = 1;
  program.socket.reset();
  EXPECT_EQ(wait_for_one().kind, Kind::kClose);
  EXPECT_EQ(other.header().waiting, 0u);
  programs->completed(gone, Cqn{1}, 1);
  programs->completed(stays, Cqn{1}, 1);
  other.header().waiting = 1;
  now = programs->wait(now, now + 1);
  EXPECT_EQ(other.header().waiting, 0u);
}

TEST_F(LiveWaitTest, AnEventThatWaitsForItsPipeIsTriedAgainInASleep) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  constexpr std::uint32_t kEvents = 20'000;
  for (std::uint32_t i = 0; i < kEvents; ++i) programs->notify(client, 0, {channel::EventKind::kCompletion, i});
  std::thread reader([&] {
    for (std::size_t got = 0; got < kEvents;) {
      got += LiveProgram::read_events(program.events.get()).size();
      sched_yield();
    }
    program.ring(Board::kSend, 0, 1);
  });
  EXPECT_EQ(wait_for_one().kind, Kind::kDoorbell);
  reader.join();
}

}  // namespace
}  // namespace rxnic::live_wait_test
