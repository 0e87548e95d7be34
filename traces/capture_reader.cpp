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

constexpr std::uint64_t kMostEmptyRecords = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxTimePs = std::uint64_t{1} << 63;
constexpr std::uint64_t kClockStepPs = 1'000'000'000;  // 1 ms (R2)

constexpr const char* kExpected = "a capture in pcap or pcapng format, as it is or compressed with gzip or zstd";

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
  records_ = frames_ = empty_ = times_clamped_ = clock_steps_ = cut_payloads_ = 0;
  cut_by_mirror_ = on_other_udp_ports_ = icrcs_made_right_ = 0;
  last_time_ps_ = behind_ps_ = behind_before_ps_ = 0;
  just_stepped_ = false;
  first_ = last_ = {};
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
  file_ = std::make_unique<CaptureFile>(file);
  if (file_->size() == 0) refuse("an empty file", kExpected);
  if (!PcapngRecords::recognises(*file_)) return open_pcap();
  if (!pcapng_.open(*file_)) refuse(file_->damage().empty() ? pcapng_.damage() : file_->damage(), kExpected);
}

void CaptureReader::open_pcap() {
  plain_.open(*file_);
  std::FILE* stream = file_->stream();
  if (stream == nullptr) refuse(std::strerror(errno), "a capture that can be opened");
  char why[PCAP_ERRBUF_SIZE] = "";
  pcap_.reset(pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why));
  if (!pcap_) {
    std::fclose(stream);
    refuse(file_->damage().empty() ? why : file_->damage(), kExpected);
  }
  plain_.begin(static_cast<std::uint32_t>(std::max(pcap_snapshot(pcap_.get()), 0)));
  link_type_ = pcap_datalink(pcap_.get());
  link_ = link_type_ == DLT_INFINIBAND ? LinkLayer::kInfiniband : LinkLayer::kEthernet;
  check_link_type(link_type_);
}

// R2
std::uint64_t CaptureReader::time_of(std::int64_t seconds, std::int64_t nanoseconds) {
  if (records_ == 1) {
    first_ = last_ = {seconds, nanoseconds};
  }
  clock_steps_ += std::pair(seconds, nanoseconds) < std::pair(last_.seconds, last_.nanoseconds);
  last_ = {seconds, nanoseconds};
  __extension__ using Wide = __int128;  // timestamps of a damaged file may be anything
  const Wide since = (Wide{seconds} - first_.seconds) * 1'000'000'000 + (Wide{nanoseconds} - first_.nanoseconds);
  const Wide ps = since * 1000;
  const Wide last = static_cast<Wide>(last_time_ps_);
  // One record with a time of its own was no step of the clock.
  if (just_stepped_ && ps + behind_before_ps_ >= last) behind_ps_ = behind_before_ps_;
  just_stepped_ = false;
  const Wide time = ps + behind_ps_;
  if (time >= last && time <= static_cast<Wide>(kMaxTimePs)) return last_time_ps_ = static_cast<std::uint64_t>(time);
  ++times_clamped_;
  if (last - time > kClockStepPs && last - time <= static_cast<Wide>(kMaxTimePs - behind_ps_)) {
    behind_before_ps_ = behind_ps_;
    behind_ps_ += static_cast<std::uint64_t>(last - time);
    just_stepped_ = true;
  }
  return last_time_ps_;
}

CaptureTime CaptureReader::start() const {
  constexpr std::int64_t kPerSecond = 1'000'000'000;
  constexpr std::int64_t kLastSecond = 0xffffffff;
  const bool holds = first_.seconds >= 0 && first_.seconds <= kLastSecond && first_.nanoseconds >= 0 &&
                     first_.nanoseconds < kPerSecond;
  return holds ? first_ : CaptureTime{};
}

