// SPDX-License-Identifier: Apache-2.0
// What is refused of RTL (bridge/rtl/twin.h, R4, R5), how differences of cycles are counted (cycle_spread.h), and
// what late reads get (read_history.h).
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "bridge/rtl/cycle_spread.h"
#include "bridge/rtl/read_history.h"
#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/twin.h"

namespace rxnic::twin_cosim_test {
namespace {

using Lines = std::vector<std::string>;

// RTL of a block with an input of 12 bits, a parameter and a size; `change` makes RTL that differs.
struct Module {
  std::vector<RxnicRtlSignal> signals{{"clk_i", kRxnicRtlInput, 1, 1},        {"rst_ni", kRxnicRtlInput, 1, 1},
                                      {"quiescent_o", kRxnicRtlOutput, 1, 1}, {"in_valid_i", kRxnicRtlInput, 1, 1},
                                      {"in_ready_o", kRxnicRtlOutput, 1, 1},  {"in_i", kRxnicRtlInput, 12, 2}};
  std::vector<RxnicRtlParameter> parameters{{"Latency", 4}, {"Slots", 64}, {"Own", 9}};
};

Lines differences_of(const std::function<void(Module&)>& change) {
  const BlockFacts facts{{{"Latency", 4}, {"Slots", 32, true}}, {{.name = "in", .kind = PortKind::kIn, .bits = 12}}};
  Module d;
  change(d);
  RxnicRtl rtl{};
  rtl.signals = d.signals.data();
  rtl.signal_count = static_cast<std::uint32_t>(d.signals.size());
  rtl.parameters = d.parameters.data();
  rtl.parameter_count = static_cast<std::uint32_t>(d.parameters.size());
  return differences(rtl, facts);
}

TEST(TwinDifferences, RtlThatFitsHasNone) {  // with a larger memory, and a parameter of its own
  EXPECT_EQ(differences_of([](Module&) {}), Lines{});
}

TEST(TwinDifferences, EachIsNamedWithBothValues) {
  EXPECT_EQ(differences_of([](Module& d) { d.parameters[0].value = 5; }),
            Lines{"parameter Latency: found 5; expected 4"});
  EXPECT_EQ(differences_of([](Module& d) { d.parameters[1].value = 31; }),
            Lines{"parameter Slots: found 31; expected 32 or more"});
  EXPECT_EQ(differences_of([](Module& d) { d.parameters.erase(d.parameters.begin()); }),
            Lines{"parameter Latency: found none; expected one of value 4"});
  EXPECT_EQ(differences_of([](Module& d) { d.signals[5].bits = 13; }),
            Lines{"signal in_i: found 13 bits; expected 12"});
  EXPECT_EQ(differences_of([](Module& d) { d.signals[5].bytes = 1; }),
            Lines{"signal in_i: found 1 bytes; expected room for 12 bits"});
  EXPECT_EQ(differences_of([](Module& d) { d.signals[4].direction = kRxnicRtlInput; }),
            Lines{"signal in_ready_o: found an input; expected an output"});
  EXPECT_EQ(differences_of([](Module& d) { d.signals.pop_back(); }),
            Lines{"signal in_i: found none; expected an input of 12 bits"});
  EXPECT_EQ(differences_of([](Module& d) {
              d.signals.push_back({"debug_o", kRxnicRtlOutput, 3, 1});
            }),
            Lines{"signal debug_o: found an output of 3 bits; expected none of that name"});
}

TEST(TwinDifferences, RtlMaySayItsActivity) {  // R4
  const auto with = [](const RxnicRtlSignal& signal) {
    return differences_of([&signal](Module& d) { d.signals.push_back(signal); });
  };
  EXPECT_EQ(with({"activity_o", kRxnicRtlOutput, 5, 1}), Lines{});
  EXPECT_EQ(with({"activity_o", kRxnicRtlOutput, 1, 1}), Lines{"signal activity_o: found 1 bits; expected 5"});
  EXPECT_EQ(with({"activity_o", kRxnicRtlInput, 5, 1}), Lines{"signal activity_o: found an input; expected an output"});
}

TEST(TwinDifferences, AllOfThemAreNamed) {
  EXPECT_EQ(differences_of([](Module& d) {
              d.parameters[0].value = 5;
              d.signals[5].bits = 11;
            }),
            (Lines{"parameter Latency: found 5; expected 4", "signal in_i: found 11 bits; expected 12"}));
}

TEST(RtlFile, WhatIsNoneIsRefused) {
  for (const auto& [file, words] : {std::pair{"no_such_file.so", "found no such file"},
                                    std::pair{RXNIC_SOURCE_DIR "/README.md", "found no shared object"}}) {
    try {
      load_rtl(file);
      FAIL();
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).rfind(file, 0), 0u) << e.what();
    }
  }
}

