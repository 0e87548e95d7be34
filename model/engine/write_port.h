// SPDX-License-Identifier: Apache-2.0
// A write port of an on-chip memory that another block reads.
//
//   R1  What is written in cycle n stands there from cycle n + 1 on, for a block that is stepped once a cycle and looks
//       before it writes. One write a cycle.
//   R2  For observers: what was written in a cycle.
#pragma once

#include <cstdint>
#include <systemc>

#include "model/types/descriptor_operations.h"
#include "model/types/ids.h"
#include "model/types/write_memory.h"

namespace rxnic {

class WritePortBase : public sc_core::sc_object {
 public:
  Cycle last_write() const { return last_write_; }  // kNever: none
  virtual const DescriptorOperations& operations() const = 0;
  virtual const void* value() const = 0;  // of last_write()
  virtual void write_bits(Cycle now, const std::uint32_t* bits) = 0;

 protected:
  explicit WritePortBase(const char* name) : sc_object(name) {}
  Cycle last_write_ = kNever;
};

template <Described Write>
class WritePort final : public WritePortBase {
 public:
  explicit WritePort(const char* name) : WritePortBase(name) {}
  void bind(WriteMemory<Write>& memory) { memory_ = &memory; }
  void write(Cycle now, const Write& what) {
    value_ = what;
    write(now);
  }
  // What is written next, for a value that is too big to be copied; it holds what was written before.
  Write& next() { return value_; }
  void write(Cycle now) {
    memory_->write(value_);
    last_write_ = now;
  }

  const DescriptorOperations& operations() const override { return operations_of<Write>(); }
  const void* value() const override { return &value_; }
  void write_bits(Cycle now, const std::uint32_t* bits) override {
    Write what;
    operations().unpack(bits, {}, &what);
    write(now, what);
  }

 private:
  WriteMemory<Write>* memory_ = nullptr;
  Write value_;
};

}  // namespace rxnic
