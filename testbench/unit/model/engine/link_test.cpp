// SPDX-License-Identifier: Apache-2.0
#include "model/engine/link.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "model/engine/delay_line.h"
#include "model/types/event.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::link_test {
namespace {

// Pushes 0, 1, 2... in the cycles of `when`, as many as it gives for each. A value without room is tried again when the
// link wakes it.
class Pusher final : public Block {
 public:
  explicit Pusher(const sc_core::sc_module_name& name) : Block(name) {}
  Out<int> out{"out"};
  std::vector<std::pair<Cycle, int>> when;
  std::vector<Cycle> pushed_in;
  std::vector<Cycle> stepped_in;
  Cycle step(Cycle now) override {
    stepped_in.push_back(now);
    while (next_ < when.size() && when[next_].first <= now) {
      due_ += when[next_++].second;
    }
    while (due_ > 0) {
      if (!out.can_push(now)) return rest(now, Activity::kBlocked, next_ < when.size() ? when[next_].first : kNever);
      out.push(now, value_++);
      pushed_in.push_back(now);
      --due_;
    }
    return rest(now, Activity::kStarved, next_ < when.size() ? when[next_].first : kNever);
  }

 private:
  std::size_t next_ = 0;
  int due_ = 0;
  int value_ = 0;
};

// Takes up to `most` values a cycle in the cycles for which `ready` holds.
class Popper final : public Block {
 public:
  explicit Popper(const sc_core::sc_module_name& name) : Block(name) {}
  In<int> in{"in"};
  std::function<bool(Cycle)> ready = [](Cycle) { return true; };
  int most = 1;
  bool polls = true;  // is stepped in each cycle in which the link holds a value, even one that it cannot pop yet
  std::vector<std::pair<Cycle, int>> popped;
  std::vector<Cycle> stepped_in;
  Cycle step(Cycle now) override {
    stepped_in.push_back(now);
    const bool here = in.can_pop(now);
    if (here && ready(now)) {
      for (int n = 0; n < most && in.can_pop(now); ++n) popped.emplace_back(now, in.pop(now));
    }
    return rest(now, here ? Activity::kBusy : Activity::kStarved, polls && (here || !in.empty()) ? now + 1 : kNever);
  }
};

struct Pair {
  Pusher* pusher;
  Popper* popper;
  Link<int>* link;
};
Pair make_pair(Bench& bench, std::uint32_t capacity, bool consumer_first) {
  Pair p{};
  if (consumer_first) p.popper = &bench.add<Popper>("popper");
  p.pusher = &bench.add<Pusher>("pusher");
  if (!consumer_first) p.popper = &bench.add<Popper>("popper");
  p.link = &bench.connect(p.pusher->out, p.popper->in, capacity);
  return p;
}

TEST(Link, WhatIsPushedCanBePoppedInTheNextCycleNotBefore) {  // (R1)
  Bench bench;
  auto& link = bench.link<int>(2);
  link.push(Cycle{5}, 7);
  EXPECT_FALSE(link.can_pop(Cycle{5}));
  EXPECT_EQ(link.peek(Cycle{5}), nullptr);
  EXPECT_TRUE(link.can_pop(Cycle{6}));
  EXPECT_EQ(*link.peek(Cycle{6}), 7);
  EXPECT_EQ(link.pop(Cycle{6}), 7);
  EXPECT_FALSE(link.can_pop(Cycle{7}));
}

TEST(Link, PeekLooksAheadAtWhatCanBePopped) {  // (R1)
  Bench bench;
  auto& link = bench.link<int>(4);
  link.push(Cycle{5}, 1);
  link.push(Cycle{6}, 2);
  EXPECT_EQ(*link.peek(Cycle{6}, 0), 1);
  EXPECT_EQ(link.peek(Cycle{6}, 1), nullptr);
  EXPECT_EQ(*link.peek(Cycle{7}, 1), 2);
  EXPECT_EQ(link.peek(Cycle{7}, 2), nullptr);
}

TEST(Link, RoomFromAPopCanBeUsedInTheNextCycleNotBefore) {  // (R2)
  Bench bench;
  auto& link = bench.link<int>(2);
  link.push(Cycle{1}, 1);
  link.push(Cycle{2}, 2);
  EXPECT_FALSE(link.can_push(Cycle{3}));
  link.pop(Cycle{3});
  EXPECT_FALSE(link.can_push(Cycle{3}));
  EXPECT_TRUE(link.can_push(Cycle{4}));
  link.pop(Cycle{4});
  link.push(Cycle{4}, 3);
  EXPECT_FALSE(link.can_push(Cycle{4})) << "the entry freed in 3 is taken, the one freed in 4 is not free yet";
  EXPECT_TRUE(link.can_push(Cycle{5}));
}

TEST(Link, CountsTransfersAndItsFullestCycle) {
  Bench bench;
  auto& link = bench.link<int>(3);
  EXPECT_EQ(link.capacity(), 3u);
  link.push(Cycle{1}, 1);
  link.push(Cycle{1}, 2);
  link.pop(Cycle{2});
  link.push(Cycle{2}, 3);
  EXPECT_EQ(link.size(), 2u);
  EXPECT_EQ(link.transfers(), 3u);
  EXPECT_EQ(link.high_water(), 3u) << "in cycle 2 the entry of the popped value was still in use";
}

TEST(Link, ItsDigestDependsOnWhenValuesPassed) {
  const auto digest = [](std::uint64_t cycle) {
    Bench bench;
    auto& link = bench.link<int>(2);
    link.push(Cycle{cycle}, 1);
    StateHash h;
    link.hash(h);
    return h.value();
  };
  EXPECT_EQ(digest(5), digest(5));
  EXPECT_NE(digest(5), digest(6));
}

TEST(Link, APushWakesTheConsumerForTheNextCycle) {  // (R4)
  for (const bool consumer_first : {false, true}) {
    Bench bench;
    const Pair p = make_pair(bench, 2, consumer_first);
    p.pusher->when = {{Cycle{10}, 1}};
    bench.run();
    ASSERT_GE(p.popper->stepped_in.size(), 2u);
    EXPECT_EQ(p.popper->stepped_in[1], Cycle{11});
    ASSERT_EQ(p.popper->popped.size(), 1u);
    EXPECT_EQ(p.popper->popped[0].first, Cycle{11});
  }
}

TEST(Link, APopFromAFullLinkWakesTheProducerForTheNextCycle) {  // (R4)
  for (const bool consumer_first : {false, true}) {
    Bench bench;
    const Pair p = make_pair(bench, 2, consumer_first);
    p.popper->ready = [](Cycle now) { return now.count == 50; };
    p.pusher->when = {{Cycle{10}, 3}};
    bench.run_to(Cycle{60});
    EXPECT_EQ(p.pusher->pushed_in, (std::vector<Cycle>{Cycle{10}, Cycle{10}, Cycle{51}}));
    EXPECT_EQ(p.pusher->stepped_in, (std::vector<Cycle>{Cycle{0}, Cycle{10}, Cycle{51}}));
  }
}

TEST(Link, AProducerThatWasRefusedAfterAPushIsNotForgotten) {  // (R4) room comes from a pop of the same cycle
  for (const bool consumer_first : {false, true}) {
    Bench bench;
    const Pair p = make_pair(bench, 2, consumer_first);
    p.pusher->when = {{Cycle{10}, 1}, {Cycle{11}, 2}};
    bench.run();
    EXPECT_EQ(p.pusher->pushed_in, (std::vector<Cycle>{Cycle{10}, Cycle{11}, Cycle{12}})) << consumer_first;
    EXPECT_EQ(p.popper->popped.size(), 3u);
  }
}

TEST(Link, OneTransferACycleNeedsTwoPlaces) {
  for (const std::uint32_t capacity : {1u, 2u}) {
    Bench bench;
    const Pair p = make_pair(bench, capacity, false);
    p.pusher->when = {{Cycle{1}, 100}};
    bench.run();
    ASSERT_EQ(p.popper->popped.size(), 100u);
    EXPECT_EQ(p.popper->popped.back().first, Cycle{capacity == 1 ? 200u : 101u});
  }
}

// (R3) the same traffic with the two blocks stepped in either order, in every mode
TEST(Link, TheOrderOfSteppingDoesNotChangeAResult) {
  const std::uint64_t seed = test_seed(11);
  for (std::uint64_t round = 0; round < 40; ++round) {
    struct Result {
      std::vector<std::pair<Cycle, int>> popped;
      std::vector<Cycle> pushed_in;
      std::uint64_t digest;
      CycleAccount pusher, popper;
      bool operator==(const Result&) const = default;
    };
    std::vector<Result> results;
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
      for (const bool consumer_first : {false, true}) {
        std::mt19937_64 random(seed + round);
        Bench bench(mode);
        const Pair p = make_pair(bench, 1 + random() % 5, consumer_first);
        Cycle at{0};
        for (int i = 0; i < 200; ++i) {
          at += random() % 4 == 0 ? random() % 40 : random() % 2;
          p.pusher->when.emplace_back(at, 1 + static_cast<int>(random() % 3));
        }
        const std::uint64_t key = random();
        const std::uint64_t share = 1 + random() % 8;
        p.popper->most = 1 + static_cast<int>(random() % 3);
        p.popper->ready = [key, share](Cycle now) {
          return (((now.count + 1) * 0x9e3779b97f4a7c15u) ^ key) >> 40 & 7 ? now.count % share == 0 : true;
        };
        bench.run();
        bench.engine().settle();
        StateHash h;
        p.link->hash(h);
        results.push_back({p.popper->popped, p.pusher->pushed_in, h.value(), p.pusher->account(), p.popper->account()});
      }
    }
    ASSERT_GE(results.front().popped.size(), 200u);
    for (std::size_t i = 1; i < results.size(); ++i)
      ASSERT_TRUE(results[i] == results[0]) << "round " << round << ", " << i;
  }
}

