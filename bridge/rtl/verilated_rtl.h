// SPDX-License-Identifier: Apache-2.0
// A verilated module behind the interface of rxnic_rtl.h. verilate.py writes the source that uses it: the module's
// signals and parameters as tables, and the function that returns the description. Around the module are registers that
// hold its inputs. They are loaded when rxnic_load_i changes, which is not one of the signals.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include <verilated.h>
#include "bridge/rtl/rxnic_rtl.h"
#include "bridge/rtl/verilated_cover.h"
#ifdef RXNIC_RTL_TRACE
#include "bridge/rtl/verilated_trace.h"
#endif

namespace rxnic {

static_assert(std::endian::native == std::endian::little, "a signal's bits are handed over as Verilator keeps them");

// kAt: the address of signal n of a module.
template <class Top, void* (*kAt)(Top&, std::uint32_t)>
class VerilatedRtl {
 public:
  template <std::size_t kSignals, std::size_t kParameters>
  static constexpr RxnicRtl description(const char* block, const RxnicRtlSignal (&signals)[kSignals],
                                        const RxnicRtlParameter (&parameters)[kParameters]) {
    return {RXNIC_RTL_VERSION,
            kSignals,
            kParameters,
            block,
            signals,
            parameters,
            &create,
            &destroy,
            &at,
            &eval,
            &failure,
            &cover_points,
            kHeld ? &next_cycle : nullptr};
  }

 private:
  static constexpr bool kHeld = requires(Top & top) { top.rxnic_load_i; };  // not where signals are traced
  explicit VerilatedRtl(std::uint64_t random_init) : top_(set_up(context_, random_init)) {}
  ~VerilatedRtl() {
    top_.final();
    write_coverage(context_);
  }
  static VerilatedContext* set_up(VerilatedContext& context, std::uint64_t random_init) {
    context.threads(1);  // Verilator's library would start a thread for each further core, for which there is no work
    context.fatalOnError(false);
    constexpr int kZeros = 0, kRandom = 2;
    context.randReset(random_init == 0 ? kZeros : kRandom);
    constexpr std::uint64_t kSeeds = 0x7fffffff;  // Verilator's; 0 is none
    context.randSeed(static_cast<int>(random_init % kSeeds) + 1);
    add_plusargs(context);
    return &context;
  }
  // RXNIC_RTL_PLUSARGS: words between blanks, +NAME or +NAME=VALUE, for $test$plusargs and $value$plusargs.
  static void add_plusargs(VerilatedContext& context) {
    const char* const text = std::getenv("RXNIC_RTL_PLUSARGS");
    std::istringstream words(text == nullptr ? "" : text);
    std::vector<const char*> arguments{"rxnic"};
    std::deque<std::string> kept;
    for (std::string word; words >> word;) arguments.push_back(kept.emplace_back(word).c_str());
    context.commandArgs(static_cast<int>(arguments.size()), arguments.data());
  }
  static VerilatedRtl& of(void* instance) { return *static_cast<VerilatedRtl*>(instance); }
  static void* create(std::uint64_t random_init) { return new VerilatedRtl(random_init); }
  static void destroy(void* instance) { delete &of(instance); }
  static void* at(void* instance, std::uint32_t signal) { return kAt(of(instance).top_, signal); }
  static void eval(void* instance) { of(instance).eval(); }
  static void next_cycle(void* instance) { of(instance).next(); }
  void eval() {
    context_.timeInc(1);
    if constexpr (kHeld) {
      if (top_.clk_i == 0 || high_) load();  // the clock does not rise
      evaluate();
    } else {
#ifdef RXNIC_RTL_TRACE
      trace_.eval(top_);
#else
      top_.eval();
#endif
    }
  }
  // The clock rises while the registers are loaded, so that the module has their old values. It falls with the next
  // call.
  void next() {
    if constexpr (kHeld) {
      context_.timeInc(2);
      if (high_) evaluate();
      load();
      top_.clk_i = 1;
      evaluate();
      top_.clk_i = 0;
    }
  }
  void load() { top_.rxnic_load_i ^= 1; }
  void evaluate() {
    high_ = top_.clk_i != 0;
    top_.eval();
  }
  static const char* failure(void* instance) {
    const VerilatedContext& context = of(instance).context_;
    if (context.gotError()) return "an assertion of the RTL has failed (its text is on the standard output)";
    return context.gotFinish() ? "the RTL has called $finish" : nullptr;
  }
  static void cover_points(void* instance, void (*found)(void*, const char*, std::uint64_t), void* context) {
    for_each_cover_point(of(instance).context_, found, context);
  }

  VerilatedContext context_;
  Top top_;
  bool high_ = false;  // the clock, when it was evaluated
#ifdef RXNIC_RTL_TRACE
  TracedRtl<RXNIC_RTL_TRACER> trace_{context_, top_, RXNIC_RTL_TRACE};
#endif
};

}  // namespace rxnic
