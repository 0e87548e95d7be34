// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/lost_preload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testbench/unit/temporary_folder.h"

namespace rxnic::lost_preload_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class LostPreloadTest : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(folder_.file(LostPreload::kFile), std::ios::binary) << text; }
  TemporaryFolder folder_;
  LostPreload lost_{folder_.file(""), "ours.so"};
};

TEST_F(LostPreloadTest, NamesTheProgramAndTheLineThatHelpsOnce) {
  EXPECT_EQ(lost_.news(), "") << "nobody has lost it";
  write("");
  EXPECT_EQ(lost_.news(), "") << "it is being written";
  write("iperf3\n/lib/librspreload.so");
  const std::string news = lost_.news();
  EXPECT_THAT(news, HasSubstr("iperf3 was started with LD_PRELOAD=/lib/librspreload.so, without ours.so"));
  EXPECT_THAT(news, HasSubstr("LD_PRELOAD=/lib/librspreload.so:$LD_PRELOAD"));
  EXPECT_EQ(lost_.news(), "") << "it was said";
}

TEST_F(LostPreloadTest, WithoutAnyPreload) {
  write("rping\n");
  EXPECT_THAT(lost_.news(), HasSubstr("rping was started with no LD_PRELOAD, without ours.so"));
}

TEST_F(LostPreloadTest, WhatAProgramWroteIsNotTrusted) {  // R2
  write("a\033[31m\n\001" + std::string(100'000, 'x'));
  const std::string news = lost_.news();
  EXPECT_THAT(news, HasSubstr("a?[31m was started with LD_PRELOAD=?xxx"));
  EXPECT_THAT(news, Not(HasSubstr("\033")));
  EXPECT_LT(news.size(), 10'000u);
}

TEST_F(LostPreloadTest, ALinkIsNotFollowedAndNoFilesAreNoNews) {
  const auto other = folder_.file("other");
  std::ofstream(other) << "a\nb";
  std::filesystem::create_symlink(other, folder_.file(LostPreload::kFile));
  EXPECT_EQ(lost_.news(), "");
  EXPECT_EQ(LostPreload("", "ours.so").news(), "");
}

}  // namespace
}  // namespace rxnic::lost_preload_test
