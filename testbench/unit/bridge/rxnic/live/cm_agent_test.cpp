// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/cm_agent.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "bridge/channel/packet.h"
#include "bridge/cm/cm_channel.h"
#include "testbench/unit/bridge/live/lingering_socket.h"

namespace rxnic::cm_agent_test {
namespace {

using Clock = std::chrono::steady_clock;

TEST(CmAgent, WhoWaitsAtItsEndDelaysNobody) {  // R2
  const std::string simulator = "@rxnic-cm-agent-test-" + std::to_string(getpid());
  std::optional<CmAgent> agent(std::in_place, "/nonexistent", simulator);
  ASSERT_EQ(agent->error(), "");
  std::string error;
  const channel::Descriptor program = channel::connect_to(simulator + cm::kCmSuffix, error);
  ASSERT_TRUE(program) << error;
  LingeringSocket given(8);
  constexpr std::array<std::uint8_t, 1> kPacket{};
  const int number = given.socket.get();
  ASSERT_EQ(channel::send_packet(program.get(), kPacket, {&number, 1}, channel::Waiting::kYes), 0);
  given.socket.reset();
  const auto begin = Clock::now();
  agent.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
}

}  // namespace
}  // namespace rxnic::cm_agent_test
