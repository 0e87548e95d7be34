// SPDX-License-Identifier: Apache-2.0
// A twin in the place of its block: it takes from the block's links and pushes into them what the RTL takes and gives.
//
//   R1  The results are those of the block, in every mode of the engine and every step order: all links pass the same
//       values in the same cycles, and the run ends in the same one. The block itself does nothing any more.
//   R2  Of its counters it has those that the ports show (twin_facts.h, R7). Its cycle account is the block's when the
//       RTL says what it does (twin.h, R4). Of other RTL the account knows two activities, and its busy cycles are an
//       upper bound: kBusy while something is left to do or passes a port, as far as they show; otherwise kStarved.
//   R3  While nothing is left to do and no input is valid the twin is not clocked, unless `always` is asked for: then
//       it gets the cycles that it has missed before the next one in which there is something to do.
//   R4  RTL that cannot go on (Twin::failure()), or whose activity_o is no Activity, ends the simulation in that cycle.
//   R5  Fields that only observers read are no part of the RTL's ports: what leaves has those of the packet with the
//       same `buffer` that was taken last; without a buffer, of the oldest one of the same role and QP.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bridge/rtl/twin.h"
#include "model/engine/engine.h"
#include "model/engine/link.h"

namespace rxnic {

class RtlBlock final : public Block {
 public:
  // Called when a packet is taken, and when it leaves with its last value: observers stamp it.
  using Stamp = std::function<void(PacketHandle buffer, Cycle now, bool leaves)>;
  // Before the simulation starts; `block` has been added to the engine.
  RtlBlock(const sc_core::sc_module_name& name, Engine& engine, Block& block, std::unique_ptr<Twin> twin,
           Stamp stamp = {}, bool always = false);
  ~RtlBlock() override;
  Cycle step(Cycle now) override;
  std::uint64_t clocked() const { return clocked_; }
  std::uint64_t transactions() const { return transactions_; }
  std::string_view failure() const { return wrong_.empty() ? twin_->failure() : wrong_; }
  bool knows_activity() const { return twin_->activity != nullptr; }  // (R2)

 protected:
  void start_of_simulation() override;

 private:
  struct Port;
  struct Kept {  // of a packet that was taken
    std::uint64_t role = 0, qpn = 0;
    DescriptorOperations::Observers observers;
  };
  void drive(Cycle now);
  void take(Port& port, Cycle now);
  void give(Port& port, Cycle now);
  void read(Port& port);
  void clock();
  void look_at_activity();

  Engine& engine_;
  Block& block_;
  std::unique_ptr<Twin> twin_;
  const Stamp stamp_;
  const bool always_;
  std::vector<Port> ports_;
  std::map<PacketHandle, std::deque<Kept>> observers_;  // by buffer (R5)
  Cycle next_{};                                        // the twin's
  Activity activity_ = Activity::kStarved;              // in this cycle, when it says (R2)
  std::string wrong_;                                   // (R4)
  std::uint64_t clocked_ = 0, transactions_ = 0;
};

}  // namespace rxnic
