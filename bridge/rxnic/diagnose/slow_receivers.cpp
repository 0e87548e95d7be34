// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/slow_receivers.h"

#include <fmt/format.h>

#include <algorithm>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/diagnose/occurrence_words.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr std::size_t kFewestAnswers = 8;
constexpr std::uint64_t kSlower = 10, kStall = 100;
constexpr std::uint64_t kLeastStallPs = 1'000'000'000;

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// How long the model takes to answer a packet to that receiver, in the median; 0: it answers none.
std::uint64_t answer_of_model(const DiagnoseOptions& options, const std::string& receiver) {
  constexpr std::size_t kMostPackets = std::size_t{1} << 22;
  std::vector<std::uint64_t> arrived;  // by number
  {
    CaptureReader reader(options.capture);
    for (CapturedFrame frame; arrived.size() < kMostPackets && reader.next(frame);) arrived.push_back(frame.time_ps);
  }
  std::vector<std::uint64_t> delays;
  ReplayOptions o;
  o.trace = options.capture;
  o.receiver = receiver;
  o.config = options.config;
  o.overrides = options.overrides;
  o.udp_ports = options.udp_ports;
  o.fill_truncated = o.ignore_icrcs = true;
  o.on_answer = [&](std::uint64_t answered, std::uint64_t time_ps) {
    if (answered == 0 || answered > arrived.size() || time_ps < arrived[answered - 1]) return;
    if (delays.size() < kMostPackets) delays.push_back(time_ps - arrived[answered - 1]);
  };
  replay(o);
  return median(std::move(delays));
}

// One answer that took much longer than the others of its QP.
void find_stall(const Direction& q, Diagnosis& d) {
  const Direction::Slowest& s = q.slowest();
  if (q.delays().size() < kFewestAnswers || s.ps < kLeastStallPs) return;
  const std::uint64_t usual = median(q.delays());
  if (s.ps < kStall * std::max<std::uint64_t>(usual, 1)) return;
  Finding f = finding_of(q, FindingCause::kSlowReceiver, Weight::kCostsTime);
  f.count = 1;
  f.psn = s.psn;
  f.packets = {s.request.number, s.answer.number};
  f.from_ps = s.request.ps;
  f.stalled_ps = s.ps - usual;
  f.words = fmt::format(
      "{}: the answer to PSN {} (packet {}) came {} later, in packet {}; others take {} in the median",
      direction_text(q.ends()), s.psn.value, s.request.number, time_text(s.ps), s.answer.number, time_text(usual));
  d.findings.push_back(std::move(f));
}

}  // namespace

void find_slow_receivers(const Connections& connections, const DiagnoseOptions& options, Diagnosis& d) {
  struct OfResponder {
    std::vector<std::pair<const Direction*, std::uint64_t>> medians;
  };
  std::map<std::string, OfResponder> responders;
  for (const Direction& q : connections.directions()) find_stall(q, d);
  for (const Direction& q : connections.directions()) {
    if (q.delays().size() < kFewestAnswers) continue;
    responders[q.ends().responder.text()].medians.emplace_back(&q, median(q.delays()));
  }
  for (const auto& [receiver, of] : responders) {
    if (of.medians.size() < 2) continue;
    std::optional<std::uint64_t> model;
    for (const auto& [q, delay] : of.medians) {
      std::vector<std::uint64_t> others;
      for (const auto& [other, other_delay] : of.medians) {
        if (other != q) others.push_back(other_delay);
      }
      const std::uint64_t usual = median(std::move(others));
      if (delay < kSlower * std::max<std::uint64_t>(usual, 1)) continue;
      if (!model) model = answer_of_model(options, receiver);
      if (delay < kSlower * *model) continue;
      Finding f = finding_of(*q, FindingCause::kSlowReceiver, Weight::kCostsTime);
      f.count = q->delays().size();
      f.packets = {q->first().number, q->last().number};
      f.from_ps = q->first().ps;
      f.stalled_ps = (delay - usual) * q->delays().size();
      f.words = fmt::format(
          "{}: an ACK comes {} after its request in the median of {}; those of the other QPs of {} come after {}, and "
          "the model needs {}: the responder is late with this QP",
          direction_text(q->ends()), time_text(delay), q->delays().size(), receiver, time_text(usual),
          *model == 0 ? "no answer" : time_text(*model));
      d.findings.push_back(std::move(f));
    }
  }
}

}  // namespace rxnic