// Values that leave `latency` cycles after they were made, one in a cycle: sent ahead when that is allowed, or each
// pushed in its cycle.
class Pipeline final : public Block {
 public:
  Pipeline(const sc_core::sc_module_name& name, std::uint32_t latency, bool sends)
      : Block(name), latency_(latency), sends_(sends), line_(64) {}
  Out<int> out{"out"};
  std::vector<Cycle> when;
  std::uint64_t sent = 0;
  Cycle step(Cycle now) override {
    const bool blocked = line_.ready(now) && !out.can_push(now);
    if (line_.ready(now) && !blocked) out.push(now, line_.pop());
    while (next_ < when.size() && when[next_] <= now && !line_.full()) {
      const Cycle leaves = latest(now + latency_, last_ + 1);
      if (sends_ && line_.empty() && out.can_send(now, leaves)) {
        out.send(now, leaves, static_cast<int>(next_), [](int& value) { value = -value; });
        ++sent;
      } else {
        line_.push(-static_cast<int>(next_), leaves);
      }
      last_ = leaves;
      ++next_;
    }
    Cycle next = next_ < when.size() ? latest(when[next_], now + 1) : kNever;
    if (blocked) return rest(now, Activity::kBlocked, next);
    if (!line_.empty()) return rest(now, Activity::kBusy, earliest(next, latest(line_.next_ready(), now + 1)));
    if (now < last_) return rest(now, Activity::kBusy, last_, Activity::kStarved, next);
    return rest(now, Activity::kStarved, next);
  }