TEST(CycleSpread, PercentilesAndExtremes) {
  CycleSpread s;
  EXPECT_EQ(s.count(), 0u);
  for (int n = 1; n <= 100; ++n) s.add(n);
  s.add(-5);
  EXPECT_EQ(s.text(), "min -5   median 50   p99 99   max 100");
  s.add(1'000'001);
  EXPECT_EQ(s.max(), 1'000'001);
}

TEST(CycleSpread, LargeDifferencesAreKeptWithinTheirLimit) {  // R1
  for (const std::int64_t cycles : {511LL, -511LL, 513LL, -1'000'003LL, 123'456'789LL}) {
    CycleSpread s;
    s.add(cycles);
    s.add(10 * cycles);
    const auto found = static_cast<double>(cycles > 0 ? s.percentile(0.5) : s.percentile(1.0));
    EXPECT_NEAR(found, static_cast<double>(cycles), 0.004 * std::abs(static_cast<double>(cycles)));
    if (std::abs(cycles) < 512) {
      EXPECT_EQ(found, static_cast<double>(cycles));
    }
  }
}

TEST(CycleSpread, TheHistogramHasALineForEachDifferenceOrForPowersOfTwo) {  // R2
  CycleSpread few;
  for (int n = 0; n < 3; ++n) few.add(1);
  few.add(-2);
  const Lines lines = few.histogram();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("            -2 █"), 0u) << lines[0];
  EXPECT_NE(lines[1].find("3  75.00 %"), std::string::npos) << lines[1];
  CycleSpread many;
  for (int n = -3; n <= 20; ++n) many.add(n);
  const Lines ranges = many.histogram();
  const Lines names{"-3..-2", "-1", "0", "1", "2..3", "4..7", "8..15", "16..31"};
  ASSERT_EQ(ranges.size(), names.size());
  for (std::size_t n = 0; n < names.size(); ++n) EXPECT_NE(ranges[n].find(" " + names[n] + " █"), std::string::npos);
}

using Bits = ReadHistory::Bits;

TEST(ReadHistory, TheNearestReadAnswers) {  // R1
  ReadHistory h;
  EXPECT_EQ(h.near({1}, Cycle{10}, Cycle{10}), nullptr);
  h.note({1}, {100}, Cycle{10}, Cycle{10});
  h.note({1}, {100}, Cycle{20}, Cycle{10});
  h.note({1}, {200}, Cycle{500}, Cycle{10});
  EXPECT_EQ(*h.near({1}, Cycle{12}, Cycle{600}), Bits{100});
  EXPECT_EQ(*h.near({1}, Cycle{259}, Cycle{600}), Bits{100});
  EXPECT_EQ(*h.near({1}, Cycle{261}, Cycle{600}), Bits{200});
  EXPECT_EQ(h.near({2}, Cycle{12}, Cycle{600}), nullptr);
  EXPECT_EQ(h.near({1}, Cycle{599}, Cycle{600}), nullptr) << "what stands there now is nearer";
  EXPECT_EQ(h.near({1}, Cycle{600}, Cycle{600}), nullptr);
}

TEST(ReadHistory, OldReadsAreForgotten) {  // R2
  ReadHistory h;
  h.note({1}, {100}, Cycle{10}, Cycle{10});
  h.note({2}, {100}, Cycle{20}, Cycle{20});
  h.note({3}, {100}, Cycle{10 + ReadHistory::kKept}, Cycle{10 + ReadHistory::kKept});
  EXPECT_EQ(h.addresses(), 3u);
  h.note({3}, {100}, Cycle{11 + ReadHistory::kKept}, Cycle{11 + ReadHistory::kKept});
  EXPECT_EQ(h.addresses(), 2u);
}

}  // namespace
}  // namespace rxnic::twin_cosim_test
