// SPDX-License-Identifier: Apache-2.0
// Requests, doorbells, events. Which programs are accepted, and how a client ends: live_connections_test.cpp. Time:
// live_wait_test.cpp.
#include "bridge/live/live_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "testbench/unit/bridge/live/live_program.h"

namespace rxnic::live_programs_test {
namespace {

using channel::Board;
using channel::EventKind;
using channel::EventRecord;
using channel::Message;
using channel::Request;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ProgramEvent::Kind;

TEST_F(LiveProgramsTest, RequestsComeOneByOne) {  // R3
  LiveProgram program;
  const ClientId client = open_program(program);
  for (std::uint32_t i = 0; i < 5; ++i) {
    Message m = message_of(Request::kAllocatePd, 100 + i);
    m.body.handle = {i};
    program.send(m);
  }
  for (std::uint32_t i = 0; i < 5; ++i) {
    ProgramEvent event = take_one();
    ASSERT_EQ(event.kind, Kind::kRequest);
    EXPECT_EQ(event.client, client);
    EXPECT_EQ(event.message.body.handle.number, i);
    EXPECT_TRUE(take().empty()) << "the previous request has no reply yet";
    event.message.body.handle.number = 1000 + i;
    event.message.status = static_cast<std::int32_t>(i);
    event.message.sequence = 0;  // LivePrograms chooses it
    programs->reply(client, event.message);
    Message reply;
    ASSERT_EQ(program.receive(reply), 0);
    EXPECT_EQ(reply.sequence, 100 + i);
    EXPECT_EQ(reply.body.handle.number, 1000 + i);
    EXPECT_EQ(reply.status, static_cast<std::int32_t>(i));
  }
}

std::vector<std::string> names(const std::vector<ProgramEvent>& events) {
  std::vector<std::string> result;
  for (const ProgramEvent& e : events) {
    static const char* const kBoard[] = {"send", "receive", "consumer", "arm"};
    const std::string client = std::to_string(raw(e.client));
    result.push_back(e.kind == Kind::kDoorbell ? std::string(kBoard[static_cast<int>(e.board)]) + " " + client + ":" +
                                                     std::to_string(e.index) + "=" + std::to_string(e.value)
                                               : "request " + client);
  }
  return result;
}

TEST_F(LiveProgramsTest, DoorbellsTakeEffectReceivesFirstSendsLast) {  // R4
  LiveProgram a, b;
  open_program(a);
  open_program(b);
  a.send(message_of(Request::kAllocatePd));
  a.ring(Board::kSend, 3, 30);
  a.ring(Board::kArm, 4, 40);
  b.ring(Board::kSend, 16383, 7);
  b.ring(Board::kReceive, 5, 50);
  a.ring(Board::kConsumer, 4, 41);
  a.ring(Board::kReceive, 64, 60);
  EXPECT_THAT(names(take()), ElementsAre("receive 1:64=60", "receive 2:5=50", "consumer 1:4=41", "arm 1:4=40",
                                         "send 1:3=30", "send 2:16383=7", "request 1"));
  EXPECT_TRUE(take().empty());
}

TEST_F(LiveProgramsTest, ADoorbellRungTwiceIsSeenOnceWithTheNewestValue) {  // shared_mapping.h R4
  LiveProgram program;
  open_program(program);
  program.ring(Board::kSend, 1, 1);
  program.ring(Board::kSend, 1, 2);
  EXPECT_THAT(names(take()), ElementsAre("send 1:1=2"));
  program.ring(Board::kSend, 1, 2);
  EXPECT_THAT(names(take()), ElementsAre("send 1:1=2"));
}

// R4: two threads, each with a device; one posts the receive before the other one sends.
TEST_F(LiveProgramsTest, AReceiveIsNeverSeenAfterASendThatFollowedIt) {
  LiveProgram receiver, sender;
  const ClientId second = open_program(sender);  // looked at first
  const ClientId first = open_program(receiver);
  constexpr std::uint64_t kMessages = 50'000;
  std::thread program([&] {
    for (std::uint64_t i = 1; i <= kMessages; ++i) {
      receiver.ring(Board::kReceive, 0, i);
      sender.ring(Board::kSend, 0, i);
    }
  });
  std::uint64_t received = 0, sent = 0;
  while (sent < kMessages) {
    for (const ProgramEvent& e : take()) {
      if (e.client == first) received = e.value;
      if (e.client == second) sent = e.value;
      ASSERT_LE(sent, received);
    }
  }
  program.join();
}

// R16. Those of a look: without calls of take() between, which would look again.
TEST_F(LiveProgramsTest, ClientsThatRingWithoutAPauseTakeNoTimeOfOthers) {
  for (const std::size_t flooders : {1, 3}) {
    SCOPED_TRACE(flooders);
    start();
    std::vector<LiveProgram> flood(flooders);
    LiveProgram good;
    for (LiveProgram& one : flood) open_program(one);
    const ClientId innocent = open_program(good);
    constexpr int kRounds = 200, kFirst = 20;
    std::size_t of_flooders = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (LiveProgram& one : flood) {
        for (std::uint32_t n = 0; n < channel::kDoorbells; n += 5) {
          for (const Board b : {Board::kReceive, Board::kConsumer, Board::kSend}) one.ring(b, n, 1);
        }
      }
      good.ring(Board::kReceive, 1, 1);
      good.ring(Board::kSend, 1, static_cast<std::uint64_t>(round));
      std::size_t of_good = 0;
      for (const ProgramEvent& e : take()) {
        of_good += e.client == innocent ? 1 : 0;
        of_flooders += e.client != innocent && round >= kFirst ? 1 : 0;
      }
      EXPECT_EQ(of_good, 2u) << round;
    }
    constexpr std::size_t kShare = (kRounds - kFirst) * DoorbellBudget::kOfLook;
    EXPECT_LE(of_flooders, kShare + 64 * flooders);
    EXPECT_GE(of_flooders, kShare - 64 * flooders);
  }
}

TEST_F(LiveProgramsTest, NothingOfAClientThatIsHeldBackIsLostOrOutOfOrder) {  // R4, R16
  LiveProgram program;
  open_program(program);
  constexpr std::uint32_t kRounds = 4;
  std::vector<std::uint64_t> received(channel::kDoorbells), armed(received), sent(received);
  const auto note = [&](const ProgramEvent& e) {
    if (e.board == Board::kReceive) received[e.index] = e.value;
    if (e.board == Board::kArm) armed[e.index] = e.value;
    if (e.board == Board::kSend) sent[e.index] = e.value;
    ASSERT_LE(armed[e.index], received[e.index]) << e.index;
    ASSERT_LE(sent[e.index], armed[e.index]) << e.index;
  };
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    for (std::uint32_t n = 0; n < channel::kDoorbells; ++n) {
      for (const Board b : {Board::kReceive, Board::kArm, Board::kSend}) program.ring(b, n, round);
    }
    for (const ProgramEvent& e : take()) note(e);
  }
  constexpr int kLooks = 3 * kRounds * channel::kDoorbells / DoorbellBudget::kOfLook;
  for (int looks = 0; looks < kLooks && sent.back() != kRounds; ++looks) {  // nobody rings any more
    for (const ProgramEvent& e : take()) note(e);
  }
  EXPECT_EQ(received, std::vector<std::uint64_t>(channel::kDoorbells, kRounds));
  EXPECT_EQ(armed, received);
  EXPECT_EQ(sent, received);
}

