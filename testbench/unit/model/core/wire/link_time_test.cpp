// SPDX-License-Identifier: Apache-2.0
// Rules R1 and R2 of model/core/wire/link_time.h.
#include "model/core/wire/link_time.h"

#include <gtest/gtest.h>

namespace rxnic::link_time_test {
namespace {

TEST(LinkTime, DoesNotDriftOverAMillionTlps) {  // R1
  const LinkTime time(113700, 2325);
  Instant at;
  for (int i = 0; i < 1'000'000; ++i) at = time.after_bytes(at, 88);
  // 88e6 B at 113700 Mb/s in cycles of 2325 ps: 88e6 * 8e6 / (113700 * 2325), exactly.
  const std::uint64_t units = 88'000'000ull * 8'000'000ull;
  const std::uint64_t per_cycle = 113700ull * 2325ull;
  EXPECT_EQ(at.cycle, units / per_cycle);
  EXPECT_EQ(at.fraction, units % per_cycle);
}

TEST(LinkTime, SpansAdd) {          // R1
  const LinkTime time(8000, 1000);  // a byte a cycle
  EXPECT_EQ(time.after_bytes({5, 0}, 88), (Instant{93, 0}));
  EXPECT_EQ(time.after_ps({5, 0}, 1500).floor(), Cycle{6});
  EXPECT_EQ(time.after_ps({5, 0}, 1500).ceiling(), Cycle{7});
  const Instant half = time.after_ps({}, 500);
  EXPECT_EQ(time.after_span(time.after_span({5, 0}, half), half), (Instant{6, 0}));
}

TEST(LinkTime, PrintsPicoseconds) {
  const LinkTime time(3000, 1000);  // a byte takes 2666.67 ps
  EXPECT_EQ(time.to_ps(time.after_bytes({5, 0}, 3)), 13000u);
  EXPECT_EQ(time.to_ps(time.after_bytes({5, 0}, 1)), 7666u);
}

TEST(Line, CarriesWithoutAGapAndNeverEarly) {  // R2
  Line link{LinkTime(8000, 1000)};
  EXPECT_EQ(link.carry({10, 0}, 4), (Instant{14, 0}));
  EXPECT_EQ(link.carry({10, 0}, 4), (Instant{18, 0}));
  EXPECT_EQ(link.carry({30, 0}, 4), (Instant{34, 0}));
}

TEST(Line, CarriesAShortTransferBetweenWhatIsPromised) {  // R2
  Line line{LinkTime(8000, 1000)};
  EXPECT_EQ(line.carry_between({10, 0}, 4), (Instant{14, 0})) << "free: as carry()";
  EXPECT_EQ(line.carry({12, 0}, 4), (Instant{18, 0}));
  EXPECT_EQ(line.carry({100, 0}, 10), (Instant{110, 0})) << "promised ahead";
  EXPECT_EQ(line.carry_between({50, 0}, 4), (Instant{54, 0}));
  EXPECT_EQ(line.carry_between({52, 0}, 4), (Instant{58, 0})) << "one after the other";
  EXPECT_EQ(line.carry({100, 0}, 10), (Instant{128, 0})) << "behind all, put off by 4 + 4";
}

TEST(Line, CarriesNothingWhileItIsHeld) {  // R2
  Line line{LinkTime(8000, 1000)};
  line.carry({10, 0}, 4);
  line.hold({12, 0});
  EXPECT_EQ(line.free(), (Instant{14, 0}));
  line.hold({20, 0});
  EXPECT_EQ(line.carry({15, 0}, 4), (Instant{24, 0}));
}

}  // namespace
}  // namespace rxnic::link_time_test
