// SPDX-License-Identifier: Apache-2.0
// The memories behind the ports of the completion generator. What is written in a cycle shows in the next one, also to
// an observer that looks at the end of the cycle. A Clock has cycle(), the present one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "model/core/completion/cq_table.h"
#include "model/core/memory/qp_context_memory.h"
#include "model/types/read_memory.h"
#include "model/types/refusal.h"
#include "model/types/stored_cq.h"
#include "model/types/write_memory.h"

namespace rxnic {

// What the generator needs of QPs, and its part of them.
template <class Clock>
class CompletionQps final : public ReadMemory<ContextLine, CompletionQp>,
                            public WriteMemory<CompletionContextWrite>,
                            public WriteMemory<ContextLine> {
 public:
  CompletionQps(QpContextMemory& memory) : memory_(memory) {}
  void set_clock(const Clock& clock) { clock_ = &clock; }
  std::uint32_t lines() const { return memory_.size(); }
  const CompletionQp* read(const ContextLine& at, std::uint32_t& words) const override {
    words = at.line < memory_.size() ? 1 : 0;
    if (words == 0) return nullptr;
    const QpContext& c = std::as_const(memory_)[at.line];
    word_.part = written_in_ == clock_->cycle() && written_line_ == at.line ? before_ : c;
    word_.flush = {at.line, c.residence, c.qpn, c.transport, c.uses_srq, c.receive_queue, c.receive_cq};
    return &word_;
  }
  void write(Cycle now, const CompletionContextWrite& what) override {
    if (what.line >= memory_.size()) return;
    CompletionContext& part = memory_[what.line];
    before_ = part;
    written_in_ = now;
    written_line_ = what.line;
    part = what.part;
    for (std::uint32_t n = 0; n < what.pins; ++n) memory_.pin(what.line);
    if (what.unpins) memory_.unpin(what.line, now);
  }
  void write(Cycle now, const ContextLine& unpinned) override {
    if (unpinned.line < memory_.size()) memory_.unpin(unpinned.line, now);
  }

 private:
  QpContextMemory& memory_;
  const Clock* clock_ = nullptr;
  mutable CompletionQp word_;
  Cycle written_in_{};
  std::uint32_t written_line_ = kNoLine;
  CompletionContext before_;
};

// Records of CQs on their way between the cache and host memory.
template <class Clock>
class CqRecords final : public ReadMemory<CqLine, StoredCq>, public WriteMemory<CqWriteBack> {
 public:
  CqRecords(CqTable::Cache& cache, const Clock& clock) : cache_(cache), clock_(clock) {}
  const StoredCq* read(const CqLine& at, std::uint32_t& words) const override {
    words = at.line < cache_.size() ? 1 : 0;
    if (words == 0) return nullptr;
    return fetched_in_ == clock_.cycle() && fetched_line_ == at.line ? &fetched_ : &cache_[at.line].record();
  }
  // The record that has come is about to change.
  void keep(Cycle now, std::uint32_t line) {
    fetched_in_ = now;
    fetched_line_ = line;
    fetched_ = cache_[line].record();
  }
  void write(Cycle, const CqWriteBack& what) override {
    if (what.line < cache_.size()) static_cast<StoredCq&>(cache_[what.line].record()) = what.record;
  }

 private:
  CqTable::Cache& cache_;
  const Clock& clock_;
  Cycle fetched_in_{};
  std::uint32_t fetched_line_ = CqTable::Cache::kNone;
  StoredCq fetched_;
};

// CQEs until the DMA engine has taken them: places of `slots` CQEs, used in turn.
class LeavingCqes final : public WriteMemory<CqeWrite> {
 public:
  static constexpr std::uint32_t kCqeBytes = sizeof(Cqe);
  LeavingCqes(std::uint32_t slots, std::uint32_t stride) : slots_(slots), stride_(stride) {}
  void set_places(std::uint32_t places) { bytes_.resize(std::size_t{places} * slots_ * stride_); }
  std::uint32_t slots() const { return slots_; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(bytes_.size() / slots_ / stride_); }
  std::uint32_t bytes_of_place() const { return slots_ * stride_; }
  std::uint8_t* place(std::uint32_t n) { return &bytes_[std::size_t{n} * slots_ * stride_]; }
  // The place that was written last, and the CQE in its first slot.
  std::uint8_t* last_place() { return place(last_ / slots_); }
  Cqe first_of_last() {
    Cqe cqe;
    std::memcpy(&cqe, last_place() + (stride_ - kCqeBytes), kCqeBytes);
    return cqe;
  }
  void write(Cycle, const CqeWrite& what) override {
    last_ = std::min<std::uint32_t>(what.slot, places() * slots_ - 1);
    std::memcpy(&bytes_[std::size_t{last_} * stride_ + (stride_ - kCqeBytes)], what.cqe.data(), kCqeBytes);
  }

 private:
  std::uint32_t slots_, stride_;
  std::vector<std::uint8_t> bytes_;  // of a slot of 128 bytes the first half stays zero
  std::uint32_t last_ = 0;
};

}  // namespace rxnic
