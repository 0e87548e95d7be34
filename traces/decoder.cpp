// SPDX-License-Identifier: Apache-2.0
#include "traces/decoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <new>

namespace rxnic {
namespace {

constexpr std::uint8_t kGzipFirst = 0x1f;
constexpr std::uint8_t kGzipSecond = 0x8b;
constexpr std::uint32_t kZstdMagic = 0x28b52ffd;       // as it stands in the file
constexpr std::uint32_t kSkippableMagic = 0x502a4d18;  // of a Zstandard frame without data: 0x50 to 0x5f first
constexpr std::uint32_t kSkippableMask = 0xf0ffffff;
constexpr int kWindowLog = 27;      // R2
constexpr int kGzipOnly = 15 + 16;  // inflateInit2: the largest window, with a gzip header
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() override { inflateEnd(&stream_); }

  std::string decode(Bytes& in, std::span<std::uint8_t>& out) override {
    if (ended_ && !next_member(in)) return in.empty() ? "" : "something other than gzip data follows";
    stream_.next_in = const_cast<Bytef*>(in.data());  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(std::min(in.size(), kMostAtOnce));
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(std::min(out.size(), kMostAtOnce));
    const int got = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(static_cast<std::size_t>(stream_.next_in - in.data()));
    out = out.subspan(static_cast<std::size_t>(stream_.next_out - out.data()));
    ended_ = got == Z_STREAM_END;
    if (ended_ || got == Z_OK || got == Z_BUF_ERROR) return "";  // the latter: it needs more input or room
    return std::string("the gzip data cannot be read: ") + (stream_.msg != nullptr ? stream_.msg : "unknown error");
  }
  bool complete() const override { return ended_; }
  const char* format() const override { return "gzip"; }

 private:
  // R3. False: there is no further member in `in`.
  bool next_member(Bytes& in) {
    while (!in.empty() && in.front() == 0) in = in.subspan(1);
    if (in.empty() || in.front() != kGzipFirst) return false;
    inflateReset(&stream_);
    ended_ = false;
    return true;
  }

  z_stream stream_{};
  bool ended_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (!stream_ || ZSTD_isError(ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLog))) {
      throw std::bad_alloc();
    }
  }

  std::string decode(Bytes& in, std::span<std::uint8_t>& out) override {
    if (complete_ && in.empty()) return "";
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &to, &from);
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    complete_ = left == 0;
    if (!ZSTD_isError(left)) return "";
    return std::string("the zstd data cannot be read: ") + ZSTD_getErrorName(left);
  }
  bool complete() const override { return complete_; }
  const char* format() const override { return "zstd"; }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  bool complete_ = false;
};

}  // namespace

// R1
std::unique_ptr<Decoder> decoder_of(Bytes magic) {
  if (magic.size() < kDecoderMagicBytes) return nullptr;
  if (magic[0] == kGzipFirst && magic[1] == kGzipSecond) return std::make_unique<GzipDecoder>();
  const std::uint32_t word = load_be32(magic.data());
  if (word == kZstdMagic || (word & kSkippableMask) == kSkippableMagic) return std::make_unique<ZstdDecoder>();
  return nullptr;
}

}  // namespace rxnic
