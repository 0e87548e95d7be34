// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/ending.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <cstring>
#include <stdexcept>

#include "bridge/rxnic/live/process_tree.h"

namespace rxnic {

namespace {

constexpr double kLongestGrace = 86'400;  // s

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace

void Ending::begin(const std::string& why) {
  if (stage_ != Stage::kNone) return;
  stage_ = Stage::kBegun;
  if (grace_) due_ = Clock::now() + *grace_;
  if (why.empty()) return;
  say_(why + (grace_ ? "; what else the run has started has " + seconds(*grace_) + " to end (--grace)"
                     : "; what else the run has started is let be (--grace off)"));
}

void Ending::advance() {
  if (!under_way() || Clock::now() < due_) return;
  if (stage_ == Stage::kTerminated) {
    finish(fmt::format("not ended {} after SIGTERM, ", seconds(*grace_)));
    return;
  }
  stage_ = Stage::kTerminated;
  due_ = Clock::now() + *grace_;
  const std::vector<std::string> reached = signal_descendants(SIGTERM);
  if (reached.empty()) return;
  say_(fmt::format("not ended after {}, sent SIGTERM: {}", seconds(*grace_), fmt::join(reached, ", ")));
}

void Ending::finish(const std::string& why) {
  stage_ = Stage::kKilled;
  const auto [names, not_gone] = kill_descendants(on_end_);
  if (!names.empty()) say_(fmt::format("{}killed: {}", why, fmt::join(names, ", ")));
  if (!not_gone.empty()) {
    say_(fmt::format("not waited for, because the kernel does not end them: {}", fmt::join(not_gone, ", ")));
  }
}

std::string signal_text(int signal) { return fmt::format("{} ({})", signal, strsignal(signal)); }

Ending::Grace parse_grace(const std::string& text) {
  if (text == "off") return std::nullopt;
  double seconds = -1;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || at != end || !(seconds >= 0 && seconds <= kLongestGrace)) {
    throw std::invalid_argument(
        fmt::format("--grace: found '{}'; expected seconds, 0 to {}, or off", text, kLongestGrace));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace rxnic
