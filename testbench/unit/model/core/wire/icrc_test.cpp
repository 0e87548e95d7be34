// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/icrc.h"
#include "traces/tunnels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace rxnic::icrc_test {
namespace {

using Frame = std::vector<std::uint8_t>;

const std::filesystem::path kCaptures = std::filesystem::path(RXNIC_SHARED_DIR) / "captures";

Frame from_hex(const std::string& text) {
  Frame bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

struct Vector {
  std::string name;
  Frame frame;  // inside a tunnel: the inner frame
  Frame icrc;
};

std::vector<Vector> vectors() {
  std::ifstream file(kCaptures / "icrc_vectors.json");
  std::vector<Vector> all;
  for (const auto& entry : nlohmann::json::parse(file)) {
    Vector v{entry["name"], from_hex(entry["frame"]), from_hex(entry["icrc_wire"])};
    if (const auto inside = open_tunnel(v.frame, v.frame.size())) {
      const Bytes inner = Bytes(v.frame).subspan(inside->begin, inside->end - inside->begin);
      v.frame = Frame(inner.begin(), inner.end());
    }
    all.push_back(std::move(v));
  }
  return all;
}

// Every packet of a classic pcap file in this machine's byte order, as the captures here are.
std::vector<Frame> read_pcap(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const Frame all{std::istreambuf_iterator<char>(file), {}};
  const auto le32 = [&all](std::size_t at) {
    return std::uint32_t{all[at]} | std::uint32_t{all[at + 1]} << 8 | std::uint32_t{all[at + 2]} << 16 |
           std::uint32_t{all[at + 3]} << 24;
  };
  std::vector<Frame> packets;
  constexpr std::size_t kFileHeader = 24, kRecordHeader = 16;
  for (std::size_t at = kFileHeader; at + kRecordHeader <= all.size();) {
    const std::size_t bytes = le32(at + 8);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at + kRecordHeader);
    packets.emplace_back(first, first + static_cast<std::ptrdiff_t>(bytes));
    at += kRecordHeader + bytes;
  }
  return packets;
}

// The frame that build() and seal() make from the fields that parse() found.
Frame rebuilt(const Frame& frame, const Headers& parsed) {
  Headers h = parsed;
  Frame out(frame.size() + 64);
  out.resize(build(h, payload_of(frame, parsed), out));
  seal(out, h);
  return out;
}

Frame network_to_icrc(const Frame& frame, const Headers& h) {
  return {frame.begin() + h.network_offset, frame.begin() + h.icrc_offset + kIcrcBytes};
}

Frame built(Encapsulation encapsulation, Headers& h, std::size_t payload_bytes) {
  h = {};
  h.encapsulation = encapsulation;
  h.opcode = 0x04;
  h.source = encapsulation == Encapsulation::kRoceV2Ipv4 ? Address::parse("10.1.16.61") : Address::parse("fe80::1");
  h.destination = Address::parse("fe80::2");
  h.hop_limit = 64;
  h.destination_qp = Qpn{0x17};
  Frame out(kMaxFrameBytes);
  out.resize(build(h, Frame(payload_bytes, 0x3c), out));
  seal(out, h);
  return out;
}

constexpr Encapsulation kAllEncapsulations[] = {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6,
                                                Encapsulation::kRoceV1, Encapsulation::kIbLocal,
                                                Encapsulation::kIbGlobal};

TEST(IcrcVectors, ParsingFindsEveryIcrcGood) {
  if (!std::filesystem::exists(kCaptures)) GTEST_SKIP() << "no " << kCaptures << ": icrc_vectors.json";
  const std::vector<Vector> all = vectors();
  EXPECT_EQ(all.size(), 14u);
  for (const Vector& v : all) {
    Headers h;
    ASSERT_EQ(parse(v.frame, LinkLayer::kEthernet, h), ParseStatus::kOk) << v.name;
    const auto at = v.frame.begin() + h.icrc_offset;
    EXPECT_EQ(Frame(at, at + kIcrcBytes), v.icrc) << v.name;
    EXPECT_TRUE(icrc_matches(v.frame, h)) << v.name;
  }
}

TEST(IcrcVectors, BuildingGivesTheSameBytes) {
  if (!std::filesystem::exists(kCaptures)) GTEST_SKIP() << "no " << kCaptures << ": icrc_vectors.json";
  for (const Vector& v : vectors()) {
    Headers h;
    ASSERT_EQ(parse(v.frame, LinkLayer::kEthernet, h), ParseStatus::kOk) << v.name;
    const Frame again = rebuilt(v.frame, h);
    EXPECT_EQ(again, Frame(v.frame.begin(), v.frame.begin() + h.icrc_offset + kIcrcBytes)) << v.name;
  }
}

class IcrcCapture : public testing::TestWithParam<std::pair<const char*, unsigned>> {};

TEST_P(IcrcCapture, EveryIcrcIsGoodAndEveryPacketIsRebuilt) {
  const auto& [name, rdma_packets] = GetParam();
  const std::filesystem::path path = kCaptures / (std::string(name) + ".pcap");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  unsigned good = 0;
  for (const Frame& frame : read_pcap(path)) {
    Headers h;
    const ParseStatus status = parse(frame, LinkLayer::kEthernet, h);
    if (status == ParseStatus::kNotRdma) continue;
    ASSERT_EQ(status, ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(frame, h)) << opcode_name(h.opcode);
    Headers again_h;
    const Frame again = rebuilt(frame, h);
    ASSERT_EQ(parse(again, LinkLayer::kEthernet, again_h), ParseStatus::kOk);
    EXPECT_EQ(network_to_icrc(again, again_h), network_to_icrc(frame, h)) << opcode_name(h.opcode);
    ++good;
  }
  EXPECT_EQ(good, rdma_packets);
}

// The captures, with the number of RDMA packets in each.
INSTANTIATE_TEST_SUITE_P(
    All, IcrcCapture,
    testing::Values(std::pair{"soft_roce/pingpong_rc", 20u}, std::pair{"soft_roce/pingpong_uc", 10u},
                    std::pair{"soft_roce/pingpong_ud", 10u}, std::pair{"soft_roce/rdma_send_bw", 20u},
                    std::pair{"soft_roce/rdma_write_bw", 20u}, std::pair{"soft_roce/rdma_read_bw", 20u},
                    std::pair{"soft_roce/rdma_atomic_bw", 10u}, std::pair{"soft_roce/rping", 65u},
                    std::pair{"soft_roce/rdma_cm", 96u}, std::pair{"soft_roce/ring2_node0", 184u},
                    std::pair{"nic/nic_read", 13u}, std::pair{"nic/nic_write", 17u},
                    std::pair{"nic/nvmeof_discover", 31u}, std::pair{"nic/send_32qp_with_losses", 708u}),
    [](const auto& param) {
      std::string name = param.param.first;
      std::replace(name.begin(), name.end(), '/', '_');
      return name;
    });

// IBTA volume 1, 7.8: the sample packet.
TEST(Icrc, LocalSamplePacketOfTheSpecification) {
  Frame frame = from_hex(
      "7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000ebb884d85fd5cfba4728bc0690ed40000"
      "9625b75a0000");
  Headers h;
  ASSERT_EQ(parse(frame, LinkLayer::kInfiniband, h), ParseStatus::kOk);
  EXPECT_TRUE(icrc_matches(frame, h));
  frame[h.icrc_offset] = 0;
  seal(frame, h);
  EXPECT_EQ(Frame(frame.begin() + h.icrc_offset, frame.end()), from_hex("9625b75a45fa"));  // R3, R4
}

// R1, R2: changing a bit changes the ICRC exactly when the bit is not masked.
TEST(Icrc, OnlyWhatMayChangeOnTheWayIsMasked) {
  for (const Encapsulation e : kAllEncapsulations) {
    Headers h;
    const Frame frame = built(e, h, 8);
    const bool ipv4 = e == Encapsulation::kRoceV2Ipv4;
    const bool local = e == Encapsulation::kIbLocal;
    std::vector<std::uint8_t> mask(frame.size(), 0);  // ones: may change
    const std::size_t covered_from = local ? 0 : h.network_offset;
    std::fill(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(covered_from), std::uint8_t{0xff});
    const std::size_t n = h.network_offset;
    if (ipv4) {
      for (const std::size_t at : {1, 8, 10, 11}) mask[n + at] = 0xff;
    } else if (local) {
      mask[0] = 0xf0;  // VL
    } else {
      mask[n] = 0x0f;
      for (const std::size_t at : {1, 2, 3, 7}) mask[n + at] = 0xff;
    }
    if (ipv4 || e == Encapsulation::kRoceV2Ipv6) mask[h.bth_offset - 2u] = mask[h.bth_offset - 1u] = 0xff;
    mask[h.bth_offset + 4u] = 0xff;
    for (std::size_t at = 0; at < h.icrc_offset; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Frame changed = frame;
        changed[at] ^= static_cast<std::uint8_t>(1u << bit);
        const bool same = icrc(changed, h) == icrc(frame, h);
        ASSERT_EQ(same, (mask[at] >> bit & 1) != 0) << static_cast<int>(e) << " byte " << at << " bit " << bit;
      }
    }
  }
}

