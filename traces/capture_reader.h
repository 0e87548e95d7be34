// SPDX-License-Identifier: Apache-2.0
// Frames of a capture, one after the other. The formats are pcap (microseconds and nanoseconds, both byte orders) and
// pcapng, as they are or compressed with gzip or zstd.
//
//   R1  Link types: Ethernet; InfiniBand (DLT_INFINIBAND, 247: from the LRH on). ERF (197) records of type 21
//       (InfiniBand) and 2 (Ethernet) come without their ERF header, extension headers and Ethernet's two bytes of
//       padding. Linux cooked captures (SLL 113, SLL2 276) and raw IP (101, 228, 229) get an Ethernet header with what
//       is known of it. Zeros are an address that the capture does not keep. The interfaces of a pcapng file may
//       differ. ERF records that hold no packet (types 27 and 48) are left out. Anything else is a TraceError that
//       names it.
//   R2  Time counts from the file's first record. A frame that is older than the one before it, or later than 2^63 ps,
//       gets the time of the one before it. How many such frames there were is counted, and how many records are older
//       than the one before them. When it is older by more than 1 ms the clock was set back, and time goes on from
//       there. The exception: the record behind it shows that it was the only one.
//   R3  A file may end in the middle of a record or of its compressed data, or something other than a record may
//       follow. It gives the frames before that, then says cut_short(). A file without a readable header is a
//       TraceError.
//   R4  Memory does not depend on the length of the file, compressed or not: a frame's bytes are valid until the next
//       call.
//   R5  A packet that the capture holds with all its headers, but without all of its payload or ICRC, is counted. On
//       request it is filled: with zeros up to its length on the wire, and with the ICRC (and VCRC) of the result. This
//       length must be that of the packet's headers or more. Other frames that the capture cut stay as they are. A UDP
//       checksum of a filled packet becomes 0 (none). A frame that lacks an FCS, a VCRC or link padding alone is whole,
//       whether filling was requested or not.
//   R6  A mirror may cut packets and write what is left as their length. A frame that ends before the length in its IP
//       and UDP headers (GRH, LRH), which agree, was cut, and is handled so (R5). How many there were is counted.
//   R7  A frame that is not RDMA as it stands may carry one that is RDMA in tunnels (tunnels.h), at most kMostTunnels
//       in each other. Such a frame becomes the one inside; `tunnel` is the outermost. So does a frame that carries
//       what looks like RoCEv2 on another port. A packet without an Ethernet header gets one with the addresses
//       outside.
//   R8  On request: UDP ports that are read as RoCEv2's (other_udp_ports.h), and a wrong ICRC is made right. Both are
//       counted.
//   R9  A million records or blocks in succession that hold no packet are no capture: it ends there as in R3. A few KB
//       of compressed zeros decompress to as many records as one likes.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/types/wire.h"
#include "traces/capture_file.h"
#include "traces/capture_time.h"
#include "traces/other_udp_ports.h"
#include "traces/pcap_records.h"
#include "traces/pcapng_records.h"
#include "traces/trace_error.h"
#include "traces/tunnels.h"

struct pcap;

namespace rxnic {

struct CapturedFrame {
  std::uint64_t time_ps = 0;       // since the first record of the file
  std::uint64_t number = 0;        // counts from 1, as capture tools do
  Bytes bytes;                     // from the link header on; may end with an FCS or a VCRC
  std::uint32_t wire_bytes = 0;    // its length on the wire, as the capture says
  std::uint32_t filled_bytes = 0;  // the last of `bytes`: not from the capture (R5)
  bool truncated = false;          // the capture holds less than was on the wire
  LinkLayer link = LinkLayer::kEthernet;
  std::optional<Tunnel> tunnel;  // R7
  // What parse() reads in `bytes`.
  ParseStatus status = ParseStatus::kNotRdma;
  Headers headers;
  void set_bytes(Bytes b) {
    bytes = b;
    status = parse(bytes, link, headers);
  }
  Bytes captured() const { return bytes.first(bytes.size() - filled_bytes); }
};

class CaptureReader {
 public:
  // Opens the capture anew each time it is called; the reader closes it. nullptr: errno says why not.
  using Opener = std::function<std::FILE*()>;

  // Both throw TraceError.
  explicit CaptureReader(const std::string& path);
  CaptureReader(Opener opener, std::string name);

