// SPDX-License-Identifier: Apache-2.0
// Contexts of one kind on the chip, over their records in host memory: a set-associative, write-back cache, found by
// their numbers. No time in it: its owner carries out the DMA requests, in order, and says when a read is complete.
//
//   R1  A context that is not here is read into a free line of its set. When no line is free, it gets that of the least
//       recently used context that may be evicted. The context's owner says which contexts may be evicted. When none
//       may, there is no line for it.
//   R2  A changed context that is evicted is written to host memory by a write ahead of that read.
//   R3  At most `misses` reads are on their way. A context is read once however many ask for it.
//   R4  A record that is not valid, or whose memory is not mapped, is not kept: one that is created later is seen.
//   R5  What is read ahead takes no line that was read ahead before and has not been used since. Whoever needs a
//       context at once may take it.
//   R6  A context is created in the line that it is in, or else in a free one; host memory has it when it is evicted.
//       A context that is removed leaves its line, and an invalid record is written to host memory. Neither is done
//       while the context is on its way.
//   R7  Before the first cycle a context is created in host memory and, when its set has a free line, here too.
//
// A Line holds what is kept of a context. Line::Record is the type of its copy in host memory, with a member `valid`,
// and record() is this copy. After another record has come to the line, settle() is called.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/core/memory/set_cache.h"
#include "model/types/dma.h"
#include "model/types/host_memory.h"

namespace rxnic {

struct ContextCacheSizes {
  std::uint32_t entries = 1;  // a power of two
  std::uint32_t ways = 1;     // a power of two; no more than there are entries are used
  std::uint32_t misses = 1;
  std::uint32_t sets() const { return entries / set_ways(); }
  std::uint32_t set_ways() const { return std::min(ways, entries); }
};

template <class Line>
class ContextCache {
 public:
  using Record = typename Line::Record;
  static_assert(std::is_trivially_copyable_v<Record>, "contexts are moved by DMA");
  static constexpr std::uint32_t kNone = SetCache::kNoLine;
  using AddressOf = BusAddress (*)(std::uint32_t number);

  ContextCache(const ContextCacheSizes& sizes, AddressOf address_of, std::unique_ptr<Replacement> policy = nullptr)
      : misses_(sizes.misses),
        address_of_(address_of),
        tags_(sizes.sets(), sizes.set_ways(), std::move(policy)),
        lines_(tags_.lines()),
        states_(tags_.lines()) {
    requests_.reserve(std::size_t{2} * misses_);
  }

  std::uint32_t size() const { return tags_.lines(); }
  Line& operator[](std::uint32_t line) { return lines_[line]; }
  const Line& operator[](std::uint32_t line) const { return lines_[line]; }
  std::uint32_t line_of(const Line& line) const { return static_cast<std::uint32_t>(&line - lines_.data()); }
  bool here(std::uint32_t line) const { return states_[line].state == State::kHere; }
  std::uint32_t number_of(std::uint32_t line) const { return static_cast<std::uint32_t>(tags_.key(line)); }

  // The line of a context that is here, or kNone.
  std::uint32_t find(std::uint32_t number) const {
    Memo& memo = memos_[number % kMemos];
    if (memo.number == number) return memo.line;
    const std::uint32_t line = tags_.find(number);
    if (line == kNone || !here(line)) return kNone;
    memo = {number, line};
    return line;
  }
  // It is used. Whoever changes it says so.
  void touch(std::uint32_t line) {
    tags_.touch(line);
    states_[line].ahead = false;
  }
  bool ahead(std::uint32_t line) const { return states_[line].ahead; }
  void set_dirty(std::uint32_t line) { states_[line].dirty = true; }

  bool coming(std::uint32_t number) const { return find(number) == kNone && tags_.find(number) != kNone; }
  bool may_read() const { return reading_ < misses_; }
  std::uint32_t reading() const { return reading_; }

