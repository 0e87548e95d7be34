// SPDX-License-Identifier: Apache-2.0
// The cycle engine: one SC_METHOD that steps the blocks of a clock domain.
//
//   R1  In each cycle the blocks that have something to do are stepped in the step order (step_order.h). All orders
//       give the same result, because a link shows only what was pushed in earlier cycles. A difference means that a
//       block reads or writes the state of another one.
//   R2  When nothing is due in the next cycle the engine jumps to the earliest cycle in which something is.
//   R3  One activation runs ahead up to the next pending SystemC activity or the quantum; sc_time_stamp() is stale
//       meanwhile, now() is not. The quantum is asked for when an activation begins: a change acts on the next one. A
//       quantum of 0 counts as one cycle. No quantum changes a result.
//   R4  kStepAll steps every block in every cycle; kPerCycle gives each active cycle its own activation, with probes
//       sampled. Results are those of kFast.
//   R5  When nothing will be due any more, the engine stops triggering itself; wake() from outside starts it again.
//   R6  A SystemC process outside acts between clock edges. What it pushes into a link with outside_now() is seen by
//       the consumer in the next cycle. A step wakes such a process with notify(): it runs in the middle of the
//       present cycle.
//   R7  The block added with add_outside(), the outside block, acts for what is outside the clock domain: programs, or
//       a test. It is stepped after all the others, whatever the order, because their work in the cycle decides whether
//       it may let time pass. Its next_due() gives the cycle in which the model goes on without it. The result is the
//       same in all modes and orders.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <utility>
#include <vector>

#include "model/engine/block.h"
#include "model/engine/step_order.h"

namespace rxnic {

enum class EngineMode : std::uint8_t { kFast, kStepAll, kPerCycle };
const char* engine_mode_name(EngineMode mode);  // as reports have it

struct EngineParams {
  std::uint32_t clock_period_ps = 1000;
  EngineMode mode = EngineMode::kFast;
  StepOrder order{};
  std::uint64_t quantum_cycles = 1u << 20;  // longest run-ahead of one activation (R3)
};

class LinkBase;

class Engine final : public sc_core::sc_module {
 public:
  // Throws std::invalid_argument: the kernel's time has no picoseconds.
  Engine(const sc_core::sc_module_name& name, const EngineParams& params);
  ~Engine() override;

  void add(Block& block);
  void add_outside(Block& block);  // at most one, after all others (R7)
  void add(LinkBase& link) { links_.push_back(&link); }
  // From now on `cycles` gives the quantum, in place of EngineParams. (R3)
  void set_quantum(std::function<std::uint64_t()> cycles) { quantum_ = std::move(cycles); }
  // Calls `checkpoint` between two cycles, before the first active cycle that is `due` or later. It gets that cycle,
  // and returns the cycle in which it is due again. For observers: what it sees is the same in all step orders.
  void add_checkpoint(Cycle due, std::function<Cycle(Cycle)> checkpoint) {
    checkpoints_.push_back({due, std::move(checkpoint)});
    checkpoint_due_ = earliest(checkpoint_due_, due);
  }
  // Called after each active cycle in kPerCycle.
  void add_probe(std::function<void(Cycle)> probe) { probes_.push_back(std::move(probe)); }

  const Cycle& now() const { return now_; }
  // For SystemC processes outside: the cycle that sc_time_stamp() is in.
  Cycle outside_now() const;
  // For blocks: notifies the event half a cycle after the beginning of now().
  void notify(sc_core::sc_event& event);
  std::uint32_t clock_period_ps() const { return params_.clock_period_ps; }
  EngineMode mode() const { return params_.mode; }
  sc_core::sc_time time_of(Cycle c) const;
  // For the outside block: the earliest cycle in which another block has something to do, kNever when none has. A value
  // that was pushed into a link in this cycle counts as due in the next. (R7)
  Cycle next_due();
  // Ends the simulation after the current cycle.
  void stop() {
    stopped_ = true;
    limit_ = 0;
  }