  // Before the first frame: R5, R8.
  void fill_cut_payloads(IcrcSeal seal) { fill_ = seal; }
  void read_as_roce(std::vector<std::uint16_t> udp_ports, IcrcCheck check, IcrcSeal seal);
  void take_icrcs_as_right(IcrcCheck check, IcrcSeal seal);
  // False at the end of the file (or of its readable part). Throws TraceError on a record that R1 refuses.
  bool next(CapturedFrame& out);
  // The next record, also one that holds no packet (R1): `out` is then not filled.
  bool next_record(CapturedFrame& out);
  bool holds_packet() const { return holds_packet_; }   // the last record
  const PcapRecord& record() const { return record_; }  // the last one, as the file has it
  CaptureInterface interface(std::uint32_t n) const;    // of the last record's section, up to the record's own
  std::uint64_t records() const { return records_; }    // given so far; the number of the last one
  // Back to before the first frame.
  void rewind();

  const std::string& name() const { return name_; }
  LinkLayer link() const { return link_; }                 // of the last frame
  std::uint64_t frames() const { return frames_; }         // given so far
  std::uint64_t position() const;                          // bytes of the file that were read, for a progress bar
  std::uint64_t size() const { return file_->size(); }     // bytes of the file
  bool cut_short() const { return !cut_reason_.empty(); }  // known after next() returned false
  const std::string& cut_reason() const { return cut_reason_; }
  std::uint64_t times_clamped() const { return times_clamped_; }
  std::uint64_t clock_steps() const { return clock_steps_; }      // records that are older than the one before them
  std::uint64_t cut_payloads() const { return cut_payloads_; }    // R5; filled or not
  std::uint64_t cut_by_mirror() const { return cut_by_mirror_; }  // R6
  std::uint64_t on_other_udp_ports() const { return on_other_udp_ports_; }  // R8
  std::uint64_t icrcs_made_right() const { return icrcs_made_right_; }      // R8
  // When the first record was captured; zero when that is no time that a pcap file can hold (years 1970 to 2106).
  CaptureTime start() const;

 private:
  struct Closer {
    void operator()(::pcap* p) const;
  };
  void open();
  void open_pcap();
  bool read_record(PcapRecord& out);
  bool next_of_pcap(PcapRecord& out);
  void check_link_type(int type) const;
  bool unwrap(int link_type, CapturedFrame& out);
  bool strip_erf(CapturedFrame& out) const;
  void strip_cooked(CapturedFrame& out, bool second_version);
  void onto_ethernet(CapturedFrame& out, std::size_t header_bytes, std::uint16_t ether_type, Bytes source_mac);
  void fill(CapturedFrame& out);
  void look_inside(CapturedFrame& out);
  void adopt(CapturedFrame& out, const std::vector<std::uint8_t>& bytes, std::size_t wire_bytes);
  void notice_cut(CapturedFrame& out);
  void make_icrc_right(CapturedFrame& out);
  std::uint64_t time_of(std::int64_t seconds, std::int64_t nanoseconds);
  [[noreturn]] void refuse(std::string found, std::string expected) const;

  Opener opener_;
  std::string name_;
  static constexpr int kMostTunnels = 4;
  static constexpr int kLinktypeRaw = 101;  // in a file; libpcap gives it as DLT_RAW
  IcrcSeal fill_ = nullptr;                 // R5
  std::vector<std::uint16_t> udp_ports_;
  IcrcCheck check_ = nullptr;
  IcrcSeal seal_ = nullptr;
  bool ignore_icrcs_ = false;
  std::unique_ptr<CaptureFile> file_;
  std::unique_ptr<::pcap, Closer> pcap_;  // nullptr: a pcapng file
  PcapRecords plain_;
  PcapngRecords pcapng_;
  int link_type_ = 0;  // of a pcap file
  PcapRecord record_;
  bool holds_packet_ = false;
  LinkLayer link_ = LinkLayer::kEthernet;
  std::vector<std::uint8_t> on_ethernet_, filled_, inside_, sealed_;  // bytes of a frame (R1, R5, R7, R8)
  std::uint64_t records_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t empty_ = 0;  // records without a packet since the last one with one (R9)
  std::uint64_t times_clamped_ = 0;
  std::uint64_t clock_steps_ = 0;
  std::uint64_t cut_payloads_ = 0;
  std::uint64_t cut_by_mirror_ = 0;
  std::uint64_t on_other_udp_ports_ = 0;
  std::uint64_t icrcs_made_right_ = 0;
  std::uint64_t last_time_ps_ = 0;
  std::uint64_t behind_ps_ = 0, behind_before_ps_ = 0;  // what the clock was set back by (R2), now and before the last
  bool just_stepped_ = false;                           // with the last record
  CaptureTime first_, last_;                            // as the records say
  std::string cut_reason_;
};

}  // namespace rxnic
