// SPDX-License-Identifier: Apache-2.0
#include "model/nic/memory_ports.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/params/config.h"
#include "model/params/descriptor.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::memory_ports_test {
namespace {

using Priced = std::map<std::string, std::pair<std::uint64_t, MemoryPorts>>;  // by block.name: bits, ports

Priced priced(const std::vector<std::string>& overrides, const char* config = "tiny") {
  const Params params = load_config(config, overrides);
  Bench bench;
  Nic& nic = bench.keep<Nic>("nic", params, bench.keep<LocalMemory>(), bench.engine(), NicOptions{.requester = true});
  Priced all;
  for (const OnChipMemory& m : on_chip_memories(params, nic)) {
    const auto ports = memory_ports(m, params);
    EXPECT_TRUE(ports.has_value()) << config << ": " << m.block << "." << m.name << " has no rule";
    if (ports) all[m.block + "." + m.name] = {m.bits(), *ports};
  }
  return all;
}

TEST(MemoryPorts, EveryMemoryHasARule) {
  for (const char* config : {"nic_100g_gen3", "nic_400g_gen5", "tiny"}) {
    const Priced all = priced({"cqe_generator.compression=true"}, config);
    EXPECT_GT(all.size(), 100u);
    for (const auto& [name, one] : all) {
      EXPECT_GT(one.second.reads, 0u) << name;
      EXPECT_GT(one.second.writes, 0u) << name;
      EXPECT_FALSE(one.second.rule.empty()) << name;
    }
  }
}

TEST(MemoryPorts, AMemoryWithoutARuleHasNoPorts) {
  EXPECT_FALSE(memory_ports({.block = "rx_parser", .name = "dreams", .entries = 9, .entry_bits = 999, .holds = {}},
                            load_config()));
}

TEST(MemoryPorts, PipelinesAndSmallMemoriesAreFlipFlops) {
  const Priced tiny = priced({}), large = priced({}, "nic_100g_gen3");
  EXPECT_EQ(large.at("grh_scatter.pipeline").second.kind, StorageKind::kFlipFlops);
  EXPECT_EQ(large.at("links.dma_engine_tags_given").second.kind, StorageKind::kFlipFlops) << "two entries";
  EXPECT_EQ(large.at("links.receive_doorbells").second.kind, StorageKind::kSram) << "64 of 84 bits";
  EXPECT_EQ(tiny.at("cqe_generator.srq_numbers").second.kind, StorageKind::kSram);
  const Params params = load_config();
  OnChipMemory m{.block = "dma_engine", .name = "tags", .entries = 32, .entry_bits = 32, .holds = {}};
  EXPECT_EQ(memory_ports(m, params)->kind, StorageKind::kSram) << kLeastSramBits << " bits";
  m.entry_bits = 31;
  EXPECT_EQ(memory_ports(m, params)->kind, StorageKind::kFlipFlops);
  m = {.block = "dma_engine", .name = "tags", .entries = 7, .entry_bits = 1000, .holds = {}};
  EXPECT_EQ(memory_ports(m, params)->kind, StorageKind::kFlipFlops) << "fewer entries than " << kLeastSramEntries;
}

TEST(MemoryPorts, TagsAreACamOnlyInParallel) {
  const auto tags = [](const std::string& organisation, const std::string& more) {
    return priced({"tag_match_cam.organisation=" + organisation, more}, "nic_100g_gen3");
  };
  const Priced parallel = tags("parallel", "tag_match_cam.banks_per_cycle=4");
  const Priced banked = tags("banked", "tag_match_cam.banks_per_cycle=4");
  const Priced hashed = tags("hashed", "tag_match_cam.wildcards_per_cycle=3");
  for (const char* name : {"tag_match_cam.values", "tag_match_cam.masks", "tag_match_cam.ages"}) {
    EXPECT_EQ(parallel.at(name).second.kind, StorageKind::kCam) << name;
    EXPECT_EQ(parallel.at(name).second.reads, 1u) << name;
    EXPECT_EQ(banked.at(name).second.kind, StorageKind::kSram) << name;
    EXPECT_EQ(banked.at(name).second.reads, 4u) << name;
    EXPECT_EQ(hashed.at(name).second.kind, StorageKind::kSram) << name;
    EXPECT_EQ(hashed.at(name).second.reads, 4u) << name << ": three with wildcards and a bucket";
  }
}

// Depths that are no memory on the chip.
constexpr std::pair<std::string_view, const char*> kNoBits[] = {
    {"device.max_qp_wrs", "in host memory"},
    {"device.max_rd_atomic", "a share of responder_resources"},
    {"device.max_cqs", "in host memory; cq_contexts are on the chip"},
    {"device.max_cqes", "in host memory"},
    {"device.max_srq_wrs", "in host memory"},
    {"device.max_mrs", "in host memory; the MPT cache is on the chip"},
    {"device.max_pds", "numbers alone"},
    {"srq_wqe_fetcher.wqe_store_share", "a share of wqe_store_entries"},
    {"dma_engine.posted_header_credits", "room in the host"},
    {"dma_engine.posted_credit_bytes", "room in the host"},
    {"dma_engine.non_posted_header_credits", "room in the host"},
    {"dma_engine.non_posted_data_credits", "room in the host"},
    {"ack_generator.read_responses_per_qp", "a share of read_responses_in_flight"},
    {"ack_generator.atomics_in_flight", "a share of answers_waiting"},
    {"ack_generator.reads_in_progress", "a share of answers_waiting"},
    {"ack_generator.answers_per_qp", "a share of answers_waiting"},
    {"fabric.switch_buffer_bytes", "in the switch"},
    {"requester.window_packets", "PSNs alone"},
    {"requester.max_tso_bytes", "in host memory"},
};

std::vector<std::string> other_values(const ParamDescriptor& p, const Params& params) {
  const std::uint64_t now = p.get(params);
  std::vector<std::string> all;
  if (p.type == ParamType::kBool) return {now != 0 ? "false" : "true"};
  for (std::size_t n = 0; n < p.values.size(); ++n) {
    if (n != now) all.emplace_back(p.values[n]);
  }
  for (const std::uint64_t value : {2 * now, now / 2}) {
    if (p.values.empty() && value != now && value >= p.least && value <= p.greatest) {
      all.push_back(std::to_string(value));
    }
  }
  return all;
}

TEST(MemoryPorts, EveryDepthOnTheChipMovesItsPrice) {
  const std::vector<std::string> base{"cqe_generator.compression=true"};
  const auto total = [](const Priced& all) {
    std::uint64_t bits = 0;
    for (const auto& [name, one] : all) bits += one.first;
    return bits;
  };
  const std::uint64_t before = total(priced(base));
  const Params params = load_config("tiny", base);
  int moved = 0;
  for (const ParamDescriptor& p : param_descriptors()) {
    if (p.kind != ParamKind::kDepth) continue;
    const std::string name = fmt::format("{}.{}", p.section, p.key);
    bool moves = false;
    for (const std::string& value : other_values(p, params)) {
      std::vector<std::string> overrides = base;
      overrides.push_back(fmt::format("{}={}", name, value));
      moves = moves || total(priced(overrides)) != before;
    }
    const bool excepted =
        std::any_of(std::begin(kNoBits), std::end(kNoBits), [&name](const auto& e) { return e.first == name; });
    EXPECT_EQ(moves, !excepted) << name << (moves ? " costs bits, and is said not to" : " costs no bits; why?");
    moved += moves ? 1 : 0;
  }
  EXPECT_GT(moved, 50) << "depths that cost bits";
}

}  // namespace
}  // namespace rxnic::memory_ports_test
