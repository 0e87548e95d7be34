// SPDX-License-Identifier: Apache-2.0
// When the inputs of a plan are given to a device that the test plays, and how a what-if ends early.
#include "bridge/rxnic/record/what_if_programs.h"

#include <gmock/gmock.h>

#include <optional>

#include "testbench/unit/bridge/rxnic/record/what_if_parts.h"

namespace rxnic::what_if_programs_test {
namespace {

using testing::HasSubstr;

// A device that the test plays: the cycle in which each input is given.
class WhatIfProgramsTest : public WhatIfParts {
 protected:
  // One program: a CQE in cycle 100, doorbells 30 and 40 cycles after it, a request in cycle 200, the end at 260.
  void make_plan() {
    open(Cycle{10}, kA);
    planner_->completed(Cycle{100}, kA, kCq, 1);
    ring(Cycle{130}, kA, 1);
    ring(Cycle{140}, kA, 2);
    request(Cycle{200}, kA, Request::kAllocatePd);
    reply(Cycle{210}, kA, Request::kAllocatePd, [](auto& body) { body.handle.number = 3; });
    plan_ = planner_->finish(Cycle{260});
  }
  void start(Loop loop, std::uint64_t period_ps = 1000) {
    memory_.emplace(plan_);
    state_.connect([this] { stopped_ = now_; }, [this] { return now_; });
    port_.emplace(plan_, loop, WhatIfPrograms::Clock{1000, period_ps}, *memory_, state_);
  }
  // Whether an input is given in this cycle, and none in the one before.
  bool given_at(std::uint64_t cycle) {
    now_ = Cycle{cycle - 1};
    if (port_->take(now_, event_)) return false;
    now_ = Cycle{cycle};
    return port_->take(now_, event_);
  }
  void reply_now(std::uint32_t number, std::int32_t status = 0) {
    channel::Message message;
    message.type = Request::kAllocatePd;
    message.status = status;
    message.body.handle.number = number;
    port_->reply(kA, message);
  }
  void open_at_10() {
    ASSERT_TRUE(given_at(10));
    EXPECT_EQ(event_.kind, ProgramEvent::Kind::kOpen);
    port_->opened(kA, 0, {});
  }

  WhatIfPlan plan_;
  std::optional<PlannedMemory> memory_;
  ReplayState state_;
  std::optional<WhatIfPrograms> port_;
  Cycle now_{}, stopped_ = kNever;
  ProgramEvent event_;
};

TEST_F(WhatIfProgramsTest, ClosedLoopFollowsTheOutputsWithTheRecordedDelays) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  now_ = Cycle{5000};
  EXPECT_FALSE(port_->take(now_, event_)) << "no CQE yet";
  port_->completed(kA, kCq, 1);
  EXPECT_EQ(port_->sooner(kNever), Cycle{5030});
  EXPECT_TRUE(given_at(5030));
  EXPECT_EQ(event_.value, 1u);
  EXPECT_TRUE(given_at(5040));
  EXPECT_EQ(event_.value, 2u);
  EXPECT_TRUE(given_at(5100));
  EXPECT_EQ(event_.message.type, Request::kAllocatePd);
  now_ = Cycle{5105};
  reply_now(3);
  EXPECT_FALSE(given_at(5155)) << "the end is no event";
  EXPECT_EQ(stopped_, Cycle{5155});
  EXPECT_EQ(state_.difference(), "");
  EXPECT_EQ(port_->given(), 4u);
}

TEST_F(WhatIfProgramsTest, AFasterDeviceGetsItsPostsEarlier) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  now_ = Cycle{12};
  port_->completed(kA, kCq, 1);
  EXPECT_TRUE(given_at(42));
  EXPECT_TRUE(given_at(52));
}

TEST_F(WhatIfProgramsTest, OpenLoopKeepsTheRecordedTimes) {
  make_plan();
  start(Loop::kOpen);
  open_at_10();
  EXPECT_TRUE(given_at(130));
  EXPECT_TRUE(given_at(140));
  EXPECT_FALSE(given_at(200)) << "control messages wait";
  EXPECT_EQ(port_->wait(Cycle{900}, kNever), Cycle{900}) << "the CQE does not come: it is given all the same";
  EXPECT_TRUE(port_->take(Cycle{900}, event_));
  EXPECT_EQ(event_.message.type, Request::kAllocatePd);
  EXPECT_EQ(port_->given_up(), 1u);
  EXPECT_EQ(state_.difference(), "");
}

