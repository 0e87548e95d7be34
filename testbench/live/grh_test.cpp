// SPDX-License-Identifier: Apache-2.0
// The 40 bytes in front of a datagram. With RoCEv2 over IPv4 the IPv4 header is at bytes 20..39; over IPv6 and with
// RoCEv1 they are the IPv6 header or the GRH. The payload always begins at byte 40.
#include <algorithm>
#include <array>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::grh_test {
namespace {

constexpr std::size_t kGrh = 40, kPayload = 101, kPad = 3;
constexpr std::size_t kBth = 12, kDeth = 8, kIcrc = 4, kUdp = 8;
constexpr std::size_t kTransport = kBth + kDeth + kPayload + kPad + kIcrc;  // from the BTH to the ICRC

class Grh : public PairTest {
 protected:
  // The 40 bytes that come with a datagram from A to B.
  std::span<const std::uint8_t> receive(int gid_index) {
    Path path;
    path.gid_index = gid_index;
    QpShape shape;
    shape.type = IBV_QPT_UD;
    reconnect(shape, path);
    ibv_ah_attr address = address_of(b.world, path);
    const Owned<ibv_ah> ah = own(ibv_create_ah(a.world.pd.get(), &address), "ibv_create_ah");
    std::array<ibv_sge, 1> source{a.arena.sge(11, kPayload)}, sink{b.arena.sge(kPage, kGrh + kPayload)};
    post_receive(b.qp.get(), sink);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    wr.wr.ud = {ah.get(), b.qp->qp_num, path.qkey};
    post(a.qp.get(), wr);
    const ibv_wc wc = take(b.receive_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.byte_len, kGrh + kPayload);
    EXPECT_TRUE(wc.wc_flags & IBV_WC_GRH);
    EXPECT_EQ(wc.src_qp, a.qp->qp_num);
    b.arena.accept(kPage, kGrh);
    b.arena.expect(kPage + kGrh, a.arena.bytes(11, kPayload));
    expect_nothing_else_written();
    return b.arena.bytes(kPage, kGrh);
  }

  void expect_gids(std::span<const std::uint8_t> addresses, int gid_index) {
    const ibv_gid source = a.world.gid(gid_index), destination = b.world.gid(gid_index);
    EXPECT_TRUE(std::equal(std::begin(source.raw), std::end(source.raw), addresses.begin()));
    EXPECT_TRUE(std::equal(std::begin(destination.raw), std::end(destination.raw), addresses.begin() + 16));
  }
};

std::size_t be16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::size_t>(bytes[at]) << 8 | bytes[at + 1];
}

TEST_P(Grh, OfRoceV2OverIpv4) {
  const std::span<const std::uint8_t> ip = receive(2).subspan(20);
  EXPECT_EQ(ip[0], 0x45);
  EXPECT_EQ(be16(ip, 2), 20 + kUdp + kTransport);
  EXPECT_EQ(ip[9], 17);  // UDP
  std::size_t sum = 0;
  for (std::size_t at = 0; at < 20; at += 2) sum += be16(ip, at);
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu) << "checksum";
  const ibv_gid source = a.world.gid(2), destination = b.world.gid(2);
  EXPECT_TRUE(std::equal(source.raw + 12, source.raw + 16, ip.begin() + 12));
  EXPECT_TRUE(std::equal(destination.raw + 12, destination.raw + 16, ip.begin() + 16));
}

TEST_P(Grh, OfRoceV2OverIpv6) {
  const std::span<const std::uint8_t> ip = receive(1);
  EXPECT_EQ(ip[0] >> 4, 6);
  EXPECT_EQ(be16(ip, 4), kUdp + kTransport);
  EXPECT_EQ(ip[6], 17);  // UDP
  expect_gids(ip.subspan(8), 1);
}

TEST_P(Grh, OfRoceV1) {
  const std::span<const std::uint8_t> grh = receive(0);
  EXPECT_EQ(grh[0] >> 4, 6);
  EXPECT_EQ(be16(grh, 4), kTransport);
  EXPECT_EQ(grh[6], 0x1b);  // InfiniBand transport
  expect_gids(grh.subspan(8), 0);
}

RXNIC_ON_ONE_AND_TWO_NICS(Grh);

}  // namespace
}  // namespace rxnic::live::grh_test
