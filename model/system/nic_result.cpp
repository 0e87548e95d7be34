// SPDX-License-Identifier: Apache-2.0
#include "model/system/nic_result.h"

namespace rxnic {

void collect_blocks(Nic& nic, NicResult& r) {
  for (const Block* block : nic.blocks()) {
    BlockResult& one = r.blocks.emplace_back(BlockResult{block->basename(), block->account(), {}});
    block->visit_counters([&one](std::string_view key, std::uint64_t n) { one.counters.emplace_back(key, n); });
  }
  r.transport = named_counts(nic.transport_checker.responder_counters());
  r.transport.emplace_back("rnr_naks", nic.ack_generator.counters().rnr_naks);
  r.transport.emplace_back("cnps", nic.transport_checker.counters().cnps);
  append_counts(r.transport, nic.transport_checker.request_counters());
}

NicResult nic_result(Nic& nic) {
  NicResult r;
  r.packets = nic.shared.ledger.counters();
  r.cqes = nic.cqe_generator.counters().cqes;
  r.error_cqes = nic.cqe_generator.counters().error_cqes;
  r.events = {{"completion", nic.cqe_generator.counters().completion_events},
              {"srq_limit_reached", nic.srq_wqe_fetcher.counters().limit_events},
              {"cq_error", nic.cqe_generator.counters().overruns}};
  collect_blocks(nic, r);
  return r;
}

}  // namespace rxnic
