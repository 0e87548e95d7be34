// SPDX-License-Identifier: Apache-2.0
// Compressed captures. They are made here, by zlib and libzstd themselves.
#include "traces/capture_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

#include "testbench/unit/traces/capture_bytes.h"

namespace rxnic::capture_file_test {
namespace {

Blob gzipped(const Blob& data) {
  z_stream s{};
  EXPECT_EQ(deflateInit2(&s, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Blob out(deflateBound(&s, data.size()) + 32);
  s.next_in = const_cast<Bytef*>(data.data());
  s.avail_in = static_cast<uInt>(data.size());
  s.next_out = out.data();
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

Blob zstd(const Blob& data) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  Blob out(ZSTD_compressBound(data.size()));
  const std::size_t bytes = ZSTD_compress2(context, out.data(), out.size(), data.data(), data.size());
  ZSTD_freeCCtx(context);
  EXPECT_FALSE(ZSTD_isError(bytes));
  out.resize(bytes);
  return out;
}

using Compress = Blob (*)(const Blob&);
constexpr Compress kBoth[] = {&gzipped, &zstd};

// Bytes that no compressor makes much smaller.
std::vector<Record> records(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<Record> all;
  for (std::size_t n = 0; n < count; ++n) {
    Blob bytes(60 + random() % 1400);
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
    all.push_back({n, 0, bytes});
  }
  return all;
}

Blob capture(std::size_t count) { return pcap_file(kNano, false, 1, records(count)); }

Blob part(const Blob& whole, std::size_t from, std::size_t to) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(from), whole.begin() + static_cast<std::ptrdiff_t>(to)};
}

TEST(CaptureFile, CompressedCapturesHaveTheSameFrames) {
  std::vector<Record> all = records(1000);
  all[500].seconds = 0x80000000;  // libpcap goes on from here (pcap_records.h, R2)
  for (const Blob& plain : {pcap_file(kNano, false, 1, all), pcap_file(kMicro, true, 1, all), pcapng_file(1, all)}) {
    const WholeCapture expected = read_whole(plain);
    ASSERT_EQ(expected.frames.size(), 1000u);
    for (const Compress compress : kBoth) {
      const Blob packed = compress(plain);
      CaptureReader reader(opener_of(packed), "memory");
      for (int round = 0; round < 2; ++round) {
        std::uint64_t position = 0;
        std::size_t n = 0;
        for (CapturedFrame f; reader.next(f); ++n) {
          ASSERT_EQ(Blob(f.bytes.begin(), f.bytes.end()), expected.frames[n]);
          ASSERT_EQ(f.time_ps, expected.times_ps[n]);
          ASSERT_GE(reader.position(), position);
          position = reader.position();
        }
        EXPECT_EQ(n, 1000u);
        EXPECT_FALSE(reader.cut_short()) << reader.cut_reason();
        EXPECT_EQ(reader.size(), packed.size());
        EXPECT_EQ(reader.position(), packed.size());
        reader.rewind();
      }
    }
  }
}

TEST(CaptureFile, MembersThatFollowOneAnotherAreOneCapture) {
  const Blob plain = capture(200);
  const std::size_t middle = plain.size() / 2 + 3;
  for (const Compress compress : kBoth) {
    Blob packed = compress(part(plain, 0, middle));
    append(packed, compress({}));
    append(packed, compress(part(plain, middle, plain.size())));
    if (compress == &gzipped) packed.resize(packed.size() + 512, 0);  // as of a tape
    const WholeCapture read = read_whole(packed);
    EXPECT_EQ(read.frames.size(), 200u);
    EXPECT_EQ(read.cut_reason + read.error, "");
  }
}

TEST(CaptureFile, AFileMayBeginWithASkippableFrame) {
  Blob packed;
  put(packed, 0x184d2a50, 4);
  put(packed, 4, 4);
  put(packed, 0x1234, 4);
  append(packed, zstd(capture(20)));
  const WholeCapture read = read_whole(packed);
  EXPECT_EQ(read.frames.size(), 20u);
  EXPECT_EQ(read.cut_reason + read.error, "");
}

// R2
TEST(CaptureFile, DataThatEndsEarlyGivesTheFramesBefore) {
  const Blob plain = capture(1000);
  for (const Compress compress : kBoth) {
    const Blob packed = compress(plain);
    std::size_t least = 0;
    for (const std::size_t left : {packed.size() / 4, packed.size() / 2, packed.size() - 5, packed.size() - 1}) {
      const WholeCapture read = read_whole(part(packed, 0, left));
      EXPECT_EQ(read.cut_reason, compress == &gzipped ? "the gzip data ends early" : "the zstd data ends early");
      EXPECT_GE(read.frames.size(), least);
      least = read.frames.size();
    }
    EXPECT_EQ(least, 1000u) << "only the checksum was missing";
    const WholeCapture none = read_whole(part(packed, 0, 12));
    EXPECT_NE(none.error.find("data ends early; expected a capture in pcap or pcapng format"), std::string::npos)
        << none.error;
  }
}

TEST(CaptureFile, DamagedDataGivesTheFramesBeforeAndIsNamed) {
  const Blob plain = capture(1000);
  Blob packed = gzipped(plain);
  packed[packed.size() - 6] ^= 1;  // of the CRC
  WholeCapture read = read_whole(packed);
  EXPECT_EQ(read.frames.size(), 1000u);
  EXPECT_EQ(read.cut_reason, "the gzip data cannot be read: incorrect data check");
  packed = gzipped(plain);
  packed[3] = 0xff;  // flags of the header
  EXPECT_NE(read_whole(packed).error.find("the gzip data cannot be read: unknown header flags set; expected"),
            std::string::npos);
  packed = gzipped(plain);
  append(packed, Blob(9, 'x'));
  read = read_whole(packed);
  EXPECT_EQ(read.frames.size(), 1000u);
  EXPECT_EQ(read.cut_reason, "something other than gzip data follows");

  packed = zstd(plain);
  packed[packed.size() / 2] ^= 1;
  read = read_whole(packed);
  EXPECT_GT(read.frames.size(), 100u);
  EXPECT_EQ(read.cut_reason.find("the zstd data cannot be read: "), 0u) << read.cut_reason;
  packed = zstd(plain);
  append(packed, Blob(9, 'x'));
  read = read_whole(packed);
  EXPECT_EQ(read.frames.size(), 1000u);
  EXPECT_EQ(read.cut_reason.find("the zstd data cannot be read: "), 0u) << read.cut_reason;
}

// decoder.h, R2
TEST(CaptureFile, AWindowAbove128MiBIsRefused) {
  const Blob plain = capture(1);
  for (const unsigned log : {27u, 28u}) {
    Blob packed = {0x28, 0xb5, 0x2f, 0xfd, 0, static_cast<std::uint8_t>((log - 10) << 3)};
    put(packed, plain.size() << 3 | 1, 3);  // the last block, as it is
    append(packed, plain);
    const WholeCapture read = read_whole(packed);
    EXPECT_EQ(read.frames.size(), log == 27 ? 1u : 0u);
    EXPECT_EQ(read.error.find("too much memory") != std::string::npos, log == 28) << read.error;
  }
}

std::uint64_t most_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

// R1: 256 MiB from a few hundred kilobytes.
TEST(CaptureFile, MemoryDoesNotGrowWithWhatIsDecompressed) {
  const Blob begin = pcap_file(kNano, false, 1, {});
  const Blob file = pcap_file(kNano, false, 1, std::vector<Record>(16, {0, 0, Blob(65000)}));
  const Blob more = part(file, begin.size(), file.size());
  for (const Compress compress : kBoth) {
    Blob packed = compress(begin);
    const Blob member = compress(more);
    for (int i = 0; i < 256; ++i) append(packed, member);
    ASSERT_LT(packed.size(), std::size_t{1} << 21);
    const std::uint64_t before = most_memory();
    CaptureReader reader(opener_of(packed), "memory");
    for (CapturedFrame f; reader.next(f);) {
    }
    EXPECT_EQ(reader.frames(), 4096u);
    EXPECT_FALSE(reader.cut_short()) << reader.cut_reason();
    EXPECT_LT(most_memory() - before, std::uint64_t{1} << 24);
  }
}

}  // namespace
}  // namespace rxnic::capture_file_test
