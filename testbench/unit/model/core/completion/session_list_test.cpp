// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/session_list.h"

#include <gtest/gtest.h>

namespace rxnic::session_list_test {
namespace {

TEST(SessionList, TheOneThatGrewLongestAgoIsFirst) {
  SessionList list(4);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.first_ends(), kNever);
  for (std::uint32_t line = 0; line < 4; ++line) list.push_back(line, Cycle{10 + line});
  EXPECT_EQ(list.first(), 0u);
  EXPECT_EQ(list.first_ends(), Cycle{10});
  list.push_back(0, Cycle{20});  // it has grown
  list.push_back(2, Cycle{21});
  for (const std::uint32_t line : {1u, 3u, 0u, 2u}) {
    EXPECT_EQ(list.first(), line);
    list.remove(line);
  }
  EXPECT_TRUE(list.empty());
}

TEST(SessionList, OneIsTakenOutAnywhereAndOnce) {
  SessionList list(3);
  for (std::uint32_t line = 0; line < 3; ++line) list.push_back(line, Cycle{line});
  list.remove(1);
  list.remove(1);
  list.remove(7);  // no line
  EXPECT_EQ(list.first(), 0u);
  list.remove(0);
  EXPECT_EQ(list.first(), 2u);
  EXPECT_EQ(list.first_ends(), Cycle{2});
}

TEST(SessionList, WithoutLinesThereIsNone) {
  SessionList list(0);
  list.remove(0);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.first_ends(), kNever);
}

}  // namespace
}  // namespace rxnic::session_list_test
