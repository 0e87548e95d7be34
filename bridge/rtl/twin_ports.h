// SPDX-License-Identifier: Apache-2.0
// The ports of a twin, joined to the links and memories of the model's block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/rtl/twin.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/engine.h"
#include "model/engine/link.h"
#include "model/engine/read_port.h"
#include "model/engine/write_port.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

// For a signal of 64 bits at most.
inline std::uint64_t get_signal(const TwinSignal& signal) {
  if (signal.bytes == 1) return *static_cast<const std::uint8_t*>(signal.at);
  std::uint64_t value = 0;
  std::memcpy(&value, signal.at, std::min(signal.bytes, sizeof value));
  return value;
}

// When the simulation has started: links know their ports then. The constructor throws std::runtime_error when the
// block has no such port, or one of another width.
struct TwinJoint {
  TwinJoint(const Engine& engine, const Block& block, const TwinPort& of_twin);

  // Puts value number `number` of the link at an input, or none; or a value of which `bits_of_value` are known. Returns
  // whether something else stands there now, or may.
  bool offer(bool valid, std::uint64_t number);
  void offer_bits(const std::vector<std::uint32_t>& bits_of_value);
  bool give_room(std::uint64_t values);  // at an output; returns whether it had been another
  // Puts the words beside the value that stands at `input`, when one does.
  void look_up(const TwinJoint& input);
  std::vector<std::uint32_t> words_at_number(std::uint64_t address) const;
  void stand(const std::vector<std::uint32_t>& words);  // at a lookup; of a wider value its low bits
  // Whether values pass for somebody: an input or an output that is joined.
  bool joined() const { return link != nullptr || write != nullptr; }
  const DescriptorOperations& operations() const { return link != nullptr ? *link->operations() : write->operations(); }
  // Value number `number` of the link, or of those that were written in the last cycle with one: into `value` and
  // `model`.
  void get_value(std::uint64_t number);
  // A bit for each lane that passes a value in this cycle, as far as the twin has a say in it.
  std::uint64_t transfers() const {
    return twin.ready.at == nullptr ? get_signal(twin.valid) : get_signal(twin.valid) & get_signal(twin.ready);
  }
  void get_lanes();           // of an output, or the address of a read
  void get_lane(unsigned n);  // of these, into `lane`
  // The words of the address in `lane` come with the next clock, words_come(): those that stand there, or others.
  void answer_read();
  void answer_read(const std::vector<std::uint32_t>& words);
  void words_come();
  // Those of a read in an earlier cycle do not stand there any more, but others.
  void words_go();
  // The words that stand at an address of a read port.
  std::vector<std::uint32_t> words_at(const std::vector<std::uint32_t>& address) const;
  // Where a field of that name is among the bits of a value; without bits: there is none.
  struct Place {
    unsigned from = 0, bits = 0;
  };
  Place place_of(std::string_view name) const;
  // A field on the port by its place or its name; `otherwise`: there is none.
  static std::uint64_t number(const std::vector<std::uint32_t>& bits_of_value, Place place, std::uint64_t otherwise) {
    return place.bits == 0 ? otherwise : get_bits(bits_of_value.data(), place.from, place.bits);
  }
  std::uint64_t number(const std::vector<std::uint32_t>& bits_of_value, std::string_view name,
                       std::uint64_t otherwise) const {
    return number(bits_of_value, place_of(name), otherwise);
  }
  std::string text(const std::uint32_t* bits_of_value) const;

  TwinPort twin;
  LinkBase* link = nullptr;  // of an input, an output; nullptr: not joined
  const sc_core::sc_object* port = nullptr;
  const ReadPortBase* memory = nullptr;    // of a read, a lookup
  const TwinJoint* beside = nullptr;       // of a lookup: the input, once it is known (look_up_all)
  WritePortBase* write = nullptr;          // of an output that writes a memory
  unsigned bits = 0;                       // of a value, an address
  unsigned lanes = 1;                      // values that may pass in a cycle; words of a read
  std::vector<std::byte> value;            // a copy of the one at an input
  std::vector<std::uint32_t> model, lane;  // bits of a value
  std::vector<std::uint32_t> all;          // of all lanes

 private:
  void pack_words(const std::vector<std::uint32_t>& address, std::vector<std::uint32_t>& words) const;
  bool words_due_ = false;
  std::vector<std::uint32_t> words_;
  mutable Place looked_up_{};  // of the field at the input
};

// Puts the words of each lookup beside the value at its input. The ports stay where they are in memory.
template <class Ports>
void look_up_all(Ports& ports) {
  for (auto& lookup : ports) {
    if (lookup.twin.kind != PortKind::kLookup) continue;
    if (lookup.beside == nullptr) {
      const auto named = [&lookup](const TwinJoint& p) { return p.twin.name == lookup.twin.of; };
      const auto at = std::find_if(ports.begin(), ports.end(), named);
      if (at == ports.end()) continue;
      lookup.beside = &*at;
    }
    lookup.look_up(*lookup.beside);
  }
}

// What a block of C++ does for RTL of the same block. Throws std::invalid_argument: it does nothing.
const BehindRtl& behind_rtl(const Block& block);
inline BehindRtl& behind_rtl(Block& block) { return const_cast<BehindRtl&>(behind_rtl(std::as_const(block))); }
// Throws std::runtime_error when a port of the block is none of the twin's.
void refuse_missing_ports(const Engine& engine, const Block& block, const Twin& twin);
// A clock with reset, from which the twin starts; nothing is at its inputs.
void reset_twin(Twin& twin);
void give_at_setup(Twin& twin, TwinJoint& input, const std::vector<std::uint32_t>& bits_of_value);
// What the block was told before the first cycle, through the twin's inputs. Throws std::runtime_error when one is not
// taken.
template <class Ports>
void set_up_twin(Twin& twin, Ports& ports, const BehindRtl& block) {
  block.repeat_setup([&](const sc_core::sc_object& input, const DescriptorOperations& of, const void* value) {
    std::vector<std::uint32_t> bits(words_of_bits(of.bits));
    of.pack(value, bits.data());
    TwinJoint* at = nullptr;
    for (auto& p : ports) {
      if (p.twin.kind == PortKind::kOut) p.give_room(p.lanes);
      if (p.twin.name == input.basename()) at = &p;
    }
    if (at != nullptr) give_at_setup(twin, *at, bits);
  });
}
// The clock rises and falls. The words of memory reads are put at their port after it.
void clock_twin(Twin& twin);

}  // namespace rxnic
