// SPDX-License-Identifier: Apache-2.0
// --events and the options of what is kept.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "bridge/rxnic/events/event_request.h"

namespace rxnic {

class EventsOption {
 public:
  static constexpr const char* kFile = "events.rxev";

  void describe(CLI::App& app);
  bool wanted() const;
  // Into the folder; not wanted(): none. Throws std::invalid_argument.
  EventRequest request(const std::string& folder) const;

 private:
  bool events_ = false;
  std::optional<std::string> from_, to_, packets_, qps_;
  std::uint64_t limit_ = std::uint64_t{1} << 30;
};

}  // namespace rxnic
