// SPDX-License-Identifier: Apache-2.0
#include "model/engine/delay_line.h"

#include <gtest/gtest.h>

namespace rxnic::delay_line_test {
namespace {

TEST(DelayLine, AValueIsReadyInItsCycleNotBefore) {
  DelayLine<int> line(4);
  EXPECT_EQ(line.next_ready(), kNever);
  EXPECT_FALSE(line.ready(Cycle{100}));
  line.push(7, Cycle{12});
  EXPECT_EQ(line.next_ready(), Cycle{12});
  EXPECT_FALSE(line.ready(Cycle{11}));
  EXPECT_TRUE(line.ready(Cycle{12}));
  EXPECT_TRUE(line.ready(Cycle{13}));
  EXPECT_EQ(line.pop(), 7);
  EXPECT_TRUE(line.empty());
}

TEST(DelayLine, ValuesComeInTheOrderInWhichTheyWentIn) {
  DelayLine<int> line(3);
  line.push(1, Cycle{20});
  line.push(2, Cycle{10});
  EXPECT_FALSE(line.ready(Cycle{10})) << "the older one is first";
  EXPECT_EQ(line.at(1), 2);
  EXPECT_EQ(line.pop(), 1);
  EXPECT_EQ(line.front(), 2);
}

TEST(DelayLine, HoldsAsManyAsItSays) {
  DelayLine<int> line(3);  // not a power of two
  for (int lap = 0; lap < 10; ++lap) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(line.full());
      EXPECT_EQ(line.room(), static_cast<std::uint32_t>(3 - i));
      line.push(3 * lap + i, Cycle{0});
    }
    EXPECT_TRUE(line.full());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(line.pop(), 3 * lap + i);
  }
}

TEST(DelayLine, AValueIsMadeInItsPlace) {
  struct Base {
    int number = 0;
  };
  struct Longer : Base {
    int more = 7;
  };
  DelayLine<Longer> line(2);
  line.push(Base{3}, Cycle{10}, [](Longer& value) { ++value.number; });
  line.push(Base{5}, Cycle{12}, [](Longer& value) { value.more = 1; });
  EXPECT_EQ(line.next_ready(), Cycle{10});
  EXPECT_EQ(line.front().number, 4);
  EXPECT_EQ(line.front().more, 7);
  line.drop();
  EXPECT_EQ(line.next_ready(), Cycle{12});
  EXPECT_EQ(line.front().number, 5);
  EXPECT_EQ(line.front().more, 1);
}

TEST(DelayLineDeathTest, APushIntoAFullLineEndsTheProgramAndNamesItsPlace) {
  DelayLine<int> line(3);  // its ring has four slots: a fourth push would not overwrite an entry
  for (int i = 0; i < 3; ++i) line.push(i, Cycle{0});
  EXPECT_DEATH(
      line.push(3, Cycle{0}),
      "^rxnic: a delay line overflows: all of its 3 entries are in use; pushed at .*delay_line_test.cpp:[0-9]+\n$");
}

}  // namespace
}  // namespace rxnic::delay_line_test
