// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/twin_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "model/types/descriptor_bits.h"

namespace rxnic {

namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
constexpr std::size_t kMostWordsOfAWord = 64;  // 32-bit words of a memory's word

void set(const TwinSignal& s, std::uint64_t value) { std::memcpy(s.at, &value, std::min(s.bytes, sizeof value)); }

bool is_port_of(const sc_core::sc_object* port, const Block& block) {
  return port != nullptr && port->get_parent_object() == &block;
}

}  // namespace

TwinJoint::TwinJoint(const Engine& engine, const Block& block, const TwinPort& of_twin)
    : twin(of_twin), lanes(of_twin.lanes) {
  if (of_twin.kind == PortKind::kRead || of_twin.kind == PortKind::kLookup) {
    for (const auto* child : block.get_child_objects()) {
      if (child->basename() == of_twin.name) memory = dynamic_cast<const ReadPortBase*>(child);
    }
    if (memory == nullptr) {
      throw std::runtime_error(fmt::format("{}.{}: the model has no such read port", block.name(), of_twin.name));
    }
    bits = memory->address_bits();
    words_.resize(of_twin.words.bytes / kWordBytes + 1);
  } else {
    for (LinkBase* l : engine.links()) {
      const auto* at = of_twin.kind == PortKind::kIn ? l->consumer_port() : l->producer_port();
      if (!is_port_of(at, block) || at->basename() != of_twin.name) continue;
      link = l;
      port = at;
    }
    for (auto* child : block.get_child_objects()) {
      if (of_twin.kind == PortKind::kOut && child->basename() == of_twin.name && link == nullptr) {
        write = dynamic_cast<WritePortBase*>(child);
      }
    }
    if (!joined()) return;  // nothing comes in, and what comes out is for nobody
    bits = operations().bits;
    value.resize(operations().bytes);
  }
  if (bits != of_twin.bits) {
    throw std::runtime_error(
        fmt::format("{}.{}: found {} bits in the RTL; expected {}", block.name(), of_twin.name, of_twin.bits, bits));
  }
  model.resize(words_of_bits(bits));
  lane.resize(words_of_bits(bits));
  all.resize(of_twin.data.bytes / kWordBytes + 1);
}

bool TwinJoint::offer(bool valid, std::uint64_t number) {
  if (!valid) {
    if (get_signal(twin.valid) == 0) return false;
    set(twin.valid, 0);
    return true;
  }
  get_value(number);
  offer_bits(model);
  return true;
}

void TwinJoint::get_value(std::uint64_t number) {
  if (link != nullptr) {
    link->copy_value(number, value.data());
  } else {
    std::memcpy(value.data(), write->value(static_cast<std::uint32_t>(number)), value.size());
  }
  operations().pack(value.data(), model.data());
}

void TwinJoint::look_up(const TwinJoint& input) {
  if (input.link == nullptr || get_signal(input.twin.valid) == 0) return;
  if (looked_up_.bits == 0) looked_up_ = input.place_of(twin.field);
  stand(words_at_number(input.number(input.model, looked_up_, 0)));
}

std::vector<std::uint32_t> TwinJoint::words_at_number(std::uint64_t address) const {
  std::vector<std::uint32_t> at(model.size());
  std::memcpy(at.data(), &address, std::min(sizeof address, at.size() * kWordBytes));
  return words_at(at);
}

void TwinJoint::stand(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint32_t> of_port(words_.size());
  copy_bits(words.data(), 0, of_port.data(), 0, lanes * memory->word_bits());
  std::memcpy(twin.words.at, of_port.data(), twin.words.bytes);
}

void TwinJoint::offer_bits(const std::vector<std::uint32_t>& bits_of_value) {
  set(twin.valid, 1);
  std::memcpy(twin.data.at, bits_of_value.data(), std::min(twin.data.bytes, bits_of_value.size() * kWordBytes));
}

bool TwinJoint::give_room(std::uint64_t values) {
  if (twin.ready.at == nullptr) return false;
  const std::uint64_t ready = (std::uint64_t{1} << std::min<std::uint64_t>(values, lanes)) - 1;
  if (get_signal(twin.ready) == ready) return false;
  set(twin.ready, ready);
  return true;
}

void TwinJoint::get_lanes() { std::memcpy(all.data(), twin.data.at, twin.data.bytes); }

void TwinJoint::get_lane(unsigned n) {
  std::fill(lane.begin(), lane.end(), 0u);
  copy_bits(all.data(), n * bits, lane.data(), 0, bits);
}

