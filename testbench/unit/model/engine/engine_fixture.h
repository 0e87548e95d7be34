// SPDX-License-Identifier: Apache-2.0
// Blocks for the tests of the engine: one whose steps the test defines, and one that works, blocks and wakes. Also a
// process outside of the engine.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "testbench/unit/model/engine/harness.h"

namespace rxnic {

inline constexpr std::uint64_t kPeriodPs = 1000;

// Records its steps and calls the test's function in each.
class Probe final : public Block {
 public:
  explicit Probe(const sc_core::sc_module_name& name) : Block(name) {}
  std::function<Cycle(Cycle)> next = [](Cycle) { return kNever; };
  std::vector<Cycle> steps;
  std::vector<sc_core::sc_time> times;  // sc_time_stamp() in each
  Cycle step(Cycle now) override {
    steps.push_back(now);
    times.push_back(sc_core::sc_time_stamp());
    return rest(now, Activity::kBusy, next(now));
  }
};

// A SystemC process outside of the engine.
class Outsider final : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Outsider);
  Outsider(const sc_core::sc_module_name& name, std::function<void()> body) : sc_module(name), body_(std::move(body)) {
    SC_THREAD(run);
  }

 private:
  void run() { body_(); }
  std::function<void()> body_;
};

// Delays each value and passes it on: it is busy, blocked and woken in every way.
class Relay final : public Block {
 public:
  Relay(const sc_core::sc_module_name& name, std::uint64_t key) : Block(name), key_(key) {}
  In<int> in{"in"};
  Out<int> out{"out"};
  void hash(StateHash& h) const override { h.mix(passed_); }
  Cycle step(Cycle now) override {
    if (holding_ && now >= ready_) {
      if (!out.can_push(now)) return rest(now, Activity::kBlocked, kNever);
      out.push(now, value_);
      holding_ = false;
      ++passed_;
    }
    if (!holding_ && in.can_pop(now)) {
      value_ = in.pop(now);
      holding_ = true;
      const std::uint64_t mixed = (static_cast<std::uint64_t>(value_) + key_) * 0x9e3779b97f4a7c15u;
      ready_ = now + 1 + (mixed >> 60);
    }
    if (holding_) return rest(now, Activity::kBusy, ready_);
    return rest(now, Activity::kStarved, in.empty() ? kNever : now + 1);
  }

 private:
  std::uint64_t key_;
  int value_ = 0;
  bool holding_ = false;
  Cycle ready_{};
  std::uint64_t passed_ = 0;
};

// 300 values through five relays and links of random sizes, to a sink that stalls; the state hash.
inline std::uint64_t relay_chain(Bench& bench, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto& source = bench.add<Source<int>>("source");
  Out<int>* out = &source.out;
  for (int i = 0; i < 5; ++i) {
    auto& relay = bench.add<Relay>(("relay" + std::to_string(i)).c_str(), random());
    bench.connect(*out, relay.in, 1 + random() % 4);
    out = &relay.out;
  }
  auto& sink = bench.sink(*out, 1 + random() % 4);
  const std::uint64_t key = random();
  sink.accept_when([key](Cycle now) { return ((now.count * 0x9e3779b97f4a7c15u) ^ key) >> 62 != 0; });
  Cycle at{0};
  for (int i = 0; i < 300; ++i) {
    at += random() % 3 == 0 ? random() % 200 : random() % 3;
    source.push(at, i);
  }
  bench.run();
  EXPECT_EQ(sink.size(), 300u);
  return bench.state_hash();
}

}  // namespace rxnic
