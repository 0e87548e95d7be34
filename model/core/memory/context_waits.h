// SPDX-License-Identifier: Apache-2.0
// The parts of a block that wait for contexts of its table (core/memory/context_cache.h), each for one at a time. The
// parts (packets, doorbells, commands and so on) are called askers here and numbered from 0. No time in it.
//
//   R1  look_up() starts the read of a context that is not on the chip. The asker repeats it in each cycle until the
//       context has come; that counts as one miss. When no read can start yet, a later look_up() starts it.
//   R2  A context that was looked up is not evicted for another asker's before it is used, unless its asker yields.
//   R3  When a read shows that a context does not exist, every asker that waits for it gets kAbsent next time.
//   R4  For an owner that calls begin_cycle(): one read starts in a cycle, the first one that is asked for.
//
// A Table has: Cache and cache(). Also line_of(number), the line of a context that may be used, or kNone. Also
// gone(number): the context exists no more although its line is still kept. Also may_evict(line), and evicted(line),
// called after an eviction. Counters, those of the block, have context_hits, context_misses, context_reads,
// context_reads_ahead and context_write_backs.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace rxnic {

enum class ContextLookup : std::uint8_t { kHere, kAbsent, kWaits };

template <class Table, class Counters, std::uint32_t kAskers>
class ContextWaits {
 public:
  static constexpr std::uint32_t kNone = Table::Cache::kNone;
  ContextWaits(Table& table, Counters& counters) : table_(table), counters_(counters) {}

  void begin_cycle() {  // (R4)
    may_start_ = one_a_cycle_ = true;
    deferred_ = false;
  }
  // Whether a read waits for the next cycle, because another one has started in this.
  bool deferred() const { return deferred_; }

  ContextLookup look_up(std::uint32_t asker, std::uint32_t number) {
    Wait& w = waits_[asker];
    if (w.number != number) {
      w = {};
      w.number = number;
    }
    w.lacks_way = w.yields = false;
    w.line = table_.line_of(number);
    if (w.line != kNone) return ContextLookup::kHere;
    if (w.absent || table_.gone(number)) return ContextLookup::kAbsent;
    counters_.context_misses += !w.missed;
    w.missed = true;
    w.lacks_way = !table_.cache().coming(number) && may_read() && !read(asker, number, false);
    return ContextLookup::kWaits;
  }
  bool waits(std::uint32_t asker) const { return waits_[asker].number != kNone; }
  std::uint32_t line(std::uint32_t asker) const { return waits_[asker].line; }  // after kHere
  // Whether the read of the asker's context could not start because no line could be had.
  bool lacks_way(std::uint32_t asker) const { return waits_[asker].lacks_way; }
  // The asker waits for something else: its context may be evicted meanwhile.
  void yield(std::uint32_t asker) {
    waits_[asker].yields = true;
    waits_[asker].line = kNone;
  }
  // The asker goes on with what it looked up, if anything.
  void use(std::uint32_t asker) {
    const Wait w = std::exchange(waits_[asker], {});
    if (w.line == kNone) return;
    counters_.context_hits += !w.missed;
    table_.cache().touch(w.line);
  }
  // The asker no longer waits; with a number: if it waits for this one.
  void forget(std::uint32_t asker) { waits_[asker] = {}; }
  void forget(std::uint32_t asker, std::uint32_t number) {
    if (waits_[asker].number == number) waits_[asker] = {};
  }

  // Has a context read before the asker needs it, if there is a line for it. False: no more reads may start now.
  bool read_ahead(std::uint32_t asker, std::uint32_t number) {
    if (table_.cache().find(number) != kNone || table_.cache().coming(number)) return true;
    if (!may_read()) return false;
    read(asker, number, true);
    return true;
  }
  // The read of a line is complete. False: there is no such context. (R3)
  bool arrived(std::uint32_t line, bool ok) {
    const std::uint32_t number = table_.cache().number_of(line);
    if (table_.cache().arrived(line, ok)) return true;
    for (Wait& w : waits_) w.absent |= w.number == number;
    return false;
  }

 private:
  struct Wait {
    std::uint32_t number = kNone;
    std::uint32_t line = kNone;  // where it was found
    bool missed = false;
    bool absent = false;  // there is none
    bool yields = false;
    bool lacks_way = false;
  };
  bool may_read() {
    if (!table_.cache().may_read()) return false;
    deferred_ |= !may_start_;
    return may_start_;
  }
  // False: there is no line for it.
  bool read(std::uint32_t asker, std::uint32_t number, bool ahead) {
    const auto f = table_.cache().fetch(number, ahead, [&](std::uint32_t line) {
      return table_.may_evict(line) && !needed_by_others(line, asker, ahead);
    });
    if (f.line == kNone) return false;
    may_start_ = !one_a_cycle_;
    if (f.evicts) table_.evicted(f.line);
    ++counters_.context_reads;
    counters_.context_reads_ahead += ahead;
    counters_.context_write_backs += f.writes_back;
    return true;
  }
  bool needed_by_others(std::uint32_t line, std::uint32_t asker, bool ahead) const {  // (R2)
    const std::uint32_t number = table_.cache().number_of(line);
    for (std::uint32_t a = 0; a < kAskers; ++a) {
      if ((a != asker || ahead) && waits_[a].number == number && !waits_[a].yields) return true;
    }
    return false;
  }

  Table& table_;
  Counters& counters_;
  std::array<Wait, kAskers> waits_;
  bool one_a_cycle_ = false;
  bool may_start_ = true;
  bool deferred_ = false;
};

}  // namespace rxnic
