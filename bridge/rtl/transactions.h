// SPDX-License-Identifier: Apache-2.0
// A block of the model and RTL with other latencies: the same transactions are expected, in the same order, not in the
// same cycles. The model stays in its place.
//
//   R1  The engine is in per-cycle mode. The RTL is offered every value that the model's inputs have shown, from the
//       same cycle on, and takes it when it is ready. What it has not taken yet waits; the model does not.
//       Where inputs act on one state (block_facts.h, R4), the RTL may once have been behind the model. From then on
//       the RTL is offered only values that the model has taken, in the model's order. Values of one cycle come in
//       the order of the ports. Each waits until the RTL has made the requests that the model had made before this
//       value was the next one at its input.
//   R2  The room in an output's link is counted as if its consumer took the RTL's values when it takes the model's.
//       Value n of the RTL is taken in the cycle of the model's value n, or as soon as the RTL's value is there.
//   R3  The transactions of an output are equal on both sides, in their order. Where the port carries the work of
//       several queues (block_facts.h, R3), they are equal in the order of each queue. Memory reads are not compared,
//       nor is the cycle in which a value was made, where the value has it (block_facts.h, R6).
//   R4  A read of the RTL has the words that stand there. When the RTL is far behind the model, the read has the words
//       that the model found there earlier. They are those of about when the model did the work that the RTL has still
//       to do (read_history.h). A lookup has the word that stood there when the model took the value. When the RTL
//       takes the value first, the lookup has what stands there now, or what the RTL alone has written there.
//   R5  At the end the RTL is clocked on until it is quiescent, or has done nothing for `drain` cycles. What one side
//       has made and the other has not is missing, or surplus. When the run has ended with something left to do for the
//       model's block, what the RTL has made before it is not called surplus.
//   R6  The first difference ends the simulation. It names block, port, number of the transaction, field, both values
//       and both cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bridge/rtl/cycle_spread.h"
#include "bridge/rtl/transaction_queues.h"
#include "bridge/rtl/twin.h"
#include "model/engine/engine.h"

namespace rxnic {

struct TransactionOptions {
  bool always = false;          // clock the RTL in every cycle
  std::uint64_t least = 1;      // transactions that there must be, all outputs together
  std::uint64_t drain = 10000;  // cycles (R5)
};

struct TransactionResult {
  struct Port {
    std::string name;
    std::string queue;        // field by which it is ordered; "": none
    CycleSpread later;        // cycles from the model's transaction to the RTL's
    std::uint64_t ahead = 0;  // made by the RTL when the run ended, not by the model (R5)
  };
  std::uint64_t cycles = 0;   // of the model
  std::uint64_t clocked = 0;  // of the RTL
  std::vector<Port> ports;
  std::vector<CoverPoint> cover_points;
  std::string failure;  // "": equal, and enough
  std::uint64_t transactions() const;
  // "grh_scatter: 1000 transactions equal...", and the distribution of each port.
  std::vector<std::string> lines(const std::string& block) const;
};

class TransactionLockstep {
 public:
  // Before the simulation starts. `block` has been added to the engine.
  TransactionLockstep(Engine& engine, const Block& block, std::unique_ptr<Twin> twin,
                      const TransactionOptions& options = {});
  ~TransactionLockstep();
  TransactionLockstep(const TransactionLockstep&) = delete;
  TransactionLockstep& operator=(const TransactionLockstep&) = delete;

  bool failed() const { return !failure_.empty(); }
  TransactionResult finish();  // after the simulation

 private:
  struct Port;
  using Made = TransactionQueues::Made;
  void connect();
  void sample(Cycle now);
  void pass(Cycle cycle);
  bool may_leave_out() const;
  bool model_rests() const;
  void drive(Cycle cycle);
  void take(Port& port);
  void give(Port& port, Cycle cycle);
  void read(Port& port, Cycle cycle);
  void look_up(Port& port);
  Port* input_of(const Port& lookup);
  bool may_offer(const Port& port) const;
  bool is_behind(Cycle cycle) const;
  void note_model(Port& port, Cycle now);
  void make(Port& port, Made made, bool by_model);
  void compare(Port& port, const Made& model, const Made& rtl);
  Cycle behind(Cycle now) const;
  void drain();
  void look_at_rest();
  void fail(const std::string& text);
  std::string where(const Port& port, const Made& made) const;

  Engine& engine_;
  const Block& block_;
  std::unique_ptr<Twin> twin_;
  const TransactionOptions options_;
  std::vector<Port> ports_;
  const Port* requests_ = nullptr;  // block_facts.h, R4
  std::string failure_;
  TransactionResult result_;
  Cycle next_{};       // to be compared
  bool lags_ = false;  // the RTL has been behind the model (R1)
  bool connected_ = false;
  bool draining_ = false;
};

}  // namespace rxnic
