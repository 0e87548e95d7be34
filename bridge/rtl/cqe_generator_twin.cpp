// SPDX-License-Identifier: Apache-2.0
// The module cqe_generator: all of its parameters but Queues, WqeSlots and ContextLines decide what it does. Packets,
// doorbells, commands and failures act on the same contexts.
#include <algorithm>
#include <cstddef>

#include "bridge/rtl/twin_facts.h"
#include "model/core/completion/cqe_format.h"
#include "model/types/command.h"
#include "model/types/completion.h"
#include "model/types/data_segment.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/requester_notice.h"
#include "model/types/scatter_list.h"
#include "model/types/stored_cq.h"

namespace rxnic {

namespace {

// A CQE says in which cycle it was made.
TwinPortFacts cqe_writes(std::uint32_t slots) {
  TwinPortFacts port = write_of<CqeWrite>("written", "", slots);
  port.time_from = 8 * offsetof(Cqe, timestamp);  // the CQE is in the lowest bits
  port.time_bits = 8 * sizeof(Cqe::timestamp);
  return port;
}

// Its status is not success. A slot of compressed CQEs may look like one.
constexpr PortCount::Condition kFailed = {
    .field = "", .value = 0, .equal = false, .from = 8 * offsetof(Cqe, status), .bits = 8 * sizeof(Cqe::status)};

}  // namespace

TwinFacts cqe_generator_facts(const Params& p) {
  const CqeGeneratorParams& c = p.cqe_generator;
  const std::uint32_t slots = c.compression ? block_slots(std::min(c.compression_max, kMaxSession)) : 1;
  constexpr std::uint32_t kDoorbellDepth = 2;  // of their link
  return {.parameters = {{"CqeBytes", c.cqe_bytes},
                         {"CyclesPerCqe", c.cycles_per_cqe},
                         {"LatencyCycles", c.latency_cycles},
                         {"Compression", c.compression},
                         {"CompressionMax", c.compression_max},
                         {"CompressionTimeoutCycles", c.compression_timeout_cycles},
                         {"ModerationUnitPs", c.moderation_unit_ps},
                         {"ClockPeriodPs", p.nic.clock_period_ps},
                         {"EventLatencyCycles", c.event_latency_cycles},
                         {"WriteDepth", c.write_depth},
                         {"EventDepth", c.event_depth},
                         {"CqContexts", c.cq_contexts},
                         {"CqContextWays", c.cq_context_ways},
                         {"CqMissesInFlight", c.cq_misses_in_flight},
                         {"ModerationTimers", c.moderation_timers},
                         {"Queues", std::uint64_t{p.requester.send_queues} + p.device.max_srqs, true},
                         {"WqeSlots", p.srq_wqe_fetcher.wqe_store_entries, true},
                         {"ContextLines", std::uint64_t{p.qp_context_cache.sets} * p.qp_context_cache.ways, true},
                         {"DmaDepth", p.dma_engine.queue_depth},
                         {"DoorbellDepth", kDoorbellDepth}},
          .ports = {input_of<DmaCompletion>("context_dma_done"),
                    lookup_of<CqLine, StoredCq>("fetched", "context_dma_done", "cookie"),
                    input_of<DmaCompletion>("dma_done"),
                    input_of<CqCommand>("commands"),
                    input_of<Doorbell>("doorbells"),
                    input_of<QpFailure>("failures"),
                    lookup_of<ContextLine, CompletionQp>("failure_context", "failures", "line"),
                    input_of<CompletionRequest>("in"),
                    lookup_of<ContextLine, CompletionQp>("context", "in", "line"),
                    lookup_of<WqeSlot, DataSegment>("wqe", "in", "wqe_slot"),
                    cqe_writes(slots),
                    output_of<DmaRequest>("dma", 1, ""),
                    output_of<AckRequest>("out", 1, ""),
                    output_of<Event>("events", 1, ""),
                    output_of<CqReply>("command_replies", 1, ""),
                    output_of<FlushRequest>("flushes", 1, ""),
                    output_of<FailedQp>("failed", 1, ""),
                    write_of<ContextLine>("unpinned", ""),
                    write_of<CompletionContextWrite>("context_write", ""),
                    output_without_ready<Refusal>("refusals", ""),
                    output_of<AnswerNotice>("placed", 1, ""),
                    output_of<RendezvousRequest>("rendezvous", 1, ""),
                    output_without_ready<WqeSlot>("released", ""),
                    write_of<CqWriteBack>("written_back", ""),
                    output_of<DmaRequest>("context_dma", 1, "")},
          .requests = "context_dma",
          .knows_time = true,
          .counters = {{"packets", {{"in"}}},
                       {"cqes", {{"dma", "cqes"}}},
                       {"error_cqes", {{"written", "", {kFailed}}}},
                       {"slots", {{"written"}}},
                       {"compressed", {{"dma", "cqes", {{"cqes", 1, false}}}}},
                       {"sessions", {{"dma", "", {{"cqes", 0, false}, {"cqes", 1, false}}}}},
                       {"overruns", {{"events", "", {equals("type", EventType::kCqError)}}}},
                       {"completion_events", {{"events", "", {equals("type", EventType::kCompletion)}}}},
                       {"qp_events",
                        {{"events"},
                         {"events", "", {equals("type", EventType::kCompletion)}, true},
                         {"events", "", {equals("type", EventType::kCqError)}, true}}},
                       {"flush_requests", {{"flushes"}}},
                       {"squashed",
                        {{"out", "", {equals("drop_reason", DropReason::kSquashed)}},
                         {"in", "", {equals("drop_reason", DropReason::kSquashed)}, true}}},
                       {"context_reads", {{"context_dma", "", {equals("kind", DmaKind::kRead)}}}},
                       {"context_write_backs", {{"context_dma", "", {equals("kind", DmaKind::kWrite)}}}}}};
}

}  // namespace rxnic
