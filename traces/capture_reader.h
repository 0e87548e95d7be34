// SPDX-License-Identifier: Apache-2.0
// Frames of a capture, one after the other: pcap (microseconds and nanoseconds, both byte orders) and pcapng, through
// libpcap, except the ordinary records of a pcap file (pcap_records.h).
//
//   R1  Link types: Ethernet; InfiniBand (DLT_INFINIBAND, 247: from the LRH on); ERF (197) records of type 21
//       (InfiniBand) and 2 (Ethernet), without their ERF header, extension headers and Ethernet's two bytes of padding.
//       ERF records that hold no packet (types 27 and 48) are left out. Anything else is a TraceError that names it.
//   R2  Time counts from the file's first frame. A frame that is older than the one before it, or later than 2^63 ps,
//       gets the time of the one before it; how many there were is counted.
//   R3  A file that ends in the middle of a record, or in which something other than a record follows, gives the frames
//       before it and then says cut_short(). A file without a readable header is a TraceError.
//   R4  Memory does not depend on the length of the file: a frame's bytes are valid until the next call.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "model/types/wire.h"
#include "traces/pcap_records.h"
#include "traces/trace_error.h"

struct pcap;

namespace rxnic {

struct CapturedFrame {
  std::uint64_t time_ps = 0;     // since the first frame of the file
  std::uint64_t number = 0;      // counts from 1, as capture tools do
  Bytes bytes;                   // from the link header on; may end with an FCS or a VCRC
  std::uint32_t wire_bytes = 0;  // its length on the wire, as the capture says
  bool truncated = false;        // the capture holds less than was on the wire
  LinkLayer link = LinkLayer::kEthernet;
};

class CaptureReader {
 public:
  // Opens the capture anew each time it is called; the reader closes it. nullptr: errno says why not.
  using Opener = std::function<std::FILE*()>;

  // Both throw TraceError.
  explicit CaptureReader(const std::string& path);
  CaptureReader(Opener opener, std::string name);

  // False at the end of the file (or of its readable part). Throws TraceError on a record that R1 refuses.
  bool next(CapturedFrame& out);
  // Back to before the first frame.
  void rewind();

  const std::string& name() const { return name_; }
  LinkLayer link() const { return link_; }                 // of an ERF file: of the last frame
  std::uint64_t frames() const { return frames_; }         // given so far
  std::uint64_t position() const;                          // bytes of the file that were read, for a progress bar
  std::uint64_t size() const { return size_; }             // bytes of the file
  bool cut_short() const { return !cut_reason_.empty(); }  // known after next() returned false
  const std::string& cut_reason() const { return cut_reason_; }
  std::uint64_t times_clamped() const { return times_clamped_; }

 private:
  struct Closer {
    void operator()(::pcap* p) const;
  };
  void open();
  bool next_record(PcapRecord& out);
  bool strip_erf(CapturedFrame& out) const;
  std::uint64_t time_of(std::int64_t seconds, std::int64_t nanoseconds);
  [[noreturn]] void refuse(std::string found, std::string expected) const;

  Opener opener_;
  std::string name_;
  std::unique_ptr<::pcap, Closer> pcap_;
  PcapRecords plain_;
  LinkLayer link_ = LinkLayer::kEthernet;
  bool erf_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t times_clamped_ = 0;
  std::uint64_t last_time_ps_ = 0;
  std::int64_t first_seconds_ = 0;
  std::int64_t first_nanoseconds_ = 0;
  std::string cut_reason_;
};

}  // namespace rxnic
