// SPDX-License-Identifier: Apache-2.0
// A hardware block: an sc_module that the engine steps, and the count of its cycles by activity.
//
//   R1  step(now) does the work of cycle `now`. It returns the next cycle in which the block has something to do even
//       if no link wakes it. kNever: there is none. It may be called in any cycle: a call with nothing to do changes
//       nothing.
//   R2  Each cycle counts as exactly one activity: that of the last step in it or before it.
//   R3  A block whose activity will change in cycle n without a link event returns at most n, or announces the change
//       beforehand. An announced change ("from n on the activity is ...") needs no step in n.
#pragma once

#include <array>
#include <cstdint>
#include <systemc>

#include "model/engine/state_hash.h"
#include "model/types/activity.h"
#include "model/types/counter.h"
#include "model/types/ids.h"

namespace rxnic {

class Engine;

inline constexpr std::size_t kActivities = static_cast<std::size_t>(Activity::kCount);

inline constexpr std::size_t kArrivalSlots = 64;  // cycles for which wake_in() may be asked, the present one included

using CycleAccount = std::array<std::uint64_t, kActivities>;

class Block;

// Is notified of the activities of blocks. Nothing in the model depends on it.
class ActivityObserver {
 public:
  virtual ~ActivityObserver() = default;
  // From cycle `from` on, unless a later call for the block names the same cycle. A block's calls are in the order of
  // their cycles. A change that was announced comes with the step after it, or with settle().
  virtual void on_activity(const Block& block, Activity activity, Cycle from) = 0;
};

class Block : public sc_core::sc_module {
 public:
  ~Block() override = default;
  virtual Cycle step(Cycle now) = 0;
  // Adds the block's own state and counters to a digest that must be equal in every engine mode.
  virtual void hash(StateHash& h) const { (void)h; }
  // Visits each counter that a report shows, in the order of the report.
  virtual void visit_counters(const CounterVisitor& visit) const { (void)visit; }

  // Cycles by activity up to the last step or settle().
  const CycleAccount& account() const { return account_; }
  Activity activity() const;  // in the engine's current cycle
  void set_observer(ActivityObserver* observer) { activity_observer_ = observer; }
  void settle(Cycle now);
  Cycle cycle() const;  // the engine's current one, kNever without an engine
  // Takes the time from `other`: for a block that no engine steps (behind_rtl.h).
  void take_time_of(const Block& other) { time_of_ = &other; }
  // For what others may call in the middle of a cycle: the first cycle in which the block acts on a call of now. So the
  // result is the same whether it has been stepped in this cycle or will be.
  Cycle from_call() const { return *stepping_ && engine_ != nullptr ? cycle() + 1 : Cycle{}; }
  // Has step() called in the cycle after the engine's current one.
  void wake() {
    *pending_ |= pending_bit_;
    if (!*stepping_) wake_from_outside();
  }
  // Schedules an additional step() in `cycle`, whatever cycle step() has returned. To be called from another block's
  // step() only, for a cycle near enough.
  bool can_wake_in(Cycle now, Cycle cycle) const {
    return arrivals_ != nullptr && cycle.count - now.count < kArrivalSlots;
  }
  void wake_in(Cycle cycle) {
    const std::uint64_t slot = cycle.count % kArrivalSlots;
    arrivals_[slot] |= pending_bit_;
    *arrival_slots_ |= std::uint64_t{1} << slot;
  }

 protected:
  explicit Block(const sc_core::sc_module_name& name) : sc_module(name) {}
  // To be called at the end of a step: `activity` holds from `now` on, `next` is the cycle of the next step.
  Cycle rest(Cycle now, Activity activity, Cycle next) {
    if (until_ != kNever) change_as_announced(now);
    if (activity != activity_) {
      account_[static_cast<std::size_t>(activity_)] += now.count - since_.count;
      since_ = now;
      activity_ = activity;
      if (activity_observer_ != nullptr) [[unlikely]]
        notify_observer();
    }
    return next;
  }
  // As rest() above, with an announced change: the activity is `then` from `until` on, unless a step before `until`
  // gives another one. (R3) In the modes other than kFast the block is stepped in `until`, and has to give `then`
  // itself.
  Cycle rest(Cycle now, Activity activity, Cycle until, Activity then, Cycle next) {
    rest(now, activity, next);
    if (then == activity || next <= until) return next;
    if (!may_announce_) return until;
    until_ = until;
    then_ = then;
    *announced_ |= pending_bit_;
    return next;
  }

 private:
  friend class Engine;
  void wake_from_outside();
  void notify_observer() const;  // of activity_, from since_ on
  void change_as_announced(Cycle now) {
    if (until_ < now) {
      account_[static_cast<std::size_t>(activity_)] += until_.count - since_.count;
      since_ = until_;
      activity_ = then_;
      if (activity_observer_ != nullptr) [[unlikely]]
        notify_observer();
    }
    until_ = kNever;
  }

  CycleAccount account_{};
  Cycle since_{};
  Activity activity_ = Activity::kStarved;
  Activity then_ = Activity::kStarved;  // from until_ on
  bool may_announce_ = false;
  Cycle until_ = kNever;
  // Set by the engine to which the block is added.
  std::uint64_t unused_word_ = 0;
  std::uint64_t* pending_ = &unused_word_;  // word of the blocks that are woken for the next cycle
  std::uint64_t pending_bit_ = 0;
  std::uint64_t* announced_ = &unused_word_;  // word of the blocks that may have announced a change
  std::uint64_t* arrivals_ = nullptr;         // words like `*pending_`, for each of the coming kArrivalSlots cycles
  std::uint64_t* arrival_slots_ = nullptr;    // bit for each of these words: is not zero
  static constexpr bool kNoEngine = true;
  const bool* stepping_ = &kNoEngine;  // whether the engine is stepping blocks
  Engine* engine_ = nullptr;
  const Block* time_of_ = nullptr;  // take_time_of()
  ActivityObserver* activity_observer_ = nullptr;
};

}  // namespace rxnic
