// SPDX-License-Identifier: Apache-2.0
#include "model/types/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace rxnic::wire_test {
namespace {

using Frame = std::vector<std::uint8_t>;

constexpr Encapsulation kAllEncapsulations[] = {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6,
                                                Encapsulation::kRoceV1, Encapsulation::kIbLocal,
                                                Encapsulation::kIbGlobal};
constexpr std::uint8_t kRcSendOnly = 0x04;
constexpr std::uint8_t kRcWriteOnlyImm = 0x0b;

bool infiniband(Encapsulation e) { return e == Encapsulation::kIbLocal || e == Encapsulation::kIbGlobal; }
LinkLayer link_of(Encapsulation e) { return infiniband(e) ? LinkLayer::kInfiniband : LinkLayer::kEthernet; }
std::string name_of(Encapsulation e) {
  constexpr const char* kNames[] = {"none", "RoCEv2/IPv4", "RoCEv2/IPv6", "RoCEv1", "IB local", "IB global"};
  return kNames[static_cast<int>(e)];
}

std::uint64_t seed_from_environment() {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 20240501;
  std::cout << "RXNIC_SEED=" << seed << "\n";
  return seed;
}

Headers sample(Encapsulation encapsulation, std::uint8_t opcode) {
  Headers h;
  h.encapsulation = encapsulation;
  h.opcode = opcode;
  h.hop_limit = 64;
  h.udp_source_port = 0xc012;
  h.pkey = 0xffff;
  h.destination_qp = Qpn{0x123456};
  h.psn = Psn{0xfffffe};
  switch (encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
      h.source = Address::parse("10.1.16.61");
      h.destination = Address::parse("10.1.16.62");
      break;
    case Encapsulation::kIbLocal:
      h.source = Address::lid(5);
      h.destination = Address::lid(0x375c);
      break;
    default:
      h.source = Address::parse("fe80::1:2");
      h.destination = Address::parse("fe80::3:4");
  }
  return h;
}

Frame built(Headers& h, const Frame& payload) {
  Frame out(kMaxFrameBytes + 64, 0xee);
  out.resize(build(h, payload, out));
  return out;
}
Frame built(Encapsulation encapsulation, std::uint8_t opcode, std::size_t payload_bytes) {
  Headers h = sample(encapsulation, opcode);
  return built(h, Frame(payload_bytes, 0x5a));
}

ParseStatus status_of(const Frame& frame, LinkLayer link = LinkLayer::kEthernet) {
  Headers h;
  return parse(frame, link, h);
}

// Only the header fields that this encapsulation and opcode carry, at random.
template <class Rng>
Headers random_headers(Encapsulation encapsulation, std::uint8_t opcode, Rng& rng) {
  const auto bits = [&rng](int n) { return rng() >> (64 - n); };
  const auto byte = [&] { return static_cast<std::uint8_t>(bits(8)); };
  const auto half = [&] { return static_cast<std::uint16_t>(bits(16)); };
  const auto word = [&] { return static_cast<std::uint32_t>(bits(32)); };
  const std::uint32_t traits = opcode_info(opcode).traits;
  Headers h;
  h.encapsulation = encapsulation;
  h.opcode = opcode;
  if (infiniband(encapsulation)) {
    h.virtual_lane = byte() & 15;
    h.service_level = byte() & 15;
    h.source_lid = half();
    h.destination_lid = half();
  } else {
    for (auto& b : h.source_mac) b = byte();
    for (auto& b : h.destination_mac) b = byte();
    h.vlan_tags = static_cast<std::uint8_t>(rng() % 3);
    if (h.vlan_tags > 0) h.vlan = half();
    if (h.vlan_tags > 1) h.outer_vlan = half();
  }
  if (encapsulation == Encapsulation::kIbLocal) {
    h.source = Address::lid(h.source_lid);
    h.destination = Address::lid(h.destination_lid);
  } else {
    h.traffic_class = byte();
    h.hop_limit = byte();
    if (encapsulation == Encapsulation::kRoceV2Ipv4) {
      h.ip_identification = half();
      h.may_fragment = rng() & 1;
      h.source = Address::ipv4(word());
      h.destination = Address::ipv4(word());
    } else {
      h.flow_label = word() & 0xfffff;
      Frame gid(16);
      for (auto& b : gid) b = byte();
      h.source = Address::ipv6(gid);
      for (auto& b : gid) b = byte();
      h.destination = Address::ipv6(gid);
    }
  }
  if (encapsulation == Encapsulation::kRoceV2Ipv4 || encapsulation == Encapsulation::kRoceV2Ipv6) {
    h.udp_source_port = half();
    h.udp_checksum = half();
  }
  h.solicited = rng() & 1;
  h.migrated = rng() & 1;
  h.version = byte() & 15;
  h.fecn = rng() & 1;
  h.becn = rng() & 1;
  h.ack_request = rng() & 1;
  h.pkey = half();
  h.destination_qp = Qpn{word() & 0xffffff};
  h.psn = Psn{word()};
  if (traits & (kHasReth | kHasAtomicEth)) {
    h.va = rng();
    h.rkey = Key{word()};
  }
  if (traits & kHasReth) h.length = word();
  if (traits & kHasAtomicEth) {
    h.swap_add = rng();
    h.compare = rng();
  }
  if (traits & kHasAtomicAckEth) h.original = rng();
  if (traits & kHasAeth) {
    h.syndrome = byte();
    h.msn = word() & 0xffffff;
  }
  if (traits & kHasDeth) {
    h.qkey = word();
    h.source_qp = Qpn{word() & 0xffffff};
  }
  if (traits & (kHasImm | kHasIeth)) h.immediate = word();
  if (traits & kHasXrceth) h.xrc_srq = Srqn{word() & 0xffffff};
  return h;
}

// R1, R2
TEST(Wire, TruncationAtEveryLengthIsNamedAndNeverReadsOn) {
  for (const Encapsulation e : kAllEncapsulations) {
    const Frame whole = built(e, kRcWriteOnlyImm, 7);
    const std::size_t vcrc = infiniband(e) ? 2 : 0;
    Headers h;
    ASSERT_EQ(parse(whole, link_of(e), h), ParseStatus::kOk) << name_of(e);
    for (std::size_t bytes = 0; bytes < whole.size() - vcrc; ++bytes) {
      const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
      const ParseStatus status = status_of(cut, link_of(e));
      const bool has_bth = bytes >= std::size_t{h.bth_offset} + kBthBytes + kIcrcBytes;
      if (has_bth) {
        EXPECT_EQ(status, ParseStatus::kBadLength) << name_of(e) << " " << bytes;
      } else {
        EXPECT_TRUE(status == ParseStatus::kTooShort || status == ParseStatus::kNotRdma) << name_of(e) << " " << bytes;
      }
    }
  }
}

TEST(Wire, RandomBytesNeverCrash) {
  std::mt19937_64 rng(seed_from_environment());
  for (int round = 0; round < 200000; ++round) {
    Frame frame = built(kAllEncapsulations[rng() % 5], static_cast<std::uint8_t>(rng()), rng() % 9);
    for (std::size_t flips = rng() % 8; flips > 0; --flips) {
      frame[rng() % frame.size()] = static_cast<std::uint8_t>(rng());
    }
    frame.resize(rng() % (frame.size() + 1));
    frame.shrink_to_fit();
    const LinkLayer link = rng() & 1 ? LinkLayer::kEthernet : LinkLayer::kInfiniband;
    Headers h;
    if (parse(frame, link, h) == ParseStatus::kOk) {
      ASSERT_LE(h.payload_offset + h.payload_bytes + h.pad, h.icrc_offset);
      ASSERT_LE(h.icrc_offset + kIcrcBytes, frame.size());
    }
  }
}

TEST(WireStatus, OtherProtocolsAreNotRdma) {
  Frame arp(60, 0);
  store_be16(&arp[12], 0x0806);
  EXPECT_EQ(status_of(arp), ParseStatus::kNotRdma);
  EXPECT_EQ(status_of({}), ParseStatus::kNotRdma);
  Frame udp = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 0);
  store_be16(&udp[14 + 20 + 2], kRoceV2Port + 1);
  EXPECT_EQ(status_of(udp), ParseStatus::kNotRdma);
  Frame tcp = built(Encapsulation::kRoceV2Ipv6, kRcSendOnly, 0);
  tcp[14 + 6] = 6;
  EXPECT_EQ(status_of(tcp), ParseStatus::kNotRdma);
  Frame raw_ipv6 = built(Encapsulation::kRoceV1, kRcSendOnly, 0);
  raw_ipv6[14 + 6] = 17;
  EXPECT_EQ(status_of(raw_ipv6), ParseStatus::kNotRdma);
  for (const unsigned raw_lnh : {0u, 1u}) {
    Frame raw_packet = built(Encapsulation::kIbLocal, kRcSendOnly, 0);
    raw_packet[1] = static_cast<std::uint8_t>((raw_packet[1] & ~3u) | raw_lnh);
    EXPECT_EQ(status_of(raw_packet, LinkLayer::kInfiniband), ParseStatus::kNotRdma);
  }
  Frame three_tags(60, 0);
  for (const std::size_t at : {12, 16, 20}) store_be16(&three_tags[at], 0x8100);
  EXPECT_EQ(status_of(three_tags), ParseStatus::kNotRdma);
}

