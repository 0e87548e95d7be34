// SPDX-License-Identifier: Apache-2.0
// The ports of the requester.
#pragma once

#include <span>

#include "model/core/requester/request_packet.h"
#include "model/core/requester/send_qp.h"
#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/qp_event.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/requester_counters.h"
#include "model/types/requester_notice.h"
#include "model/types/send_completion.h"
#include "model/types/wire_frame.h"

namespace rxnic {

class RequesterPorts : public Block, public QpNotifier {
 public:
  virtual const RequesterCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Before the simulation starts, and before the first QP is in kRts: sets the port's own addresses.
  virtual void set_port(const MacAddress& mac, std::span<const SourceGid> gids) = 0;
  virtual bool create(const SendQpContext& context) = 0;  // false: there are as many QPs as there may be
  // Replaces the attributes that software sets, the state too; the SQ's PSN only with `set_sq_psn`.
  virtual void modify(const SendQpContext& context, bool set_sq_psn, bool recovers = false) = 0;

  In<Doorbell> doorbells{"doorbells"};
  In<AnswerNotice> answers{"answers"};
  In<AnswerNotice> placed{"placed"};  // their data has left for memory; unbound: it has when they come
  In<FailedQp> failed{"failed"};      // QPs that the receive path moved to the error state
  In<RequestPlaces> places{"places"};
  In<RendezvousRequest> rendezvous{"rendezvous"};                // of the receive path
  Out<RendezvousPlaces> rendezvous_places{"rendezvous_places"};  // may stay unbound
  Out<RequestNotice> notices{"notices"};
  Out<SendCompletion> completions{"completions"};
  Out<WireFrame> tx{"tx"};
  Out<DmaRequest> wqe_dma{"wqe_dma"};
  In<DmaCompletion> wqe_dma_done{"wqe_dma_done"};
  Out<DmaRequest> payload_dma{"payload_dma"};
  In<DmaCompletion> payload_dma_done{"payload_dma_done"};
  Out<WindowRequest> windows{"windows"};
  In<StepDone> windows_done{"windows_done"};
  In<SendQueueCommand> commands{"commands"};
  Out<SendQueueReply> command_done{"command_done"};
  Out<Event> events{"events"};  // may stay unbound

 protected:
  using Block::Block;
};

}  // namespace rxnic
