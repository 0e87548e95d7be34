// SPDX-License-Identifier: Apache-2.0
// What the facts of a block say of its ports (model/ports/block_facts.h), for each block that has RTL.
#include "model/ports/block_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "bridge/rtl/rtl_blocks.h"
#include "model/nic/nic.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::block_facts_cosim_test {
namespace {

using FactsByName = std::map<std::string_view, PortFacts>;

FactsByName by_name(const BlockFacts& facts) {
  FactsByName all;
  for (const PortFacts& p : facts.ports) EXPECT_TRUE(all.emplace(p.name, p).second) << p.name << " stands there twice";
  return all;
}

bool is_port(const sc_core::sc_object& child) {
  return dynamic_cast<const LinkPort*>(&child) != nullptr || dynamic_cast<const ReadPortBase*>(&child) != nullptr ||
         dynamic_cast<const WritePortBase*>(&child) != nullptr;
}

void expect_what_the_port_is(const sc_core::sc_object& child, const PortFacts& facts) {
  const bool reads = facts.kind == PortKind::kRead || facts.kind == PortKind::kLookup;
  const auto* const read = dynamic_cast<const ReadPortBase*>(&child);
  EXPECT_EQ(read != nullptr, reads) << child.name();
  if (read != nullptr) {
    EXPECT_EQ(facts.bits, read->address_bits()) << child.name();
    EXPECT_EQ(facts.word_bits, read->word_bits()) << child.name();
  }
  if (const auto* const write = dynamic_cast<const WritePortBase*>(&child)) {
    EXPECT_EQ(facts.kind, PortKind::kOut) << child.name();
    EXPECT_EQ(facts.bits, write->operations().bits) << child.name();
    EXPECT_FALSE(facts.has_ready) << child.name();
  }
}

TEST(BlockFacts, NameEveryPortOfTheBlockAndNoOther) {  // R2
  Bench bench;
  const Params params;
  auto& nic = bench.keep<Nic>("nic", params, bench.keep<LocalMemory>(), bench.engine(), NicOptions{});
  for_each_rtl_block([&](const auto& entry) {
    FactsByName facts = by_name(entry.facts(params));
    std::size_t blocks = 0;
    for (const Block* block : nic.blocks()) {
      if (block->basename() != entry.name) continue;
      ++blocks;
      for (const sc_core::sc_object* child : block->get_child_objects()) {
        if (!is_port(*child)) continue;
        const auto at = facts.find(child->basename());
        if (at == facts.end()) {
          ADD_FAILURE() << "the facts do not name " << child->name();
          continue;
        }
        expect_what_the_port_is(*child, at->second);
        facts.erase(at);
      }
    }
    EXPECT_EQ(blocks, 1u) << entry.name;
    for (const auto& [name, port] : facts) ADD_FAILURE() << entry.name << " has no port " << name;
  });
}

TEST(BlockFacts, WhatTheySayOfAPortIsOfOneThatTheyName) {
  for_each_rtl_block([](const auto& entry) {
    const BlockFacts facts = entry.facts(Params{});
    const FactsByName ports = by_name(facts);
    const auto is = [&ports](std::string_view name, PortKind kind) {
      const auto at = ports.find(name);
      return at != ports.end() && at->second.kind == kind;
    };
    for (const PortFacts& p : facts.ports) {
      EXPECT_TRUE(p.kind != PortKind::kLookup || is(p.of, PortKind::kIn)) << entry.name << ": " << p.name;
    }
    EXPECT_TRUE(facts.requests.empty() || is(facts.requests, PortKind::kOut)) << entry.name;
    for (const CounterFacts& counter : facts.counters) {
      for (const PortCount& count : counter.counts) EXPECT_TRUE(ports.contains(count.port)) << counter.name;
    }
  });
}

TEST(BlockFacts, ABlockWithoutRtlIsRefusedWithThoseThatHaveSome) {
  try {
    with_rtl_block("rx_parser", [](const auto&) { FAIL(); });
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(),
                 "rx_parser: has no RTL; expected one of: cqe_generator, grh_scatter, srq_wqe_fetcher, tag_match_cam");
  }
}

}  // namespace
}  // namespace rxnic::block_facts_cosim_test
