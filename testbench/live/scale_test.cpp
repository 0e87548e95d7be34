// SPDX-License-Identifier: Apache-2.0
// Many of everything: QPs on one SRQ, QPs of a NIC, objects that come and go.
//
//   RXNIC_SCALE_OBJECTS  of each kind, made and freed one after the other; default 500
#include <fcntl.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::scale_test {
namespace {

// A few small QPs of side A, each connected to one of side B, and a program's own number for each (immediate data).
struct Pairs {
  Pairs(Side& a, Side& b, std::uint32_t count, ibv_srq* srq) {
    QpShape shape{.wrs = 4, .sges = 1, .inline_bytes = 0, .srq = nullptr, .all_signaled = true};
    for (std::uint32_t n = 0; n < count; ++n) {
      here.push_back(make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), shape));
      QpShape receives = shape;
      receives.srq = srq;
      there.push_back(make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), receives));
      connect_both(here[n].get(), a.world, there[n].get(), b.world);
    }
  }
  std::vector<Owned<ibv_qp>> here, there;
};

class Scale : public PairTest {
 protected:
  static constexpr std::uint32_t kBytes = 64;
  // Sends the bytes at place `n` of A's memory, with `immediate`.
  void send(ibv_qp* qp, std::size_t n, std::uint32_t immediate) {
    std::array<ibv_sge, 1> source{a.arena.sge(n * kBytes, kBytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND_WITH_IMM, source);
    wr.imm_data = immediate;
    post(qp, wr);
  }
};

TEST_P(Scale, ManyQpsTakeFromOneSrq) {
  constexpr std::uint32_t kQps = 256, kRounds = 8;
  ibv_srq_init_attr init{};
  init.attr = {kQps, 1, 0};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  const Pairs pairs(a, b, kQps, srq.get());
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t n = 0; n < kQps; ++n) {
      std::array<ibv_sge, 1> sink{b.arena.sge(n * kBytes, kBytes)};
      post_receive(srq.get(), sink, n);
    }
    for (std::uint32_t n = 0; n < kQps; ++n) send(pairs.here[n].get(), (n * 7 + round) % kQps, round << 16 | n);
    std::vector<bool> seen(kQps);
    for (std::uint32_t n = 0; n < kQps; ++n) {
      const ibv_wc wc = take(b.receive_cq.get());
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc.imm_data >> 16, round) << "messages of a QP stay in order";
      const std::uint32_t from = wc.imm_data & 0xffff;
      ASSERT_EQ(wc.qp_num, pairs.there[from]->qp_num);
      ASSERT_FALSE(seen[from]);
      seen[from] = true;
      b.arena.expect(wc.wr_id * kBytes, a.arena.bytes((from * 7 + round) % kQps * kBytes, kBytes));
      ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    expect_nothing_else_written();
  }
}

TEST_P(Scale, FourThousandQps) {
  constexpr std::uint32_t kPairs = 2000, kAtOnce = 500;
  const Pairs pairs(a, b, kPairs, nullptr);
  for (std::uint32_t first = 0; first < kPairs; first += kAtOnce) {
    for (std::uint32_t n = first; n < first + kAtOnce; ++n) {
      std::array<ibv_sge, 1> sink{b.arena.sge(n * kBytes, kBytes)};
      post_receive(pairs.there[n].get(), sink, n);
      send(pairs.here[n].get(), kPairs - 1 - n, n);
    }
    for (std::uint32_t n = 0; n < kAtOnce; ++n) {
      const ibv_wc wc = take(b.receive_cq.get());
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
      ASSERT_EQ(wc.wr_id, wc.imm_data);
      ASSERT_EQ(wc.qp_num, pairs.there[wc.imm_data]->qp_num);
      b.arena.expect(wc.wr_id * kBytes, a.arena.bytes((kPairs - 1 - wc.wr_id) * kBytes, kBytes));
      ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
  }
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Scale);

std::uint32_t objects() {
  const char* const text = std::getenv("RXNIC_SCALE_OBJECTS");
  return text == nullptr ? 500 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0));
}

// Each kind by itself, so that a number that is not given back runs out.
TEST(ScaleObjects, ComeAndGo) {
  Side side(0);
  ibv_context* const context = side.world.context.get();
  ibv_pd* const pd = side.world.pd.get();
  ibv_ah_attr address = address_of(side.world, {});
  const Owned<ibv_qp> raw =
      make_qp(side.world, side.send_cq.get(), side.receive_cq.get(), {.type = IBV_QPT_RAW_PACKET});
  const auto freed = [](auto* made, int (*free)(decltype(made))) { return made != nullptr && free(made) == 0; };
  const std::vector<std::pair<const char*, std::function<bool()>>> kinds{
      {"PD", [&] { return freed(ibv_alloc_pd(context), ibv_dealloc_pd); }},
      {"MR", [&] { return freed(ibv_reg_mr(pd, side.arena.at(0), side.arena.size(), 0), ibv_dereg_mr); }},
      {"on-demand MR", [&] { return freed(ibv_reg_mr(pd, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND), ibv_dereg_mr); }},
      {"MW", [&] { return freed(ibv_alloc_mw(pd, IBV_MW_TYPE_2), ibv_dealloc_mw); }},
      {"DM",
       [&] {
         ibv_alloc_dm_attr wanted{4096, 0, 0};
         return freed(ibv_alloc_dm(context, &wanted), ibv_free_dm);
       }},
      {"CQ", [&] { return freed(ibv_create_cq(context, 64, nullptr, nullptr, 0), ibv_destroy_cq); }},
      {"completion channel", [&] { return freed(ibv_create_comp_channel(context), ibv_destroy_comp_channel); }},
      {"SRQ",
       [&] {
         ibv_srq_init_attr init{};
         init.attr = {64, 1, 0};
         return freed(ibv_create_srq(pd, &init), ibv_destroy_srq);
       }},
      {"QP",
       [&] {
         for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
           if (make_qp(side.world, side.send_cq.get(), side.receive_cq.get(), {.type = type}) == nullptr) return false;
         }
         return true;
       }},
      {"AH", [&] { return freed(ibv_create_ah(pd, &address), ibv_destroy_ah); }},
      {"XRC domain",
       [&] {
         ibv_xrcd_init_attr init{IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
         return freed(ibv_open_xrcd(context, &init), ibv_close_xrcd);
       }},
      {"flow",
       [&] {
         ibv_flow_attr every{};
         every.type = IBV_FLOW_ATTR_ALL_DEFAULT;
         every.size = sizeof every;
         every.port = 1;
         return freed(ibv_create_flow(raw.get(), &every), ibv_destroy_flow);
       }},
      {"WQ",
       [&] {
         ibv_wq_init_attr init{};
         init.wq_type = IBV_WQT_RQ;
         init.max_wr = init.max_sge = 1;
         init.pd = pd;
         init.cq = side.receive_cq.get();
         return freed(ibv_create_wq(context, &init), ibv_destroy_wq);
       }},
  };
  for (const auto& [what, make_and_free] : kinds) {
    for (std::uint32_t n = 0; n < objects(); ++n) ASSERT_TRUE(make_and_free()) << what << ' ' << n;
  }
  std::printf("%zu kinds, %u of each\n", kinds.size(), objects());
}

}  // namespace
}  // namespace rxnic::live::scale_test
