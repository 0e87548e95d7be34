// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rxnic {

namespace {
constexpr auto kQuietFor = std::chrono::seconds(2);
constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr int kProgressColumns = 30;
}  // namespace

Progress::Progress(std::string what, bool enabled)
    : what_(std::move(what)),
      enabled_(enabled && isatty(STDERR_FILENO) == 1),
      started_(std::chrono::steady_clock::now()),
      next_(started_ + kQuietFor) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total, const std::string& text) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kPollInterval;
  drawn_ = true;
  const double share = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int full = static_cast<int>(share * kProgressColumns);
  std::string bar;
  for (int i = 0; i < kProgressColumns; ++i) bar += i < full ? "━" : "─";
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double left = share > 0 ? seconds * (1 - share) / share : 0;
  fmt::print(stderr, "\r\033[K{} {} {:3.0f} %  {}  {:.0f} s left", what_, bar, share * 100, text, left);
  std::fflush(stderr);
}

}  // namespace rxnic
