// SPDX-License-Identifier: Apache-2.0
// Blocks of a pcapng file (draft-ietf-opsawg-pcapng) to be written: little-endian, each appended to a string.
//
//   R1  A section holds the interfaces and packets behind it. Its interfaces are numbered from 0 in their order, and
//       each stands before its first packet. A packet is an enhanced packet block.
//   R2  A packet has the bytes, the lengths and the time that it is given. `options` of an original block are kept when
//       they are comments, flags, hashes, lost packets. A packet's own comment follows those.
//   R3  A value of an option has kMostOptionBytes at most. A longer comment ends there, at a whole character.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/types/wire.h"
#include "traces/capture_interface.h"
#include "traces/pcap_records.h"

namespace rxnic {

enum class PcapngOption : std::uint16_t {
  kEnd = 0,
  kComment = 1,
  kInterfaceName = 2,
  kInterfaceDescription = 3,
  kInterfaceMac = 6,
  kTimeResolution = 9,
  kInterfaceFilter = 11,
  kInterfaceSystem = 12,
  kFcsLength = 13,
  kTimeOffset = 14,
  kInterfaceHardware = 15,
  kApplication = 4,  // of a section
  kPacketFlags = 2,  // of a packet, as those below
  kPacketHash = 3,
  kPacketsLost = 4,
  kPacketId = 5,
  kPacketQueue = 6,
  kPacketVerdict = 7,
};

inline constexpr std::size_t kMostOptionBytes = 65532;
inline constexpr std::uint32_t kInbound = 1, kOutbound = 2;  // flags of a packet

struct PcapngPacket {
  std::uint32_t interface = 0;
  std::uint64_t ticks = 0;
  Bytes bytes;
  std::uint32_t wire_bytes = 0;
  std::string_view options;  // as kept_options() gives them
  std::string_view comment;
  std::optional<std::uint32_t> flags;
  std::optional<std::uint64_t> id;
  std::optional<std::uint32_t> queue;
  Bytes verdict;  // the first byte is its kind: 0 hardware; empty: none
};

void add_option(std::string& to, PcapngOption code, Bytes value);
void add_section(std::string& to, std::string_view application);
void add_interface(std::string& to, const CaptureInterface& interface);
void add_packet(std::string& to, const PcapngPacket& packet);

// What is kept of a block that was read (R2). `flags` is set when the block has flags, which are not among them.
std::string kept_options(const PcapRecord& record, std::optional<std::uint32_t>& flags);

}  // namespace rxnic
