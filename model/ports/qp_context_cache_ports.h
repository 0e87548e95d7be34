// SPDX-License-Identifier: Apache-2.0
// The ports of the QP context cache.
#pragma once

#include "model/engine/link.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/parsed_packet.h"
#include "model/types/qp_context_cache_counters.h"
#include "model/types/send_completion.h"

namespace rxnic {

class QpContextCachePorts : public Block {
 public:
  virtual const QpContextCacheCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }

  In<ParsedPacket> in{"in"};
  In<SendCompletion> commands{"commands"};
  Out<ContextPacket> out{"out"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  In<ContextCommand> contexts{"contexts"};
  Out<ContextReply> context_replies{"context_replies"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
