// SPDX-License-Identifier: Apache-2.0
// A write port of an on-chip memory that another block reads.
//
//   R1  What is written in cycle n stands there from cycle n + 1 on. This holds for a block that is stepped once a
//       cycle and looks before it writes. One write a cycle, or up to `lanes` for a port that has several.
//   R2  For observers: what was written in a cycle.
#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "model/types/descriptor_operations.h"
#include "model/types/ids.h"
#include "model/types/write_memory.h"

namespace rxnic {

class WritePortBase : public sc_core::sc_object {
 public:
  Cycle last_write() const { return last_write_; }  // kNever: none
  virtual const DescriptorOperations& operations() const = 0;
  std::uint32_t writes() const { return writes_; }       // in the cycle of last_write()
  virtual const void* value(std::uint32_t n) const = 0;  // of these, in their order
  virtual void write_bits(Cycle now, const std::uint32_t* bits) = 0;

 protected:
  explicit WritePortBase(const char* name) : sc_object(name) {}
  Cycle last_write_ = kNever;
  std::uint32_t writes_ = 0;
};

template <Described Write>
class WritePort final : public WritePortBase {
 public:
  explicit WritePort(const char* name) : WritePortBase(name) {}
  void bind(WriteMemory<Write>& memory, std::uint32_t lanes = 1) {
    memory_ = &memory;
    values_.resize(lanes);
  }
  void write(Cycle now, const Write& what) {
    memory_->write(now, what);
    if (last_write_ != now) writes_ = 0;
    last_write_ = now;
    if (writes_ < values_.size()) values_[writes_++] = what;
  }
  // What is written next, for a value that is too big to be copied; it holds what was written there before. The port
  // must have one lane.
  Write& next() { return values_[0]; }
  void write_next(Cycle now) {
    memory_->write(now, values_[0]);
    last_write_ = now;
    writes_ = 1;
  }

  const DescriptorOperations& operations() const override { return operations_of<Write>(); }
  const void* value(std::uint32_t n) const override { return &values_[n]; }
  void write_bits(Cycle now, const std::uint32_t* bits) override {
    Write what;
    operations().unpack(bits, {}, &what);
    write(now, what);
  }

 private:
  WriteMemory<Write>* memory_ = nullptr;
  std::vector<Write> values_;  // a place for each lane
};

}  // namespace rxnic
