// SPDX-License-Identifier: Apache-2.0
// Rules R1 and R2 of model/params/no_effect.h.
#include "model/params/no_effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/params/config.h"

namespace rxnic::no_effect_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

const RunFeatures kCaptured{RunFeature::kCapture, RunFeature::kCyclic};

std::vector<std::string> found(const std::vector<std::string>& overrides, const RunFeatures& run = kCaptured,
                               std::string_view config = kDefaultConfig) {
  return parameters_without_effect(load_config(config, overrides), config, overrides, run);
}

TEST(NoEffect, WhatTheRunHasNotIsSaid) {  // R1
  EXPECT_THAT(
      found({"fabric.loopback_latency_ps=1"}),
      ElementsAre("fabric.loopback_latency_ps cannot act in this run: there is no fabric in the replay of a capture"));
  EXPECT_THAT(found({"fabric.loopback_latency_ps=1"}, features_of_programs(Params{}, 1)), IsEmpty());
  EXPECT_THAT(found({"host.poll_latency_ps=1"}), IsEmpty());
  EXPECT_THAT(found({"host.poll_latency_ps=1"}, features_of_programs(Params{}, 1)),
              ElementsAre(StartsWith("host.poll_latency_ps cannot act")));
  EXPECT_THAT(found({"host.doorbell_latency_ps=1"}, features_of_programs(Params{}, 1)), IsEmpty()) << "acts in both";
}

TEST(NoEffect, OneNicHasNoSwitch) {  // R1
  for (const char* const set : {"fabric.cable_delay_ps=1", "fabric.switch_full=drop"}) {
    EXPECT_THAT(found({set}, features_of_programs(Params{}, 1)), ElementsAre(testing::HasSubstr("no frame passes")))
        << set;
    EXPECT_THAT(found({set}, features_of_programs(Params{}, 2)), IsEmpty()) << set;
  }
}

TEST(NoEffect, CnpsAndTheirEffectNeedMarkedPackets) {  // R1
  const auto of_programs = [](const std::vector<std::string>& overrides, std::uint32_t nics = 2) {
    return found(overrides, features_of_programs(load_config(kDefaultConfig, overrides), nics));
  };
  const std::string marks = "fabric.ecn_threshold_bytes=1", interval = "ack_generator.cnp_interval_ps=1";
  EXPECT_THAT(of_programs({interval}), ElementsAre(testing::HasSubstr("no packet is marked")));
  EXPECT_THAT(of_programs({interval, marks}), IsEmpty());
  EXPECT_THAT(of_programs({interval, "fabric.mark_ppm=1"}), IsEmpty());
  EXPECT_THAT(of_programs({interval, marks}, 1), testing::Contains(testing::HasSubstr("no packet is marked")));
  EXPECT_THAT(found({interval}), ElementsAre(testing::HasSubstr("no packet is marked")));
  EXPECT_THAT(found({interval}, {RunFeature::kCapture, RunFeature::kMarked}), IsEmpty());
  const std::string rate = "requester.dcqcn_min_mbps=2";
  EXPECT_THAT(of_programs({rate}),
              ElementsAre(testing::EndsWith("it needs fabric.ecn_threshold_bytes!=0 or fabric.mark_ppm!=0")));
  EXPECT_THAT(of_programs({rate, marks}), IsEmpty());
  EXPECT_THAT(of_programs({rate, "fabric.mark_ppm=1"}), IsEmpty());
  EXPECT_THAT(of_programs({rate, marks, "requester.dcqcn=false"}).size(), 2U) << "the threshold does nothing, either";
}

TEST(NoEffect, WhatAnotherParameterRulesOutIsSaid) {  // R1
  EXPECT_THAT(found({"dma_engine.read_latency_min_ps=1000"}),
              ElementsAre("dma_engine.read_latency_min_ps cannot act in this run: it needs "
                          "dma_engine.read_latency=range|table"));
  EXPECT_THAT(found({"dma_engine.read_latency_min_ps=1000", "dma_engine.read_latency=table"}), IsEmpty());
  EXPECT_THAT(found({"ack_generator.coalesce_timer_ps=1000"}), ElementsAre(StartsWith("ack_generator.coalesce_timer")));
  EXPECT_THAT(found({"ack_generator.coalesce_timer_ps=1000", "ack_generator.coalesce_packets=2"}), IsEmpty());
  // One of two, each of which will do.
  EXPECT_THAT(found({"dma_engine.latency_seed=2"}), ElementsAre(StartsWith("dma_engine.latency_seed")));
  EXPECT_THAT(found({"dma_engine.latency_seed=2", "dma_engine.read_latency=range"}), IsEmpty());
  EXPECT_THAT(found({"dma_engine.latency_seed=2", "dma_engine.write_latency_spread_ps=1"}), IsEmpty());
}

