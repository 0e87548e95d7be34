// SPDX-License-Identifier: Apache-2.0
// Two connected QPs in one program, each with queues and memory of its own: on one NIC or on two.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "testbench/live/post_log.h"
#include "testbench/live/verbs_world.h"

namespace rxnic::live {

inline constexpr std::size_t kPage = 4096;

struct Side {
  explicit Side(std::uint32_t nic, std::size_t bytes = 64 * kPage)
      : world(nic), send_cq(world.cq()), receive_cq(world.cq()), arena(world, bytes) {}

  World world;
  Owned<ibv_cq> send_cq, receive_cq;
  Arena arena;
  Owned<ibv_qp> qp;
};

// The parameter is the number of NICs that the pair is on.
class PairTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  // New QPs, connected: the previous ones may be in the error state.
  void reconnect(const QpShape& shape = {}, const Path& path = {}) {
    for (Side* side : {&a, &b}) {
      side->qp = make_qp(side->world, side->send_cq.get(), side->receive_cq.get(), shape);
    }
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world, path);
  }

  // As the function; what is posted is logged.
  void post(ibv_qp* qp, ibv_send_wr& wr) {
    post_log.add(qp, wr);
    live::post(qp, wr);
  }

  // A does it, and waits for its completion.
  ibv_wc_status carry_out(ibv_wr_opcode opcode, ibv_sge local, std::uint64_t remote, std::uint32_t rkey) {
    std::array<ibv_sge, 1> list{local};
    ibv_send_wr wr = send_wr(opcode, list);
    wr.wr.rdma = {remote, rkey};
    post(a.qp.get(), wr);
    return take(a.send_cq.get()).status;
  }

  void expect_nothing_else_written() {
    EXPECT_EQ(a.arena.differs(), "");
    EXPECT_EQ(b.arena.differs(), "");
  }

  PostLog post_log;
  Side a{0}, b{GetParam() - 1};
};

inline std::string nics_of(const testing::TestParamInfo<std::uint32_t>& info) {
  return info.param == 1 ? "OneNic" : "TwoNics";
}
#define RXNIC_ON_ONE_AND_TWO_NICS(suite) \
  INSTANTIATE_TEST_SUITE_P(Live, suite, testing::Values(1u, 2u), rxnic::live::nics_of)

}  // namespace rxnic::live