// R3
TEST(Icrc, LeastSignificantByteComesFirst) {
  Headers h;
  const Frame frame = built(Encapsulation::kRoceV2Ipv4, h, 20);
  const std::uint32_t value = icrc(frame, h);
  for (unsigned byte = 0; byte < 4; ++byte) {
    EXPECT_EQ(frame[h.icrc_offset + byte], static_cast<std::uint8_t>(value >> (8 * byte)));
  }
}

TEST(Icrc, SealedFramesMatchAndOneWrongBitDoesNot) {
  for (const Encapsulation e : kAllEncapsulations) {
    Headers h;
    Frame frame = built(e, h, 4096);
    EXPECT_TRUE(icrc_matches(frame, h));
    frame[h.payload_offset + 100u] ^= 1;
    EXPECT_FALSE(icrc_matches(frame, h));
  }
}

// R1 to R3, at every length: the CRC-32 of Ethernet, bit by bit, of the frame with its masked bits set to ones.
TEST(Icrc, FollowsItsPolynomialAtEveryLength) {
  for (const std::size_t payload_bytes : {0, 4, 60, 64, 224, 228, 232, 236, 240, 244, 248, 252, 256, 260, 264, 1024}) {
    Headers h;
    const Frame frame = built(Encapsulation::kRoceV2Ipv4, h, payload_bytes);
    Frame masked(8, 0xff);
    masked.insert(masked.end(), frame.begin() + h.network_offset, frame.begin() + h.icrc_offset);
    for (const std::size_t at : {1, 8, 10, 11}) masked[8 + at] = 0xff;  // TOS, TTL, checksum
    for (const std::size_t at : {26, 27}) masked[8 + at] = 0xff;        // UDP checksum
    masked[8 + (h.bth_offset - h.network_offset) + 4u] = 0xff;          // reserved byte of the BTH
    std::uint32_t crc = ~0u;
    for (const std::uint8_t byte : masked) {
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (((crc ^ byte >> bit) & 1) != 0 ? 0xedb88320u : 0u);
    }
    EXPECT_EQ(icrc(frame, h), ~crc) << payload_bytes;
  }
}

