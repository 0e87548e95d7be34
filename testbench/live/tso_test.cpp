// SPDX-License-Identifier: Apache-2.0
// TSO and checksums on RAW_PACKET and UD QPs. One WR of TSO becomes TCP segments, each with a header of its own. With
// IBV_SEND_IP_CSUM the device fills in checksums; IBV_WC_IP_CSUM_OK says which of those that came are good.
#include <endian.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::tso_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kGrh = 40, kMost = 4096, kMostLinkHeader = 22;
constexpr std::uint16_t kMaxHeader = 128;
constexpr std::uint8_t kTcp = 6, kUdp = 17;

struct FlowFreer {
  void operator()(ibv_flow* p) const { ibv_destroy_flow(p); }
};

// Where the layers of a message of IPv4 or IPv6 begin: an Ethernet frame, or a datagram of IP over InfiniBand.
struct Layers {
  bool frame = true, v6 = false;
  std::uint8_t protocol = kTcp;
  std::size_t ip() const { return frame ? 14 : 4; }
  std::size_t transport() const { return ip() + (v6 ? 40 : 20); }
  std::size_t payload() const { return transport() + (protocol == kTcp ? 32 : 8); }
  std::size_t checksum() const { return transport() + (protocol == kTcp ? 16 : 6); }
};

template <class T>
void put(Bytes& to, std::size_t at, T value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}
std::uint16_t be16(const Bytes& from, std::size_t at) {
  return static_cast<std::uint16_t>(from[at] << 8 | from[at + 1]);
}
std::uint32_t be32(const Bytes& from, std::size_t at) {
  return static_cast<std::uint32_t>(be16(from, at)) << 16 | be16(from, at + 2);
}

// Headers as a TCP/IP stack writes them for `payload` bytes, with garbage for checksums; TCP's last flags are PSH, FIN.
Bytes headers(const Layers& l, std::uint8_t to_mac, std::size_t payload) {
  Bytes h(l.payload());
  if (l.frame) put(h, 0, std::array<std::uint8_t, 12>{2, 0x72, 0x78, 0, 0, to_mac, 2, 0x72, 0x78, 0, 0, 1});
  put(h, l.frame ? 12 : 0, htobe16(l.v6 ? 0x86dd : 0x0800));
  const auto behind = static_cast<std::uint16_t>(l.payload() - l.transport() + payload);
  if (l.v6) {
    put(h, l.ip(), htobe32(0x60000000));
    put(h, l.ip() + 4, htobe16(behind));
    put(h, l.ip() + 6, std::array<std::uint8_t, 2>{l.protocol, 64});
    for (std::size_t n = 8; n < 40; ++n) h[l.ip() + n] = static_cast<std::uint8_t>(n * 11);
  } else {
    put(h, l.ip(), std::array<std::uint8_t, 10>{0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, l.protocol});
    put(h, l.ip() + 2, htobe16(static_cast<std::uint16_t>(20 + behind)));
    put(h, l.ip() + 10, std::array<std::uint8_t, 10>{0xab, 0xcd, 10, 1, 2, 3, 10, 1, 2, 4});
  }
  put(h, l.transport(), htobe16(40000));
  put(h, l.transport() + 2, htobe16(50000));
  if (l.protocol == kTcp) {
    put(h, l.transport() + 4, htobe32(0xfffffe00));
    put(h, l.transport() + 12, std::array<std::uint8_t, 2>{0x80, 0x19});  // 32 bytes; ACK, PSH, FIN
    for (std::size_t n = 20; n < 32; ++n) h[l.transport() + n] = 1;
  } else {
    put(h, l.transport() + 4, htobe16(behind));
  }
  put(h, l.checksum(), htobe16(0xabcd));
  return h;
}

