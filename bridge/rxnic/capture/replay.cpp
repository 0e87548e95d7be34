// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/replay.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/capture/answer_stage.h"
#include "bridge/rxnic/capture/capture_facts.h"
#include "bridge/rxnic/capture/capture_notes.h"
#include "bridge/rxnic/capture/frames_ahead.h"
#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/replay_stream.h"
#include "bridge/rxnic/capture/response_file.h"
#include "bridge/rxnic/capture/survey_run.h"
#include "bridge/rxnic/events/event_recorder.h"
#include "bridge/rxnic/report/cqe_log.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/parsed.h"
#include "model/params/config.h"
#include "model/params/no_effect.h"
#include "model/system/latencies.h"
#include "model/system/nic_waves.h"
#include "model/system/simulation.h"
#include "model/system/table_result.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

std::string pace_text(const Pace& pace) {
  if (pace.kind == Pace::Kind::kCaptured) return "captured";
  if (pace.kind == Pace::Kind::kLineRate) return "line-rate";
  return fmt::format("{} Gb/s", pace.gbps);
}

constexpr std::size_t kMaxTags = std::size_t{1} << 24;  // of the capture's messages, kept in memory: 128 MiB

bool withholds(const HostPlan& plan) {
  return std::any_of(plan.queues.begin(), plan.queues.end(), [](const QueuePlan& q) { return !q.hold_after.empty(); });
}

RunFeatures features_of(const CaptureSurvey& survey, const Address& receiver, const HostOptions& host,
                        const HostPlan& plan) {
  RunFeatures run = features_of(host, plan);
  for (const EndpointCounts& e : survey.endpoints()) {
    if (e.address == receiver && e.marked_received != 0) run.add(RunFeature::kMarked);
  }
  return run;
}

// Whether a capture of InfiniBand packets keeps their VCRCs: adapters that check them often write none into it.
class Vcrcs {
 public:
  void add(const CapturedFrame& frame) {
    if (right_ || frame.filled_bytes != 0 || frame.link != LinkLayer::kInfiniband) return;
    const Headers& h = frame.headers;
    if (frame.status != ParseStatus::kOk || !has_vcrc(frame.bytes, h)) return;
    any_ = true;
    right_ = vcrc_matches(frame.bytes, h);
  }
  bool captured() const { return right_ || !any_; }

 private:
  bool any_ = false, right_ = false;
};

// Whether the frame's last bytes before its ICRC are the AETH of an RNR NAK, if it ends in an AETH at all.
bool may_be_rnr_nak(const Packet& p) {
  const std::size_t vcrc = p.link == LinkLayer::kInfiniband ? kVcrcBytes : 0;
  return ack_kind(p.frame[p.frame_bytes - vcrc - kIcrcBytes - kAethBytes]) == AckKind::kRnrNak;
}

// What the model sends: to the stage that writes and compares it, and an RNR NAK to the host that was late.
class Answers final : public FrameObserver {
 public:
  Answers(AnswerStage& stage, ResponseFile& file, const HostPlan& plan, const ReplayOptions& o)
      : stage_(stage), file_(file), options_(o) {
    for (const QpPlan& qp : plan.qps) local_[{qp.context.remote, raw(qp.context.remote_qpn)}] = qp.context.qpn;
  }
  void begin(Simulation& simulation, const ReplayStream& stream) {
    simulation_ = &simulation;
    stream_ = &stream;
  }
  void on_frame(const Packet& p, std::uint64_t time_ps) override {
    stage_.model(p.frame_view(), p.link, time_ps, file_.takes(p.frame_bytes));
    if (options_.on_answer) options_.on_answer(p.id, time_ps);
    if (file_.left_out() >= kMostLeftOut && everything_received()) {
      ended_ = true;
      simulation_->engine.stop();
    }
    if (may_be_rnr_nak(p)) notify_host(p);
  }
  bool ended() const { return ended_; }  // the run, because so many are left out

 private:
  // A READ of a few bytes asks for up to 2 GiB, which nobody sees any more when the file is full. Then so many bytes
  // are sent at most, once the capture is over.
  static constexpr std::uint64_t kMostLeftOut = std::uint64_t{1} << 20;

  bool everything_received() const {
    const LedgerCounters& p = simulation_->nic.shared.ledger.counters();
    return stream_->over() && p.seen == stream_->captured() - stream_->from_receiver() - stream_->to_others() &&
           p.seen == p.accepted + p.not_rdma + p.dropped_total();
  }
  void notify_host(const Packet& p) {
    Headers h;
    if (parse(p.frame_view(), p.link, h) != ParseStatus::kOk) return;
    const bool rnr = (opcode_info(h.opcode).traits & kAckKind) != 0 && ack_kind(h.syndrome) == AckKind::kRnrNak;
    const auto it = rnr ? local_.find({h.destination, raw(h.destination_qp)}) : local_.end();
    if (it != local_.end()) simulation_->host.on_rnr_nak(it->second, simulation_->engine.now());
  }
  AnswerStage& stage_;
  ResponseFile& file_;
  const ReplayOptions& options_;
  std::map<std::pair<Address, std::uint32_t>, Qpn> local_;  // our QP by the peer's address and QPN
  Simulation* simulation_ = nullptr;
  const ReplayStream* stream_ = nullptr;
  bool ended_ = false;
};

