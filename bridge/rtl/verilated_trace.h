// SPDX-License-Identifier: Apache-2.0
// Every signal of a verilated module, written to a file for its user alone. Cycle n is at time 2n, as it is before the
// clock rises; what the clock has made of it is at 2n + 1. Cycles in which the module is not clocked are not in the
// file.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include <verilated.h>

namespace rxnic {

template <class Tracer>
class TracedRtl {
 public:
  template <class Top>
  TracedRtl(VerilatedContext& context, Top& top, std::string file) {
    context.traceEverOn(true);
    top.trace(&tracer_, 99);
    // Each of several NICs has a file of its own: waves.fst, waves.1.fst, ...
    static std::atomic<unsigned> made{0};
    if (const unsigned n = made++; n > 0) file.insert(file.rfind('.'), "." + std::to_string(n));
    const mode_t before = umask(077);  // packets are in it, of the memory of programs
    tracer_.open(file.c_str());
    umask(before);
    if constexpr (requires { tracer_.isOpen(); }) {
      if (!tracer_.isOpen()) std::fprintf(stderr, "rxnic: warning: %s cannot be written: no trace\n", file.c_str());
    }
  }
  ~TracedRtl() { tracer_.close(); }

  template <class Top>
  void eval(Top& top) {
    const bool rises = top.clk_i != 0 && !high_;
    high_ = top.clk_i != 0;
    if (!rises) {
      top.eval();
      return;
    }
    top.clk_i = 0;
    tracer_.dump(time_++);
    top.clk_i = 1;
    top.eval();
    tracer_.dump(time_++);
  }

 private:
  Tracer tracer_;
  bool high_ = false;
  std::uint64_t time_ = 0;
};

}  // namespace rxnic
