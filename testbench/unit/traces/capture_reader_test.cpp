// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_reader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "model/core/wire/icrc.h"
#include "testbench/unit/traces/capture_bytes.h"
#include "traces/survey.h"

namespace rxnic::capture_reader_test {
namespace {

namespace fs = std::filesystem;

class CaptureReaderTest : public testing::Test {
 protected:
  std::string file(const Blob& bytes) {
    const fs::path path =
        fs::path(testing::TempDir()) / (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                                        "_" + std::to_string(::getpid()) + "_" + std::to_string(paths_.size()));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    paths_.push_back(path);
    return path.string();
  }
  void TearDown() override {
    for (const fs::path& p : paths_) fs::remove(p);
  }
  // The message of the TraceError that reading the file to its end throws.
  std::string error_of(const Blob& bytes) {
    try {
      CaptureReader reader(file(bytes));
      for (CapturedFrame f; reader.next(f);) {
      }
    } catch (const TraceError& e) {
      EXPECT_EQ(e.file(), paths_.back().string());
      return e.what();
    }
    return "";
  }

 private:
  std::vector<fs::path> paths_;
};

const Blob kFrame(60, 0xab);

TEST_F(CaptureReaderTest, ReadsMicrosecondsAndNanosecondsInBothByteOrders) {
  for (const bool big : {false, true}) {
    for (const std::uint32_t magic : {kMicro, kNano}) {
      CaptureReader reader(file(pcap_file(magic, big, 1, {{10, 5, kFrame}, {11, 7, kFrame}})));
      CapturedFrame f;
      ASSERT_TRUE(reader.next(f));
      EXPECT_EQ(f.time_ps, 0u);
      EXPECT_EQ(f.number, 1u);
      EXPECT_EQ(f.link, LinkLayer::kEthernet);
      EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), kFrame);
      ASSERT_TRUE(reader.next(f));
      EXPECT_EQ(f.time_ps, 1'000'000'000'000u + 2 * (magic == kMicro ? 1'000'000u : 1'000u));
      EXPECT_FALSE(reader.next(f));
      EXPECT_FALSE(reader.cut_short());
    }
  }
}

// pcap_records.h, R2: a time with its highest bit set is left to libpcap, and so is all that follows.
TEST_F(CaptureReaderTest, ARecordOutOfTheOrdinaryLosesNoFrame) {
  for (const bool big : {false, true}) {
    std::vector<Record> records;
    for (std::uint8_t n = 0; n < 9; ++n) records.push_back({10u + n, n == 4 ? 0x80000000u : 5u, Blob(60u + n, n)});
    CaptureReader reader(file(pcap_file(kMicro, big, 1, records)));
    CapturedFrame f;
    for (const Record& r : records) {
      ASSERT_TRUE(reader.next(f));
      EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), r.bytes);
    }
    EXPECT_FALSE(reader.next(f));
    EXPECT_FALSE(reader.cut_short());
    EXPECT_EQ(reader.position(), reader.size());
  }
}

// pcap_records.h, R2: whatever the file's header says, memory is not made for a record of gigabytes.
TEST_F(CaptureReaderTest, ARecordBeyond256KibIsLeftToLibpcap) {
  for (const std::size_t bytes : {std::size_t{262144}, std::size_t{262145}}) {
    CaptureFile capture(std::fopen(file(pcap_file(kNano, false, 1, {{0, 0, Blob(bytes)}})).c_str(), "rb"));
    PcapRecords records;
    records.open(capture);
    Blob header(24);
    ASSERT_EQ(capture.read(header), header.size());
    records.begin(0x7fffffff);
    PcapRecord record;
    EXPECT_EQ(records.next(record), bytes == 262144) << bytes;
    EXPECT_EQ(records.reads(), bytes == 262144) << bytes;
  }
}

TEST_F(CaptureReaderTest, FramesOnTheEdgeOfABlockAreWhole) {
  std::vector<Record> records;
  for (std::uint32_t n = 0; n < 3000; ++n) records.push_back({n, 0, Blob(60 + n % 1500, static_cast<std::uint8_t>(n))});
  CaptureReader reader(file(pcap_file(kNano, false, 1, records)));
  CapturedFrame f;
  for (const Record& r : records) {
    ASSERT_TRUE(reader.next(f));
    ASSERT_EQ(Blob(f.bytes.begin(), f.bytes.end()), r.bytes) << "frame " << f.number;
  }
  EXPECT_FALSE(reader.next(f));
}

