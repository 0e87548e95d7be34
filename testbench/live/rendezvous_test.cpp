// SPDX-License-Identifier: Apache-2.0
// Rendezvous (rules 5.7): A asks, and B's device reads the message from A's memory into the buffer of the entry that
// matched. Then the device notifies A with FIN.
#include <vector>

#include "testbench/live/tags_pair.h"

namespace rxnic::live::rendezvous_test {
namespace {

constexpr std::size_t kRequest = sizeof(ibv_tmh) + sizeof(ibv_rvh);
constexpr std::size_t kMessage = 20 * kPage + 8;  // in A's arena
constexpr std::size_t kFin = 60 * kPage;          // A's receives, a page each

class Rendezvous : public Tags {
 protected:
  struct Asked {
    std::uint64_t tag = 0;
    std::size_t bytes = 0;        // of the message
    std::size_t more = 0;         // of the request, behind its headers
    std::uint32_t rkey_flip = 0;  // in the R_Key
  };
  // A sends the request, and waits for the acknowledgement.
  void ask(const Asked& asked) {
    post_request(asked);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  }
  void post_request(const Asked& asked) {
    ibv_rvh rvh{};
    rvh.va = htobe64(a.arena.address(kMessage));
    rvh.rkey = htobe32(a.arena.region->rkey ^ asked.rkey_flip);
    rvh.len = htobe32(static_cast<std::uint32_t>(asked.bytes));
    std::memcpy(a.arena.at(kHeader), &rvh, sizeof rvh);
    a.arena.accept(kHeader, sizeof rvh);
    post_message(asked.tag, sizeof rvh + asked.more, IBV_TMH_RNDV);
    request_.assign(a.arena.at(0), a.arena.at(kRequest));
  }
  void receive_fin(std::uint32_t n) {
    std::array<ibv_sge, 1> list{a.arena.sge(kFin + n * kPage, kPage)};
    post_receive(a.qp.get(), list, 400 + n);
  }
  // FIN comes into A's receive n: the headers of the last request but for the opcode.
  void expect_fin(std::uint32_t n) {
    const ibv_wc wc = take(a.receive_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.wr_id, 400u + n);
    EXPECT_EQ(wc.byte_len, kRequest);
    a.arena.expect(kFin + n * kPage, fin());
    log_fin();
  }
  // Both completions of a message for entry n, which has been read.
  void expect_read(std::uint32_t n, const Asked& asked) {
    expect_message(100 + n, IBV_WC_TM_MATCH, 0, asked.tag);
    expect_message(100 + n, IBV_WC_TM_DATA_VALID, static_cast<std::uint32_t>(asked.bytes), 0);
    b.arena.expect(place(n), a.arena.bytes(kMessage, asked.bytes));
    log_read(asked);
  }
  // What B's device sends by itself, for the comparison with the wire: the READ of a message, and FIN.
  void log_read(const Asked& asked, Answer answer = Answer::kGood) {
    std::array<ibv_sge, 1> list{ibv_sge{0, static_cast<std::uint32_t>(asked.bytes), 0}};
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_READ, list);
    wr.wr.rdma = {a.arena.address(kMessage), a.arena.region->rkey ^ asked.rkey_flip};
    post_log.add(b.qp.get(), wr, answer);
  }
  void log_fin(Answer answer = Answer::kGood) {
    std::vector<std::uint8_t> bytes = fin();
    std::array<ibv_sge, 1> list{
        ibv_sge{reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0}};
    post_log.add(b.qp.get(), send_wr(IBV_WR_SEND, list), answer);
  }

