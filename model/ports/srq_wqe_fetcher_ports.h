// SPDX-License-Identifier: Apache-2.0
// The ports of the receive WQE fetcher.
#pragma once

#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/engine/write_port.h"
#include "model/types/command.h"
#include "model/types/data_segment.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/host_memory.h"
#include "model/types/queue_record.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/scatter_list.h"
#include "model/types/srq_wqe_fetcher_counters.h"
#include "model/types/tag_operation.h"
#include "model/types/work_queue_table_counters.h"

namespace rxnic {

struct BlockFacts;
struct Params;

class SrqWqeFetcherPorts : public Block {
 public:
  virtual const SrqWqeFetcherCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override {
    visit_each(visit, counters());
    visit_each(visit, prefetch_counters());
  }
  // Before the simulation starts: adds a queue. kNoWq: there is no room.
  virtual WqId create(const WqContext& attributes, HostMemory& memory) = 0;
  virtual const WorkQueueTableCounters& prefetch_counters() const = 0;

  In<WqeRequest> in{"in"};
  In<WqeRequest> tagged{"tagged"};
  In<FlushRequest> flushes{"flushes"};
  Out<ScatterJob> out{"out"};
  In<Doorbell> doorbells{"doorbells"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  Out<DmaRequest> context_dma{"context_dma"};
  In<DmaCompletion> context_dma_done{"context_dma_done"};
  Out<Event> events{"events"};
  Out<TagReturn> returned{"returned"};  // to the tag matcher; may stay unbound
  In<RendezvousPlaces> rendezvous_places{"rendezvous_places"};
  Out<Refusal> refusals{"refusals"};
  In<WqCommand> commands{"commands"};
  Out<WqReply> command_replies{"command_replies"};
  In<WqeSlot> released{"released"};
  ReadPort<ContextLine, OpenWqe> context{"context"};  // of the packet at `in` (R20)
  ReadPort<ContextLine, OpenWqe> tagged_context{"tagged_context"};
  ReadPort<ContextLine, OpenWqe> flush_context{"flush_context"};
  ReadPort<ContextLine, OpenWqe> command_context{"command_context"};
  WritePort<OpenWqeWrite> context_write{"context_write"};
  WritePort<ContextPin> pins{"pins"};
  WritePort<ScatterListWrite> lists{"lists"};
  ReadPort<WqeRead, DataSegment> fetched_wqes{"fetched_wqes"};
  ReadPort<QueueLine, StoredQueue> fetched{"fetched"};
  WritePort<QueueWrite> written_back{"written_back"};

  // What the RTL of the block has to be like in a NIC with these parameters (block_facts.h).
  static BlockFacts facts(const Params& params);

 protected:
  using Block::Block;
};

}  // namespace rxnic
