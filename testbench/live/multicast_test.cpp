// SPDX-License-Identifier: Apache-2.0
// Multicast groups: a datagram comes to every QP that is attached, on the sender's own NIC too, and to no other one.
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::multicast_test {
namespace {

constexpr std::size_t kGrh = 40, kBytes = 777;
constexpr std::uint32_t kMulticastQpn = 0xffffff;

struct Group {
  ibv_gid gid;
  int gid_index;  // of a sender
};
// Over RoCEv2: 239.1.2.N, ff0e::N.
Group v4_group(std::uint8_t n) { return {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, n}}, 2}; }
Group v6_group(std::uint8_t n) { return {{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n}}, 1}; }

class Multicast : public PairTest {
 protected:
  // A QP of one side with a queue of its own for receives, and a place in the side's memory.
  struct Receiver {
    Side& side;
    std::size_t place;
    Owned<ibv_cq> cq = side.world.cq();
    Owned<ibv_qp> qp = make_qp(side.world, side.send_cq.get(), cq.get(), {.type = IBV_QPT_UD});
  };

  void SetUp() override {
    for (Receiver& r : receivers) connect(r.qp.get(), r.side.world, 0);
  }
  static int attach(Receiver& r, const Group& g) { return ibv_attach_mcast(r.qp.get(), &g.gid, 0); }
  static int detach(Receiver& r, const Group& g) { return ibv_detach_mcast(r.qp.get(), &g.gid, 0); }

  // The QP of `from` sends; those of `to` get it, all others get nothing.
  void expect_reaches(Receiver& from, const Group& g, std::vector<const Receiver*> to) {
    ibv_ah_attr address{};
    address.is_global = 1;
    address.port_num = 1;
    address.grh.dgid = g.gid;
    address.grh.sgid_index = static_cast<std::uint8_t>(g.gid_index);
    address.grh.hop_limit = 1;
    const Owned<ibv_ah> ah = own(ibv_create_ah(from.side.world.pd.get(), &address), "ibv_create_ah");
    for (const Receiver* r : to) {
      std::array<ibv_sge, 1> sink{r->side.arena.sge(r->place, kGrh + kBytes)};
      post_receive(r->qp.get(), sink);
    }
    std::array<ibv_sge, 1> source{from.side.arena.sge(++sent_, kBytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    wr.wr.ud = {ah.get(), kMulticastQpn, Path{}.qkey};
    post(from.qp.get(), wr);
    EXPECT_EQ(take(from.side.send_cq.get()).status, IBV_WC_SUCCESS);
    for (const Receiver* r : to) {
      const ibv_wc wc = take(r->cq.get());
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
      EXPECT_EQ(wc.byte_len, kGrh + kBytes);
      EXPECT_EQ(wc.qp_num, r->qp->qp_num);
      EXPECT_EQ(wc.src_qp, from.qp->qp_num);
      r->side.arena.accept(r->place, kGrh);
      r->side.arena.expect(r->place + kGrh, from.side.arena.bytes(sent_, kBytes));
    }
    for (const Receiver& r : receivers) EXPECT_TRUE(is_empty(r.cq.get()));
    expect_nothing_else_written();
  }

  std::size_t sent_ = 0;
  std::array<Receiver, 4> receivers{{{a, 8 * kPage}, {b, 12 * kPage}, {b, 16 * kPage}, {b, 20 * kPage}}};
  Receiver &sender = receivers[0], &first = receivers[1], &second = receivers[2], &third = receivers[3];
};

TEST_P(Multicast, EachAttachedQpGetsTheDatagram) {
  for (const auto group : {v4_group, v6_group}) {
    const Group g = group(7), other = group(8);
    for (Receiver* r : {&sender, &first, &second}) EXPECT_EQ(attach(*r, g), 0);
    EXPECT_EQ(attach(first, g), 0) << "it is already";
    EXPECT_EQ(attach(third, other), 0);
    expect_reaches(sender, g, {&sender, &first, &second});
    expect_reaches(second, g, {&sender, &first, &second});
    expect_reaches(third, g, {&sender, &first, &second});
    expect_reaches(sender, other, {&third});
    EXPECT_EQ(detach(first, g), 0);
    EXPECT_EQ(detach(first, g), EINVAL);
    EXPECT_EQ(detach(sender, other), EINVAL);
    expect_reaches(sender, g, {&sender, &second});
    EXPECT_EQ(ibv_destroy_qp(second.qp.get()), EBUSY) << "it is attached";
    for (Receiver* r : {&sender, &second}) EXPECT_EQ(detach(*r, g), 0);
    EXPECT_EQ(detach(third, other), 0);
  }
}

TEST_P(Multicast, AQpWithoutAReceiveHoldsNobodyUp) {
  const Group g = v4_group(9);
  for (Receiver& r : receivers) EXPECT_EQ(attach(r, g), 0);
  for (int n = 0; n < 50; ++n) expect_reaches(first, g, {&second});
  for (Receiver& r : receivers) EXPECT_EQ(detach(r, g), 0);
}

RXNIC_ON_ONE_AND_TWO_NICS(Multicast);

}  // namespace
}  // namespace rxnic::live::multicast_test
