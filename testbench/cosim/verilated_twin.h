// SPDX-License-Identifier: Apache-2.0
// A verilated module as a Twin. Only the source of a block's twin includes it: Verilator's headers come before
// SystemC's.
#pragma once

#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <verilated.h>
#include "testbench/cosim/twin.h"
#include "testbench/cosim/verilated_cover.h"

namespace rxnic {

static_assert(std::endian::native == std::endian::little, "a port's bits are copied as they are");

template <class Top>
class VerilatedTwin final : public Twin {
 public:
  VerilatedTwin() : top_(make_context(context_)) {
    clock = &top_.clk_i;
    reset_n = &top_.rst_ni;
    quiescent = &top_.quiescent_o;
  }
  ~VerilatedTwin() override { top_.final(); }
  Top& top() { return top_; }

  template <class Valid, class Ready, class Data>
  void in(const char* name, Valid& valid, Ready& ready, Data& data) {
    ports_.push_back({name, TwinPortKind::kIn, signal(valid), signal(ready), signal(data), {}});
  }
  template <class Valid, class Ready, class Data>
  void out(const char* name, Valid& valid, Ready& ready, Data& data) {
    ports_.push_back({name, TwinPortKind::kOut, signal(valid), signal(ready), signal(data), {}});
  }
  template <class Valid, class Data>
  void out(const char* name, Valid& valid, Data& data) {
    ports_.push_back({name, TwinPortKind::kOut, signal(valid), {}, signal(data), {}});
  }
  template <class Valid, class Address, class Words>
  void read(const char* name, Valid& valid, Address& address, Words& words) {
    ports_.push_back({name, TwinPortKind::kRead, signal(valid), {}, signal(address), signal(words)});
  }

  void eval() override {
    context_.timeInc(1);
    top_.eval();
  }
  std::string failure() const override {
    return context_.gotError() ? "an assertion of the RTL has failed (its text is on the standard output)" : "";
  }
  std::vector<CoverPoint> cover_points() const override { return cover_points_of(context_); }

 private:
  static VerilatedContext* make_context(VerilatedContext& context) {
    context.fatalOnError(false);
    context.randReset(0);
    return &context;
  }
  template <class Bits>
  static TwinSignal signal(Bits& bits) {
    return {const_cast<std::remove_const_t<Bits>*>(&bits), sizeof bits};
  }
  mutable VerilatedContext context_;
  Top top_;
};

}  // namespace rxnic
