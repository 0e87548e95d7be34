// SPDX-License-Identifier: Apache-2.0
// Tag matching of TM SRQs: a CAM with the oldest tags of each list, the rest in an overflow list in memory. All packets
// of QPs on a TM SRQ pass here; the first packet of a SEND is searched. The decisions are
// model/core/tag_matching/tag_match_list.
//
//   R1  A search decides in the cycle n in which its packet is taken and has its result in cycle n + search_cycles,
//       when the packet leaves. Packets that need no search take as long. One packet is taken a cycle.
//   R2  A search and an append accepted in the same cycle: the search does not see the append.
//   R3  An operation accepted in cycle n occupies the CAM for append_cycles (a sync for one): the next packet or
//       operation is taken in cycle n + append_cycles. Its completion, when one is due, leaves then at the earliest
//       (R4).
//   R4  Everything leaves in the order in which it was taken.
//   R5  The CAM is shared by all lists: `entries` in all. What does not fit is written to the list's overflow in
//       memory.
//   R6  A search that the CAM cannot decide walks the overflow: from cycle n + search_cycles on it reads
//       overflow_entries_per_read entries at a time, each read when the one before has come, up to the match or the
//       end. No packet is taken meanwhile. The result is there in the cycle in which the last read has come. Entries
//       that were passed over move into the CAM while there is room. The list in memory is treated as compact: closing
//       gaps costs nothing.
//   R7  Match: the entry's buffer is the message's WQE, for which the WQE fetcher finds room; the TMH is stripped.
//       One packet: one completion, MATCH and DATA_VALID. Several: the first completes with MATCH, the last with
//       DATA_VALID (rules 5.6).
//   R8  Miss: the message goes on to take a WQE, into which its TMH is written too. It counts as unexpected; messages
//       with NO_TAG, FIN or an unknown opcode and those without a whole TMH do not. Rendezvous requests are not
//       searched yet: they are always unexpected.
//   R9  SYNC_REQ is set in the completion of an operation that leaves the list out of phase, and in that of an
//       unexpected message when a sync is wanted (rules 5.5).
//   R10 Append to a full list and removal of a tag that is not posted complete with kTagMatch, signaled or not.
//   R11 `returned`: the fetcher gives back a match, or an unexpected message, that was refused or squashed before it
//       was delivered; it is taken at once.
//   R12 There are `lists` lists at most; one more is refused.
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/tag_matching/tag_match_list.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/command.h"
#include "model/types/tag_match_cam_counters.h"
#include "model/types/tag_matching.h"

namespace rxnic {

class TagMatchCam final : public Block {
 public:
  TagMatchCam(const sc_core::sc_module_name& name, const TagMatchCamParams& params, NicShared& shared);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const TagMatchCamCounters& counters() const { return counters_; }

  // Before the simulation starts: adds a TM SRQ, by its number in the fetcher. False: there is no list for it (R12).
  bool create(WqId srq, const WqContext& context);
  bool has_room() const { return lists_used_ < params_.lists; }
  const TagMatchList* list(WqId srq) const { return exists(srq) ? &lists_[raw(srq)]->tags : nullptr; }

  In<WqeRequest> in{"in"};
  Out<WqeRequest> out{"out"};
  In<TagOperation> operations{"operations"};
  In<TagReturn> returned{"returned"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  In<TagListCommand> lists{"lists"};  // makes and removes TM SRQs; taken before a packet, answered in the same cycle
  Out<StepDone> list_done{"list_done"};

 protected:
  void end_of_elaboration() override;

 private:
  struct List {
    WqContext srq;
    TagMatchList tags;
  };

  bool exists(WqId srq) const { return raw(srq) < lists_.size() && lists_[raw(srq)] != nullptr; }
  struct Result {
    WqeRequest packet;
    bool walks = false;  // its search goes on in memory
  };

  void carry_out_command(Cycle now);
  void destroy(WqId srq);
  void take_back(const TagReturn& r);
  bool walk(Cycle now);
  void accept_packet(Cycle now);
  bool search(WqeRequest& p, WqId srq);
  void match(WqeRequest& p, const List& list, std::uint32_t handle);
  void label_end(WqeRequest& p) const;
  bool accept_operation(Cycle now);
  bool add(List& list, const TagOperation& op, Cycle now);
  void complete(const TagOperation& op, const List& list, bool ok, Cycle now);
  BusAddress overflow_address(WqId srq, std::uint32_t position) const;

  TagMatchCamParams params_;
  NicShared& shared_;
  QpContextPort<TagContext> contexts_;
  std::vector<std::unique_ptr<List>> lists_;  // by WqId
  std::uint32_t lists_used_ = 0;
  std::uint32_t cam_used_ = 0;
  DelayLine<Result> pipeline_;
  Cycle cam_free_{};                // the CAM is occupied until then (R3)
  WqId walk_srq_ = kNoWq;           // the list that a search walks in memory
  std::uint32_t walk_entries_ = 0;  // entries of it still to be read
  std::uint32_t walk_position_ = 0;
  std::uint32_t walk_promotes_ = 0;  // entries that it passes over
  bool walk_waits_ = false;          // a read is on its way
  std::vector<std::uint8_t> walk_buffer_;
  std::vector<TagOverflowEntry> write_buffers_;  // used in turn
  std::size_t next_write_buffer_ = 0;
  bool lacks_dma_ = false;  // an operation waits for room in the link to the DMA engine
  TagMatchCamCounters counters_;
};

}  // namespace rxnic
