// SPDX-License-Identifier: Apache-2.0
// The ports of the address translator.
#pragma once

#include "model/engine/link.h"
#include "model/types/address_translator_counters.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/refusal.h"
#include "model/types/segment.h"

namespace rxnic {

class AddressTranslatorPorts : public Block {
 public:
  virtual const AddressTranslatorCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }

  In<ScatteredSegment> in{"in"};
  Out<SegmentWrite> out{"out"};
  In<GatherSegment> gather_in{"gather_in"};
  Out<GatherRead> gather_out{"gather_out"};
  Out<Refusal> refusals{"refusals"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  In<RegionCommand> commands{"commands"};
  Out<RegionReply> command_replies{"command_replies"};
  Out<Event> page_requests{"page_requests"};
  In<Doorbell> page_replies{"page_replies"};

 protected:
  using Block::Block;
};

}  // namespace rxnic
