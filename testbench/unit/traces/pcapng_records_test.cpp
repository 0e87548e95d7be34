// SPDX-License-Identifier: Apache-2.0
#include "traces/pcapng_records.h"

#include <gtest/gtest.h>

#include "testbench/unit/traces/capture_bytes.h"

namespace rxnic::pcapng_records_test {
namespace {

const Blob kFrame(60, 0xab);

Blob file_of(const std::vector<Blob>& blocks) {
  Blob b;
  for (const Blob& block : blocks) append(b, block);
  return b;
}

// As mergecap writes a capture and an answer of another link type.
TEST(PcapngRecords, InterfacesMayDifferInAllThatTheySay) {
  for (const bool big : {false, true}) {
    const Blob file =
        file_of({pcapng_section(big), pcapng_interface(1, 9, 96, 0, big), pcapng_interface(247, 6, 262144, 1000, big),
                 pcapng_interface(228, 0x80 | 10, 0, 0, big), pcapng_packet(0, 1'001'000'000'007, kFrame, 100, big),
                 pcapng_packet(1, 1'500'000, kFrame, 0, big), pcapng_packet(2, 1002 * 1024 + 512, kFrame, 0, big)});
    CaptureReader reader(opener_of(file), "memory");
    CapturedFrame f;
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.link, LinkLayer::kEthernet);
    EXPECT_EQ(f.wire_bytes, 100u);
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.link, LinkLayer::kInfiniband);
    EXPECT_EQ(f.time_ps, 499'999'993'000u);
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.link, LinkLayer::kEthernet);
    EXPECT_EQ(f.time_ps, 1'499'999'993'000u);
    EXPECT_EQ(f.bytes.size(), kFrame.size() + 14);
    EXPECT_FALSE(reader.next(f));
    EXPECT_FALSE(reader.cut_short()) << reader.cut_reason();
    EXPECT_EQ(reader.start().seconds, 1001);
    EXPECT_EQ(reader.start().nanoseconds, 7);
    EXPECT_EQ(reader.position(), reader.size());
  }
}

