// SPDX-License-Identifier: Apache-2.0
// A block of the model and its twin in SystemVerilog, compared in every cycle. The twin gets what stands at the block's
// inputs in the cycle; every output is compared.
//
//   R1  The engine is in per-cycle mode. The twin's ports are those of the block, with the same widths; anything else
//       is refused when the simulation starts, by name.
//   R2  Compared in each cycle: whether an input takes its value, how many values leave each output, and all their
//       fields. Also whether a memory is read, and where; and what the block does, when the twin says so (twin.h, R4).
//       The twin's memory reads are answered from the model's memory.
//   R3  A cycle that the engine leaves out is one in which nothing comes and nothing leaves: the twin gets it, too.
//       When it is quiescent and no input is valid, such cycles are left out, unless `always` is asked for.
//   R4  The first mismatch is named by block, cycle, port, field and both values. The simulation ends with
//       it or, when a waveform of what is around it is asked for, MismatchWaves::kAfter cycles later.
//   R5  A comparison of less than is asked for is a failure: a port without a transaction, or cover properties that
//       were not hit.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge/rtl/mismatch_waves.h"
#include "bridge/rtl/twin.h"
#include "model/engine/engine.h"

namespace rxnic {

struct LockstepOptions {
  bool always = false;             // clock the twin in every cycle (R3)
  std::uint64_t transactions = 1;  // that there must be, all ports together (R5)
  bool every_port = false;         // each port must have had one (R5)
  bool every_cover = false;        // each cover property must have been hit
  bool words_go = false;           // what a memory read has given stands at its port in the next cycle only
  std::string waves{};             // file for the waveform of a mismatch (mismatch_waves.h); "": none
};

struct LockstepResult {
  std::uint64_t cycles = 0;                                    // of the model
  std::uint64_t clocked = 0;                                   // of the twin
  std::uint64_t transactions = 0;                              // values that passed, and memory reads
  std::uint64_t bits = 0;                                      // of these
  std::vector<std::pair<std::string, std::uint64_t>> ports{};  // of them, by port; those with lookups have none
  std::vector<CoverPoint> cover_points;                        // hit since the simulation began
  std::string failure;                                         // "": equal, and enough
  // "grh_scatter: 1000 cycles compared, ...", a line.
  std::string text(const std::string& block) const;
};

class Lockstep {
 public:
  // Before the simulation starts. `block` has been added to the engine. A twin that an earlier simulation has left in
  // any state is reset.
  Lockstep(Engine& engine, Block& block, std::shared_ptr<Twin> twin, const LockstepOptions& options = {});
  ~Lockstep();
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  bool mismatched() const { return !mismatch_.empty(); }
  LockstepResult finish();  // after the simulation

 private:
  using Port = LockstepPort;
  struct Transaction {
    Cycle cycle;
    const Port* port;
    std::vector<std::uint32_t> bits;
  };
  void connect();
  void sample(Cycle now);
  void drive(Cycle cycle);
  void compare(Cycle cycle);
  void compare_input(Port& port, Cycle cycle);
  void compare_output(Port& port, Cycle cycle);
  void compare_read(Port& port, Cycle cycle);
  void compare_activity(Cycle cycle, Activity model, std::uint64_t rtl);
  void answer_reads();
  void clock();
  void differ(const Port& port, Cycle cycle, const std::string& what);
  void mismatch(Cycle cycle, const std::string& what);
  std::string write_waves() const;
  void keep(const Port& port, Cycle cycle, const std::uint32_t* bits);

  Engine& engine_;
  Block& block_;
  const std::shared_ptr<Twin> twin_;
  const LockstepOptions options_;
  std::vector<Port> ports_;
  std::deque<Transaction> last_;  // the latest ones
  std::string mismatch_;
  Cycle mismatch_in_{};
  std::uint64_t after_ = 0;  // cycles that were recorded from then on
  bool ended_ = false;
  MismatchWaves waves_;
  std::vector<CoverPoint> hit_before_;
  LockstepResult result_;
  Cycle next_{};                            // to be compared
  Activity activity_ = Activity::kStarved;  // the block's, in it or until then
  bool connected_ = false;
};

}  // namespace rxnic
