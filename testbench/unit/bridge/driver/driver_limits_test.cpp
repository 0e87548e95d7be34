// SPDX-License-Identifier: Apache-2.0
// What a configuration can hold is what programs are told, and one more of anything is refused with ENOMEM, whichever
// program asks. What was given back can be had again.
#include <gtest/gtest.h>

#include <cerrno>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_limits_test {
namespace {

using channel::Request;

const std::vector<std::string> kSmall{"requester.send_queues=5",   "transport_checker.responder_resources=10",
                                      "rx_parser.own_addresses=5", "device.max_qp_wrs=64",
                                      "device.max_rd_atomic=8",    "device.max_cqs=3",
                                      "device.max_cqes=63",        "device.max_srqs=2",
                                      "device.max_srq_wrs=63",     "device.max_mrs=2",
                                      "device.max_pds=2",          "dma_engine.device_memory_bytes=4096"};

struct DriverLimits : testing::Test {
  Lab lab{1, EngineMode::kFast, nullptr, kSmall};
  Program a{lab, 0}, other{lab, 0};
  // Asks as `program` until it is refused with ENOMEM: how often it was not.
  template <class Ask>
  static std::uint32_t granted(Ask ask) {
    for (std::uint32_t n = 0; n < 20; ++n) {
      const std::int32_t status = ask();
      if (status == 0) continue;
      EXPECT_EQ(status, ENOMEM);
      return n;
    }
    return 20;
  }
  static std::int32_t qp(Program& p, std::uint32_t pd, const Program::Cq& cq) {
    const auto asked = p.qp_request(QpType::kRc, pd, cq.number, cq.number);
    return p.call(Request::kCreateQp, [&](auto& b) { b.qp = asked; }).status;
  }
};

TEST_F(DriverLimits, ProgramsLearnWhatTheConfigurationHolds) {
  const channel::DeviceAttributes& t = lab.own_port.attributes;
  EXPECT_EQ(t.max_qps, 5u);
  EXPECT_EQ(t.max_responder_resources, 10u);
  EXPECT_EQ(t.max_multicast_groups, 2u) << "the port's own three addresses are among the five";
  EXPECT_EQ(t.max_qp_wrs, 64u);
  EXPECT_EQ(t.max_rd_atomic, 8u);
  EXPECT_EQ(t.max_cqs, 3u);
  EXPECT_EQ(t.max_cqes, 63u);
  EXPECT_EQ(t.max_srqs, 2u);
  EXPECT_EQ(t.max_srq_wrs, 63u);
  EXPECT_EQ(t.max_mrs, 2u);
  EXPECT_EQ(t.max_pds, 2u);
  EXPECT_EQ(t.device_memory_bytes, 4096u);
}

TEST(DriverSrqLimit, MayBeAllThatTheSrqHolds) {
  for (const auto& [layout, holds] : {std::pair{"linked_list", 7u}, {"cyclic", 8u}}) {
    const std::vector<std::string> overrides{std::string("srq_wqe_fetcher.srq_layout=") + layout};
    Lab lab{1, EngineMode::kFast, nullptr, overrides};
    Program a{lab, 0};
    const Program::Srq srq = a.create_srq(a.create_pd(), 8);
    const auto arm = [&](std::uint32_t limit) {
      return a.call(Request::kModifySrq, [&](auto& b) { b.srq = {}, b.srq.srqn = srq.number, b.srq.limit = limit; });
    };
    EXPECT_EQ(arm(holds).status, 0) << layout;
    EXPECT_EQ(arm(holds + 1).status, EINVAL) << layout;
  }
}

TEST_F(DriverLimits, OneMoreObjectIsRefusedUntilOneIsGivenBack) {
  const std::uint32_t pd = a.create_pd(), others_pd = other.create_pd();
  EXPECT_EQ(a.call(Request::kAllocatePd).status, ENOMEM);
  const Program::Cq cq = a.create_cq(), others_cq = other.create_cq();
  EXPECT_EQ(granted([&] {
              const auto asked = a.cq_request();
              return a.call(Request::kCreateCq, [&](auto& b) { b.cq = asked; }).status;
            }),
            1u);
  const std::uint32_t region = a.create_mr(pd, a.local(64), 64);
  EXPECT_EQ(granted([&] { return other.register_memory(others_pd, other.local(64), 64, 1).status; }), 1u);
  EXPECT_EQ(a.free(Request::kFreeMemory, region), 0);
  EXPECT_EQ(granted([&] { return other.register_memory(others_pd, other.local(64), 64, 1).status; }), 1u);
  const auto window = [&] {
    return other.call(Request::kAllocateWindow, [&](auto& b) { b.window = {others_pd, kWindowType2, 0}; }).status;
  };
  EXPECT_EQ(granted(window), 0u) << "windows and regions share the keys";
  const Program::Srq srq = a.create_srq(pd);
  const auto create_srq = [&] {
    const auto asked = other.srq_request(others_pd);
    return other.call(Request::kCreateSrq, [&](auto& b) { b.srq = asked; }).status;
  };
  EXPECT_EQ(granted(create_srq), 1u);
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  EXPECT_EQ(granted(create_srq), 1u);
  const Program::Qp first = a.create_qp(QpType::kRc, pd, cq);
  EXPECT_EQ(granted([&] { return qp(other, others_pd, others_cq); }), 4u);
  EXPECT_EQ(qp(a, pd, cq), ENOMEM);
  EXPECT_EQ(a.free(Request::kFreeQp, first.number), 0);
  EXPECT_EQ(granted([&] { return qp(other, others_pd, others_cq); }), 1u);
}

TEST_F(DriverLimits, AQueueThatIsTooLongIsInvalid) {
  const std::uint32_t pd = a.create_pd();
  const Program::Cq cq = a.create_cq();
  const auto status = [&](std::uint32_t slots) {
    const auto asked = a.qp_request(QpType::kRc, pd, cq.number, cq.number, slots);
    return a.call(Request::kCreateQp, [&](auto& b) { b.qp = asked; }).status;
  };
  EXPECT_EQ(status(128), EINVAL);
  EXPECT_EQ(status(64), 0);
}

TEST_F(DriverLimits, AQpIsReadyToReceiveWhenItHasItsResponderResources) {
  const std::uint32_t pd = a.create_pd();
  const Program::Cq cq = a.create_cq();
  std::vector<Program::Qp> qps;
  for (int n = 0; n < 4; ++n) {
    qps.push_back(a.create_qp(QpType::kRc, pd, cq));
    EXPECT_EQ(a.modify(Program::to_init(qps[n], QpType::kRc)), 0);
  }
  const auto ready = [&](std::size_t n, std::uint32_t resources) {
    auto rtr = Program::to_rtr(qps[n], QpType::kRc, 0, 0x11);
    rtr.max_dest_rd_atomic = resources;
    return a.modify(rtr);
  };
  EXPECT_EQ(ready(0, 9), EINVAL) << "more than one QP may have";
  EXPECT_EQ(ready(0, 4), 0);
  EXPECT_EQ(ready(1, 4), 0);
  EXPECT_EQ(ready(2, 4), ENOMEM);
  EXPECT_EQ(a.state(qps[2]), QpState::kInit);
  EXPECT_EQ(ready(2, 2), 0);
  EXPECT_EQ(ready(3, 1), ENOMEM);
  EXPECT_EQ(ready(3, 0), 0);
  EXPECT_EQ(a.to_state(qps[3], QpState::kReset), 0);
  EXPECT_EQ(a.modify(Program::to_init(qps[3], QpType::kRc)), 0);
  EXPECT_EQ(a.to_state(qps[0], QpState::kError), 0);
  EXPECT_EQ(ready(3, 4), ENOMEM) << "a QP in error has them until it is reset";
  EXPECT_EQ(a.to_state(qps[0], QpState::kReset), 0);
  EXPECT_EQ(ready(3, 4), 0);
  EXPECT_EQ(a.free(Request::kFreeQp, qps[1].number), 0);
  EXPECT_EQ(a.modify(Program::to_init(qps[0], QpType::kRc)), 0);
  EXPECT_EQ(ready(0, 4), 0);
}

TEST_F(DriverLimits, DeviceMemoryIsAllocatedUntilThereIsNoMore) {
  const auto allocate = [](Program& p, std::uint64_t bytes, std::uint32_t log_alignment = 0) {
    return p.call(Request::kAllocateDeviceMemory, [&](auto& b) { b.device_memory = {0, log_alignment, 0, bytes, 0}; });
  };
  EXPECT_EQ(allocate(a, 0).status, EINVAL);
  EXPECT_EQ(allocate(a, 4097).status, EINVAL) << "more than there is";
  EXPECT_EQ(allocate(a, 64, 7).status, EINVAL) << "alignment";
  const channel::Message first = allocate(a, 2000, 6), second = allocate(other, 2048);  // 32 units of 64 bytes each
  EXPECT_EQ(first.status | second.status, 0);
  EXPECT_EQ(allocate(a, 1).status, ENOMEM);
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, second.body.device_memory.number), EINVAL) << "another program's";
  EXPECT_EQ(a.free(Request::kFreeDeviceMemory, first.body.device_memory.number), 0);
  EXPECT_EQ(granted([&] { return allocate(a, 1).status; }), 20u);
  EXPECT_EQ(allocate(a, 13 * 64).status, ENOMEM);
  EXPECT_EQ(allocate(a, 12 * 64).status, 0);
}

TEST_F(DriverLimits, OneMoreMulticastGroupIsRefused) {
  const std::uint32_t pd = a.create_pd();
  const Program::Cq cq = a.create_cq();
  const Program::Qp ud = a.create_qp(QpType::kUd, pd, cq);
  const auto group = [](std::uint8_t n) { return GidBytes{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n}; };
  const auto ask = [&](Request type, std::uint8_t n) {
    return a.call(type, [&](auto& b) { b.multicast = {ud.number, group(n)}; }).status;
  };
  EXPECT_EQ(ask(Request::kAttachMulticast, 1), 0);
  EXPECT_EQ(ask(Request::kAttachMulticast, 2), 0);
  EXPECT_EQ(ask(Request::kAttachMulticast, 3), ENOMEM);
  EXPECT_EQ(ask(Request::kDetachMulticast, 3), EINVAL) << "it was not attached";
  EXPECT_EQ(ask(Request::kAttachMulticast, 2), 0) << "it is already";
  EXPECT_EQ(ask(Request::kDetachMulticast, 1), 0);
  EXPECT_EQ(ask(Request::kAttachMulticast, 3), 0);
}

}  // namespace
}  // namespace rxnic::driver_limits_test
