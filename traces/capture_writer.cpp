// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_writer.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "model/params/private_file.h"

namespace rxnic {
namespace {
constexpr int kSnapLength = 262144;
constexpr std::size_t kCaptureBufferBytes = std::size_t{1} << 18;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kPsPerNanosecond = 1000;

std::FILE* open_capture(const std::string& path) try { return open_to_write(path); } catch (const Unwritable& e) {
  throw TraceError(path, 0, e.why, "a file that can be written");
}
}  // namespace

void CaptureWriter::Closer::operator()(::pcap* p) const { pcap_close(p); }
void CaptureWriter::Closer::operator()(::pcap_dumper* d) const { pcap_dump_close(d); }

CaptureWriter::CaptureWriter(const std::string& path, LinkLayer link, CaptureTime start) : path_(path), start_(start) {
  pcap_.reset(pcap_open_dead_with_tstamp_precision(link == LinkLayer::kInfiniband ? DLT_INFINIBAND : DLT_EN10MB,
                                                   kSnapLength, PCAP_TSTAMP_PRECISION_NANO));
  std::FILE* const file = open_capture(path);
  std::setvbuf(file, nullptr, _IOFBF, kCaptureBufferBytes);
  dumper_.reset(pcap_dump_fopen(pcap_.get(), file));
  if (!dumper_) {
    std::fclose(file);
    throw TraceError(path_, 0, pcap_geterr(pcap_.get()), "a file that can be written");
  }
  check(pcap_dump_flush(dumper_.get()) == 0);  // the file's header
}

// R2
void CaptureWriter::check(bool good) const {
  if (!good) throw TraceError(path_, frames_, std::strerror(errno), "a file that can be written");
}

void CaptureWriter::write(std::uint64_t time_ps, Bytes frame, std::uint32_t wire_bytes) {
  pcap_pkthdr header{};
  const std::uint64_t since = static_cast<std::uint64_t>(start_.nanoseconds) + time_ps / kPsPerNanosecond;
  header.ts.tv_sec = start_.seconds + static_cast<std::int64_t>(since / kNanosecondsPerSecond);
  header.ts.tv_usec = static_cast<decltype(header.ts.tv_usec)>(since % kNanosecondsPerSecond);  // nanoseconds
  header.caplen = static_cast<bpf_u_int32>(frame.size());
  header.len = std::max(wire_bytes, header.caplen);
  ++frames_;
  pcap_dump(reinterpret_cast<u_char*>(dumper_.get()), &header, frame.data());
  check(!std::ferror(pcap_dump_file(dumper_.get())));
}

void CaptureWriter::close() {
  if (!dumper_) return;
  const bool good = pcap_dump_flush(dumper_.get()) == 0 && !std::ferror(pcap_dump_file(dumper_.get()));
  const int why = errno;
  dumper_.reset();
  errno = why;
  check(good);
}

}  // namespace rxnic
