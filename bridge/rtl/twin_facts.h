// SPDX-License-Identifier: Apache-2.0
// What the RTL of a block has to be like for a NIC with given parameters. X_twin.cpp states it for block X, in a
// function X_facts(); RTL is refused that differs.
//
//   R1  Parameters of the module that decide what it does have the value that the NIC has. Those that bound what it can
//       hold have that value or more. Any others are the module's own.
//   R2  Its ports are those of the block, with the width of what they carry, and as many lanes; there is no other one.
//   R3  Transactions of a port are in one order, or in one for each queue: those with the same number in field `queue`.
//   R4  Where all inputs act on one state, what comes out depends on the order in which values are taken. It also
//       depends on which requests were made by then. `requests` names the output by which the block asks for what comes
//       at an input. What is taken in one cycle acts in the order of the ports.
//   R5  RTL that decides by the time has it at now_i, 64 bits: the number of the cycle.
//   R6  Bits of a value that say in which cycle it was made differ in RTL of other latencies: transactions are compared
//       without them.
//   R7  `counters` says what the ports show of the block's counters, for RTL in its place: a counter is a sum over
//       values that pass.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/params/params.h"
#include "model/types/descriptor.h"

namespace rxnic {

// kLookup: words of a memory that stand beside a value at an input.
enum class TwinPortKind : std::uint8_t { kIn, kOut, kRead, kLookup };

struct TwinParameter {
  std::string_view name;
  std::uint64_t value = 0;
  bool or_more = false;
};

struct TwinPortFacts {
  std::string_view name;
  TwinPortKind kind = TwinPortKind::kIn;
  unsigned bits = 0;  // of a value, of the address of a read
  unsigned lanes = 1;
  bool has_ready = true;                  // false: the link behind an output always has room
  std::string_view queue{};               // field by which the port's work is ordered; "": all of it is (R3)
  unsigned word_bits = 0;                 // of a read, a lookup; a lane is a word
  unsigned time_from = 0, time_bits = 0;  // of a value: which bits say when it was made (R6)
  std::string_view of{};                  // lookup: the input, and the field of its values that is the address
  std::string_view field{};
};

// What a counter counts of the values that pass a port: each one, or the sum of a field; of those that meet `where`.
struct PortCount {
  struct Condition {
    std::string_view field;
    std::uint64_t value = 0;
    bool equal = true;
    unsigned from = 0, bits = 0;  // of a field that is bytes: which bits of the value, in the place of `field`
  };
  std::string_view port;
  std::string_view sum{};  // a field; "": 1 of each
  std::vector<Condition> where{};
  bool subtract = false;
};

struct TwinCounter {
  std::string_view name;  // in the block's counters
  std::vector<PortCount> counts;
};

struct TwinFacts {
  std::vector<TwinParameter> parameters;
  std::vector<TwinPortFacts> ports;
  std::string_view requests{};          // "": the inputs do not depend on each other (R4)
  bool knows_time = false;              // (R5)
  std::vector<TwinCounter> counters{};  // (R7)
};

template <class Enumeration>
constexpr PortCount::Condition equals(std::string_view field, Enumeration value) {
  return {.field = field, .value = static_cast<std::uint64_t>(value)};
}

struct TwinBlock {
  std::string_view name;
  TwinFacts (*facts)(const Params& params) = nullptr;
};

template <Described T>
TwinPortFacts input_of(std::string_view name) {
  return {.name = name, .kind = TwinPortKind::kIn, .bits = Descriptor<T>::kBits};
}
template <Described T>
TwinPortFacts output_of(std::string_view name, unsigned lanes, std::string_view queue) {
  return {.name = name, .kind = TwinPortKind::kOut, .bits = Descriptor<T>::kBits, .lanes = lanes, .queue = queue};
}
template <Described T>
TwinPortFacts output_without_ready(std::string_view name, std::string_view queue) {
  return {.name = name, .kind = TwinPortKind::kOut, .bits = Descriptor<T>::kBits, .has_ready = false, .queue = queue};
}
template <Described Address, Described Word>
TwinPortFacts read_of(std::string_view name, unsigned words) {
  return {.name = name,
          .kind = TwinPortKind::kRead,
          .bits = Descriptor<Address>::kBits,
          .lanes = words,
          .word_bits = Descriptor<Word>::kBits};
}

// Writes of a memory (model/engine/write_port.h).
template <Described T>
TwinPortFacts write_of(std::string_view name, std::string_view queue, unsigned lanes = 1) {
  TwinPortFacts port = output_without_ready<T>(name, queue);
  port.lanes = lanes;
  return port;
}
// The word of the address that is in `field` of the value at input `of`.
template <Described Address, Described Word>
TwinPortFacts lookup_of(std::string_view name, std::string_view of, std::string_view field) {
  return {.name = name,
          .kind = TwinPortKind::kLookup,
          .bits = Descriptor<Address>::kBits,
          .word_bits = Descriptor<Word>::kBits,
          .of = of,
          .field = field};
}

// Every block that has RTL.
const std::vector<TwinBlock>& twin_blocks();

}  // namespace rxnic
