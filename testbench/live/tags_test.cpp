// SPDX-License-Identifier: Apache-2.0
// Tag matching (rules 5): A sends, B receives on a TM SRQ.
#include <cerrno>
#include <vector>

#include "testbench/live/tags_pair.h"

namespace rxnic::live::tags_test {
namespace {

TEST_P(Tags, DeviceSaysWhatItCan) {
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(b.world.context.get(), nullptr, &attr), 0);
  EXPECT_EQ(attr.tm_caps.flags, 0u + IBV_TM_CAP_RC);
  EXPECT_EQ(attr.tm_caps.max_sge, 1u);
  EXPECT_GE(attr.tm_caps.max_num_tags, 16u);
  EXPECT_GE(attr.tm_caps.max_ops, 2 * attr.tm_caps.max_num_tags + 2);
  EXPECT_EQ(attr.tm_caps.max_rndv_hdr_size, 64u);  // rules 5.8
}

TEST_P(Tags, OldestMatchTakesTheMessageWithoutItsHeader) {
  receive(0);
  add(0, 0x100, 0xf00);
  add(1, 0x123);
  send(0x123, 500);
  expect_matched(0, 500, 0x123);
  send(0x123, 0);
  expect_matched(1, 0, 0x123);
  send(0x123, 60);
  expect_unexpected(0, 60);
  expect_nothing_else_written();
}

TEST_P(Tags, MessageOfSeveralPacketsCompletesTwice) {
  add(2, 7);
  send(7, 3000);
  expect_message(102, IBV_WC_TM_MATCH, 0, 7);
  expect_message(102, IBV_WC_TM_DATA_VALID, 3000, 7);
  b.arena.expect(place(2), a.arena.bytes(kHeader, 3000));
  expect_nothing_else_written();
}

TEST_P(Tags, MessageWithoutTagTakesAReceiveAndIsNotUnexpected) {
  receive(1);
  add(0, 0, 0);  // matches every tag
  send(5, 40, IBV_TMH_NO_TAG);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.opcode, IBV_WC_TM_NO_TAG);
  EXPECT_EQ(t.wr_id, 301u);
  EXPECT_EQ(t.bytes, kHeader + 40);
  b.arena.expect(kReceives + place(1), a.arena.bytes(0, kHeader + 40));
  add(1, 9, kExact, kBuffer, IBV_OPS_SIGNALED);
  expect_op(IBV_WC_TM_ADD, 201);  // in phase
  send(5, 10);
  expect_matched(0, 10, 5);
  expect_nothing_else_written();
}

// rules 5.1.
TEST_P(Tags, MessageWithAnotherOpcodeOrWithoutAHeaderHasNoTag) {
  add(0, 0, 0);  // matches every tag
  for (const int opcode : {4, 0x7f, 0xff}) {
    receive(1);
    send(5, 40, opcode);
    const Tagged t = take_tagged();
    EXPECT_EQ(t.opcode, IBV_WC_TM_NO_TAG) << opcode;
    EXPECT_EQ(t.wr_id, 301u);
    EXPECT_EQ(t.bytes, kHeader + 40);
    b.arena.expect(kReceives + place(1), a.arena.bytes(0, kHeader + 40));
  }
  receive(1);
  std::array<ibv_sge, 1> list{a.arena.sge(0, kHeader - 1)};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, list, 1);
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  const Tagged t = take_tagged();
  EXPECT_EQ(t.opcode, IBV_WC_TM_NO_TAG);
  EXPECT_EQ(t.bytes, kHeader - 1);
  b.arena.expect(kReceives + place(1), a.arena.bytes(0, kHeader - 1));
  add(1, 9, kExact, kBuffer, IBV_OPS_SIGNALED);
  expect_op(IBV_WC_TM_ADD, 201);  // in phase: none was unexpected
  expect_nothing_else_written();
}

TEST_P(Tags, OperationsCompleteWhenTheyAreSignaled) {
  const std::uint32_t first = add(0, 1, kExact, kBuffer, IBV_OPS_SIGNALED);
  const std::uint32_t second = add(1, 2);
  EXPECT_NE(first, second);
  EXPECT_EQ(remove(first, 250, IBV_OPS_SIGNALED), 0);
  EXPECT_EQ(remove(second, 251, 0), 0);
  sync(252, 0);
  expect_op(IBV_WC_TM_ADD, 200);
  expect_op(IBV_WC_TM_DEL, 250);
  expect_op(IBV_WC_TM_SYNC, 252);
  receive(0);
  send(2, 8);
  expect_unexpected(0, 8);  // the removal that was not signaled was carried out, too
  expect_nothing_else_written();
}

