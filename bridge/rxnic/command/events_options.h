// SPDX-License-Identifier: Apache-2.0
// --events and the options of what is kept.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "bridge/rxnic/events/event_request.h"
#include "model/system/run_result.h"

namespace rxnic {

class EventsOption {
 public:
  static constexpr const char* kFile = kEventsFile;

  void describe(CLI::App& app);
  bool wanted() const;
  // Into the folder; not wanted(): none. Throws std::invalid_argument.
  EventRequest request(const std::string& folder) const;
  // After the run: the files of --timeline, --konata and --html, made of its events. What is to be said of them, a
  // line each.
  // Throws std::runtime_error.
  std::string write_pictures(const EventRequest& events, const RunResult& result) const;
  // Whether the capture is to be written again, annotated: what reads it does that, since it has more than the events.
  bool annotates() const { return annotate_; }
  static constexpr const char* kTimeline = "timeline.json";
  static constexpr const char* kKonata = "packets.kanata";

 private:
  bool events_ = false, timeline_ = false, konata_ = false, annotate_ = false, html_ = false;
  std::optional<std::string> from_, to_, packets_, qps_;
  std::optional<std::uint64_t> limit_;
};

}  // namespace rxnic