TEST_F(LiveProgramsTest, MappingsAreLookedAtEveryLookCyclesOnly) {  // R6
  LiveProgram program;
  open_program(program);
  program.ring(Board::kSend, 1, 1);
  ProgramEvent event;
  EXPECT_EQ(programs->next_look(now), now + options.look_cycles);
  EXPECT_FALSE(programs->take(now + (options.look_cycles - 1), event));
  EXPECT_TRUE(programs->take(now + options.look_cycles, event));
}

TEST_F(LiveProgramsTest, ModelTimeIsThatOfTheLastLook) {
  options.cycle_ps = 2325;
  start();
  LiveProgram program;
  open_program(program);
  now = Cycle{1'000'000};
  take();
  EXPECT_EQ(program.header().model_time_ps, now.count * 2325);
}

TEST_F(LiveProgramsTest, EventsGoToTheirPipes) {
  LiveProgram program;
  const ClientId client = open_program(program);
  channel::Descriptor ends[2][2];
  for (auto& [read_end, write_end] : ends) {
    LiveProgram::make_pipe(read_end, write_end);
    carry_out(program, Request::kCreateChannel, {write_end.get()});
  }
  programs->notify(client, 0, {EventKind::kQpFatal, 5});
  programs->notify(client, 1, {EventKind::kCompletion, 6});
  programs->notify(client, 2, {EventKind::kCompletion, 7});
  programs->notify(client, 3, {EventKind::kCompletion, 8});  // there is none
  const auto asynchronous = LiveProgram::read_events(program.events.get());
  ASSERT_EQ(asynchronous.size(), 1u);
  EXPECT_EQ(asynchronous[0].kind, EventKind::kQpFatal);
  EXPECT_EQ(LiveProgram::read_events(ends[0][0].get()).at(0).number, 6u);
  EXPECT_EQ(LiveProgram::read_events(ends[1][0].get()).at(0).number, 7u);

  // A channel that is freed is closed, one that could not be created as well.
  Message free = message_of(Request::kFreeChannel);
  free.body.handle = {1};
  program.send(free);
  programs->reply(client, take_one().message);
  ends[0][1].reset();
  EXPECT_TRUE(LiveProgram::reaches_its_end(ends[0][0]));
  channel::Descriptor refused[2];
  LiveProgram::make_pipe(refused[0], refused[1]);
  program.send(message_of(Request::kCreateChannel), {refused[1].get()});
  ProgramEvent event = take_one();
  EXPECT_EQ(event.message.body.handle.number, 3u) << "numbers are not used twice";
  event.message.status = ENOMEM;
  programs->reply(client, event.message);
  refused[1].reset();
  EXPECT_TRUE(LiveProgram::reaches_its_end(refused[0]));
}

