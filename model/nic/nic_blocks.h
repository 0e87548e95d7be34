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

// The places of a NIC, in the order of the path; then the command processor, and the requester. A place holds an
// Of<XPorts>: in NicBlocks the maker of the block, in a Nic the block. MaybeOf is for a block that not every NIC has.
template <template <class> class Of, template <class> class MaybeOf = Of>
struct NicPlaces {
  Of<RxBufferPorts> rx_buffer;
  Of<RxParserPorts> rx_parser;
  Of<QpContextCachePorts> qp_context_cache;
  Of<TransportCheckerPorts> transport_checker;
  Of<TagMatchCamPorts> tag_match_cam;
  Of<SrqWqeFetcherPorts> srq_wqe_fetcher;
  Of<GrhScatterPorts> grh_scatter;
  Of<AddressTranslatorPorts> address_translator;
  Of<DmaEnginePorts> dma_engine;
  Of<CqeGeneratorPorts> cqe_generator;
  Of<AckGeneratorPorts> ack_generator;
  Of<CommandProcessorPorts> command_processor;
  MaybeOf<RequesterPorts> requester;
};

struct NicBlocks : NicPlaces<MakeBlock> {
  NicBlocks();  // the blocks of model/blocks
};

}  // namespace rxnic
