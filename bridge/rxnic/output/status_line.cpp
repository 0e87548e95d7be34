// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/output/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "model/system/units.h"

namespace rxnic {

namespace {
constexpr auto kRedrawInterval = std::chrono::milliseconds(250);
constexpr double kPsPerSecond = 1e12;
}  // namespace

StatusLine::StatusLine(bool enabled)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), last_at_(Clock::now()), next_(last_at_ + kRedrawInterval) {}

std::string StatusLine::text(const LiveFigures& before, const LiveFigures& now, double wall_s) {
  std::string line = fmt::format("rxnic: {} of model time, {} packets", time_text(now.time_ps), now.packets);
  const double model_s = static_cast<double>(now.time_ps - before.time_ps) / kPsPerSecond;
  if (model_s > 0 && now.packets != before.packets) {
    line += fmt::format(", {}packets/s, {:.2f} Gb/s, slowdown {:.0f}",
                        with_prefix(static_cast<double>(now.packets - before.packets) / model_s),
                        static_cast<double>(now.bytes - before.bytes) * 8e-9 / model_s, wall_s / model_s);
  } else {
    line += ", idle";
  }
  return line + fmt::format(", {} client{}", now.clients, now.clients == 1 ? "" : "s");
}

void StatusLine::show(Clock::time_point now, const LiveFigures& figures) {
  if (!enabled_) return;
  next_ = now + kRedrawInterval;
  winsize terminal{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &terminal) != 0 || terminal.ws_row < 3 || terminal.ws_col < 20) return;
  if (terminal.ws_row != rows_) {
    // Room for the line, then the rest of the terminal is what scrolls; the cursor stays where the program left it.
    rows_ = terminal.ws_row;
    fmt::print(stderr, "\n\0337\033[1;{}r\0338\033[1A", rows_ - 1);
  }
  std::string line = text(last_, figures, std::chrono::duration<double>(now - last_at_).count());
  line.resize(std::min<std::size_t>(line.size(), terminal.ws_col));
  fmt::print(stderr, "\0337\033[{};1H\033[K{}\0338", rows_, line);
  std::fflush(stderr);
  last_ = figures;
  last_at_ = now;
}

void StatusLine::clear() {
  if (rows_ == 0) return;
  fmt::print(stderr, "\0337\033[{};1H\033[K\033[r\0338", rows_);
  std::fflush(stderr);
  rows_ = 0;
}

}  // namespace rxnic