// R4: the table against the definition, bit by bit.
TEST(Icrc, VcrcOfEveryLengthFollowsItsPolynomial) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 7;
  std::cout << "RXNIC_SEED=" << seed << "\n";
  std::mt19937_64 rng(seed);
  Frame bytes;
  for (int length = 0; length < 100; ++length) {
    unsigned crc = 0xffff;
    for (const std::uint8_t byte : bytes) {
      for (int bit = 0; bit < 8; ++bit) {
        const bool out = ((crc ^ (byte >> bit)) & 1) != 0;
        crc = crc >> 1 ^ (out ? 0xd008u : 0u);
      }
    }
    EXPECT_EQ(vcrc(bytes), static_cast<std::uint16_t>(~crc)) << length;
    bytes.push_back(static_cast<std::uint8_t>(rng()));
  }
}

TEST(Icrc, VcrcIsCheckedWhereThereIsOne) {  // R4
  Headers h;
  Frame frame = built(Encapsulation::kIbGlobal, h, 12);
  seal(frame, h);
  EXPECT_TRUE(has_vcrc(frame, h) && vcrc_matches(frame, h));
  for (std::size_t at = 0; at < frame.size(); ++at) {
    frame[at] ^= 0x10;
    EXPECT_FALSE(vcrc_matches(frame, h)) << at;
    frame[at] ^= 0x10;
  }
  const Frame without(frame.begin(), frame.end() - 1);
  EXPECT_FALSE(has_vcrc(without, h));
  EXPECT_TRUE(vcrc_matches(without, h));
}