TEST(NoEffect, TheRunIsSaidBeforeOtherParameters) {  // R1
  const RunFeatures tags{RunFeature::kCapture, RunFeature::kTagMatching, RunFeature::kTags};
  EXPECT_THAT(found({"tag_match_cam.bank_entries=8"}), ElementsAre(testing::HasSubstr("no tags are posted")));
  EXPECT_THAT(found({"tag_match_cam.bank_entries=8"}, tags),
              ElementsAre(testing::EndsWith("it needs tag_match_cam.organisation=banked")));
}

TEST(NoEffect, AListReadWithoutGuessesUsesNoWindow) {  // R1
  const std::vector<std::string> depth{"srq_wqe_fetcher.prefetch_depth=8", "srq_wqe_fetcher.sequential_prefetch=false"};
  const RunFeatures lists{RunFeature::kCapture, RunFeature::kSrqLayout, RunFeature::kLinkedList};
  EXPECT_THAT(found(depth, lists), ElementsAre(StartsWith("srq_wqe_fetcher.prefetch_depth cannot act")));
  EXPECT_THAT(found({depth[0]}, lists), IsEmpty());
  RunFeatures both = lists;
  both.add(RunFeature::kCyclic);
  EXPECT_THAT(found(depth, both), IsEmpty());
}

TEST(NoEffect, TimesOfReadsDoNotFall) {  // R3
  const std::string range = "dma_engine.read_latency=range", table = "dma_engine.read_latency=table",
                    min = "dma_engine.read_latency_min_ps=500000";
  const std::string sentence =
      "dma_engine.read_latency_max_ps cannot act in this run: it is less than read_latency_min_ps, which stands for it";
  EXPECT_THAT(found({range, min, "dma_engine.read_latency_max_ps=400000"}), ElementsAre(sentence));
  EXPECT_THAT(found({range, min}), ElementsAre(sentence)) << "the default is less, too";
  EXPECT_THAT(found({range, "dma_engine.read_latency_max_ps=372000"}), IsEmpty()) << "as great as the least";
  EXPECT_THAT(found({table, "dma_engine.read_latency_p50_ps=50000000"}).size(), 4U) << "all behind it";
  EXPECT_THAT(found({table, "dma_engine.read_latency_p50_ps=420000"}), IsEmpty());
}

TEST(NoEffect, TheConfigurationsOwnValuesAreNotMentioned) {  // R2
  EXPECT_THAT(found({"fabric.switch_latency_ps=300000"}), IsEmpty());
  for (const NamedConfig& named : named_configs()) EXPECT_THAT(found({}, kCaptured, named.name), IsEmpty());
}

TEST(NoEffect, OfAFileOnlyWhatNoNamedConfigurationHasIsMentioned) {  // R2
  Params params = load_config("nic_400g_gen5");
  const auto of_file = [&](const std::vector<std::string>& overrides) {
    return parameters_without_effect(params, "mine.toml", overrides, kCaptured);
  };
  EXPECT_THAT(of_file({}), IsEmpty());
  EXPECT_THAT(of_file({"live.timer_gap_ps=4000000"}), ElementsAre(StartsWith("live.timer_gap_ps")));
  params.fabric.cable_delay_ps = 77;
  EXPECT_THAT(of_file({}), ElementsAre(StartsWith("fabric.cable_delay_ps")));
}

// Every parameter alone, in a run that has nothing: those that need something are named, the others not.
TEST(NoEffect, EachParameterSpeaksForItself) {
  std::size_t named = 0;
  for (const ParamDescriptor& d : param_descriptors()) {
    Params params;
    d.set(params, d.default_value != d.greatest ? d.greatest : d.least);
    const auto texts = parameters_without_effect(params, kDefaultConfig, {}, {});
    const std::string name = std::string(d.section) + "." + std::string(d.key);
    const bool conditional = d.acts_in != RunFeature::kAny;
    named += conditional;
    if (conditional) {
      EXPECT_THAT(texts, testing::Contains(StartsWith(name + " cannot act")));
    }
    if (!conditional && d.needs.empty()) {
      EXPECT_THAT(texts, Not(testing::Contains(StartsWith(name)))) << name;
    }
  }
  EXPECT_GT(named, 40U);
}

}  // namespace
}  // namespace rxnic::no_effect_test
