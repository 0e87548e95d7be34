// SPDX-License-Identifier: Apache-2.0
// The ports of the completion generator.
#pragma once

#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/engine/write_port.h"
#include "model/types/command.h"
#include "model/types/cqe_generator_counters.h"
#include "model/types/data_segment.h"
#include "model/types/dma.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/host_memory.h"
#include "model/types/message_times.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/requester_notice.h"
#include "model/types/scatter_list.h"
#include "model/types/stored_cq.h"

namespace rxnic {

struct BlockFacts;
struct Params;

// Is notified of each completion that is written, when its DMA write is made, in the order in which the writes land
// (HostNotice). Nothing in the model depends on it.
class CompletionObserver {
 public:
  virtual ~CompletionObserver() = default;
  // `times`: of its message; of a compressed CQE, the title's.
  virtual void on_written(Cqn cq, const Cqe& cqe, const MessageTimes& times, Cycle now) = 0;
};

class CqeGeneratorPorts : public Block {
 public:
  virtual const CqeGeneratorCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Before the simulation starts.
  virtual void create(const CqContext& attributes, HostMemory& memory) = 0;
  // Completions whose WQE comes from `queue` name the SRQ.
  virtual void attach_srq(WqId queue, Srqn srqn) = 0;
  virtual void set_observer(CompletionObserver* observer) = 0;

  In<CompletionRequest> in{"in"};
  Out<AckRequest> out{"out"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};  // CQEs that have landed
  Out<DmaRequest> context_dma{"context_dma"};
  In<DmaCompletion> context_dma_done{"context_dma_done"};
  Out<FlushRequest> flushes{"flushes"};
  Out<WqeSlot> released{"released"};  // to the WQE fetcher; may stay unbound
  Out<FailedQp> failed{"failed"};
  Out<AnswerNotice> placed{"placed"};  // may stay unbound, as the next one
  Out<RendezvousRequest> rendezvous{"rendezvous"};
  Out<Refusal> refusals{"refusals"};
  In<QpFailure> failures{"failures"};
  Out<Event> events{"events"};
  In<Doorbell> doorbells{"doorbells"};
  In<CqCommand> commands{"commands"};
  Out<CqReply> command_replies{"command_replies"};
  ReadPort<ContextLine, CompletionQp> context{"context"};
  ReadPort<ContextLine, CompletionQp> failure_context{"failure_context"};
  WritePort<CompletionContextWrite> context_write{"context_write"};
  WritePort<ContextLine> unpinned{"unpinned"};
  ReadPort<WqeSlot, DataSegment> wqe{"wqe"};
  ReadPort<CqLine, StoredCq> fetched{"fetched"};
  WritePort<CqWriteBack> written_back{"written_back"};
  WritePort<CqeWrite> written{"written"};

  // What the RTL of the block has to be like in a NIC with these parameters (block_facts.h).
  static BlockFacts facts(const Params& params);

 protected:
  using Block::Block;
};

}  // namespace rxnic
