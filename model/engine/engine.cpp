// SPDX-License-Identifier: Apache-2.0
#include "model/engine/engine.h"

#include <sysc/kernel/sc_spawn.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>
#include <utility>

#include "model/engine/link.h"

namespace rxnic {

namespace {
constexpr std::size_t kWordBits = 64;
}

const char* engine_mode_name(EngineMode mode) {
  switch (mode) {
    case EngineMode::kFast:
      return "fast";
    case EngineMode::kStepAll:
      return "step-all";
    case EngineMode::kPerCycle:
      return "per-cycle";
  }
  return "";
}

Engine::Engine(const sc_core::sc_module_name& name, const EngineParams& params)
    : sc_module(name), params_(params), quantum_([this] { return params_.quantum_cycles; }) {
  if (sc_core::sc_get_time_resolution() > sc_core::sc_time(1, sc_core::SC_PS) ||
      sc_core::sc_time(1, sc_core::SC_PS) == sc_core::SC_ZERO_TIME) {
    throw std::invalid_argument("the kernel's time resolution: found " + sc_core::sc_get_time_resolution().to_string() +
                                "; expected 1 ps or finer");
  }
  sc_core::sc_spawn_options options;
  options.spawn_method();
  options.set_sensitivity(&kernel_->external);
  sc_core::sc_spawn(
      [kernel = kernel_] {
        if (kernel->engine != nullptr) kernel->engine->activate();
      },
      "activate", &options);
}

Engine::~Engine() { kernel_->engine = nullptr; }

void Engine::add(Block& block) {
  assert(outside_ == nullptr && "the outside block is added last");
  block.engine_ = this;
  block.stepping_ = &stepping_;
  block.may_announce_ = params_.mode == EngineMode::kFast;
  block.pending_bit_ = std::uint64_t{1} << (blocks_.size() % kWordBits);
  blocks_.push_back(&block);
  words_.resize((blocks_.size() + kWordBits - 1) / kWordBits);
  words_.back().timers[(blocks_.size() - 1) % kWordBits] = kNever.count;
  words_.back().pending |= block.pending_bit_;  // every block is stepped once at the start
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Word& word = words_[i / kWordBits];
    blocks_[i]->pending_ = &word.pending;
    blocks_[i]->announced_ = &word.announced;
    if (params_.mode != EngineMode::kFast) continue;  // nothing is sent ahead: waves show what each cycle holds
    blocks_[i]->arrivals_ = word.arrivals.data();
    blocks_[i]->arrival_slots_ = &arrival_slots_;
  }
}

void Engine::add_outside(Block& block) {
  add(block);
  outside_ = &block;
}

sc_core::sc_time Engine::time_of(Cycle c) const {
  return sc_core::sc_time::from_value(c.count * params_.clock_period_ps *
                                      (sc_core::sc_time(1, sc_core::SC_PS).value()));
}

Cycle Engine::outside_now() const {
  const std::uint64_t period = time_of(Cycle{1}).value();
  const Cycle cycle{sc_core::sc_time_stamp().value() / period};
  const bool on_edge = sc_core::sc_time_stamp().value() % period == 0;
  // On a clock edge: the cycle that begins there if it has been stepped already, else the one before.
  return on_edge && now_ < cycle ? Cycle{cycle.count - 1} : cycle;
}

void Engine::notify(sc_core::sc_event& event) {
  event.notify(time_of(now_) + time_of(Cycle{1}) / 2 - sc_core::sc_time_stamp());
  limit_ = 0;
}

// From another SystemC process: the first clock edge that is not before the present.
void Engine::wake_from_outside() {
  if (!sc_core::sc_is_running()) return;
  const std::uint64_t period = time_of(Cycle{1}).value();
  next_ = earliest(next_, latest(now_ + 1, Cycle{(sc_core::sc_time_stamp().value() + period - 1) / period}));
  kernel_->external.notify(time_of(next_) - sc_core::sc_time_stamp());
}