Address parse_receiver(const std::string& text) {
  try {
    return Address::parse(text);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(fmt::format("--receiver: {}", e.what()));
  }
}

Address choose_receiver(const ReplayOptions& options, const CaptureSurvey& survey, std::string& choice) {
  if (!options.receiver.empty()) {
    choice = "chosen by --receiver";
    const Address address = parse_receiver(options.receiver);
    for (const EndpointCounts& e : survey.endpoints()) {
      if (e.address == address) return address;
    }
    std::string known;
    for (const EndpointCounts& e : survey.endpoints()) {
      if (!known.empty()) known += ", ";
      known += e.address.text();
    }
    throw std::invalid_argument(fmt::format("--receiver: found {}; expected an address of the trace: {}",
                                            options.receiver, known.empty() ? "none has RDMA packets" : known));
  }
  if (const auto busier = survey.busier_receiver()) {
    const bool requests = std::ranges::any_of(survey.endpoints(), [](const EndpointCounts& e) {
      return e.requests_received != 0 && !e.address.is_multicast();
    });
    choice = requests ? "the busier side" : "no side gets requests: the one that gets most packets";
    return *busier;
  }
  if (!survey.endpoints().empty()) {
    choice = "no side gets requests: the first address of the trace";
    return survey.endpoints().front().address;
  }
  choice = survey.counts().damaged == 0 ? "no RDMA packet in the trace"
                                        : "no RDMA packet shows addresses that can be relied on";
  return {};
}

}  // namespace

CaptureReader open_capture(const ReplayOptions& o) {
  CaptureReader reader(o.trace);
  if (o.fill_truncated) reader.fill_cut_payloads(&seal);
  reader.read_as_roce(o.udp_ports, &icrc_matches, &seal);
  if (o.ignore_icrcs) reader.take_icrcs_as_right(&icrc_matches, &seal);
  return reader;
}

