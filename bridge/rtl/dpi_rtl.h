// SPDX-License-Identifier: Apache-2.0
// RTL in a simulator of SystemVerilog (bridge/dpi), behind the interface of rxnic_rtl.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bridge/dpi/pin_client.h"
#include "bridge/rtl/rxnic_rtl.h"

namespace rxnic {

class DpiRtl {
 public:
  // The module for `block` of the simulator that listens at `address`. Throws std::invalid_argument: there is none.
  static std::unique_ptr<DpiRtl> connect(const std::string& block, const std::string& address);
  // The instance of its functions is this object, which its destroy() deletes.
  const RxnicRtl& description() const { return description_; }

 private:
  explicit DpiRtl(std::string block) : block_(std::move(block)) {}
  void describe();

  static DpiRtl& of(void* instance) { return *static_cast<DpiRtl*>(instance); }
  static void* create(std::uint64_t) { return nullptr; }  // connect() has made it
  static void destroy(void* instance) { delete &of(instance); }
  static void* at(void* instance, std::uint32_t signal);
  static void eval(void* instance) { of(instance).pins_.exchange(); }
  static const char* failure(void* instance);
  static void cover_points(void*, void (*)(void*, const char*, std::uint64_t), void*) {}  // the simulator counts them

  const std::string block_;
  dpi::PinClient pins_;
  std::vector<std::string> names_;    // of all records
  std::vector<std::size_t> records_;  // of each signal
  std::vector<RxnicRtlSignal> signals_;
  std::vector<RxnicRtlParameter> parameters_;
  RxnicRtl description_{};
};

}  // namespace rxnic