// (1) collect the blocks that are due, (2) step them in order, (3) find the next cycle in which a block is due. kWords:
// words of the sets of blocks, 0 when not known at compile time; a NIC by itself needs one, a fabric of 16 four.
// kPlain: the fast mode in the path's order, where the outside block is the last of all (R7).
template <std::size_t kWords, bool kPlain>
inline Cycle Engine::tick(Cycle now, Word* words) {
  const std::size_t count = kWords != 0 ? kWords : words_.size();
  const std::uint64_t slot_bit = std::uint64_t{1} << (now.count % kArrivalSlots);
  const bool wheels_turn = ((arrival_slots_ | timer_slots_) & slot_bit) != 0;
  if (wheels_turn) {
    arrival_slots_ &= ~slot_bit;
    timer_slots_ &= ~slot_bit;
  }
  const bool far_ones_due = earliest_far_ <= now.count;
  if (far_ones_due) earliest_far_ = kNever.count;
  for (std::size_t w = 0; w < count; ++w) {
    std::uint64_t active = std::exchange(words[w].pending, 0);
    if (wheels_turn) active |= take_from_wheels(words[w], now);
    if (far_ones_due) active |= take_far_ones(w);
    if (!kPlain && params_.mode == EngineMode::kStepAll) active = all_of(w);
    if (kPlain && kWords == 1) {
      if (active != 0) step<kWords>(now, w, words[w], active);
    } else {
      words[w].active = active;
    }
  }
  if (!kPlain && params_.order.kind != StepOrder::Kind::kPath) {
    step_in_order();
  } else if (!kPlain || kWords != 1) {
    for (std::size_t w = 0; w < count; ++w) {  // in a fabric most NICs may have nothing to do
      if (words[w].active != 0) step<kWords>(now, w, words[w], words[w].active);
    }
  }
  std::uint64_t any = 0;
  for (std::size_t w = 0; w < count; ++w) any |= words[w].pending;
  if (any != 0) return now + 1;
  const Cycle near = first_of(arrival_slots_ | timer_slots_);
  const Cycle next = timer_slots_ != 0 && near.count < earliest_far_ ? near : earliest(near, next_timer());
  return !kPlain && params_.mode == EngineMode::kStepAll && next != kNever ? now + 1 : next;
}

// The blocks of the word at which something arrives in this cycle, or whose near timer is due.
inline std::uint64_t Engine::take_from_wheels(Word& word, Cycle now) {
  const std::size_t slot = now.count % kArrivalSlots;
  const std::uint64_t timed_out = std::exchange(word.near[slot], 0);
  word.timed &= ~timed_out;
  return std::exchange(word.arrivals[slot], 0) | timed_out;
}

// (R1) Steps the blocks that are due in another order than the path's, and then the outside block (R7).
void Engine::step_in_order() {
  due_.clear();
  const std::uint64_t salt = params_.order.salt(now_);
  for (std::size_t w = 0; w < words_.size(); ++w) {
    for (std::uint64_t bits = words_[w].active; bits != 0; bits &= bits - 1) {
      const std::size_t block = w * kWordBits + static_cast<std::size_t>(std::countr_zero(bits));
      due_.push_back({params_.order.key(salt, block), block});
    }
  }
  const bool outside = !due_.empty() && blocks_[due_.back().block] == outside_;
  std::sort(due_.begin(), due_.end() - outside, [](const Due& a, const Due& b) { return a.key < b.key; });
  for (const Due& due : due_) {
    const std::size_t word = due.block / kWordBits;
    step<0>(now_, word, words_[word], std::uint64_t{1} << (due.block % kWordBits));
  }
}

// The result of a step is stored at once, because the outside block asks for it (R7).
template <std::size_t kWords>
inline void Engine::step(Cycle now, std::size_t word, Word& of, std::uint64_t active) {
  Block* const* const blocks = blocks_.data() + word * kWordBits;
  std::uint64_t steps = 0;  // counted here: popcount of a set would be a function call
  if ((of.timed & active) != 0) cancel_timers<kWords>(of, active);  // each block sets its timer anew
  for (std::uint64_t bits = active; bits != 0; bits &= bits - 1) {
    const int i = std::countr_zero(bits);
    ++steps;
    const std::uint64_t next = blocks[i]->step(now).count;
    if (next <= now.count + 1) {
      of.pending |= bits & -bits;
    } else if (next != kNever.count) {
      set_timer(now, word, of, i, next);
    }
  }
  steps_ += steps;
}

