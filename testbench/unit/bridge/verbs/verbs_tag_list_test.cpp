// SPDX-License-Identifier: Apache-2.0
// The rules are those of bridge/verbs/tag_list.h: what a program's operations become, and what completions free.
#include "bridge/verbs/tag_list.h"

#include <cerrno>

#include "bridge/channel/tag_ring.h"
#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_tag_list_test {
namespace {

using channel::TagWrite;
using channel::TagWriteKind;

constexpr std::uint32_t kTags = 3, kOps = 4;

class VerbsTagList : public VerbsTest {
 protected:
  VerbsTagList() : cq(make_cq(64)), srq(make_srq(8, true)) {
    srq.type = IBV_SRQT_TM;
    srq.tags = std::make_unique<TagList>();
    TagList& list = *srq.tags;
    srq.cq = ibv_cq_ex_to_cq(&cq.cq);
    list.max_tags = kTags;
    list.slots = kOps;
    list.doorbell = 9;
    list.ring = ring(kOps * channel::kTagWriteBytes, 0);
    EXPECT_TRUE(allocate_bookkeeping(srq));
    sge = {0x1000, 256, 77};
  }
  ibv_ops_wr addition(std::uint64_t id, int flags = 0) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_TAG_ADD;
    wr.flags = flags;
    wr.tm.unexpected_cnt = 0x1'0005;
    wr.tm.add = {id + 100, &sge, 1, 0xabc, 0xfff};
    return wr;
  }
  int operate(ibv_ops_wr& wr) {
    ibv_ops_wr* bad = nullptr;
    const int result = post_srq_ops(&srq.srq, &wr, &bad);
    EXPECT_EQ(bad, result == 0 ? nullptr : &wr);
    return result;
  }
  std::uint32_t add(std::uint64_t id, int flags = 0) {
    ibv_ops_wr wr = addition(id, flags);
    EXPECT_EQ(operate(wr), 0);
    return wr.tm.handle;
  }
  int remove(std::uint32_t handle, std::uint64_t id) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_TAG_DEL;
    wr.tm.handle = handle;
    return operate(wr);
  }
  int sync(std::uint64_t id, int flags = IBV_OPS_SIGNALED) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_TAG_SYNC;
    wr.flags = flags;
    return operate(wr);
  }
  TagWrite written(std::uint32_t slot) const {
    TagWrite w;
    std::memcpy(&w, srq.tags->ring + slot * sizeof w, sizeof w);
    return w;
  }
  // The device's side.
  void complete(CqeOpcode opcode, std::uint32_t index, std::uint16_t flags = 0, WcStatus status = WcStatus::kSuccess) {
    Cqe cqe;
    cqe.opcode = opcode;
    cqe.wqe_index = index;
    cqe.srq_number = srq.number;
    cqe.flags = kCqeSrq | flags;
    cqe.status = status;
    write_cqe(cq, cqe);
  }
  ibv_wc polled() {
    ibv_wc wc{};
    EXPECT_EQ(poll_cq(ibv_cq_ex_to_cq(&cq.cq), 1, &wc), 1);
    return wc;
  }

  Cq& cq;
  Srq& srq;
  ibv_sge sge{};
};

TEST_F(VerbsTagList, AnOperationIsWrittenAndRung) {
  const std::uint32_t handle = add(5, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC);
  ASSERT_EQ(remove(handle, 6), 0);
  const TagWrite first = written(0), second = written(1);
  EXPECT_EQ(first.kind, TagWriteKind::kAdd);
  EXPECT_EQ(first.flags, channel::kTagWriteSignaled | channel::kTagWriteSync);
  EXPECT_EQ(first.unexpected_count, 5u);  // modulo 2^16
  EXPECT_EQ(first.handle, handle);
  EXPECT_EQ(first.tag, 0xabcu);
  EXPECT_EQ(first.mask, 0xfffu);
  EXPECT_EQ(first.buffer.address, 0x1000u);
  EXPECT_EQ(first.buffer.length, 256u);
  EXPECT_EQ(first.buffer.lkey, 77u);
  EXPECT_EQ(second.kind, TagWriteKind::kDelete);
  EXPECT_EQ(second.flags, 0u);
  EXPECT_EQ(second.handle, handle);
  EXPECT_EQ(channel::board(context.mapping, channel::Board::kTags).value[9].load(), 2u);
}

