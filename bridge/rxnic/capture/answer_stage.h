// SPDX-License-Identifier: Apache-2.0
// The model's answers and those of the capture, in the order in which the simulation meets them: responses.pcap, and
// the comparison. Behind the simulation (stage.h), which waits for none of it.
#pragma once

#include <vector>

#include "bridge/rxnic/capture/response_file.h"
#include "bridge/rxnic/capture/stage.h"
#include "traces/answer_compare.h"

namespace rxnic {

class AnswerStage {
 public:
  // Both are its own until finish().
  AnswerStage(AnswerCompare& compare, ResponseFile& file, bool thread)
      : compare_(compare), file_(file), behind_([this](Log& log) { carry_out(log); }, thread) {}

  // As AnswerCompare has them. All throw TraceError: an answer before could not be written.
  void request(const Headers& h) { add({.kind = Kind::kRequest}, h); }
  void captured(const Headers& h, std::uint64_t packet) { add({.kind = Kind::kCaptured, .number = packet}, h); }
  void leave_out(Uncompared reason, std::uint64_t packet) {
    add({.kind = Kind::kLeftOut, .reason = reason, .number = packet});
  }
  void restart(const Address& peer, Qpn own);
  // What the model sends; its last byte left at `time_ps`. `written`: it goes into the file.
  void model(Bytes frame, LinkLayer link, std::uint64_t time_ps, bool written);
  // All of it was carried out. Throws likewise.
  void finish();

 private:
  enum class Kind : std::uint8_t { kRequest, kCaptured, kLeftOut, kRestart, kModel };
  struct Entry {
    Kind kind{};
    LinkLayer link{};
    bool written = false;
    Uncompared reason{};
    std::uint32_t bytes = 0;   // of kModel
    std::uint64_t number = 0;  // of the packet; of kModel: time_ps
  };
  struct Log {
    std::vector<Entry> entries;
    std::vector<Headers> headers;      // of requests and captured answers; a restart has its peer and QP there
    std::vector<std::uint8_t> frames;  // of the model
  };
  static constexpr std::size_t kEntries = 256, kBytes = std::size_t{1} << 15;  // of a log, then it is passed on

  void add(const Entry& entry) {
    log_.entries.push_back(entry);
    if (log_.entries.size() >= kEntries || log_.frames.size() >= kBytes) behind_.add(log_);
  }
  void add(const Entry& entry, const Headers& h) {
    log_.headers.push_back(h);
    add(entry);
  }
  void carry_out(Log& log);
  void model(Bytes frame, const Entry& entry);

  AnswerCompare& compare_;
  ResponseFile& file_;
  std::uint64_t sent_ = 0;  // by the model
  Log log_;
  Behind<Log> behind_;
};

}  // namespace rxnic
