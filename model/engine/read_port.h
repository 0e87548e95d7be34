// SPDX-License-Identifier: Apache-2.0
// A read port of an on-chip memory that another block writes.
//
//   R1  An address of cycle n has its words in cycle n + 1: a block memory with a registered output. One address a
//       cycle; how many words from it on the port carries is up to the reader.
//   R2  In C++ a block may peek at words at once, and notes in which cycle the port is given their address. This makes
//       no difference, because the owner of the memory does not change what somebody may still read.
//   R3  For observers: the address of a cycle, and the words of any address.
#pragma once

#include <cstdint>
#include <string>
#include <systemc>

#include "model/types/descriptor_operations.h"
#include "model/types/ids.h"
#include "model/types/read_memory.h"

namespace rxnic {

class ReadPortBase : public sc_core::sc_object {
 public:
  Cycle last_read() const { return last_read_; }  // kNever: none
  virtual unsigned address_bits() const = 0;
  virtual unsigned word_bits() const = 0;
  // The address of last_read().
  virtual void pack_address(std::uint32_t* bits) const = 0;
  // Which field of that address differs from the one in `bits`, and how; "": none.
  virtual std::string difference(const std::uint32_t* bits) const = 0;
  virtual std::string address_text(const std::uint32_t* bits) const = 0;
  // Word `n` from the address in `bits` on.
  virtual void pack_word(const std::uint32_t* bits, std::uint32_t n, std::uint32_t* word) const = 0;

 protected:
  explicit ReadPortBase(const char* name) : sc_object(name) {}
  Cycle last_read_ = kNever;
};

template <Described Address, Described Word>
class ReadPort final : public ReadPortBase {
 public:
  explicit ReadPort(const char* name) : ReadPortBase(name) {}
  void bind(const ReadMemory<Address, Word>& memory) { memory_ = &memory; }
  // What stands at an address, without a read of the port.
  const Word* peek(const Address& address) const {
    std::uint32_t words = 0;
    return memory_->read(address, words);
  }
  // The port is given the address in cycle `cycle`.
  void note(Cycle cycle, const Address& address) {
    last_read_ = cycle;
    address_ = address;
  }

  unsigned address_bits() const override { return Descriptor<Address>::kBits; }
  unsigned word_bits() const override { return Descriptor<Word>::kBits; }
  void pack_address(std::uint32_t* bits) const override { of_address().pack(&address_, bits); }
  std::string difference(const std::uint32_t* bits) const override { return of_address().difference(&address_, bits); }
  std::string address_text(const std::uint32_t* bits) const override { return of_address().text(bits); }
  void pack_word(const std::uint32_t* bits, std::uint32_t n, std::uint32_t* word) const override {
    Address address;
    of_address().unpack(bits, {}, &address);
    std::uint32_t words = 0;
    const Word* const from = memory_->read(address, words);
    const Word none{};
    operations_of<Word>().pack(n < words ? &from[n] : &none, word);
  }

 private:
  static const DescriptorOperations& of_address() { return operations_of<Address>(); }
  const ReadMemory<Address, Word>* memory_ = nullptr;
  Address address_;
};

}  // namespace rxnic