std::uint32_t words(const Bytes& p, std::size_t from, std::size_t to) {
  std::uint32_t sum = 0;
  for (std::size_t n = from; n < to; ++n) sum += ((n - from) & 1) != 0 ? p[n] : static_cast<std::uint32_t>(p[n]) << 8;
  return sum;
}
bool is_ones(std::uint32_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}
bool has_good_checksums(const Bytes& p, const Layers& l) {
  const std::size_t addresses = l.ip() + (l.v6 ? 8 : 12);
  const std::uint32_t pseudo = words(p, addresses, addresses + (l.v6 ? 32 : 8)) + l.protocol +
                               static_cast<std::uint32_t>(p.size() - l.transport());
  return (l.v6 || is_ones(words(p, l.ip(), l.transport()))) && is_ones(pseudo + words(p, l.transport(), p.size()));
}

class Tso : public PairTest {
 protected:
  // A QP each for frames and for datagrams, on both sides; B gets all frames that are nobody else's.
  void SetUp() override {
    for (const bool frames : {true, false}) {
      for (Side* side : {&a, &b}) {
        Owned<ibv_qp>& qp = qps[frames ? 1 : 0][side == &b ? 1 : 0];
        qp = make(*side, frames ? IBV_QPT_RAW_PACKET : IBV_QPT_UD, kMaxHeader);
        ready(*side, qp.get());
      }
    }
    ibv_flow_attr every{};
    every.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    every.size = sizeof every;
    every.port = 1;
    flow.reset(ibv_create_flow(qps[1][1].get(), &every));
    must(flow == nullptr ? errno : 0, "ibv_create_flow");
    const Path path;
    ibv_ah_attr to = address_of(b.world, path);
    ah = own(ibv_create_ah(a.world.pd.get(), &to), "ibv_create_ah");
  }
  static Owned<ibv_qp> make(Side& side, ibv_qp_type type, std::uint16_t header) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = side.send_cq.get();
    init.recv_cq = side.receive_cq.get();
    init.qp_type = type;
    init.cap = {64, 64, 4, 4, 64};
    init.pd = side.world.pd.get();
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    init.send_ops_flags = IBV_QP_EX_WITH_TSO | IBV_QP_EX_WITH_SEND;
    init.max_tso_header = header;
    return own(ibv_create_qp_ex(side.world.context.get(), &init), "ibv_create_qp_ex");
  }
  static void ready(Side& side, ibv_qp* qp) {
    if (qp->qp_type == IBV_QPT_UD) return connect(qp, side.world, 0);
    ibv_qp_attr attr{};
    attr.port_num = 1;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = state;
      must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
    }
  }
  ibv_qp* sender(bool frame) { return qps[frame ? 1 : 0][0].get(); }
  ibv_qp* receiver(bool frame) { return qps[frame ? 1 : 0][1].get(); }
  Bytes header_of(const Layers& l, std::size_t payload) {
    return headers(l, static_cast<std::uint8_t>(b.world.nic + 1), payload);
  }

  // One WR, by ibv_post_send or by ibv_wr_send_tso; its result, whose bad_wr is checked.
  int post_tso(bool frame, bool extended, Bytes& header, std::uint16_t mss, std::vector<ibv_sge> list,
               unsigned flags = 0) {
    if (extended) {
      ibv_qp_ex* const ex = ibv_qp_to_qp_ex(sender(frame));
      ibv_wr_start(ex);
      ex->wr_id = 5;
      ex->wr_flags = IBV_SEND_SIGNALED | flags;
      ibv_wr_send_tso(ex, header.data(), static_cast<std::uint16_t>(header.size()), mss);
      if (!frame) ibv_wr_set_ud_addr(ex, ah.get(), receiver(frame)->qp_num, Path{}.qkey);
      ibv_wr_set_sge_list(ex, list.size(), list.data());
      return ibv_wr_complete(ex);
    }
    ibv_send_wr wr = send_wr(IBV_WR_TSO, list, 5), *bad = nullptr;
    wr.send_flags |= flags;
    wr.tso.hdr = header.data();
    wr.tso.hdr_sz = static_cast<std::uint16_t>(header.size());
    wr.tso.mss = mss;
    if (!frame) wr.wr.ud = {ah.get(), receiver(frame)->qp_num, Path{}.qkey};
    const int result = ibv_post_send(sender(frame), &wr, &bad);
    EXPECT_EQ(bad, result == 0 ? nullptr : &wr);
    return result;
  }
  void expect_sent(ibv_wc_opcode opcode = IBV_WC_TSO) {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.opcode, opcode);
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_TRUE(is_empty(a.send_cq.get())) << "one completion";
  }
  void receive(bool frame, std::size_t at) {
    std::array<ibv_sge, 1> sink{b.arena.sge(at, kMost + 64)};
    post_receive(receiver(frame), sink);
  }
  // The message of the next receive, whose buffer begins there; its flags.
  Bytes arrived(bool frame, std::size_t at, unsigned& flags) {
    const ibv_wc wc = take(b.receive_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.qp_num, receiver(frame)->qp_num);
    flags = wc.wc_flags;
    const std::size_t skip = frame ? 0 : kGrh;
    const auto bytes = b.arena.bytes(at + skip, wc.byte_len - skip);
    b.arena.accept(at, wc.byte_len);
    return {bytes.begin(), bytes.end()};
  }
  static unsigned good(const Layers& l) {
    return (l.frame ? 0u : 0u + IBV_WC_GRH) | (l.v6 ? 0u : 0u + IBV_WC_IP_CSUM_OK);
  }

  std::array<std::array<Owned<ibv_qp>, 2>, 2> qps;  // [frames][side]
  std::unique_ptr<ibv_flow, FlowFreer> flow;
  Owned<ibv_ah> ah;
};

