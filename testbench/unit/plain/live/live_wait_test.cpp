// SPDX-License-Identifier: Apache-2.0
// live_port.h R7: model time and wall time, sleeping and waking. Nothing here waits for a length of time to pass but
// wait() itself.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "bridge/live/live_port.h"
#include "testbench/unit/plain/live/live_program.h"

namespace rxnic {
namespace {

using channel::Board;
using channel::Request;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using Kind = HostEvent::Kind;

class LiveWaitTest : public LivePortTest {
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
  EXPECT_EQ(port->wait(now, kNever), before);
  thread.join();
  HostEvent event;
  ASSERT_TRUE(port->take(now, event)) << "after wait() it is looked at once, whatever look_cycles says";
  EXPECT_EQ(event.kind, Kind::kDoorbell);
  EXPECT_EQ(program.header().simulator_sleeps, 0u);
}

TEST_F(LiveWaitTest, ATimerTakesItsTime) {
  LiveProgram program;
  open_program(program);
  for (const std::uint64_t us : {1u, 50u, 3000u}) {
    const auto begin = steady_clock::now();
    const Cycle due = now + us * 1000;  // a cycle is a nanosecond here
    EXPECT_EQ(port->wait(now, due), due);
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
    const Cycle next = port->wait(now, due);
    ASSERT_GE(next, now);
    ASSERT_LE(next, due);
    now = next;
    ASSERT_LE((now - first).count * 2325 / 1000, ns_since(begin));
    for (HostEvent event; port->take(now, event);) continue;
  }
  done = true;
  thread.join();
}

TEST_F(LiveWaitTest, ItIsOverOnlyWhenToldAndNobodyIsThere) {
  const Cycle due = now + 1000;
  EXPECT_EQ(port->wait(now, due), due) << "a program may still come";
  LiveProgram program;
  open_program(program);
  port->end_when_idle();
  EXPECT_EQ(port->wait(now, due), due) << "a program is there";
  program.socket.reset();
  EXPECT_EQ(wait_for_one().kind, Kind::kClose);
  LiveProgram at_the_door;
  at_the_door.connect(options.address);
  EXPECT_EQ(port->wait(now, due), due) << "another one has just come";
  at_the_door.socket.reset();
  EXPECT_EQ(port->wait(now, kNever), kNever);
}

TEST_F(LiveWaitTest, StopEndsASleep) {  // R8
  std::thread thread([&] { port->stop(); });
  EXPECT_EQ(port->wait(now, kNever), kNever);
  thread.join();
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
    if (signals != 0) port->stop();
  };
  start();
  EXPECT_EQ(port->wait(now, kNever), kNever);
  EXPECT_EQ(signals, 1);
  EXPECT_GE(ticks, 3);
}

// A program rings and waits for the completion, the port waits for the doorbell: neither may sleep past the other.
// With every wake-up that is lost the test hangs.
void wake_each_other(LivePort& port, ClientId client, LiveProgram& program, std::uint32_t rounds) {
  std::thread thread([&] {
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      const std::uint32_t seen = program.header().completions;
      program.ring(i % 2 == 0 ? Board::kReceive : Board::kArm, i % channel::kDoorbells, i);
      program.header().waiters.fetch_add(1);
      while (program.header().completions == seen) {
        syscall(SYS_futex, &program.header().completions, FUTEX_WAIT, seen, nullptr, nullptr, 0);
      }
      program.header().waiters.fetch_sub(1);
    }
  });
  Cycle now{};
  for (std::uint32_t i = 1; i <= rounds;) {
    now = port.wait(now, kNever);
    HostEvent event;
    while (port.take(now, event)) {
      EXPECT_EQ(event.value, i);
      ++i;
      port.completed(client);
    }
  }
  thread.join();
}

TEST_F(LiveWaitTest, NoWakeUpIsLost) {
  options.spin_us = 0;
  start();
  // With many mappings it takes a while to tell all programs that the simulator sleeps; the last one rings meanwhile.
  std::vector<LiveProgram> idle(60);
  for (LiveProgram& other : idle) open_program(other);
  LiveProgram program;
  const ClientId client = open_program(program);
  wake_each_other(*port, client, program, 30'000);
  EXPECT_GT(port->counters().sleeps, 0u);
}

TEST_F(LiveWaitTest, NoWakeUpIsLostAtTheEdgeOfASpin) {
  options.spin_us = 1;
  start();
  LiveProgram program;
  const ClientId client = open_program(program);
  wake_each_other(*port, client, program, 30'000);
}

TEST_F(LiveWaitTest, AnEventThatWaitsForItsPipeIsTriedAgainInASleep) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  constexpr std::uint32_t kEvents = 20'000;
  for (std::uint32_t i = 0; i < kEvents; ++i) port->notify(client, 0, {channel::EventKind::kCompletion, i});
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
}  // namespace rxnic