 private:
  std::vector<std::uint8_t> fin() const {
    std::vector<std::uint8_t> bytes = request_;
    bytes[0] = IBV_TMH_FIN;
    return bytes;
  }
  std::vector<std::uint8_t> request_;  // the last one's headers
};

TEST_P(Rendezvous, DeviceReadsTheMessageAndSendsFin) {
  const Asked asked{.tag = 0x123, .bytes = 5000};
  add(0, 0x100, 0xf00);
  receive_fin(0);
  ask(asked);
  expect_read(0, asked);
  expect_fin(0);
  expect_nothing_else_written();
}

TEST_P(Rendezvous, MessageMayBeEmptyOrOfOnePacket) {
  std::uint32_t n = 0;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1024}, kBuffer}) {
    const Asked asked{.tag = 7, .bytes = bytes};
    add(n, 7);
    receive_fin(0);
    ask(asked);
    expect_read(n++, asked);
    expect_fin(0);
  }
  expect_nothing_else_written();
}

// What a program adds behind the headers, up to max_rndv_hdr_size in all, is not placed.
TEST_P(Rendezvous, RequestMayHoldMoreThanItsHeaders) {
  const Asked asked{.tag = 7, .bytes = 100, .more = 32};
  add(1, 7);
  receive_fin(0);
  ask(asked);
  expect_read(1, asked);
  expect_fin(0);
  expect_nothing_else_written();
}

TEST_P(Rendezvous, MessageLongerThanTheBufferIsIncomplete) {
  const Asked asked{.tag = 7, .bytes = 2001, .more = 8};
  add(3, 7, kExact, 2000);
  ask(asked);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.status, IBV_WC_TM_RNDV_INCOMPLETE);
  EXPECT_EQ(t.wr_id, 103u);
  b.arena.expect(place(3), a.arena.bytes(0, kRequest + 8));
  add(3, 8);  // its handle is free, and the QP goes on
  send(8, 50);
  expect_matched(3, 50, 8);
  EXPECT_TRUE(is_empty(a.receive_cq.get()));
  expect_nothing_else_written();
}

TEST_P(Rendezvous, UnexpectedRequestTakesAReceive) {
  receive(0);
  add(0, 1);
  ask({.tag = 7, .bytes = 100});
  expect_unexpected(0, sizeof(ibv_rvh));
  expect_nothing_else_written();
}

// Requests that no device sends: longer than max_rndv_hdr_size, of several packets, without an RVH.
TEST_P(Rendezvous, OtherRequestsAreUnexpected) {
  for (std::uint32_t n = 0; n < 3; ++n) receive(n);
  add(0, 0, 0);  // matches every tag
  ask({.tag = 7, .bytes = 100, .more = 33});
  expect_unexpected(0, sizeof(ibv_rvh) + 33);
  ask({.tag = 7, .bytes = 100, .more = 2000});
  expect_unexpected(1, sizeof(ibv_rvh) + 2000);
  send(7, sizeof(ibv_rvh) - 1, IBV_TMH_RNDV);
  expect_unexpected(2, sizeof(ibv_rvh) - 1);
  expect_nothing_else_written();
}

// All at once, more than READs are allowed in flight: completions of a message come in order, and every FIN.
TEST_P(Rendezvous, ManyAtOnceComeInTheOrderOfTheirRequests) {
  constexpr std::uint32_t kMany = 8;
  for (std::uint32_t n = 0; n < kMany; ++n) {
    add(n, 7);
    receive_fin(0);
  }
  for (std::uint32_t n = 0; n < kMany; ++n) ask({.tag = 7, .bytes = 3000});
  std::uint32_t matched = 0, valid = 0;
  while (valid < kMany) {
    const Tagged t = take_tagged();
    EXPECT_EQ(t.status, IBV_WC_SUCCESS);
    const bool is_match = t.flags == IBV_WC_TM_MATCH;
    EXPECT_EQ(t.wr_id, 100 + (is_match ? matched : valid));
    ++(is_match ? matched : valid);
  }
  EXPECT_EQ(matched, kMany);
  for (std::uint32_t n = 0; n < kMany; ++n) {
    log_read({.tag = 7, .bytes = 3000});
    expect_fin(0);
    b.arena.expect(place(n), a.arena.bytes(kMessage, 3000));
  }
  expect_nothing_else_written();
}

