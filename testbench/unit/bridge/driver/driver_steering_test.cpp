// SPDX-License-Identifier: Apache-2.0
// R13 of bridge/driver/driver.h: flows and RSS. What frames do with them: live.verbs.raw.
#include <gtest/gtest.h>

#include <cerrno>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_steering_test {
namespace {

using channel::Request;

class DriverSteering : public testing::Test {
 protected:
  explicit DriverSteering(const std::vector<std::string>& overrides = {})
      : lab(1, EngineMode::kFast, nullptr, overrides), a(lab, 0), other(lab, 0), pd(a.create_pd()), cq(a.create_cq()) {}
  // A RAW_PACKET QP; without a send queue when it is a WQ's.
  std::uint32_t raw_qp(bool sends = true) {
    channel::QueuePair asked = a.qp_request(QpType::kRawPacket, pd, cq.number, cq.number);
    if (!sends) asked.send_slots = 0;
    const auto reply = a.call(Request::kCreateQp, [&](auto& b) { b.qp = asked; });
    EXPECT_EQ(reply.status, 0);
    return reply.body.qp.qpn;
  }
  static channel::Message flow(Program& p, std::uint32_t qpn, std::uint8_t kind = 0) {
    return p.call(Request::kCreateFlow, [&](auto& b) {
      b.flow = {};
      b.flow.qpn = qpn;
      b.flow.kind = kind;
    });
  }
  channel::Message rss(std::vector<std::uint32_t> queues, std::uint8_t log_entries) {
    return a.call(Request::kCreateRss, [&](auto& b) {
      b.rss = {};
      b.rss.pd = pd;
      b.rss.log_entries = log_entries;
      std::copy(queues.begin(), queues.end(), b.rss.queues.begin());
    });
  }

  Lab lab;
  Program a, other;
  std::uint32_t pd;
  Program::Cq cq;
};

struct DriverSteeringLimits : DriverSteering {
  DriverSteeringLimits() : DriverSteering({"rx_parser.flows=2", "rx_parser.rss_contexts=1"}) {}
};

TEST_F(DriverSteering, AFlowKeepsItsQp) {
  const std::uint32_t qp = raw_qp();
  const std::uint32_t number = flow(a, qp).body.flow.number;
  EXPECT_EQ(a.free(Request::kFreeQp, qp), EBUSY);
  EXPECT_EQ(other.free(Request::kFreeFlow, number), EINVAL) << "another program's";
  EXPECT_EQ(a.free(Request::kFreeFlow, number), 0);
  EXPECT_EQ(a.free(Request::kFreeFlow, number), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeQp, qp), 0);
}

TEST_F(DriverSteering, AFlowNamesARawPacketQpOfItsProgram) {
  const std::uint32_t qp = raw_qp();
  EXPECT_EQ(flow(other, qp).status, EINVAL);
  EXPECT_EQ(flow(a, qp + 1).status, EINVAL);
  EXPECT_EQ(flow(a, qp, 3).status, EINVAL) << "no kind of flow";
  EXPECT_EQ(flow(a, a.create_qp(QpType::kUd, pd, cq).number).status, EINVAL);
}

TEST_F(DriverSteering, AnRssQpKeepsItsQueues) {
  const std::uint32_t first = raw_qp(false), second = raw_qp(false), sends = raw_qp();
  EXPECT_EQ(rss({first, sends}, 1).status, EINVAL) << "it has a send queue";
  EXPECT_EQ(rss({first, 0}, 1).status, EINVAL);
  EXPECT_EQ(rss({first}, 7).status, EINVAL) << "more than 64 entries";
  const std::uint32_t qp = rss({first, second}, 1).body.rss.qpn;
  EXPECT_EQ(a.free(Request::kFreeQp, second), EBUSY);
  EXPECT_EQ(a.free(Request::kFreePd, pd), EBUSY);
  const std::uint32_t number = flow(a, qp).body.flow.number;
  EXPECT_EQ(a.free(Request::kFreeRss, qp), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeQp, qp), EINVAL) << "it is none";
  EXPECT_EQ(a.free(Request::kFreeFlow, number), 0);
  EXPECT_EQ(a.free(Request::kFreeRss, qp), 0);
  for (const std::uint32_t n : {first, second}) EXPECT_EQ(a.free(Request::kFreeQp, n), 0);
}

TEST_F(DriverSteeringLimits, OneMoreIsRefusedUntilOneIsGivenBack) {
  EXPECT_EQ(lab.own_port.attributes.max_flows, 2u);
  EXPECT_EQ(lab.own_port.attributes.max_rss, 1u);
  const std::uint32_t qp = raw_qp(), queue = raw_qp(false);
  const std::uint32_t first = flow(a, qp).body.flow.number;
  EXPECT_EQ(flow(a, qp).status, 0);
  EXPECT_EQ(flow(a, qp).status, ENOMEM);
  EXPECT_EQ(a.free(Request::kFreeFlow, first), 0);
  EXPECT_EQ(flow(a, qp).status, 0);
  const std::uint32_t spreads = rss({queue}, 0).body.rss.qpn;
  EXPECT_EQ(rss({queue}, 0).status, ENOMEM);
  EXPECT_EQ(a.free(Request::kFreeRss, spreads), 0);
  EXPECT_EQ(rss({queue}, 0).status, 0);
}

