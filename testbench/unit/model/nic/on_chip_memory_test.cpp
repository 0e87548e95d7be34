// SPDX-License-Identifier: Apache-2.0
#include "model/nic/on_chip_memory.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "model/params/config.h"
#include "model/types/doorbell.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::on_chip_memory_test {
namespace {

struct Fixture {
  explicit Fixture(const std::vector<std::string>& overrides = {})
      : params(load_config("tiny", overrides)),
        nic("nic", params, bench.keep<LocalMemory>(), bench.engine(), NicOptions{.requester = true}),
        memories(on_chip_memories(params, nic)) {}
  const OnChipMemory* find(const std::string& block, const std::string& name) const {
    for (const OnChipMemory& m : memories) {
      if (m.block == block && m.name == name) return &m;
    }
    return nullptr;
  }
  std::uint64_t bits(const std::string& block, const std::string& name) const {
    const OnChipMemory* const m = find(block, name);
    EXPECT_NE(m, nullptr) << block << "." << name;
    return m == nullptr ? 0 : m->bits();
  }
  Bench bench;
  Params params;
  Nic nic;
  std::vector<OnChipMemory> memories;
};

TEST(OnChipMemory, EveryBlockIsListed) {
  Fixture fixture;
  std::set<std::string> owners;
  for (const OnChipMemory& m : fixture.memories) owners.insert(m.block);
  for (const Block* block : fixture.nic.blocks()) EXPECT_TRUE(owners.contains(block->basename())) << block->basename();
  EXPECT_EQ(owners.size(), fixture.nic.blocks().size() + 1) << "and the links";
}

TEST(OnChipMemory, EveryLinkIsListed) {
  Fixture fixture;
  for (const LinkBase* link : fixture.bench.engine().links()) {
    if (fixture.nic.notifies_host(*link)) continue;
    const OnChipMemory* const m = fixture.find("links", link->basename());
    ASSERT_NE(m, nullptr) << link->basename();
    EXPECT_EQ(m->entries, link->capacity());
    EXPECT_EQ(m->entry_bits, link->value_bits());
  }
  EXPECT_EQ(fixture.find("links", "receive_doorbells")->entry_bits, Descriptor<Doorbell>::kBits);
}

bool carries_packets(const LinkBase& link) {
  bool buffer = false, opcode = false;
  link.for_each_number_of(nullptr, [&](const FieldPath& at, std::uint64_t) {
    buffer |= at.field.name == "buffer";
    opcode |= at.field.name == "opcode";
  });
  return buffer && opcode;
}

TEST(OnChipMemory, EveryPlaceForAPacketHasAFrame) {  // in the links and stages from the parser to the DMA engine
  Fixture fixture;
  std::uint64_t places = 2;  // the address translator and the DMA engine have a packet at hand
  for (const EnumeratorInfo& station : Enumeration<Station>::kValues) {
    if (station.value == static_cast<std::uint64_t>(Station::kDmaEngine)) break;
    for (const auto& link : fixture.nic.links()) {
      const bool leaves = std::string_view(link->basename()).starts_with(std::string(station.name) + "_");
      if (leaves && carries_packets(*link)) places += link->capacity();
    }
    for (const char* stages : {"pipeline", "results"}) {
      const OnChipMemory* const m = fixture.find(std::string(station.name), stages);
      if (m != nullptr) places += m->entries;
    }
  }
  places += fixture.find("dma_engine", "leaving")->entries;
  EXPECT_EQ(fixture.find("rx_parser", "payload")->entries, places);
}

TEST(OnChipMemory, NamesAreUnique) {
  Fixture fixture;
  std::set<std::string> names;
  for (const OnChipMemory& m : fixture.memories) EXPECT_TRUE(names.insert(m.block + "." + m.name).second) << m.name;
}

TEST(OnChipMemory, TinyAddsUp) {  // by hand, from configs/tiny.toml
  Fixture fixture;
  EXPECT_EQ(fixture.bits("rx_buffer", "frames"), 16384u * 8);
  EXPECT_EQ(fixture.bits("qp_context_cache", "contexts"), 2u * 2 * kQpContextBytes * 8);
  EXPECT_EQ(fixture.bits("qp_context_cache", "tags"), 4u * (23 + 1 + 1 + 1))
      << "QPN without its lowest bit, valid, age, dirty";
  EXPECT_EQ(fixture.bits("tag_match_cam", "values") + fixture.bits("tag_match_cam", "masks"), 4u * 128);
  EXPECT_EQ(fixture.bits("tag_match_cam", "buffers"), 4u * 128);
  EXPECT_EQ(fixture.bits("tag_match_cam", "ages"), 4u * (64 + 4 + 24 + 1)) << "age, handle below 16, SRQ, valid";
  EXPECT_EQ(fixture.bits("tag_match_cam", "walk_buffer"), 2u * 2 * 512) << "entries of two reads";
  EXPECT_EQ(fixture.bits("tag_match_cam", "handles"), 2u * 16 * 2);
  EXPECT_EQ(fixture.bits("tag_match_cam", "bursts"), 2u * (24 + 5 + 2 + 2 + 2)) << "one of 32 slots, 2 entries at most";
  EXPECT_EQ(fixture.bits("tag_match_cam", "leaving"), 3u * 512) << "as many as the DMA engine's link, and one";
  EXPECT_EQ(fixture.bits("tag_match_cam", "returns"), (10u + 2 + 3 + 64) * (4 + 1 + 1))
      << "handle below 16, one of 2 lists, valid";
  EXPECT_EQ(fixture.bits("srq_wqe_fetcher", "prefetched"), 2u * 2 * (528 * 8 + 16 + 2)) << "33 segments of 16 bytes";
  EXPECT_EQ(fixture.bits("srq_wqe_fetcher", "wqe_store"), 16u * (16 + 6 + 32 + 32 * 128 + 1 + 24 + 1));
  EXPECT_EQ(fixture.bits("address_translator", "mpt_entries"), 2u * 2 * 512);
  EXPECT_EQ(fixture.bits("address_translator", "mtt_lines"), 4u * 2 * 512);
  EXPECT_EQ(fixture.bits("address_translator", "mtt_tags"), 8u * (58 - 2 + 1 + 1))
      << "the address of a line of 64 bytes";
  EXPECT_EQ(fixture.bits("address_translator", "walks"), 2u * (512 + 64 + 3));
  EXPECT_EQ(fixture.bits("dma_engine", "read_data"), 2048u * 8);
  EXPECT_EQ(fixture.bits("dma_engine", "completion_headers"), 16u * 96);
  EXPECT_EQ(fixture.bits("dma_engine", "refused"), 4u * (16 + 32 + 32 + 3));
  EXPECT_EQ(fixture.bits("cqe_generator", "writes"), 10u * (512 + 64));
  EXPECT_EQ(fixture.bits("cqe_generator", "cq_contexts"), 4u * 512);
  EXPECT_EQ(fixture.bits("cqe_generator", "cq_tags"), 4u * (23 + 1 + 1 + 2))
      << "CQN without its lowest bit, valid, age";
  EXPECT_EQ(fixture.bits("cqe_generator", "cq_misses"), 2u * (24 + 24 + 2));
  EXPECT_EQ(fixture.find("cqe_generator", "cq_sessions"), nullptr) << "it does not compress";
  EXPECT_EQ(fixture.bits("srq_wqe_fetcher", "queue_contexts"), 4u * (512 + 2 + 2 + 2 + 1));
  EXPECT_EQ(fixture.bits("transport_checker", "responder_resources"), 4096u * (1 + 2 + 24 + 24 + 64 + 32 + 32 + 2 * 12))
      << "valid, operation, PSN and count, address, key, length, neighbours in the ring";
  EXPECT_EQ(fixture.bits("transport_checker", "own_requests"), 256u * (24 + 24 + 5 + 1 + 3 * 32 + 64 + 32 + 1 + 2 * 8))
      << "a notice without QPN and reset, neighbours in the list";
  EXPECT_EQ(fixture.bits("ack_generator", "atomic_results"), 4096u * (24 + 24 + 64 + 1));
  EXPECT_EQ(fixture.bits("rx_parser", "own_addresses"), 8u * (130 + 24 + 1));
  EXPECT_EQ(fixture.bits("rx_parser", "flows"), 64u * (2 * 512 + 24 + 16 + 2 + 2 * 64 + 1))
      << "value, mask, QPN, priority, kind, counts";
  EXPECT_EQ(fixture.bits("rx_parser", "rss_contexts"), 16u * (24 + 8 * 41 + 3 + 64 * 24 + 1))
      << "QPN, key and fields, size, table";
  EXPECT_EQ(fixture.find("requester", "send_queues")->entries, 256u);
  EXPECT_EQ(fixture.bits("links", "cqe_generator_failed"), 64u * 24);
}

TEST(OnChipMemory, CompressionNeedsRoomForSessions) {  // by hand: a title, 4 mini CQEs, their number, a cycle
  const Fixture fixture({"cqe_generator.compression=true"});
  EXPECT_EQ(fixture.bits("cqe_generator", "cq_sessions"), 4u * (512 + 4 * 64 + 3 + 64));
}

TEST(OnChipMemory, ParametersAct) {
  const Fixture fixture({"srq_wqe_fetcher.wqe_store_entries=48", "nic.doorbell_depth=9"});
  EXPECT_EQ(fixture.find("srq_wqe_fetcher", "wqe_store")->entries, 48u);
  EXPECT_EQ(fixture.find("grh_scatter", "cursors")->entries, 48u);
  EXPECT_EQ(fixture.find("links", "receive_doorbells")->entries, 9u);
}

}  // namespace
}  // namespace rxnic::on_chip_memory_test