 private:
  std::uint32_t latency_;
  bool sends_;
  DelayLine<int> line_;
  std::size_t next_ = 0;
  Cycle last_{};
};

TEST(Link, WhatIsSentIsAsIfItWerePushedInItsCycle) {  // (R8) in every mode, with the two blocks stepped in either order
  const std::uint64_t seed = test_seed(12);
  std::uint64_t sent = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    struct Result {
      std::vector<std::pair<Cycle, int>> popped;
      std::uint64_t digest;
      CycleAccount producer;
      bool operator==(const Result&) const = default;
    };
    std::vector<Result> results;
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
      for (const int variant : {0, 1, 2, 3}) {
        std::mt19937_64 random(seed + round);
        Bench bench(mode);
        const bool consumer_first = (variant & 1) != 0;
        Popper* popper = consumer_first ? &bench.add<Popper>("popper") : nullptr;
        auto& pipeline = bench.add<Pipeline>("pipeline", 1 + static_cast<std::uint32_t>(random() % 9), variant >= 2);
        if (!consumer_first) popper = &bench.add<Popper>("popper");
        auto& link = bench.connect(pipeline.out, popper->in, 1 + random() % 6);
        Cycle at{0};
        for (int i = 0; i < 200; ++i) {
          at += random() % 4 == 0 ? random() % 40 : 1;
          pipeline.when.push_back(at);
        }
        const std::uint64_t share = 1 + random() % 4;
        const bool slow = random() % 2 == 0;
        popper->ready = [=](Cycle now) { return !slow || now.count / 64 % 2 == 0 || now.count % share == 0; };
        bench.run();
        bench.engine().settle();
        StateHash h;
        link.hash(h);
        results.push_back({popper->popped, h.value(), pipeline.account()});
        sent += pipeline.sent;
        EXPECT_TRUE(mode == EngineMode::kFast || pipeline.sent == 0) << "a cycle shows what the link holds in it";
      }
    }
    ASSERT_EQ(results.front().popped.size(), 200u);
    for (std::size_t i = 1; i < results.size(); ++i)
      ASSERT_TRUE(results[i] == results[0]) << "round " << round << ", " << i;
  }
  EXPECT_GT(sent, 60u * 2 * 100);
}

