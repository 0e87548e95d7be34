// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/dpi_rtl.h"

#include <stdexcept>

namespace rxnic {

std::unique_ptr<DpiRtl> DpiRtl::connect(const std::string& block, const std::string& address) {
  std::unique_ptr<DpiRtl> rtl(new DpiRtl(block));
  const std::string why = rtl->pins_.connect(block, address);
  if (!why.empty()) throw std::invalid_argument("dpi:" + address + ": " + why);
  rtl->describe();
  return rtl;
}

void DpiRtl::describe() {
  for (const dpi::PinRecord& r : pins_.records()) names_.push_back(name_of(r));
  for (std::size_t n = 0; n < names_.size(); ++n) {
    const dpi::PinRecord& r = pins_.records()[n];
    if (r.kind == dpi::PinKind::kParameter) {
      parameters_.push_back({names_[n].c_str(), r.value});
      continue;
    }
    records_.push_back(n);
    signals_.push_back({names_[n].c_str(), r.kind == dpi::PinKind::kInput ? kRxnicRtlInput : kRxnicRtlOutput,
                        static_cast<std::uint32_t>(r.value), static_cast<std::uint32_t>(pins_.words(n).size_bytes())});
  }
  description_ = {RXNIC_RTL_VERSION,
                  static_cast<std::uint32_t>(signals_.size()),
                  static_cast<std::uint32_t>(parameters_.size()),
                  block_.c_str(),
                  signals_.data(),
                  parameters_.data(),
                  &create,
                  &destroy,
                  &at,
                  &eval,
                  &failure,
                  &cover_points,
                  nullptr};
}

void* DpiRtl::at(void* instance, std::uint32_t signal) {
  return of(instance).pins_.words(of(instance).records_[signal]).data();
}

const char* DpiRtl::failure(void* instance) {
  const std::string& why = of(instance).pins_.failure();
  return why.empty() ? nullptr : why.c_str();
}

}  // namespace rxnic