bool CaptureReader::next_of_pcap(PcapRecord& out) {
  out.link_type = link_type_;
  if (plain_.reads() && plain_.next(out)) {
    out.ticks = plain_.ticks_of(out);
    return true;
  }
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int got = pcap_next_ex(pcap_.get(), &header, &data);
  if (got == PCAP_ERROR_BREAK) return false;  // the end
  if (got != 1) {
    cut_reason_ = pcap_geterr(pcap_.get());
    if (cut_reason_.empty()) cut_reason_ = "unreadable record";
    return false;
  }
  out = {header->ts.tv_sec, header->ts.tv_usec, header->len, link_type_, {data, header->caplen}};
  out.ticks = plain_.ticks_of(out);
  return true;
}

// R3
bool CaptureReader::read_record(PcapRecord& out) {
  if (pcap_ ? next_of_pcap(out) : pcapng_.next(out)) return true;
  if (!pcap_) cut_reason_ = pcapng_.damage();
  if (!file_->damage().empty()) cut_reason_ = file_->damage();
  return false;
}

bool CaptureReader::next(CapturedFrame& out) {
  while (next_record(out)) {
    if (holds_packet_) return true;
  }
  return false;
}

bool CaptureReader::next_record(CapturedFrame& out) {
  if (cut_short() || !read_record(record_)) return false;
  ++records_;
  empty_ = record_.wire_bytes == 0 && record_.bytes.empty() ? empty_ + 1 : 0;
  if (empty_ == kMostEmptyRecords) {  // R9
    cut_reason_ = std::to_string(empty_) + " records in succession without a packet";
    return false;
  }
  const auto kept = static_cast<std::uint32_t>(record_.bytes.size());
  out.bytes = record_.bytes;
  out.wire_bytes = std::max(record_.wire_bytes, kept);
  out.truncated = kept < record_.wire_bytes;
  out.time_ps = time_of(record_.seconds, record_.nanoseconds);
  holds_packet_ = unwrap(record_.link_type, out);
  if (!holds_packet_) return true;
  link_ = out.link;
  out.filled_bytes = 0;
  out.tunnel.reset();
  out.set_bytes(out.bytes);
  if (out.link == LinkLayer::kEthernet && out.status == ParseStatus::kNotRdma) look_inside(out);
  notice_cut(out);
  if (out.truncated) fill(out);
  if (ignore_icrcs_) make_icrc_right(out);
  ++frames_;
  out.number = records_;
  return true;
}

CaptureInterface CaptureReader::interface(std::uint32_t n) const {
  if (!pcap_) return pcapng_.interface(n);
  CaptureInterface described = plain_.described();
  described.link_type = link_type_ == DLT_RAW ? kLinktypeRaw : link_type_;
  described.snapshot = static_cast<std::uint32_t>(std::max(pcap_snapshot(pcap_.get()), 0));
  return described;
}

// R5
void CaptureReader::fill(CapturedFrame& out) {
  if (out.wire_bytes > kMaxFrameBytes) return;
  const std::size_t kept = out.bytes.size();
  filled_.assign(out.bytes.begin(), out.bytes.end());
  filled_.resize(out.wire_bytes);
  Headers h;
  if (parse(filled_, out.link, h) != ParseStatus::kOk || h.payload_offset > kept) return;
  if (kept >= h.icrc_offset + kIcrcBytes) {  // only an FCS, a VCRC or link padding is missing
    out.wire_bytes = static_cast<std::uint32_t>(kept);
    out.truncated = false;
    return;
  }
  ++cut_payloads_;
  if (fill_ == nullptr) return;
  if (h.udp_checksum != 0) store_be16(&filled_[h.bth_offset - 2u], 0);
  fill_(filled_, h);
  out.set_bytes(filled_);
  out.filled_bytes = static_cast<std::uint32_t>(filled_.size() - kept);
}

std::uint64_t CaptureReader::position() const {
  return plain_.reads() && !file_->compressed() ? plain_.position() : file_->position();
}

}  // namespace rxnic
