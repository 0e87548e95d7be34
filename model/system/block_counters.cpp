// SPDX-License-Identifier: Apache-2.0
#include "model/system/block_counters.h"

namespace rxnic {

void collect_counters(const Nic& nic, NicResult& r) {
  std::vector<std::vector<NamedCount>> by_block = {
      named_counts(nic.rx_buffer.counters()),        named_counts(nic.rx_parser.counters()),
      named_counts(nic.qp_context_cache.counters()), named_counts(nic.transport_checker.counters()),
      named_counts(nic.tag_match_cam.counters()),    named_counts(nic.srq_wqe_fetcher.counters()),
      named_counts(nic.grh_scatter.counters()),      named_counts(nic.address_translator.counters()),
      named_counts(nic.dma_engine.counters()),       named_counts(nic.cqe_generator.counters()),
      named_counts(nic.ack_generator.counters()),    named_counts(nic.command_processor.counters())};
  append_counts(by_block[5], nic.srq_wqe_fetcher.prefetch_counters());
  if (nic.requester) by_block.push_back(named_counts(nic.requester->counters()));
  for (std::size_t i = 0; i < r.blocks.size(); ++i) r.blocks[i].counters = by_block[i];
  r.transport = named_counts(nic.transport_checker.responder_counters());
  r.transport.emplace_back("rnr_naks", nic.ack_generator.counters().rnr_naks);
  r.transport.emplace_back("cnps", nic.transport_checker.counters().cnps);
  append_counts(r.transport, nic.transport_checker.request_counters());
}

}  // namespace rxnic
