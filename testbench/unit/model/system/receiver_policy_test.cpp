// SPDX-License-Identifier: Apache-2.0
// What the program on the receiving host does, and what of it can be seen: each policy moves a figure.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/traffic_stream.h"
#include "model/params/config.h"
#include "model/system/simulation.h"
#include "traces/mpi_tag.h"

namespace rxnic::receiver_policy_test {
namespace {

class CqeCount final : public CqeObserver {
 public:
  void on_cqe(Cqn cq, const Cqe& cqe, Cycle) override {
    ++by_cq[raw(cq)];
    ++by_opcode[cqe.opcode];
    failed += cqe.status != WcStatus::kSuccess;
  }
  std::map<std::uint32_t, std::uint64_t> by_cq;
  std::map<CqeOpcode, std::uint64_t> by_opcode;
  std::uint64_t failed = 0;
};

// Generated SENDs of one packet each to a host of these options; `tags`: each with a TMH, with tags that count up.
class ReceiverRun {
 public:
  static constexpr std::uint64_t kPackets = 4000;
  ReceiverRun(const std::string& host, TrafficConfig config, double gbps = 0, std::uint64_t seed = 1)
      : traffic_(config, kPackets),
        latencies_({load_config(kDefaultConfig).nic.clock_period_ps}),
        sim({.params = load_config(kDefaultConfig),
             .pace = gbps > 0 ? Pace{Pace::Kind::kRate, gbps} : Pace{Pace::Kind::kLineRate, 0},
             .cqes = &cqes,
             .latencies = &latencies_},
            traffic_) {
    ReceiverSurvey survey = traffic_.survey();
    for (std::uint64_t n = 0; config.tag_matching && n < kPackets; ++n) survey.tags.push_back(n % config.tags);
    HostOptions options = parse_host_options(host);
    options.seed = seed;
    options.resynchronise = false;
    set_up(sim, make_host_plan(survey, options));
    sim.run();
    latencies_.collect(result);
    result.tag_depths.unexpected = depth_result(sim.host.unexpected_depths());
    hash = sim.state_hash();
  }
  std::uint64_t accepted() const { return sim.nic.shared.ledger.counters().accepted; }
  std::uint64_t rnr_naks() const { return sim.nic.ack_generator.counters().rnr_naks; }
  const TagMatchCamCounters& cam() const { return sim.nic.tag_match_cam.counters(); }

 private:
  TrafficStream traffic_;
  Latencies latencies_;