TEST_F(CaptureReaderTest, ReadsPcapngWithNanoseconds) {
  CaptureReader reader(file(pcapng_file(1, {{1700000000, 3, kFrame}, {1700000000, 1004, kFrame}})));
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f));
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.time_ps, 1'001'000u);
  EXPECT_FALSE(reader.next(f));
}

TEST_F(CaptureReaderTest, NativeInfinibandKeepsItsLinkLayer) {
  CaptureReader reader(file(pcap_file(kNano, false, 247, {{0, 0, kFrame}})));
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f));
  EXPECT_EQ(f.link, LinkLayer::kInfiniband);
  EXPECT_EQ(reader.link(), LinkLayer::kInfiniband);
}

Blob erf(std::uint8_t type, std::size_t extensions, std::size_t pad, const Blob& packet, std::size_t trailing = 0) {
  Blob b(8, 0);  // timestamp
  b.push_back(static_cast<std::uint8_t>(type | (extensions ? 0x80 : 0)));
  b.push_back(0);
  put(b, 16 + extensions * 8 + pad + packet.size() + trailing, 2, true);
  put(b, 0, 2, true);
  put(b, packet.size(), 2, true);
  for (std::size_t i = 0; i < extensions; ++i) put(b, i + 1 < extensions ? 0x80 : 0, 8);
  b.insert(b.end(), pad, 0);
  append(b, packet);
  b.insert(b.end(), trailing, 0);
  return b;
}

TEST_F(CaptureReaderTest, ErfHeadersAreTakenOff) {
  for (const std::size_t extensions : {0u, 1u, 3u}) {
    CaptureReader reader(file(pcap_file(kNano, false, 197,
                                        {{0, 0, erf(21, extensions, 0, kFrame, 4)},
                                         {0, 1, erf(27, 0, 0, kFrame)},  // metadata: left out
                                         {0, 2, erf(2, extensions, 2, kFrame)}})));
    CapturedFrame f;
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.link, LinkLayer::kInfiniband);
    EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), kFrame);
    EXPECT_FALSE(f.truncated);
    ASSERT_TRUE(reader.next(f));
    EXPECT_EQ(f.number, 3u);
    EXPECT_EQ(f.link, LinkLayer::kEthernet);
    EXPECT_EQ(Blob(f.bytes.begin(), f.bytes.end()), kFrame);
    EXPECT_FALSE(reader.next(f));
    EXPECT_EQ(reader.frames(), 2u);
  }
}

TEST_F(CaptureReaderTest, AnotherErfTypeIsNamedWithItsPacket) {
  const std::string error =
      error_of(pcap_file(kNano, false, 197, {{0, 0, erf(21, 0, 0, kFrame)}, {0, 0, erf(5, 0, 0, kFrame)}}));
  EXPECT_NE(error.find("packet 2: found an ERF record of type 5; expected 21"), std::string::npos) << error;
}

TEST_F(CaptureReaderTest, AnErfRecordThatEndsInItsHeadersIsAnError) {
  Blob record = erf(21, 2, 0, {});
  record.resize(20);
  EXPECT_NE(error_of(pcap_file(kNano, false, 197, {{0, 0, record}})).find("ends in its headers"), std::string::npos);
  record.resize(9);
  EXPECT_NE(error_of(pcap_file(kNano, false, 197, {{0, 0, record}})).find("9 bytes"), std::string::npos);
}

TEST_F(CaptureReaderTest, AFrameCutByTheCaptureSaysSo) {
  CaptureReader reader(file(pcap_file(kNano, false, 1, {{0, 0, kFrame, 1082}, {0, 0, kFrame}})));
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f));
  EXPECT_TRUE(f.truncated);
  EXPECT_EQ(f.wire_bytes, 1082u);
  ASSERT_TRUE(reader.next(f));
  EXPECT_FALSE(f.truncated);
}

// R5: what Linux sends as RC SEND ONLY with 200 bytes, cut to `kept`.
class CutFrame : public testing::Test {
 protected:
  static constexpr std::size_t kPayload = 200;
  static constexpr std::size_t kPayloadAt = 14 + 20 + 8 + 12;

