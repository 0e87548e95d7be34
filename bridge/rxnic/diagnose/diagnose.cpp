// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bridge/rxnic/capture/capture_notes.h"
#include "bridge/rxnic/capture/frames_ahead.h"
#include "bridge/rxnic/capture/survey_run.h"
#include "bridge/rxnic/diagnose/both_ends.h"
#include "bridge/rxnic/diagnose/link_findings.h"
#include "bridge/rxnic/diagnose/occurrence_words.h"
#include "bridge/rxnic/diagnose/slow_receivers.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/params/config.h"

namespace rxnic {

namespace {

std::uint64_t wrong_icrcs(const CaptureSurvey& survey) { return survey.census().unreadable(DropReason::kIcrc).packets; }

void note_connections(const Connections& connections, const CaptureReader& reader, Diagnosis& d) {
  std::uint64_t ambiguous = 0, unanswered = 0, reliable = 0;
  for (const Direction& q : connections.directions()) {
    if (!is_reliable(q.ends().transport) || q.requests() == 0) continue;
    ++reliable;
    ambiguous += q.ends().ambiguous;
    unanswered += q.responses() == 0;
  }
  if (ambiguous != 0) {
    d.notes.push_back(fmt::format(
        "the pairing of {} QPs is ambiguous: NAKs and ACKs may be told of a wrong QP of theirs", ambiguous));
  }
  if (unanswered != 0) {
    d.notes.push_back(
        fmt::format("of {} of {} directions the capture holds no answer: whether their requests arrived is not known",
                    unanswered, reliable));
  }
  if (connections.unpaired() != 0) {
    d.notes.push_back(
        fmt::format("{} to no request of the capture", connections.unpaired() == 1
                                                           ? std::string("1 answer belongs")
                                                           : fmt::format("{} answers belong", connections.unpaired())));
  }
  if (connections.beyond() != 0) {
    d.notes.push_back(fmt::format("{} requests of more than {} directions were not looked at", connections.beyond(),
                                  Connections::kMostDirections));
  }
  if (reader.cut_short()) d.notes.push_back("the capture ends early: " + reader.cut_reason());
  if (reader.cut_payloads() != 0) {
    d.notes.push_back(
        fmt::format("{} packets were cut by the capture: their ICRCs cannot be checked", reader.cut_payloads()));
  }
  if (reader.clock_steps() != 0) {
    d.notes.push_back(fmt::format("the clock of the capture steps back at {} packets", reader.clock_steps()));
  }
}

}  // namespace

Diagnosis diagnose(const DiagnoseOptions& o) {
  const Params params = load_config(o.config, o.overrides);
  Diagnosis d;
  d.captures.push_back(o.capture);
  const std::uint64_t quantum_ps = pause_quantum_ps(params.nic.link_gbps);
  const SurveyLimits limits{.icrc_matches = &icrc_matches, .pause_quantum_ps = quantum_ps};

  // (1) survey (R1)
  CaptureReader reader(o.capture);
  reader.fill_cut_payloads(&seal);
  reader.read_as_roce(o.udp_ports, &icrc_matches, &seal);
  Progress surveying("survey", o.progress);
  SurveyedCapture found = survey_run(reader, limits, surveying, has_second_core());
  const SurveyCounts& counts = found.survey.counts();
  if (const std::uint64_t wrong = wrong_icrcs(found.survey); 2 * wrong > counts.rdma + counts.damaged) {
    d.notes.push_back(fmt::format("{} of {} ICRCs are wrong: the capture does not keep them, they are taken as right",
                                  wrong, counts.rdma + counts.damaged));
    reader = CaptureReader(o.capture);
    reader.fill_cut_payloads(&seal);
    reader.read_as_roce(o.udp_ports, &icrc_matches, &seal);
    reader.take_icrcs_as_right(&icrc_matches, &seal);
    found = survey_run(reader, limits, surveying, has_second_core());
  }
  d.packets = reader.frames();
  d.rdma = found.survey.counts().rdma + found.survey.counts().damaged;

  // (2) every packet
  Connections connections(found.survey);
  Management management;
  for (const SnifferEffects::Move& m : found.effects.moves) connections.overtaken(m.flow, m.until);
  reader.rewind();
  SnifferFilter filter(reader, found.effects);
  Progress looking("diagnose", o.progress);
  auto restart = found.effects.restarts.begin();
  const auto next = [&filter](FrameAhead& frame) {
    if (!filter.next(frame)) return false;
    frame.reason = unreadable_reason(frame, &wrong_checksum);
    return true;
  };
  FramesAhead frames(reader, next, has_second_core());
  while (const FrameAhead* frame_at = frames.next()) {
    const FrameAhead& frame = *frame_at;
    d.duration_ps = std::max(d.duration_ps, frame.time_ps);
    const Headers& h = frame.headers;
    if (frame.number % 4096 == 0 && looking.drawing()) {
      looking.update(frames.position(), reader.size(), fmt::format("{} packets", frame.number));
    }
    if (frame.status == ParseStatus::kNotRdma) continue;
    const At at{frame.number, frame.time_ps};
    while (restart != found.effects.restarts.end() && restart->packet <= frame.number) {
      connections.restart(restart->flow);
      ++restart;
    }
    if (frame.reason != DropReason::kNone) {
      if (lengths_agree(frame.status)) connections.damaged(h, frame.reason, at);
      continue;
    }
    if (h.destination_qp == kGsiQpn) {
      management.add(h, payload_of(frame.bytes, h), at);
    } else {
      connections.add(h, at);
    }
  }
  connections.finish();

  // (3) findings
  for (const Direction& q : connections.directions()) {
    const Management::Promises* const promises = management.of_requester(q.ends().requester, q.ends().peer_qpn);
    for (Finding& f : findings_of(q, promises, d.duration_ps)) d.findings.push_back(std::move(f));
    d.directions += q.requests() != 0;
  }
  for (Finding& f : management.findings()) d.findings.push_back(std::move(f));
  const std::vector<PauseFrame>& pauses = found.survey.census().pause_frames();
  find_pauses(connections, pauses, quantum_ps, d);
  find_congestion(connections, pauses, d);
  find_orphan_naks(connections, d);
  find_keys(connections, d);
  find_keep_alive(connections, d);
  find_slow_receivers(connections, o, d);
  note_sniffer(found.effects, d);
  note_connections(connections, reader, d);
  for (const UnreadableResult& u : unreadable_of(found.survey)) d.notes.push_back(u.words);
  for (std::string& words : other_ports_of(found.survey.census())) d.notes.push_back(std::move(words));
  if (!o.second.empty()) compare_ends(o, o.second, d);
  rank(d.findings);
  std::set<std::tuple<std::string, std::uint32_t>> sick;
  for (const Finding& f : d.findings) {
    if (f.qp && f.weight != Weight::kHint) sick.emplace(f.responder, raw(*f.qp));
  }
  d.sick_qps = sick.size();
  return d;
}

}  // namespace rxnic