TEST_P(Tso, AMessageArrivesAsSegments) {
  constexpr std::size_t kAt = 16 * kPage, kApart = 2 * kPage;
  std::size_t from = 3;
  for (const bool frame : {true, false}) {
    for (const bool v6 : {false, true}) {
      for (const auto& [mss, bytes] : {std::pair<std::uint16_t, std::size_t>{1000, 4500},
                                       {1448, 2896},
                                       {500, 200},
                                       {900, 0},
                                       {static_cast<std::uint16_t>(kMost - 76), kMost}}) {
        const Layers l{frame, v6};
        SCOPED_TRACE(std::string(frame ? "frame" : "datagram") + (v6 ? " IPv6 " : " IPv4 ") + std::to_string(bytes));
        const bool extended = (from++ & 1) != 0;
        Bytes header = header_of(l, bytes);
        const Bytes as_posted = header;
        const std::size_t segments = bytes == 0 ? 1 : (bytes + mss - 1) / mss;
        for (std::size_t n = 0; n < segments; ++n) receive(frame, kAt + n * kApart);
        std::vector<ibv_sge> list{a.arena.sge(from, bytes / 3), a.arena.sge(from + bytes / 3, bytes - bytes / 3)};
        ASSERT_EQ(post_tso(frame, extended, header, mss, list), 0);
        std::fill(header.begin(), header.end(), std::uint8_t{0});  // it was copied
        for (std::size_t n = 0, done = 0; n < segments; ++n) {
          const std::size_t here = std::min<std::size_t>(mss, bytes - done);
          unsigned flags = 0;
          Bytes p = arrived(frame, kAt + n * kApart, flags);
          EXPECT_EQ(flags, good(l)) << n;
          ASSERT_EQ(p.size(), std::max<std::size_t>(l.payload() + here, frame ? 60 : 0));
          p.resize(l.payload() + here);
          EXPECT_EQ(be16(p, l.ip() + (v6 ? 4 : 2)), p.size() - (v6 ? l.transport() : l.ip()));
          if (!v6) {
            EXPECT_EQ(be16(p, l.ip() + 4), static_cast<std::uint16_t>(0xffff + n)) << "identification";
          }
          EXPECT_EQ(be32(p, l.transport() + 4), static_cast<std::uint32_t>(0xfffffe00 + done)) << "sequence number";
          EXPECT_EQ(p[l.transport() + 13], n + 1 == segments ? 0x19 : 0x10) << "PSH and FIN";
          EXPECT_TRUE(has_good_checksums(p, l)) << n;
          EXPECT_EQ(std::memcmp(p.data() + l.payload(), a.arena.at(from + done), here), 0) << "payload of " << n;
          done += here;
          for (const std::size_t at : {l.ip() + 2, l.ip() + 4, l.ip() + 10, l.transport() + 4, l.transport() + 6,
                                       l.transport() + 12, l.checksum()}) {  // what may differ from the header
            if (v6 && at == l.ip() + 10) continue;
            put(p, at, std::array<std::uint8_t, 2>{as_posted[at], as_posted[at + 1]});
          }
          EXPECT_TRUE(std::equal(as_posted.begin(), as_posted.end(), p.begin())) << n;
        }
        expect_sent();
        expect_nothing_else_written();
      }
    }
  }
}