  explicit CutFrame(Encapsulation encapsulation = Encapsulation::kRoceV2Ipv4) {
    headers.encapsulation = encapsulation;
    headers.source = encapsulation == Encapsulation::kIbLocal ? Address::lid(1) : Address::parse("10.0.0.1");
    headers.destination = encapsulation == Encapsulation::kIbLocal ? Address::lid(2) : Address::parse("10.0.0.2");
    headers.opcode = 4;  // RC SEND ONLY
    headers.pkey = 0xffff;
    headers.hop_limit = 64;
    whole.resize(kMaxFrameBytes);
    whole.resize(build(headers, Blob(kPayload, 0x5a), whole));
    seal(whole, headers);
  }
  // The frame after the cut, read with the request to fill it or without.
  Blob read(std::size_t kept, bool fill, std::uint32_t wire = 0, std::uint32_t link = 1) {
    const Blob file = pcap_file(kNano, false, link,
                                {{0, 0, Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)),
                                  wire != 0 ? wire : static_cast<std::uint32_t>(whole.size())}});
    CaptureReader reader(opener_of(file), "memory");
    if (fill) reader.fill_cut_payloads(&seal);
    CapturedFrame f;
    EXPECT_TRUE(reader.next(f));
    expect_headers_of_bytes(f);
    EXPECT_EQ(f.captured().size(), kept);
    EXPECT_EQ(f.truncated, kept < whole.size());
    EXPECT_GE(f.wire_bytes, f.bytes.size());
    at_length = f.wire_bytes == f.bytes.size();
    counted = reader.cut_payloads();
    return {f.bytes.begin(), f.bytes.end()};
  }

  Headers headers;
  Blob whole;
  std::uint64_t counted = 0;
  bool at_length = false;  // as long as it is said to have been on the wire
};

TEST_F(CutFrame, IsFilledWithZerosAndHasItsIcrc) {
  for (const std::size_t kept : {kPayloadAt, kPayloadAt + 42, whole.size() - 5, whole.size() - 1}) {
    const Blob filled = read(kept, true);
    ASSERT_EQ(filled.size(), whole.size());
    EXPECT_TRUE(at_length);
    EXPECT_EQ(counted, 1u);
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept), filled.begin()) ||
                kept > whole.size() - 4);
    for (std::size_t i = kept; i + 4 < filled.size(); ++i) EXPECT_EQ(filled[i], 0) << i;
    Headers h;
    ASSERT_EQ(parse(filled, LinkLayer::kEthernet, h), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(filled, h));
  }
}

TEST_F(CutFrame, IsCountedAndLeftAsItIsWithoutARequest) {
  EXPECT_EQ(read(96, false).size(), 96u);
  EXPECT_EQ(counted, 1u);
}

TEST_F(CutFrame, WithoutAllOfItsHeadersIsLeftAsItIs) {
  EXPECT_EQ(read(kPayloadAt - 1, true).size(), kPayloadAt - 1);
  EXPECT_EQ(counted, 0u);
}

TEST_F(CutFrame, ThatWasShorterOnTheWireThanItsHeadersSayIsLeftAsItIs) {
  EXPECT_EQ(read(96, true, static_cast<std::uint32_t>(whole.size()) - 1).size(), 96u);
  EXPECT_EQ(counted, 0u);
  EXPECT_EQ(read(96, true, 0xffffffff).size(), 96u) << "no frame is that long";
}

TEST_F(CutFrame, ThatLacksOnlyItsFcsKeepsItsIcrc) {
  whole[kPayloadAt] ^= 1;  // its ICRC is wrong now
  for (const bool fill : {false, true}) {
    EXPECT_EQ(read(whole.size(), fill, static_cast<std::uint32_t>(whole.size()) + 4), whole);
    EXPECT_TRUE(at_length) << "nothing of the packet is missing";
  }
  EXPECT_EQ(counted, 0u);
}

TEST_F(CutFrame, OfAnotherProtocolIsLeftAsItIs) {
  whole[12] = 0x86;  // no EtherType that is known
  EXPECT_EQ(read(96, true).size(), 96u);
  EXPECT_EQ(counted, 0u);
}

class CutInfinibandFrame : public CutFrame {
 protected:
  CutInfinibandFrame() : CutFrame(Encapsulation::kIbLocal) {}
};

TEST_F(CutInfinibandFrame, HasItsVcrcToo) {
  const Blob filled = read(96, true, 0, 247);
  Headers h;
  ASSERT_EQ(parse(filled, LinkLayer::kInfiniband, h), ParseStatus::kOk);
  EXPECT_TRUE(icrc_matches(filled, h));
  EXPECT_TRUE(has_vcrc(filled, h) && vcrc_matches(filled, h));
}

