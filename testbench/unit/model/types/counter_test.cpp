// SPDX-License-Identifier: Apache-2.0
// Counters as generated, and the loops over them: state hash and subtraction.
#include "model/types/counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/engine/state_hash.h"
#include "model/types/all_counters.h"
#include "testbench/unit/model/types/generator_fixture.h"

namespace rxnic::counter_test {
namespace {

using testing::HasSubstr;

// Sets the n-th number of a struct of counters.
template <Counted C>
void set(C& counters, std::size_t n, std::uint64_t value) {
  std::size_t i = 0;
  Counters<C>::for_each([&](const CounterInfo&, std::uint64_t& number) { number = i++ == n ? value : number; },
                        counters);
}

TEST(Counters, EachNumberOfAStructIsDescribedAndReached) {
  std::size_t seen = 0;
  for_each_counters([&]<class C>() {
    SCOPED_TRACE(Counters<C>::kSection);
    EXPECT_EQ(sizeof(C), Counters<C>::kAll.size() * sizeof(std::uint64_t));
    for (std::size_t n = 0; n < Counters<C>::kAll.size(); ++n, ++seen) {
      C counters;
      set(counters, n, 7);
      std::size_t i = 0;
      Counters<C>::for_each([&](const CounterInfo&, std::uint64_t v) { EXPECT_EQ(v, i++ == n ? 7u : 0u); }, counters);
    }
  });
  EXPECT_GE(seen, 143u);
}

TEST(Counters, NoTwoHaveTheSamePlaceInTheReport) {
  std::set<std::pair<std::string_view, std::string_view>> places;
  for_each_counters([&]<class C>() {
    for (const CounterInfo& info : Counters<C>::kAll) {
      EXPECT_TRUE(places.emplace(Counters<C>::kReport, info.key).second) << Counters<C>::kReport << ' ' << info.key;
      EXPECT_FALSE(info.unit.empty());
      EXPECT_FALSE(info.sentence.empty());
    }
  });
}

TEST(Counters, StateHashSeesEachNumber) {
  for_each_counters([&]<class C>() {
    SCOPED_TRACE(Counters<C>::kSection);
    const auto hash = [](const C& counters) {
      StateHash h;
      h.mix(counters);
      return h.value();
    };
    std::set<std::uint64_t> seen{hash(C{})};
    for (std::size_t n = 0; n < Counters<C>::kAll.size(); ++n) {
      C counters;
      set(counters, n, 1);
      EXPECT_TRUE(seen.insert(hash(counters)).second) << Counters<C>::kAll[n].key;
    }
  });
}

TEST(Counters, AWarmUpIsSubtractedButNotFromAHighWaterMark) {
  const RxBufferCounters before{10, 2, 4096};
  const RxBufferCounters now{25, 3, 5000};
  const RxBufferCounters since = now - before;
  EXPECT_EQ(since.packets, 15u);
  EXPECT_EQ(since.dropped, 1u);
  EXPECT_EQ(since.high_water_bytes, 5000u);
  DmaEngineCounters dma;
  dma.client_requests[3] = 9;
  EXPECT_EQ((dma - DmaEngineCounters{}).client_requests[3], 9u);
  EXPECT_EQ((dma - dma).client_requests[3], 0u);
}

constexpr char kColours[] = R"(
[parcel]
about = "A test."
[parcel.Colour]
about = "A colour."
count = true
[parcel.Colour.values]
red = "Red."
blue = ""
)";
constexpr char kCam[] = R"(
[cam]
about = "A block."
[cam.counters]
hits = { unit = "tags", sentence = "Found." }
by_colour = { by = "Colour", unit = "tags", sentence = "Of a colour." }
most = { key = "most_tags", unit = "tags", high_water = true, sentence = "Most." }
[cam_table]
about = "A part of it."
report = "blocks.cam.counters"
[cam_table.counters]
walks = { unit = "walks", sentence = "Made." }
)";

class GeneratedCounters : public GeneratorFixture {};

TEST_F(GeneratedCounters, HaveAStructAndItsDescription) {
  ASSERT_TRUE(generate(kColours, kCam)) << complaint();
  EXPECT_THAT(made("model/types/parcel.h"), HasSubstr("  kBlue,\n  kCount\n};"));
  const std::string header = made("model/types/cam_counters.h");
  EXPECT_THAT(header, HasSubstr("struct CamCounters {\n  // Found. [tags]\n  std::uint64_t hits = 0;\n"));
  EXPECT_THAT(header, HasSubstr("  std::array<std::uint64_t, 2> by_colour{};  // by Colour\n"));
  EXPECT_THAT(header, HasSubstr("kReport = \"blocks.cam.counters\";"));
  EXPECT_THAT(header, HasSubstr("{\"by_colour_blue\", \"tags\", \"Of a colour.\", false},"));
  EXPECT_THAT(header, HasSubstr("{\"most_tags\", \"tags\", \"Most.\", true},"));
  EXPECT_THAT(header, HasSubstr("    f(kAll[2], c.by_colour[1]...);\n    f(kAll[3], c.most...);\n"));
  EXPECT_THAT(made("model/types/all_counters.h"), HasSubstr("f.template operator()<CamTableCounters>();"));
}

TEST_F(GeneratedCounters, FlawsAreRefusedByName) {
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& because) {
    std::string text = kCam;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(generate(kColours, text.replace(at, from.size(), to))) << to;
    EXPECT_THAT(complaint(), HasSubstr("counters.toml: " + because));
  };
  refused("unit = \"tags\", ", "", "cam.hits: expected a unit");
  refused("\"Found.\"", "\"Found\"", "cam.hits: expected a sentence");
  refused("by = \"Colour\"", "by = \"Color\"", "cam.by_colour: expected by = an enumeration");
  refused("high_water", "highwater", "cam.most: expected no keys but");
  refused("walks = {", "hits = {", "cam_table.hits: expected a key other than hits");
  refused("about = \"A block.\"", "", "cam: expected about");
}

}  // namespace
}  // namespace rxnic::counter_test
