// SPDX-License-Identifier: Apache-2.0
#include "model/nic/memory_ports.h"

#include <algorithm>
#include <string>

namespace rxnic {

namespace {

constexpr StorageKind kAsSram = StorageKind::kSram;
constexpr StorageKind kAsCam = StorageKind::kCam;
constexpr StorageKind kAsRegisters = StorageKind::kFlipFlops;

constexpr std::string_view kFifoRule = "FIFO: one end is written, the other one is read";
constexpr std::string_view kStagesRule = "pipeline: a register for each stage";
constexpr std::string_view kTableRule = "table: found by an index or a hash, read and written once for a packet";
constexpr std::string_view kTwoSidesRule = "the packet at hand and what comes back for an earlier one reach it at once";
constexpr std::string_view kComparedRule = "all entries are compared with a key at once";
constexpr std::string_view kSetRule = "cache: the ways of a set are one word, read by a lookup and written by a fill";
constexpr std::string_view kTagsRule =
    "tags of TM SRQs: compared in parallel, or read by bank or bucket (organisation)";
constexpr std::string_view kOneEntryRule = "registers of the work at hand";

struct PortRule {
  std::string_view memory;  // block.name
  MemoryPorts ports;
};

constexpr PortRule kPortRules[] = {
    {"rx_buffer.frames", {kAsSram, 1, 1, kFifoRule}},
    {"rx_parser.payload", {kAsSram, 1, 1, "the parser writes it, the DMA engine reads it"}},
    {"rx_parser.own_addresses", {kAsCam, 1, 1, kComparedRule}},
    {"rx_parser.flows", {kAsCam, 1, 1, kComparedRule}},
    {"rx_parser.rss_contexts", {kAsSram, 1, 1, kTableRule}},
    {"rx_parser.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"qp_context_cache.contexts", {kAsSram, 1, 1, kSetRule}},
    {"qp_context_cache.tags", {kAsSram, 1, 1, kSetRule}},
    {"qp_context_cache.pins", {kAsSram, 2, 2, "counted up for a packet, counted down for one that has left"}},
    {"qp_context_cache.misses", {kAsCam, 1, 1, kComparedRule}},
    {"qp_context_cache.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"transport_checker.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"transport_checker.undo", {kAsSram, 1, 1, kFifoRule}},
    {"transport_checker.responder_resources", {kAsSram, 1, 1, kTableRule}},
    {"transport_checker.resource_rings", {kAsSram, 1, 1, kTableRule}},
    {"transport_checker.own_requests", {kAsSram, 1, 1, "the requester's notices write it, responses read it"}},
    {"transport_checker.request_lists", {kAsSram, 2, 2, kTwoSidesRule}},
    {"transport_checker.srqs", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.values", {kAsCam, 1, 1, kTagsRule}},
    {"tag_match_cam.masks", {kAsCam, 1, 1, kTagsRule}},
    {"tag_match_cam.buffers", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.ages", {kAsCam, 1, 1, kTagsRule}},
    {"tag_match_cam.handles", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.undo", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.returns", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.walk_buffer", {kAsSram, 1, 1, kFifoRule}},
    {"tag_match_cam.bursts", {kAsSram, 1, 1, kTableRule}},
    {"tag_match_cam.leaving", {kAsSram, 1, 1, kFifoRule}},
    {"tag_match_cam.results", {kAsSram, 1, 1, kFifoRule}},
    {"tag_match_cam.lists", {kAsSram, 2, 2, "a search and an operation of the host in the same cycle"}},
    {"srq_wqe_fetcher.prefetched", {kAsSram, 1, 1, "a read's data is written, a packet's WQE is read"}},
    {"srq_wqe_fetcher.prefetch_contexts", {kAsSram, 2, 2, kTwoSidesRule}},
    {"srq_wqe_fetcher.reads", {kAsSram, 1, 1, kTableRule}},
    {"srq_wqe_fetcher.wqe_store", {kAsSram, 2, 1, "scatter and CQE generator read it, the fetcher writes it"}},
    {"srq_wqe_fetcher.pipeline", {kAsSram, 1, 1, kFifoRule}},
    {"srq_wqe_fetcher.open_wqes", {kAsSram, 1, 1, kFifoRule}},
    {"srq_wqe_fetcher.queue_contexts", {kAsSram, 2, 2, kTwoSidesRule}},
    {"srq_wqe_fetcher.queue_tags", {kAsSram, 2, 1, kTwoSidesRule}},
    {"srq_wqe_fetcher.queue_misses", {kAsCam, 1, 1, kComparedRule}},
    {"srq_wqe_fetcher.free_numbers", {kAsSram, 1, 1, kFifoRule}},
    {"srq_wqe_fetcher.flush_requests", {kAsSram, 1, 1, kFifoRule}},
    {"srq_wqe_fetcher.late_flushes", {kAsSram, 1, 1, kFifoRule}},
    {"grh_scatter.cursors", {kAsSram, 1, 1, kTableRule}},
    {"grh_scatter.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"grh_scatter.job", {kAsRegisters, 1, 1, kOneEntryRule}},
    {"address_translator.mpt_entries", {kAsSram, 1, 1, kSetRule}},
    {"address_translator.mpt_tags", {kAsSram, 1, 1, kSetRule}},
    {"address_translator.mtt_lines", {kAsSram, 1, 1, kSetRule}},
    {"address_translator.mtt_tags", {kAsSram, 1, 1, kSetRule}},
    {"address_translator.walks", {kAsCam, 1, 1, kComparedRule}},
    {"address_translator.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"address_translator.gathers", {kAsRegisters, 1, 1, kStagesRule}},
    {"dma_engine.tags", {kAsSram, 1, 1, "a read request writes it, its completions read it"}},
    {"dma_engine.read_data", {kAsSram, 1, 1, "completions write it, the block that asked reads it"}},
    {"dma_engine.completion_headers", {kAsSram, 1, 1, kFifoRule}},
    {"dma_engine.leaving", {kAsSram, 1, 1, kFifoRule}},
    {"dma_engine.device_memory", {kAsSram, 1, 1, kTableRule}},
    {"dma_engine.send_wqes", {kAsRegisters, 1, 1, kOneEntryRule}},
    {"cqe_generator.writes", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.leaving", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.queue", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.held_events", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.events", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.flush_list", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.failed_list", {kAsSram, 1, 1, kFifoRule}},
    {"cqe_generator.srq_numbers", {kAsSram, 1, 1, kTableRule}},
    {"cqe_generator.wqes_completed", {kAsSram, 1, 1, kTableRule}},
    {"cqe_generator.cq_contexts", {kAsSram, 2, 2, "a completion and a doorbell of the host in the same cycle"}},
    {"cqe_generator.cq_tags", {kAsSram, 2, 1, "a completion and a doorbell of the host in the same cycle"}},
    {"cqe_generator.cq_misses", {kAsCam, 1, 1, kComparedRule}},
    {"cqe_generator.cq_sessions", {kAsSram, 1, 1, kTableRule}},
    {"cqe_generator.cq_session_list", {kAsSram, 1, 1, kTableRule}},
    {"cqe_generator.moderation_timers", {kAsSram, 1, 1, "heap: the next timer is at its top"}},
    {"cqe_generator.pipeline", {kAsRegisters, 1, 1, kStagesRule}},
    {"ack_generator.answers", {kAsSram, 1, 1, kTableRule}},
    {"ack_generator.flows", {kAsSram, 2, 2, kTwoSidesRule}},
    {"ack_generator.reads_on_their_way", {kAsSram, 1, 1, kTableRule}},
    {"ack_generator.packets", {kAsSram, 1, 1, "read data is written, the port reads it"}},
    {"ack_generator.held", {kAsSram, 1, 1, kFifoRule}},
    {"ack_generator.failed", {kAsSram, 1, 1, kFifoRule}},
    {"ack_generator.atomic_buckets", {kAsSram, 2, 2, kTwoSidesRule}},
    {"ack_generator.atomic_results", {kAsSram, 1, 1, kTableRule}},
    {"ack_generator.cnp_timers", {kAsCam, 1, 1, kComparedRule}},
    {"ack_generator.cnps", {kAsSram, 1, 1, kFifoRule}},
    {"command_processor.buffer", {kAsSram, 1, 1, kTableRule}},
    {"command_processor.command", {kAsRegisters, 1, 1, kOneEntryRule}},
    {"requester.packets", {kAsSram, 1, 1, "a packet's header is written, the port reads it"}},
    {"requester.payload", {kAsSram, 1, 1, "read data is written, the port reads it"}},
    {"requester.send_queues", {kAsSram, 2, 2, "the QP that sends and the QP of a response in the same cycle"}},
    {"requester.send_rates", {kAsSram, 2, 2, "the QP that sends and the QP of a CNP in the same cycle"}},
    {"requester.rendezvous", {kAsSram, 1, 1, kTableRule}},
    {"requester.rendezvous_lists", {kAsSram, 1, 1, kTableRule}},
    {"requester.wqes", {kAsSram, 1, 1, kTableRule}},
    {"requester.made", {kAsSram, 1, 1, kFifoRule}},
    {"requester.pieces", {kAsSram, 1, 1, kFifoRule}},
    {"requester.asking", {kAsSram, 1, 1, kFifoRule}},
    {"requester.windows", {kAsSram, 1, 1, kFifoRule}},
    {"requester.flushing", {kAsSram, 1, 1, kFifoRule}},
    {"requester.resets", {kAsSram, 1, 1, kFifoRule}},
    {"requester.successes", {kAsSram, 1, 1, kFifoRule}},
};

constexpr MemoryPorts kRefusedPorts{kAsSram, 1, 1, "read for each packet, written when something is refused"};

std::optional<MemoryPorts> rule_for(const OnChipMemory& memory) {
  if (memory.block == "links") return MemoryPorts{kAsSram, 1, 1, kFifoRule};
  if (memory.name == "refused") return kRefusedPorts;  // several blocks have one
  const std::string name = memory.block + "." + memory.name;
  const auto* const rule = std::find_if(std::begin(kPortRules), std::end(kPortRules),
                                        [&name](const PortRule& r) { return r.memory == name; });
  if (rule == std::end(kPortRules)) return std::nullopt;
  return rule->ports;
}

}  // namespace

std::optional<MemoryPorts> memory_ports(const OnChipMemory& memory, const Params& params) {
  std::optional<MemoryPorts> found = rule_for(memory);
  if (!found) return found;
  const auto& tags = params.tag_match_cam;
  if (found->rule == kTagsRule && tags.organisation != TagOrganisation::kParallel) {  // R5
    const bool banked = tags.organisation == TagOrganisation::kBanked;
    found->kind = kAsSram;
    found->reads = banked ? tags.banks_per_cycle : 1 + tags.wildcards_per_cycle;
  }
  const bool small = memory.bits() < kLeastSramBits || memory.entries < kLeastSramEntries;
  if (found->kind == kAsSram && small) {  // R2
    found->kind = kAsRegisters;
    found->rule = "too small for an SRAM";
  }
  return found;
}

}  // namespace rxnic
