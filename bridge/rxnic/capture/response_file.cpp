// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/response_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace rxnic {

bool ResponseFile::takes(std::size_t bytes) {
  if (path_.empty()) return false;
  bytes_ += kRecordHeaderBytes + bytes;
  if (left_out_ == 0 && (limit_ == 0 || bytes_ <= limit_)) return true;
  ++left_out_;
  return false;
}

void ResponseFile::write(Bytes frame, LinkLayer link, std::uint64_t time_ps, bool taken) {
  if (path_.empty()) return;
  CaptureWriter& to = writer(link);
  if (taken) to.write(time_ps, frame);
}

CaptureWriter& ResponseFile::writer(LinkLayer link) {
  if (!writer_) {
    writer_ = std::make_unique<CaptureWriter>(path_, link, start_);
    link_ = link;
  }
  if (link == link_) return *writer_;
  if (!other_writer_) other_writer_ = std::make_unique<CaptureWriter>(other_responses(path_, link), link, start_);
  return *other_writer_;
}

void ResponseFile::close(LinkLayer link) {
  if (path_.empty()) return;
  if (!writer_) writer(link);
  writer_->close();
  if (other_writer_) other_writer_->close();
}

std::string ResponseFile::left_out_text(std::uint64_t frames) const {
  if (left_out_ == 0) return {};
  return fmt::format("{} of {} frames are left out of {}: it is full with {} bytes (--responses-limit)", left_out_,
                     frames, std::filesystem::path(path_).filename().string(), limit_);
}

std::string other_responses(const std::string& responses_path, LinkLayer link) {
  const char* const extension = link == LinkLayer::kInfiniband ? ".infiniband.pcap" : ".ethernet.pcap";
  return std::filesystem::path(responses_path).replace_extension(extension);
}

}  // namespace rxnic