TEST_F(VerbsTagList, AnEntryWithoutMemoryHasNone) {
  ibv_ops_wr wr = addition(1);
  wr.tm.add.num_sge = 0;
  wr.tm.add.sg_list = nullptr;
  ASSERT_EQ(operate(wr), 0);
  sge.length = 0;
  ASSERT_EQ(add(2), 1u);
  for (const std::uint32_t slot : {0u, 1u}) {
    EXPECT_EQ(written(slot).buffer.length, 0u);
    EXPECT_EQ(written(slot).buffer.lkey, raw(kInvalidKey));
  }
}

TEST_F(VerbsTagList, WhatIsNotAnOperationIsRefused) {  // R1
  ibv_ops_wr wr = addition(1);
  wr.opcode = static_cast<ibv_ops_wr_opcode>(3);
  EXPECT_EQ(operate(wr), EINVAL);
  wr = addition(1, 1 << 2);
  EXPECT_EQ(operate(wr), EINVAL);
  wr = addition(1);
  wr.tm.add.num_sge = 2;
  EXPECT_EQ(operate(wr), EINVAL);
  EXPECT_EQ(remove(kTags, 1), EINVAL);
  srq.tags.reset();
  wr = addition(1);
  EXPECT_EQ(operate(wr), EINVAL);
}

TEST_F(VerbsTagList, OnlySoManyOperationsAreOutstanding) {  // R1, R2
  for (std::uint64_t n = 0; n < kOps; ++n) ASSERT_EQ(sync(n, n == 1 ? IBV_OPS_SIGNALED : 0), 0);
  EXPECT_EQ(sync(9), ENOMEM);
  complete(CqeOpcode::kTagSync, 1);
  EXPECT_EQ(polled().wr_id, 1u);
  EXPECT_EQ(sync(9), 0);
  EXPECT_EQ(sync(10), 0);
  EXPECT_EQ(sync(11), ENOMEM);
  complete(CqeOpcode::kTagSync, 0);  // number 4, the first of the second lap
  EXPECT_EQ(polled().wr_id, 9u);
  for (std::uint64_t n = 0; n < 3; ++n) EXPECT_EQ(sync(n), 0);
  EXPECT_EQ(sync(11), ENOMEM);
}

TEST_F(VerbsTagList, AMatchShowsThatItsEntryWasAdded) {  // R2
  for (std::uint64_t n = 0; n < kTags; ++n) add(n);
  ASSERT_EQ(sync(3, 0), 0);
  EXPECT_EQ(sync(4), ENOMEM);
  complete(CqeOpcode::kTagReceive, 1, kCqeTagMatch);
  EXPECT_EQ(polled().wr_id, 101u);
  EXPECT_EQ(sync(4), 0);
  EXPECT_EQ(sync(5), 0);
  EXPECT_EQ(sync(6), ENOMEM);
}

TEST_F(VerbsTagList, AHandleIsFreeWhenItsMessageIsComplete) {  // R3
  for (std::uint64_t n = 0; n < kTags; ++n) EXPECT_EQ(add(n), n);
  ibv_ops_wr wr = addition(7);
  EXPECT_EQ(operate(wr), ENOMEM);
  complete(CqeOpcode::kTagReceive, 1, kCqeTagMatch);
  EXPECT_EQ(polled().wr_id, 101u);
  EXPECT_EQ(operate(wr), ENOMEM) << "its data is on the way";
  complete(CqeOpcode::kTagReceive, 1, kCqeTagDataValid);
  const ibv_wc wc = polled();
  EXPECT_EQ(wc.wr_id, 101u);
  EXPECT_EQ(wc.opcode, IBV_WC_TM_RECV);
  EXPECT_EQ(wc.wc_flags, 0u + IBV_WC_TM_DATA_VALID);
  EXPECT_EQ(operate(wr), 0);
  EXPECT_EQ(wr.tm.handle, 1u);
  complete(CqeOpcode::kTagReceive, 2, kCqeTagMatch, WcStatus::kLocalProtection);
  EXPECT_EQ(polled().wr_id, 102u);
  wr = addition(8);
  EXPECT_EQ(operate(wr), 0) << "an error completes the message, too";
  EXPECT_EQ(wr.tm.handle, 2u);
}

