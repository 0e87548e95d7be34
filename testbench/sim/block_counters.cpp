// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/block_counters.h"

namespace rxnic {

namespace {

std::vector<NamedCount> counters(const RxBuffer& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets}, {"dropped", c.dropped}, {"high_water_bytes", c.high_water_bytes}};
}

std::vector<NamedCount> counters(const RxParser& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},         {"beats", c.beats},          {"bytes", c.bytes},
          {"passed", c.passed},           {"dropped", c.dropped},      {"not_rdma", c.not_rdma},
          {"icrc_errors", c.icrc_errors}, {"ecn_marked", c.ecn_marked}};
}

std::vector<NamedCount> counters(const QpContextCache& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},         {"hits", c.hits},
          {"misses", c.misses},           {"reads", c.reads},
          {"reads_ahead", c.reads_ahead}, {"write_backs", c.write_backs},
          {"not_found", c.not_found}};
}

std::vector<NamedCount> counters(const TransportChecker& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},
          {"requests", c.requests},
          {"answers", c.answers},
          {"cnps", c.cnps},
          {"completions", c.completions}};
}

std::vector<NamedCount> counters(const TagMatchCam& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},
          {"searches", c.searches},
          {"matches", c.matches},
          {"unexpected", c.unexpected},
          {"untagged", c.untagged},
          {"operations", c.operations},
          {"failed_operations", c.failed_operations},
          {"overflow_appends", c.overflow_appends},
          {"walks", c.walks},
          {"walk_reads", c.walk_reads},
          {"promotions", c.promotions}};
}

std::vector<NamedCount> counters(const SrqWqeFetcher& b) {
  const auto& c = b.counters();
  const auto& p = b.prefetch_counters();
  return {{"packets", c.packets},
          {"wqes", c.wqes},
          {"waits", c.waits},
          {"no_wqe", c.no_wqe},
          {"bad_wqes", c.bad_wqes},
          {"too_long", c.too_long},
          {"doorbells", c.doorbells},
          {"limit_events", c.limit_events},
          {"flushed", c.flushed},
          {"wqe_reads", p.reads},
          {"wqes_read", p.wqes_read},
          {"wqes_discarded", p.wqes_discarded},
          {"queue_evictions", p.evictions}};
}

std::vector<NamedCount> counters(const GrhScatter& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},   {"segments", c.segments},   {"bytes", c.bytes},
          {"elements", c.elements}, {"grh_areas", c.grh_areas}, {"failed", c.failed}};
}

std::vector<NamedCount> counters(const AddressTranslator& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},         {"mpt_hits", c.mpt_hits},           {"mpt_misses", c.mpt_misses},
          {"mtt_hits", c.mtt_hits},       {"mtt_misses", c.mtt_misses},       {"walks", c.walks},
          {"walks_ahead", c.walks_ahead}, {"remote_errors", c.remote_errors}, {"local_errors", c.local_errors}};
}

std::vector<NamedCount> counters(const DmaEngine& b) {
  const auto& c = b.counters();
  return {{"writes", c.writes},
          {"reads", c.reads},
          {"atomics", c.atomics},
          {"write_bytes", c.write_bytes},
          {"read_bytes", c.read_bytes},
          {"tlps_up", c.tlps_up},
          {"tlps_down", c.tlps_down},
          {"link_bytes_up", c.link_bytes_up},
          {"link_bytes_down", c.link_bytes_down},
          {"failed", c.failed}};
}

std::vector<NamedCount> counters(const CqeGenerator& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},
          {"cqes", c.cqes},
          {"error_cqes", c.error_cqes},
          {"slots", c.slots},
          {"compressed", c.compressed},
          {"discarded", c.discarded},
          {"overruns", c.overruns},
          {"completion_events", c.completion_events},
          {"flush_requests", c.flush_requests}};
}

std::vector<NamedCount> counters(const AckGenerator& b) {
  const auto& c = b.counters();
  return {{"packets", c.packets},
          {"acks", c.acks},
          {"naks", c.naks},
          {"rnr_naks", c.rnr_naks},
          {"coalesced", c.coalesced},
          {"reads", c.reads},
          {"read_responses", c.read_responses},
          {"read_bytes", c.read_bytes},
          {"atomics", c.atomics},
          {"replays", c.replays},
          {"memory_errors", c.memory_errors},
          {"suppressed", c.suppressed}};
}

std::vector<NamedCount> counters(const Requester& b) {
  const auto& c = b.counters();
  return {{"doorbells", c.doorbells},     {"wqes", c.wqes},
          {"packets", c.packets},         {"payload_bytes", c.payload_bytes},
          {"repeated", c.repeated},       {"went_back", c.went_back},
          {"timeouts", c.timeouts},       {"rnr_waits", c.rnr_waits},
          {"completions", c.completions}, {"errors", c.errors},
          {"flushed", c.flushed},         {"memory_reads", c.memory_reads}};
}

}  // namespace

void collect_counters(const Nic& nic, NicResult& r) {
  std::vector<std::vector<NamedCount>> by_block = {
      counters(nic.rx_buffer),         counters(nic.rx_parser),          counters(nic.qp_context_cache),
      counters(nic.transport_checker), counters(nic.tag_match_cam),      counters(nic.srq_wqe_fetcher),
      counters(nic.grh_scatter),       counters(nic.address_translator), counters(nic.dma_engine),
      counters(nic.cqe_generator),     counters(nic.ack_generator)};
  if (nic.requester) by_block.push_back(counters(*nic.requester));
  for (std::size_t i = 0; i < r.blocks.size(); ++i) r.blocks[i].counters = by_block[i];
  const ResponderCounters& responder = nic.transport_checker.responder_counters();
  const RequestCounters& requests = nic.transport_checker.request_counters();
  r.transport = {{"psn_gaps", responder.psn_gaps},
                 {"psn_gap_packets", responder.psn_gap_packets},
                 {"truncated_messages", responder.truncated_messages},
                 {"duplicates", responder.duplicates},
                 {"sequence_naks", responder.sequence_naks},
                 {"invalid_requests", responder.invalid_requests},
                 {"rnr_naks", nic.ack_generator.counters().rnr_naks},
                 {"cnps", nic.transport_checker.counters().cnps},
                 {"requests_sent", requests.requests},
                 {"requests_repeated", requests.repeated},
                 {"requests_completed", requests.completed},
                 {"unexplained_answers", requests.unexplained_answers},
                 {"naks_received", requests.naks}};
}

}  // namespace rxnic
