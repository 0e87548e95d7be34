// SPDX-License-Identifier: Apache-2.0
// The module srq_wqe_fetcher: all of its parameters but Numbers and ContextLines decide what it does. Packets,
// doorbells, commands and flushes act on the same queues.
#include <algorithm>

#include "bridge/rtl/twin_facts.h"
#include "model/core/receive_queue/wqe_format.h"
#include "model/types/command.h"
#include "model/types/data_segment.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/queue_record.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/scatter_list.h"
#include "model/types/tag_operation.h"

namespace rxnic {

namespace {

// Data segments of a read (core/receive_queue/work_queue_table.h, R8).
unsigned words_of_read(std::uint32_t wqes_per_read) {
  constexpr std::uint32_t kLongestStride = 4096;
  const std::uint32_t several = wqes_per_read * wqe_bytes_used(WqLayout::kCyclic, kLongestStride);
  return std::max(several, wqe_bytes_used(WqLayout::kLinkedList, kLongestStride)) / sizeof(DataSegment);
}

}  // namespace

TwinFacts srq_wqe_fetcher_facts(const Params& p) {
  const SrqWqeFetcherParams& f = p.srq_wqe_fetcher;
  constexpr std::uint32_t kDoorbellDepth = 2;  // of their link
  TwinPortFacts wqes = lookup_of<WqeRead, DataSegment>("fetched_wqes", "dma_done", "cookie");
  wqes.lanes = words_of_read(f.wqes_per_read);
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
          .ports = {input_of<DmaCompletion>("context_dma_done"),
                    lookup_of<QueueLine, StoredQueue>("fetched", "context_dma_done", "cookie"),
                    input_of<WqCommand>("commands"),
                    lookup_of<ContextLine, OpenWqe>("command_context", "commands", "line"),
                    input_of<Doorbell>("doorbells"),
                    input_of<DmaCompletion>("dma_done"),
                    wqes,
                    input_of<FlushRequest>("flushes"),
                    lookup_of<ContextLine, OpenWqe>("flush_context", "flushes", "line"),
                    input_of<RendezvousPlaces>("rendezvous_places"),
                    input_of<WqeSlot>("released"),
                    input_of<WqeRequest>("in"),
                    lookup_of<ContextLine, OpenWqe>("context", "in", "line"),
                    input_of<WqeRequest>("tagged"),
                    lookup_of<ContextLine, OpenWqe>("tagged_context", "tagged", "line"),
                    output_of<ScatterJob>("out", 1, ""),
                    write_of<OpenWqeWrite>("context_write", "line"),
                    write_of<ScatterListWrite>("lists", ""),
                    output_without_ready<Refusal>("refusals", ""),
                    output_of<TagReturn>("returned", 1, ""),
                    write_of<ContextPin>("pins", ""),
                    output_of<DmaRequest>("dma", 1, ""),
                    write_of<QueueWrite>("written_back", ""),
                    output_of<DmaRequest>("context_dma", 1, ""),
                    output_of<Event>("events", 1, ""),
                    output_of<WqReply>("command_replies", 1, "")},
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
