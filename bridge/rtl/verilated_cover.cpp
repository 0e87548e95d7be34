// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/verilated_cover.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <verilated_cov.h>

namespace rxnic {

// Verilator gives them only as a file, of lines like: C '\001f\002x.sv\001o\002label...' 17
void for_each_cover_point(VerilatedContext& of, void (*found)(void* context, const char* name, std::uint64_t hits),
                          void* context) {
  std::string path = (std::filesystem::temp_directory_path() / "rxnic_cover_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return;
  close(file);
  of.coveragep()->write(path.c_str());
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t key = line.find("\001o\002");
    if (line.rfind("C '", 0) != 0 || key == std::string::npos) continue;
    if (line.find("\002v_user/") == std::string::npos) continue;  // a line
    const std::size_t begin = key + 3, end = line.find_first_of("\001'", begin);
    const std::uint64_t hits = std::strtoull(line.c_str() + line.rfind(' '), nullptr, 10);
    found(context, line.substr(begin, end - begin).c_str(), hits);
  }
  std::filesystem::remove(path);
}

void write_coverage(VerilatedContext& of) {
  static std::atomic<unsigned> instances{0};
  const char* const folder = std::getenv("RXNIC_RTL_COVERAGE");
  if (folder == nullptr) return;
  const std::string name = std::to_string(getpid()) + "_" + std::to_string(instances++) + ".dat";
  of.coveragep()->write((std::filesystem::path(folder) / name).c_str());
}

}  // namespace rxnic
