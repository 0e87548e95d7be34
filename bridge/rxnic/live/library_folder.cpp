// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/library_folder.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace rxnic {

namespace {
constexpr const char* kFolderVariable = "RXNIC_LIBRARY_DIR";
constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kPathVariable = "LD_LIBRARY_PATH";
constexpr const char* kLibrary = "libibverbs.so.1";
constexpr const char* kPreloadVariable = "LD_PRELOAD";
constexpr const char* kFromProgram[] = {"../../bridge/verbs", "../lib/rxnic"};  // in the build, and installed

// "": the variable is not set, or empty.
std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// The dynamic loader knows no quotes.
void refuse_separators(const std::string& path, const char* variable, const char* separators, const char* otherwise) {
  if (path.find_first_of(separators) == std::string::npos) return;
  throw std::runtime_error(path + ": found a space, colon or semicolon; expected none, since " + variable +
                           " names this file" + otherwise);
}

std::string in_front_of(const char* variable, const std::string& first) {
  const std::string before = value_of(variable);
  return before.empty() ? first : first + ":" + before;
}
}  // namespace

std::string library_folder() {
  namespace fs = std::filesystem;
  const std::string chosen = value_of(kFolderVariable);
  std::error_code failed;
  const fs::path self = fs::read_symlink(kSelf, failed);
  if (failed) {
    throw std::runtime_error(std::string(kSelf) + ": found " + failed.message() +
                             "; expected /proc, by which rxnic finds its library and reaches what it starts");
  }
  std::vector<fs::path> folders;
  if (!chosen.empty()) folders.push_back(fs::absolute(chosen).lexically_normal());
  for (const char* from : kFromProgram) {
    if (chosen.empty()) folders.push_back((self.parent_path() / from).lexically_normal());
  }
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / kLibrary, failed)) return folder;
  }
  throw std::runtime_error((folders.front() / kLibrary).string() + ": found nothing; expected the drop-in library (" +
                           kFolderVariable + " names its folder)");
}

std::string library_path(const std::string& folder) {
  refuse_separators(folder, kPathVariable, ":;", ": install rxnic elsewhere");
  return in_front_of(kPathVariable, folder);
}

std::string preload_path(const std::string& folder) {
  const std::filesystem::path library = std::filesystem::path(folder) / kPreloadedLibrary;
  std::error_code failed;
  if (!std::filesystem::exists(library, failed)) {
    throw std::runtime_error(library.string() + ": found nothing; expected the library that shows programs the files " +
                             "of their NICs (--no-device-files: without them)");
  }
  refuse_separators(library.string(), kPreloadVariable, " :",
                    ": install rxnic elsewhere, or --no-device-files: without the files of the NICs");
  return in_front_of(kPreloadVariable, library.string());
}

}  // namespace rxnic
