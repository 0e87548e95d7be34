// SPDX-License-Identifier: Apache-2.0
// A progress bar on the terminal for work that takes longer than two seconds. It has no effect on the results.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rxnic {

class Progress {
 public:
  // Draws on standard error when `enabled` and when that is a terminal.
  Progress(std::string what, bool enabled);
  ~Progress();
  // `done` of `total`, with a text after the bar. Cheap: reads the clock, draws ten times a second at most.
  void update(std::uint64_t done, std::uint64_t total, const std::string& text);
  bool drawing() const { return enabled_; }

 private:
  std::string what_;
  bool enabled_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace rxnic
