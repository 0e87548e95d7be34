// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that shows the progress of a live run. It has no effect on the results.
//
//   R1  It is shown when it is enabled and standard error is a terminal, and updated at most four times a second.
//   R2  It occupies the terminal's last line, which does not scroll; the program's own output scrolls above it. At the
//       end of the run the terminal is as before.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rxnic {

// What the line is made of.
struct LiveFigures {
  std::uint64_t time_ps = 0;  // model time
  std::uint64_t packets = 0;  // that reached a NIC
  std::uint64_t bytes = 0;    // of payload
  std::uint64_t clients = 0;
};

class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;
  explicit StatusLine(bool enabled);
  ~StatusLine() { clear(); }

  bool due(Clock::time_point now) const { return enabled_ && now >= next_; }
  // Rates are those since the last call.
  void show(Clock::time_point now, const LiveFigures& figures);
  // The line goes away (R2).
  void clear();

  // The line's text: `before` and `now` are `wall_s` seconds apart.
  static std::string text(const LiveFigures& before, const LiveFigures& now, double wall_s);

 private:
  bool enabled_;
  unsigned rows_ = 0;  // of the terminal, 0: nothing is drawn
  LiveFigures last_;
  Clock::time_point last_at_;
  Clock::time_point next_;
};

}  // namespace rxnic
