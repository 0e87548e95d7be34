// SPDX-License-Identifier: Apache-2.0
// Lines about what programs do, so many of them a second at most.
//
//   R1  `burst` lines at once, then `per_second`. Lines beyond these are left out, and the next line is preceded by one
//       that gives their number. report() gives it when no further line comes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace rxnic {

class LineLimiter {
 public:
  using Clock = std::chrono::steady_clock;
  using Sink = std::function<void(const std::string&)>;
  LineLimiter(double burst, double per_second, Sink sink)
      : burst_(burst), per_second_(per_second), sink_(std::move(sink)), left_(burst) {}

  void say(const std::string& line, Clock::time_point now = Clock::now()) {
    refill(now);
    if (left_ < 1) {
      ++left_out_;
      return;
    }
    report_now();
    left_ -= 1;
    sink_(line);
  }
  // Says what was left out, if lines may be said again.
  void report(Clock::time_point now = Clock::now()) {
    if (left_out_ == 0) return;
    refill(now);
    if (left_ >= 1) report_now();
  }
  // At the end.
  void report_now() {
    if (left_out_ == 0) return;
    sink_(std::to_string(std::exchange(left_out_, 0)) + " further lines were left out");
  }

 private:
  void refill(Clock::time_point now) {
    left_ = std::min(burst_, left_ + std::chrono::duration<double>(now - last_).count() * per_second_);
    last_ = now;
  }

  double burst_, per_second_;
  Sink sink_;
  double left_;  // lines that may be said now
  Clock::time_point last_ = Clock::now();
  std::uint64_t left_out_ = 0;
};

}  // namespace rxnic
