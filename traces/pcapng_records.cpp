// SPDX-License-Identifier: Apache-2.0
#include "traces/pcapng_records.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "traces/pcapng_blocks.h"

namespace rxnic {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a;  // the same in both byte orders
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kObsoletePacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kFramingBytes = 12;  // type, length, and the length once more
constexpr std::uint32_t kSectionBytes = 28;
constexpr std::uint32_t kMostBlockBytes = std::uint32_t{1} << 24;  // R2
constexpr std::uint32_t kMostBlocks = std::uint32_t{1} << 20;      // without a packet: capture_reader.h R6
constexpr std::size_t kMostInterfaces = 65536;
constexpr std::size_t kPacketBytes = 20;  // before the data of a packet block
constexpr std::size_t kSkipBytes = 65536;
constexpr auto kTimeResolution = static_cast<std::uint16_t>(PcapngOption::kTimeResolution);
constexpr auto kTimeOffset = static_cast<std::uint16_t>(PcapngOption::kTimeOffset);
constexpr unsigned kPowerOfTwo = 0x80;
constexpr PcapngOption kBytesOptions[] = {PcapngOption::kInterfaceName,    PcapngOption::kInterfaceDescription,
                                          PcapngOption::kInterfaceMac,     PcapngOption::kInterfaceFilter,
                                          PcapngOption::kInterfaceSystem,  PcapngOption::kFcsLength,
                                          PcapngOption::kInterfaceHardware};  // R3

}  // namespace

bool PcapngRecords::recognises(CaptureFile& file) {
  std::array<std::uint8_t, 4> magic{};
  const std::size_t got = file.read(magic);
  file.unread(Bytes(magic).first(got));
  return got == magic.size() && load_be32(magic.data()) == kSection;
}

bool PcapngRecords::fail(std::string why) {
  damage_ = std::move(why);
  return false;
}

std::uint16_t PcapngRecords::half(std::size_t at) const {
  std::uint16_t value = 0;
  std::memcpy(&value, body_.data() + at, sizeof value);
  return swapped_ ? __builtin_bswap16(value) : value;
}

std::uint32_t PcapngRecords::word(std::size_t at) const {
  std::uint32_t value = 0;
  std::memcpy(&value, body_.data() + at, sizeof value);
  return in_order(value);
}

// The next bytes become the body.
bool PcapngRecords::read(std::size_t bytes) {
  if (body_.size() < bytes) body_.resize(bytes);
  body_bytes_ = bytes;
  return file_->read(std::span(body_).first(bytes)) == bytes || fail("a pcapng block is cut short");
}

bool PcapngRecords::skip(std::uint64_t bytes) {
  for (; bytes != 0; bytes -= body_bytes_) {
    if (!read(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kSkipBytes)))) return false;
  }
  return true;
}

bool PcapngRecords::end_block(std::uint32_t length) {
  std::uint32_t again = 0;
  std::array<std::uint8_t, sizeof again> bytes{};
  if (file_->read(bytes) != bytes.size()) return fail("a pcapng block is cut short");
  std::memcpy(&again, bytes.data(), sizeof again);
  if (in_order(again) == length) return true;
  return fail("a pcapng block of " + std::to_string(length) + " bytes ends with the length " +
              std::to_string(in_order(again)));
}

// The byte order of a section is that of the number behind its length.
bool PcapngRecords::section(std::uint32_t length_as_read) {
  swapped_ = false;
  if (!read(8)) return false;
  swapped_ = word(0) == __builtin_bswap32(kByteOrder);
  if (word(0) != kByteOrder) return fail("a pcapng section without a byte order");
  const std::uint32_t length = in_order(length_as_read);
  if (half(4) != 1) return fail("pcapng of version " + std::to_string(half(4)) + "." + std::to_string(half(6)));
  if (length < kSectionBytes || length % 4 != 0) {
    return fail("a pcapng section header of " + std::to_string(length) + " bytes");
  }
  interfaces_.clear();
  kept_bytes_ = 0;
  ++sections_;
  return skip(length - kFramingBytes - 8) && end_block(length);
}

bool PcapngRecords::open(CaptureFile& file) {
  file_ = &file;
  seconds_ = nanoseconds_ = 0;
  ticks_ = 0;
  sections_ = 0;
  damage_.clear();
  std::array<std::uint8_t, 8> head{};
  if (file_->read(head) != head.size()) return fail("a pcapng block is cut short");
  std::uint32_t length = 0;
  std::memcpy(&length, head.data() + 4, sizeof length);
  return section(length);
}