TEST_P(Tags, RemovalOfAMatchedEntryFails) {
  const std::uint32_t handle = add(0, 1);
  send(1, 8);
  EXPECT_EQ(remove(handle, 250, 0), 0);
  expect_matched(0, 8, 1);
  expect_op(IBV_WC_TM_DEL, 250, 0, IBV_WC_TM_ERR);
  expect_nothing_else_written();
}

TEST_P(Tags, EntriesAddedOutOfPhaseMatchAfterTheSync) {
  for (std::uint32_t n = 0; n < 3; ++n) receive(n);
  add(0, 1);
  send(9, 8);
  add(1, 2, kExact, kBuffer, IBV_OPS_SIGNALED);  // B has not seen the message
  expect_unexpected(0, 8);
  expect_op(IBV_WC_TM_ADD, 201, IBV_WC_TM_SYNC_REQ);
  send(2, 8);
  expect_unexpected(1, 8);
  send(1, 8);
  expect_matched(0, 8, 1);  // an older entry
  sync(250, 1);             // one of two
  expect_op(IBV_WC_TM_SYNC, 250, IBV_WC_TM_SYNC_REQ);
  send(2, 8);
  expect_unexpected(2, 8);
  sync(251, unexpected);
  expect_op(IBV_WC_TM_SYNC, 251);
  send(2, 8);
  expect_matched(1, 8, 2);
  expect_nothing_else_written();
}

TEST_P(Tags, TwoQpsShareOneList) {
  Owned<ibv_qp> from = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
  QpShape shape;
  shape.srq = srq.get();
  shape.wrs = shape.inline_bytes = 0;
  Owned<ibv_qp> to = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), shape);
  connect_both(from.get(), a.world, to.get(), b.world);
  add(0, 1);
  add(1, 1);
  send(1, 100);
  expect_matched(0, 100, 1);
  std::swap(a.qp, from);
  send(1, 90);
  expect_matched(1, 90, 1);
  std::swap(a.qp, from);
  expect_nothing_else_written();
}

// A completion of the SRQ belongs to it, not to the QP of its message.
TEST_P(Tags, CompletionsOutliveTheirQp) {
  add(0, 1);
  receive(0);
  send(1, 30);
  send(2, 20);
  b.qp.reset();
  b.arena.expect(place(0), a.arena.bytes(kHeader, 30));
  expect_message(100, kWhole, 30, 1);
  expect_unexpected(0, 20);
  expect_nothing_else_written();
}

TEST_P(Tags, MessageLongerThanTheBufferFailsBothSides) {
  add(0, 1, kExact, 100);
  expect_both_fail(101, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR);
}