// With a payload of zero the packet ends with its ICRC: one byte less does not hold BTH and ICRC.
TEST(WireStatus, TooShortIsOneByteLessThanBthAndIcrc) {
  for (const Encapsulation e : kAllEncapsulations) {
    Frame frame = built(e, kRcSendOnly, 0);
    if (infiniband(e)) frame.resize(frame.size() - 2);
    EXPECT_EQ(status_of(frame, link_of(e)), ParseStatus::kOk) << name_of(e);
    frame.pop_back();
    EXPECT_EQ(status_of(frame, link_of(e)), ParseStatus::kTooShort) << name_of(e);
  }
}

TEST(WireStatus, TooShortByItsOwnLengthThoughTheFrameIsPadded) {
  Frame ipv4 = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 0);
  ipv4.resize(60);
  store_be16(&ipv4[16], 20 + 8 + 15);
  store_be16(&ipv4[38], 8 + 15);
  EXPECT_EQ(status_of(ipv4), ParseStatus::kTooShort);
  Frame local = built(Encapsulation::kIbLocal, kRcSendOnly, 0);
  store_be16(&local[4], 5);
  EXPECT_EQ(status_of(local, LinkLayer::kInfiniband), ParseStatus::kTooShort);
}

TEST(WireStatus, BadLengthIsOneByteMissingFromTheFrame) {
  for (const Encapsulation e : kAllEncapsulations) {
    Frame frame = built(e, kRcSendOnly, 8);
    if (infiniband(e)) frame.resize(frame.size() - 2);
    EXPECT_EQ(status_of(frame, link_of(e)), ParseStatus::kOk) << name_of(e);
    frame.pop_back();
    EXPECT_EQ(status_of(frame, link_of(e)), ParseStatus::kBadLength) << name_of(e);
  }
}

