// SPDX-License-Identifier: Apache-2.0
#include "testbench/cosim/rtl_file.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace rxnic {

const RxnicRtl& load_rtl(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {
    throw std::invalid_argument(
        fmt::format("{}: found no such file; expected a shared object that scripts/build_rtl has made", file));
  }
  const std::string path = std::filesystem::absolute(file);  // a name without '/' would be looked for elsewhere
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    throw std::invalid_argument(
        fmt::format("{}: found no shared object that can be loaded; expected one that scripts/build_rtl has made ({})",
                    file, dlerror()));
  }
  const auto describe = reinterpret_cast<decltype(&rxnic_rtl)>(dlsym(object, RXNIC_RTL_SYMBOL));
  if (describe == nullptr) {
    throw std::invalid_argument(fmt::format(
        "{}: found no symbol {}; expected a shared object that scripts/build_rtl has made", file, RXNIC_RTL_SYMBOL));
  }
  const RxnicRtl* const rtl = describe();
  if (rtl->version != RXNIC_RTL_VERSION) {
    throw std::invalid_argument(fmt::format("{}: interface: found version {}; expected {}; scripts/build_rtl makes it",
                                            file, rtl->version, RXNIC_RTL_VERSION));
  }
  return *rtl;
}

}  // namespace rxnic
