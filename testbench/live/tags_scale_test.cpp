// SPDX-License-Identifier: Apache-2.0
// Tag matching as real users size it (rules 5.8): lists of 1,024 tags, 33 receives and more. There are as many
// unexpected messages as ask for a TAG_SYNC (rules 5.5).
#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "testbench/live/tags_pair.h"

namespace rxnic::live::tags_scale_test {
namespace {

class TagsAtScale : public Tags {
 protected:
  static constexpr std::uint32_t kMany = 1024, kReceived = 64;

  // `count` messages of `tag(n)` without data behind the header, with one call.
  template <class Tag>
  void send_many(std::uint32_t count, Tag tag) {
    std::vector<ibv_tmh> headers(count);
    std::vector<ibv_sge> sges(count);
    std::vector<ibv_send_wr> wrs(count);
    for (std::uint32_t n = 0; n < count; ++n) {
      headers[n] = {IBV_TMH_EAGER, {}, htobe32(kContext), htobe64(tag(n))};
      sges[n] = {reinterpret_cast<std::uint64_t>(&headers[n]), sizeof(ibv_tmh), 0};
      wrs[n] = send_wr(IBV_WR_SEND, {&sges[n], 1}, n);
      wrs[n].send_flags = 0u + IBV_SEND_INLINE + (n + 1 == count ? 0u + IBV_SEND_SIGNALED : 0u);
      wrs[n].next = n + 1 < count ? &wrs[n + 1] : nullptr;
    }
    post(a.qp.get(), wrs.front());
    ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  }
  void use(std::uint32_t tags, std::uint32_t wrs) {
    b.qp.reset();
    srq.reset();
    ibv_srq_init_attr_ex init{};
    init.attr = {wrs, 1, 0};
    init.comp_mask = Asked{}.mask;
    init.srq_type = IBV_SRQT_TM;
    init.pd = b.world.pd.get();
    init.cq = ibv_cq_ex_to_cq(cq);
    init.tm_cap = {tags, 2 * tags + 2};
    srq = own(ibv_create_srq_ex(b.world.context.get(), &init), "ibv_create_srq_ex");
    make_qps();
  }
};

// The last ones are found first, so that all the others are searched.
TEST_P(TagsAtScale, AListOfAThousandTagsIsUsedToItsEnd) {
  use(kMany, kReceived);
  std::vector<ibv_sge> buffers(kMany);
  std::vector<ibv_ops_wr> ops(kMany);
  for (std::uint32_t n = 0; n < kMany; ++n) {
    buffers[n] = b.arena.sge(n * 16, 16);
    ops[n] = {};
    ops[n].opcode = IBV_WR_TAG_ADD;
    ops[n].next = n + 1 < kMany ? &ops[n + 1] : nullptr;
    ops[n].tm.add = {n, &buffers[n], 1, n, kExact};
  }
  ASSERT_EQ(operate(ops.front()), 0);
  ibv_ops_wr more = ops.front();
  more.next = nullptr;
  EXPECT_EQ(operate(more), ENOMEM);
  constexpr std::uint32_t kBatch = 64;
  for (std::uint32_t done = 0; done < kMany; done += kBatch) {
    send_many(kBatch, [&](std::uint32_t n) { return kMany - 1 - done - n; });
    for (std::uint32_t n = 0; n < kBatch; ++n) expect_message(kMany - 1 - done - n, kWhole, 0, kMany - 1 - done - n);
  }
  EXPECT_EQ(operate(more), 0);
  send_many(1, [](std::uint32_t) { return 0; });
  expect_message(0, kWhole, 0, 0);
  expect_nothing_else_written();
}

TEST_P(TagsAtScale, ManyUnexpectedMessagesAskForASync) {
  constexpr std::uint32_t kMost = 0x3fff;  // received minus acknowledged
  use(kTags, kReceived);
  const auto receive_many = [&](std::uint32_t count, unsigned int flags) {
    for (std::uint32_t n = 0; n < count; ++n) receive(0);
    send_many(count, [](std::uint32_t) { return 5; });
    for (std::uint32_t n = 0; n < count && !HasFailure(); ++n) expect_message(300, flags, kHeader, 0);
    unexpected += count;
  };
  while (unexpected < kMost && !HasFailure()) receive_many(std::min(kReceived, kMost - unexpected), 0);
  receive_many(3, IBV_WC_TM_SYNC_REQ);
  sync(250, unexpected);
  expect_op(IBV_WC_TM_SYNC, 250);
  receive_many(1, 0);
  b.arena.accept(kReceives, kHeader);
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(TagsAtScale);

}  // namespace
}  // namespace rxnic::live::tags_scale_test