TEST(Link, WhatIsSentWakesTheConsumerWhenItCanBePopped) {  // (R4, R8)
  Bench bench;
  auto& popper = bench.add<Popper>("popper");
  auto& pipeline = bench.add<Pipeline>("pipeline", 5u, true);
  bench.connect(pipeline.out, popper.in, 2);
  pipeline.when = {Cycle{10}, Cycle{100}};
  popper.polls = false;
  bench.run();
  EXPECT_EQ(popper.stepped_in, (std::vector<Cycle>{Cycle{0}, Cycle{16}, Cycle{106}}));
  ASSERT_EQ(popper.popped.size(), 2u);
  EXPECT_EQ(popper.popped[0].first, Cycle{16});
  EXPECT_EQ(pipeline.sent, 2u);
}

TEST(Link, NothingIsSentWithoutARoomThatIsSureOrTooFarAhead) {  // (R8)
  Bench bench;
  auto& popper = bench.add<Popper>("popper");
  auto& pusher = bench.add<Pusher>("pusher");
  auto& link = bench.connect(pusher.out, popper.in, 2);
  bench.run_to(Cycle{0});
  EXPECT_TRUE(link.can_send(Cycle{5}, Cycle{5 + kArrivalSlots - 2}));
  EXPECT_FALSE(link.can_send(Cycle{5}, Cycle{5 + kArrivalSlots - 1}));
  link.push(Cycle{5}, 1);
  link.push(Cycle{5}, 2);
  EXPECT_FALSE(link.can_send(Cycle{6}, Cycle{9})) << "it is not known when an entry will be free";
  link.pop(Cycle{7});
  EXPECT_FALSE(link.can_send(Cycle{7}, Cycle{9})) << "the same in either step order";
  EXPECT_TRUE(link.can_send(Cycle{8}, Cycle{9}));
}