inline void Engine::set_timer(Cycle now, std::size_t word, Word& of, int block, std::uint64_t cycle) {
  const auto place = static_cast<std::size_t>(block);
  const std::uint64_t bit = std::uint64_t{1} << block;
  of.timed |= bit;
  of.timers[place] = cycle;
  if (cycle - now.count < kArrivalSlots) {
    const std::uint64_t slot = cycle % kArrivalSlots;
    of.near[slot] |= bit;
    timer_slots_ |= std::uint64_t{1} << slot;
    return;
  }
  of.far |= bit;
  if (cycle < earliest_far_) {
    earliest_far_ = cycle;
    earliest_block_ = word * kWordBits + place;
  }
}

template <std::size_t kWords>
inline void Engine::cancel_timers(Word& of, std::uint64_t blocks) {
  for (std::uint64_t bits = of.timed & blocks & ~of.far; bits != 0; bits &= bits - 1) {
    const std::uint64_t slot = of.timers[static_cast<std::size_t>(std::countr_zero(bits))] % kArrivalSlots;
    std::uint64_t left = of.near[slot] &= ~(bits & -bits);
    if (kWords != 1) {
      for (const Word& word : words_) left |= word.near[slot];
    }
    if (left == 0) timer_slots_ &= ~(std::uint64_t{1} << slot);
  }
  of.timed &= ~blocks;
  of.far &= ~blocks;
}

// The blocks of the word whose far timers are due.
std::uint64_t Engine::take_far_ones(std::size_t word) {
  Word& of = words_[word];
  std::uint64_t due = 0;
  for (std::uint64_t bits = of.far; bits != 0; bits &= bits - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(bits));
    if (of.timers[place] <= now_.count) {
      due |= bits & -bits;
    } else if (of.timers[place] < earliest_far_) {
      earliest_far_ = of.timers[place];
      earliest_block_ = word * kWordBits + place;
    }
  }
  of.timed &= ~due;
  of.far &= ~due;
  return due;
}

std::uint64_t Engine::all_of(std::size_t word) const {
  return ~std::uint64_t{0} >> (kWordBits - std::min(kWordBits, blocks_.size() - word * kWordBits));
}

// The first of the coming cycles whose bit is set, kNever when none is.
Cycle Engine::first_of(std::uint64_t slots) const {
  if (slots == 0) return kNever;
  const std::uint64_t first = now_.count + 1;
  const int shift = static_cast<int>(first % kArrivalSlots);
  return Cycle{first + static_cast<std::uint64_t>(std::countr_zero(std::rotr(slots, shift)))};
}

// The next timer. Without any, the last announced change (block.h, R3) counts: a run ends when nothing changes any
// more.
Cycle Engine::next_timer() {
  const Cycle next = earliest(first_of(timer_slots_), next_far_timer());
  return next != kNever ? next : Cycle{next_announced(nullptr)};
}

Cycle Engine::next_far_timer() {
  if (earliest_far_ != kNever.count) {  // an engine without blocks has no word
    const Word& of = words_[earliest_block_ / kWordBits];
    const std::size_t place = earliest_block_ % kWordBits;
    if (of.timers[place] == earliest_far_ && (of.far >> place & 1) != 0) return Cycle{earliest_far_};
  }
  earliest_far_ = kNever.count;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    for (std::uint64_t bits = words_[w].far; bits != 0; bits &= bits - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(bits));
      if (words_[w].timers[place] >= earliest_far_) continue;
      earliest_far_ = words_[w].timers[place];
      earliest_block_ = w * kWordBits + place;
    }
  }
  return Cycle{earliest_far_};
}

// The next change that a block has announced, kNever when there is none.
std::uint64_t Engine::next_announced(const Block* without) {
  std::uint64_t next = kNever.count;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    std::uint64_t& announced = words_[w].announced;
    for (std::uint64_t bits = announced; bits != 0; bits &= bits - 1) {
      const Block* const block = blocks_[w * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))];
      if (block->until_ <= now_ || block->until_ == kNever) {
        announced &= ~(bits & -bits);
      } else if (block != without) {
        next = std::min(next, block->until_.count);
      }
    }
  }
  return next;
}

