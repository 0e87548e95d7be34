// SPDX-License-Identifier: Apache-2.0
// Events of programs that write to their own pipes, and the cost of taking events out: live_client.h R3.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_events_test {
namespace {

using channel::Request;

class LiveEventsTest : public LiveProgramsTest {};

// With a write end of its own, which it may use at any time: it loses events, and nobody else does.
class PipeWithAnotherWriterTest : public LiveEventsTest {
 protected:
  PipeWithAnotherWriterTest() {
    program.make();
    refills.reset(dup(program.events_write.get()));
    program.connect(options.address);
    program.send_open();
    client = take_one().client;
    programs->opened(client, 0, {});
  }
  // False: there is no room.
  bool write_some() const { return write(refills.get(), some.data(), some.size() * sizeof some[0]) > 0; }

  const std::vector<channel::EventRecord> some =
      std::vector(512, channel::EventRecord{channel::EventKind::kQpFatal, 7});
  LiveProgram program;
  channel::Descriptor refills;
  ClientId client{};
};

TEST_F(PipeWithAnotherWriterTest, WhatTheProgramHasWrittenIsLeftThere) {  // live_client.h R3
  while (write_some()) {
  }
  programs->notify(client, 0, {channel::EventKind::kQpAccessError, 7});
  programs->discard_events(client, Request::kFreeQp, 7);
  EXPECT_EQ(programs->find(client)->waiting(), 0u);
  const auto capacity = static_cast<std::size_t>(fcntl(refills.get(), F_GETPIPE_SZ));
  EXPECT_EQ(LiveProgram::read_events(program.events.get()).size(), capacity / sizeof(channel::EventRecord));
}

TEST_F(PipeWithAnotherWriterTest, NoMoreWaitAfterADiscardThanBefore) {  // live_client.h R3
  std::atomic<bool> refilled{false}, over{false};
  std::thread other([&] {
    while (!over) {
      if (refilled) write_some();
    }
  });
  for (std::uint32_t freed = 10; freed < 30; ++freed) {
    refilled = false;
    while (!LiveProgram::read_events(program.events.get()).empty()) {
    }
    for (int n = 0; n < 8000; ++n) programs->notify(client, 0, {channel::EventKind::kQpFatal, 1});
    programs->notify(client, 0, {channel::EventKind::kQpFatal, freed});
    refilled = true;
    const std::size_t before = programs->find(client)->waiting();
    programs->discard_events(client, Request::kFreeQp, freed);
    EXPECT_LE(programs->find(client)->waiting(), before);
  }
  over = true;
  other.join();
}

TEST_F(LiveEventsTest, OnlyPipesWithEventsOfTheObjectAreLookedAt) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  channel::Descriptor ends[2];
  LiveProgram::make_pipe(ends[0], ends[1]);
  carry_out(program, Request::kCreateChannel, {ends[1].get()});
  programs->notify(client, 0, {channel::EventKind::kQpFatal, 1});
  programs->notify(client, 1, {channel::EventKind::kCompletion, 2});
  const channel::Descriptor edge(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(edge.get(), EPOLL_CTL_ADD, program.events.get(), &event), 0);
  ASSERT_EQ(epoll_ctl(edge.get(), EPOLL_CTL_ADD, ends[0].get(), &event), 0);
  const auto written = [&] { return epoll_wait(edge.get(), &event, 1, 0) == 1; };
  while (written()) {
  }
  programs->discard_events(client, Request::kFreeCq, 1);
  programs->discard_events(client, Request::kFreeQp, 2);
  EXPECT_FALSE(written()) << "neither is taken out and written again";
  programs->discard_events(client, Request::kFreeCq, 2);
  programs->discard_events(client, Request::kFreeQp, 1);
  EXPECT_TRUE(LiveProgram::read_events(ends[0].get()).empty());
  EXPECT_TRUE(LiveProgram::read_events(program.events.get()).empty());
}

}  // namespace
}  // namespace rxnic::live_events_test
