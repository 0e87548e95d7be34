// SPDX-License-Identifier: Apache-2.0
// responses.pcap: the frames that the model sends, on the clock of what came to it (RESPONSES.md).
//
//   R1  Frames on another link layer than the first one's go to a file of their own, other_responses().
//   R2  From the first frame on that would exceed the limit nothing is written: the file has no gaps.
#pragma once

#include <memory>
#include <string>

#include "model/types/wire.h"
#include "traces/capture_writer.h"

namespace rxnic {

class ResponseFile {
 public:
  // Empty path: nothing is written. `limit`: bytes, 0: any.
  ResponseFile(std::string path, std::uint64_t limit, CaptureTime start)
      : path_(std::move(path)), limit_(limit), start_(start) {}

  // Counts a frame of so many bytes. Whether it is to be written (R2).
  bool takes(std::size_t bytes);
  // In the order of takes(), which another thread may call meanwhile. A frame that is not `taken` is left out.
  void write(Bytes frame, LinkLayer link, std::uint64_t time_ps, bool taken);
  // A file without frames is of link layer `link`.
  void close(LinkLayer link);
  std::uint64_t left_out() const { return left_out_; }  // frames (R2)
  // "3 of 10 frames are left out of responses.pcap: ..."; empty: none.
  std::string left_out_text(std::uint64_t frames) const;

 private:
  static constexpr std::uint64_t kFileHeaderBytes = 24, kRecordHeaderBytes = 16;  // of pcap
  CaptureWriter& writer(LinkLayer link);

  std::string path_;
  std::uint64_t limit_;
  CaptureTime start_;
  LinkLayer link_ = LinkLayer::kEthernet;  // of writer_
  std::uint64_t bytes_ = kFileHeaderBytes;
  std::uint64_t left_out_ = 0;
  std::unique_ptr<CaptureWriter> writer_, other_writer_;
};

// Where answers on `link` go when the first one of the run was on the other link layer.
std::string other_responses(const std::string& responses_path, LinkLayer link);

}  // namespace rxnic