// Nobody notifies the port of data: it has to look.
TEST_F(WhatIfProgramsTest, DataThatIsAwaitedAloneIsLookedForInEveryCycle) {
  open(Cycle{10}, kA);
  planner_->written(Cycle{100}, kA, kBuffer, letters(8, 'x'), true);
  ring(Cycle{130}, kA, 1);
  plan_ = planner_->finish(Cycle{260});
  start(Loop::kClosed);
  open_at_10();
  EXPECT_EQ(port_->next_look(Cycle{20}), Cycle{21});
  now_ = Cycle{500};
  memory_->write(kA, kBuffer, letters(8, 'x'));
  EXPECT_EQ(port_->next_look(Cycle{500}), Cycle{530});
  EXPECT_TRUE(given_at(530));
}

// A completion of which it is notified may leave nothing but data to wait for: it looks from the next cycle on.
TEST_F(WhatIfProgramsTest, DataIsLookedForAsSoonAsNothingElseIsAwaited) {
  open(Cycle{10}, kA);
  planner_->completed(Cycle{90}, kA, kCq, 1);
  planner_->written(Cycle{100}, kA, kBuffer, letters(8, 'x'), true);
  ring(Cycle{103}, kA, 1);
  plan_ = planner_->finish(Cycle{260});
  start(Loop::kClosed);
  open_at_10();
  EXPECT_EQ(port_->next_look(Cycle{20}), Cycle{84});
  now_ = Cycle{30};
  EXPECT_EQ(port_->sooner(Cycle{84}), Cycle{84});
  port_->completed(kA, kCq, 1);
  EXPECT_EQ(port_->sooner(Cycle{84}), Cycle{31});
  now_ = Cycle{40};
  memory_->write(kA, kBuffer, letters(8, 'x'));
  EXPECT_EQ(port_->sooner(Cycle{41}), Cycle{41});
  EXPECT_EQ(port_->next_look(Cycle{41}), Cycle{43});
  EXPECT_TRUE(given_at(43));
}

// A consumer index that is ahead of the completions would look like an overrun of the CQ.
TEST_F(WhatIfProgramsTest, OpenLoopPollsWhatHasCome) {
  open(Cycle{10}, kA);
  reply(Cycle{12}, kA, Request::kCreateCq, [](auto& body) {
    body.cq = {};
    body.cq.cqn = raw(kCq);
  });
  planner_->completed(Cycle{100}, kA, kCq, 1);
  ring(Cycle{105}, kA, 1, Board::kConsumer);
  ring(Cycle{130}, kA, 1);
  request(Cycle{200}, kA, Request::kAllocatePd);
  plan_ = planner_->finish(Cycle{260});
  start(Loop::kOpen);
  open_at_10();
  now_ = Cycle{12};
  channel::Message created;
  created.type = Request::kCreateCq;
  created.body.cq.cqn = raw(kCq);
  port_->reply(kA, created);
  EXPECT_TRUE(given_at(130)) << "a post does not wait for the poll before it";
  EXPECT_EQ(event_.board, Board::kSend);
  now_ = Cycle{700};
  port_->completed(kA, kCq, 1);
  EXPECT_TRUE(given_at(705));
  EXPECT_EQ(event_.board, Board::kConsumer);
  EXPECT_TRUE(given_at(800));
  EXPECT_EQ(event_.message.type, Request::kAllocatePd);
  EXPECT_EQ(port_->left_out(), 0u);
}

