// SPDX-License-Identifier: Apache-2.0
// The ports of the command processor.
#pragma once

#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/command_processor_counters.h"
#include "model/types/dma.h"

namespace rxnic {

class CommandProcessorPorts : public Block {
 public:
  virtual const CommandProcessorCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }

  In<DriverCommand> commands{"commands"};
  Out<CommandReply> replies{"replies"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  // The requests to each block, and its answers. The requester's may stay unbound.
  Out<CqCommand> cqs{"cqs"};
  In<CqReply> cq_replies{"cq_replies"};
  Out<RegionCommand> regions{"regions"};
  In<RegionReply> region_replies{"region_replies"};
  Out<RetireCommand> retirements{"retirements"};
  In<StepDone> retired{"retired"};
  Out<DmaFence> fences{"fences"};
  In<StepDone> fenced{"fenced"};
  Out<WqCommand> wqs{"wqs"};
  In<WqReply> wq_replies{"wq_replies"};
  Out<SrqCommand> srqs{"srqs"};
  In<StepDone> srq_done{"srq_done"};
  Out<TagListCommand> tag_lists{"tag_lists"};
  In<StepDone> tag_list_done{"tag_list_done"};
  Out<ContextCommand> contexts{"contexts"};
  In<ContextReply> context_replies{"context_replies"};
  Out<QpCommand> qps{"qps"};
  In<QpReply> qp_replies{"qp_replies"};
  Out<SendQueueCommand> send_queues{"send_queues"};
  In<SendQueueReply> send_queue_done{"send_queue_done"};
  In<WindowRequest> windows{"windows"};  // of the requester, and the answers; may stay unbound
  Out<StepDone> windows_done{"windows_done"};
  Out<SteeringCommand> steering{"steering"};
  In<SteeringReply> steering_done{"steering_done"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
