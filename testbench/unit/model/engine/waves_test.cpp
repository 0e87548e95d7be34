// SPDX-License-Identifier: Apache-2.0
#include "model/engine/waves.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "model/types/event.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {
namespace {

// A file name of the test's own; the file is removed after the test.
class WavesTest : public testing::Test {
 protected:
  ~WavesTest() override { std::filesystem::remove(path); }
  std::string path = (std::filesystem::temp_directory_path() /
                      ("rxnic_waves_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "_" +
                       std::to_string(std::rand()) + ".vcd"))
                         .string();
};

using Changes = std::map<std::uint64_t, unsigned>;  // picoseconds, value

// The changes of each signal in a VCD, by "scope.name", without the width suffix " [2:0]" that SystemC writes.
std::map<std::string, Changes> read_vcd(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::string> names;  // by identifier code
  std::map<std::string, Changes> signals;
  std::vector<std::string> scopes;
  std::uint64_t time = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "$scope") {
      std::string kind, name;
      words >> kind >> name;
      scopes.push_back(name);
    } else if (word == "$upscope") {
      scopes.pop_back();
    } else if (word == "$var") {
      std::string type, width, code, name;
      words >> type >> width >> code >> name;
      std::string full;
      for (const std::string& scope : scopes) {
        if (scope != "SystemC") full += scope + ".";
      }
      names[code] = full + name;
      signals[full + name];
    } else if (!word.empty() && word[0] == '#') {
      time = std::stoull(word.substr(1));
    } else if (!word.empty() && word[0] == 'b') {
      std::string code;
      words >> code;
      signals.at(names.at(code))[time] = static_cast<unsigned>(std::stoul(word.substr(1), nullptr, 2));
    } else if (word.size() > 1 && (word[0] == '0' || word[0] == '1') && names.contains(word.substr(1))) {
      signals.at(names.at(word.substr(1)))[time] = static_cast<unsigned>(word[0] - '0');
    }
  }
  return signals;
}

constexpr unsigned kStarved = static_cast<unsigned>(Activity::kStarved);
constexpr unsigned kBusy = static_cast<unsigned>(Activity::kBusy);
constexpr unsigned kBlocked = static_cast<unsigned>(Activity::kBlocked);

TEST_F(WavesTest, ActivitiesAndOccupanciesChangeInTheirCycles) {  // (R1) (R2)
  {
    Bench bench(EngineMode::kPerCycle, 1000);
    auto& source = bench.add<Source<int>>("source");
    auto& sink = bench.add<Sink<int>>("sink");
    bench.connect(source.out, sink.in, 2);
    sink.stall(Cycle{0}, Cycle{40});
    for (int i = 0; i < 3; ++i) source.push(Cycle{10}, i);
    Waves waves(bench.engine(), path);
    bench.run();
  }
  const auto signals = read_vcd(path);
  ASSERT_TRUE(signals.contains("sink.activity"));
  ASSERT_TRUE(signals.contains("source.activity"));
  ASSERT_TRUE(signals.contains("link0.occupancy"));
  EXPECT_EQ(signals.at("source.activity"), (Changes{{0, kStarved}, {10000, kBlocked}, {41000, kStarved}}));
  EXPECT_EQ(signals.at("sink.activity"),
            (Changes{{0, kStarved}, {11000, kBlocked}, {40000, kBusy}, {43000, kStarved}}));
  EXPECT_EQ(signals.at("link0.occupancy"), (Changes{{0, 0}, {10000, 2}, {40000, 1}, {42000, 0}}));
}

TEST_F(WavesTest, EveryBlockAndLinkIsTraced) {  // (R3)
  std::size_t expected = 0;
  {
    Bench bench(EngineMode::kPerCycle);
    auto& source = bench.add<Source<int>>("source");
    bench.sink(source.out);
    expected = bench.engine().blocks().size() + bench.engine().links().size();
    Waves waves(bench.engine(), path);
    bench.run();
  }
  EXPECT_EQ(read_vcd(path).size(), expected);
}

TEST_F(WavesTest, HeadOfALinkIsTracedByField) {  // (R1)
  {
    Bench bench(EngineMode::kPerCycle, 1000);
    auto& source = bench.add<Source<Event>>("source");
    auto& sink = bench.add<Sink<Event>>("sink");
    bench.connect(source.out, sink.in, 2);
    sink.stall(Cycle{0}, Cycle{40});
    source.push(Cycle{10}, {EventType::kQpFatal, 5});
    source.push(Cycle{10}, {EventType::kCqError, 0x800000});
    Waves waves(bench.engine(), path);
    bench.run();
  }
  const auto signals = read_vcd(path);
  const auto type = [](EventType t) { return static_cast<unsigned>(t); };
  ASSERT_TRUE(signals.contains("link0.head.type"));
  ASSERT_TRUE(signals.contains("link0.head.number"));
  EXPECT_EQ(signals.at("link0.head.type"),
            (Changes{{0, 0}, {10000, type(EventType::kQpFatal)}, {40000, type(EventType::kCqError)}, {41000, 0}}));
  EXPECT_EQ(signals.at("link0.head.number"), (Changes{{0, 0}, {10000, 5}, {40000, 0x800000}, {41000, 0}}));
}

TEST_F(WavesTest, NeedsPerCycleModeAndAProperName) {
  {
    Bench bench(EngineMode::kFast);
    EXPECT_THROW(Waves(bench.engine(), path), std::invalid_argument);
  }
  Bench bench(EngineMode::kPerCycle);
  EXPECT_THROW(Waves(bench.engine(), "waves.fst"), std::invalid_argument);
}

}  // namespace
}  // namespace rxnic
