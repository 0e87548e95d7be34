// SPDX-License-Identifier: Apache-2.0
#include "model/engine/sorted_line.h"

#include <gtest/gtest.h>

namespace rxnic::sorted_line_test {
namespace {

TEST(SortedLine, TakesInTheOrderOfReadiness) {
  SortedLine<int> line(4);
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.next_ready(), kNever);
  line.push(1, Cycle{30});
  line.push(2, Cycle{10});
  line.push(3, Cycle{20});
  line.push(4, Cycle{10});
  EXPECT_EQ(line.size(), 4u);
  EXPECT_FALSE(line.ready(Cycle{9}));
  EXPECT_TRUE(line.ready(Cycle{10}));
  EXPECT_EQ(line.pop(), 2);
  EXPECT_EQ(line.pop(), 4) << "of the same cycle the one that was pushed first";
  line.push(5, Cycle{15});  // over the end of the ring
  line.push(6, Cycle{40});
  EXPECT_EQ(line.pop(), 5);
  EXPECT_EQ(line.pop(), 3);
  EXPECT_EQ(line.next_ready(), Cycle{30});
  EXPECT_EQ(line.pop(), 1);
  EXPECT_EQ(line.pop(), 6);
  EXPECT_TRUE(line.empty());
}

TEST(SortedLineDeathTest, APushIntoAFullOneEndsTheProgram) {
  SortedLine<int> line(2);
  line.push(1, Cycle{1});
  line.push(2, Cycle{1});
  EXPECT_DEATH(line.push(3, Cycle{1}), "a delay line overflows: all of its 2 entries are in use");
}

}  // namespace
}  // namespace rxnic::sorted_line_test