// A program that dies leaves neither flows nor contexts behind.
TEST_F(DriverSteeringLimits, AllOfItGoesWithItsProgram) {
  const std::uint32_t queue = raw_qp(false);
  const std::uint32_t spreads = rss({queue}, 0).body.rss.qpn;
  EXPECT_EQ(flow(a, spreads).status, 0);
  EXPECT_EQ(flow(a, spreads).status, 0);
  a.close();
  EXPECT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  const std::uint32_t others_pd = other.create_pd();
  const Program::Cq others_cq = other.create_cq();
  const std::uint32_t qp = other.create_qp(QpType::kRawPacket, others_pd, others_cq).number;
  for (int n = 0; n < 2; ++n) EXPECT_EQ(flow(other, qp).status, 0);
}

TEST_F(DriverSteering, ARawPacketQpHasNoSrqAndNeedsOnlyItsPort) {
  const Program::Srq srq = a.create_srq(pd);
  channel::QueuePair asked = a.qp_request(QpType::kRawPacket, pd, cq.number, cq.number);
  asked.has_srq = 1;
  asked.srqn = srq.number;
  EXPECT_EQ(a.call(Request::kCreateQp, [&](auto& b) { b.qp = asked; }).status, EINVAL);
  const std::uint32_t qp = raw_qp();
  const auto modify = [&](QpState state, std::uint32_t mask) {
    return a
        .call(Request::kModifyQp,
              [&](auto& b) {
                b.attributes = {};
                b.attributes.qpn = qp;
                b.attributes.mask = kAttrState | mask;
                b.attributes.state = static_cast<std::uint32_t>(state);
                b.attributes.port = 1;
              })
        .status;
  };
  EXPECT_EQ(modify(QpState::kInit, 0), EINVAL);
  EXPECT_EQ(modify(QpState::kInit, kAttrPort | kAttrQkey), EINVAL);
  EXPECT_EQ(modify(QpState::kInit, kAttrPort), 0);
  EXPECT_EQ(modify(QpState::kRtr, kAttrPathMtu), EINVAL);
  EXPECT_EQ(modify(QpState::kRtr, 0), 0);
  EXPECT_EQ(modify(QpState::kRts, kAttrSqPsn), EINVAL);
  EXPECT_EQ(modify(QpState::kRts, 0), 0);
}

// R16. What frames do to the sums: live.verbs.raw.
TEST_F(DriverSteering, CountersAreInUseByTheirFlows) {
  const auto counted = [&](Program& p, std::uint32_t qpn, std::uint32_t counters) {
    return p.call(Request::kCreateFlow, [&](auto& b) {
      b.flow = {};
      b.flow.qpn = qpn;
      b.flow.counters = counters;
    });
  };
  const auto read = [](Program& p, std::uint32_t number) {
    return p.call(Request::kReadCounters, [&](auto& b) {
      b.counters = {};
      b.counters.number = number;
    });
  };
  const std::uint32_t qp = raw_qp();
  const std::uint32_t number = a.call(Request::kCreateCounters).body.handle.number;
  EXPECT_EQ(counted(a, qp, number + 1).status, EINVAL) << "there are none";
  const std::uint32_t first = counted(a, qp, number).body.flow.number;
  const std::uint32_t second = counted(a, qp, number).body.flow.number;
  EXPECT_EQ(read(a, number).status, 0);
  EXPECT_EQ(read(a, number).body.counters.packets, 0u);
  EXPECT_EQ(read(other, number).status, EINVAL);
  EXPECT_EQ(other.free(Request::kFreeCounters, number), EINVAL);
  EXPECT_EQ(a.free(Request::kFreeFlow, first), 0);
  EXPECT_EQ(a.free(Request::kFreeCounters, number), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeFlow, second), 0);
  EXPECT_EQ(a.free(Request::kFreeCounters, number), 0);
  EXPECT_EQ(read(a, number).status, EINVAL);
}

TEST_F(DriverSteeringLimits, AFlowWithoutRoomDoesNotUseItsCounters) {
  const std::uint32_t qp = raw_qp();
  const std::uint32_t number = a.call(Request::kCreateCounters).body.handle.number;
  for (int n = 0; n < 2; ++n) EXPECT_EQ(flow(a, qp).status, 0);
  const auto refused = a.call(Request::kCreateFlow, [&](auto& b) {
    b.flow = {};
    b.flow.qpn = qp;
    b.flow.counters = number;
  });
  EXPECT_EQ(refused.status, ENOMEM);
  EXPECT_EQ(a.free(Request::kFreeCounters, number), 0);
}

}  // namespace
}  // namespace rxnic::driver_steering_test
