// SPDX-License-Identifier: Apache-2.0
// The module cqe_generator: all of its parameters but Queues, WqeSlots and ContextLines decide what it does. Packets,
// doorbells, commands and failures act on the same contexts.
#include "model/ports/cqe_generator_ports.h"

#include <algorithm>
#include <cstddef>

#include "model/core/completion/cqe_format.h"
#include "model/ports/block_facts.h"
#include "model/types/completion.h"

namespace rxnic {

namespace {

// Its status is not success. A slot of compressed CQEs may look like one.
constexpr PortCount::Condition kFailed = {
    .field = "", .value = 0, .equal = false, .from = 8 * offsetof(Cqe, status), .bits = 8 * sizeof(Cqe::status)};

}  // namespace

BlockFacts CqeGeneratorPorts::facts(const Params& p) {
  using P = CqeGeneratorPorts;
  const CqeGeneratorParams& c = p.cqe_generator;
  const std::uint32_t slots = c.compression ? block_slots(std::min(c.compression_max, kMaxSession)) : 1;
  constexpr std::uint32_t kDoorbellDepth = 2;                   // of their link
  constexpr unsigned kTimeFrom = 8 * offsetof(Cqe, timestamp);  // a CQE is in the lowest bits of a write
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
          .ports = {port_of(&P::context_dma_done, "context_dma_done"),
                    port_of(&P::fetched, "fetched", {.of = "context_dma_done", .field = "cookie"}),
                    port_of(&P::dma_done, "dma_done"),
                    port_of(&P::commands, "commands"),
                    port_of(&P::doorbells, "doorbells"),
                    port_of(&P::failures, "failures"),
                    port_of(&P::failure_context, "failure_context", {.of = "failures", .field = "line"}),
                    port_of(&P::in, "in"),
                    port_of(&P::context, "context", {.of = "in", .field = "line"}),
                    port_of(&P::wqe, "wqe", {.of = "in", .field = "wqe_slot"}),
                    port_of(&P::written, "written",
                            {.lanes = slots, .time_from = kTimeFrom, .time_bits = 8 * sizeof(Cqe::timestamp)}),
                    port_of(&P::dma, "dma"),
                    port_of(&P::out, "out"),
                    port_of(&P::events, "events"),
                    port_of(&P::command_replies, "command_replies"),
                    port_of(&P::flushes, "flushes"),
                    port_of(&P::failed, "failed"),
                    port_of(&P::unpinned, "unpinned"),
                    port_of(&P::context_write, "context_write"),
                    port_of(&P::refusals, "refusals", {.always_room = true}),
                    port_of(&P::placed, "placed"),
                    port_of(&P::rendezvous, "rendezvous"),
                    port_of(&P::released, "released", {.always_room = true}),
                    port_of(&P::written_back, "written_back"),
                    port_of(&P::context_dma, "context_dma")},
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
