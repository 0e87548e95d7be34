// SPDX-License-Identifier: Apache-2.0
// What `--host` chooses moves the figures that it should: page sizes, order of WQEs, tags, compression.
#include "model/system/host_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <span>

#include "bridge/rxnic/capture/replay.h"
#include "model/core/wire/icrc.h"
#include "testbench/unit/model/system/traffic_run.h"
#include "testbench/unit/temporary_folder.h"
#include "traces/capture_writer.h"

namespace rxnic::host_model_test {
namespace {

// ---- page sizes: 64-byte messages into buffers of 4 KiB, each of which a page of 4 KiB has for itself

constexpr std::uint32_t kBuffers = 2048;
constexpr std::uint64_t kRounds = 3;            // through all buffers
constexpr std::uint64_t kLines = kBuffers / 8;  // of the MTT, with pages of 4 KiB
const std::vector<std::string> kFits = {"address_translator.mtt_sets=64", "address_translator.mtt_ways=8"};

struct Translation {
  std::uint64_t misses = 0, p90 = 0;
};

Translation translate(const std::vector<std::string>& overrides, const std::string& host = "") {
  std::vector<std::string> all = kFits;
  all.insert(all.end(), overrides.begin(), overrides.end());
  const TrafficRun run(TrafficConfig{}, kRounds * kBuffers, all, {Pace::Kind::kRate, 1.0},
                       "receive=srq,layout=cyclic,buffer=4096,depth=2048" + host);
  EXPECT_EQ(run.packets().accepted, kRounds * kBuffers);
  RunResult r;
  run.latencies.collect(r);
  return {run.sim.nic.address_translator.counters().mtt_misses, r.latency_ns.p90};
}

TEST(PageSize, EachParameterOfTheMttMovesMissesAndLatency) {
  const Translation fits = translate({});
  EXPECT_GE(fits.misses, kLines);
  EXPECT_LE(fits.misses, kLines + 2) << "each line once";
  for (const char* parameter : {"address_translator.mtt_sets=8", "address_translator.mtt_ways=1"}) {
    const Translation small = translate({parameter});
    EXPECT_GE(small.misses, kRounds * kLines) << parameter << ": each line in each round";
    EXPECT_GT(small.p90, fits.p90 + 300) << parameter << ": one message of eight waits for a walk";
  }
}

TEST(PageSize, LargePagesNeedFewEntries) {
  const std::vector<std::string> small = {"address_translator.mtt_sets=8", "address_translator.mtt_ways=1"};
  const Translation of_4k = translate(small, ",page=4K"), by_default = translate(small);
  EXPECT_EQ(of_4k.misses, by_default.misses);
  EXPECT_GE(of_4k.misses, kRounds * kLines);
  for (const char* page : {",page=2M", ",page=1G"}) {
    const Translation large = translate(small, page);
    EXPECT_LE(large.misses, 4u) << page;
    EXPECT_LT(large.p90 + 300, of_4k.p90) << page;
  }
}

// ---- order of WQEs (NUMBERS.md, SRQ against RQ)

struct Rate {
  double gbps = 0;  // of payload
  double ns_per_wqe = 0;
};

Rate rate(const std::string& nic, std::uint32_t qps, double line_gbps, const std::string& host) {
  TrafficConfig config;
  config.rc_qps = qps;
  config.mtu = 4096;
  config.min_bytes = config.max_bytes = 4096;
  constexpr std::uint64_t kPackets = 4000;
  // A read of a loaded host: between the 403 ns of an idle one and 800 ns (NUMBERS.md, PCIe DMA).
  const TrafficRun run(config, kPackets, {"dma_engine.read_latency_ps=520000"}, {Pace::Kind::kRate, line_gbps}, host,
                       nic);
  EXPECT_EQ(run.packets().accepted, kPackets) << host;
  const double ns = static_cast<double>(run.sim.engine.now().count * run.sim.engine.clock_period_ps()) / 1000.0;
  const Rate r{static_cast<double>(kPackets) * 4096 * 8 / ns, ns / static_cast<double>(kPackets)};
  std::printf("%s, %u QPs, %s: %.1f Gb/s, %.0f ns a WQE\n", nic.c_str(), qps, host.c_str(), r.gbps, r.ns_per_wqe);
  return r;
}

// ConnectX, 2 QPs, 4 KiB, 200 Gb/s: RQ 178.11, linked list 58.64, cyclic 176.57 Gb/s; about 550 ns a WQE.
TEST(WqeOrder, AShuffledLinkedListCostsADependentReadAWqe) {
  const auto at_200 = [](const char* host) { return rate("nic_400g_gen5", 2, 200, host); };
  const Rate rq = at_200("receive=rq");
  const Rate cyclic = at_200("receive=srq,layout=cyclic");
  const Rate list = at_200("receive=srq,layout=linked_list,wqe_order=shuffled");
  EXPECT_GT(rq.gbps, 170);
  EXPECT_NEAR(cyclic.gbps / rq.gbps, 176.57 / 178.11, 0.02);
  EXPECT_NEAR(rq.gbps / list.gbps, 178.11 / 58.64, 0.5) << "threefold";
  EXPECT_NEAR(list.ns_per_wqe, 550, 30);
  // Where the next slot is the next address, the guess of sequential_prefetch holds.
  const Rate sequential = at_200("receive=srq,layout=linked_list,wqe_order=sequential");
  EXPECT_GT(sequential.gbps, 1.3 * list.gbps);
  const Rate shuffled_ring = at_200("receive=srq,layout=cyclic,wqe_order=shuffled");
  EXPECT_EQ(shuffled_ring.gbps, cyclic.gbps) << "a ring has its own order";
}

// ConnectX-6 Dx, 10 QPs, 4 KiB, 100 Gb/s: RQ 92.58, linked list 60.67, contiguous hand-out 79.85 Gb/s.
TEST(WqeOrder, At100GbpsTheListLosesAThird) {
  const auto at_100 = [](const char* host) { return rate("nic_100g_gen3", 10, 100, host); };
  const Rate rq = at_100("receive=rq");
  const Rate list = at_100("receive=srq,layout=linked_list,wqe_order=shuffled");
  const Rate sequential = at_100("receive=srq,layout=linked_list,wqe_order=sequential");
  EXPECT_NEAR(list.gbps / rq.gbps, 60.67 / 92.58, 0.06);
  EXPECT_GT(sequential.gbps, 1.2 * list.gbps);
  EXPECT_LE(sequential.gbps, 1.001 * rq.gbps);
}

// ---- whole replays of generated captures

class HostReplay : public testing::Test {
 protected:
  void write(const TrafficConfig& config, std::uint64_t packets) {
    Traffic traffic(config);
    CaptureWriter writer(trace_, LinkLayer::kEthernet);
    std::array<std::uint8_t, kMaxFrameBytes> frame{};
    for (std::uint64_t i = 0; i < packets; ++i) {
      const TrafficFrame f = traffic.next(frame);
      seal(std::span(frame).first(f.bytes), f.h);
      writer.write(f.time_ps, std::span(frame).first(f.bytes));
    }
    writer.close();
  }
  RunResult replayed(const std::string& host, const std::vector<std::string>& overrides = {},
                     const std::function<void(ReplayOptions&)>& change = {}) const {
    ReplayOptions o;
    o.trace = trace_;
    o.host = host;
    o.config = "nic_100g_gen3";
    o.overrides = overrides;
    if (change) change(o);
    return replay(o);
  }
  static std::uint64_t counter(const RunResult& r, const std::string& block, const std::string& name) {
    for (const BlockResult& b : r.blocks) {
      for (const auto& [key, value] : b.counters) {
        if (b.stem == block && key == name) return value;
      }
    }
    ADD_FAILURE() << "no counter " << block << '.' << name;
    return 0;
  }
  static bool assumed(const RunResult& r, const std::string& part) {
    return std::any_of(r.assumptions.begin(), r.assumptions.end(),
                       [&part](const std::string& text) { return text.find(part) != std::string::npos; });
  }

