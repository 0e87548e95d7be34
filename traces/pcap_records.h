// SPDX-License-Identifier: Apache-2.0
// The ordinary records of a classic pcap file, read in large blocks: several times as fast as libpcap.
//
//   R1  It reads files of version 2.4, of both byte orders, in microseconds and in nanoseconds.
//   R2  At anything out of the ordinary it gives up, and the file stands at that record: libpcap goes on there and
//       decides what it means. Out of the ordinary are another format or version, a time with its highest bit set, and
//       the end of the file. So is a record that is cut short, or longer than the file's snapshot length or 256 KiB.
#pragma once

#include <cstdint>
#include <vector>

#include "model/types/wire.h"
#include "traces/capture_file.h"
#include "traces/capture_interface.h"

namespace rxnic {

struct PcapRecord {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  std::uint32_t wire_bytes = 0;
  int link_type = 0;  // of pcapng; a pcap file has one for all
  Bytes bytes{};      // valid until the next call
  // As the file has it.
  std::uint64_t ticks = 0;  // its time, in the resolution of its interface
  std::uint32_t section = 0, interface = 0;
  Bytes options{};       // of its pcapng block, valid until the next call
  bool swapped = false;  // their byte order is not the native one
};

class PcapRecords {
 public:
  // The file stands at its beginning, before and after. It stays the caller's.
  void open(CaptureFile& file);
  // The file stands behind its header. `snapshot`: the most bytes of a record.
  void begin(std::uint32_t snapshot);
  // False: it has given up (R2).
  bool next(PcapRecord& out);
  bool reads() const { return reads_; }
  // The interface, but for its link type and snapshot length, as far as the file has an ordinary header.
  CaptureInterface described() const;
  std::uint64_t ticks_of(const PcapRecord& record) const;
  std::uint64_t position() const { return offset_ + at_; }  // after decompression

 private:
  std::uint32_t word(std::size_t at) const;
  bool fill(std::size_t bytes);
  bool give_up();

  CaptureFile* file_ = nullptr;
  bool reads_ = false;
  bool swapped_ = false;
  std::uint32_t unit_ns_ = 1;   // of the fraction of a time
  std::uint8_t fcs_bytes_ = 0;  // that every packet ends with, as the header says
  std::uint32_t snapshot_ = 0;
  std::vector<std::uint8_t> block_;
  std::size_t at_ = 0, end_ = 0;  // of what is left of the block
  std::uint64_t offset_ = 0;      // of the block in what the file holds
};

}  // namespace rxnic
