// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/wire/ip_offload.h.
#include "model/core/wire/ip_offload.h"

#include <gtest/gtest.h>

#include <string>

#include "testbench/unit/ip_packets.h"

namespace rxnic::ip_offload_test {
namespace {

IpFraming framing_of(const IpSpec& s) { return s.ipoib ? IpFraming::kIpoib : IpFraming::kEthernet; }

std::string name(const IpSpec& s) {
  return std::string(s.v6 ? "IPv6" : "IPv4") + " protocol " + std::to_string(s.protocol) +
         (s.ipoib ? " IPoIB" : " tags " + std::to_string(s.vlan_tags)) + " options " + std::to_string(s.options) + "+" +
         std::to_string(s.tcp_options) + " payload " + std::to_string(s.payload);
}

std::vector<IpSpec> specs() {
  std::vector<IpSpec> all;
  for (const bool v6 : {false, true}) {
    for (const std::uint8_t protocol : {kProtocolTcp, kProtocolUdp}) {
      for (const std::size_t payload : {0u, 1u, 2u, 3u, 100u, 1447u}) {
        for (const std::size_t tags : {0u, 1u, 2u, 3u}) {  // 3: IPoIB
          IpSpec s{.v6 = v6, .protocol = protocol, .ipoib = tags == 3, .vlan_tags = tags % 3, .payload = payload};
          all.push_back(s);
          s.options = v6 ? 0 : 40;
          s.tcp_options = protocol == kProtocolTcp ? 12 : 0;
          all.push_back(s);
        }
      }
    }
  }
  return all;
}

TEST(IpOffload, FillsInBothChecksums) {  // (R1, R3)
  for (const IpSpec& s : specs()) {
    SCOPED_TRACE(name(s));
    PacketBytes p = ip_packet(s);
    const PacketBytes before = p;
    fill_checksums(p, framing_of(s));
    EXPECT_TRUE(has_good_checksums(p, s, p.size()));
    for (std::size_t n = 0; n < p.size(); ++n) {
      const bool of_ip = !s.v6 && n / 2 == (s.ip_at() + 10) / 2;
      if (!of_ip && n / 2 != s.checksum_at() / 2) {
        ASSERT_EQ(p[n], before[n]) << n;
      }
    }
  }
}

TEST(IpOffload, PaddingIsNoPartOfThePacket) {  // (R2)
  const IpSpec s{.payload = 3};
  PacketBytes p = ip_packet(s);
  const std::size_t end = p.size();
  p.resize(60, 0x77);
  fill_checksums(p, IpFraming::kEthernet);
  EXPECT_TRUE(has_good_checksums(p, s, end));
  EXPECT_TRUE(checksums_ok(p, IpFraming::kEthernet));
}

TEST(IpOffload, ZeroOfUdpIsSentAsOnes) {  // (R3)
  const IpSpec s{.protocol = kProtocolUdp, .payload = 2};
  PacketBytes p = ip_packet(s);
  store_be16(&p[s.payload_at()], 0);
  store_be16(&p[s.checksum_at()], 0);
  store_be16(&p[s.payload_at()], transport_checksum(p, s, p.size()));  // now the sum is all ones
  fill_checksums(p, IpFraming::kEthernet);
  EXPECT_EQ(load_be16(&p[s.checksum_at()]), 0xffff);
  EXPECT_TRUE(checksums_ok(p, IpFraming::kEthernet));
}

TEST(IpOffload, FragmentsAndOtherProtocolsHaveOnlyTheHeadersChecksum) {  // (R3)
  for (IpSpec s : {IpSpec{.fragment = 0x2000}, IpSpec{.fragment = 1}, IpSpec{.protocol = 1}}) {
    PacketBytes p = ip_packet(s);
    const PacketBytes before = p;
    fill_checksums(p, IpFraming::kEthernet);
    EXPECT_EQ(internet_checksum(p, s.ip_at(), s.transport_at()), 0);
    EXPECT_TRUE(std::equal(p.begin() + 34, p.end(), before.begin() + 34)) << name(s);
    EXPECT_FALSE(checksums_ok(p, IpFraming::kEthernet)) << "nothing was verified that the flag speaks of";
  }
}

TEST(IpOffload, OtherBytesStayAsTheyAre) {  // (R2, R3)
  IpSpec s;
  std::vector<PacketBytes> none(7, ip_packet(s));
  store_be16(&none[0][12], 0x88b5);
  none[1][14] = 0x55;                                         // version
  none[2][14] = 0x44;                                         // a header of 16 bytes
  store_be16(&none[3][16], static_cast<std::uint16_t>(141));  // one byte more than there is
  store_be16(&none[4][16], 19);                               // less than its header
  none[5].resize(33);
  for (int tag = 0; tag < 3; ++tag) none[6].insert(none[6].begin() + 12, {0x81, 0, 0, 1});
  for (std::size_t n = 0; n < none.size(); ++n) {
    PacketBytes p = none[n];
    fill_checksums(p, IpFraming::kEthernet);
    EXPECT_EQ(p, none[n]) << n;
    set_segment_header(p, IpFraming::kEthernet, {.number = 1, .offset = 1, .bytes = 1, .last = false});
    EXPECT_EQ(p, none[n]) << n;
    EXPECT_FALSE(checksums_ok(p, IpFraming::kEthernet)) << n;
  }
}

TEST(IpOffload, NothingBehindTheBytesIsTouched) {  // (R2)
  for (const IpSpec& s : specs()) {
    if (s.payload > 100) continue;
    const PacketBytes whole = ip_packet(s);
    for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      const PacketBytes exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
      PacketBytes p = exact;  // the address sanitizer sees what is behind it
      fill_checksums(p, framing_of(s));
      checksums_ok(p, framing_of(s));
      set_segment_header(p, framing_of(s), {});
      if (bytes < whole.size() && bytes != s.payload_at()) {
        EXPECT_EQ(p, exact) << name(s) << ' ' << bytes;
      }
    }
  }
}

TEST(IpOffload, SaysWhichChecksumsAreGood) {  // (R4)
  for (const IpSpec& s : specs()) {
    SCOPED_TRACE(name(s));
    PacketBytes p = ip_packet(s);
    EXPECT_FALSE(checksums_ok(p, framing_of(s)));
    fill_checksums(p, framing_of(s));
    EXPECT_EQ(checksums_ok(p, framing_of(s)), !s.v6);
    if (s.v6) continue;
    EXPECT_FALSE(checksums_ok(p, s.ipoib ? IpFraming::kEthernet : IpFraming::kIpoib));
    for (std::size_t n = s.ip_at(); n < p.size(); n += 7) {
      p[n] ^= 0x10;
      EXPECT_FALSE(checksums_ok(p, framing_of(s))) << n;
      p[n] ^= 0x10;
    }
    if (s.protocol != kProtocolUdp) continue;
    store_be16(&p[s.checksum_at()], 0);
    EXPECT_TRUE(checksums_ok(p, framing_of(s))) << "UDP without a checksum";
  }
}

TEST(IpOffload, TheFlagIsForIpv4) {  // (R4)
  const IpSpec s{.v6 = true};
  PacketBytes p = ip_packet(s);
  store_be16(&p[s.ip_at() + 2], 0);
  store_be16(&p[s.ip_at() + 2], internet_checksum(p, s.ip_at(), s.transport_at()));  // of the flow label's bits
  fill_checksums(p, IpFraming::kEthernet);
  ASSERT_TRUE(has_good_checksums(p, s, p.size()));
  ASSERT_EQ(internet_checksum(p, s.ip_at(), s.transport_at()), 0) << "as if it were a good one";
  EXPECT_FALSE(checksums_ok(p, IpFraming::kEthernet));
}

TEST(IpOffload, UdpCountsItsOwnLength) {  // (R2)
  const IpSpec s{.protocol = kProtocolUdp, .payload = 20};
  PacketBytes p = ip_packet(s);
  store_be16(&p[s.transport_at() + 4], 18);
  fill_checksums(p, IpFraming::kEthernet);
  EXPECT_TRUE(checksums_ok(p, IpFraming::kEthernet));
  p.back() ^= 1;
  EXPECT_TRUE(checksums_ok(p, IpFraming::kEthernet)) << "behind the datagram";
  for (const std::uint16_t wrong : {7, 29}) {
    store_be16(&p[s.transport_at() + 4], wrong);
    EXPECT_FALSE(checksums_ok(p, IpFraming::kEthernet)) << wrong;
  }
}

TEST(IpOffload, HeadersOfSegments) {  // (R5)
  for (const bool v6 : {false, true}) {
    for (const std::size_t tags : {0u, 2u, 3u}) {
      const IpSpec s{.v6 = v6, .ipoib = tags == 3, .vlan_tags = tags % 3, .tcp_options = 12, .payload = 0};
      SCOPED_TRACE(name(s));
      const PacketBytes header = ip_packet(s);
      struct Case {
        IpSegment segment;
        std::uint16_t identification;
        std::uint32_t sequence;
        std::uint8_t flags;
      };
      for (const Case& c :
           {Case{{0, 0, 500, false}, 0xfffe, 0xffffff00, 0x90}, Case{{1, 500, 500, false}, 0xffff, 0xf4, 0x10},
            Case{{2, 1000, 77, true}, 0, 0x2e8, 0x19}, Case{{0, 0, 77, true}, 0xfffe, 0xffffff00, 0x99}}) {
        PacketBytes p = header, expected = header;
        set_segment_header(p, framing_of(s), c.segment);
        const std::size_t length = 32 + c.segment.bytes;
        store_be16(&expected[s.ip_at() + (v6 ? 4 : 2)], static_cast<std::uint16_t>(length + (v6 ? 0 : 20)));
        if (!v6) store_be16(&expected[s.ip_at() + 4], c.identification);
        store_be32(&expected[s.transport_at() + 4], c.sequence);
        expected[s.transport_at() + 13] = c.flags;
        EXPECT_EQ(p, expected) << c.segment.number;
      }
    }
  }
}

TEST(IpOffload, OtherHeadersAreRepeated) {  // (R5)
  std::vector<IpSpec> others{
      {.protocol = kProtocolUdp, .payload = 0}, {.fragment = 0x2000, .payload = 0}, {.payload = 1}};
  for (const IpSpec& s : others) {
    const PacketBytes header = ip_packet(s);
    PacketBytes p = header;
    set_segment_header(p, IpFraming::kEthernet, {.number = 3, .offset = 30, .bytes = 10, .last = false});
    EXPECT_EQ(p, header) << name(s);
  }
}

}  // namespace
}  // namespace rxnic::ip_offload_test