TEST(WireStatus, BadLengthWhenUdpAndIpDisagreeEitherWay) {
  for (const int by : {-4, 4}) {
    for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6}) {
      Frame frame = built(e, kRcSendOnly, 8);
      const std::size_t udp_length = e == Encapsulation::kRoceV2Ipv4 ? 38 : 58;
      store_be16(&frame[udp_length], static_cast<std::uint16_t>(load_be16(&frame[udp_length]) + by));
      EXPECT_EQ(status_of(frame), ParseStatus::kBadLength) << name_of(e) << by;
    }
  }
}

// R5
TEST(WireStatus, BadLengthWhenLrhAndGrhDisagree) {
  for (const int by : {-1, 1}) {
    Frame frame = built(Encapsulation::kIbGlobal, kRcSendOnly, 8);
    frame.resize(frame.size() + 8);
    store_be16(&frame[4], static_cast<std::uint16_t>(load_be16(&frame[4]) + by));
    EXPECT_EQ(status_of(frame, LinkLayer::kInfiniband), ParseStatus::kBadLength) << by;
  }
}

// R5
TEST(WireStatus, BadLengthWhenNotAMultipleOfFour) {
  for (unsigned extra = 1; extra <= 4; ++extra) {
    Frame frame = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 8);
    frame.resize(frame.size() + extra);
    for (const std::size_t at : {16, 38}) {
      store_be16(&frame[at], static_cast<std::uint16_t>(load_be16(&frame[at]) + extra));
    }
    EXPECT_EQ(status_of(frame), extra == 4 ? ParseStatus::kOk : ParseStatus::kBadLength) << extra;
  }
}