  TemporaryFolder folder_;
  std::string trace_ = folder_.file("trace.pcap");
};

TEST_F(HostReplay, AReportSaysWhichPagesWereAssumed) {
  write(TrafficConfig{}, 10);
  EXPECT_TRUE(assumed(replayed(""), "pages of 4 KiB"));
  EXPECT_TRUE(assumed(replayed("page=2M"), "pages of 2 MiB"));
  EXPECT_TRUE(assumed(replayed("page=1G"), "pages of 1 GiB"));
}

class TagReplay : public HostReplay {
 protected:
  static constexpr std::uint64_t kMessages = 3000;
  void SetUp() override {
    TrafficConfig config;
    config.rc_qps = 4;
    config.tag_matching = true;
    config.tags = 1u << 20;  // no two messages have the same
    config.min_bytes = config.max_bytes = 256;
    write(config, kMessages);
  }
  static void expect_all_received(const RunResult& r) {
    EXPECT_EQ(r.packets.accepted, kMessages);
    EXPECT_EQ(r.error_cqes, 0u);
    EXPECT_EQ(tags(r, "searches"), kMessages);
    EXPECT_EQ(tags(r, "matches") + tags(r, "unexpected"), kMessages);
  }
  static std::uint64_t tags(const RunResult& r, const std::string& name) { return counter(r, "tag_match_cam", name); }
};

TEST_F(TagReplay, TagsThatArePostedAheadAreAllMatched) {
  for (const char* host :
       {"receive=tm_srq,tags=256", "receive=tm_srq,tags=256,mask=ff", "receive=tm_srq,tags=256,mask=0"}) {
    const RunResult r = replayed(host);
    expect_all_received(r);
    EXPECT_EQ(tags(r, "matches"), kMessages) << host;
    EXPECT_TRUE(assumed(r, "256 tags are kept posted, those of 3000 tagged messages")) << host;
  }
}

TEST_F(TagReplay, WithoutTagsNothingIsMatched) {
  const RunResult r = replayed("receive=tm_srq");
  expect_all_received(r);
  EXPECT_EQ(tags(r, "matches"), 0u);
}

// A message that comes before its tag is unexpected, and the tags that are posted before the program has polled it
// match nothing (rules 5.5).
TEST_F(TagReplay, TooFewTagsMatchInPart) {
  std::vector<std::uint64_t> matches;
  for (const char* host : {"receive=tm_srq,tags=2", "receive=tm_srq,tags=16", "receive=tm_srq,tags=256"}) {
    const RunResult r = replayed(host, {}, [](ReplayOptions& o) { o.pace = {Pace::Kind::kRate, 20.0}; });
    expect_all_received(r);
    matches.push_back(tags(r, "matches"));
    std::printf("%s: %llu of %llu messages matched\n", host, static_cast<unsigned long long>(matches.back()),
                static_cast<unsigned long long>(kMessages));
  }
  EXPECT_GE(matches[0], 2u);
  EXPECT_LT(matches[0], matches[1]);
  EXPECT_LE(matches[1], matches[2]);
  EXPECT_EQ(matches[2], kMessages);
}

TEST_F(TagReplay, ModeAndStepOrderDoNotMatter) {
  const char* const host = "receive=tm_srq,tags=8,wqe_order=shuffled,cq_compression=on";
  const std::uint64_t hash = replayed(host).state_hash;
  EXPECT_EQ(replayed(host, {}, [](auto& o) { o.mode = EngineMode::kStepAll; }).state_hash, hash);
  EXPECT_EQ(replayed(host, {}, [](auto& o) { o.order = {StepOrder::Kind::kReverse, 0}; }).state_hash, hash);
  EXPECT_EQ(replayed(host, {}, [](auto& o) { o.order = {StepOrder::Kind::kRandom, 5}; }).state_hash, hash);
}

TEST_F(TagReplay, MoreTagsThanTheNicHoldsAreRefused) {
  try {
    replayed("receive=tm_srq,tags=100", {"tag_match_cam.max_tags=99"});
    ADD_FAILURE() << "the list holds 99";
  } catch (const OptionError& e) {
    EXPECT_STREQ(e.what(), "--host: tags: found '100'; expected at most 99, parameter tag_match_cam.max_tags");
  }
}

TEST_F(HostReplay, CompressionIsWhatTheProgramAsksFor) {
  constexpr std::uint64_t kMessages = 2000;
  write(TrafficConfig{}, kMessages);
  const std::vector<std::string> parameter = {"cqe_generator.compression=true"};
  const std::vector<std::string> slow = {"dma_engine.tlp_rate_mbps=50000"};  // slower than the wire
  const std::vector<std::string> both = {slow[0], parameter[0]};
  const auto line_rate = [](ReplayOptions& o) { o.pace = {Pace::Kind::kLineRate, 0}; };
  const auto compressed = [&](const char* host, const std::vector<std::string>& overrides) {
    const RunResult r = replayed(host, overrides, line_rate);
    EXPECT_EQ(r.cqes, kMessages) << host << ": the program finds all of them";
    EXPECT_EQ(r.error_cqes, 0u);
    return counter(r, "cqe_generator", "compressed");
  };
  EXPECT_EQ(compressed("", {}), 0u);
  EXPECT_EQ(compressed("cq_compression=off", {}), 0u);
  EXPECT_EQ(compressed("cq_compression=off", parameter), 0u);
  EXPECT_EQ(compressed("", slow), 0u);
  EXPECT_GT(compressed("cq_compression=on", slow), kMessages / 2);
  EXPECT_GT(compressed("", both), kMessages / 2);
  const RunResult paced = replayed("cq_compression=on", {}, [](ReplayOptions& o) {
    o.pace = {Pace::Kind::kRate, 1.0};
  });
  EXPECT_EQ(counter(paced, "cqe_generator", "compressed"), 0u) << "without back-pressure";
  EXPECT_TRUE(replayed("cq_compression=on").params.cqe_generator.compression) << "the report says so";
}

TEST_F(HostReplay, TheSeedChoosesTheShuffledOrder) {
  TrafficConfig config;
  config.rc_qps = 2;
  write(config, 500);
  const auto hash = [this](std::uint64_t seed) {
    return replayed("receive=srq,layout=linked_list,wqe_order=shuffled", {}, [seed](auto& o) { o.seed = seed; })
        .state_hash;
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

}  // namespace
}  // namespace rxnic::host_model_test
