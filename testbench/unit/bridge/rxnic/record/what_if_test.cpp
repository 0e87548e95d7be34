// SPDX-License-Identifier: Apache-2.0
// A recorded run on NICs with other parameters.
#include "bridge/rxnic/record/what_if.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bridge/rxnic/record/recorded_run.h"
#include "bridge/rxnic/report/report.h"
#include "model/params/config.h"
#include "model/params/params_table.h"
#include "testbench/unit/bridge/rxnic/record/recording.h"
#include "testbench/unit/temporary_folder.h"

namespace rxnic::what_if_test {
namespace {

using testing::HasSubstr;

const std::string kSlow = "dma_engine.write_latency_ps=2000000";

class WhatIf : public testing::Test {
 protected:
  static constexpr std::uint32_t kRounds = 100;  // more than a ring has slots
  static constexpr std::uint32_t kBytes = 3000;

  // Two programs play ping-pong, each round with other data, which comes back changed. From time to time the left one
  // reads and adds to the right one's memory.
  void record() {
    const HostLogHeader header{
        2, "198.18.0.1", 1, {"program"}, std::string(kDefaultConfig), {}, params_toml(load_config())};
    Recorder recorder(folder_, header);
    Lab lab(2, EngineMode::kFast, &recorder);
    lab.fabric->set_observer(&recorder);
    ConnectedPair pair(lab, QpType::kRc, 0, 1);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      play(pair.a, pair.left, pair.b, pair.right, static_cast<std::uint8_t>(round));
      std::uint8_t* const sent = pair.b.bytes(pair.right.buffer);
      std::transform(sent, sent + kBytes, sent,
                     [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 0x5a); });
      play(pair.b, pair.right, pair.a, pair.left, sent[0]);
      if (round % 10 == 0) ask(pair, round);
    }
    pair.a.close();
    pair.b.close();
    end_recording(lab, recorder);
  }
  static void play(Program& from, ConnectedPair::Side& sender, Program& to, ConnectedPair::Side& receiver,
                   std::uint8_t value) {
    std::fill_n(from.bytes(sender.buffer), kBytes, value);
    to.post_receive(receiver.qp, receiver.sge(kBytes));
    to.ring_receive(receiver.qp);
    from.post_send(sender.qp, {.sge = sender.sge(kBytes)});
    from.ring_send(sender.qp);
    to.wait_for(receiver.cq);
    from.wait_for(sender.cq);
  }
  static void ask(ConnectedPair& pair, std::uint32_t round) {
    const std::uint64_t there = 40'000;
    *pair.b.bytes(pair.right.buffer + there) = static_cast<std::uint8_t>(round);
    Program::Wr read{.opcode = SendOpcode::kRead, .sge = pair.left.sge(500, 50'000)};
    read.remote = pair.right.remote(there);
    Program::Wr add{.opcode = SendOpcode::kFetchAdd, .sge = pair.left.sge(8, 60'000)};
    add.remote = pair.right.remote(there + 8);
    add.remote.compare_add = 3;
    for (const Program::Wr& wr : {read, add, add}) pair.a.post_send(pair.left.qp, wr);
    pair.a.ring_send(pair.left.qp);
    for (int n = 0; n < 3; ++n) EXPECT_EQ(pair.a.wait_for(pair.left.cq).status, WcStatus::kSuccess);
  }

  WhatIfRun what_if(const std::vector<std::string>& set, Loop loop = Loop::kClosed) const {
    WhatIfOptions o;
    o.overrides = set;
    o.loop = loop;
    return run_what_if(folder_, o);
  }
  static std::map<std::string, ComparedFigure> figures(const WhatIfRun& run) {
    std::map<std::string, ComparedFigure> found;
    for (const ComparedFigure& f : run.result.what_if->figures) found[f.name] = f;
    return found;
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_.file(".");
};

TEST_F(WhatIf, TheParametersOfTheRecordGiveTheRecord) {
  record();
  const RecordedRun recorded = replay_recorded_run(folder_, {});
  ASSERT_EQ(recorded.difference, "");
  const std::string same = fmt::format("dma_engine.read_latency_ps={}", load_config().dma_engine.read_latency_ps);
  for (const Loop loop : {Loop::kClosed, Loop::kOpen}) {
    const WhatIfRun run = what_if({same}, loop);
    ASSERT_EQ(run.difference, "");
    EXPECT_EQ(run.result.state_hash, recorded.result.state_hash);
    EXPECT_EQ(run.result.cycles, recorded.result.cycles);
    const WhatIfResult& w = *run.result.what_if;
    EXPECT_GT(w.figures.size(), 30u);
    for (const ComparedFigure& f : w.figures) EXPECT_EQ(f.what_if, f.recorded) << f.name;
    EXPECT_EQ(w.inputs, recorded.events);
    EXPECT_EQ(w.given_up + w.unposted_bytes + w.unknown_bytes + w.different_bytes, 0u);
    EXPECT_THAT(run.result.warnings, testing::IsEmpty());
  }
}

// The right one dies with SENDs posted, and while the left one reads its memory.
TEST_F(WhatIf, AProgramThatDiesAtWorkDiesSoInTheRepeatedRunToo) {
  const HostLogHeader header{
      2, "198.18.0.1", 1, {"program"}, std::string(kDefaultConfig), {}, params_toml(load_config())};
  Recorder recorder(folder_, header);
  Lab lab(2, EngineMode::kFast, &recorder);
  lab.fabric->set_observer(&recorder);
  ConnectedPair pair(lab, QpType::kRc, 0, 1);
  Program::Wr read{.opcode = SendOpcode::kRead, .sge = pair.left.sge(60'000)};
  read.remote = pair.right.remote();
  pair.a.post_send(pair.left.qp, read);
  pair.a.ring_send(pair.left.qp);
  for (int n = 0; n < 4; ++n) {
    pair.a.post_receive(pair.left.qp, pair.left.sge(60'000));
    pair.b.post_send(pair.right.qp, {.sge = pair.right.sge(60'000)});
  }
  pair.a.ring_receive(pair.left.qp);
  pair.b.ring_send(pair.right.qp);
  Cqe cqe;
  lab.run(2'000);
  pair.b.lose_memory();
  const auto reads_no_more = [&] {
    while (pair.a.poll(pair.left.cq, cqe)) {
      if (cqe.status == WcStatus::kRetryExceeded) return true;
    }
    return false;
  };
  ASSERT_TRUE(lab.run_until(reads_no_more, 100'000'000));
  pair.b.close();
  pair.a.close();
  end_recording(lab, recorder);

  const RecordedRun recorded = replay_recorded_run(folder_, {});
  ASSERT_EQ(recorded.difference, "");
  const WhatIfRun run = what_if({fmt::format("nic.clock_period_ps={}", load_config().nic.clock_period_ps)});
  ASSERT_EQ(run.difference, "");
  EXPECT_EQ(run.result.state_hash, recorded.result.state_hash);
  EXPECT_EQ(run.result.cycles, recorded.result.cycles);
}

TEST_F(WhatIf, ASlowerDeviceGetsItsPostsLaterAndTheSameData) {
  record();
  const WhatIfRun run = what_if({kSlow});
  ASSERT_EQ(run.difference, "");
  const auto all = figures(run);
  for (const char* same : {"messages", "cqes", "bytes", "error_cqes", "latency_ns.count", "read_latency_ns.count"}) {
    EXPECT_EQ(all.at(same).what_if, all.at(same).recorded) << same;
  }
  EXPECT_EQ(all.at("error_cqes").what_if, 0);
  EXPECT_GE(all.at("messages").recorded, 2 * kRounds);
  for (const char* longer : {"time_ps", "latency_ns.p50", "one_way_latency_ns.p50"}) {
    EXPECT_GT(all.at(longer).what_if, all.at(longer).recorded) << longer;
  }
  // Each message of a ping-pong is sent after the CQE of the one before, a write, is visible.
  const double slower_ps = 2e6 - static_cast<double>(load_config().dma_engine.write_latency_ps);
  EXPECT_GT(all.at("time_ps").what_if - all.at("time_ps").recorded, 2 * kRounds * slower_ps);
  EXPECT_EQ(run.result.what_if->different_bytes, 0u);
  EXPECT_EQ(run.result.what_if->unposted_bytes, 0u);
  EXPECT_EQ(run.result.what_if->unknown_bytes, 0u);
}

TEST_F(WhatIf, AFasterDeviceGetsItsPostsEarlierAndTheSameData) {
  record();
  const WhatIfRun run = what_if({"dma_engine.write_latency_ps=100000"});
  ASSERT_EQ(run.difference, "");
  const auto all = figures(run);
  EXPECT_EQ(all.at("messages").what_if, all.at("messages").recorded);
  EXPECT_LT(all.at("time_ps").what_if, all.at("time_ps").recorded);
  EXPECT_EQ(run.result.what_if->different_bytes, 0u);
}

TEST_F(WhatIf, OpenLoopDoesNotWaitForCompletions) {
  record();
  const auto closed = figures(what_if({kSlow}, Loop::kClosed));
  const WhatIfRun run = what_if({kSlow}, Loop::kOpen);
  ASSERT_EQ(run.difference, "");
  const auto open = figures(run);
  EXPECT_LT(open.at("time_ps").what_if, closed.at("time_ps").what_if);
  EXPECT_EQ(run.result.what_if->loop, "open");
}

TEST_F(WhatIf, TheReportIsTheSameEveryTimeAndCanBeReadAgain) {
  record();
  const std::string once = report_json(what_if({kSlow}).result);
  EXPECT_EQ(report_json(what_if({kSlow}).result), once);
  EXPECT_THAT(once, HasSubstr("\"what_if\": {"));
  const RunResult again = parse_report(once, "report.json");
  EXPECT_EQ(report_json(again), once);
  const std::string text = report_summary(again);
  EXPECT_THAT(text, HasSubstr("closed loop, --set " + kSlow));
  EXPECT_THAT(text, HasSubstr("against the record"));
  EXPECT_THAT(text, HasSubstr("one_way_latency_ns.p99"));
}

TEST_F(WhatIf, ParametersThatProgramsHaveBuiltOnAreRefused) {
  record();
  EXPECT_THAT(
      [&] { what_if({"cqe_generator.cqe_bytes=128"}); },
      testing::ThrowsMessage<std::invalid_argument>(HasSubstr("cqe_generator.cqe_bytes: found 128; expected 64")));
  EXPECT_THAT([&] { what_if({"srq_wqe_fetcher.srq_layout=cyclic"}); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("srq_wqe_fetcher.srq_layout: found cyclic")));
  EXPECT_THROW(what_if({"dma_engine.read_latency=1"}), ConfigError);
}

TEST_F(WhatIf, ARequestThatTheOtherDeviceRefusesEndsIt) {
  record();
  const WhatIfRun run = what_if({"device.max_qp_wrs=32"});
  EXPECT_THAT(run.difference, HasSubstr("found a reply to create_qp"));
}

}  // namespace
}  // namespace rxnic::what_if_test
