// SPDX-License-Identifier: Apache-2.0
// A twin in the place of its block: it takes from the block's links and pushes into them what the RTL takes and gives.
//
//   R1  The results are those of the block, in every mode of the engine and every step order. All links pass the same
//       values in the same cycles, and the run ends in the same cycle. The block of C++ stands behind the RTL
//       (model/engine/behind_rtl.h), and is not stepped.
//   R2  The RTL counts those of the block's counters that the ports show (block_facts.h, R7). Its cycle account is the
//       block's when the RTL says what it does (twin.h, R4). For other RTL the account knows two activities, and its
//       busy cycles are an upper bound. The RTL is kBusy while something is left to do or passes a port, as far as the
//       ports show that; otherwise it is kStarved.
//   R3  While nothing is left to do and no input is valid the twin is not clocked, unless `always` is asked for. The
//       twin then gets the cycles that it has missed before the next cycle in which there is something to do. Something
//       is left to do until quiescent_o holds. RTL that is never quiescent lets the run end, too: it
//       rests when no input and no output was valid for `patience` cycles.
//   R4  RTL that cannot go on (Twin::failure()), or whose activity_o is no Activity, ends the simulation in that cycle.
//       So does RTL that stands still: for `patience` cycles an input is valid and not taken. In these cycles nothing
//       passes an input or an output, and no output is valid.
//   R5  Fields that only observers read are no part of the RTL's ports. A value that leaves has the fields of the
//       packet with the same `buffer` that was taken last. Without a buffer it has those of the oldest packet of the
//       same role and QP.
//       A packet with a `buffer` that the RTL has not taken ends the simulation as in R4. The model would write to
//       another packet, or to none.
//   R6  The clock of a fused twin (twin.h, R3) rises with the next cycle's inputs, when a value is known to be at one
//       of them. Otherwise it rises at once, with inputs as expected: no value, and the room that there is now. In the
//       next cycle the RTL is evaluated again only when something else stands at its ports.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rtl/twin.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/engine.h"
#include "model/engine/link.h"

namespace rxnic {

// The work of the RTL. rtl_blocks.h adds the ports of each block that has RTL.
class RtlBlock {
 public:
  // Called when a packet is taken, and when it leaves with its last value: observers stamp it.
  using Stamp = std::function<void(PacketHandle buffer, Cycle now, bool leaves)>;
  static constexpr std::uint64_t kPatience = std::uint64_t{1} << 22;  // 10 ms: no NIC takes as long for a packet
  struct Options {
    Stamp stamp{};
    bool always = false;                 // (R3)
    std::uint64_t patience = kPatience;  // cycles (R3, R4)
  };
  virtual ~RtlBlock();
  std::uint64_t clocked() const { return clocked_; }
  std::uint64_t transactions() const { return transactions_; }
  void finish();  // at the end of the run: the last cycle of the RTL is over, too (R6)
  // What passed its inputs and outputs, and what still waits at them, in words: "in: 3 taken, 1 left; out: 2 given".
  std::string passed() const;
  std::string_view failure() const { return wrong_.empty() ? twin_->failure() : wrong_; }
  bool knows_activity() const { return twin_->activity != nullptr; }  // (R2)

 protected:
  // Throws std::invalid_argument: `model` does not stand behind RTL.
  RtlBlock(Engine& engine, Block& face, std::shared_ptr<Block> model, std::unique_ptr<Twin> twin, Options options);
  void start();  // when the simulation starts
  struct Step {
    Activity activity;  // in this cycle
    Cycle next;         // of the next step
  };
  Step step_rtl(Cycle now);
  const Block& model() const { return *model_; }
  Block& model() { return *model_; }

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
  bool expects_value(Cycle at) const;
  void clock(Cycle now);
  void words_come();
  void look_at_activity();
  void look_for_stall(Cycle now);

  Engine& engine_;
  Block& face_;
  const std::shared_ptr<Block> model_;
  BehindRtl& behind_;
  std::unique_ptr<Twin> twin_;
  const Options options_;
  std::vector<Port> ports_;
  std::map<PacketHandle, std::deque<Kept>> observers_;  // by buffer (R5)
  Cycle next_{};                                        // the twin's
  bool rises_ = false;                                  // the clock, before the next cycle (R6)
  bool evaluated_ = false;                              // with what stands at the ports (R6)
  Activity activity_ = Activity::kStarved;              // in this cycle, when it says (R2)
  Cycle idle_from_ = kNever;                            // no input and no output is valid (R3)
  Cycle waits_from_ = kNever;                           // an input that is not taken (R4)
  std::string wrong_;                                   // (R4)
  std::uint64_t clocked_ = 0, transactions_ = 0;
};

}  // namespace rxnic