// A program that looks at its CQ may find a CQE before it is visible to the model. Its consumer index never comes
// before the bytes of that CQE, which nobody notifies the port of.
TEST_F(WhatIfProgramsTest, AConsumerIndexWaitsForTheBytesOfItsCqe) {
  const auto created = [](auto& body) {
    body.cq = {};
    body.cq.cqn = raw(kCq);
  };
  for (const Loop loop : {Loop::kClosed, Loop::kOpen}) {
    planner_.emplace(1, NicAddresses{}, true, false);
    open(Cycle{10}, kA);
    reply(Cycle{12}, kA, Request::kCreateCq, created);
    planner_->written(Cycle{100}, kA, ProgramMemory::kShared + kRing, letters(64, 'c'), true);
    ring(Cycle{105}, kA, 1, Board::kConsumer);
    planner_->completed(Cycle{200}, kA, kCq, 1);
    ring(Cycle{210}, kA, 1);
    plan_ = planner_->finish(Cycle{260});
    start(loop);
    open_at_10();
    now_ = Cycle{12};
    channel::Message message;
    message.type = Request::kCreateCq;
    created(message.body);
    port_->reply(kA, message);
    if (loop == Loop::kOpen) {
      EXPECT_TRUE(given_at(210)) << "a post does not wait for the poll before it";
    }
    now_ = Cycle{400};
    EXPECT_FALSE(port_->take(now_, event_));
    EXPECT_EQ(port_->next_look(now_), Cycle{401});
    now_ = Cycle{500};
    memory_->write(kA, ProgramMemory::kShared + kRing, letters(64, 'c'));
    EXPECT_TRUE(given_at(505));
    EXPECT_EQ(event_.board, Board::kConsumer);
    if (loop == Loop::kOpen) continue;
    now_ = Cycle{700};
    port_->completed(kA, kCq, 1);
    EXPECT_TRUE(given_at(710));
  }
}

TEST_F(WhatIfProgramsTest, DelaysAreTimes) {
  make_plan();
  start(Loop::kClosed, 400);
  ASSERT_TRUE(given_at(25));
  port_->opened(kA, 0, {});
  now_ = Cycle{1000};
  port_->completed(kA, kCq, 1);
  EXPECT_TRUE(given_at(1075));
}

TEST_F(WhatIfProgramsTest, AnOutputThatNeverComesEndsTheRunByName) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  EXPECT_EQ(port_->wait(Cycle{20}, Cycle{90'000}), Cycle{90'000}) << "a timer may help";
  EXPECT_EQ(port_->wait(Cycle{20}, kNever), kNever);
  EXPECT_EQ(stopped_, Cycle{10});
  EXPECT_THAT(state_.difference(),
              HasSubstr("event 2 (doorbell send 0 = 1 of client 1, alpha) waits for 1 CQEs of CQ 7 "
                        "of NIC 0 (alpha), and 0 came"));
}

TEST_F(WhatIfProgramsTest, PatienceEndsWhatNeverEnds) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  const std::uint64_t patience = WhatIfPrograms::kPatiencePs / 1000;
  EXPECT_NE(port_->next_look(Cycle{10 + patience}), kNever);
  EXPECT_EQ(port_->next_look(Cycle{11 + patience}), kNever);
  EXPECT_THAT(state_.difference(), HasSubstr("waits for"));
}

TEST_F(WhatIfProgramsTest, AnotherReplyEndsTheRun) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  port_->completed(kA, kCq, 1);
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(port_->take(now_ = Cycle{1000}, event_));
  reply_now(4);
  EXPECT_THAT(state_.difference(), HasSubstr("found number 4 in the reply to allocate_pd of client 1; recorded: 3"));
}

TEST_F(WhatIfProgramsTest, AnotherStatusEndsTheRun) {
  make_plan();
  start(Loop::kClosed);
  open_at_10();
  port_->completed(kA, kCq, 1);
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(port_->take(now_ = Cycle{1000}, event_));
  reply_now(0, 12);
  EXPECT_THAT(state_.difference(), HasSubstr("allocate_pd of client 1 with status 12"));
}

TEST_F(WhatIfProgramsTest, ControlStaysBehindTheControlOfOtherPrograms) {
  open(Cycle{10}, kA);
  open(Cycle{20}, kB);
  planner_->completed(Cycle{30}, kA, kCq, 1);
  request(Cycle{40}, kA, Request::kAllocatePd);
  request(Cycle{50}, kB, Request::kAllocatePd);
  ring(Cycle{60}, kB, 1);
  plan_ = planner_->finish(Cycle{100});
  start(Loop::kClosed);
  open_at_10();
  EXPECT_TRUE(given_at(20));
  port_->opened(kB, 0, {});
  now_ = Cycle{5000};
  EXPECT_FALSE(port_->take(now_, event_)) << "B waits for A, and so does what follows";
  port_->completed(kA, kCq, 1);
  EXPECT_TRUE(given_at(5010));
  EXPECT_EQ(event_.client, kA);
  EXPECT_TRUE(given_at(5020));
  EXPECT_EQ(event_.client, kB);
}

}  // namespace
}  // namespace rxnic::what_if_programs_test