  const std::vector<Block*>& blocks() const { return blocks_; }
  const std::vector<LinkBase*>& links() const { return links_; }
  std::uint64_t steps() const { return steps_; }
  // Brings every block's cycle counts up to now(), or up to before a cycle that is not later than now().
  void settle();
  void settle(Cycle before);
  // Digest of all blocks, accounts and link traffic; `without`: but not of this block.
  std::uint64_t state_hash(const Block* without = nullptr);

 private:
  friend class Block;
  // A bit for each of 64 blocks, and their timers.
  struct Word {
    std::uint64_t pending = 0;    // to be stepped in the next cycle
    std::uint64_t active = 0;     // to be stepped in this cycle
    std::uint64_t announced = 0;  // its change (block.h, R3) may be ahead
    std::uint64_t timed = 0;      // it has set a timer
    std::uint64_t far = 0;        // its timer is a far one
    // To be stepped in the cycle of that number, modulo kArrivalSlots: where something arrives (block.h, wake_in), and
    // because of a near timer. A timer is near in the coming kArrivalSlots cycles, and far behind them.
    std::array<std::uint64_t, kArrivalSlots> arrivals{};
    std::array<std::uint64_t, kArrivalSlots> near{};
    std::array<std::uint64_t, 64> timers{};  // by block: its own next cycle, when its bit in `timed` is set
  };

  void wake_from_outside();
  void activate();
  void call_checkpoints();
  void call_probes();
  template <std::size_t kWords, bool kPlain>
  void run_before(std::uint64_t limit);
  template <std::size_t kWords, bool kPlain>
  Cycle tick(Cycle now, Word* words);
  static std::uint64_t take_from_wheels(Word& word, Cycle now);
  std::uint64_t take_far_ones(std::size_t word);
  std::uint64_t all_of(std::size_t word) const;
  void step_in_order();
  template <std::size_t kWords>
  void step(Cycle now, std::size_t word, Word& of, std::uint64_t blocks);
  void set_timer(Cycle now, std::size_t word, Word& of, int block, std::uint64_t cycle);
  template <std::size_t kWords>
  void cancel_timers(Word& of, std::uint64_t blocks);
  Cycle next_timer();
  Cycle next_far_timer();
  Cycle first_of(std::uint64_t slots) const;
  std::uint64_t next_announced(const Block* without);
  std::uint64_t run_ahead_limit() const;

  EngineParams params_;
  std::function<std::uint64_t()> quantum_;
  struct Checkpoint {
    Cycle due;
    std::function<Cycle(Cycle)> call;
  };
  std::vector<Checkpoint> checkpoints_;
  Cycle checkpoint_due_ = kNever;  // of the first one
  std::vector<Block*> blocks_;
  Block* outside_ = nullptr;  // the last of them, when there is one (R7)
  std::vector<LinkBase*> links_;
  std::vector<std::function<void(Cycle)>> probes_;
  std::vector<Word> words_;
  std::uint64_t arrival_slots_ = 0;            // bit for each cycle: something arrives in some word
  std::uint64_t timer_slots_ = 0;              // bit for each cycle: some word has a near timer
  std::uint64_t earliest_far_ = kNever.count;  // no far timer is before it
  std::size_t earliest_block_ = 0;             // the block with that timer; it may have been stepped since
  struct Due {
    std::uint64_t key;
    std::size_t block;
  };
  std::vector<Due> due_;  // of this cycle, in the step order
  // What the process in the kernel keeps, which calls activate(): the kernel has it until its own end.
  struct InKernel {
    explicit InKernel(Engine* of) : engine(of) {}
    Engine* engine;  // null: it has been destroyed
    sc_core::sc_event external;
  };
  const std::shared_ptr<InKernel> kernel_ = std::make_shared<InKernel>(this);
  Cycle now_{};
  Cycle next_{};
  std::uint64_t limit_ = 0;  // the activation ends before that cycle
  std::uint64_t steps_ = 0;
  bool stepping_ = false;  // within run_before(), but for what is called between two cycles
  bool stopped_ = false;
};

}  // namespace rxnic