std::vector<std::uint32_t> TwinJoint::words_at(const std::vector<std::uint32_t>& address) const {
  std::vector<std::uint32_t> words(words_.size());
  pack_words(address, words);
  return words;
}

void TwinJoint::pack_words(const std::vector<std::uint32_t>& address, std::vector<std::uint32_t>& words) const {
  std::array<std::uint32_t, kMostWordsOfAWord> word{};
  for (unsigned n = 0; n < lanes; ++n) {
    memory->pack_word(address.data(), n, word.data());
    copy_bits(word.data(), 0, words.data(), n * memory->word_bits(), memory->word_bits());
  }
}

void TwinJoint::answer_read() {
  pack_words(lane, words_);
  words_due_ = true;
}

void TwinJoint::answer_read(const std::vector<std::uint32_t>& words) {
  words_ = words;
  words_due_ = true;
}

void TwinJoint::words_come() {
  if (words_due_) std::memcpy(twin.words.at, words_.data(), twin.words.bytes);
  words_due_ = false;
}

void TwinJoint::words_go() {
  if (twin.kind != PortKind::kRead) return;
  std::vector<std::uint32_t> inverted(words_.size());
  std::vector<std::uint32_t> others(words_.size());
  std::transform(words_.begin(), words_.end(), inverted.begin(), [](std::uint32_t word) { return ~word; });
  copy_bits(inverted.data(), 0, others.data(), 0, lanes * memory->word_bits());
  std::memcpy(twin.words.at, others.data(), twin.words.bytes);
}

TwinJoint::Place TwinJoint::place_of(std::string_view name) const {
  Place place;
  unsigned below = bits;  // the first field has the most significant bits
  operations().for_each_number(nullptr, [&](const FieldPath& at, std::uint64_t) {
    below -= at.field.bits;
    if (at.outer == nullptr && at.index < 0 && at.field.name == name) place = {below, at.field.bits};
  });
  return place;
}

std::string TwinJoint::text(const std::uint32_t* bits_of_value) const {
  return memory == nullptr ? operations().text(bits_of_value) : memory->address_text(bits_of_value);
}

const BehindRtl& behind_rtl(const Block& block) {
  if (const auto* const behind = dynamic_cast<const BehindRtl*>(&block)) return *behind;
  throw std::invalid_argument(
      fmt::format("{}: found a block that does nothing for RTL; expected one that is a BehindRtl", block.name()));
}

void refuse_missing_ports(const Engine& engine, const Block& block, const Twin& twin) {
  const auto need = [&](const sc_core::sc_object* port) {
    const auto& ports = twin.ports();
    const auto named = [port](const TwinPort& p) { return p.name == port->basename(); };
    if (std::none_of(ports.begin(), ports.end(), named)) {
      throw std::runtime_error(fmt::format("{}: the RTL has no port {}", block.name(), port->basename()));
    }
  };
  for (const LinkBase* link : engine.links()) {
    for (const auto* port : {link->consumer_port(), link->producer_port()}) {
      if (is_port_of(port, block)) need(port);
    }
  }
  for (const auto* child : block.get_child_objects()) {
    const bool of_memory =
        dynamic_cast<const ReadPortBase*>(child) != nullptr || dynamic_cast<const WritePortBase*>(child) != nullptr;
    if (of_memory) need(child);
  }
}

void reset_twin(Twin& twin) {
  for (const TwinPort& p : twin.ports()) {
    if (p.kind == PortKind::kIn) std::memset(p.valid.at, 0, p.valid.bytes);
  }
  if (twin.now != nullptr) *twin.now = 0;
  *twin.clock = 0;
  *twin.reset_n = 1;
  twin.eval();
  *twin.reset_n = 0;  // an asynchronous reset acts when it falls, before the first clock
  twin.eval();
  clock_twin(twin);
  *twin.reset_n = 1;
}

void give_at_setup(Twin& twin, TwinJoint& input, const std::vector<std::uint32_t>& bits_of_value) {
  constexpr int kMostCycles = 1000;
  for (int n = 0; n < kMostCycles; ++n) {
    input.offer_bits(bits_of_value);
    twin.eval();
    const bool taken = input.transfers() != 0;
    clock_twin(twin);
    if (!taken) continue;
    input.offer(false, 0);
    return;
  }
  throw std::runtime_error(fmt::format("{}: the RTL takes nothing before the first cycle", input.twin.name));
}

void clock_twin(Twin& twin) {
  *twin.clock = 1;
  twin.eval();
  *twin.clock = 0;
}

}  // namespace rxnic
