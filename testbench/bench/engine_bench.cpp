// SPDX-License-Identifier: Apache-2.0
// The engine alone: a pipeline of ten small blocks at idle, at 5 % and at full load. Cycles are simulated cycles.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "model/engine/delay_line.h"
#include "model/engine/engine.h"
#include "model/engine/link.h"
#include "model/system/kernel.h"

namespace rxnic {
namespace {

constexpr int kStages = 10;
constexpr std::uint64_t kLatency = 3;

class Stage final : public Block {
 public:
  explicit Stage(const sc_core::sc_module_name& name) : Block(name) {}
  Cycle step(Cycle now) override {
    const bool moved = line_.ready(now) && (!out.bound() || out.can_push(now));
    if (moved) {
      const std::uint64_t value = line_.pop();
      if (out.bound()) out.push(now, value);
    }
    if (!line_.full() && in.can_pop(now)) line_.push(in.pop(now), now + kLatency);
    if (line_.empty()) return rest(now, moved ? Activity::kBusy : Activity::kStarved, moved ? now + 1 : kNever);
    return rest(now, Activity::kBusy, latest(line_.next_ready(), now + 1));
  }
  In<std::uint64_t> in{"in"};
  Out<std::uint64_t> out{"out"};

 private:
  DelayLine<std::uint64_t> line_{8};
};

class Feeder final : public Block {
 public:
  Feeder(const sc_core::sc_module_name& name, std::uint64_t interval, std::uint64_t last)
      : Block(name), interval_(interval), last_(last) {}
  Cycle step(Cycle now) override {
    if (now.count >= last_) return rest(now, Activity::kStarved, kNever);
    if (interval_ == 0) return rest(now, Activity::kStarved, Cycle{last_});
    if (now.count % interval_ == 0 && out.can_push(now)) out.push(now, now.count);
    return rest(now, Activity::kBusy, Cycle{(now.count / interval_ + 1) * interval_});
  }
  Out<std::uint64_t> out{"out"};

 private:
  std::uint64_t interval_;
  std::uint64_t last_;
};

// `interval`: cycles between values, 0: none at all.
void pipeline(benchmark::State& state) {
  const auto interval = static_cast<std::uint64_t>(state.range(0));
  const auto cycles = static_cast<std::uint64_t>(state.range(1));
  for (auto _ : state) {
    Kernel kernel;
    Engine engine("engine", {});
    Feeder feeder("feeder", interval, cycles);
    engine.add(feeder);
    std::vector<std::unique_ptr<Stage>> stages;
    std::vector<std::unique_ptr<Link<std::uint64_t>>> links;
    for (int i = 0; i < kStages; ++i) {
      stages.push_back(std::make_unique<Stage>(("stage" + std::to_string(i)).c_str()));
      links.push_back(std::make_unique<Link<std::uint64_t>>(("link" + std::to_string(i)).c_str(), 4));
      if (i == 0) {
        feeder.out.bind(*links.back());
      } else {
        stages[static_cast<std::size_t>(i - 1)]->out.bind(*links.back());
      }
      stages.back()->in.bind(*links.back());
      engine.add(*stages.back());
      engine.add(*links.back());
    }
    sc_core::sc_start();
    if (engine.now().count < cycles) state.SkipWithError("the pipeline stopped early");
  }
  state.counters["cycles_per_s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(cycles), benchmark::Counter::kIsRate);
}
BENCHMARK(pipeline)->Name("engine/full_load")->Args({1, 1'000'000})->Unit(benchmark::kMillisecond);
BENCHMARK(pipeline)->Name("engine/5_percent")->Args({20, 10'000'000})->Unit(benchmark::kMillisecond);
BENCHMARK(pipeline)->Name("engine/1_percent")->Args({100, 50'000'000})->Unit(benchmark::kMillisecond);
BENCHMARK(pipeline)->Name("engine/idle")->Args({0, 1'000'000'000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rxnic
