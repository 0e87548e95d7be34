// SPDX-License-Identifier: Apache-2.0
// What the RTL of a block has to be like for a NIC with given parameters. XPorts::facts() states it in X_ports.cpp, and
// needs no block for it. RTL is refused that differs (bridge/rtl/twin.h, R5).
//
//   R1  Parameters of the module that decide what it does have the value that the NIC has. Those that bound what it can
//       hold have that value or more. Any others are the module's own.
//   R2  Its ports are those of the block, with the width of what they carry, and as many lanes; there is no other one.
//   R3  Transactions of a port are in one order, or in one for each queue: those with the same number in field `order`.
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

#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/engine/write_port.h"
#include "model/params/params.h"
#include "model/types/descriptor.h"

namespace rxnic {

// kLookup: words of a memory that stand beside a value at an input.
enum class PortKind : std::uint8_t { kIn, kOut, kRead, kLookup };

struct ParameterFacts {
  std::string_view name;
  std::uint64_t value = 0;
  bool or_more = false;
};

struct PortFacts {
  std::string_view name;
  PortKind kind = PortKind::kIn;
  unsigned bits = 0;  // of a value, of the address of a read
  unsigned lanes = 1;
  bool has_ready = true;                  // false: the link behind an output always has room
  std::string_view order{};               // field by which the port's work is ordered; "": all of it is (R3)
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

template <class Enumeration>
constexpr PortCount::Condition equals(std::string_view field, Enumeration value) {
  return {.field = field, .value = static_cast<std::uint64_t>(value)};
}

struct CounterFacts {
  std::string_view name;  // in the block's counters
  std::vector<PortCount> counts;
};

struct BlockFacts {
  std::vector<ParameterFacts> parameters;
  std::vector<PortFacts> ports;
  std::string_view requests{};           // "": the inputs do not depend on each other (R4)
  bool knows_time = false;               // (R5)
  std::vector<CounterFacts> counters{};  // (R7)
};

// The name of a field on the port of T; the compiler refuses any other name.
template <Described T>
struct FieldOf {
  constexpr FieldOf() = default;
  consteval FieldOf(const char* of_field) : name(of_field) {
    for (const FieldInfo& f : Descriptor<T>::kFields) {
      if (f.name == name && f.use == FieldUse::kPort) return;
    }
    throw "T has no such field on the port";
  }
  std::string_view name{};
};

// What the type of a port does not say of it (PortFacts).
template <Described T>
struct OutputFacts {
  unsigned lanes = 1;
  bool always_room = false;
  FieldOf<T> order{};
  unsigned time_from = 0, time_bits = 0;
};
struct ReadFacts {
  unsigned lanes = 1;
  std::string_view of{}, field{};  // of a lookup
};

// A port of `Ports` by its member: the member's type says which kind of port it is, and how wide.
template <class Ports, Described T>
PortFacts port_of(In<T> Ports::*, std::string_view name) {
  return {.name = name, .kind = PortKind::kIn, .bits = Descriptor<T>::kBits};
}

template <Described T>
PortFacts output_of(std::string_view name, const OutputFacts<T>& of) {
  return {.name = name,
          .kind = PortKind::kOut,
          .bits = Descriptor<T>::kBits,
          .lanes = of.lanes,
          .has_ready = !of.always_room,
          .order = of.order.name,
          .time_from = of.time_from,
          .time_bits = of.time_bits};
}

template <class Ports, Described T>
PortFacts port_of(Out<T> Ports::*, std::string_view name, const OutputFacts<T>& of = {}) {
  return output_of(name, of);
}

// A memory takes all that is written.
template <class Ports, Described T>
PortFacts port_of(WritePort<T> Ports::*, std::string_view name, OutputFacts<T> of = {}) {
  of.always_room = true;
  return output_of(name, of);
}

template <class Ports, Described Address, Described Word>
PortFacts port_of(ReadPort<Address, Word> Ports::*, std::string_view name, const ReadFacts& of = {}) {
  return {.name = name,
          .kind = of.of.empty() ? PortKind::kRead : PortKind::kLookup,
          .bits = Descriptor<Address>::kBits,
          .lanes = of.lanes,
          .word_bits = Descriptor<Word>::kBits,
          .of = of.of,
          .field = of.field};
}

}  // namespace rxnic
