// SPDX-License-Identifier: Apache-2.0
#include "model/system/explanations.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

RunResult waited(std::uint64_t cycles_of_100, std::vector<NamedCount> counters) {
  RunResult r;
  r.cycles = 100;
  BlockResult cam{"tag_match_cam", {}, std::move(counters)};
  cam.account[static_cast<std::size_t>(Activity::kWaitTag)] = cycles_of_100;
  r.blocks = {BlockResult{"rx_parser", {}, {}}, cam};
  explain_tag_searches(r);
  return r;
}

TEST(Explanations, SearchesInTheOverflowAreNamedWhenTheyTakeAQuarterOfTheRun) {
  const std::vector<NamedCount> walks = {{"searches", 1440}, {"walks", 95}, {"walk_reads", 612}, {"unexpected", 1364}};
  const RunResult r = waited(25, walks);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("25 % of the cycles it waited for tags in memory"), std::string::npos) << r.warnings[0];
  EXPECT_NE(r.warnings[0].find("95 of 1 440 searches walked the rest of their list, 6.4 reads"), std::string::npos);
  EXPECT_NE(r.warnings[0].find("1 364 messages matched no tag"), std::string::npos);
  EXPECT_TRUE(waited(24, walks).warnings.empty());
  EXPECT_TRUE(waited(90, {{"searches", 1440}}).warnings.empty()) << "a search in the CAM waits, too";
}

TEST(Explanations, WaitsForTheRefillAreNamed) {
  const RunResult r = waited(79, {{"searches", 1440}, {"refill_waits", 974}});
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("and 974 waited for tags on their way into it"), std::string::npos) << r.warnings[0];
}

TEST(Explanations, OfProgramsTheNicIsNamed) {
  RunResult r = waited(50, {{"walks", 1}});
  r.nics.resize(2);
  std::swap(r.nics[1].blocks, r.blocks);
  r.warnings.clear();
  explain_tag_searches(r);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_EQ(r.warnings[0].find("tag_match_cam of NIC 1: 50 %"), 0u) << r.warnings[0];
}

}  // namespace
}  // namespace rxnic
