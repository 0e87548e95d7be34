// SPDX-License-Identifier: Apache-2.0
// R6 and R8 of traces/capture_reader.h; traces/other_udp_ports.h.
#include <gtest/gtest.h>

#include "model/core/wire/parsed.h"
#include "testbench/unit/traces/roce_frames.h"
#include "traces/other_udp_ports.h"

namespace rxnic::capture_inside_test {
namespace {

constexpr LinkLayer kEth = LinkLayer::kEthernet;

Blob on_port(std::uint16_t port, bool icrc_of_that_port) {
  Blob frame = send_frame(100);
  Headers h;
  parse(frame, kEth, h);
  store_be16(&frame[kUdpAt + 2], port);
  if (icrc_of_that_port) seal(frame, h);
  return frame;
}

struct Reading {
  explicit Reading(const std::vector<Record>& records, std::uint32_t link = 1)
      : file(pcap_file(kNano, false, link, records)), reader(opener_of(file), "memory") {}
  CapturedFrame next() {
    CapturedFrame f;
    EXPECT_TRUE(reader.next(f));
    expect_headers_of_bytes(f);
    return f;
  }
  Blob file;
  CaptureReader reader;
};

// R6
TEST(CaptureInside, AMirrorsCutIsKnownByTheLengthInItsHeaders) {
  const Blob whole = send_frame(100, 512);
  for (const std::size_t kept : {50u, 64u, 128u, 500u}) {
    Reading r({{0, 0, Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept))}});
    const CapturedFrame f = r.next();
    EXPECT_TRUE(f.truncated) << kept;
    EXPECT_EQ(f.wire_bytes, whole.size()) << kept;
    EXPECT_EQ(r.reader.cut_by_mirror(), 1u);
    EXPECT_EQ(r.reader.cut_payloads(), kept < 54 ? 0u : 1u) << "with all its headers";
  }
}

TEST(CaptureInside, OfRoceV1AndInfinibandToo) {
  for (const Encapsulation e : {Encapsulation::kRoceV1, Encapsulation::kIbLocal, Encapsulation::kRoceV2Ipv6}) {
    Headers h = roce_headers(true, Operation::kSendOnly, 1);
    h.encapsulation = e;
    if (e == Encapsulation::kIbLocal) {
      h.source = Address::lid(1);
      h.destination = Address::lid(2);
    }
    Blob whole = roce_frame(h, 256);
    if (e == Encapsulation::kIbLocal) whole.resize(whole.size() - kVcrcBytes);
    Reading r({{0, 0, Blob(whole.begin(), whole.begin() + 100)}}, e == Encapsulation::kIbLocal ? 247 : 1);
    EXPECT_EQ(r.next().wire_bytes, whole.size());
    EXPECT_EQ(r.reader.cut_by_mirror(), 1u);
  }
}

TEST(CaptureInside, LengthsThatDisagreeAreNoCut) {
  Blob frame = send_frame(100, 512);
  store_be16(&frame[16], static_cast<std::uint16_t>(load_be16(&frame[16]) + 100));  // IP, not UDP
  Reading r({{0, 0, frame}});
  EXPECT_FALSE(r.next().truncated);
  EXPECT_EQ(r.reader.cut_by_mirror(), 0u);
}

TEST(CaptureInside, AFilledCutHasZerosARightIcrcAndNoUdpChecksum) {
  Blob whole = send_frame(100, 512);
  store_be16(&whole[kUdpAt + 6], 0x1234);
  Reading r({{0, 0, Blob(whole.begin(), whole.begin() + 128)}});
  r.reader.fill_cut_payloads(&seal);
  const CapturedFrame f = r.next();
  EXPECT_EQ(f.filled_bytes, whole.size() - 128);
  Headers h;
  ASSERT_EQ(parse(f.bytes, kEth, h), ParseStatus::kOk);
  EXPECT_EQ(wrong_checksum(f.bytes, h), DropReason::kNone);
  EXPECT_EQ(f.bytes[200], 0);
}