RunResult replay(const ReplayOptions& o) {
  RunResult r;
  r.trace = o.trace;
  r.config = o.config;
  r.overrides = o.overrides;
  r.params = load_config(o.config, o.overrides);
  r.seed = o.seed;
  r.mode = engine_mode_name(o.mode);
  r.pace = pace_text(o.pace);
  r.psn = o.strict_psn ? "strict" : "resynchronise";
  HostOptions host_options = parse_host_options(o.host);
  host_options.resynchronise = !o.strict_psn;
  host_options.seed = o.seed;
  host_options.responder_resources = r.params.transport_checker.responder_resources;
  if (host_options.tags > r.params.tag_match_cam.max_tags) {
    throw OptionError("tags", std::to_string(host_options.tags),
                      fmt::format("at most {}, parameter tag_match_cam.max_tags", r.params.tag_match_cam.max_tags));
  }
  complete_host_options(host_options, r.params);

  // (1) survey
  CaptureReader reader = open_capture(o);
  Progress surveying("survey", o.progress);
  const SurveyLimits limits{.tags = host_options.tags != 0 ? kMaxTags : 0,
                            .icrc_matches = &icrc_matches,
                            .pause_quantum_ps = pause_quantum_ps(r.params.nic.link_gbps)};
  Vcrcs vcrcs;
  const SurveyedCapture found =
      survey_run(reader, limits, surveying, o.threads, [&vcrcs](const CapturedFrame& frame) { vcrcs.add(frame); });
  const CaptureSurvey& survey = found.survey;
  const SnifferEffects& effects = found.effects;
  r.captured = reader.frames();
  r.sniffer.clock_steps = reader.clock_steps();
  note_capture(o, reader, survey, r);
  const CaptureTime start = reader.start();  // of model time on the capture's clock
  const LinkLayer link = reader.link();
  const Address receiver = choose_receiver(o, survey, r.receiver_choice);
  r.receiver = receiver.text();
  note_receiver(survey, receiver, r);
  const ChosenPairs pairs = parse_pairs(o.pairs);
  const ReceiverSurvey seen = survey.of_receiver(receiver, pairs);
  check_pairs(pairs, seen);
  for (const SurveyedQp& qp : seen.qps) r.qps.push_back(captured_qp(qp));
  const HostPlan plan = make_host_plan(seen, host_options);
  r.host = host_text(host_options, plan);
  const RunFeatures features = features_of(survey, receiver, host_options, plan);
  const auto no_effect = parameters_without_effect(r.params, o.config, o.overrides, features);
  r.warnings.insert(r.warnings.end(), no_effect.begin(), no_effect.end());
  r.assumptions.insert(r.assumptions.end(), seen.notes.begin(), seen.notes.end());
  r.assumptions.insert(r.assumptions.end(), plan.notes.begin(), plan.notes.end());

  if (!vcrcs.captured()) r.assumptions.push_back("no VCRC is right: the capture does not keep them");

  // (2) build
  reader.rewind();
  Progress replaying("replay", o.progress);
  AnswerCompare compare(seen, CompareOptions{.atomic_results = plan.atomics_comparable,
                                             .withheld_wqes = withholds(plan),
                                             .strict_by_naks = host_options.resynchronise,
                                             .observer = o.notes});
  UnreadableRequests unreadable(seen);
  SnifferFilter filter(reader, effects);
  if (o.notes != nullptr) {
    o.notes->receiver = receiver;
    filter.list_copies(o.notes->copies);
  }
  ResponseFile responses(o.responses_path, o.responses_limit, start);
  AnswerStage stage(compare, responses, o.threads);
  const auto next_frame = [&filter](FrameAhead& frame) {
    if (!filter.next(frame)) return false;
    frame.reason = ReplayStream::unreadable_reason(frame);
    frame.copies = filter.copies();
    return true;
  };
  FramesAhead frames(reader, next_frame, o.threads);
  ReplayStream stream(frames, reader.size(), receiver, plan, stage, unreadable, replaying);
  if (!vcrcs.captured()) stream.leave_vcrcs_out();
  Answers answers(stage, responses, plan, o);
  Latencies latencies(r.params.nic.clock_period_ps);
  std::unique_ptr<CqeLog> cqes;
  if (!o.cqes_path.empty()) cqes = std::make_unique<CqeLog>(o.cqes_path, r.params.nic.clock_period_ps);
  const Params params = params_for(plan, r.params);
  const std::unique_ptr<NicRtl> rtl = NicRtl::make(o.rtl, r.params);
  Simulation::Options simulation{params, o.mode, o.pace, &answers, cqes.get(), &latencies, o.order};
  simulation.region = o.region;
  if (rtl) simulation.blocks = rtl->blocks();
  Simulation sim(simulation, stream);
  answers.begin(sim, stream);
  sim.nic.rx_parser.add_address(receiver);
  set_up(sim, plan);
  const std::unique_ptr<NicWaves> waves = NicWaves::make(o.waves, sim.engine);
  if (waves) waves->add(sim.nic);
  if (rtl) rtl->add(sim.nic, sim.engine);
  std::unique_ptr<EventRecorder> events;
  if (o.events.wanted()) {
    events = std::make_unique<EventRecorder>(o.events, r, sim.engine, 1);
    events->nic(0).pass_on_to(&latencies, &answers);
    sim.observe(events->nic(0));
    latencies.tables().pass_incidents_to(&events->nic(0));
  }

  // (3) run
  sim.run();
  stage.finish();

  // (4) collect
  responses.close(link);
  if (responses.left_out() != 0) r.warnings.push_back(responses.left_out_text(sim.sink.frames()));
  if (answers.ended())
    r.warnings.emplace_back("the run ends there: what else READs would have brought is not simulated");
  if (cqes) cqes->close();
  const std::string notice = waves ? waves->finish() : std::string();
  if (!notice.empty() && o.say) o.say(notice);
  const std::string left_out = events ? events->finish() : std::string();
  if (!left_out.empty() && o.say) o.say(left_out);
  if (rtl) r.rtl = rtl->finish();
  sim.collect(r);
  if (rtl && !answers.ended()) rtl->refuse_packets_inside(sim.nic.shared.ledger.counters(), sim.engine.now());
  if (rtl) rtl->leave_unknown_out(r);
  r.sniffer.copies = stream.over() ? filter.copies() : stream.copies();
  if (const std::uint64_t again = stream.captured() + stream.copies(); stream.over() && again != r.captured) {
    r.warnings.push_back(fmt::format("the capture changed while it was read: {} packets before the simulation, then {}",
                                     r.captured, again));
  }
  report_sniffer(effects, sim.source, r);
  r.from_receiver = stream.from_receiver();
  r.to_others = stream.to_others();
  latencies.collect(r);
  r.tag_depths.unexpected = depth_result(sim.host.unexpected_depths());
  collect_tables(std::array{&std::as_const(latencies)}, r.params.nic.clock_period_ps, r);
  compare.finish();
  const CompareCounts& c = compare.counts();
  r.answers = {c.compared,
               c.equal,
               c.given,
               c.different,
               {},
               compare.differences(),
               compare.rules(),
               unreadable.answered(),
               unreadable.notes()};
  for (std::size_t i = 0; i < kUncomparedReasons; ++i) {
    if (c.uncompared[i] != 0)
      r.answers.uncompared.emplace_back(uncompared_name(static_cast<Uncompared>(i)), c.uncompared[i]);
  }
  return r;
}

}  // namespace rxnic
