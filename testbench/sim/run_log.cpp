// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace rxnic {

RunLog::RunLog(const std::string& folder) {
  const std::string path = std::filesystem::path(folder) / kRunLogFile;
  file_ = std::fopen(path.c_str(), "we");
  if (file_ == nullptr) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
  std::setvbuf(file_, nullptr, _IOLBF, 0);  // readable during the run, and complete when it is killed
}

void RunLog::note(const std::string& text) {
  const double us = time_ps_ ? static_cast<double>(time_ps_()) * 1e-6 : 0;
  fmt::print(file_, "{:14.3f} us  {}\n", us, text);
}

void RunLog::say(const std::string& text) {
  fmt::print(stderr, "rxnic: {}\n", text);
  note(text);
}

}  // namespace rxnic