bool PcapngRecords::option(Interface& described, std::uint16_t code, std::size_t at, std::size_t bytes) {
  if (code == kTimeResolution && bytes == 1) {
    const unsigned exponent = body_[at] & ~kPowerOfTwo;
    const bool two = (body_[at] & kPowerOfTwo) != 0;
    if (exponent > (two ? 63u : 19u)) return fail("a time resolution of " + std::to_string(body_[at]));
    described.described.time_resolution = body_[at];
    described.units_per_second = 1;
    for (unsigned i = 0; i < exponent; ++i) described.units_per_second *= two ? 2 : 10;
  }
  if (code == kTimeOffset && bytes == 8) {
    const std::uint64_t first = word(at);
    const std::uint64_t second = word(at + 4);
    const bool big_endian = swapped_ == (std::endian::native == std::endian::little);
    described.described.offset_seconds =
        static_cast<std::int64_t>(big_endian ? first << 32 | second : second << 32 | first);
  }
  const bool is_bytes = std::ranges::find(kBytesOptions, PcapngOption{code}) != std::end(kBytesOptions);
  if (is_bytes && bytes <= kMostInterfaceBytes - std::min(kMostInterfaceBytes, described.described.options.size()) &&
      bytes <= kMostKeptBytes - std::min(kMostKeptBytes, kept_bytes_)) {
    add_option(described.described.options, PcapngOption{code}, Bytes(body_).subspan(at, bytes));
    kept_bytes_ += bytes;
  }
  return true;
}

bool PcapngRecords::interface() {
  if (body_bytes_ < 8) return fail("an interface without its link type");
  if (interfaces_.size() == kMostInterfaces)
    return fail("more than " + std::to_string(kMostInterfaces) + " interfaces");
  Interface described;
  described.described.link_type = half(0);
  described.described.snapshot = word(4);
  for (std::size_t at = 8; at + 4 <= body_bytes_;) {
    const std::uint16_t code = half(at);
    const std::size_t bytes = half(at + 2);
    at += 4;
    if (code == 0) break;
    if (bytes > body_bytes_ - at) return fail("an option that is longer than its interface");
    if (!option(described, code, at, bytes)) return false;
    at += (bytes + 3) / 4 * 4;
  }
  interfaces_.push_back(described);
  return true;
}

bool PcapngRecords::packet(std::uint32_t type, PcapRecord& out) {
  const std::size_t before = type == kSimplePacket ? 4 : kPacketBytes;
  if (body_bytes_ < before) return fail("a packet block without its lengths");
  const std::uint32_t index = type == kSimplePacket ? 0 : type == kObsoletePacket ? half(0) : word(0);
  if (index >= interfaces_.size())
    return fail("a packet of interface " + std::to_string(index) + ", which is not described");
  const Interface& of = interfaces_[index];
  std::uint32_t kept = word(0);
  out.wire_bytes = kept;
  if (type == kSimplePacket) {
    if (of.described.snapshot != 0) kept = std::min(kept, of.described.snapshot);
  } else {
    kept = word(12);
    out.wire_bytes = word(16);
    const std::uint64_t time = std::uint64_t{word(4)} << 32 | word(8);
    ticks_ = time;
    __extension__ using Wide = unsigned __int128;
    seconds_ =
        static_cast<std::int64_t>(time / of.units_per_second + static_cast<std::uint64_t>(of.described.offset_seconds));
    nanoseconds_ = static_cast<std::int64_t>(Wide{time % of.units_per_second} * 1'000'000'000 / of.units_per_second);
  }
  if (kept > body_bytes_ - before) {
    return fail("a packet of " + std::to_string(kept) + " bytes in a block with room for " +
                std::to_string(body_bytes_ - before));
  }
  out.seconds = seconds_;
  out.nanoseconds = nanoseconds_;
  out.link_type = of.described.link_type;
  out.bytes = Bytes(body_).subspan(before, kept);
  out.ticks = ticks_;
  out.section = sections_;
  out.interface = index;
  const std::size_t padded = std::min(before + (std::size_t{kept} + 3) / 4 * 4, body_bytes_);
  out.options = type == kSimplePacket ? Bytes{} : Bytes(body_).subspan(padded, body_bytes_ - padded);
  out.swapped = swapped_;
  return true;
}

bool PcapngRecords::next(PcapRecord& out) {
  for (std::uint32_t blocks = 0; damage_.empty(); ++blocks) {
    if (blocks == kMostBlocks) return fail(std::to_string(blocks) + " pcapng blocks in succession without a packet");
    std::array<std::uint8_t, 8> head{};
    const std::size_t got = file_->read(head);
    if (got == 0) return false;  // the end
    if (got < head.size()) return fail("a pcapng block is cut short");
    std::array<std::uint32_t, 2> as_read{};
    std::memcpy(as_read.data(), head.data(), head.size());
    if (as_read[0] == kSection) {
      if (!section(as_read[1])) return false;
      continue;
    }
    const std::uint32_t type = in_order(as_read[0]);
    const std::uint32_t length = in_order(as_read[1]);
    if (length < kFramingBytes || length % 4 != 0)
      return fail("a pcapng block of " + std::to_string(length) + " bytes");
    const bool is_packet = type == kEnhancedPacket || type == kSimplePacket || type == kObsoletePacket;
    if (!is_packet && type != kInterface) {
      if (!skip(length - kFramingBytes) || !end_block(length)) return false;
      continue;
    }
    if (length > kMostBlockBytes) return fail("a pcapng block of " + std::to_string(length) + " bytes");
    if (!read(length - kFramingBytes) || !end_block(length)) return false;
    if (is_packet) return packet(type, out);
    if (!interface()) return false;
  }
  return false;
}

}  // namespace rxnic