TEST_F(CaptureReaderTest, StartIsTheTimeOfTheFirstRecord) {
  CaptureReader reader(file(pcap_file(kMicro, false, 1, {{1700000000, 123456, kFrame}, {1700000001, 0, kFrame}})));
  for (CapturedFrame f; reader.next(f);) {
  }
  EXPECT_EQ(reader.start().seconds, 1700000000);
  EXPECT_EQ(reader.start().nanoseconds, 123456000);
  CaptureReader damaged(file(pcap_file(kNano, false, 1, {{5, 0xffffffff, kFrame}})));
  CapturedFrame f;
  ASSERT_TRUE(damaged.next(f));
  EXPECT_EQ(damaged.start().seconds, 0) << "no such time";
}

TEST_F(CaptureReaderTest, TimeThatGoesBackIsClampedAndCounted) {
  CaptureReader reader(
      file(pcap_file(kNano, false, 1, {{5, 0, kFrame}, {6, 0, kFrame}, {4, 0, kFrame}, {6, 1, kFrame}})));
  std::vector<std::uint64_t> times;
  for (CapturedFrame f; reader.next(f);) times.push_back(f.time_ps);
  EXPECT_EQ(times, (std::vector<std::uint64_t>{0, 1'000'000'000'000, 1'000'000'000'000, 1'000'000'001'000}));
  EXPECT_EQ(reader.times_clamped(), 1u);
}

// Two seconds back, and on from there.
TEST_F(CaptureReaderTest, AClockThatWasSetBackGoesOn) {  // R2
  CaptureReader reader(file(pcap_file(
      kNano, false, 1,
      {{5, 0, kFrame}, {6, 0, kFrame}, {4, 0, kFrame}, {4, 500'000'000, kFrame}, {6, 0, kFrame}, {7, 0, kFrame}})));
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::uint64_t> ms;
    for (CapturedFrame f; reader.next(f);) ms.push_back(f.time_ps / 1'000'000'000);
    EXPECT_EQ(ms, (std::vector<std::uint64_t>{0, 1000, 1000, 1500, 3000, 4000}));
    EXPECT_EQ(reader.times_clamped(), 1u);
    reader.rewind();
  }
}

// A millisecond is no step: packets of several queues.
TEST_F(CaptureReaderTest, AMillisecondBackIsNoStepOfTheClock) {  // R2
  for (const std::uint32_t later_ns : {0u, 1u}) {
    CaptureReader reader(file(pcap_file(
        kNano, false, 1,
        {{5, 0, kFrame}, {5, 2'000'000 + later_ns, kFrame}, {5, 1'000'000, kFrame}, {5, 1'500'000, kFrame}})));
    std::vector<std::uint64_t> us;
    for (CapturedFrame f; reader.next(f);) us.push_back(f.time_ps / 1'000'000);
    EXPECT_EQ(us, (std::vector<std::uint64_t>{0, 2000, 2000, later_ns == 0 ? 2000u : 2500u}));
    EXPECT_EQ(reader.times_clamped(), later_ns == 0 ? 2u : 1u);
  }
}

TEST_F(CaptureReaderTest, TimesThatNoCaptureSpansAreClamped) {
  CaptureReader reader(file(pcap_file(kNano, false, 1, {{0, 0, kFrame}, {0xffffffff, 0xffffffff, kFrame}})));
  CapturedFrame f;
  ASSERT_TRUE(reader.next(f) && reader.next(f));
  EXPECT_EQ(f.time_ps, 0u);
  EXPECT_EQ(reader.times_clamped(), 1u);
}

TEST_F(CaptureReaderTest, AFileCutInARecordGivesTheFramesBefore) {
  Blob whole = pcap_file(kNano, false, 1, {{0, 0, kFrame}, {1, 0, kFrame}});
  for (const std::size_t cut : {1u, 30u, 59u, 60u, 70u}) {
    Blob part(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(cut));
    CaptureReader reader(file(part));
    CapturedFrame f;
    EXPECT_TRUE(reader.next(f));
    EXPECT_FALSE(reader.next(f));
    EXPECT_TRUE(reader.cut_short()) << cut;
    EXPECT_NE(reader.cut_reason(), "");
    EXPECT_FALSE(reader.next(f));
  }
}

