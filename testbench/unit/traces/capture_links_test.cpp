// SPDX-License-Identifier: Apache-2.0
// capture_reader.h, R1: captures without an Ethernet header.
#include <gtest/gtest.h>

#include "testbench/unit/traces/capture_bytes.h"

namespace rxnic::capture_links_test {
namespace {

const Blob kMac = {2, 0, 0, 0, 0, 7};
const Blob kPacket(40, 0x45);  // its first byte says IPv4

Blob sll(std::uint16_t protocol, const Blob& address, const Blob& packet) {
  Blob b;
  put(b, 0, 2, true);
  put(b, 1, 2, true);
  put(b, address.size(), 2, true);
  append(b, address);
  b.resize(14);
  put(b, protocol, 2, true);
  append(b, packet);
  return b;
}

Blob sll2(std::uint16_t protocol, const Blob& address, const Blob& packet) {
  Blob b;
  put(b, protocol, 2, true);
  put(b, 0, 2, true);
  put(b, 3, 4, true);
  put(b, 1, 2, true);
  put(b, 4, 1);
  put(b, address.size(), 1);
  append(b, address);
  b.resize(20);
  append(b, packet);
  return b;
}

Blob ethernet(std::uint16_t type, const Blob& source, const Blob& packet) {
  Blob b(6, 0);
  append(b, source);
  b.resize(12);
  put(b, type, 2, true);
  append(b, packet);
  return b;
}

// Both as pcap and as the interface of a pcapng file.
void expect_frame(std::uint16_t link, const Blob& record, const Blob& frame) {
  for (const Blob& file : {pcap_file(kNano, false, link, {{0, 0, record}}), pcapng_file(link, {{0, 0, record}})}) {
    const WholeCapture read = read_whole(file);
    EXPECT_EQ(read.error, "") << link;
    EXPECT_EQ(read.frames, std::vector<Blob>{frame}) << link;
  }
}

TEST(CaptureLinks, ACookedCaptureKeepsTheSendersAddress) {
  expect_frame(113, sll(0x0800, kMac, kPacket), ethernet(0x0800, kMac, kPacket));
  expect_frame(276, sll2(0x0800, kMac, kPacket), ethernet(0x0800, kMac, kPacket));
  expect_frame(113, sll(0x8915, kMac, kPacket), ethernet(0x8915, kMac, kPacket));
  expect_frame(276, sll2(0x86dd, kMac, kPacket), ethernet(0x86dd, kMac, kPacket));
}

TEST(CaptureLinks, AnAddressThatIsNoMacIsLeftOut) {
  for (const Blob& address : {Blob(), Blob(4, 9), Blob(8, 9)}) {
    expect_frame(113, sll(0x0800, address, kPacket), ethernet(0x0800, {}, kPacket));
    expect_frame(276, sll2(0x0800, address, kPacket), ethernet(0x0800, {}, kPacket));
  }
}

TEST(CaptureLinks, RawIpHasTheEtherTypeOfItsVersion) {
  const Blob six(60, 0x60);
  expect_frame(101, kPacket, ethernet(0x0800, {}, kPacket));
  expect_frame(101, six, ethernet(0x86dd, {}, six));
  expect_frame(101, Blob(20, 0x10), ethernet(0, {}, Blob(20, 0x10)));
  expect_frame(228, kPacket, ethernet(0x0800, {}, kPacket));
  expect_frame(229, six, ethernet(0x86dd, {}, six));
}

TEST(CaptureLinks, TheLengthOnTheWireIsThatOfTheFrame) {
  const Blob file =
      pcap_file(kNano, false, 276, {{0, 0, sll2(0x0800, kMac, kPacket), 1000}, {0, 0, Blob(20), 0xffffffff}});
  CaptureReader reader(opener_of(file), "memory");
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.wire_bytes, 1000u - 20 + 14);
  EXPECT_TRUE(f.truncated);
  EXPECT_EQ(f.filled_bytes, 0u);
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.bytes.size(), 14u);
  const Blob raw = pcap_file(kNano, false, 228, {{0, 0, kPacket, 0xffffffff}});
  CaptureReader long_one(opener_of(raw), "memory");
  ASSERT_TRUE(long_one.next(f));
  EXPECT_EQ(f.wire_bytes, 0xffffffffu);
}

TEST(CaptureLinks, ACookedRecordWithoutItsHeaderIsNamed) {
  EXPECT_EQ(read_whole(pcap_file(kNano, false, 113, {{0, 0, Blob(16)}, {0, 0, Blob(15)}})).error,
            "memory: packet 2: found a Linux cooked record of 15 bytes; expected 16 or more");
  EXPECT_EQ(read_whole(pcap_file(kNano, false, 276, {{0, 0, Blob(19)}})).error,
            "memory: packet 1: found a Linux cooked record of 19 bytes; expected 20 or more");
}

}  // namespace
}  // namespace rxnic::capture_links_test
