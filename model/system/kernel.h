// SPDX-License-Identifier: Apache-2.0
// A SystemC kernel for one simulation: SystemC elaborates once in a process, but tests and benchmarks run many
// simulations.
#pragma once

#include <memory>
#include <systemc>

namespace rxnic {

// The kernel that modules are built in while this lives. One at a time, or strictly nested.
class Kernel {
 public:
  Kernel()
      : outer_(sc_core::sc_curr_simcontext),
        outer_default_(sc_core::sc_default_global_context),
        kernel_(std::make_unique<sc_core::sc_simcontext>()) {
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kernel_.get();
  }
  ~Kernel() {
    kernel_.reset();
    sc_core::sc_curr_simcontext = outer_;
    sc_core::sc_default_global_context = outer_default_;
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 private:
  sc_core::sc_simcontext* outer_;
  sc_core::sc_simcontext* outer_default_;
  std::unique_ptr<sc_core::sc_simcontext> kernel_;
};

}  // namespace rxnic