// Frames of RAW_PACKET have no BTH.
bool is_on_wire(unsigned opcode) {
  const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
  return (info.traits & kKnown) != 0 && info.transport != Transport::kRaw;
}

TEST(WireStatus, UnknownOpcodeIsEveryByteOutsideTheTable) {
  for (const Encapsulation e : kAllEncapsulations) {
    Frame frame = built(e, kRcSendOnly, 40);
    Headers h;
    ASSERT_EQ(parse(frame, link_of(e), h), ParseStatus::kOk);
    const std::size_t bth = h.bth_offset;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      frame[bth] = static_cast<std::uint8_t>(opcode);
      const bool known = is_on_wire(opcode);
      const ParseStatus refused = opcode >= 0xc0 ? ParseStatus::kVendorOpcode : ParseStatus::kUnknownOpcode;
      EXPECT_EQ(status_of(frame, link_of(e)), known ? ParseStatus::kOk : refused) << opcode;
    }
  }
}

// Lengths are multiples of four, so the boundary is one word and, with a pad count, one byte.
TEST(WireStatus, MissingHeadersIsOneWordLessThanTheOpcodeAsksFor) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(opcode));
    if (!(info.traits & kKnown) || info.extension_bytes == 0) continue;
    for (const bool enough : {true, false}) {
      Frame frame = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, info.extension_bytes - (enough ? 0u : 4u));
      frame[42] = static_cast<std::uint8_t>(opcode);
      EXPECT_EQ(status_of(frame), enough ? ParseStatus::kOk : ParseStatus::kMissingHeaders) << opcode;
      frame[43] = 0x10;  // a pad of one, and no byte left for it
      EXPECT_EQ(status_of(frame), enough ? ParseStatus::kPad : ParseStatus::kMissingHeaders) << opcode;
    }
  }
  Frame padded = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 4);
  padded[43] = 0x30;
  Headers h;
  EXPECT_EQ(parse(padded, LinkLayer::kEthernet, h), ParseStatus::kOk);
  EXPECT_EQ(h.payload_bytes, 1);
}

TEST(WireStatus, FragmentsThatMayBeRoce) {
  const Frame whole = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 8);
  const auto with = [&whole](std::uint16_t flags, std::uint16_t port) {
    Frame frame = whole;
    store_be16(&frame[20], flags);
    store_be16(&frame[36], port);
    return status_of(frame);
  };
  EXPECT_EQ(with(0x4000, kRoceV2Port), ParseStatus::kOk);        // DF
  EXPECT_EQ(with(0x0000, kRoceV2Port), ParseStatus::kOk);        // neither
  EXPECT_EQ(with(0x2000, kRoceV2Port), ParseStatus::kFragment);  // first of several
  EXPECT_EQ(with(0x2000, kRoceV2Port + 1), ParseStatus::kNotRdma);
  EXPECT_EQ(with(0x0001, kRoceV2Port + 1), ParseStatus::kFragment);  // a later one: no port to see
  Frame icmp = whole;
  store_be16(&icmp[20], 1);
  icmp[23] = 1;
  EXPECT_EQ(status_of(icmp), ParseStatus::kNotRdma);
}

