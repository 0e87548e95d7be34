// SPDX-License-Identifier: Apache-2.0
#include "traces/pcapng_blocks.h"

#include <array>
#include <cstring>

namespace rxnic {
namespace {

constexpr std::uint32_t kSectionBlock = 0x0a0d0d0a, kInterfaceBlock = 1, kPacketBlock = 6;
constexpr std::uint32_t kByteOrderMark = 0x1a2b3c4d;
constexpr std::size_t kWord = 4;

template <class T>
std::array<std::uint8_t, sizeof(T)> little_endian(T n) {
  std::array<std::uint8_t, sizeof(T)> bytes{};
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(n) >> 8 * i);
  return bytes;
}

void add_bytes(std::string& to, Bytes bytes) { to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

template <class T>
void add_number(std::string& to, T n) {
  add_bytes(to, little_endian(n));
}

void pad(std::string& to, std::size_t bytes) { to.append((kWord - bytes % kWord) % kWord, '\0'); }

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// The beginning of a block, and where its length goes.
std::size_t begin_block(std::string& to, std::uint32_t type) {
  const std::size_t at = to.size();
  add_number(to, type);
  add_number(to, std::uint32_t{0});
  return at;
}

void close_block(std::string& to, std::size_t at) {
  const auto length = static_cast<std::uint32_t>(to.size() - at + kWord);
  const auto bytes = little_endian(length);
  std::memcpy(to.data() + at + kWord, bytes.data(), bytes.size());
  add_number(to, length);
}

// (R3)
std::string_view cut(std::string_view comment) {
  std::size_t bytes = std::min(comment.size(), kMostOptionBytes);
  if (bytes == comment.size()) return comment;
  while (bytes != 0 && (static_cast<std::uint8_t>(comment[bytes]) & 0xc0) == 0x80) --bytes;
  return comment.substr(0, bytes);
}

std::uint32_t number_at(Bytes bytes, bool swapped) {
  std::uint32_t n = 0;
  std::memcpy(&n, bytes.data(), sizeof n);
  return swapped ? __builtin_bswap32(n) : n;
}

}  // namespace

void add_option(std::string& to, PcapngOption code, Bytes value) {
  add_number(to, static_cast<std::uint16_t>(code));
  add_number(to, static_cast<std::uint16_t>(value.size()));
  add_bytes(to, value);
  pad(to, value.size());
}

void add_section(std::string& to, std::string_view application) {
  const std::size_t at = begin_block(to, kSectionBlock);
  add_number(to, kByteOrderMark);
  add_number(to, std::uint16_t{1});
  add_number(to, std::uint16_t{0});
  add_number(to, ~std::uint64_t{0});  // its length is not said
  add_option(to, PcapngOption::kApplication, bytes_of(application));
  add_option(to, PcapngOption::kEnd, {});
  close_block(to, at);
}

void add_interface(std::string& to, const CaptureInterface& interface) {
  const std::size_t at = begin_block(to, kInterfaceBlock);
  add_number(to, static_cast<std::uint16_t>(interface.link_type));
  add_number(to, std::uint16_t{0});
  add_number(to, interface.snapshot);
  to += interface.options;
  add_option(to, PcapngOption::kTimeResolution, {&interface.time_resolution, 1});
  if (interface.offset_seconds != 0) {
    add_option(to, PcapngOption::kTimeOffset, little_endian(interface.offset_seconds));
  }
  add_option(to, PcapngOption::kEnd, {});
  close_block(to, at);
}

void add_packet(std::string& to, const PcapngPacket& packet) {
  const std::size_t at = begin_block(to, kPacketBlock);
  add_number(to, packet.interface);
  add_number(to, static_cast<std::uint32_t>(packet.ticks >> 32));
  add_number(to, static_cast<std::uint32_t>(packet.ticks));
  add_number(to, static_cast<std::uint32_t>(packet.bytes.size()));
  add_number(to, packet.wire_bytes);
  add_bytes(to, packet.bytes);
  pad(to, packet.bytes.size());
  to += packet.options;
  if (!packet.comment.empty()) add_option(to, PcapngOption::kComment, bytes_of(cut(packet.comment)));
  if (packet.flags) add_option(to, PcapngOption::kPacketFlags, little_endian(*packet.flags));
  if (packet.id) add_option(to, PcapngOption::kPacketId, little_endian(*packet.id));
  if (packet.queue) add_option(to, PcapngOption::kPacketQueue, little_endian(*packet.queue));
  if (!packet.verdict.empty()) add_option(to, PcapngOption::kPacketVerdict, packet.verdict);
  add_option(to, PcapngOption::kEnd, {});
  close_block(to, at);
}

std::string kept_options(const PcapRecord& record, std::optional<std::uint32_t>& flags) {
  std::string kept;
  const Bytes all = record.options;
  for (std::size_t at = 0; at + kWord <= all.size();) {
    std::array<std::uint16_t, 2> head{};
    std::memcpy(head.data(), all.data() + at, kWord);
    if (record.swapped) head = {__builtin_bswap16(head[0]), __builtin_bswap16(head[1])};
    at += kWord;
    const auto code = static_cast<PcapngOption>(head[0]);
    if (code == PcapngOption::kEnd || head[1] > all.size() - at) break;
    const Bytes value = all.subspan(at, head[1]);
    if (code == PcapngOption::kComment || code == PcapngOption::kPacketHash) add_option(kept, code, value);
    if (code == PcapngOption::kPacketFlags && value.size() == kWord) flags = number_at(value, record.swapped);
    if (code == PcapngOption::kPacketsLost && value.size() == 2 * kWord) {
      const std::uint64_t first = number_at(value, record.swapped);
      const std::uint64_t second = number_at(value.subspan(kWord), record.swapped);
      add_option(kept, code, little_endian(record.swapped ? first << 32 | second : second << 32 | first));
    }
    at += (std::size_t{head[1]} + 3) / 4 * 4;
  }
  return kept;
}

}  // namespace rxnic