TEST_P(Rendezvous, EagerMessagesGoOnBeside) {
  receive_fin(0);
  add(0, 7);
  add(1, 8);
  ask({.tag = 7, .bytes = kBuffer});
  send(8, 200);
  expect_message(100, IBV_WC_TM_MATCH, 0, 7);
  std::uint32_t eager = 0, read = 0;
  for (std::uint32_t n = 0; n < 2; ++n) {
    const Tagged t = take_tagged();
    EXPECT_EQ(t.status, IBV_WC_SUCCESS);
    ++(t.wr_id == 101 ? eager : read);
    EXPECT_EQ(t.flags, t.wr_id == 101 ? kWhole : 0u + IBV_WC_TM_DATA_VALID);
  }
  EXPECT_EQ(eager, 1u);
  EXPECT_EQ(read, 1u);
  log_read({.tag = 7, .bytes = kBuffer});
  expect_fin(0);
  b.arena.expect(place(0), a.arena.bytes(kMessage, kBuffer));
  b.arena.expect(place(1), a.arena.bytes(kHeader, 200));
  expect_nothing_else_written();
}

// The READ is refused: the entry completes in error, and both QPs fail.
TEST_P(Rendezvous, MemoryThatMayNotBeReadFailsBothSides) {
  const Patience patience(std::chrono::seconds(20));
  add(0, 7);
  const Asked asked{.tag = 7, .bytes = 100, .rkey_flip = 0x5a5a00};
  ask(asked);
  expect_message(100, IBV_WC_TM_MATCH, 0, 7);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.status, IBV_WC_REM_ACCESS_ERR) << ibv_wc_status_str(t.status);
  log_read(asked, Answer::kAcknowledge);
  EXPECT_EQ(t.wr_id, 100u);
  EXPECT_EQ(take_event(a.world.context.get()), IBV_EVENT_QP_ACCESS_ERR);
  expect_nothing_else_written();
}

TEST_P(Rendezvous, ForeignBufferFailsTheReceiver) {
  const Patience patience(std::chrono::seconds(20));
  ibv_ops_wr wr = addition(0, 7, kExact, kBuffer, 0);
  wr.tm.add.sg_list->lkey ^= 0x5a5a00;
  ASSERT_EQ(operate(wr), 0);
  ask({.tag = 7, .bytes = 100});
  expect_message(100, IBV_WC_TM_MATCH, 0, 7);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.status, IBV_WC_LOC_PROT_ERR) << ibv_wc_status_str(t.status);
  EXPECT_EQ(t.wr_id, 100u);
  expect_nothing_else_written();
}

// A does not receive FIN: B's QP fails, when the message has already been completed.
TEST_P(Rendezvous, LostFinIsAnEventOfTheQp) {
  const Patience patience(std::chrono::seconds(20));
  Path path;
  path.rnr_retry = 0;
  make_qps(path);
  const Asked asked{.tag = 7, .bytes = 100};
  add(0, 7);
  ask(asked);  // without a receive for FIN
  expect_read(0, asked);
  log_fin(Answer::kNone);  // RNR NAK
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_QP_FATAL);
  expect_nothing_else_written();
}

// A QP that fails completes its rendezvous in error; the list goes on.
TEST_P(Rendezvous, QpInTheErrorStateFlushesIt) {
  const Patience patience(std::chrono::seconds(20));
  Path path;
  path.rd_atomic = 0;  // no READ of B's may begin
  make_qps(path);
  add(0, 7);
  ask({.tag = 7, .bytes = 100});
  expect_message(100, IBV_WC_TM_MATCH, 0, 7);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.status, IBV_WC_LOC_QP_OP_ERR) << ibv_wc_status_str(t.status);
  EXPECT_EQ(t.wr_id, 100u);
  const std::uint32_t handle = add(1, 8, kExact, kBuffer, IBV_OPS_SIGNALED);
  expect_op(IBV_WC_TM_ADD, 201);
  EXPECT_EQ(remove(handle, 250, IBV_OPS_SIGNALED), 0);
  expect_op(IBV_WC_TM_DEL, 250);
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Rendezvous);

}  // namespace
}  // namespace rxnic::live::rendezvous_test
