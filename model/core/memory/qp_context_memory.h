// SPDX-License-Identifier: Apache-2.0
// The QP contexts that are on the chip: a memory of lines. The context cache fills and evicts them; each block that
// keeps state of a QP has a port to its own part.
//
//   R1  Only its own block accesses a part, and only on lines that the packet or notice at hand has pinned. Every block
//       can read the attributes that software set.
//   R2  A line is pinned by each packet in flight and each notice that names it. The context cache evicts only lines
//       without a pin. Pins: model/types/context.h, ContextPins.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/types/context.h"
#include "model/types/large_pages.h"
#include "model/types/read_memory.h"
#include "model/types/write_memory.h"

namespace rxnic {

class QpContextMemory {
 public:
  static constexpr std::uint32_t kLineBytes = 256;
  struct alignas(kLineBytes) Line {  // as it is in host memory
    QpContext context;
  };
  explicit QpContextMemory(std::uint32_t lines) : lines_(lines) {
    for (std::uint32_t n = 0; n < lines; ++n) lines_[n].context.line = n;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(lines_.size()); }
  // For the context cache and, between cycles, the control plane.
  QpContext& operator[](std::uint32_t line) {
    assert(line < lines_.size());
    return lines_[line].context;
  }
  const QpContext& operator[](std::uint32_t line) const { return lines_[line].context; }
  void pin(std::uint32_t line) { (*this)[line].pins.add(); }
  void unpin(std::uint32_t line, Cycle now) { (*this)[line].pins.remove(now); }

 private:
  std::vector<Line, LargePages<Line>> lines_;
};

// The port of a block that keeps nothing of a QP: it reads attributes, and pins.
class QpPinPort {
 public:
  QpPinPort(QpContextMemory& memory) : memory_(memory) {}
  void pin(std::uint32_t line) { memory_.pin(line); }
  void unpin(std::uint32_t line, Cycle now) { memory_.unpin(line, now); }
  std::uint32_t lines() const { return memory_.size(); }
  const QpAttributes& attributes(std::uint32_t line) const { return memory_[line]; }

 protected:
  QpContextMemory& memory_;
};

// The port of a block that keeps a part of a QP: adds that part.
template <class Part>
class QpContextPort : public QpPinPort {
 public:
  using QpPinPort::QpPinPort;
  Part& operator[](std::uint32_t line) { return memory_[line]; }
  const Part& operator[](std::uint32_t line) const { return memory_[line]; }
  std::uint32_t residence(std::uint32_t line) const { return memory_[line].residence; }
  void set_dirty(std::uint32_t line) { memory_[line].dirty = true; }
};

// The pins as the memory behind a block's port.
class QpPinMemory final : public WriteMemory<ContextPin> {
 public:
  explicit QpPinMemory(QpContextMemory& memory) : memory_(memory) {}
  void write(Cycle now, const ContextPin& what) override {
    if (what.line >= memory_.size()) return;
    if (what.pins) {
      memory_.pin(what.line);
    } else {
      memory_.unpin(what.line, now);
    }
  }

 private:
  QpContextMemory& memory_;
};

struct NoClock {
  Cycle cycle() const { return kNever; }
};

// A block's part as the memory behind its ports. Without a line (kNoLine) there is nothing. `Write`: where and what.
// With a clock, whose cycle() is the present cycle, a value that is written in a cycle shows in the next cycle. An
// observer that looks at the end of a cycle sees the value before, too.
template <class Part, class Write, class Clock = NoClock>
class QpPartMemory final : public ReadMemory<ContextLine, Part>, public WriteMemory<Write> {
 public:
  QpPartMemory(QpContextMemory& memory) : memory_(memory) {}
  void set_clock(const Clock& clock) { clock_ = &clock; }
  std::uint32_t lines() const { return memory_.size(); }
  const Part* read(const ContextLine& at, std::uint32_t& words) const override {
    words = at.line < memory_.size() ? 1 : 0;
    if (words == 0) return nullptr;
    const bool written = clock_ != nullptr && written_line_ == at.line && written_in_ == clock_->cycle();
    return written ? &before_ : &std::as_const(memory_)[at.line];
  }
  void write(Cycle now, const Write& what) override {
    if (what.line >= memory_.size()) return;
    Part& part = memory_[what.line];
    before_ = part;
    written_line_ = what.line;
    written_in_ = now;
    part = what.part;
  }

 private:
  QpContextMemory& memory_;
  const Clock* clock_ = nullptr;
  Part before_;  // what the last write has replaced
  std::uint32_t written_line_ = kNoLine;
  Cycle written_in_ = kNever;
};

}  // namespace rxnic