TEST_F(CaptureReaderTest, AMillionRecordsWithoutAPacketEndTheCapture) {  // R9
  constexpr std::size_t kMost = std::size_t{1} << 20;
  for (const std::size_t records : {kMost - 1, kMost}) {
    std::vector<Record> all(records + 2);
    all.front() = all.back() = {0, 0, kFrame};
    const Blob bytes = pcap_file(kNano, false, 1, all);
    CaptureReader reader(file(bytes));
    for (CapturedFrame f; reader.next(f);) {
    }
    EXPECT_EQ(reader.frames(), records < kMost ? kMost + 1 : kMost);
    EXPECT_EQ(reader.cut_reason(), records < kMost ? "" : "1048576 records in succession without a packet");
  }
}

TEST_F(CaptureReaderTest, BadFilesAreNamed) {
  EXPECT_NE(error_of({}).find("found an empty file; expected a capture"), std::string::npos);
  EXPECT_NE(error_of(Blob(400, 'x')).find("unknown file format"), std::string::npos);
  EXPECT_NE(error_of(Blob(7, 0xd4)).find("expected a capture in pcap or pcapng format, as it is or compressed"),
            std::string::npos);
  EXPECT_NE(error_of(pcap_file(kMicro, false, 105, {}))
                .find("link type 105 (IEEE802_11, 802.11); expected Ethernet (1), InfiniBand (247), ERF (197), "),
            std::string::npos);
  Blob half_header = pcap_file(kMicro, false, 1, {});
  half_header.resize(20);
  EXPECT_NE(error_of(half_header), "");
}

TEST_F(CaptureReaderTest, WhatCannotBeOpenedIsNamed) {
  EXPECT_THROW(CaptureReader(testing::TempDir() + "no such file"), TraceError);
  try {
    CaptureReader reader(testing::TempDir());
    FAIL();
  } catch (const TraceError& e) {
    EXPECT_NE(std::string(e.what()).find("other than a regular file"), std::string::npos);
  }
}

TEST_F(CaptureReaderTest, RewindStartsAnew) {
  CaptureReader reader(file(pcap_file(kNano, false, 1, {{9, 0, kFrame}, {8, 0, kFrame}, {9, 5, kFrame}})));
  for (int round = 0; round < 2; ++round) {
    std::uint64_t frames = 0;
    for (CapturedFrame f; reader.next(f);) EXPECT_EQ(f.number, ++frames);
    EXPECT_EQ(frames, 3u);
    EXPECT_EQ(reader.times_clamped(), 1u);
    EXPECT_EQ(reader.position(), reader.size());
    reader.rewind();
    EXPECT_EQ(reader.frames(), 0u);
  }
}

TEST_F(CaptureReaderTest, PositionMovesOnThroughTheFile) {
  const Blob bytes = pcap_file(kNano, false, 1, std::vector<Record>(50, {0, 0, kFrame}));
  CaptureReader reader(file(bytes));
  EXPECT_EQ(reader.size(), bytes.size());
  std::uint64_t last = 0;
  for (CapturedFrame f; reader.next(f);) {
    EXPECT_GT(reader.position(), last);
    last = reader.position();
  }
  EXPECT_EQ(last, bytes.size());
}

std::uint64_t random_seed() {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 1;
  std::printf("RXNIC_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// A damaged capture ends in a TraceError or in fewer frames, and the survey of what is left ends as well.
TEST_F(CaptureReaderTest, FlippedBitsNeverCrash) {
  const fs::path folder = fs::path(RXNIC_SHARED_DIR) / "captures";
  std::vector<fs::path> captures = {fs::path(RXNIC_SOURCE_DIR) / "traces/sample.pcap"};
  for (const char* name : {"soft_roce/rping.pcap", "nic/nic_read.pcap", "soft_roce/ring2_node0.pcap"}) {
    if (fs::exists(folder / name)) captures.push_back(folder / name);
  }
  std::mt19937_64 random(random_seed());
  std::uint64_t errors = 0;
  std::uint64_t frames = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::ifstream in(captures[random() % captures.size()], std::ios::binary);
    Blob bytes{std::istreambuf_iterator<char>(in), {}};
    for (std::uint64_t flips = 1 + random() % 20; flips != 0; --flips) {
      // Half of them where the headers of the file are.
      const std::size_t at = random() % (random() % 2 ? bytes.size() : 64);
      bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      CaptureReader reader([&bytes] { return ::fmemopen(bytes.data(), bytes.size(), "rb"); }, "memory");
      const CaptureSurvey survey = survey_capture(reader);
      for (const EndpointCounts& e : survey.endpoints()) survey.of_receiver(e.address);
      frames += reader.frames();
    } catch (const TraceError&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000u);
  EXPECT_GT(frames, 100'000u);
}

}  // namespace
}  // namespace rxnic::capture_reader_test
