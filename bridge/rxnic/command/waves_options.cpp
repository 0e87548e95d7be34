// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/waves_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "bridge/rxnic/command/parse_text.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kDefaultMargin = 1000;
constexpr std::uint64_t kMostMargin = 1'000'000;  // cycles that are kept in memory before the packet comes

}  // namespace

void WavesOption::describe(CLI::App& app) {
  app.add_flag(
      "--waves", waves_,
      "Write waves.vcd into the folder: clock, every port's handshake and descriptor, the packet on it, every\n"
      "block's activity; and waves.gtkw for GTKWave. Slower, with the same result");
  app.add_option("--waves-from", from_, "The same, from this time of the model on: 800ns, 1.5us, 2ms")
      ->type_name("TIME");
  app.add_option("--waves-to", to_, "The same, up to this time")->type_name("TIME");
  app.add_option("--waves-around", around_,
                 fmt::format("The same, from CYCLES before packet PACKET arrives until CYCLES after it has left\n"
                             "(default: {}); its number is that in the trace, of programs in wire.pcap",
                             kDefaultMargin))
      ->type_name("PACKET[,CYCLES]");
}

bool WavesOption::wanted() const { return waves_ || from_ || to_ || around_; }

WavesRequest WavesOption::request(const std::string& folder) const {
  WavesRequest r;
  if (!wanted()) return r;
  r.path = (std::filesystem::path(folder) / kFile).string();
  if (from_) r.from_ps = parse_time("--waves-from", *from_);
  if (to_) r.to_ps = parse_time("--waves-to", *to_);
  if (r.to_ps <= r.from_ps) {
    throw std::invalid_argument(fmt::format("--waves-to: found {}; expected a time after {}", to_.value_or("nothing"),
                                            from_ ? "--waves-from " + *from_ : "the beginning"));
  }
  if (!around_) return r;
  if (from_ || to_) {
    throw std::invalid_argument("--waves-around: found with --waves-from or --waves-to; expected one window");
  }
  const std::string_view text = *around_;
  const std::size_t comma = text.find(',');
  r.margin_cycles = kDefaultMargin;
  const bool good = parse_number(text.substr(0, comma), r.packet) && r.packet > 0 &&
                    (comma == text.npos || parse_number(text.substr(comma + 1), r.margin_cycles));
  if (!good || r.margin_cycles > kMostMargin) {
    throw std::invalid_argument(
        fmt::format("--waves-around: found '{}'; expected PACKET, counted from 1, or PACKET,CYCLES with 0 to {} cycles",
                    *around_, kMostMargin));
  }
  return r;
}

}  // namespace rxnic