  // Has a context read that is neither here nor coming; precondition: may_read(). `may_evict(line)` is asked of
  // contexts that are here. The line that it will come to, which still holds what is evicted; kNone: none. (R1)
  struct Fetch {
    std::uint32_t line = kNone;
    bool evicts = false;
    bool writes_back = false;
  };
  template <class MayEvict>
  Fetch fetch(std::uint32_t number, bool ahead, MayEvict may_evict) {
    Fetch f;
    f.line = tags_.place_for(number, [&](std::uint32_t l) {
      return here(l) && !(ahead && states_[l].ahead) && may_evict(l);  // (R5)
    });
    if (f.line == kNone) return f;
    LineState& s = states_[f.line];
    DmaRequest request;
    request.cookie = f.line;
    request.bytes = sizeof(Record);
    request.data = data(f.line);
    f.evicts = here(f.line);
    f.writes_back = f.evicts && s.dirty;
    if (f.evicts) drop(f.line);
    if (f.writes_back) {  // (R2)
      request.kind = DmaKind::kWrite;
      request.address = address_of_(s.number);
      requests_.push_back(request);
    }
    // The read may go into the line that is written: it is behind the write, and a write's data is moved when it is
    // accepted.
    request.kind = DmaKind::kRead;
    request.address = address_of_(number);
    requests_.push_back(request);
    tags_.assign(f.line, number);
    s = {State::kReading, number, f.writes_back ? s.number : kNone, false, ahead};
    ++reading_;
    return f;
  }
  // The read of a line is complete. False: there is no such context. (R4)
  bool arrived(std::uint32_t line, bool ok) {
    LineState& s = states_[line];
    --reading_;
    s.displaced = kNone;
    s.state = State::kHere;
    if (ok && lines_[line].record().valid != 0) {
      lines_[line].settle();
      return true;
    }
    drop(line);
    return false;
  }

  // What is to be asked of the DMA engine, the oldest first.
  bool has_request() const { return !requests_.empty(); }
  DmaRequest take_request() {
    const DmaRequest r = requests_.front();
    requests_.erase(requests_.begin());
    return r;
  }

  // Where the record of a request is, by its cookie.
  std::uint8_t* data(std::uint32_t cookie) {
    return cookie < size() ? reinterpret_cast<std::uint8_t*>(&lines_[cookie].record()) : none_.data();
  }

  // (R6) The line that it is in; kNone, and nothing done: no line is free, or it is coming.
  std::uint32_t place(std::uint32_t number, const Record& record, bool dirty = true) {
    std::uint32_t line = tags_.find(number);
    if (line == kNone) line = tags_.place_for(number, [](std::uint32_t) { return false; });
    if (line == kNone || states_[line].state == State::kReading) return kNone;
    if (!here(line)) tags_.assign(line, number);
    states_[line] = {State::kHere, number, kNone, dirty, false};
    lines_[line].record() = record;
    lines_[line].settle();
    return line;
  }
  // (R6) False, and nothing done: it is coming, or another request has not been taken yet.
  bool remove(std::uint32_t number) {
    if (has_request() || coming(number)) return false;
    const std::uint32_t line = find(number);
    if (line != kNone) drop(line);
    DmaRequest request;
    request.cookie = size();  // of no line
    request.kind = DmaKind::kWrite;
    request.address = address_of_(number);
    request.bytes = sizeof(Record);
    request.data = data(size());
    requests_.push_back(request);
    return true;
  }

  // (R7) The line that it is in, or kNone.
  std::uint32_t create(std::uint32_t number, const Record& record, HostMemory& memory) {
    memory.store(address_of_(number), record);
    return place(number, record, false);
  }
  // For tests. False: it is on its way between here and host memory.
  bool read(std::uint32_t number, HostMemory& memory, Record& out) const {
    if (moving(number)) return false;
    const std::uint32_t line = find(number);
    out = line != kNone ? lines_[line].record() : memory.load<Record>(address_of_(number));
    return true;
  }
  bool moving(std::uint32_t number) const {
    return coming(number) || (reading_ > 0 && std::any_of(states_.begin(), states_.end(),
                                                          [&](const LineState& s) { return s.displaced == number; }));
  }

 private:
  enum class State : std::uint8_t { kEmpty, kReading, kHere };
  struct LineState {
    State state = State::kEmpty;
    std::uint32_t number = kNone;
    std::uint32_t displaced = kNone;  // while it is read: the context that is written back before
    bool dirty = false;
    bool ahead = false;  // read ahead and not used yet
  };
  // Where contexts were found lately, by a part of their number.
  static constexpr std::uint32_t kMemos = 8;
  struct Memo {
    std::uint32_t number = kNone;
    std::uint32_t line = kNone;
  };

  void drop(std::uint32_t line) {
    Memo& memo = memos_[states_[line].number % kMemos];
    if (memo.line == line) memo = {};
    tags_.drop(line);
    states_[line].state = State::kEmpty;
  }

  std::uint32_t misses_;
  AddressOf address_of_;
  SetCache tags_;
  std::vector<Line> lines_;
  std::vector<LineState> states_;
  std::vector<DmaRequest> requests_;
  std::array<std::uint8_t, sizeof(Record)> none_{};  // an invalid record
  std::uint32_t reading_ = 0;
  mutable std::array<Memo, kMemos> memos_;
};

}  // namespace rxnic