TEST(Icrc, Ipv4HeaderChecksumIsOverTheWholeHeader) {  // R5
  Headers h;
  Frame frame = built(Encapsulation::kRoceV2Ipv4, h, 12);
  EXPECT_TRUE(ipv4_checksum_matches(frame, h));
  for (std::size_t at = 0; at < kIpv4Bytes; ++at) {
    frame[h.network_offset + at] ^= 0x10;
    EXPECT_FALSE(at != 0 && ipv4_checksum_matches(frame, h)) << at;
    frame[h.network_offset + at] ^= 0x10;
  }
  frame = built(Encapsulation::kRoceV2Ipv6, h, 12);
  frame[h.network_offset + 7u] ^= 0x10;
  EXPECT_TRUE(ipv4_checksum_matches(frame, h)) << "an IPv6 header has none";
}

// R4: no room, no VCRC, and the byte behind the ICRC is not touched.
TEST(Icrc, SealWritesAVcrcOnlyWhereThereIsRoom) {
  Headers h;
  const Frame frame = built(Encapsulation::kIbGlobal, h, 12);
  Frame without(frame.begin(), frame.end() - 1);
  without.back() = 0xa5;
  seal(without, h);
  EXPECT_EQ(without.back(), 0xa5);
}

// R6: a checksum covers the pseudo header and all of the datagram; 0 is none.
TEST(UdpChecksum, EveryByteThatItCoversCounts) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6}) {
    Headers h;
    h.encapsulation = e;
    const bool v4 = e == Encapsulation::kRoceV2Ipv4;
    h.source = v4 ? Address::ipv4(0x0a000001) : Address::parse("2001:db8::1");
    h.destination = v4 ? Address::ipv4(0x0a000002) : Address::parse("2001:db8::2");
    h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
    h.udp_checksum = 1;
    Frame frame(400);
    frame.resize(build(h, Frame(37, 9), frame));
    Headers parsed;
    const auto right = [&] {
      return parse(frame, LinkLayer::kEthernet, parsed) == ParseStatus::kOk && udp_checksum_matches(frame, parsed);
    };
    const std::size_t at = h.bth_offset - 2u;
    unsigned found = 0;
    for (unsigned value = 1; value < 0x10000; ++value) {
      store_be16(&frame[at], static_cast<std::uint16_t>(value));
      if (!right()) continue;
      ++found;
      h.udp_checksum = static_cast<std::uint16_t>(value);
    }
    EXPECT_EQ(found, 1u);
    store_be16(&frame[at], h.udp_checksum);
    ASSERT_TRUE(right());
    const std::size_t from = h.network_offset + (v4 ? 12u : 8u);
    for (std::size_t i = from; i < frame.size(); ++i) {
      if (i >= h.bth_offset - 6u && i < h.bth_offset) continue;  // port and length: other statuses; the checksum
      if (i == h.bth_offset || i == h.bth_offset + 1u) continue;
      frame[i] ^= 0x10;
      EXPECT_FALSE(right()) << i;
      frame[i] ^= 0x10;
    }
    store_be16(&frame[at], 0);
    EXPECT_TRUE(right()) << "none, over IPv6 too";
  }
}

}  // namespace
}  // namespace rxnic::icrc_test