TEST(WireStatus, Ipv6ExtensionHeadersThatMayHideRoce) {
  const Frame whole = built(Encapsulation::kRoceV2Ipv6, kRcSendOnly, 8);
  // An extension header of 8 bytes, then what follows the IPv6 header in `whole`.
  const auto with = [&whole](std::uint8_t type, std::uint8_t next, std::uint16_t port, std::uint16_t offset) {
    Frame frame = whole;
    const std::uint8_t extension[8] = {next, 0, static_cast<std::uint8_t>(offset >> 8),
                                       static_cast<std::uint8_t>(offset)};
    frame[20] = type;
    store_be16(&frame[56], port);
    frame.insert(frame.begin() + 54, extension, extension + 8);
    return status_of(frame);
  };
  for (const std::uint8_t type : {0, 43, 44, 60}) {
    const ParseStatus hidden = type == 44 ? ParseStatus::kFragment : ParseStatus::kExtensionHeader;
    EXPECT_EQ(with(type, 17, kRoceV2Port, 0), hidden) << unsigned{type};
    EXPECT_EQ(with(type, 17, kRoceV2Port + 1, 0), ParseStatus::kNotRdma) << unsigned{type};
    EXPECT_EQ(with(type, 58, kRoceV2Port, 0), ParseStatus::kNotRdma) << unsigned{type};
  }
  EXPECT_EQ(with(44, 17, kRoceV2Port + 1, 8), ParseStatus::kFragment);  // a later fragment: no port to see
  EXPECT_EQ(with(50, 17, kRoceV2Port, 0), ParseStatus::kNotRdma);       // ESP
}

// R2: one frame with everything wrong, repaired from the front.
TEST(Wire, TheFirstThingWrongIsReported) {
  Frame frame = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 0);
  store_be16(&frame[36], kRoceV2Port + 1);  // not RDMA
  store_be16(&frame[20], 0x2000);           // fragment
  store_be16(&frame[16], 20 + 8 + 15);      // too short
  store_be16(&frame[38], 8 + 24);           // lengths disagree
  frame[42] = 0x5f;                         // unknown opcode
  EXPECT_EQ(status_of(frame), ParseStatus::kNotRdma);
  store_be16(&frame[36], kRoceV2Port);
  EXPECT_EQ(status_of(frame), ParseStatus::kFragment);
  store_be16(&frame[20], 0x4000);
  EXPECT_EQ(status_of(frame), ParseStatus::kTooShort);
  store_be16(&frame[16], 20 + 8 + 16);
  EXPECT_EQ(status_of(frame), ParseStatus::kBadLength);
  store_be16(&frame[38], 8 + 16);
  EXPECT_EQ(status_of(frame), ParseStatus::kUnknownOpcode);
  frame[42] = 0xc4;
  EXPECT_EQ(status_of(frame), ParseStatus::kVendorOpcode);
  frame[42] = kRcWriteOnlyImm;
  EXPECT_EQ(status_of(frame), ParseStatus::kMissingHeaders);
  frame[42] = kRcSendOnly;
  EXPECT_EQ(status_of(frame), ParseStatus::kOk);
}

// R3
TEST(Wire, BytesAfterThePacketAreNotPartOfIt) {
  for (const Encapsulation e : kAllEncapsulations) {
    Frame frame = built(e, kRcSendOnly, 6);
    Headers alone, followed;
    ASSERT_EQ(parse(frame, link_of(e), alone), ParseStatus::kOk);
    frame.resize(frame.size() + 46, 0xab);
    ASSERT_EQ(parse(frame, link_of(e), followed), ParseStatus::kOk) << name_of(e);
    EXPECT_EQ(alone, followed) << name_of(e);
    EXPECT_EQ(followed.payload_bytes, 6);
    EXPECT_EQ(followed.pad, 2);
  }
}

// R4
TEST(Wire, RandomPacketsOfAllOpcodesComeBackTheSame) {
  std::mt19937_64 rng(seed_from_environment());
  unsigned compared = 0;
  for (int seed = 0; seed < 20; ++seed) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
      if (!is_on_wire(opcode)) continue;
      for (const Encapsulation e : kAllEncapsulations) {
        Headers written = random_headers(e, static_cast<std::uint8_t>(opcode), rng);
        Frame payload(rng() % 4 == 0 ? kMaxMtu - rng() % 4 : rng() % 40);
        for (auto& b : payload) b = static_cast<std::uint8_t>(rng());
        const Frame frame = built(written, payload);
        ASSERT_FALSE(frame.empty());
        Headers read;
        ASSERT_EQ(parse(frame, link_of(e), read), ParseStatus::kOk) << name_of(e) << " " << opcode;
        ASSERT_EQ(written, read) << name_of(e) << " " << opcode;
        const Bytes found = payload_of(frame, read);
        ASSERT_TRUE(std::equal(found.begin(), found.end(), payload.begin(), payload.end()));
        ASSERT_EQ(built(read, payload), frame) << name_of(e) << " " << opcode;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 20u * 63u * 5u);
}

