// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/cm/management_qp.h, against a simulator that sends nothing; recent.h.
#include "bridge/cm/management_qp.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "bridge/verbs/control_path.h"
#include "testbench/unit/bridge/verbs/fake_simulator.h"

namespace rxnic::cm::management_qp_test {
namespace {

class ManagementQpTest : public testing::Test {
 protected:
  ManagementQpTest() {
    ibv_device** const devices = verbs::get_device_list(nullptr);
    qp = std::make_unique<ManagementQp>(devices[0]);
    std::free(devices);
  }
  FakeSimulator simulator;
  std::unique_ptr<ManagementQp> qp;
};

TEST_F(ManagementQpTest, MadsThatFindNoBufferWaitUpToABound) {  // R2
  const Mad mad{};
  const GidBytes to{};
  for (std::uint32_t n = 0; n < ManagementQp::kBuffers; ++n) qp->send(2, to, mad);
  EXPECT_EQ(qp->waiting(), 0u);
  for (std::size_t n = 0; n < ManagementQp::kMostWaiting; ++n) qp->send(2, to, mad);
  EXPECT_EQ(qp->waiting(), ManagementQp::kMostWaiting);
  for (int n = 0; n < 100; ++n) qp->send(2, to, mad);
  EXPECT_EQ(qp->waiting(), ManagementQp::kMostWaiting);
}

TEST_F(ManagementQpTest, APathIsAskedForOnceADestination) {  // R3
  for (int n = 0; n < 9; ++n) qp->send(2, {static_cast<std::uint8_t>(n % 3)}, {});
  EXPECT_EQ(simulator.asked(channel::Request::kResolve).size(), 3u);
}

TEST(Recent, TheOneThatWasUsedLongestAgoMakesRoom) {
  const auto one = std::make_shared<int>(1), two = std::make_shared<int>(2), three = std::make_shared<int>(3);
  Recent<int, std::shared_ptr<int>> recent(2);
  recent.keep(1, one);
  recent.keep(2, two);
  ASSERT_NE(recent.use(1), nullptr);
  EXPECT_EQ(*recent.use(1), one);
  recent.keep(3, three);
  EXPECT_EQ(recent.use(2), nullptr);
  EXPECT_EQ(two.use_count(), 1) << "its value has gone";
  EXPECT_NE(recent.use(1), nullptr);
  EXPECT_NE(recent.use(3), nullptr);
  recent.clear();
  EXPECT_EQ(one.use_count(), 1);
}

}  // namespace
}  // namespace rxnic::cm::management_qp_test
