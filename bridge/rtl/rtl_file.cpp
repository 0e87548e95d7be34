// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/rtl_file.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace rxnic {

namespace {

constexpr const char* kFolderVariable = "RXNIC_RTL_DIR";
constexpr const char* kLeanFolder = "lean";
// In the build, where every program is two folders down, and installed.
constexpr const char* kFromProgram[] = {"../../rtl", "../lib/rxnic/rtl"};

}  // namespace

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

std::string rtl_folder() {
  const char* const chosen = std::getenv(kFolderVariable);
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  std::filesystem::path folder;
  for (const char* from : kFromProgram) {
    folder = (self.parent_path() / from).lexically_normal();
    if (std::filesystem::is_directory(folder, failed)) break;
  }
  return folder.string();
}

std::vector<const RxnicRtl*> built_rtl(RtlBuild build, std::string_view block) {
  std::filesystem::path folder = rtl_folder();
  if (build == RtlBuild::kLean) folder /= kLeanFolder;
  const std::string begin = block.empty() ? "" : std::string(block) + "_";
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".so")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<const RxnicRtl*> all;
  for (const std::string& file : files) all.push_back(&load_rtl(file));
  return all;
}

}  // namespace rxnic