// other_udp_ports.h, R1 and R2
TEST(OtherUdpPorts, WhatLooksLikeRoceIsFoundOnAnyPort) {
  const auto own = looks_like_roce(on_port(4790, true), &icrc_matches);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->port, 4790);
  EXPECT_TRUE(own->icrc_right);
  const auto rewritten = looks_like_roce(on_port(1021, false), &icrc_matches);
  ASSERT_TRUE(rewritten);
  EXPECT_TRUE(rewritten->icrc_right) << "for port 4791: a mirror wrote the other one";
  Blob damaged = on_port(1021, true);
  damaged.back() ^= 1;
  const auto by_headers = looks_like_roce(damaged, &icrc_matches);
  ASSERT_TRUE(by_headers);
  EXPECT_FALSE(by_headers->icrc_right);
}

TEST(OtherUdpPorts, OneFieldThatIsWrongAndNoIcrcIsNoRoce) {
  const auto with = [](std::size_t at, std::uint8_t value) {
    Blob frame = on_port(5000, true);
    frame.back() ^= 1;
    frame[at] = value;
    return looks_like_roce(frame, &icrc_matches).has_value();
  };
  EXPECT_TRUE(with(kBthAt, 0x04));
  EXPECT_FALSE(with(kBthAt, 0x1e)) << "opcode";
  EXPECT_FALSE(with(kBthAt + 1, 0x01)) << "TVER";
  EXPECT_FALSE(with(kBthAt + 2, 0x00)) << "P_Key";
  EXPECT_FALSE(with(kBthAt + 4, 0x01)) << "reserved";
  EXPECT_FALSE(with(kBthAt + 7, 0x00)) << "QPN";
  EXPECT_FALSE(with(kBthAt + 8, 0x01)) << "reserved";
  EXPECT_FALSE(with(kUdpAt + 5, 0)) << "UDP length";
}

// other_udp_ports.h, R3
TEST(OtherUdpPorts, AReadPortBecomesRocesAndARightIcrcStaysRight) {
  for (const bool own : {true, false}) {
    Blob frame = on_port(4790, own);
    store_be16(&frame[kUdpAt + 6], 0x7777);  // a checksum of the old port
    Reading r({{0, 0, frame}, {0, 1, on_port(4788, true)}});
    r.reader.read_as_roce({1021, 4790}, &icrc_matches, &seal);
    const CapturedFrame f = r.next();
    Headers h;
    ASSERT_EQ(parse(f.bytes, kEth, h), ParseStatus::kOk);
    EXPECT_EQ(wrong_checksum(f.bytes, h), DropReason::kNone);
    EXPECT_EQ(parse(r.next().bytes, kEth, h), ParseStatus::kNotRdma) << "another port";
    EXPECT_EQ(r.reader.on_other_udp_ports(), 1u);
  }
  Blob damaged = on_port(4790, true);
  damaged.back() ^= 1;
  Reading r({{0, 0, damaged}});
  r.reader.read_as_roce({4790}, &icrc_matches, &seal);
  const CapturedFrame f = r.next();
  Headers h;
  ASSERT_EQ(parse(f.bytes, kEth, h), ParseStatus::kOk);
  EXPECT_FALSE(icrc_matches(f.bytes, h));
}

TEST(OtherUdpPorts, InsideOfATunnel) {
  const Blob tunnel = ethernet(0x0800, ipv4_packet(4, without_ethernet(on_port(4790, true))));
  Reading hint({{0, 0, tunnel}});
  EXPECT_TRUE(hint.next().tunnel) << "for the hint";
  Reading r({{0, 0, tunnel}});
  r.reader.read_as_roce({4790}, &icrc_matches, &seal);
  Headers h;
  EXPECT_EQ(parse(r.next().bytes, kEth, h), ParseStatus::kOk);
}

// R8
TEST(CaptureInside, AWrongIcrcIsMadeRightOnRequest) {
  Blob bad = send_frame(100);
  bad.back() ^= 1;
  for (const bool ignore : {false, true}) {
    Reading r({{0, 0, send_frame(99)}, {0, 1, bad}});
    if (ignore) r.reader.take_icrcs_as_right(&icrc_matches, &seal);
    EXPECT_EQ(r.next().bytes.size(), bad.size());
    const CapturedFrame f = r.next();
    Headers h;
    ASSERT_EQ(parse(f.bytes, kEth, h), ParseStatus::kOk);
    EXPECT_EQ(icrc_matches(f.bytes, h), ignore);
    EXPECT_EQ(r.reader.icrcs_made_right(), ignore ? 1u : 0u);
  }
}

}  // namespace
}  // namespace rxnic::capture_inside_test
