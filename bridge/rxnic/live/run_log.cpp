// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "bridge/rxnic/output/standard_streams.h"
#include "model/params/private_file.h"

namespace rxnic {

RunLog::RunLog(const std::string& folder)
    : path_(std::filesystem::path(folder) / kRunLogFile), file_(open_to_write(path_)) {
  std::setvbuf(file_, nullptr, _IOLBF, 0);  // readable during the run, and complete when it is killed
}

void RunLog::note(const std::string& text) {
  const double us = time_ps_ ? static_cast<double>(time_ps_()) * 1e-6 : 0;
  const std::string line = fmt::format("{:14.3f} us  {}\n", us, text);
  if (std::fputs(line.c_str(), file_) < 0 && error_ == 0) error_ = errno;
}

void RunLog::say(const std::string& text) {
  print_message(text);
  note(text);
}

}  // namespace rxnic
