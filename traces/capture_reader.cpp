// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_reader.h"

#include <pcap/pcap.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "model/params/text_file.h"

namespace rxnic {
namespace {

constexpr std::size_t kErfHeaderBytes = 16;
constexpr std::size_t kErfExtensionBytes = 8;
constexpr unsigned kErfMore = 0x80;  // of a type byte: an extension header follows
constexpr unsigned kErfEthernet = 2;
constexpr unsigned kErfInfiniband = 21;
constexpr unsigned kErfMeta = 27;
constexpr unsigned kErfPad = 48;
constexpr std::size_t kErfEthernetPad = 2;
constexpr std::uint64_t kMaxTimePs = std::uint64_t{1} << 63;

std::string link_type_text(int type) {
  const char* name = pcap_datalink_val_to_name(type);
  const char* about = pcap_datalink_val_to_description(type);
  return "link type " + std::to_string(type) + (name ? std::string(" (") + name + ", " + about + ")" : "");
}

}  // namespace

void CaptureReader::Closer::operator()(::pcap* p) const { pcap_close(p); }

CaptureReader::CaptureReader(const std::string& path) : CaptureReader([path] { return open_to_read(path); }, path) {}

CaptureReader::CaptureReader(Opener opener, std::string name) : opener_(std::move(opener)), name_(std::move(name)) {
  open();
}

void CaptureReader::rewind() { open(); }

void CaptureReader::refuse(std::string found, std::string expected) const {
  throw TraceError(name_, records_, std::move(found), std::move(expected));
}

void CaptureReader::open() {
  pcap_.reset();
  records_ = frames_ = times_clamped_ = last_time_ps_ = 0;
  cut_reason_.clear();
  errno = 0;
  std::FILE* file = opener_();
  if (!file) refuse(std::strerror(errno), "a capture that can be opened");
  struct stat status {};
  const bool described = fileno(file) >= 0 && fstat(fileno(file), &status) == 0;
  if (described && !S_ISREG(status.st_mode)) {
    std::fclose(file);
    refuse("something other than a regular file", "a capture file (it is read more than once)");
  }
  std::fseek(file, 0, SEEK_END);
  size_ = static_cast<std::uint64_t>(std::max(std::ftell(file), 0L));
  std::fseek(file, 0, SEEK_SET);
  if (size_ == 0) {
    std::fclose(file);
    refuse("an empty file", "a capture in pcap or pcapng format");
  }
  plain_.open(file);
  char why[PCAP_ERRBUF_SIZE] = "";
  pcap_.reset(pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why));
  if (!pcap_) {
    std::fclose(file);
    refuse(why, "a capture in pcap or pcapng format");
  }
  plain_.begin(static_cast<std::uint32_t>(std::max(pcap_snapshot(pcap_.get()), 0)));
  const int type = pcap_datalink(pcap_.get());
  erf_ = type == DLT_ERF;
  switch (type) {  // R1
    case DLT_EN10MB:
    case DLT_ERF:
      link_ = LinkLayer::kEthernet;
      break;
    case DLT_INFINIBAND:
      link_ = LinkLayer::kInfiniband;
      break;
    case DLT_LINUX_SLL:
    case DLT_LINUX_SLL2:
      refuse(link_type_text(type) + ": a capture on `any`, which keeps no Ethernet header",
             "a capture on one interface: Ethernet, InfiniBand or ERF");
    default:
      refuse(link_type_text(type), "Ethernet (1), InfiniBand (247) or ERF (197)");
  }
}

// R2
std::uint64_t CaptureReader::time_of(std::int64_t seconds, std::int64_t nanoseconds) {
  if (records_ == 1) {
    first_seconds_ = seconds;
    first_nanoseconds_ = nanoseconds;
  }
  __extension__ using Wide = __int128;  // timestamps of a damaged file may be anything
  const Wide since = (Wide{seconds} - first_seconds_) * 1'000'000'000 + (Wide{nanoseconds} - first_nanoseconds_);
  const Wide ps = since * 1000;
  if (ps < static_cast<Wide>(last_time_ps_) || ps > static_cast<Wide>(kMaxTimePs)) {
    ++times_clamped_;
  } else {
    last_time_ps_ = static_cast<std::uint64_t>(ps);
  }
  return last_time_ps_;
}

// Takes the ERF header off. False: the record holds no packet.
bool CaptureReader::strip_erf(CapturedFrame& out) const {
  const Bytes record = out.bytes;
  if (record.size() < kErfHeaderBytes) refuse("an ERF record of " + std::to_string(record.size()) + " bytes", "16");
  const unsigned type = record[8] & ~kErfMore;
  if (type == kErfMeta || type == kErfPad) return false;
  if (type != kErfInfiniband && type != kErfEthernet) {
    refuse("an ERF record of type " + std::to_string(type), "21 (InfiniBand) or 2 (Ethernet)");
  }
  std::size_t at = kErfHeaderBytes;
  for (bool more = (record[8] & kErfMore) != 0; more; at += kErfExtensionBytes) {
    if (record.size() < at + kErfExtensionBytes) refuse("an ERF record that ends in its headers", "a packet");
    more = (record[at] & kErfMore) != 0;
  }
  if (type == kErfEthernet) at += kErfEthernetPad;
  if (record.size() < at) refuse("an ERF record that ends in its headers", "a packet");
  out.wire_bytes = load_be16(&record[14]);
  const std::size_t kept = record.size() - at;  // may be padded at its end
  out.bytes = record.subspan(at, std::min<std::size_t>(kept, out.wire_bytes));
  out.truncated = kept < out.wire_bytes;
  out.link = type == kErfInfiniband ? LinkLayer::kInfiniband : LinkLayer::kEthernet;
  return true;
}

bool CaptureReader::next_record(PcapRecord& out) {
  if (plain_.reads() && plain_.next(out)) return true;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int got = pcap_next_ex(pcap_.get(), &header, &data);
  if (got == PCAP_ERROR_BREAK) return false;  // the end
  if (got != 1) {                             // R3
    cut_reason_ = pcap_geterr(pcap_.get());
    if (cut_reason_.empty()) cut_reason_ = "unreadable record";
    return false;
  }
  out = {header->ts.tv_sec, header->ts.tv_usec, header->len, {data, header->caplen}};
  return true;
}

bool CaptureReader::next(CapturedFrame& out) {
  for (PcapRecord record; !cut_short() && next_record(record);) {
    ++records_;
    const auto kept = static_cast<std::uint32_t>(record.bytes.size());
    out.bytes = record.bytes;
    out.wire_bytes = std::max(record.wire_bytes, kept);
    out.truncated = kept < record.wire_bytes;
    out.link = link_;
    out.time_ps = time_of(record.seconds, record.nanoseconds);
    if (erf_) {
      if (!strip_erf(out)) continue;
      link_ = out.link;
    }
    ++frames_;
    out.number = records_;
    return true;
  }
  return false;
}

std::uint64_t CaptureReader::position() const {
  if (plain_.reads()) return plain_.position();
  const long at = std::ftell(pcap_file(pcap_.get()));
  return at < 0 ? size_ : static_cast<std::uint64_t>(at);
}

}  // namespace rxnic
