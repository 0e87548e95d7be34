// SPDX-License-Identifier: Apache-2.0
// Writes frames as pcap with nanosecond timestamps, Ethernet or InfiniBand (DLT_INFINIBAND).
//
//   R1  Frames are written as they come, time_ps after `start`, rounded down to nanoseconds.
//   R2  A full disk or any other write error is a TraceError: from write() when it shows there, from close() at the
//       latest. A writer that is destroyed without close() closes the file and reports no error.
#pragma once

#include <memory>
#include <string>

#include "model/types/wire.h"
#include "traces/capture_time.h"
#include "traces/trace_error.h"

struct pcap;
struct pcap_dumper;

namespace rxnic {

class CaptureWriter {
 public:
  // Creates or empties the file. Throws TraceError.
  CaptureWriter(const std::string& path, LinkLayer link, CaptureTime start = {});
  // `wire_bytes`: the frame's length on the wire when that is more than is given (0: as given).
  void write(std::uint64_t time_ps, Bytes frame, std::uint32_t wire_bytes = 0);
  void close();
  std::uint64_t frames() const { return frames_; }
  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(::pcap* p) const;
    void operator()(::pcap_dumper* d) const;
  };
  void check(bool good) const;

  std::string path_;
  CaptureTime start_;
  std::unique_ptr<::pcap, Closer> pcap_;
  std::unique_ptr<::pcap_dumper, Closer> dumper_;
  std::uint64_t frames_ = 0;
};

}  // namespace rxnic
