// SPDX-License-Identifier: Apache-2.0
// The packets of a pcapng file (draft-ietf-opsawg-pcapng), of all its sections and interfaces. The interfaces may
// differ in their link type or snapshot length, as in files of mergecap; libpcap refuses such a file.
//
//   R1  Packets are those of enhanced, simple and obsolete packet blocks; every other block is skipped. Each packet has
//       its interface's link type, and its time in the resolution and with the offset of its interface. A simple packet
//       block has no time: its packet has that of the one before it.
//   R2  A block that contradicts itself or the format ends the file there, and damage() says why. Blocks of packets and
//       interfaces have 16 MiB at most.
//   R3  What else a file says of an interface is kept when it is bytes: names, description, hardware, system, filter,
//       FCS length. This holds for kMostInterfaceBytes of an interface, and kMostKeptBytes of a section.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/capture_file.h"
#include "traces/capture_interface.h"
#include "traces/pcap_records.h"

namespace rxnic {

class PcapngRecords {
 public:
  // Whether the file stands at the beginning of a pcapng file. It stays there, and the caller's.
  static bool recognises(CaptureFile& file);
  // False: it has no readable header.
  bool open(CaptureFile& file);
  // False: the end, or R2.
  bool next(PcapRecord& out);
  const std::string& damage() const { return damage_; }
  // The n-th interface of the section that the last packet is of.
  const CaptureInterface& interface(std::size_t n) const { return interfaces_[n].described; }

 private:
  static constexpr std::size_t kMostInterfaceBytes = 4096, kMostKeptBytes = std::size_t{1} << 20;
  struct Interface {
    CaptureInterface described;
    std::uint64_t units_per_second = 1'000'000;
  };
  bool fail(std::string why);
  std::uint16_t half(std::size_t at) const;
  std::uint32_t word(std::size_t at) const;
  std::uint32_t in_order(std::uint32_t as_read) const { return swapped_ ? __builtin_bswap32(as_read) : as_read; }
  bool read(std::size_t bytes);
  bool skip(std::uint64_t bytes);
  bool end_block(std::uint32_t length);
  bool section(std::uint32_t length_as_read);
  bool interface();
  bool option(Interface& described, std::uint16_t code, std::size_t at, std::size_t bytes);
  bool packet(std::uint32_t type, PcapRecord& out);

  CaptureFile* file_ = nullptr;
  bool swapped_ = false;
  std::uint32_t sections_ = 0;
  std::vector<Interface> interfaces_;
  std::size_t kept_bytes_ = 0;      // of their options
  std::vector<std::uint8_t> body_;  // of the block
  std::size_t body_bytes_ = 0;
  std::int64_t seconds_ = 0, nanoseconds_ = 0;  // of the packet before
  std::uint64_t ticks_ = 0;                     // likewise
  std::string damage_;
};

}  // namespace rxnic