TEST_P(Tags, ForeignBufferFailsBothSides) {
  ibv_ops_wr wr = addition(0, 1, kExact, kBuffer, 0);
  wr.tm.add.sg_list->lkey ^= 0x5a5a00;
  ASSERT_EQ(operate(wr), 0);
  expect_both_fail(50, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
}

// Refused when they are posted.

TEST_P(Tags, FullListAndTooManyOperationsAreRefused) {
  for (std::uint32_t n = 0; n < kTags; ++n) add(n, n);
  ibv_ops_wr wr = addition(kTags, 99, kExact, kBuffer, 0);
  EXPECT_EQ(operate(wr), ENOMEM) << "as many operations as max_ops are outstanding";
  send(0, 10);
  expect_matched(0, 10, 0);  // the first operation was carried out: there is room, and a handle is free
  EXPECT_EQ(operate(wr), 0);
  send(99, 20);
  expect_matched(kTags, 20, 99);  // all of them
  add(0, 50);
  EXPECT_EQ(operate(wr), ENOMEM) << "max_num_tags are posted";
  expect_nothing_else_written();
}

TEST_P(Tags, ListStopsAtTheFirstThatIsRefused) {
  std::array<ibv_ops_wr, 3> list{addition(0, 1, kExact, kBuffer, 0), addition(1, 2, kExact, kBuffer, 0),
                                 addition(2, 3, kExact, kBuffer, 0)};
  list[0].next = &list[1];
  list[1].next = &list[2];
  list[1].opcode = static_cast<ibv_ops_wr_opcode>(7);
  ibv_ops_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(srq.get(), list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[1]);
  receive(0);
  send(1, 10);
  expect_matched(0, 10, 1);
  send(3, 10);
  expect_unexpected(0, 10);
  expect_nothing_else_written();
}

TEST_P(Tags, WhatIsNotAnOperationIsRefused) {
  ibv_ops_wr wr = addition(0, 1, kExact, kBuffer, 0);
  wr.tm.add.num_sge = 2;
  EXPECT_EQ(operate(wr), EINVAL);
  wr.tm.add.num_sge = -1;
  EXPECT_EQ(operate(wr), EINVAL);
  wr = addition(0, 1, kExact, kBuffer, 1 << 5);
  EXPECT_EQ(operate(wr), EINVAL);
  EXPECT_EQ(remove(kTags, 1, 0), EINVAL);
  Owned<ibv_srq> basic;
  ibv_srq_init_attr init{};
  init.attr = {4, 1, 0};
  basic = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  wr = addition(0, 1, kExact, kBuffer, 0);
  ibv_ops_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_ops(basic.get(), &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
}

TEST_P(Tags, WhatATmSrqNeedsIsChecked) {
  const auto refused = [&](const Asked& asked, int error) {
    errno = 0;
    EXPECT_EQ(create(asked), nullptr);
    EXPECT_EQ(errno, error);
  };
  refused({Asked{}.mask & ~std::uint32_t{IBV_SRQ_INIT_ATTR_CQ}}, EINVAL);
  refused({Asked{}.mask & ~std::uint32_t{IBV_SRQ_INIT_ATTR_TM}}, EINVAL);
  refused({Asked{}.mask & ~std::uint32_t{IBV_SRQ_INIT_ATTR_PD}}, EINVAL);
  refused({Asked{}.mask, 0, kOps}, EINVAL);
  refused({Asked{}.mask, kTags, 0}, EINVAL);
  refused({Asked{}.mask, 1u << 30, kOps}, EINVAL);
  refused({Asked{}.mask, kTags, 1u << 30}, EINVAL);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY) << "a QP uses it";
}

// The send queue of a QP on a TM SRQ is the device's.
TEST_P(Tags, QpOnATmSrqIsRcAndDoesNotSend) {
  const auto refused = [&](ibv_qp_type type, std::uint32_t sends) {
    ibv_qp_init_attr init{};
    init.send_cq = b.send_cq.get();
    init.recv_cq = b.receive_cq.get();
    init.srq = srq.get();
    init.qp_type = type;
    init.cap.max_send_wr = sends;
    errno = 0;
    EXPECT_EQ(ibv_create_qp(b.world.pd.get(), &init), nullptr);
    EXPECT_EQ(errno, EINVAL);
  };
  refused(IBV_QPT_UC, 0);
  refused(IBV_QPT_UD, 0);
  refused(IBV_QPT_RC, 1);
  std::array<ibv_sge, 1> list{b.arena.sge(0, 8)};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(b.qp.get(), &wr, &bad), ENOMEM);
  EXPECT_EQ(bad, &wr);
}

// Many more operations than max_ops, none of them signaled: what they did shows that they were carried out.
TEST_P(Tags, HandlesAndOperationsAreUsedAgain) {
  for (std::uint32_t round = 0; round < 200; ++round) {
    const std::uint32_t n = round % kTags;
    add(n, round);
    send(round, 4 + round % 64);
    expect_matched(n, 4 + round % 64, round);
  }
  for (std::uint32_t round = 0; round < 50; ++round) {
    const std::uint32_t handle = add(0, round);
    ASSERT_EQ(remove(handle, 250, round % 5 == 4 ? IBV_OPS_SIGNALED : 0), 0);
    if (round % 5 == 2) {
      ASSERT_EQ(remove(handle, 251, 0), 0) << "there is none: fails, and says so";
      expect_op(IBV_WC_TM_DEL, 251, 0, IBV_WC_TM_ERR);
    }
    if (round % 5 == 4) expect_op(IBV_WC_TM_DEL, 250);
  }
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Tags);

}  // namespace
}  // namespace rxnic::live::tags_test
