// SPDX-License-Identifier: Apache-2.0
// Which block stands in each place of a NIC. A default NicBlocks makes the blocks of model/blocks; an architect who has
// another block replaces its maker:
//
//     rxnic::NicBlocks blocks;
//     blocks.grh_scatter = [](const char* name, const rxnic::BlockPlace& at) {
//       return std::make_unique<MyScatter>(name, at.params.grh_scatter, at.memories.packets);
//     };
//
//   R1  A block is its ports (model/ports): any class that derives from XPorts can stand in the place of X.
//   R2  A maker is called once for each NIC, while the NIC is made; the requester's only for a NIC with a requester.
#pragma once

#include <functional>
#include <memory>

#include "model/nic/nic_policies.h"
#include "model/nic/nic_shared.h"
#include "model/params/params.h"
#include "model/ports/ack_generator_ports.h"
#include "model/ports/address_translator_ports.h"
#include "model/ports/command_processor_ports.h"
#include "model/ports/cqe_generator_ports.h"
#include "model/ports/dma_engine_ports.h"
#include "model/ports/grh_scatter_ports.h"
#include "model/ports/qp_context_cache_ports.h"
#include "model/ports/requester_ports.h"
#include "model/ports/rx_buffer_ports.h"
#include "model/ports/rx_parser_ports.h"
#include "model/ports/srq_wqe_fetcher_ports.h"
#include "model/ports/tag_match_cam_ports.h"
#include "model/ports/transport_checker_ports.h"
#include "model/types/host_memory.h"

namespace rxnic {

// What a maker builds a block from: the NIC's parameters, the memories on its chip, and the host's memory.
struct BlockPlace {
  const Params& params;
  NicShared& memories;
  HostMemory& host;
  Engine& engine;
  const NicPolicies& policies;
};

template <class Ports>
using MakeBlock = std::function<std::unique_ptr<Ports>(const char* name, const BlockPlace& at)>;

struct NicBlocks {
  NicBlocks();  // the blocks of model/blocks
  MakeBlock<RxBufferPorts> rx_buffer;
  MakeBlock<RxParserPorts> rx_parser;
  MakeBlock<QpContextCachePorts> qp_context_cache;
  MakeBlock<TransportCheckerPorts> transport_checker;
  MakeBlock<TagMatchCamPorts> tag_match_cam;
  MakeBlock<SrqWqeFetcherPorts> srq_wqe_fetcher;
  MakeBlock<GrhScatterPorts> grh_scatter;
  MakeBlock<AddressTranslatorPorts> address_translator;
  MakeBlock<DmaEnginePorts> dma_engine;
  MakeBlock<CqeGeneratorPorts> cqe_generator;
  MakeBlock<AckGeneratorPorts> ack_generator;
  MakeBlock<CommandProcessorPorts> command_processor;
  MakeBlock<RequesterPorts> requester;
};

}  // namespace rxnic