TEST(Wire, VlanTagsAreReadAndWritten) {
  Headers h = sample(Encapsulation::kRoceV2Ipv4, kRcSendOnly);
  const Frame plain = built(h, {});
  h.vlan = 0x6064;
  const Frame tagged = built(h, {});  // the tag count follows
  EXPECT_EQ(tagged.size(), plain.size() + 4);
  EXPECT_EQ(load_be16(&tagged[12]), 0x8100);
  EXPECT_EQ(load_be16(&tagged[14]), 0x6064);
  EXPECT_EQ(h.vlan_tags, 1);
  h.vlan_tags = 2;
  h.outer_vlan = 0x00c8;
  const Frame stacked = built(h, {});
  EXPECT_EQ(stacked.size(), plain.size() + 8);
  EXPECT_EQ(load_be16(&stacked[12]), 0x88a8);
  EXPECT_EQ(load_be16(&stacked[14]), 0x00c8);
  EXPECT_EQ(load_be16(&stacked[16]), 0x8100);
  EXPECT_EQ(load_be16(&stacked[18]), 0x6064);
  Headers read;
  ASSERT_EQ(parse(stacked, LinkLayer::kEthernet, read), ParseStatus::kOk);
  EXPECT_EQ(read.vlan, 0x6064);
  EXPECT_EQ(read.outer_vlan, 0x00c8);
  EXPECT_EQ(read.network_offset, 22);
}

TEST(Wire, PriorityTagOfZeroIsStillATag) {
  Headers h = sample(Encapsulation::kRoceV1, kRcSendOnly);
  h.vlan_tags = 1;
  const Frame frame = built(h, {});
  Headers read;
  ASSERT_EQ(parse(frame, LinkLayer::kEthernet, read), ParseStatus::kOk);
  EXPECT_EQ(read.vlan_tags, 1);
  EXPECT_EQ(read.network_offset, 18);
}

