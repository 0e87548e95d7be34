// SPDX-License-Identifier: Apache-2.0
// Flags of a send request (rules 4.3): FENCE, INLINE. SOLICITED is in events_test; where they are legal, in
// opcodes_test.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::send_flags_test {
namespace {

constexpr std::size_t kBig = 20 * kPage;  // so long that a request behind it overtakes what comes back
constexpr std::size_t kInline = 48;

class SendFlags : public PairTest {
 protected:
  void SetUp() override {
    a.arena.refill(~seed());  // A's bytes are not B's
    reconnect();
  }
  int refused(ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(a.qp.get(), &wr, &bad);
    EXPECT_EQ(bad, error == 0 ? nullptr : &wr);
    return error;
  }
  ibv_send_wr with_remote(ibv_wr_opcode opcode, std::span<ibv_sge> list, std::size_t remote) {
    ibv_send_wr wr = send_wr(opcode, list);
    wr.wr.rdma = {b.arena.address(remote), b.arena.region->rkey};
    return wr;
  }
  void expect_sent() {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
  }
};

// rules 4.3: what a READ brings is sent on by the WRITE that is fenced behind it.
TEST_P(SendFlags, AFencedRequestWaitsForReadsAndAtomics) {
  std::array<ibv_sge, 1> place{a.arena.sge(0, kBig)}, tail{a.arena.sge(kBig - 100, 100)};
  ibv_send_wr read = with_remote(IBV_WR_RDMA_READ, place, 0);
  ibv_send_wr write = with_remote(IBV_WR_RDMA_WRITE, tail, 40 * kPage);
  write.send_flags |= IBV_SEND_FENCE;
  read.next = &write;
  post(a.qp.get(), read);
  expect_sent();
  expect_sent();
  a.arena.expect(0, b.arena.bytes(0, kBig));
  b.arena.expect(40 * kPage, b.arena.bytes(kBig - 100, 100));
  expect_nothing_else_written();

  std::array<ibv_sge, 1> word{a.arena.sge(kBig, 8)};
  ibv_send_wr add = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, word);
  add.wr.atomic = {b.arena.address(0), 3, 0, b.arena.region->rkey};
  ibv_send_wr copy = with_remote(IBV_WR_RDMA_WRITE, word, 41 * kPage);
  copy.send_flags |= IBV_SEND_FENCE;
  add.next = &copy;
  std::uint64_t value = 0;
  std::memcpy(&value, b.arena.at(0), sizeof value);
  a.arena.expect(kBig, b.arena.bytes(0, 8));
  b.arena.expect(41 * kPage, b.arena.bytes(0, 8));
  value += 3;
  b.arena.expect(0, {reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  post(a.qp.get(), add);
  expect_sent();
  expect_sent();
  expect_nothing_else_written();
}

// rules 4.3: the bytes are those at the time of the call, and no region is needed.
TEST_P(SendFlags, InlineDataIsCopiedByTheCall) {
  for (const ibv_wr_opcode opcode :
       {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM}) {
    SCOPED_TRACE(opcode);
    const std::size_t to = (2 + opcode) * kPage;
    std::array<std::uint8_t, kInline> data;
    for (std::size_t n = 0; n < kInline; ++n) data[n] = static_cast<std::uint8_t>(n * 7 + opcode);
    const std::array<std::uint8_t, kInline> posted = data;
    const auto address = reinterpret_cast<std::uint64_t>(data.data());
    std::array<ibv_sge, 2> parts{ibv_sge{address, 20, 0xdead}, ibv_sge{address + 20, kInline - 20, 0}};
    std::array<ibv_sge, 1> sink{b.arena.sge(to, kInline)};
    const bool sends = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
    if (opcode != IBV_WR_RDMA_WRITE) post_receive(b.qp.get(), {sink.data(), sends ? 1u : 0u});
    ibv_send_wr wr = with_remote(opcode, parts, to);
    wr.send_flags |= IBV_SEND_INLINE;
    post(a.qp.get(), wr);
    data.fill(0);
    expect_sent();
    if (opcode != IBV_WR_RDMA_WRITE) {
      EXPECT_EQ(take(b.receive_cq.get()).status, IBV_WC_SUCCESS);
    }
    b.arena.expect(to, posted);
    expect_nothing_else_written();
  }
}

// rules 4.3
TEST_P(SendFlags, InlineIsForRequestsThatSendDataAndHasABound) {
  std::array<ibv_sge, 1> word{a.arena.sge(0, 8)};
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    ibv_send_wr wr = with_remote(opcode, word, 0);
    wr.send_flags |= IBV_SEND_INLINE;
    EXPECT_EQ(refused(wr), EINVAL) << opcode;
  }
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  must(ibv_query_qp(a.qp.get(), &attr, IBV_QP_CAP, &init), "ibv_query_qp");
  EXPECT_GE(init.cap.max_inline_data, QpShape{}.inline_bytes);
  std::array<ibv_sge, 1> list{a.arena.sge(0, init.cap.max_inline_data + 1)};
  ibv_send_wr wr = with_remote(IBV_WR_RDMA_WRITE, list, 0);
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(refused(wr), EINVAL);
  --list[0].length;
  EXPECT_EQ(refused(wr), 0);
  expect_sent();
  b.arena.expect(0, a.arena.bytes(0, init.cap.max_inline_data));
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(SendFlags);

}  // namespace
}  // namespace rxnic::live::send_flags_test