TEST_F(LiveProgramsTest, AChannelNeedsAPipe) {
  LiveProgram program;
  open_program(program);
  Message reply;
  for (const std::vector<int>& descriptors : {std::vector<int>{}, {program.wake.get()}}) {
    program.send(message_of(Request::kCreateChannel), descriptors);
    EXPECT_TRUE(take().empty());
    ASSERT_EQ(program.receive(reply), 0);
    EXPECT_EQ(reply.status, EINVAL);
  }
}

TEST_F(LiveProgramsTest, EventsThatDoNotFitWaitInOrderAndAreBounded) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  constexpr std::uint32_t kEvents = 30'000;
  for (std::uint32_t i = 0; i < kEvents; ++i) programs->notify(client, 0, {EventKind::kCompletion, i});
  EXPECT_EQ(programs->counters().lost_events, 0u);
  std::uint32_t next = 0;
  while (next < kEvents) {
    const auto records = LiveProgram::read_events(program.events.get());
    ASSERT_FALSE(records.empty()) << next;
    for (const EventRecord& r : records) ASSERT_EQ(r.number, next++);
    EXPECT_TRUE(take().empty());  // writes the events that wait
  }
  for (std::uint32_t i = 0; i < 100'000; ++i) programs->notify(client, 0, {EventKind::kCompletion, i});
  EXPECT_GT(programs->counters().lost_events, 0u);
  EXPECT_THAT(log, HasSubstr("does not read its events"));
}

std::vector<std::string> texts(int pipe) {
  std::vector<std::string> result;
  for (const EventRecord& e : LiveProgram::read_events(pipe)) {
    result.push_back(std::to_string(static_cast<int>(e.kind)) + ":" + std::to_string(e.number));
  }
  return result;
}

bool can_be_read(int pipe) {
  pollfd ready{pipe, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

TEST_F(LiveProgramsTest, TheEventsOfAnObjectGoWithItAndTheOthersStayInOrder) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  channel::Descriptor ends[2];
  LiveProgram::make_pipe(ends[0], ends[1]);
  carry_out(program, Request::kCreateChannel, {ends[1].get()});
  for (const EventKind kind :
       {EventKind::kCqError, EventKind::kQpFatal, EventKind::kQpAccessError, EventKind::kQpRequestError,
        EventKind::kQpLastWqeReached, EventKind::kQpSqDrained, EventKind::kQpCommunicationEstablished,
        EventKind::kSrqLimitReached, EventKind::kSrqError}) {
    programs->notify(client, 0, {kind, 5});
    programs->notify(client, 0, {kind, 6});
  }
  for (const std::uint32_t cq : {5, 6, 5, 7}) programs->notify(client, 1, {EventKind::kCompletion, cq});
  programs->discard_events(client, Request::kFreeQp, 5);
  programs->discard_events(client, Request::kFreeQp, 7);  // has none
  EXPECT_THAT(texts(program.events.get()),
              ElementsAre("2:5", "2:6", "3:6", "4:6", "5:6", "6:6", "7:6", "8:6", "9:5", "9:6", "10:5", "10:6"));
  programs->notify(client, 0, {EventKind::kCqError, 5});
  programs->notify(client, 0, {EventKind::kSrqLimitReached, 5});
  programs->discard_events(client, Request::kFreeCq, 5);
  EXPECT_THAT(texts(program.events.get()), ElementsAre("9:5"));
  EXPECT_THAT(texts(ends[0].get()), ElementsAre("1:6", "1:7"));
  programs->notify(client, 0, {EventKind::kSrqError, 5});
  programs->discard_events(client, Request::kFreeSrq, 5);
  EXPECT_FALSE(can_be_read(program.events.get()));
}

TEST_F(LiveProgramsTest, APipeWithoutEventsCannotBeReadByAnyWay) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  const channel::Descriptor level(epoll_create1(EPOLL_CLOEXEC)), edge(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(level.get(), EPOLL_CTL_ADD, program.events.get(), &event), 0);
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(edge.get(), EPOLL_CTL_ADD, program.events.get(), &event), 0);
  const auto ready = [&](const channel::Descriptor& set) { return epoll_wait(set.get(), &event, 1, 0) == 1; };
  for (int n = 0; n < 2; ++n) {
    programs->notify(client, 0, {EventKind::kQpFatal, 5});
    EXPECT_TRUE(ready(level));
    if (n == 1) {
      EXPECT_TRUE(ready(edge));
    }
    programs->discard_events(client, Request::kFreeQp, 5);
    EXPECT_FALSE(can_be_read(program.events.get()));
    EXPECT_FALSE(ready(level));
    EXPECT_FALSE(ready(edge));
    EXPECT_TRUE(LiveProgram::read_events(program.events.get()).empty());
    EXPECT_EQ(errno, EAGAIN) << "not the end of the file";
  }
  programs->notify(client, 0, {EventKind::kQpFatal, 6});  // it works on
  EXPECT_TRUE(ready(level) && ready(edge));
  EXPECT_THAT(texts(program.events.get()), ElementsAre("3:6"));
}