// Takes nothing: the test itself pushes to its links and pops from them.
class Watcher final : public Block {
 public:
  explicit Watcher(const sc_core::sc_module_name& name) : Block(name) {
    first.show_in(holding, 1);
    second.show_in(holding, std::uint64_t{1} << 63);
  }
  In<int> first{"first"}, second{"second"};
  std::uint64_t holding = 0;
  Cycle step(Cycle now) override { return rest(now, Activity::kStarved, kNever); }
};

TEST(Link, ShowsInABitWhetherItIsEmpty) {  // (R6)
  Bench bench;
  auto& watcher = bench.add<Watcher>("watcher");
  auto& first = bench.link<int>(2);
  auto& second = bench.link<int>(2);
  watcher.first.bind(first);
  watcher.second.bind(second);
  bench.run_to(Cycle{0});
  EXPECT_EQ(watcher.holding, 0u);
  second.push(Cycle{5}, 1);
  EXPECT_EQ(watcher.holding, std::uint64_t{1} << 63) << "from the cycle of the push on";
  first.push(Cycle{5}, 2);
  first.push(Cycle{6}, 3);
  first.pop(Cycle{7});
  EXPECT_EQ(watcher.holding, std::uint64_t{1} << 63 | 1) << "one is left";
  first.pop(Cycle{7});
  EXPECT_EQ(watcher.holding, std::uint64_t{1} << 63);
  second.pop(Cycle{8});
  EXPECT_EQ(watcher.holding, 0u);
}

TEST(LinkDeathTest, APushIntoAFullLinkEndsTheProgramAndNamesTheLink) {  // (R2)
  Bench bench;
  auto& link = bench.keep<Link<int>>("narrow", 2u);
  link.push(Cycle{5}, 1);
  link.push(Cycle{5}, 2);
  EXPECT_DEATH(link.push(Cycle{6}, 3), "^rxnic: link narrow overflows in cycle 6: all of its 2 entries are in use\n$");
  link.pop(Cycle{7});
  EXPECT_DEATH(link.push(Cycle{7}, 3), "link narrow overflows in cycle 7") << "there is room a cycle later (R2)";
  EXPECT_DEATH(link.send(Cycle{7}, Cycle{9}, 3, [](int&) {}), "link narrow overflows in cycle 7");
  link.push(Cycle{8}, 3);
}

TEST(Link, ItIsIdleFromTheCycleAfterTheLastPop) {  // whichever block is stepped first
  Bench bench;
  auto& link = bench.link<int>(2);
  EXPECT_TRUE(link.idle(Cycle{0}));
  link.push(Cycle{1}, 5);
  EXPECT_FALSE(link.idle(Cycle{1}));
  link.pop(Cycle{2});
  EXPECT_FALSE(link.idle(Cycle{2}));
  EXPECT_TRUE(link.idle(Cycle{3}));
}

TEST(Link, APortThatIsNotBoundHasNothing) {
  Bench bench;
  auto& popper = bench.add<Popper>("popper");
  auto& pusher = bench.add<Pusher>("pusher");
  bench.run();
  EXPECT_FALSE(popper.in.bound());
  EXPECT_FALSE(pusher.out.bound());
  EXPECT_TRUE(popper.in.empty());
  EXPECT_FALSE(popper.in.can_pop(Cycle{5}));
  EXPECT_EQ(popper.in.peek(Cycle{5}), nullptr);
}

// (R7)
TEST(LinkDeathTest, WhatDoesNotFitItsPortIsNotPushed) {
#ifdef NDEBUG
  GTEST_SKIP() << "assertions are off";
#endif
  Bench bench;
  auto& link = bench.link<Event>(4);
  link.push(Cycle{1}, {EventType::kQpFatal, 0xffffff});
  EXPECT_DEATH(link.push(Cycle{1}, {EventType::kQpFatal, 0x1000000}),
               "link0: Event: number: 16777216 has more than 24 bits");
}

}  // namespace
}  // namespace rxnic::link_test