// (R7) An announced change of an activity (block.h, R3) counts: in the other modes its block is stepped for it.
Cycle Engine::next_due() {
  assert(outside_ != nullptr);
  const std::uint64_t last = outside_->pending_bit_;
  std::uint64_t next = first_of(arrival_slots_).count;  // nothing arrives at the block outside
  for (const Word& word : words_) {
    const std::uint64_t others = &word == &words_.back() ? ~last : ~std::uint64_t{0};
    if ((word.pending & others) != 0) return now_ + 1;
    for (std::uint64_t bits = word.timed & others; bits != 0; bits &= bits - 1) {
      next = std::min(next, word.timers[static_cast<std::size_t>(std::countr_zero(bits))]);
    }
  }
  return next == now_.count + 1 ? now_ + 1 : Cycle{std::min(next, next_announced(outside_))};
}

std::uint64_t Engine::run_ahead_limit() const {
  if (params_.mode == EngineMode::kPerCycle) return next_.count + 1;
  const std::uint64_t most = kNever.count - next_.count;
  std::uint64_t limit = next_.count + std::clamp(quantum_(), std::uint64_t{1}, most);
  if (sc_core::sc_pending_activity()) {  // also at the present time: a process that runs now may then wait for any time
    const std::uint64_t period = time_of(Cycle{1}).value();
    const std::uint64_t at = (sc_core::sc_time_stamp() + sc_core::sc_time_to_pending_activity()).value();
    // The pending activity comes first in the cycle that begins at or after it.
    limit = std::min(limit, std::max(next_.count + 1, (at + period - 1) / period));
  }
  return limit;
}

void Engine::call_checkpoints() {
  stepping_ = false;
  checkpoint_due_ = kNever;
  for (Checkpoint& c : checkpoints_) {
    if (c.due <= now_) c.due = c.call(now_);
    checkpoint_due_ = earliest(checkpoint_due_, c.due);
  }
  stepping_ = true;
}

void Engine::call_probes() {
  stepping_ = false;
  for (const auto& probe : probes_) probe(now_);
  stepping_ = true;
}

template <std::size_t kWords, bool kPlain>
void Engine::run_before(std::uint64_t limit) {
  limit_ = limit;
  stepping_ = true;
  Word* const words = words_.data();
  while (next_.count < limit_) {
    const Cycle now = now_ = next_;
    if (checkpoint_due_ <= now) [[unlikely]]
      call_checkpoints();
    next_ = tick<kWords, kPlain>(now, words);
    if (!kPlain && params_.mode == EngineMode::kPerCycle) call_probes();
  }
  stepping_ = false;
}

void Engine::activate() {
  if (stopped_ || next_ == kNever) return;
  const sc_core::sc_time& present = sc_core::sc_time_stamp();
  if (time_of(next_) > present) {  // an outdated notification: the next cycle that is due is later
    sc_core::next_trigger(time_of(next_) - present, kernel_->external);
    return;
  }
  const std::uint64_t limit = run_ahead_limit();
  const bool plain = params_.mode == EngineMode::kFast && params_.order.kind == StepOrder::Kind::kPath;
  switch (plain ? words_.size() : 0) {
    case 0:
      run_before<0, false>(limit);
      break;
    case 1:
      run_before<1, true>(limit);
      break;
    case 4:
      run_before<4, true>(limit);
      break;
    default:
      run_before<0, true>(limit);
  }
  if (stopped_) return;
  if (next_ == kNever) return;  // (R5) only `external`, to which the process is sensitive, starts it again
  sc_core::next_trigger(time_of(next_) - present, kernel_->external);
}

void Engine::settle() { settle(now_ + 1); }

void Engine::settle(Cycle before) {
  for (Block* block : blocks_) block->settle(before);
}

std::uint64_t Engine::state_hash(const Block* without) {
  settle();
  StateHash h;
  h.mix(now_.count);
  for (const Block* block : blocks_) {
    if (block == without) continue;
    for (const std::uint64_t cycles : block->account()) h.mix(cycles);
    block->hash(h);
  }
  for (const LinkBase* link : links_) link->hash(h);
  return h.value();
}

}  // namespace rxnic
