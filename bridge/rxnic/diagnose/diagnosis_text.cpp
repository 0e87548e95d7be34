// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/diagnose/finding.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr std::size_t kWidth = 80, kTimelineShown = 12;

// Lines of at most kWidth columns, the later ones indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (column != 0 && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out += std::string(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out + '\n';
}

std::string numbers_of(const std::vector<std::uint64_t>& packets) {
  constexpr std::size_t kNamed = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(packets.size(), kNamed); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", packets[i]);
  }
  return packets.size() > kNamed ? out + fmt::format(" and {} more", packets.size() - kNamed) : out;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& d, std::size_t most) {
  std::string captures;
  for (const std::string& capture : d.captures) captures += (captures.empty() ? "" : " and ") + capture;
  const auto hints = static_cast<std::size_t>(std::ranges::count(d.findings, Weight::kHint, &Finding::weight));
  std::string out;
  const std::string size =
      fmt::format("{} packets, {} of RDMA, in {}", count_text(d.packets), count_text(d.rdma), time_text(d.duration_ps));
  const auto counted = [](std::uint64_t n, const char* what) {
    return fmt::format("{} {}{}", count_text(n), what, n == 1 ? "" : "s");
  };
  if (d.directions == 0 && d.findings.empty()) {
    out += wrapped(fmt::format("{}: no request to a QP that could be judged ({}).", captures, size), 0);
  } else if (d.findings.empty()) {
    out += wrapped(
        fmt::format("{}: nothing is wrong in {} of QPs ({}).", captures, counted(d.directions, "direction"), size), 0);
  } else {
    out += wrapped(fmt::format("{}: {} of {} of QPs {} sick: {} and {} ({}).", captures, count_text(d.sick_qps),
                               counted(d.directions, "direction"), d.sick_qps == 1 ? "is" : "are",
                               counted(d.findings.size() - hints, "finding"), counted(hints, "hint"), size),
                   0);
  }
  for (std::size_t i = 0; i < std::min(most, d.findings.size()); ++i) {
    const Finding& f = d.findings[i];
    const char* const weight = f.weight == Weight::kFatal ? ", fatal" : f.weight == Weight::kHint ? ", a hint" : "";
    std::string head = fmt::format("\n{}. {}{}", i + 1, title_of(f.cause), weight);
    if (f.qp) head += fmt::format(", QP {:#x}", raw(*f.qp));
    if (f.stalled_ps != 0 && f.weight == Weight::kCostsTime) head += fmt::format(", cost {}", time_text(f.stalled_ps));
    out += head + '\n';
    out += wrapped(f.words + '.', 3);
    if (!f.packets.empty()) out += wrapped((f.packets.size() == 1 ? "packet " : "packets ") + numbers_of(f.packets), 3);
  }
  if (d.findings.size() > most)
    out += fmt::format("\nand {} findings more: --most {}\n", d.findings.size() - most, d.findings.size());
  if (!d.timeline.empty()) out += "\ncongestion and pauses by time:\n";
  for (std::size_t i = 0; i < std::min(kTimelineShown, d.timeline.size()); ++i) {
    const CongestionEvent& e = d.timeline[i];
    out += fmt::format("{:>12}  packet {:<9} {:<7}{}\n", time_text(e.time_ps), e.packet, e.kind,
                       e.qp ? fmt::format("QP {:#x}", raw(*e.qp)) : "");
  }
  if (const std::size_t all = d.timeline.size() + d.timeline_left_out; all > kTimelineShown) {
    out += fmt::format("and {} more: --json\n", count_text(all - kTimelineShown));
  }
  if (!d.notes.empty()) out += "\nassumed, and what the capture does not tell:\n";
  for (const std::string& note : d.notes) out += wrapped("- " + note, 2);
  return out;
}

}  // namespace rxnic
