// SPDX-License-Identifier: Apache-2.0
// How everything that a run has started is ended when it does not end by itself.
//
//   R1  What is left `grace` after begin() is sent SIGTERM; what is left after the same time again is killed. Each time
//       a message names the processes.
//   R2  Without a grace nothing is sent (--grace off).
//   R3  The first begin() counts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace rxnic {

class Ending {
 public:
  using Clock = std::chrono::steady_clock;
  using Grace = std::optional<std::chrono::milliseconds>;

  // say: a line for the user. on_end: a child of this process that was killed, and its status, as of waitpid.
  Ending(Grace grace, std::function<void(const std::string&)> say, std::function<void(pid_t, int)> on_end)
      : grace_(grace), say_(std::move(say)), on_end_(std::move(on_end)) {}

  // `why`: for the user; empty: they know.
  void begin(const std::string& why);
  // Does what is due (R1); to be called every now and then.
  void advance();
  // Kills at once; `why` precedes "killed".
  void finish(const std::string& why = {});
  bool finished() const { return stage_ == Stage::kKilled; }
  // Something will be sent to what is left.
  bool under_way() const { return grace_ && (stage_ == Stage::kBegun || stage_ == Stage::kTerminated); }

 private:
  enum class Stage { kNone, kBegun, kTerminated, kKilled };
  Grace grace_;
  std::function<void(const std::string&)> say_;
  std::function<void(pid_t, int)> on_end_;
  Stage stage_ = Stage::kNone;
  Clock::time_point due_;
};

// "9 (Killed)".
std::string signal_text(int signal);
// Seconds ("2", "0.5") or "off". Throws std::invalid_argument.
Ending::Grace parse_grace(const std::string& text);

}  // namespace rxnic
