// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/events_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "bridge/rxnic/command/cli_options.h"
#include "bridge/rxnic/command/parse_text.h"
#include "bridge/rxnic/page/page_file.h"
#include "bridge/rxnic/timeline/konata.h"
#include "bridge/rxnic/timeline/timeline.h"

namespace rxnic {

namespace {
constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostQps = 65536, kMostPackets = 20'000;
}  // namespace

void EventsOption::describe(CLI::App& app) {
  app.add_flag("--events", events_,
               "Write events.rxev into the folder, for rxnic explain: each packet with its stations and waits,\n"
               "completions, frames sent, what each block does, counters over time. With the same result");
  app.add_flag("--timeline", timeline_,
               "The same, and timeline.json for Perfetto (ui.perfetto.dev): a thread a block with a slice for each\n"
               "packet, a flow a message, packets that wait, drops and NAKs");
  app.add_flag("--konata", konata_,
               "The same, and packets.kanata for Konata: a row a packet, its stages, what it waited for");
  app.add_flag(
      "--annotate", annotate_,
      "The same, and annotated.pcapng: the capture again with a comment on each packet (accepted, or the reason\n"
      "of its drop, its message, CQE, times, answers), its number, QP and verdict, for Wireshark and tshark");
  app.add_flag(
      "--html", html_,
      "The same, and report.html: charts, tables and the verdict in one file, which opens in a browser without\n"
      "a network");
  app.add_option("--events-from", from_, "The same, from this time of the model on: 800ns, 1.5us, 2ms")
      ->type_name("TIME");
  app.add_option("--events-to", to_, "The same, up to this time")->type_name("TIME");
  app.add_option("--events-packets", packets_, "The same, of these packets only: 17, or 3,100-200")
      ->type_name("PACKETS");
  app.add_option("--events-qps", qps_, "The same, of these QPs only: 0x11, or 0x11,0x20-0x2f")->type_name("QPS");
  app.add_option("--events-limit", limit_,
                 "Size of events.rxev (a number, or with K, M or G): the file ends there, and a line says how much is\n"
                 "left out; 0: any size")
      ->transform(&size_in_bytes)
      ->type_name("SIZE")
      ->default_str("1G");
}

bool EventsOption::wanted() const {
  return events_ || timeline_ || konata_ || annotate_ || html_ || limit_ || from_ || to_ || packets_ || qps_;
}

EventRequest EventsOption::request(const std::string& folder) const {
  EventRequest r;
  if (!wanted()) return r;
  if (html_) page_script("--html");  // before the run
  r.path = (std::filesystem::path(folder) / kFile).string();
  r.limit = limit_.value_or(kDefaultLimit);
  if (from_) r.time_ps.from = parse_time("--events-from", *from_);
  if (to_) r.time_ps.to = parse_time("--events-to", *to_);
  if (r.time_ps.to <= r.time_ps.from) {
    throw std::invalid_argument(fmt::format("--events-to: found {}; expected a time after {}", to_.value_or("nothing"),
                                            from_ ? "--events-from " + *from_ : "the beginning"));
  }
  if (packets_) r.packets = parse_ranges("--events-packets", *packets_);
  if (!qps_) return r;
  for (const EventRange& range : parse_ranges("--events-qps", *qps_)) {
    if (range.to > 0xffffff || range.to - range.from >= kMostQps) {
      throw std::invalid_argument(
          fmt::format("--events-qps: found '{}'; expected QPNs of 24 bits, at most {} in a range", *qps_, kMostQps));
    }
    for (std::uint64_t qp = range.from; qp <= range.to; ++qp) r.qps.push_back(static_cast<std::uint32_t>(qp));
  }
  return r;
}

std::string EventsOption::write_pictures(const EventRequest& request, const RunResult& result) const {
  std::string said;
  const auto say = [&](const std::string& file, std::uint64_t left_out) {
    said += fmt::format(
        "         {}{}\n", file,
        left_out == 0 ? std::string() : fmt::format(" ({} packets are left out: --events-packets chooses)", left_out));
  };
  const std::filesystem::path folder = std::filesystem::path(request.path).parent_path();
  if (timeline_) {
    RunEvents events(request.path);
    const std::string file = folder / kTimeline;
    say(file, write_timeline(events, file, kMostPackets).left_out);
  }
  if (konata_) {
    RunEvents events(request.path);
    const std::string file = folder / kKonata;
    say(file, write_konata(events, file, kMostPackets).left_out);
  }
  if (html_) say(write_page(folder, result, page_script("--html")), 0);
  return said;
}

}  // namespace rxnic
