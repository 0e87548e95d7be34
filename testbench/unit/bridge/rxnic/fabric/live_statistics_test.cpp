// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/fabric/live_statistics.h"

#include <gtest/gtest.h>

#include <string>

namespace rxnic::live_statistics_test {
namespace {

// R1: programs choose their names, so a list of them all has no bound.
TEST(LiveStatistics, ProgramsBeyondTheFirst256AreCountedTogether) {
  LiveStatistics statistics(2, 1000, nullptr);
  const auto open = [&](const std::string& name, std::uint32_t nic) {
    ProgramEvent event;
    event.program = name;
    event.nic = nic;
    statistics.on_event(Cycle{}, event);
  };
  for (int n = 0; n < 1000; ++n) open("program " + std::to_string(n), static_cast<std::uint32_t>(n % 2));
  open("program 0", 0);
  open("program 999", 1);
  const auto& programs = statistics.programs();
  ASSERT_EQ(programs.size(), 256u + 2);
  EXPECT_EQ(programs[0].name, "program 0");
  EXPECT_EQ(programs[0].clients, 2u);
  EXPECT_EQ(programs[255].name, "program 255");
  EXPECT_EQ(programs[255].clients, 1u);
  std::uint64_t all = 0;
  for (const ProgramResult& program : programs) all += program.clients;
  EXPECT_EQ(all, 1002u);
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    EXPECT_EQ(programs[256 + nic].name, "(others)");
    EXPECT_EQ(programs[256 + nic].nic, nic);
    EXPECT_EQ(programs[256 + nic].clients, 372u + nic);
  }
}

}  // namespace
}  // namespace rxnic::live_statistics_test
