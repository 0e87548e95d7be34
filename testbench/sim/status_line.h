// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how a live run is doing. Nothing of it reaches a result.
//
//   R1  It is there only when enabled and when standard error is a terminal, four times a second at most.
//   R2  It is the terminal's last line, which is taken out of the part that scrolls: what the program prints goes on as
//       if it was not there. At the end of the run the terminal is as before.
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
