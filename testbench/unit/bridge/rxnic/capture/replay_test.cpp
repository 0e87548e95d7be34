// SPDX-License-Identifier: Apache-2.0
// Whole captures through the whole path: the project's own sample always, the shared captures where they are.
#include "bridge/rxnic/capture/replay.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/report/report.h"
#include "model/core/wire/ecn.h"
#include "model/core/wire/icrc.h"
#include "model/system/kernel.h"
#include "testbench/unit/bridge/rxnic/capture/captures.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_reader.h"
#include "traces/capture_writer.h"
#include "traces/sample_trace.h"
#include "traces/survey.h"

namespace rxnic::replay_test {
namespace {

const std::string kSample = RXNIC_SOURCE_DIR "/traces/sample.pcap";

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

RunResult run(const std::string& trace, const std::string& receiver = "", EngineMode mode = EngineMode::kFast) {
  ReplayOptions o;
  o.trace = trace;
  o.receiver = receiver;
  o.config = "nic_100g_gen3";
  o.mode = mode;
  return replay(o);
}

std::uint64_t count(const std::vector<NamedCount>& counts, const std::string& name) {
  for (const auto& [key, value] : counts) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

void expect_accounted(const RunResult& r) {
  EXPECT_EQ(r.packets.seen, r.packets.accepted + r.packets.not_rdma + r.packets.dropped_total());
  EXPECT_EQ(r.captured, r.packets.seen + r.from_receiver + r.to_others);
  for (const BlockResult& b : r.blocks) {
    std::uint64_t cycles = 0;
    for (const std::uint64_t n : b.account) cycles += n;
    EXPECT_EQ(cycles, r.cycles) << b.stem;
  }
}

// Every parameter that is too small, in one message.
TEST(Replay, AConfigurationWithoutRoomForTheCaptureIsRefusedByName) {
  HostPlan plan;
  plan.responder_resources = 7;
  for (int n = 0; n < 3; ++n) plan.queues.emplace_back().context.kind = WqKind::kSrq;
  plan.queues[0].context.tag_matching = plan.queues[1].context.tag_matching = true;
  Params params;
  params.transport_checker.responder_resources = 7;
  params.device.max_srqs = 3;
  params.tag_match_cam.lists = 2;
  EXPECT_NO_THROW(params_for(plan, params));
  params.transport_checker.responder_resources = 6;
  params.device.max_srqs = 2;
  params.tag_match_cam.lists = 1;
  try {
    params_for(plan, params);
    ADD_FAILURE() << "all three are too small by one";
  } catch (const std::invalid_argument& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("transport_checker.responder_resources: found 6; expected at least 7"), std::string::npos);
    EXPECT_NE(text.find("device.max_srqs: found 2; expected at least 3"), std::string::npos);
    EXPECT_NE(text.find("tag_match_cam.lists: found 1; expected at least 2"), std::string::npos);
  }
}

TEST(Replay, SampleShowsWhatItWasMadeOf) {
  const RunResult r = run(kSample);
  expect_accounted(r);
  EXPECT_EQ(r.receiver, "10.0.0.2");
  EXPECT_EQ(r.packets.dropped[static_cast<std::size_t>(DropReason::kIcrc)], 1u);
  EXPECT_EQ(r.packets.dropped[static_cast<std::size_t>(DropReason::kNoReceiveWqe)], 1u);
  EXPECT_EQ(r.packets.dropped_total(), 2u);
  EXPECT_EQ(r.packets.not_rdma, 1u);
  EXPECT_EQ(count(r.transport, "duplicates"), 1u);
  EXPECT_EQ(count(r.transport, "cnps"), 1u);
  EXPECT_EQ(count(r.transport, "rnr_naks"), 1u);
  EXPECT_GE(r.answers.compared, 10u);
  EXPECT_EQ(r.answers.different, 0u);
}

TEST(Replay, SampleIsTheSameTwice) {
  const std::string first = report_json(run(kSample));
  EXPECT_EQ(first, report_json(run(kSample)));
  EXPECT_GT(first.size(), 1000u);
}

TEST(Replay, ReportReadsBack) {
  const RunResult r = run(kSample);
  const std::string text = report_json(r);
  const RunResult back = parse_report(text, "report.json");
  EXPECT_EQ(report_json(back), text);
  EXPECT_EQ(report_summary(back), report_summary(r));
  EXPECT_THROW(parse_report("{}", "x"), std::invalid_argument);
  EXPECT_THROW(parse_report("{\"schema\": \"other/9\"}", "x"), std::invalid_argument);
}

TEST(Replay, EveryCompletionIsInTheCsv) {
  const TemporaryFolder folder;
  ReplayOptions o;
  o.trace = kSample;
  o.config = "nic_100g_gen3";
  o.cqes_path = folder.file("cqes.csv");
  const RunResult r = replay(o);
  const std::string text = contents(o.cqes_path);
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')), r.cqes + 1);
  EXPECT_NE(text.find("RECV,SUCCESS"), std::string::npos);
}

TEST(Replay, AnswersAreInAPcapWithGoodIcrcs) {
  const TemporaryFolder folder;
  ReplayOptions o;
  o.trace = kSample;
  o.config = "nic_100g_gen3";
  o.responses_path = folder.file("responses.pcap");
  const RunResult r = replay(o);
  CaptureReader reader(o.responses_path);
  std::uint64_t frames = 0;
  for (CapturedFrame frame; reader.next(frame); ++frames) {
    Headers h;
    ASSERT_EQ(parse(frame.bytes, frame.link, h), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(frame.bytes, h));
  }
  EXPECT_EQ(frames, r.answers_sent);
  EXPECT_GT(frames, 10u);
}

// The sample with every ECN capable packet to the receiver marked, and `more` behind it.
void write_marked_sample(const std::string& path, const std::vector<std::vector<std::uint8_t>>& more = {}) {
  CaptureReader reader(kSample);
  CaptureWriter writer(path, LinkLayer::kEthernet);
  std::uint64_t time_ps = 0;
  for (CapturedFrame frame; reader.next(frame);) {
    std::vector<std::uint8_t> bytes(frame.bytes.begin(), frame.bytes.end());
    Headers h;
    const ParseStatus status = parse(bytes, frame.link, h);
    if (status == ParseStatus::kOk && h.destination == Address::parse("10.0.0.2")) mark_congested(bytes);
    writer.write(time_ps = frame.time_ps, bytes);
  }
  for (const auto& frame : more) writer.write(time_ps += 1'000'000, frame);
  writer.close();
}

TEST(Replay, MarkedPacketsGiveCnpsAndCapturedCnpsAreCounted) {
  const TemporaryFolder folder;
  ReplayOptions o;
  o.trace = folder.file("marked.pcap");
  o.config = "nic_100g_gen3";
  o.overrides = {"ack_generator.cnp_interval_ps=0"};
  o.responses_path = folder.file("responses.pcap");
  write_marked_sample(o.trace);
  const RunResult r = replay(o);
  expect_accounted(r);
  CaptureReader reader(o.responses_path);
  std::vector<std::vector<std::uint8_t>> cnps;
  std::uint64_t frames = 0;
  for (CapturedFrame frame; reader.next(frame); ++frames) {
    Headers h;
    ASSERT_EQ(parse(frame.bytes, frame.link, h), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(frame.bytes, h));
    if (h.opcode != kOpcodeCnp) continue;
    EXPECT_TRUE(h.becn);
    EXPECT_EQ(h.source, Address::parse("10.0.0.2"));
    cnps.emplace_back(frame.bytes.begin(), frame.bytes.end());
  }
  EXPECT_GT(cnps.size(), 10u);
  EXPECT_EQ(frames, r.answers_sent);
  EXPECT_EQ(count(r.answers.uncompared, "model_cnp"), cnps.size());
  const RunResult plain = run(kSample);
  EXPECT_EQ(r.answers_sent, plain.answers_sent + cnps.size());
  EXPECT_EQ(r.answers.equal, plain.answers.equal);
  EXPECT_EQ(r.answers.different, 0u);
  EXPECT_EQ(r.packets.accepted, plain.packets.accepted);
  for (const BlockResult& b : r.blocks) {
    if (b.stem == "ack_generator") {
      EXPECT_EQ(count(b.counters, "cnps"), cnps.size());
    }
  }

  write_marked_sample(o.trace, cnps);  // as if the captured receiver had sent them
  const RunResult again = replay(o);
  expect_accounted(again);
  EXPECT_EQ(count(again.answers.uncompared, "captured_cnp"), cnps.size());
  EXPECT_EQ(count(again.answers.uncompared, "model_cnp"), cnps.size());
  EXPECT_EQ(again.from_receiver, r.from_receiver + cnps.size());
  EXPECT_EQ(again.answers.different, 0u);

  o.overrides.clear();  // an interval of 4 us
  const RunResult paced = replay(o);
  EXPECT_LT(count(paced.answers.uncompared, "model_cnp"), cnps.size());
}

// The sample as a sniffer writes it: at a time of day, with a snap length.
std::string captured_sample(const TemporaryFolder& folder, CaptureTime start, std::size_t snap) {
  const std::string path = folder.file("captured.pcap");
  CaptureWriter writer(path, LinkLayer::kEthernet, start);
  for (const SampleFrame& f : sample_frames(&seal)) {
    const auto wire_bytes = static_cast<std::uint32_t>(f.bytes.size());
    writer.write(f.time_ps, Bytes(f.bytes).first(std::min(f.bytes.size(), snap)), wire_bytes);
  }
  writer.close();
  return path;
}

// Absolute times of the frames of a capture, in ns since 1970.
std::vector<std::uint64_t> times_of(const std::string& path) {
  CaptureReader reader(path);
  std::vector<std::uint64_t> times;
  for (CapturedFrame f; reader.next(f);) {
    const CaptureTime start = reader.start();
    times.push_back(static_cast<std::uint64_t>(start.seconds * 1'000'000'000 + start.nanoseconds) + f.time_ps / 1000);
  }
  return times;
}

TEST(Replay, AnswersAreOnTheClockOfTheCapture) {
  constexpr CaptureTime kStart{1'700'000'000, 999'999'400};
  constexpr std::uint64_t kStartNs = 1'700'000'000'999'999'400;
  const TemporaryFolder folder;
  for (const Pace::Kind pace : {Pace::Kind::kCaptured, Pace::Kind::kLineRate}) {
    ReplayOptions o;
    o.config = "nic_100g_gen3";
    o.pace.kind = pace;
    o.responses_path = folder.file("model_time.pcap");
    o.trace = kSample;  // begins at 1970-01-01 00:00: its clock is model time
    const RunResult at_zero = replay(o);
    const std::vector<std::uint64_t> model = times_of(o.responses_path);
    o.trace = captured_sample(folder, kStart, kMaxFrameBytes);
    o.responses_path = folder.file("responses.pcap");
    EXPECT_EQ(replay(o).state_hash, at_zero.state_hash);
    const std::vector<std::uint64_t> answers = times_of(o.responses_path);
    ASSERT_EQ(answers.size(), model.size());
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], kStartNs + model[i]) << i;
    EXPECT_GT(answers.front(), kStartNs);
  }
}

// With both files in order of time, each answer comes after its request, and the first one before the last request.
TEST(Replay, AnswersMergeWithTheCapture) {
  const TemporaryFolder folder;
  ReplayOptions o;
  o.config = "nic_100g_gen3";
  o.trace = captured_sample(folder, {1'700'000'000, 7}, kMaxFrameBytes);
  o.responses_path = folder.file("responses.pcap");
  const RunResult r = replay(o);
  std::multimap<std::uint64_t, std::pair<bool, Headers>> merged;  // an answer: true
  for (const bool answers : {false, true}) {
    const std::string path = answers ? o.responses_path : o.trace;
    const std::vector<std::uint64_t> times = times_of(path);
    CaptureReader reader(path);
    std::size_t n = 0;
    for (CapturedFrame f; reader.next(f); ++n) {
      Headers h;
      if (parse(f.bytes, f.link, h) != ParseStatus::kOk) continue;
      if (answers || h.destination.text() == r.receiver) merged.emplace(times[n], std::pair(answers, h));
    }
  }
  std::set<std::uint32_t> asked;
  std::uint64_t answers = 0;
  for (const auto& [time, packet] : merged) {
    const auto& [is_answer, h] = packet;
    if (!is_answer) {
      for (std::uint32_t i = 0; i <= h.length / kMinMtu; ++i) asked.insert((h.psn.value + i) & k24Bits);
      continue;
    }
    EXPECT_TRUE(asked.count(h.psn.value)) << "PSN " << h.psn.value << " at " << time;
    ++answers;
  }
  EXPECT_EQ(answers, r.answers_sent);
  const auto first_answer = std::find_if(merged.begin(), merged.end(), [](const auto& p) { return p.second.first; });
  const auto last_request = std::find_if(merged.rbegin(), merged.rend(), [](const auto& p) { return !p.second.first; });
  EXPECT_LT(first_answer->first, last_request->first);
}

constexpr std::size_t kSnap = 96;

TEST(Replay, CutPacketsAreDroppedUnlessTheyAreFilled) {
  const TemporaryFolder folder;
  ReplayOptions o;
  o.config = "nic_100g_gen3";
  o.receiver = "10.0.0.2";
  o.trace = captured_sample(folder, {}, kSnap);
  constexpr auto kCut = static_cast<std::size_t>(DropReason::kTruncatedInCapture);
  const RunResult dropped = replay(o);
  EXPECT_EQ(dropped.packets.dropped[kCut], 19u);
  ASSERT_EQ(dropped.warnings.size(), 1u);
  EXPECT_EQ(dropped.warnings[0].find("22 RoCEv2 packets, cut by the capture (packets "), 0u) << dropped.warnings[0];
  EXPECT_NE(dropped.warnings[0].find("--truncated fill"), std::string::npos);

  o.fill_truncated = true;
  const RunResult filled = replay(o);
  const RunResult whole = run(kSample);
  EXPECT_TRUE(filled.warnings.empty());
  ASSERT_FALSE(filled.assumptions.empty());
  EXPECT_EQ(filled.assumptions[0],
            "the capture cut the payloads of 22 packets: what is missing is zeros, and their ICRCs, which cannot be "
            "checked, are taken as right");
  EXPECT_EQ(filled.packets.dropped[kCut], 0u);
  EXPECT_EQ(filled.packets.seen, whole.packets.seen);
  EXPECT_EQ(filled.packets.dropped_total(), whole.packets.dropped_total() - 1) << "one has a wrong ICRC";
  EXPECT_EQ(filled.messages, whole.messages + 1);
  EXPECT_EQ(filled.answers_sent, whole.answers_sent);
  EXPECT_EQ(filled.answers.compared, whole.answers.compared);
  EXPECT_EQ(filled.answers.different, 0u);
  expect_accounted(filled);
}

TEST(Replay, UnknownReceiverIsRefusedWithTheKnownOnes) {
  try {
    run(kSample, "10.9.9.9");
    FAIL() << "no error";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("10.0.0.2"), std::string::npos) << e.what();
  }
}

TEST(Replay, CutCaptureIsReplayedAsFarAsItGoesAndSaysSo) {
  const TemporaryFolder folder;
  std::string text = contents(kSample);
  text.resize(text.size() - 7);
  std::ofstream(folder.file("cut.pcap"), std::ios::binary) << text;
  const RunResult whole = run(kSample);
  const RunResult cut = run(folder.file("cut.pcap"));
  EXPECT_EQ(cut.captured, whole.captured - 1);
  ASSERT_EQ(cut.warnings.size(), 1u);
  expect_accounted(cut);
}

TEST(Replay, EmptyAndForeignFilesAreNamedErrors) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("empty.pcap"), std::ios::binary);
  std::ofstream(folder.file("text.pcap"), std::ios::binary) << "this is no capture, whatever its name says\n";
  EXPECT_THROW(run(folder.file("empty.pcap")), TraceError);
  EXPECT_THROW(run(folder.file("text.pcap")), TraceError);
  EXPECT_THROW(run(folder.file("absent.pcap")), TraceError);
}

TEST(Replay, PaceStretchesTimeAndNothingElse) {
  ReplayOptions o;
  o.trace = kSample;
  o.config = "nic_100g_gen3";
  const RunResult captured = replay(o);
  o.pace = {Pace::Kind::kRate, 1.0};
  const RunResult slow = replay(o);
  EXPECT_EQ(captured.packets.accepted, slow.packets.accepted);
  EXPECT_NE(captured.cycles, slow.cycles);
}

class Capture : public testing::TestWithParam<CaptureSide> {
 protected:
  void SetUp() override {
    path_ = kCaptures + GetParam().file;
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << "no ../shared/captures/" << GetParam().file;
  }
  std::string path_;
};

// Packets and compared answers of each side, counted in the captures with another tool.
TEST_P(Capture, DropsNothingAndAnswersAsTheReceiverDid) {
  const RunResult r = run(path_, GetParam().receiver);
  expect_accounted(r);
  EXPECT_EQ(r.packets.dropped_total(), 0u);
  EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
  EXPECT_EQ(r.answers.compared, r.answers.equal + r.answers.given);
  if (GetParam().file.find("losses") == std::string::npos) {
    // Nothing was lost: what the receiver answered is what the model answers.
    EXPECT_EQ(r.answers.compared, r.answers_sent);
    EXPECT_TRUE(r.answers.uncompared.empty());
    EXPECT_EQ(count(r.transport, "psn_gaps"), 0u);
  }
}

TEST_P(Capture, GivesOneResultInAllModes) {
  const RunResult fast = run(path_, GetParam().receiver);
  ReplayOptions o;
  o.trace = path_;
  o.receiver = GetParam().receiver;
  o.config = "nic_100g_gen3";
  o.pace = {Pace::Kind::kLineRate, 0};  // stepping through every idle cycle of a capture would take minutes
  const auto hash = [&o](EngineMode mode) {
    o.mode = mode;
    return replay(o).state_hash;
  };
  const std::uint64_t at_line_rate = hash(EngineMode::kFast);
  EXPECT_EQ(hash(EngineMode::kStepAll), at_line_rate);
  EXPECT_EQ(hash(EngineMode::kPerCycle), at_line_rate);
  EXPECT_EQ(run(path_, GetParam().receiver, EngineMode::kPerCycle).state_hash, fast.state_hash);
}

INSTANTIATE_TEST_SUITE_P(Shared, Capture, testing::ValuesIn(capture_sides()),
                         [](const testing::TestParamInfo<CaptureSide>& side) { return side_name(side.param); });

TEST(Replay, LossesOfTheSnifferAreResynchronisedOrRefused) {
  const std::string path = kCaptures + "nic/send_32qp_with_losses.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no ../shared/captures/nic/send_32qp_with_losses.pcap";
  const std::map<std::string, std::uint64_t> gaps = {{"172.17.242.56", 157}, {"172.17.242.47", 154}};
  for (const auto& [receiver, expected] : gaps) {
    const RunResult r = run(path, receiver);
    EXPECT_EQ(count(r.transport, "psn_gaps"), expected);
    EXPECT_EQ(count(r.transport, "sequence_naks"), 0u);
    ReplayOptions o;
    o.trace = path;
    o.receiver = receiver;
    o.config = "nic_100g_gen3";
    o.strict_psn = true;
    const RunResult strict = replay(o);
    expect_accounted(strict);
    EXPECT_EQ(count(strict.transport, "psn_gaps"), 0u);
    // One NAK for each QP that lost something, then silence: the capture never goes back.
    EXPECT_GT(count(strict.transport, "sequence_naks"), 0u);
    EXPECT_LE(count(strict.transport, "sequence_naks"), 32u);
    EXPECT_GT(strict.packets.dropped[static_cast<std::size_t>(DropReason::kPsnAhead)], 0u);
  }
}

}  // namespace
}  // namespace rxnic::replay_test
