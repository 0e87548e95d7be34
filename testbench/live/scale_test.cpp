// SPDX-License-Identifier: Apache-2.0
// Many of everything: QPs on one SRQ, QPs of a NIC, objects that come and go.
//
//   RXNIC_SCALE_OBJECTS  of each kind, made and freed one after the other; default 500
#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "testbench/live/verbs_pair.h"
#include "testbench/live/xrc_objects.h"

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

struct ScaleFreer {
  void operator()(ibv_wq* p) const { ibv_destroy_wq(p); }
  void operator()(ibv_rwq_ind_table* p) const { ibv_destroy_rwq_ind_table(p); }
  void operator()(ibv_td* p) const { ibv_dealloc_td(p); }
};
template <class T>
std::unique_ptr<T, ScaleFreer> kept(T* made, const char* call) {
  must(made == nullptr ? errno : 0, call);
  return std::unique_ptr<T, ScaleFreer>(made);
}

ibv_wq* make_wq(const Side& side) {
  ibv_wq_init_attr init{};
  init.wq_type = IBV_WQT_RQ;
  init.max_wr = init.max_sge = 1;
  init.pd = side.world.pd.get();
  init.cq = side.receive_cq.get();
  return ibv_create_wq(side.world.context.get(), &init);
}

ibv_rwq_ind_table* make_table(const Side& side, ibv_wq* wq) {
  ibv_rwq_ind_table_init_attr init{0, &wq, 0};
  return ibv_create_rwq_ind_table(side.world.context.get(), &init);
}

ibv_qp* make_rss_qp(const Side& side, ibv_rwq_ind_table* table) {
  std::array<std::uint8_t, 40> key{1};
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  init.pd = side.world.pd.get();
  init.rwq_ind_tbl = table;
  init.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, key.size(), key.data(), IBV_RX_HASH_SRC_IPV4};
  return ibv_create_qp_ex(side.world.context.get(), &init);
}

ibv_srq* make_tm_srq(const Side& side) {
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 1, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.srq_type = IBV_SRQT_TM;
  init.pd = side.world.pd.get();
  init.cq = side.receive_cq.get();
  init.tm_cap = {16, 34};
  return ibv_create_srq_ex(side.world.context.get(), &init);
}

// Each kind by itself, so that a number that is not given back runs out.
TEST(ScaleObjects, ComeAndGo) {
  Side side(0);
  ibv_context* const context = side.world.context.get();
  ibv_pd* const pd = side.world.pd.get();
  ibv_ah_attr address = address_of(side.world, {});
  const Owned<ibv_qp> raw =
      make_qp(side.world, side.send_cq.get(), side.receive_cq.get(), {.type = IBV_QPT_RAW_PACKET});
  const OwnedXrcd xrcd(open_xrcd(context, -1, O_CREAT));
  ASSERT_NE(xrcd, nullptr);
  const auto wq = kept(make_wq(side), "ibv_create_wq");
  const auto table = kept(make_table(side, wq.get()), "ibv_create_rwq_ind_table");
  ibv_td_init_attr of_thread{};
  const auto thread = kept(ibv_alloc_td(context, &of_thread), "ibv_alloc_td");
  ibv_alloc_dm_attr of_memory{4096, 0, 0};
  const Owned<ibv_dm> memory = own(ibv_alloc_dm(context, &of_memory), "ibv_alloc_dm");
  const Owned<ibv_qp> datagrams = make_qp(side.world, side.send_cq.get(), side.receive_cq.get(), {.type = IBV_QPT_UD});
  connect(datagrams.get(), side.world, 0);
  const auto freed = [](auto* made, int (*free)(decltype(made))) { return made != nullptr && free(made) == 0; };
  const std::vector<std::pair<const char*, std::function<bool()>>> kinds{
      {"PD", [&] { return freed(ibv_alloc_pd(context), ibv_dealloc_pd); }},
      {"MR", [&] { return freed(ibv_reg_mr(pd, side.arena.at(0), side.arena.size(), 0), ibv_dereg_mr); }},
      {"on-demand MR", [&] { return freed(ibv_reg_mr(pd, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND), ibv_dereg_mr); }},
      {"MR of device memory",
       [&] {
         return freed(ibv_reg_dm_mr(pd, memory.get(), 0, 4096, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE),
                      ibv_dereg_mr);
       }},
      {"null MR", [&] { return freed(ibv_alloc_null_mr(pd), ibv_dereg_mr); }},
      {"MW of type 1", [&] { return freed(ibv_alloc_mw(pd, IBV_MW_TYPE_1), ibv_dealloc_mw); }},
      {"MW of type 2", [&] { return freed(ibv_alloc_mw(pd, IBV_MW_TYPE_2), ibv_dealloc_mw); }},
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
      {"TM SRQ", [&] { return freed(make_tm_srq(side), ibv_destroy_srq); }},
      {"XRC SRQ",
       [&] { return freed(make_srq(side.world, xrcd.get(), side.receive_cq.get()).release(), ibv_destroy_srq); }},
      {"QP",
       [&] {
         for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC}) {
           if (make_qp(side.world, side.send_cq.get(), side.receive_cq.get(), {.type = type}) == nullptr) return false;
         }
         return true;
       }},
      {"XRC QP of either side",
       [&] {
         return freed(make_sender(side.world, side.send_cq.get()).release(), ibv_destroy_qp) &&
                freed(make_receiver(side.world, xrcd.get()).release(), ibv_destroy_qp);
       }},
      {"RSS QP", [&] { return freed(make_rss_qp(side, table.get()), ibv_destroy_qp); }},
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
      {"WQ", [&] { return freed(make_wq(side), ibv_destroy_wq); }},
      {"indirection table", [&] { return freed(make_table(side, wq.get()), ibv_destroy_rwq_ind_table); }},
      {"counters",
       [&] {
         ibv_counters_init_attr init{};
         return freed(ibv_create_counters(context, &init), ibv_destroy_counters);
       }},
      {"multicast attachment",
       [&] {
         const ibv_gid group{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
         return ibv_attach_mcast(datagrams.get(), &group, 0) == 0 && ibv_detach_mcast(datagrams.get(), &group, 0) == 0;
       }},
      {"thread domain",
       [&] {
         ibv_td_init_attr init{};
         return freed(ibv_alloc_td(context, &init), ibv_dealloc_td);
       }},
      {"parent domain",
       [&] {
         ibv_parent_domain_init_attr init{};
         init.pd = pd;
         init.td = thread.get();
         return freed(ibv_alloc_parent_domain(context, &init), ibv_dealloc_pd);
       }},
  };
  for (const auto& [what, make_and_free] : kinds) {
    for (std::uint32_t n = 0; n < objects(); ++n) ASSERT_TRUE(make_and_free()) << what << ' ' << n;
  }
  std::printf("%zu kinds, %u of each\n", kinds.size(), objects());
}

}  // namespace
}  // namespace rxnic::live::scale_test
