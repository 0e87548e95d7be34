// SPDX-License-Identifier: Apache-2.0
// The NIC: the blocks of the receive path wired together.
//
//   wire -> rx_buffer -> rx_parser -> qp_context_cache -> transport_checker -+----------------> srq_wqe_fetcher
//                                                                            +-> tag_match_cam ->     |
//        cqe_generator <- dma_engine <- address_translator <- grh_scatter <---------------------------+
//             |
//             +-> ack_generator -> wire
//
// With a requester: doorbells -> requester -> wire. It reports its requests to transport_checker, which reports their
// responses to it, and its completions enter the path at qp_context_cache.
//
// The driver's commands go to command_processor, which asks the blocks for their parts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/engine/engine.h"
#include "model/nic/nic_blocks.h"

namespace rxnic {

struct NicOptions {
  bool requester = false;  // false: our requests are sent outside the NIC and reported on `requests`
  NicBlocks blocks{};
  NicPolicies policies{};
};

template <class Ports>
using BlockOf = Ports&;
template <class Ports>
using MaybeBlockOf = Ports* const;  // nullptr: the NIC is without
using BlocksOfNic = NicPlaces<BlockOf, MaybeBlockOf>;

// What a NIC consists of.
class NicParts {
 public:
  NicShared shared;

  // The blocks in path order, then the command processor, the requester last.
  std::vector<Block*> blocks();
  // All FIFOs between blocks and to the outside.
  const std::vector<std::unique_ptr<LinkBase>>& links() const { return links_; }

 protected:
  NicParts(const Params& params, const NicOptions& options, const Cycle* now);
  template <class T>
  Link<T>& link(const std::string& name, std::uint32_t capacity);
  BlocksOfNic make_blocks(const NicOptions& options, const BlockPlace& at);
  void add_to(Engine& engine) const;

 private:
  template <class Ports>
  Ports& place(const MakeBlock<Ports>& make, const char* name, const BlockPlace& at);

  std::vector<std::unique_ptr<LinkBase>> links_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

class Nic final : public sc_core::sc_module, public NicParts, public BlocksOfNic {
 public:
  // Throws std::invalid_argument: a maker of `options.blocks` is missing, or has made nothing. The engine is then as it
  // was before.
  Nic(const sc_core::sc_module_name& name, const Params& params, HostMemory& memory, Engine& engine,
      const NicOptions& options = {});

  // What setup refuses more of (nic_setup.h, R3), and the blocks that have them.
  struct Limits {
    std::uint32_t qps = 0, srqs = 0;
  };
  const Limits limits;

  // Links to the outside.
  Link<WireFrame>& wire_in;
  Link<WireFrame>& wire_out;       // responses
  Link<WireFrame>& requests_out;   // with a requester: its packets
  Link<RequestNotice>& requests;   // our own requests as they leave; with a requester it writes them
  Link<SendCompletion>& commands;  // the requester's completions, which enter the path
  Link<TagOperation>& tag_operations;
  Link<Doorbell>& send_doorbells;        // kSend, with a requester
  Link<Doorbell>& receive_doorbells;     // kReceive, kSrqLimit
  Link<Doorbell>& completion_doorbells;  // kCqConsumer, kCqArm
  Link<HostNotice>& landed;              // CQEs that are visible in host memory
  Link<Event>& receive_events;           // SRQ limit
  Link<Event>& completion_events;        // CQ, QP
  Link<Event>& send_events;              // SQD, page requests; with a requester
  Link<Event>& page_requests;            // of the address translator
  Link<Doorbell>& page_replies;          // to it; the requester's come as send doorbells
  Link<DriverCommand>& command_queue;
  Link<CommandReply>& command_replies;  // that are visible in host memory

  // No hardware: the link notifies the host model of what has become visible in its memory.
  bool notifies_host(const LinkBase& link) const {
    return &link == &landed || &link == &receive_events || &link == &completion_events || &link == &send_events ||
           &link == &page_requests || &link == &command_replies;
  }
};

}  // namespace rxnic