 public:
  CqeCount cqes;
  Simulation sim;
  NicResult result;
  std::uint64_t hash = 0;
};

TrafficConfig sends(std::uint32_t qps, Transport transport = Transport::kRc) {
  TrafficConfig t;
  (transport == Transport::kRc ? t.rc_qps : t.ud_qps) = qps;
  return t;
}
TrafficConfig tagged(std::uint32_t qps = 1) {
  TrafficConfig t = sends(qps);
  t.tag_matching = true;
  t.tags = 1u << 20;
  return t;
}

constexpr std::uint64_t kAll = ReceiverRun::kPackets;
constexpr double kSlowGbps = 0.5;  // a message a microsecond

TEST(ReceiverPolicy, ASlowApplicationLeavesSendersWithoutReceives) {  // application.h
  EXPECT_EQ(ReceiverRun("depth=16,service=500", sends(1), kSlowGbps).rnr_naks(), 0u) << "it keeps up";
  const ReceiverRun slow("depth=16,service=50000", sends(1), kSlowGbps);
  EXPECT_GT(slow.rnr_naks(), 0u);
  EXPECT_LT(slow.accepted(), kAll / 10);
  const auto served = [](const char* host) {
    return ReceiverRun(host, sends(8, Transport::kUd), kSlowGbps).accepted();
  };
  const std::uint64_t one = served("depth=16,service=50000");
  const std::uint64_t many = served("depth=16,service=50000,workers=16");
  EXPECT_LT(one, kAll / 4);
  EXPECT_GT(many, 2 * one) << "more workers serve more";
  const auto hash = [](const char* host) { return ReceiverRun(host, sends(8, Transport::kUd), kSlowGbps).hash; };
  EXPECT_NE(hash("service=9000,workers=8"), hash("service=9000,workers=8,service_time=exponential"));
}

TEST(ReceiverPolicy, AnSrqServesTheQpsThatShareIt) {  // host_plan.h R2
  const ReceiverRun each("receive=srq,qps_per_srq=1,depth=64", sends(8));
  const ReceiverRun two("receive=srq,qps_per_srq=4,depth=64", sends(8));
  const ReceiverRun all("receive=srq,depth=64", sends(8));
  for (const ReceiverRun* run : {&each, &two, &all}) EXPECT_EQ(run->accepted() + run->rnr_naks() > 0, true);
  // Fewer WQEs in all: the QPs that share an SRQ find it empty before those that have one of their own.
  const auto accepted = [](const char* host) { return ReceiverRun(host, sends(8, Transport::kUd)).accepted(); };
  EXPECT_GT(accepted("receive=srq,qps_per_srq=1,depth=16,service=100000"),
            accepted("receive=srq,qps_per_srq=8,depth=16,service=100000"));
  EXPECT_NE(each.hash, two.hash);
  EXPECT_NE(two.hash, all.hash);
}

TEST(ReceiverPolicy, CompletionsGoToTheCqOfTheirQp) {  // host_plan.h R11
  const ReceiverRun run("qps_per_cq=2", sends(6));
  EXPECT_EQ(run.accepted(), kAll);
  ASSERT_EQ(run.cqes.by_cq.size(), 3u);
  std::uint64_t sum = 0;
  for (const auto& [cq, cqes] : run.cqes.by_cq) sum += cqes;
  EXPECT_EQ(sum, kAll);
  EXPECT_EQ(ReceiverRun("", sends(6)).cqes.by_cq.size(), 1u);
}

TEST(ReceiverPolicy, ModerationMakesEventsRare) {  // host_model.h R8
  const auto events = [](const std::string& host) {
    const ReceiverRun run(host, sends(1), kSlowGbps);
    EXPECT_EQ(run.cqes.by_cq.at(0), kAll) << host << ": each completion is polled";
    return run.sim.nic.cqe_generator.counters().completion_events;
  };
  EXPECT_EQ(events("completions=polled"), 0u);
  const std::uint64_t each = events("completions=events");
  EXPECT_GT(each, kAll / 4);
  const std::uint64_t sixteen = events("completions=events,moderation_count=16,moderation_period=100");
  EXPECT_GE(sixteen, kAll / 16 / 2);
  EXPECT_LE(sixteen, kAll / 16 + 2);
  const std::uint64_t period = events("completions=events,moderation_count=1000,moderation_period=10");
  EXPECT_GT(period, kAll / 64) << "the period ends before the count";
  EXPECT_LT(period, each / 2);
}

TEST(ReceiverPolicy, SgesHaveTheLengthsThatWereAskedFor) {
  const ReceiverRun even("sges=2,buffer=128", sends(1));
  const ReceiverRun header("sge_bytes=16+112", sends(1));
  EXPECT_EQ(even.accepted(), kAll);
  EXPECT_EQ(header.accepted(), kAll);
  // 64 bytes fit in the first SGE of two equal ones, but not in the first one of 16.
  EXPECT_GT(header.sim.nic.grh_scatter.counters().segments, even.sim.nic.grh_scatter.counters().segments);
}

TEST(ReceiverPolicy, ServiceTimesHaveTheirDistribution) {  // application.h R2
  constexpr std::uint64_t kSeed = 7, kPeriodPs = 1000, kMean = 10'000;
  constexpr std::uint32_t kDraws = 20'000;
  constexpr double kCritical = 1.628;  // Kolmogorov, 1 %
  Application fixed({1, kMean * kPeriodPs, ServiceTime::kFixed}, kPeriodPs, kSeed);
  EXPECT_EQ(fixed.serve(Cycle{5}), Cycle{5 + kMean});
  EXPECT_EQ(fixed.serve(Cycle{6}), Cycle{5 + 2 * kMean}) << "the worker is not free before";
  Application random({1, kMean * kPeriodPs, ServiceTime::kExponential}, kPeriodPs, kSeed);
  std::vector<double> times;
  Cycle last{};
  for (std::uint32_t n = 0; n < kDraws; ++n) {
    const Cycle done = random.serve(last);
    times.push_back(static_cast<double>(done.count - last.count));
    last = done;
  }
  std::sort(times.begin(), times.end());
  double distance = 0;
  for (std::uint32_t n = 0; n < kDraws; ++n) {
    const double expected = 1 - std::exp(-times[n] / kMean);
    distance = std::max({distance, expected - static_cast<double>(n) / kDraws, (n + 1.0) / kDraws - expected});
  }
  EXPECT_LT(distance * std::sqrt(double{kDraws}), kCritical) << "seed " << kSeed;
}

TEST(ReceiverPolicy, WorkersServeTheOldestMessageEach) {  // application.h R1
  Application two({2, 100 * 1000, ServiceTime::kFixed}, 1000, 1);
  EXPECT_EQ(two.serve(Cycle{0}), Cycle{100});
  EXPECT_EQ(two.serve(Cycle{10}), Cycle{110});
  EXPECT_EQ(two.serve(Cycle{20}), Cycle{200});
  EXPECT_EQ(two.serve(Cycle{300}), Cycle{400});
}

const char* const kTags = "receive=tm_srq,tags=64,depth=2048";

TEST(TagPolicyRun, TagsThatArePostedInTimeAllMatchAtTheFront) {
  const ReceiverRun run(kTags, tagged(), kSlowGbps);
  EXPECT_EQ(run.cam().matches, kAll);
  EXPECT_EQ(run.result.tag_depths.posted.searches, kAll);
  EXPECT_EQ(run.result.tag_depths.posted.max, 0u);
  EXPECT_EQ(run.result.tag_depths.unexpected.searches, kAll);
  EXPECT_EQ(run.result.tag_depths.unexpected.max, 0u);
}

TEST(TagPolicyRun, AShareOfTheMessagesIsUnexpected) {
  constexpr double kShare = 0.1, kDeviations = 4;
  const ReceiverRun run(std::string(kTags) + ",unexpected_ppm=100000,unexpected_lag=20", tagged(), kSlowGbps);
  const double deviation = std::sqrt(kAll * kShare * (1 - kShare));
  EXPECT_NEAR(static_cast<double>(run.cam().unexpected), kAll * kShare, kDeviations * deviation) << "seed 1";
  EXPECT_EQ(run.cam().matches + run.cam().unexpected, kAll);
  EXPECT_GE(run.result.tag_depths.unexpected.max, 2u) << "they wait for their receives";
  EXPECT_LE(run.result.tag_depths.unexpected.max, 20u);
}

TEST(TagPolicyRun, AnotherOrderOfPostingIsFoundDeeper) {
  const auto depth = [](const char* order) {
    const ReceiverRun run(std::string(kTags) + order, tagged(), kSlowGbps);
    EXPECT_EQ(run.cam().matches, kAll) << order;
    return run.result.tag_depths.posted;
  };
  const DepthResult reversed = depth(",tag_order=reversed,tag_window=16");
  EXPECT_EQ(reversed.max, 15u);
  EXPECT_GE(reversed.p50, 7u);
  const DepthResult shuffled = depth(",tag_order=shuffled,tag_window=16");
  EXPECT_GT(shuffled.p50, 0u);
  EXPECT_LT(shuffled.p50, reversed.p50);
  EXPECT_LE(shuffled.max, 15u);
}

TEST(TagPolicyRun, DeletedTagsComeBack) {
  const ReceiverRun run(std::string(kTags) + ",delete_ppm=200000", tagged(), kSlowGbps);
  EXPECT_EQ(run.cam().matches + run.cam().unexpected, kAll);
  EXPECT_GT(run.cqes.by_opcode.at(CqeOpcode::kTagDelete), kAll / 10);
  EXPECT_GT(run.cam().matches, kAll * 9 / 10) << "they are posted again";
}

TEST(TagPolicyRun, OperationsFailAsOftenAsAsked) {
  const ReceiverRun run(std::string(kTags) + ",failing_ppm=100000", tagged(), kSlowGbps);
  EXPECT_EQ(run.cam().matches, kAll);
  constexpr double kDeviations = 4, kAppends = kAll;
  EXPECT_NEAR(static_cast<double>(run.cam().failed_operations), kAppends / 10,
              kDeviations * std::sqrt(kAppends * 0.09));
  EXPECT_EQ(run.cqes.failed, run.cam().failed_operations);
  EXPECT_GT(run.cqes.by_opcode.at(CqeOpcode::kTagAdd), 0u);
  EXPECT_GT(run.cqes.by_opcode.at(CqeOpcode::kTagDelete), 0u);
}

TEST(TagPolicyRun, ALateSyncHoldsNewTags) {  // rules 5.5
  const std::string host = std::string(kTags) + ",unexpected_ppm=20000";
  const ReceiverRun prompt(host, tagged(), kSlowGbps);
  const ReceiverRun late(host + ",sync_lag=31", tagged(), kSlowGbps);
  EXPECT_GT(late.cam().unexpected, 2 * prompt.cam().unexpected);
  EXPECT_EQ(late.cam().matches + late.cam().unexpected, kAll);
  EXPECT_GT(late.cam().matches, kAll / 8) << "the program reports at last";
}

TEST(TagPolicyRun, AWildcardThatTookAnotherMessageIsMadeGood) {  // tag_program.h R7
  TagListParams params;
  params.entries = params.buffers = 2;
  params.counting_tags = 8;
  params.policy.any_tag_ppm = 1'000'000;
  TagProgram program(params);
  using Action = TagProgram::Action;
  for (const std::uint32_t entry : {0u, 1u}) {
    const auto op = program.operation({Action::Kind::kAppend, entry});
    ASSERT_TRUE(op.has_value());
    EXPECT_EQ(op->entry.mask, ~kMpiTagMask);
    EXPECT_EQ(op->entry.tag, 0u);
  }
  Cqe match;  // entry 0, posted for tag 0, took the message with tag 1
  match.opcode = CqeOpcode::kTagReceive;
  match.flags = kCqeTagMatch | kCqeTagDataValid;
  match.tag = mpi_tag(1, 0, 0);
  const Action again = program.completed(match);
  EXPECT_EQ(again.kind, Action::Kind::kAppend);
  ASSERT_TRUE(program.operation(again).has_value());
  const Action deletion = program.follow_up();
  EXPECT_EQ(deletion.kind, Action::Kind::kDelete);
  EXPECT_EQ(deletion.entry, 1u) << "the receive for tag 1 has its message";
  EXPECT_EQ(program.follow_up().kind, Action::Kind::kNone);
  match.tag = mpi_tag(0, 0, 0);  // entry 0 was posted for tag 0 again
  EXPECT_EQ(program.completed(match).kind, Action::Kind::kAppend);
  EXPECT_EQ(program.follow_up().kind, Action::Kind::kNone);
}

TEST(TagPolicyRun, OneSeedGivesOneRun) {
  const std::string host =
      std::string(kTags) +
      ",unexpected_ppm=50000,unexpected_lag=3,tag_order=shuffled,tag_window=8,delete_ppm=50000,"
      "failing_ppm=50000,sync_lag=2,any_tag_ppm=50000,service=700,service_time=exponential,workers=4";
  const std::uint64_t first = ReceiverRun(host, tagged(4), kSlowGbps, 3).hash;
  EXPECT_EQ(ReceiverRun(host, tagged(4), kSlowGbps, 3).hash, first);
  EXPECT_NE(ReceiverRun(host, tagged(4), kSlowGbps, 4).hash, first);
}

}  // namespace
}  // namespace rxnic::receiver_policy_test
