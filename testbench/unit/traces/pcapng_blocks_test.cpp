// SPDX-License-Identifier: Apache-2.0
#include "traces/pcapng_blocks.h"

#include <gtest/gtest.h>

#include "testbench/unit/traces/capture_bytes.h"

namespace rxnic::pcapng_blocks_test {
namespace {

Blob blob(const std::string& text) { return {text.begin(), text.end()}; }

void put_option(Blob& to, bool big, std::uint16_t code, const Blob& value) {
  put(to, code, 2, big);
  put(to, value.size(), 2, big);
  append(to, value);
  while (to.size() % 4 != 0) to.push_back(0);
}

// R1, R2
TEST(PcapngBlocks, ComeBackAsTheyWereGiven) {
  const Blob small(60, 0xab), odd(61, 0xcd);
  std::string text;
  add_section(text, "test");
  CaptureInterface ps;
  ps.link_type = 1;
  ps.snapshot = 96;
  ps.time_resolution = 12;
  ps.offset_seconds = -5;
  add_option(ps.options, PcapngOption::kInterfaceName, blob("eth0"));
  add_interface(text, ps);
  CaptureInterface us;
  us.link_type = 247;
  add_interface(text, us);
  PcapngPacket first;
  first.ticks = 7'000'000'000'123;
  first.bytes = small;
  first.wire_bytes = 1500;
  first.comment = "one";
  first.flags = kInbound;
  first.id = 17;
  first.queue = 0x11;
  const Blob verdict{0, 1, 0};
  first.verdict = verdict;
  add_packet(text, first);
  PcapngPacket second;
  second.interface = 1;
  second.ticks = 2'500'000;
  second.bytes = odd;
  second.wire_bytes = 61;
  add_packet(text, second);

  const Blob file = blob(text);
  CaptureReader reader(opener_of(file), "memory");
  CapturedFrame f;
  ASSERT_TRUE(reader.next_record(f));
  EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), small);
  EXPECT_EQ(reader.record().ticks, first.ticks);
  EXPECT_EQ(reader.record().wire_bytes, 1500u);
  EXPECT_EQ(reader.record().seconds, 2);
  EXPECT_EQ(reader.interface(0).options, ps.options);
  EXPECT_EQ(reader.interface(0).snapshot, 96u);
  EXPECT_EQ(reader.interface(0).time_resolution, 12);
  EXPECT_EQ(reader.interface(0).offset_seconds, -5);
  std::optional<std::uint32_t> flags;
  std::string comment;
  add_option(comment, PcapngOption::kComment, blob("one"));
  EXPECT_EQ(kept_options(reader.record(), flags), comment);
  EXPECT_EQ(flags, kInbound);
  ASSERT_TRUE(reader.next_record(f));
  EXPECT_EQ(f.link, LinkLayer::kInfiniband);
  EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), odd);
  EXPECT_EQ(reader.record().interface, 1u);
  EXPECT_FALSE(reader.next_record(f));
  EXPECT_FALSE(reader.cut_short()) << reader.cut_reason();
}

// R2
TEST(PcapngBlocks, KeptOptionsAreThoseOfEitherByteOrder) {
  for (const bool big : {false, true}) {
    Blob options, lost, flags_before;
    put(lost, 0x100000009, 8, big);
    put(flags_before, 6, 4, big);
    put_option(options, big, 4, lost);
    put_option(options, big, 5, Blob(8, 1));  // its number: not kept
    put_option(options, big, 2, flags_before);
    put_option(options, big, 1, blob("abc"));
    put(options, 1, 2, big);
    put(options, 900, 2, big);  // longer than the block
    PcapRecord record;
    record.options = options;
    record.swapped = big;
    std::optional<std::uint32_t> flags;
    std::string expected;
    add_option(expected, PcapngOption::kPacketsLost, Blob{9, 0, 0, 0, 1, 0, 0, 0});
    add_option(expected, PcapngOption::kComment, Blob{'a', 'b', 'c'});
    EXPECT_EQ(kept_options(record, flags), expected) << big;
    EXPECT_EQ(flags, 6u) << big;
  }
}

// R3
TEST(PcapngBlocks, ALongCommentEndsAtAWholeCharacter) {
  const std::string character = "\xc3\xbc";  // of two bytes
  for (const std::size_t before : {0u, 1u}) {
    PcapngPacket packet;
    std::string comment(before, 'x');
    while (comment.size() <= 70'000) comment += character;
    packet.comment = comment;
    std::string text;
    add_packet(text, packet);
    const std::size_t bytes = static_cast<std::uint8_t>(text[30]) | static_cast<std::uint8_t>(text[31]) << 8;
    EXPECT_EQ(bytes, kMostOptionBytes - before);
    EXPECT_EQ(text.substr(32, bytes), comment.substr(0, bytes));
  }
}

// A pcap file says in its link type how long the FCS is.
TEST(PcapngBlocks, TheFcsOfAPcapFileIsKept) {
  const Blob file = pcap_file(kMicro, true, 1 | 1u << 26 | 2u << 28, {{1, 2, Blob(64, 0xab)}});
  CaptureReader reader(opener_of(file), "memory");
  CapturedFrame f;
  ASSERT_TRUE(reader.next_record(f));
  std::string expected;
  add_option(expected, PcapngOption::kFcsLength, Blob{4});
  EXPECT_EQ(reader.interface(0).options, expected);
  EXPECT_EQ(reader.interface(0).link_type, 1);
  EXPECT_EQ(reader.interface(0).time_resolution, 6);
  EXPECT_EQ(reader.record().ticks, 1'000'002u);
}

}  // namespace
}  // namespace rxnic::pcapng_blocks_test