TEST(Wire, Ipv4OptionsAreSkipped) {
  Frame frame = built(Encapsulation::kRoceV2Ipv4, kRcSendOnly, 8);
  const Frame options(40, 1);
  frame.insert(frame.begin() + 34, options.begin(), options.end());
  frame[14] = 0x4f;
  store_be16(&frame[16], static_cast<std::uint16_t>(load_be16(&frame[16]) + 40));
  Headers h;
  ASSERT_EQ(parse(frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
  EXPECT_EQ(h.bth_offset, 14 + 60 + 8);
  EXPECT_EQ(h.payload_bytes, 8);
  frame[14] = 0x44;  // a header length below 20 bytes is not IPv4
  EXPECT_EQ(status_of(frame), ParseStatus::kNotRdma);
}

TEST(Wire, GrhFollowsTheEncapsulation) {
  for (const Encapsulation e : kAllEncapsulations) {
    Headers h;
    ASSERT_EQ(parse(built(e, kRcSendOnly, 0), link_of(e), h), ParseStatus::kOk);
    const bool expected = e != Encapsulation::kRoceV2Ipv4 && e != Encapsulation::kIbLocal;
    EXPECT_EQ(h.has_grh, expected) << name_of(e);
    EXPECT_EQ(h.bth_offset - h.network_offset, e == Encapsulation::kRoceV2Ipv4   ? 28
                                               : e == Encapsulation::kRoceV2Ipv6 ? 48
                                               : e == Encapsulation::kIbLocal    ? 0
                                                                                 : 40)
        << name_of(e);
  }
}

// IBTA volume 1, 7.8: the sample packet for the CRCs, a local RC WRITE_ONLY of 14 bytes.
TEST(Wire, LocalSamplePacketOfTheSpecification) {
  const Frame frame{0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87,
                    0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02,
                    0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c,
                    0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a};
  Headers h;
  ASSERT_EQ(parse(frame, LinkLayer::kInfiniband, h), ParseStatus::kOk);
  EXPECT_EQ(h.virtual_lane, 7);
  EXPECT_EQ(h.service_level, 1);
  EXPECT_EQ(h.destination, Address::lid(0x375c));
  EXPECT_EQ(h.source, Address::lid(0x17d2));
  EXPECT_EQ(h.opcode, 0x0a);
  EXPECT_EQ(h.pkey, 0x2487);
  EXPECT_EQ(h.destination_qp, Qpn{0x87b1b3});
  EXPECT_EQ(h.psn, Psn{0x0dec2a});
  EXPECT_EQ(h.va, 0x01710a1c015d4002u);
  EXPECT_EQ(h.rkey, Key{0x38f27a05});
  EXPECT_EQ(h.length, 14u);
  EXPECT_EQ(h.payload_bytes, 14);
  EXPECT_EQ(h.pad, 2);
}

// Parsing and building could share a mistake; these bytes cannot.
TEST(WireBuild, ExtensionHeadersStandInTheOrderOfTheStandard) {
  const auto extension_of = [](std::uint8_t opcode) {
    Headers h = sample(Encapsulation::kRoceV2Ipv4, opcode);
    h.va = 0x0102030405060708;
    h.rkey = Key{0x11121314};
    h.length = 0x21222324;
    h.swap_add = 0x3132333435363738;
    h.compare = 0x4142434445464748;
    h.original = 0x5152535455565758;
    h.syndrome = 0x61;
    h.msn = 0x626364;
    h.qkey = 0x71727374;
    h.source_qp = Qpn{0x757677};
    h.immediate = 0x81828384;
    h.xrc_srq = Srqn{0x919293};
    const Frame frame = built(h, {});
    std::string hex;
    for (std::size_t at = h.bth_offset + kBthBytes; at < h.icrc_offset; ++at) {
      constexpr const char* kDigits = "0123456789abcdef";
      hex += kDigits[frame[at] >> 4];
      hex += kDigits[frame[at] & 15];
    }
    return hex;
  };
  const std::string reth = "01020304050607081112131421222324";
  const std::string atomic = "01020304050607081112131431323334353637384142434445464748";
  const std::string imm = "81828384";
  const std::string xrc = "00919293";
  EXPECT_EQ(extension_of(0x04), "");
  EXPECT_EQ(extension_of(0x05), imm);
  EXPECT_EQ(extension_of(0x17), imm);  // IETH
  EXPECT_EQ(extension_of(0x0b), reth + imm);
  EXPECT_EQ(extension_of(0x0c), reth);
  EXPECT_EQ(extension_of(0x11), "61626364");
  EXPECT_EQ(extension_of(0x12), "616263645152535455565758");
  EXPECT_EQ(extension_of(0x13), atomic);
  EXPECT_EQ(extension_of(0x65), "7172737400757677" + imm);
  EXPECT_EQ(extension_of(0xab), xrc + reth + imm);
  EXPECT_EQ(extension_of(0xb4), xrc + atomic);
  EXPECT_EQ(extension_of(0x81), std::string(32, '0'));
}

TEST(WireBuild, HeadersBeforeTheBthAreThoseOfTheStandard) {
  const auto front_of = [](Encapsulation e) {
    Headers h = sample(e, kRcSendOnly);
    h.traffic_class = 0x62;
    h.flow_label = 0xabcde;
    h.ip_identification = 0x1234;
    h.virtual_lane = 3;
    h.service_level = 4;
    if (e == Encapsulation::kIbGlobal) {
      h.source_lid = 5;
      h.destination_lid = 0x375c;
    }
    h.source_mac = {2, 0, 0, 0, 0, 1};
    h.destination_mac = {2, 0, 0, 0, 0, 2};
    h.ack_request = h.solicited = h.becn = true;
    const Frame frame = built(h, {0x55});
    return Frame(frame.begin(), frame.begin() + h.payload_offset);
  };
  const Frame bth{0x04, 0xb0, 0xff, 0xff, 0x40, 0x12, 0x34, 0x56, 0x80, 0xff, 0xff, 0xfe};
  const auto with_bth = [&bth](Frame front) {
    front.insert(front.end(), bth.begin(), bth.end());
    return front;
  };
  EXPECT_EQ(
      front_of(Encapsulation::kRoceV2Ipv4),
      with_bth({2,    0,  0,  0,    0,    2,  2, 0,  0,  0,  0, 1,  0x08, 0x00, 0x45, 0x62, 0x00, 48, 0x12, 0x34, 0x40,
                0x00, 64, 17, 0xf3, 0xaa, 10, 1, 16, 61, 10, 1, 16, 62,   0xc0, 0x12, 0x12, 0xb7, 0,  28,   0,    0}));
  EXPECT_EQ(front_of(Encapsulation::kIbLocal), with_bth({0x30, 0x42, 0x37, 0x5c, 0, 7, 0, 5}));
  EXPECT_EQ(front_of(Encapsulation::kIbGlobal),
            with_bth({0x30, 0x43, 0x37, 0x5c, 0, 17, 0, 5, 0x66, 0x2a, 0xbc, 0xde, 0, 20, 0x1b, 64,
                      0xfe, 0x80, 0,    0,    0, 0,  0, 0, 0,    0,    0,    0,    0, 1,  0,    2,
                      0xfe, 0x80, 0,    0,    0, 0,  0, 0, 0,    0,    0,    0,    0, 3,  0,    4}));
}

TEST(WireBuild, RefusesWhatDoesNotFit) {
  for (const Encapsulation e : kAllEncapsulations) {
    Headers h = sample(e, kRcSendOnly);
    const Frame payload(5, 1);
    const Frame whole = built(h, payload);
    Frame exact(whole.size());
    EXPECT_EQ(build(h, payload, exact), whole.size()) << name_of(e);
    Frame short_by_one(whole.size() - 1);
    EXPECT_EQ(build(h, payload, short_by_one), 0u) << name_of(e);
    Frame large(70000);
    EXPECT_EQ(build_in_place(h, 65535, large), 0u) << name_of(e);
  }
  Headers none;
  Frame out(200);
  EXPECT_EQ(build(none, {}, out), 0u);
}

TEST(WireBuild, RefusesWhatThePacketLengthCannotSay) {
  Headers local = sample(Encapsulation::kIbLocal, kRcSendOnly);
  Frame large(70000);
  constexpr std::size_t kLargest = 2047 * 4 - 8 - kBthBytes - kIcrcBytes;  // PktLen has 11 bits
  EXPECT_NE(build_in_place(local, kLargest, large), 0u);
  EXPECT_EQ(build_in_place(local, kLargest + 1, large), 0u);
}

TEST(WireBuild, InPlaceWritesTheSameAroundThePayload) {
  for (const Encapsulation e : kAllEncapsulations) {
    Headers h = sample(e, kRcWriteOnlyImm);
    const Frame expected = built(h, Frame(13, 0x77));
    Frame frame(kMaxFrameBytes, 0xee);
    const auto at = static_cast<std::ptrdiff_t>(payload_offset_for(h));
    std::fill(frame.begin() + at, frame.begin() + at + 13, std::uint8_t{0x77});
    frame.resize(build_in_place(h, 13, frame));
    EXPECT_EQ(frame, expected) << name_of(e);
  }
}

TEST(WireBuild, TheLargestPacketFitsIntoAFrame) {
  Headers h = sample(Encapsulation::kRoceV2Ipv6, 0xab);
  h.vlan_tags = 2;
  Frame out(kMaxFrameBytes);
  EXPECT_GT(build(h, Frame(kMaxMtu), out), kMaxMtu);
}

TEST(WireAddress, TextComesBack) {
  for (const char* text :
       {"10.1.16.61", "0.0.0.0", "fe80::1", "::ffff:10.1.16.61", "2001:db8::8:800:200c:417a", "lid:5", "lid:65535"}) {
    EXPECT_EQ(Address::parse(text).text(), text);
  }
  EXPECT_EQ(Address::parse("lid:0x375c"), Address::lid(0x375c));
  EXPECT_EQ(Address::parse("10.1.16.61"), Address::ipv4(0x0a01103d));
  EXPECT_NE(Address::parse("10.1.16.61"), Address::parse("::ffff:10.1.16.61"));
}

TEST(WireAddress, NonsenseIsRefused) {
  for (const char* text :
       {"", "10.1.16", "10.1.16.256", "lid:", "lid:65536", "lid:5x", "lid:-1", "host", "fe80::1::2"}) {
    EXPECT_THROW(Address::parse(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace rxnic::wire_test