TEST_P(Tso, AHeaderThatIsNotTcpsIsRepeated) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{77}, std::size_t{kMaxHeader}}) {
    Bytes header(bytes);
    for (std::size_t n = 0; n < bytes; ++n) header[n] = static_cast<std::uint8_t>(n * 5 + 1);
    for (std::size_t n = 0; n < 2; ++n) receive(false, (16 + 2 * n) * kPage);
    ASSERT_EQ(post_tso(false, false, header, 100, {a.arena.sge(0, 150)}), 0);
    for (std::size_t n = 0; n < 2; ++n) {
      unsigned flags = 0;
      const Bytes p = arrived(false, (16 + 2 * n) * kPage, flags);
      ASSERT_EQ(p.size(), bytes + (n == 0 ? 100 : 50));
      EXPECT_TRUE(std::equal(header.begin(), header.end(), p.begin()));
      EXPECT_EQ(std::memcmp(p.data() + bytes, a.arena.at(n * 100), p.size() - bytes), 0);
      EXPECT_EQ(flags, 0u + IBV_WC_GRH);
    }
    expect_sent();
    expect_nothing_else_written();
  }
}

TEST_P(Tso, ChecksumsAreFilledInWhereTheFlagAsksForIt) {
  std::size_t bytes = 300;
  for (const bool frame : {true, false}) {
    for (const bool v6 : {false, true}) {
      for (const bool inlined : {false, true}) {
        for (const bool asks : {true, false}) {
          const Layers l{frame, v6, kUdp};
          const std::size_t payload = inlined ? 2 : ++bytes - l.payload();
          Bytes message = header_of(l, payload);
          message.resize(l.payload() + payload, 0x6b);
          std::copy(message.begin(), message.end(), a.arena.at(0));
          a.arena.accept(0, message.size());
          receive(frame, 16 * kPage);
          std::array<ibv_sge, 1> list{a.arena.sge(0, message.size())};
          ibv_send_wr wr = send_wr(IBV_WR_SEND, list, 5);
          if (inlined) wr.send_flags |= IBV_SEND_INLINE;
          if (asks) wr.send_flags |= IBV_SEND_IP_CSUM;
          if (!frame) wr.wr.ud = {ah.get(), receiver(frame)->qp_num, Path{}.qkey};
          post(sender(frame), wr);
          expect_sent(IBV_WC_SEND);
          unsigned flags = 0;
          Bytes p = arrived(frame, 16 * kPage, flags);
          p.resize(message.size());
          EXPECT_EQ(has_good_checksums(p, l), asks);
          EXPECT_EQ(flags, asks ? good(l) : frame ? 0u : 0u + IBV_WC_GRH);
          if (!v6) put(p, l.ip() + 10, htobe16(0xabcd));
          put(p, l.checksum(), htobe16(0xabcd));
          EXPECT_EQ(p, message) << "nothing else";
          expect_nothing_else_written();
        }
      }
    }
  }
}

