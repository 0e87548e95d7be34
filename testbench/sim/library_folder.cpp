// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/library_folder.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace rxnic {

namespace {
constexpr const char* kFolderVariable = "RXNIC_LIBRARY_DIR";
constexpr const char* kPathVariable = "LD_LIBRARY_PATH";
constexpr const char* kLibrary = "libibverbs.so.1";
constexpr const char* kFromProgram = "../../bridge/verbs";  // as the build lays it out
}  // namespace

std::string library_folder() {
  namespace fs = std::filesystem;
  const char* const chosen = std::getenv(kFolderVariable);
  const fs::path folder =
      chosen != nullptr ? fs::absolute(chosen) : fs::read_symlink("/proc/self/exe").parent_path() / kFromProgram;
  const fs::path normal = folder.lexically_normal();
  if (!fs::exists(normal / kLibrary)) {
    throw std::runtime_error((normal / kLibrary).string() + ": found nothing; expected the drop-in library (" +
                             kFolderVariable + " names its folder)");
  }
  return normal;
}

std::string library_path(const std::string& folder) {
  const char* const before = std::getenv(kPathVariable);
  return before != nullptr && *before != '\0' ? folder + ":" + before : folder;
}

}  // namespace rxnic
