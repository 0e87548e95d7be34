// SPDX-License-Identifier: Apache-2.0
// The module srq_wqe_fetcher: all of its parameters but Numbers and ContextLines decide what it does. Packets,
// doorbells, commands and flushes act on the same queues.
#include "model/ports/srq_wqe_fetcher_ports.h"

#include <algorithm>

#include "model/core/receive_queue/wqe_format.h"
#include "model/ports/block_facts.h"

namespace rxnic {

namespace {

// Data segments of a read (core/receive_queue/work_queue_table.h, R8).
unsigned words_of_read(std::uint32_t wqes_per_read) {
  constexpr std::uint32_t kLongestStride = 4096;
  const std::uint32_t several = wqes_per_read * wqe_bytes_used(WqLayout::kCyclic, kLongestStride);
  return std::max(several, wqe_bytes_used(WqLayout::kLinkedList, kLongestStride)) / sizeof(DataSegment);
}

}  // namespace

BlockFacts SrqWqeFetcherPorts::facts(const Params& p) {
  using P = SrqWqeFetcherPorts;
  const SrqWqeFetcherParams& f = p.srq_wqe_fetcher;
  constexpr std::uint32_t kDoorbellDepth = 2;  // of their link
  return {.parameters = {{"Prefetch", static_cast<std::uint64_t>(f.prefetch)},
                         {"PrefetchDepth", f.prefetch_depth},
                         {"Queues", f.queues},
                         {"WqesPerRead", f.wqes_per_read},
                         {"ReadsInFlight", f.reads_in_flight},
                         {"HitCycles", f.hit_cycles},
                         {"SequentialPrefetch", f.sequential_prefetch},
                         {"PipelineDepth", f.pipeline_depth},
                         {"WqeStoreEntries", f.wqe_store_entries},
                         {"WqeStoreShare", f.wqe_store_share},
                         {"LateFlushes", f.late_flushes},
                         {"QueueContexts", f.queue_contexts},
                         {"QueueContextWays", f.queue_context_ways},
                         {"QueueMissesInFlight", f.queue_misses_in_flight},
                         {"UdTooLong", static_cast<std::uint64_t>(p.transport_checker.ud_too_long)},
                         {"WqeError", static_cast<std::uint64_t>(p.transport_checker.wqe_error_status)},
                         {"Credits", static_cast<std::uint64_t>(p.ack_generator.credits)},
                         {"Rendezvous", p.requester.rendezvous},
                         {"DoorbellDepth", kDoorbellDepth},
                         {"Numbers", std::uint64_t{p.requester.send_queues} + p.device.max_srqs, true},
                         {"ContextLines", std::uint64_t{p.qp_context_cache.sets} * p.qp_context_cache.ways, true}},
          .ports = {port_of(&P::context_dma_done, "context_dma_done"),
                    port_of(&P::fetched, "fetched", {.of = "context_dma_done", .field = "cookie"}),
                    port_of(&P::commands, "commands"),
                    port_of(&P::command_context, "command_context", {.of = "commands", .field = "line"}),
                    port_of(&P::doorbells, "doorbells"),
                    port_of(&P::dma_done, "dma_done"),
                    port_of(&P::fetched_wqes, "fetched_wqes",
                            {.lanes = words_of_read(f.wqes_per_read), .of = "dma_done", .field = "cookie"}),
                    port_of(&P::flushes, "flushes"),
                    port_of(&P::flush_context, "flush_context", {.of = "flushes", .field = "line"}),
                    port_of(&P::rendezvous_places, "rendezvous_places"),
                    port_of(&P::released, "released"),
                    port_of(&P::in, "in"),
                    port_of(&P::context, "context", {.of = "in", .field = "line"}),
                    port_of(&P::tagged, "tagged"),
                    port_of(&P::tagged_context, "tagged_context", {.of = "tagged", .field = "line"}),
                    port_of(&P::out, "out"),
                    port_of(&P::context_write, "context_write", {.order = "line"}),
                    port_of(&P::lists, "lists"),
                    port_of(&P::refusals, "refusals", {.always_room = true}),
                    port_of(&P::returned, "returned"),
                    port_of(&P::pins, "pins"),
                    port_of(&P::dma, "dma"),
                    port_of(&P::written_back, "written_back"),
                    port_of(&P::context_dma, "context_dma"),
                    port_of(&P::events, "events"),
                    port_of(&P::command_replies, "command_replies")},
          .requests = "context_dma",
          .counters = {{"packets", {{"in"}, {"tagged"}}},
                       {"no_wqe", {{"out", "", {equals("drop_reason", DropReason::kNoReceiveWqe)}}}},
                       {"no_rendezvous", {{"out", "", {equals("drop_reason", DropReason::kRendezvousFull)}}}},
                       {"doorbells", {{"doorbells"}}},
                       {"limit_events", {{"events", "", {equals("type", EventType::kSrqLimitReached)}}}},
                       {"flushed", {{"out", "", {equals("role", PacketRole::kFlush)}}}},
                       {"squashed",
                        {{"out", "", {equals("drop_reason", DropReason::kSquashed)}},
                         {"in", "", {equals("drop_reason", DropReason::kSquashed)}, true},
                         {"tagged", "", {equals("drop_reason", DropReason::kSquashed)}, true}}},
                       {"context_reads", {{"context_dma", "", {equals("kind", DmaKind::kRead)}}}},
                       {"context_write_backs", {{"context_dma", "", {equals("kind", DmaKind::kWrite)}}}}}};
}

}  // namespace rxnic
