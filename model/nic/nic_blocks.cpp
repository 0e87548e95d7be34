// SPDX-License-Identifier: Apache-2.0
#include "model/nic/nic_blocks.h"

#include <utility>

#include "model/blocks/ack_generator.h"
#include "model/blocks/address_translator.h"
#include "model/blocks/command_processor.h"
#include "model/blocks/cqe_generator.h"
#include "model/blocks/dma_engine.h"
#include "model/blocks/grh_scatter.h"
#include "model/blocks/qp_context_cache.h"
#include "model/blocks/requester.h"
#include "model/blocks/rx_buffer.h"
#include "model/blocks/rx_parser.h"
#include "model/blocks/srq_wqe_fetcher.h"
#include "model/blocks/tag_match_cam.h"
#include "model/blocks/transport_checker.h"
#include "model/core/tag_matching/tag_returns.h"

namespace rxnic {

NicBlocks::NicBlocks() {
  rx_buffer = [](const char* name, const BlockPlace& at) {
    return std::make_unique<RxBuffer>(name, at.params.wire, at.memories.ledger);
  };
  rx_parser = [](const char* name, const BlockPlace& at) {
    return std::make_unique<RxParser>(name, at.params.rx_parser, at.memories.packets, at.memories.ledger);
  };
  qp_context_cache = [](const char* name, const BlockPlace& at) {
    return std::make_unique<QpContextCache>(name, at.params.qp_context_cache, at.memories.contexts, at.memories.ledger,
                                            at.memories.packets, made(at.policies.replacement, NicCache::kQpContexts));
  };
  transport_checker = [](const char* name, const BlockPlace& at) {
    const Params& p = at.params;
    return std::make_unique<TransportChecker>(name, p.transport_checker, at.memories.packets, at.memories.ledger,
                                              at.memories.contexts,
                                              TransportCheckerSizes{p.requester.send_queues, p.device.max_srqs});
  };
  tag_match_cam = [](const char* name, const BlockPlace& at) {
    return std::make_unique<TagMatchCam>(name, at.params.tag_match_cam, at.memories.contexts, at.memories.packets,
                                         most_tag_returns(at.params));
  };
  srq_wqe_fetcher = [](const char* name, const BlockPlace& at) {
    const Params& p = at.params;
    return std::make_unique<SrqWqeFetcher>(
        name, p.srq_wqe_fetcher, at.memories.contexts, at.memories.packets, p.transport_checker.ud_too_long,
        p.transport_checker.wqe_error_status, p.ack_generator.credits == AckCredits::kCounted, p.requester.rendezvous,
        made(at.policies.prefetch), made(at.policies.replacement, NicCache::kQueueContexts));
  };
  grh_scatter = [](const char* name, const BlockPlace& at) {
    return std::make_unique<GrhScatter>(name, at.params.grh_scatter, at.memories.packets);
  };
  address_translator = [](const char* name, const BlockPlace& at) {
    auto mpt = made(at.policies.replacement, NicCache::kMpt);
    auto mtt = made(at.policies.replacement, NicCache::kMtt);
    return std::make_unique<AddressTranslator>(name, at.params.address_translator, at.memories.packets,
                                               at.params.transport_checker.wqe_error_status, std::move(mpt),
                                               std::move(mtt));
  };
  dma_engine = [](const char* name, const BlockPlace& at) {
    return std::make_unique<DmaEngine>(name, at.params.dma_engine, at.params.nic.clock_period_ps, at.memories.packets,
                                       at.host, made(at.policies.dma));
  };
  cqe_generator = [](const char* name, const BlockPlace& at) {
    const Params& p = at.params;
    return std::make_unique<CqeGenerator>(
        name, p.cqe_generator, at.memories.contexts, at.memories.wqes, at.memories.packets, p.nic.clock_period_ps,
        p.requester.send_queues + p.device.max_srqs, made(at.policies.replacement, NicCache::kCqContexts));
  };
  ack_generator = [](const char* name, const BlockPlace& at) {
    const Params& p = at.params;
    return std::make_unique<AckGenerator>(name, p.ack_generator, at.memories.packets, at.memories.ledger,
                                          at.memories.contexts, p.nic.clock_period_ps,
                                          p.transport_checker.rd_atomic_over_limit, made(at.policies.reads));
  };
  command_processor = [](const char* name, const BlockPlace& at) {
    return std::make_unique<CommandProcessor>(name, at.params.command_processor, at.params.nic.clock_period_ps);
  };
  requester = [](const char* name, const BlockPlace& at) {
    const Params& p = at.params;
    return std::make_unique<Requester>(name, p.requester, p.nic.clock_period_ps, at.memories.packets, at.host,
                                       p.transport_checker.own_requests, p.nic.link_gbps);
  };
}

}  // namespace rxnic