TEST_F(LiveProgramsTest, EventsThatDoNotFitGoWithTheirObject) {  // live_client.h R3
  LiveProgram program;
  const ClientId client = open_program(program);
  constexpr std::uint32_t kEvents = 20'000;  // more than a pipe holds
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    programs->notify(client, 0, {EventKind::kQpFatal, i});
    programs->notify(client, 0, {EventKind::kQpAccessError, kEvents});
  }
  programs->discard_events(client, Request::kFreeQp, kEvents);
  std::uint32_t next = 0;
  while (next < kEvents) {
    const auto records = LiveProgram::read_events(program.events.get());
    ASSERT_FALSE(records.empty()) << next;
    for (const EventRecord& r : records) ASSERT_EQ(r.number, next++);
    EXPECT_TRUE(take().empty());  // writes the events that wait
  }
  EXPECT_FALSE(can_be_read(program.events.get()));
}

TEST_F(LiveProgramsTest, APipeThatNobodyReadsHurtsNobody) {  // R9
  LiveProgram program;
  const ClientId client = open_program(program);
  program.events.reset();
  programs->notify(client, 0, {EventKind::kQpFatal, 1});
  programs->discard_events(client, Request::kFreeQp, 1);
  EXPECT_TRUE(take().empty());
}

// shared_mapping.h R6.
TEST_F(LiveProgramsTest, AProgramThatScribblesOverItsMappingHurtsOnlyItself) {
  std::mt19937_64 random(random_seed());
  LiveProgram good, bad;
  const ClientId client = open_program(good);
  const ClientId other = open_program(bad);
  auto* bytes = static_cast<std::uint8_t*>(bad.mapping);
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    // A few bytes anywhere, sometimes a whole board.
    for (int k = 0; k < 16; ++k) bytes[random() % channel::kHeapOffset] = static_cast<std::uint8_t>(random());
    for (int k = 0; k < 4; ++k) bytes[random() % 4096] = static_cast<std::uint8_t>(random());
    if (i % 500 == 0) {
      for (std::uint64_t k = 0; k < channel::kHeapOffset; ++k) bytes[k] = static_cast<std::uint8_t>(random());
    }
    good.ring(Board::kSend, 1, i);
    bool seen = false;
    for (const ProgramEvent& e : take()) {
      ASSERT_EQ(e.kind, Kind::kDoorbell);
      ASSERT_LT(e.index, channel::kDoorbells);
      ASSERT_TRUE(e.client == client || e.client == other);
      seen |= e.client == client && e.index == 1 && e.value == i;
    }
    ASSERT_TRUE(seen) << i;
    programs->completed(other, Cqn{1}, 1);
    programs->completed(client, Cqn{1}, 1);
    if (i % 16 == 0) programs->wait(now, now + 10);
  }
  carry_out(good, Request::kAllocatePd);
}

}  // namespace
}  // namespace rxnic::live_programs_test
