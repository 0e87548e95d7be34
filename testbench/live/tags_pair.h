// SPDX-License-Identifier: Apache-2.0
// A pair whose B receives on a TM SRQ (rules 5). Its tests look at B's completions and at every byte of both arenas.
#pragma once

#include <infiniband/tm_types.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live {

inline constexpr std::uint32_t kContext = 0xc0ffee;  // of the TMHs
inline constexpr std::uint64_t kExact = ~std::uint64_t{0};
inline constexpr unsigned int kWhole = IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID;
inline constexpr std::size_t kBuffer = 2 * kPage;     // of an entry, and of a receive
inline constexpr std::size_t kReceives = 32 * kPage;  // in B's arena; entries' buffers are before it
inline constexpr std::size_t kHeader = sizeof(ibv_tmh);

struct Tagged {  // a completion of the TM SRQ
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  std::uint64_t wr_id = 0;
  unsigned int flags = 0;
  std::uint32_t bytes = 0;
  std::uint64_t tag = 0;
  std::uint32_t priv = 0;
};

class Tags : public PairTest {
 protected:
  static constexpr std::uint32_t kTags = 8, kOps = 8;

  void SetUp() override {
    ibv_cq_init_attr_ex init{};
    init.cqe = 256;
    init.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    cq = ibv_create_cq_ex(b.world.context.get(), &init);
    ASSERT_NE(cq, nullptr);
    srq = own(create({}), "ibv_create_srq_ex");
    make_qps();
  }
  // New ones, connected.
  void make_qps(const Path& path = {}) {
    QpShape shape;
    shape.srq = srq.get();
    shape.wrs = shape.inline_bytes = 0;
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), shape);
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world, path);
  }
  void TearDown() override {
    b.qp.reset();
    srq.reset();
    ASSERT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  }

  struct Asked {
    std::uint32_t mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    std::uint32_t tags = kTags, ops = kOps;
  };
  ibv_srq* create(const Asked& asked) {
    ibv_srq_init_attr_ex init{};
    init.attr = {16, 1, 0};
    init.comp_mask = asked.mask;
    init.srq_type = IBV_SRQT_TM;
    init.pd = b.world.pd.get();
    init.cq = ibv_cq_ex_to_cq(cq);
    init.tm_cap = {asked.tags, asked.ops};
    return ibv_create_srq_ex(b.world.context.get(), &init);
  }

  // B's side. Entry n has buffer n and recv_wr_id 100 + n; an operation on it wr_id 200 + n.
  static std::size_t place(std::uint32_t n) { return n * kBuffer; }
  ibv_ops_wr addition(std::uint32_t n, std::uint64_t tag, std::uint64_t mask, std::size_t bytes, int flags) {
    ibv_ops_wr wr{};
    wr.wr_id = 200 + n;
    wr.opcode = IBV_WR_TAG_ADD;
    wr.flags = flags;
    buffers_[n] = b.arena.sge(place(n), bytes);
    wr.tm.unexpected_cnt = unexpected;
    wr.tm.add = {100u + n, &buffers_[n], 1, tag, mask};
    return wr;
  }
  // Returns the handle.
  std::uint32_t add(std::uint32_t n, std::uint64_t tag, std::uint64_t mask = kExact, std::size_t bytes = kBuffer,
                    int flags = 0) {
    ibv_ops_wr wr = addition(n, tag, mask, bytes, flags);
    EXPECT_EQ(operate(wr), 0);
    return wr.tm.handle;
  }
  int operate(ibv_ops_wr& wr) {
    ibv_ops_wr* bad = nullptr;
    const int result = ibv_post_srq_ops(srq.get(), &wr, &bad);
    EXPECT_EQ(bad != nullptr, result != 0);
    return result;
  }
  int remove(std::uint32_t handle, std::uint64_t id, int flags) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_TAG_DEL;
    wr.flags = flags;
    wr.tm.handle = handle;
    return operate(wr);
  }
  void sync(std::uint64_t id, std::uint32_t seen) {
    ibv_ops_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_TAG_SYNC;
    wr.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
    wr.tm.unexpected_cnt = seen;
    EXPECT_EQ(operate(wr), 0);
  }
  void receive(std::uint32_t n) {
    std::array<ibv_sge, 1> list{b.arena.sge(kReceives + place(n), kBuffer)};
    post_receive(srq.get(), list, 300 + n);
  }
  Tagged take_tagged() {
    ibv_poll_cq_attr attr{};
    const auto end = std::chrono::steady_clock::now() + Patience::current();
    while (ibv_start_poll(cq, &attr) != 0) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no completion came");
    }
    Tagged t;
    t.status = cq->status;
    t.wr_id = cq->wr_id;
    t.opcode = ibv_wc_read_opcode(cq);
    t.flags = ibv_wc_read_wc_flags(cq);
    t.bytes = ibv_wc_read_byte_len(cq);
    ibv_wc_tm_info info{};
    ibv_wc_read_tm_info(cq, &info);
    t.tag = info.tag;
    t.priv = info.priv;
    ibv_end_poll(cq);
    return t;
  }
  void expect_op(ibv_wc_opcode opcode, std::uint64_t id, unsigned int flags = 0,
                 ibv_wc_status status = IBV_WC_SUCCESS) {
    const Tagged t = take_tagged();
    EXPECT_EQ(t.status, status) << ibv_wc_status_str(t.status);
    EXPECT_EQ(t.opcode, opcode);
    EXPECT_EQ(t.wr_id, id);
    EXPECT_EQ(t.flags, flags);
  }
  void expect_message(std::uint64_t id, unsigned int flags, std::uint32_t bytes, std::uint64_t tag) {
    const Tagged t = take_tagged();
    EXPECT_EQ(t.status, IBV_WC_SUCCESS) << ibv_wc_status_str(t.status);
    EXPECT_EQ(t.opcode, IBV_WC_TM_RECV);
    EXPECT_EQ(t.wr_id, id);
    EXPECT_EQ(t.flags, flags);
    EXPECT_EQ(t.bytes, bytes);
    if ((flags & IBV_WC_TM_MATCH) == 0) return;
    EXPECT_EQ(t.tag, tag);
    EXPECT_EQ(t.priv, kContext);
  }
  void expect_matched(std::uint32_t n, std::size_t bytes, std::uint64_t tag) {
    expect_message(100 + n, kWhole, static_cast<std::uint32_t>(bytes), tag);
    b.arena.expect(place(n), a.arena.bytes(kHeader, bytes));
  }
  void expect_unexpected(std::uint32_t receive, std::size_t bytes) {
    expect_message(300 + receive, 0, static_cast<std::uint32_t>(kHeader + bytes), 0);
    b.arena.expect(kReceives + place(receive), a.arena.bytes(0, kHeader + bytes));
    ++unexpected;
  }

  // A sends a TMH and `bytes` of data behind it, from the beginning of its arena, and waits for the acknowledgement.
  void send(std::uint64_t tag, std::size_t bytes, int opcode = IBV_TMH_EAGER) {
    post_message(tag, bytes, opcode);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  }
  void post_message(std::uint64_t tag, std::size_t bytes, int opcode = IBV_TMH_EAGER) {
    ibv_tmh tmh{};
    tmh.opcode = static_cast<std::uint8_t>(opcode);
    tmh.app_ctx = htobe32(kContext);
    tmh.tag = htobe64(tag);
    std::memcpy(a.arena.at(0), &tmh, sizeof tmh);
    a.arena.accept(0, sizeof tmh);
    std::array<ibv_sge, 1> list{a.arena.sge(0, kHeader + bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, 1);
    post(a.qp.get(), wr);
  }

  // A message for entry 0.
  void expect_both_fail(std::size_t bytes, ibv_wc_status sender, ibv_wc_status receiver) {
    const Patience patience(std::chrono::seconds(20));
    post_message(1, bytes);
    EXPECT_EQ(take(a.send_cq.get()).status, sender);
    const Tagged t = take_tagged();
    EXPECT_EQ(t.status, receiver) << ibv_wc_status_str(t.status);
    EXPECT_EQ(t.wr_id, 100u);
    expect_nothing_else_written();
  }

  ibv_cq_ex* cq = nullptr;
  Owned<ibv_srq> srq;
  std::uint32_t unexpected = 0;  // messages that B has seen

 private:
  std::array<ibv_sge, 2 * kTags> buffers_{};
};

}  // namespace rxnic::live
