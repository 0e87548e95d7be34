// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/counters_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/types/all_counters.h"
#include "model/types/drop_reason.h"

namespace rxnic::counters_table_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CountersTable, HasEveryCounterWithUnitMeaningAndPlace) {
  const std::string text = counters_text();
  const auto json = nlohmann::json::parse(counters_json());
  for_each_counters([&]<class C>() {
    const std::string section(Counters<C>::kSection);
    EXPECT_THAT(text, HasSubstr("\n" + section + ": "));
    EXPECT_EQ(json.at(section).at("report"), std::string(Counters<C>::kReport));
    EXPECT_EQ(json.at(section).at("counters").size(), Counters<C>::kAll.size());
    for (const CounterInfo& info : Counters<C>::kAll) {
      EXPECT_THAT(text, testing::ContainsRegex("  " + std::string(info.key) + " +" + std::string(info.unit) + " "));
      EXPECT_THAT(text, HasSubstr("  " + std::string(info.sentence) + "\n"));
      EXPECT_EQ(json.at(section).at("counters").at(std::string(info.key)).at("unit"), std::string(info.unit));
    }
  });
}

TEST(CountersTable, HasDropReasonsAndActivities) {
  const auto json = nlohmann::json::parse(counters_json());
  EXPECT_EQ(json.at("dropped").at("counters").size(), Enumeration<DropReason>::kValues.size());
  EXPECT_EQ(json.at("activity").at("counters").at("wait_wqe").at("unit"), "cycles");
  EXPECT_THAT(counters_text("dropped"),
              HasSubstr("Longer than any legal packet: its payload is above the largest MTU, 4096.\n"));
}

TEST(CountersTable, OfOneSectionHasNoOther) {
  EXPECT_THAT(counters_text("rx_parser"), HasSubstr("ecn_marked"));
  EXPECT_THAT(counters_text("rx_parser"), Not(HasSubstr("rnr_naks")));
  EXPECT_EQ(nlohmann::json::parse(counters_json("fabric")).size(), 1u);
}

TEST(CountersTable, UnknownSectionIsRefused) {
  EXPECT_THROW(counters_text("colours"), std::invalid_argument);
  EXPECT_THROW(counters_json("colours"), std::invalid_argument);
}

}  // namespace
}  // namespace rxnic::counters_table_test