TEST_P(Tso, WhatCannotBeCutIsRefused) {
  ibv_device_attr_ex device{};
  must(ibv_query_device_ex(a.world.context.get(), nullptr, &device), "ibv_query_device_ex");
  EXPECT_EQ(device.tso_caps.max_tso, 262144u);
  EXPECT_EQ(device.tso_caps.supported_qpts, 1u << IBV_QPT_UD | 1u << IBV_QPT_RAW_PACKET);
  EXPECT_NE(device.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM, 0u);
  EXPECT_NE(device.orig_attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM, 0u);
  EXPECT_NE(device.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM, 0u);
  for (const bool frame : {true, false}) {
    for (const bool extended : {false, true}) {
      SCOPED_TRACE(std::string(frame ? "frame" : "datagram") + (extended ? ", ibv_wr_send_tso" : ", ibv_post_send"));
      Bytes header = header_of({frame}, 0), none, longer(kMaxHeader + 1);
      const std::size_t room = kMost + (frame ? kMostLinkHeader : 0) - header.size();
      const auto mss = static_cast<std::uint16_t>(room);
      const std::size_t all = a.arena.size();
      EXPECT_EQ(post_tso(frame, extended, header, 0, {a.arena.sge(0, 100)}), EINVAL) << "no MSS";
      EXPECT_EQ(post_tso(frame, extended, none, 100, {a.arena.sge(0, 100)}), EINVAL) << "no header";
      EXPECT_EQ(post_tso(frame, extended, longer, 100, {a.arena.sge(0, 100)}), EINVAL) << "max_tso_header";
      EXPECT_EQ(post_tso(frame, extended, header, static_cast<std::uint16_t>(mss + 1), {a.arena.sge(0, 2 * room)}),
                EINVAL)
          << "longer than the MTU";
      EXPECT_EQ(post_tso(frame, extended, header, 1000, {a.arena.sge(0, all), a.arena.sge(0, 1)}), EINVAL) << "max_tso";
      if (!extended) {
        EXPECT_EQ(post_tso(frame, extended, header, 100, {a.arena.sge(0, 10)}, IBV_SEND_INLINE), EINVAL);
      }
      // The QP goes on with what is no longer than that, and as long as may be.
      receive(frame, 16 * kPage);
      EXPECT_EQ(post_tso(frame, extended, header, mss, {a.arena.sge(0, room)}), 0);
      expect_sent();
      unsigned flags = 0;
      EXPECT_EQ(arrived(frame, 16 * kPage, flags).size(), header.size() + room);
      EXPECT_EQ(flags, good({frame}));
    }
  }
  EXPECT_THROW(make(a, IBV_QPT_UD, 385), std::exception);
  expect_nothing_else_written();
}

// As much as the device takes: most segments find no receive and are lost, as datagrams are.
TEST_P(Tso, TheLongestMessage) {
  for (const bool frame : {true, false}) {
    Bytes header = header_of({frame}, 0);
    ASSERT_EQ(a.arena.size(), 262144u);
    ASSERT_EQ(post_tso(frame, false, header, 1460, {a.arena.sge(0, a.arena.size())}), 0);
    expect_sent();
  }
  expect_nothing_else_written();
}

TEST_P(Tso, DataThatIsNoRegionsEndsTheQp) {
  for (const bool frame : {true, false}) {
    Bytes header = header_of({frame}, 0);
    ibv_sge bad = a.arena.sge(0, 3000);
    bad.lkey ^= 0x5500;
    ASSERT_EQ(post_tso(frame, false, header, 1000, {bad}), 0);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
  }
  EXPECT_TRUE(is_empty(b.receive_cq.get()));
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Tso);

}  // namespace
}  // namespace rxnic::live::tso_test
