// SPDX-License-Identifier: Apache-2.0
#include "traces/pcap_records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "traces/pcapng_blocks.h"

namespace rxnic {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 17;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kRecordHeaderBytes = 16;
constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMostRecordBytes = 262144;  // of a record: what libpcap takes
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kHasFcsLength = std::uint32_t{1} << 26;  // of the link type: its length is in bits 28 to 31

}  // namespace

void PcapRecords::open(CaptureFile& file) {
  file_ = &file;
  reads_ = false;
  unit_ns_ = 1;
  fcs_bytes_ = 0;
  std::array<std::uint8_t, kFileHeaderBytes> header{};
  const std::size_t got = file.read(header);
  file.unread(Bytes(header).first(got));
  if (got == header.size()) {
    std::uint32_t magic = 0;
    std::memcpy(&magic, header.data(), sizeof magic);
    swapped_ = magic == __builtin_bswap32(kMicroseconds) || magic == __builtin_bswap32(kNanoseconds);
    if (swapped_) magic = __builtin_bswap32(magic);
    std::array<std::uint16_t, 2> version{};
    std::memcpy(version.data(), header.data() + sizeof magic, sizeof version);
    if (swapped_) version = {__builtin_bswap16(version[0]), __builtin_bswap16(version[1])};
    reads_ = (magic == kMicroseconds || magic == kNanoseconds) && version[0] == 2 && version[1] == 4;
    unit_ns_ = magic == kMicroseconds ? 1000 : 1;
    std::uint32_t network = 0;
    std::memcpy(&network, header.data() + 20, sizeof network);
    if (swapped_) network = __builtin_bswap32(network);
    if (reads_ && (network & kHasFcsLength) != 0) fcs_bytes_ = static_cast<std::uint8_t>((network >> 28) * 2);
  }
}

CaptureInterface PcapRecords::described() const {
  CaptureInterface d;
  d.time_resolution = unit_ns_ == 1 ? 9 : 6;
  if (fcs_bytes_ != 0) add_option(d.options, PcapngOption::kFcsLength, {&fcs_bytes_, 1});
  return d;
}

// A pcap file has 32 bits of seconds without a sign.
std::uint64_t PcapRecords::ticks_of(const PcapRecord& record) const {
  const auto seconds = static_cast<std::uint32_t>(record.seconds);
  return seconds * (std::uint64_t{1'000'000'000} / unit_ns_) +
         static_cast<std::uint64_t>(record.nanoseconds) / unit_ns_;
}

void PcapRecords::begin(std::uint32_t snapshot) {
  snapshot_ = std::min(snapshot, kMostRecordBytes);
  offset_ = kFileHeaderBytes;
  at_ = end_ = 0;
  if (reads_) block_.resize(kBlockBytes);
}

std::uint32_t PcapRecords::word(std::size_t at) const {
  std::uint32_t value = 0;
  std::memcpy(&value, block_.data() + at_ + at, sizeof value);
  return swapped_ ? __builtin_bswap32(value) : value;
}

// Sees to it that the block holds so many bytes more. False: the file does not.
bool PcapRecords::fill(std::size_t bytes) {
  if (end_ - at_ >= bytes) return true;
  std::memmove(block_.data(), block_.data() + at_, end_ - at_);
  offset_ += at_;
  end_ -= at_;
  at_ = 0;
  if (bytes > block_.size()) block_.resize(bytes);
  end_ += file_->read(std::span(block_).subspan(end_));
  return end_ >= bytes;
}

bool PcapRecords::give_up() {
  reads_ = false;
  file_->unread(Bytes(block_).subspan(at_, end_ - at_));
  return false;
}

bool PcapRecords::next(PcapRecord& out) {
  if (!fill(kRecordHeaderBytes)) return give_up();
  const std::uint32_t seconds = word(0);
  const std::uint32_t fraction = word(4);
  const std::uint32_t kept = word(8);
  constexpr std::uint32_t kHighest = 0x80000000;
  if (((seconds | fraction) & kHighest) != 0 || kept > snapshot_ || !fill(kRecordHeaderBytes + kept)) return give_up();
  out.seconds = seconds;
  out.nanoseconds = std::int64_t{fraction} * unit_ns_;
  out.wire_bytes = word(12);
  out.bytes = {block_.data() + at_ + kRecordHeaderBytes, kept};
  at_ += kRecordHeaderBytes + kept;
  return true;
}

}  // namespace rxnic
