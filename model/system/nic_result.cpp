// SPDX-License-Identifier: Apache-2.0
#include "model/system/nic_result.h"

namespace rxnic {

namespace {

void add_counts(std::vector<NamedCount>& to, const std::vector<NamedCount>& more) {
  if (to.empty()) {
    to = more;
    return;
  }
  for (std::size_t i = 0; i < more.size(); ++i) to[i].second += more[i].second;
}

}  // namespace

void observe_qps(Nic& nic, WrittenCompletions& written, QpObserver& observer) {
  for (QpNotifier* block :
       std::initializer_list<QpNotifier*>{&nic.transport_checker, &nic.ack_generator, &nic.dma_engine, &written}) {
    block->set_qp_observer(&observer);
  }
  if (nic.requester != nullptr) nic.requester->set_qp_observer(&observer);
}

void collect_time(Engine& engine, RunResult& r) {
  engine.settle();
  r.cycles = engine.now().count + 1;
  r.time_ps = r.cycles * engine.clock_period_ps();
}

void collect_blocks(Nic& nic, NicResult& r) {
  for (const Block* block : nic.blocks()) {
    BlockResult& one = r.blocks.emplace_back(BlockResult{block->basename(), block->account(), {}});
    block->visit_counters([&one](std::string_view key, std::uint64_t n) { one.counters.emplace_back(key, n); });
  }
  r.transport = named_counts(nic.transport_checker.responder_counters());
  r.transport.emplace_back("messages", nic.shared.ledger.counters().messages);
  r.transport.emplace_back("rnr_naks", nic.ack_generator.counters().rnr_naks);
  r.transport.emplace_back("cnps", nic.transport_checker.counters().cnps);
  RequestCounters requests = nic.transport_checker.request_counters();
  // The NIC's own requester announces none twice; that of a capture is outside the NIC.
  if (nic.requester != nullptr) requests.repeated = nic.requester->counters().requests_repeated;
  append_counts(r.transport, requests);
  const DmaEngineCounters& dma = nic.dma_engine.counters();
  for (const EnumeratorInfo& kind : Enumeration<EventType>::kValues) {
    r.events.emplace_back(kind.name, dma.events_of[kind.value]);
  }
}

NicResult nic_result(Nic& nic) {
  NicResult r;
  r.packets = nic.shared.ledger.counters();
  r.messages = r.packets.messages;
  r.cqes = nic.cqe_generator.counters().cqes;
  r.error_cqes = nic.cqe_generator.counters().error_cqes;
  collect_blocks(nic, r);
  return r;
}

void add_nic(NicResult& sum, const NicResult& one) {
  sum.packets.seen += one.packets.seen;
  sum.packets.accepted += one.packets.accepted;
  sum.packets.not_rdma += one.packets.not_rdma;
  for (std::size_t i = 0; i < kDropReasons; ++i) sum.packets.dropped[i] += one.packets.dropped[i];
  sum.messages += one.messages;
  sum.cqes += one.cqes;
  sum.error_cqes += one.error_cqes;
  add_counts(sum.transport, one.transport);
  add_counts(sum.events, one.events);
}

}  // namespace rxnic
