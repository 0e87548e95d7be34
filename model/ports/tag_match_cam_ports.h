// SPDX-License-Identifier: Apache-2.0
// The ports of the tag matcher of TM SRQs.
#pragma once

#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/engine/write_port.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/queue_record.h"
#include "model/types/receive_path.h"
#include "model/types/tag_match_cam_counters.h"
#include "model/types/tag_operation.h"

namespace rxnic {

struct BlockFacts;
struct Params;

// Is notified of what becomes of the entries of the lists, in the order in which it is decided. Nothing in the model
// depends on it.
class TagObserver {
 public:
  virtual ~TagObserver() = default;
  virtual void on_list(WqId srq, std::uint32_t max_tags) = 0;  // it is made, and empty
  virtual void on_append(WqId srq, std::uint32_t handle) = 0;
  virtual void on_remove(WqId srq, std::uint32_t handle) = 0;
  virtual void on_match(WqId srq, std::uint32_t handle, Cycle now) = 0;
  virtual void on_unexpected(WqId srq, Cycle now) = 0;  // the search of a message found no entry
  virtual void on_put_back(WqId srq,
                           std::uint32_t handle) = 0;  // the entry of a match is posted again, as old as it was
};

class TagMatchCamPorts : public Block {
 public:
  virtual const TagMatchCamCounters& counters() const = 0;
  void visit_counters(const CounterVisitor& visit) const override { visit_each(visit, counters()); }
  // Before the simulation starts: adds a TM SRQ, by its number in the WQE fetcher. False: there is no list for it.
  virtual bool create(WqId srq, const WqContext& attributes) = 0;
  virtual bool has_room() const = 0;
  // Before any list is made. RTL in the block's place does not say what becomes of entries.
  virtual void set_observer(TagObserver* observer) { (void)observer; }

  In<WqeRequest> in{"in"};
  Out<WqeRequest> out{"out"};
  In<TagOperation> operations{"operations"};
  In<TagReturn> returned{"returned"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  In<TagListCommand> lists{"lists"};  // makes and removes TM SRQs; taken before a packet, answered in the same cycle
  Out<StepDone> list_done{"list_done"};
  ReadPort<ContextLine, TagContext> context{"context"};
  WritePort<TagContextWrite> context_write{"context_write"};
  ReadPort<TagBurstRead, StoredTag> bursts{"bursts"};  // what reads of the overflow have fetched
  WritePort<TagWrite> written{"written"};              // what is on its way to the overflow

  // What the RTL of the block has to be like in a NIC with these parameters (block_facts.h).
  static BlockFacts facts(const Params& params);

 protected:
  using Block::Block;
};

}  // namespace rxnic
