// SPDX-License-Identifier: Apache-2.0
// Captures as bytes, for tests of those who read them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "traces/capture_reader.h"

namespace rxnic {

using Blob = std::vector<std::uint8_t>;

inline void put(Blob& b, std::uint64_t value, std::size_t bytes, bool big = false) {
  for (std::size_t i = 0; i < bytes; ++i) {
    b.push_back(static_cast<std::uint8_t>(value >> 8 * (big ? bytes - 1 - i : i)));
  }
}
inline void append(Blob& to, const Blob& from) { to.insert(to.end(), from.begin(), from.end()); }

struct Record {
  std::uint64_t seconds = 0;
  std::uint64_t fraction = 0;
  Blob bytes;
  std::uint32_t wire = 0;  // 0: as many as there are
};

inline Blob pcap_file(std::uint32_t magic, bool big, std::uint32_t link, const std::vector<Record>& records) {
  Blob b;
  put(b, magic, 4, big);
  put(b, 2, 2, big);
  put(b, 4, 2, big);
  put(b, 0, 8, big);
  put(b, 65535, 4, big);
  put(b, link, 4, big);
  for (const Record& r : records) {
    put(b, r.seconds, 4, big);
    put(b, r.fraction, 4, big);
    put(b, r.bytes.size(), 4, big);
    put(b, r.wire ? r.wire : r.bytes.size(), 4, big);
    append(b, r.bytes);
  }
  return b;
}
inline constexpr std::uint32_t kMicro = 0xa1b2c3d4;
inline constexpr std::uint32_t kNano = 0xa1b23c4d;

inline Blob pcapng_block(std::uint32_t type, const Blob& body, bool big = false) {
  Blob b;
  put(b, type, 4, big);
  put(b, body.size() + 12, 4, big);
  append(b, body);
  put(b, body.size() + 12, 4, big);
  return b;
}

inline Blob pcapng_section(bool big = false) {
  Blob body;
  put(body, 0x1a2b3c4d, 4, big);
  put(body, 1, 2, big);
  put(body, 0, 2, big);
  put(body, ~0ull, 8, big);
  return pcapng_block(0x0a0d0d0a, body, big);
}

// `resolution`: if_tsresol. `offset`: if_tsoffset, in seconds.
inline Blob pcapng_interface(std::uint16_t link, std::uint8_t resolution = 9, std::uint32_t snapshot = 65535,
                             std::uint64_t offset = 0, bool big = false) {
  Blob body;
  put(body, link, 2, big);
  put(body, 0, 2, big);
  put(body, snapshot, 4, big);
  put(body, 9, 2, big);
  put(body, 1, 2, big);
  put(body, resolution, 1);
  put(body, 0, 3);
  if (offset != 0) {
    put(body, 14, 2, big);
    put(body, 8, 2, big);
    put(body, offset, 8, big);
  }
  put(body, 0, 4);  // the end of the options
  return pcapng_block(1, body, big);
}

// An enhanced packet block.
inline Blob pcapng_packet(std::uint32_t interface, std::uint64_t time, const Blob& bytes, std::uint32_t wire = 0,
                          bool big = false) {
  Blob body;
  put(body, interface, 4, big);
  put(body, time >> 32, 4, big);
  put(body, time & 0xffffffff, 4, big);
  put(body, bytes.size(), 4, big);
  put(body, wire != 0 ? wire : bytes.size(), 4, big);
  append(body, bytes);
  while (body.size() % 4 != 0) body.push_back(0);
  return pcapng_block(6, body, big);
}

// One interface with nanosecond timestamps.
inline Blob pcapng_file(std::uint16_t link, const std::vector<Record>& records) {
  Blob b = pcapng_section();
  append(b, pcapng_interface(link));
  for (const Record& r : records) append(b, pcapng_packet(0, r.seconds * 1'000'000'000 + r.fraction, r.bytes, r.wire));
  return b;
}

// Reads the bytes, which must stay where they are.
inline CaptureReader::Opener opener_of(const Blob& bytes) {
  return [&bytes] { return ::fmemopen(const_cast<std::uint8_t*>(bytes.data()), bytes.size(), "rb"); };
}

// What reading a capture to its end gives.
struct WholeCapture {
  std::vector<Blob> frames;
  std::vector<std::uint64_t> times_ps;
  std::string cut_reason;  // empty: none
  std::string error;       // of a TraceError; empty: none
};

// What a frame says of its headers is what parse() reads in its bytes, whatever the reader made of them.
inline void expect_headers_of_bytes(const CapturedFrame& f) {
  Headers h;
  EXPECT_EQ(parse(f.bytes, f.link, h), f.status);
  if (f.status != ParseStatus::kNotRdma) {
    EXPECT_EQ(f.headers, h);
  }
}

inline WholeCapture read_whole(const Blob& bytes) {
  WholeCapture out;
  try {
    CaptureReader reader(opener_of(bytes), "memory");
    for (CapturedFrame f; reader.next(f);) {
      expect_headers_of_bytes(f);
      out.frames.emplace_back(f.bytes.begin(), f.bytes.end());
      out.times_ps.push_back(f.time_ps);
    }
    out.cut_reason = reader.cut_reason();
  } catch (const TraceError& e) {
    out.error = e.what();
  }
  return out;
}

}  // namespace rxnic
