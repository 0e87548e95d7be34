// SPDX-License-Identifier: Apache-2.0
// RTL alone, driven at its pins by a test: one value at each input, room at each output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "bridge/rtl/twin.h"
#include "bridge/rtl/twin_ports.h"
#include "model/types/descriptor_bits.h"

namespace rxnic {

class TwinPins {
 public:
  // Resets it; the clock is low, and a cycle has passed.
  explicit TwinPins(std::unique_ptr<Twin> twin) : twin_(std::move(twin)) {
    for (const TwinPort& p : twin_->ports()) {
      if (p.kind == PortKind::kOut && p.ready.at != nullptr) std::memset(p.ready.at, 0xff, p.ready.bytes);
    }
    reset_twin(*twin_);
    tick();
  }
  void tick() {
    *twin_->clock = 1;
    twin_->eval();
    *twin_->clock = 0;
    if (twin_->now != nullptr) ++*twin_->now;
    twin_->eval();
  }
  template <Described T>
  void offer(std::string_view input, const T& value) {
    const TwinPort& p = port(input);
    put(p.data, value);
    *static_cast<std::uint8_t*>(p.valid.at) = 1;
    twin_->eval();
  }
  void withdraw(std::string_view input) {
    *static_cast<std::uint8_t*>(port(input).valid.at) = 0;
    twin_->eval();
  }
  template <Described T>
  void answer(std::string_view read_port, const T& word) {
    const TwinSignal& words = port(read_port).words;
    std::memset(words.at, 0, words.bytes);
    put(words, word);
    twin_->eval();
  }
  void set_room(std::string_view output, bool room) {
    const TwinSignal& ready = port(output).ready;
    std::memset(ready.at, room ? 0xff : 0, ready.bytes);
    twin_->eval();
  }
  bool valid(std::string_view output) { return (*static_cast<const std::uint8_t*>(port(output).valid.at) & 1) != 0; }
  bool ready(std::string_view input) { return (*static_cast<const std::uint8_t*>(port(input).ready.at) & 1) != 0; }
  template <Described T>
  T value(std::string_view output) {
    std::vector<std::uint32_t> bits(words_of_bits(Descriptor<T>::kBits));
    std::memcpy(bits.data(), port(output).data.at, std::min(port(output).data.bytes, bits.size() * sizeof bits[0]));
    return unpack<T>(bits.data());
  }
  // Offers a value until it has been taken: that many cycles have passed before.
  template <Described T>
  std::uint32_t give(std::string_view input, const T& value, std::uint32_t most = 1000) {
    std::uint32_t waited = 0;
    for (offer(input, value); !ready(input) && waited < most; ++waited) tick();
    tick();
    withdraw(input);
    return waited;
  }
  // Cycles until the output is valid.
  std::uint32_t wait_for(std::string_view output, std::uint32_t most = 1000) {
    std::uint32_t waited = 0;
    for (; !valid(output) && waited < most; ++waited) tick();
    return waited;
  }
  bool quiescent() const { return *twin_->quiescent != 0; }
  std::string_view failure() const { return twin_->failure(); }

 private:
  const TwinPort& port(std::string_view name) const {
    return *std::find_if(twin_->ports().begin(), twin_->ports().end(), [&](const auto& p) { return p.name == name; });
  }
  template <Described T>
  static void put(const TwinSignal& at, const T& value) {
    std::vector<std::uint32_t> bits(words_of_bits(Descriptor<T>::kBits));
    pack(value, bits.data());
    std::memcpy(at.at, bits.data(), std::min(at.bytes, bits.size() * sizeof bits[0]));
  }
  std::unique_ptr<Twin> twin_;
};

}  // namespace rxnic
