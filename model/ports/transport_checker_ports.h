// SPDX-License-Identifier: Apache-2.0
// The ports of the transport checker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/core/responder/responder.h"
#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/context.h"
#include "model/types/parsed_packet.h"
#include "model/types/qp_event.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/request_counters.h"
#include "model/types/requester_notice.h"
#include "model/types/responder_counters.h"
#include "model/types/transport_checker_counters.h"

namespace rxnic {

inline constexpr std::size_t kRefusers = 6;  // blocks that may refuse a packet

class TransportCheckerPorts : public Block, public QpNotifier {
 public:
  virtual const TransportCheckerCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Before the simulation starts: adds an SRQ that packets name (XRC). QPs on a tag-matching SRQ have its CQ as their
  // receive_cq. False: there are as many as there may be.
  virtual bool add_srq(Srqn srqn, const SrqEntry& entry) = 0;
  // Reserves as many entries for READs and atomics as the QP needs in its state; false: there are not enough, and
  // nothing has changed.
  virtual bool reserve(const ResponderContext& qp) = 0;
  virtual std::uint32_t resources_left() const = 0;
  virtual const ResponderCounters& responder_counters() const = 0;
  virtual const RequestCounters& request_counters() const = 0;

  In<ContextPacket> in{"in"};
  In<RequestNotice> requests{"requests"};
  Out<AnswerNotice> answers{"answers"};  // may be left unbound, like `places`
  Out<RequestPlaces> places{"places"};
  Out<WqeRequest> to_cam{"to_cam"};
  Out<WqeRequest> to_fetcher{"to_fetcher"};
  std::array<In<Refusal>, kRefusers> refusals;  // a link for each block that may refuse a packet
  In<QpCommand> commands{"commands"};
  Out<QpReply> command_replies{"command_replies"};
  In<SrqCommand> srqs{"srqs"};
  Out<StepDone> srq_done{"srq_done"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
