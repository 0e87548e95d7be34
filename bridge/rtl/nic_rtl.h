// SPDX-License-Identifier: Apache-2.0
// The RTL of blocks of NICs: in lockstep with them, or in their place.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rtl/lockstep.h"
#include "bridge/rtl/rtl_block.h"
#include "bridge/rtl/rtl_request.h"
#include "bridge/rtl/transactions.h"
#include "model/nic/nic.h"
#include "model/system/run_result.h"

namespace rxnic {

// Model and RTL differ, or the RTL cannot go on.
class LockstepError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nothing differed, but a block had nothing to do, so that nothing of it was compared.
class NothingCompared : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// Throws it when it is so; for the end of a run, whose report is written all the same.
void refuse_nothing_compared(const RtlResult& result);

class NicRtl {
 public:
  // nullptr when nothing is asked for.
  static std::unique_ptr<NicRtl> make(const RtlRequest& request, const Params& params);

  // The blocks of a NIC, with RTL in the place of those for which it is asked. A maker throws std::invalid_argument:
  // there is no such RTL.
  NicBlocks blocks();
  // Before the simulation starts: adds the RTL that runs beside the NIC's blocks. Throws likewise.
  void add(Nic& nic, Engine& engine);
  // After the simulation. What was compared. Throws LockstepError. A NIC may have had nothing to do for a block, but
  // not all of them: RtlResult::nothing.
  RtlResult finish();
  // For the end of the replay of a capture, behind finish(). With RTL in the place of a block no packet is left inside
  // the NIC, as without it. Throws LockstepError that names the blocks, and what passed their ports.
  void refuse_packets_inside(const LedgerCounters& packets, Cycle last) const;
  // For blocks that RTL replaces: leaves out the counters that the ports do not show. Busy cycles that are an upper
  // bound are marked.
  void leave_unknown_out(RunResult& result) const;

 private:
  NicRtl(RtlRequest request, const Params& params) : request_(std::move(request)), params_(params) {}

  void add_lockstep(Nic& nic, Engine& engine, const RtlChoice& choice);
  template <class Entry>
  void put(const Entry& entry, NicBlocks& of, const RtlChoice& choice);
  std::unique_ptr<Twin> twin_of(const RtlChoice& choice, RtlBuild build);

  RtlRequest request_;
  const Params params_;
  std::uint64_t made_ = 0;                                                   // twins
  std::vector<std::pair<std::string, std::unique_ptr<Lockstep>>> lockstep_;  // by the block's name
  std::vector<std::pair<std::string, std::unique_ptr<TransactionLockstep>>> transactions_;
  std::vector<std::pair<std::string, RtlBlock*>> rtl_;  // of the NICs that were made
};

}  // namespace rxnic
