// SPDX-License-Identifier: Apache-2.0
// log.txt of a live run: which programs attached and left, and every message printed, each line with its model time.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace rxnic {

inline constexpr const char* kRunLogFile = "log.txt";

class RunLog {
 public:
  // Throws std::runtime_error when the file cannot be made in `folder`.
  explicit RunLog(const std::string& folder);
  RunLog(const RunLog&) = delete;
  ~RunLog() { std::fclose(file_); }

  // Model time of the following lines, in ps. Without a value they have none: before and after the simulation.
  void set_clock(std::function<std::uint64_t()> time_ps) { time_ps_ = std::move(time_ps); }
  void note(const std::string& text);
  // Also on standard error.
  void say(const std::string& text);
  // errno of the first line that could not be written; 0: all of them were.
  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::FILE* file_;
  int error_ = 0;
  std::function<std::uint64_t()> time_ps_;
};

}  // namespace rxnic