TEST(PcapngRecords, ASectionHasItsOwnByteOrderAndInterfaces) {
  const WholeCapture read = read_whole(
      file_of({pcapng_section(false), pcapng_interface(101), pcapng_interface(1), pcapng_packet(1, 5, kFrame),
               pcapng_section(true), pcapng_interface(1, 6, 65535, 0, true), pcapng_packet(0, 1, kFrame, 0, true)}));
  EXPECT_EQ(read.frames, (std::vector<Blob>{kFrame, kFrame}));
  EXPECT_EQ(read.times_ps, (std::vector<std::uint64_t>{0, 995'000}));
  EXPECT_EQ(read.cut_reason, "");
}

TEST(PcapngRecords, OtherKindsOfBlocks) {
  Blob simple, obsolete;
  put(simple, 100, 4);
  append(simple, kFrame);
  put(obsolete, 1, 2);
  put(obsolete, 7, 2);  // drops
  put(obsolete, 0, 4);
  put(obsolete, 30, 4);
  put(obsolete, kFrame.size(), 4);
  put(obsolete, kFrame.size(), 4);
  append(obsolete, kFrame);
  const Blob file = file_of({pcapng_section(), pcapng_interface(1, 9, 60), pcapng_interface(1),
                             pcapng_block(5, Blob(24)), pcapng_packet(0, 20, kFrame), pcapng_block(3, simple),
                             pcapng_block(0x0bad0bad, Blob(200'000)), pcapng_block(2, obsolete)});
  CaptureReader reader(opener_of(file), "memory");
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f) && reader.next(f));
  EXPECT_EQ(f.bytes.size(), 60u);
  EXPECT_EQ(f.wire_bytes, 100u);
  EXPECT_EQ(f.time_ps, 0u) << "that of the packet before it";
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.time_ps, 10'000u);
  EXPECT_FALSE(reader.next(f));
  EXPECT_FALSE(reader.cut_short()) << reader.cut_reason();
  EXPECT_EQ(reader.times_clamped(), 0u);
}

// R2
TEST(PcapngRecords, WhatContradictsItselfEndsTheFileWithItsReason) {
  Blob long_packet = pcapng_packet(0, 1, kFrame);
  long_packet[20] = 200;  // bytes captured
  Blob other_end = pcapng_packet(0, 1, kFrame);
  other_end[other_end.size() - 4] ^= 4;
  Blob version = pcapng_section();
  version[12] = 2;
  Blob order = pcapng_section();
  order[8] ^= 1;
  Blob odd = pcapng_block(5, Blob(24));
  odd[4] += 1;
  Blob huge = pcapng_packet(0, 1, kFrame);
  huge[7] = 0x7f;
  Blob option = pcapng_interface(1);
  option[18] = 200;
  const Blob cut(long_packet.begin(), long_packet.begin() + 30);
  const std::pair<Blob, const char*> bad[] = {
      {long_packet, "a packet of 200 bytes in a block with room for 60"},
      {other_end, "a pcapng block of 92 bytes ends with the length 88"},
      {version, "pcapng of version 2.0"},
      {order, "a pcapng section without a byte order"},
      {odd, "a pcapng block of 37 bytes"},
      {huge, "a pcapng block of 2130706524 bytes"},
      {option, "an option that is longer than its interface"},
      {cut, "a pcapng block is cut short"},
      {Blob(5), "a pcapng block is cut short"},
      {pcapng_packet(7, 1, kFrame), "a packet of interface 7, which is not described"},
      {pcapng_interface(1, 20), "a time resolution of 20"},
      {pcapng_block(1, Blob(4)), "an interface without its link type"},
      {pcapng_block(6, Blob(16)), "a packet block without its lengths"},
      {pcapng_block(0x0a0d0d0a, Blob(4)), "a pcapng section without a byte order"},
  };
  for (const auto& [block, why] : bad) {
    const WholeCapture read =
        read_whole(file_of({pcapng_section(), pcapng_interface(1), pcapng_packet(0, 0, kFrame), block}));
    EXPECT_EQ(read.frames.size(), 1u) << why;
    EXPECT_EQ(read.cut_reason, why);
  }
}

TEST(PcapngRecords, AMillionBlocksWithoutAPacketEndTheCapture) {  // capture_reader.h R6
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const Blob empty = pcapng_block(0xbad, {});
  for (const std::size_t blocks : {kMost - 1, kMost}) {
    Blob file = file_of({pcapng_section(), pcapng_interface(1), pcapng_packet(0, 0, kFrame)});
    file.reserve(file.size() + (blocks + 10) * empty.size());
    for (std::size_t n = 0; n < blocks; ++n) append(file, empty);
    append(file, pcapng_packet(0, 0, kFrame));
    const WholeCapture read = read_whole(file);
    EXPECT_EQ(read.frames.size(), blocks < kMost ? 2u : 1u);
    EXPECT_EQ(read.cut_reason, blocks < kMost ? "" : "1048576 pcapng blocks in succession without a packet");
  }
}

TEST(PcapngRecords, AFileWithoutAHeaderIsRefused) {
  Blob file = pcapng_section();
  file[8] ^= 1;
  EXPECT_NE(read_whole(file).error.find("found a pcapng section without a byte order; expected a capture in pcap"),
            std::string::npos);
  file.resize(20);
  EXPECT_NE(read_whole(file).error, "");
}

TEST(PcapngRecords, ALinkTypeIsRefusedWithTheFirstPacketThatHasIt) {
  const WholeCapture read = read_whole(file_of({pcapng_section(), pcapng_interface(105), pcapng_interface(1),
                                                pcapng_packet(1, 0, kFrame), pcapng_packet(0, 0, kFrame)}));
  EXPECT_EQ(read.frames.size(), 1u);
  EXPECT_EQ(read.error.find("memory: packet 2: found link type 105 (IEEE802_11"), 0u) << read.error;
}

// R3
TEST(PcapngRecords, WhatIsSaidOfAnInterfaceIsKeptUpToALimit) {
  const auto described = [](std::size_t bytes) {
    Blob body;
    put(body, 1, 2);
    put(body, 0, 6);
    for (const std::uint16_t code : {3, 8}) {  // its description; its speed, which is a number
      put(body, code, 2);
      put(body, bytes, 2);
      append(body, Blob(bytes, 'x'));
    }
    return pcapng_block(1, body);
  };
  for (const std::size_t bytes : {8u, 4096u, 4100u}) {
    std::vector<Blob> blocks{pcapng_section()};
    for (int n = 0; n < 300; ++n) blocks.push_back(described(bytes));
    blocks.push_back(pcapng_packet(0, 0, kFrame));
    const Blob file = file_of(blocks);
    CaptureReader reader(opener_of(file), "memory");
    CapturedFrame f;
    ASSERT_TRUE(reader.next_record(f));
    std::size_t kept = 0, interfaces = 0;
    for (std::uint32_t n = 0; n < 300; ++n) {
      kept += reader.interface(n).options.size();
      interfaces += !reader.interface(n).options.empty();
    }
    EXPECT_EQ(interfaces, bytes == 8 ? 300u : bytes == 4096 ? 256u : 0u);
    EXPECT_EQ(kept, interfaces * (bytes + 4));
  }
}

}  // namespace
}  // namespace rxnic::pcapng_records_test