TEST_F(VerbsTagList, AHandleIsFreeWhenItsRemovalHasSucceeded) {  // R3
  for (std::uint64_t n = 0; n < kTags; ++n) add(n);
  complete(CqeOpcode::kTagReceive, 0, kCqeTagMatch);  // of the first: two operations are outstanding
  polled();
  ASSERT_EQ(remove(1, 50), 0);
  ibv_ops_wr wr = addition(7);
  EXPECT_EQ(operate(wr), ENOMEM);
  complete(CqeOpcode::kTagDelete, 3);
  EXPECT_EQ(polled().wr_id, 50u);
  EXPECT_EQ(operate(wr), 0);
  EXPECT_EQ(wr.tm.handle, 1u);
  // Not signaled: a later completion shows it.
  ASSERT_EQ(remove(1, 51), 0);
  ASSERT_EQ(sync(52), 0);
  wr = addition(8);
  EXPECT_EQ(operate(wr), ENOMEM);
  complete(CqeOpcode::kTagSync, 2);
  EXPECT_EQ(polled().wr_id, 52u);
  EXPECT_EQ(operate(wr), 0);
}

TEST_F(VerbsTagList, ARemovalThatFailedFreesNothing) {  // R3
  for (std::uint64_t n = 0; n < kTags; ++n) add(n);
  ASSERT_EQ(remove(1, 50), 0);
  complete(CqeOpcode::kTagReceive, 1, kCqeTagMatch);
  polled();
  complete(CqeOpcode::kTagDelete, 3, 0, WcStatus::kTagMatch);
  const ibv_wc wc = polled();
  EXPECT_EQ(wc.status, IBV_WC_TM_ERR);
  EXPECT_EQ(wc.wr_id, 50u);
  ibv_ops_wr wr = addition(7);
  EXPECT_EQ(operate(wr), ENOMEM);
  complete(CqeOpcode::kTagReceive, 1, kCqeTagDataValid);
  polled();
  EXPECT_EQ(operate(wr), 0);
  wr = addition(8);
  EXPECT_EQ(operate(wr), ENOMEM) << "it is free once";
}

TEST_F(VerbsTagList, AnAdditionThatFailedFreesItsHandle) {  // R3
  for (std::uint64_t n = 0; n < kTags; ++n) add(n);
  complete(CqeOpcode::kTagAdd, 2, 0, WcStatus::kTagMatch);
  EXPECT_EQ(polled().wr_id, 2u);
  EXPECT_EQ(add(7), 2u);
}

TEST_F(VerbsTagList, OtherMessagesCompleteAReceive) {
  ibv_sge list{0x2000, 64, 5};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = 900;
  wr.sg_list = &list;
  wr.num_sge = 1;
  ASSERT_EQ(post_srq_recv(&srq.srq, &wr, &bad), 0);
  add(0);
  complete(CqeOpcode::kTagReceive, 0);
  EXPECT_EQ(polled().wr_id, 900u);
  complete(CqeOpcode::kTagReceive, 0, kCqeTagMatch | kCqeTagDataValid);
  EXPECT_EQ(polled().wr_id, 100u);
}

TEST_F(VerbsTagList, CompletionsStayWhenTheirQpGoes) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, &srq);
  add(0);
  Cqe cqe;
  cqe.qp_number = qp.qp.qp_base.qp_num;
  cqe.opcode = CqeOpcode::kTagReceive;
  cqe.srq_number = srq.number;
  cqe.flags = kCqeSrq | kCqeTagMatch | kCqeTagDataValid;
  write_cqe(cq, cqe);
  forget_completions(cq, cqe.qp_number, &srq);
  context.qps.erase(cqe.qp_number);
  EXPECT_EQ(polled().wr_id, 100u);
}

TEST_F(VerbsTagList, EntriesAreFlushedWhenTheSimulatorIsGone) {
  make_qp(IBV_QPT_RC, make_cq(8), make_cq(8), &srq);
  add(0);
  add(1);
  complete(CqeOpcode::kTagReceive, 0, kCqeTagMatch | kCqeTagDataValid);
  context.dead = true;
  EXPECT_EQ(polled().wr_id, 100u);
  const ibv_wc wc = polled();
  EXPECT_EQ(wc.wr_id, 101u);
  EXPECT_EQ(wc.opcode, IBV_WC_TM_RECV);
  EXPECT_EQ(wc.status, IBV_WC_FATAL_ERR);
  ibv_wc none{};
  EXPECT_EQ(poll_cq(ibv_cq_ex_to_cq(&cq.cq), 1, &none), -EIO);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_tag_list_test
